"""What a hand teaches to a run that stands is learnt, and then it stands; what happens to its recordings is said."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from kit.windows import COLOURS, live_hand, make_colour_run, make_colour_scene
from scalarviz import nn, optim
from scalarviz.errors import TypeMismatchError
from scalarviz.run import Scene
from scalarviz.run.panels import ColourCube, DigitPad, LossCurve
from scalarviz.view.watch.live import LEAST, MOST

pytestmark = pytest.mark.gl
RNG = np.random.default_rng(3)
DIGITS, LABELS = RNG.random((60, 16)), np.arange(60) % 10
NEW = np.zeros(16)
NEW[[0, 5, 10, 15]] = 1.0


def digits(lr):
    net = nn.Sequential(nn.Linear(16, 10, seed=1))
    run = sv.Run(net, nn.CrossEntropyLoss(), optim.SGD(net.parameters(), lr=lr), (DIGITS, LABELS), engine="numpy")
    names, panels = tuple("0123456789"), (DigitPad((4, 4)), LossCurve())
    return Scene("d", run, DIGITS[0], LABELS[:1], output_names=names, panels=panels)


def read(run):
    return int(np.argmax(run.predict(NEW[None])[0]))


def draw_and_teach(hand, beside=1):
    """Draw the new digit on the sheet and teach that it is another than it is read as; returns which."""
    label, pad = (read(hand.run) + beside) % 10, hand.view.bench.side.drawer(DigitPad)
    pad.clear()
    pad.picture[...] = NEW
    hand.view.move(hand.middle(pad.field))
    hand.view.key(str(label), str(label))
    hand.view.tick(0.02)
    return label


def learnt(hand):
    """What is said last when it stands again, and at which step that is."""
    said = []

    def stands():
        hand.view.worker.settle()
        said.append(hand.view.notice())
        return not (hand.view.playback.running or hand.view._lesson is not None)

    hand.until(stands, 30, 0.05)
    return said[-1], hand.run.steps


@pytest.mark.parametrize("at", [0, 5, 40])
def test_it_stops_when_the_taught_digit_is_read_rightly(at):
    """Before the first step, in the middle, and past the end; Space goes on to the end that it had, or without one."""
    with live_hand(digits(lr=0.5), steps=40) as hand:
        if at:
            hand.do("step", at)
        wanted = draw_and_teach(hand)
        assert hand.view.playback.running
        until = f"trains until the network reads it correctly, at most {MOST:,} steps"
        assert hand.view.notice() == f"teaching {wanted}: {until}"
        said, steps = learnt(hand)
        assert at + LEAST <= steps < at + MOST
        assert said.startswith(f"read as {wanted} after ")
        assert (hand.settled().step, hand.view.playback.end) == (steps, 40)
        twin = digits(lr=0.5).run
        twin.step(at)
        twin.add_samples(NEW[None], np.array([[wanted]]))
        twin.step(steps - at)
        assert np.array_equal(twin.values, hand.run.values)
        assert read(twin) == wanted
        hand.view.key("Space")
        hand.until(lambda: hand.run.steps > steps)


def test_what_is_not_learnt_stops_at_the_stated_step_and_space_breaks_it_off():
    with live_hand(digits(lr=1e-9)) as hand:
        for running, beside in ((False, 1), (True, 3)):  # a run that trains goes on to its own end
            draw_and_teach(hand, beside)
            if not running:
                hand.view.key("Space")
                hand.view.tick(0.1)
            assert (hand.view._lesson, hand.view.playback.running, hand.view.playback.end) == (None, running, 3000)
            hand.view.key("Space")
            hand.view.tick(0.1)
        steps = hand.settled().step
        draw_and_teach(hand)
        wanted = draw_and_teach(hand, 2)  # a second lesson takes the place of the first
        assert hand.view.notice().startswith(f"teaching {wanted}")
        hand.view.send("faster")
        hand.view.send("faster")
        said, last = learnt(hand)
        assert last >= steps + MOST
        assert said == f"not yet read as {wanted} after {MOST:,} steps; Space trains on"


def test_a_taught_colour_is_trained_for_the_stated_steps():
    with live_hand() as hand:
        red, white = (1.0, 0.0, 0.0), (1.0, 1.0, 1.0)
        cube = hand.view.bench.side.drawer(ColourCube)
        cube.retarget(red, white)
        hand.view.tick(0.02)
        assert hand.view.notice() == f"teaching your sample: {MOST:,} steps"
        for _ in range(4):
            hand.view.send("faster")
        assert learnt(hand) == (f"{MOST:,} steps later; Space trains on", MOST)
        assert cube.targets[np.argmin(np.abs(COLOURS - red).sum(axis=1))] == pytest.approx(white)
        untouched = make_colour_run()
        untouched.step(MOST)
        assert hand.run.predict([red])[0, 0] > untouched.predict([red])[0, 0]  # red keeps more of its red


def test_a_misspelt_argument_is_refused_in_words():
    for call, misspelt, words in ((sv.lesson, {"hidden": ()}, "'hide'?.*lesson takes number, hide"),
                                  (sv.view.picture, {"them": 1}, "'theme'?.*takes theme, size")):  # fmt: skip
        with pytest.raises(TypeMismatchError, match=f"no argument '{next(iter(misspelt))}'.*{words}"):
            call("01", **misspelt)


def test_what_happens_to_a_recording_is_said_once_here_and_on_the_terminal_and_training_goes_on(tmp_path):
    told = []
    with live_hand(make_colour_scene(make_colour_run(batch_size=4), ()), (640, 360)) as hand:
        recording = sv.Recording(hand.run, path=tmp_path / "run.svz", budget=100_000)
        recording.tell = told.append
        recording.flush()
        for count, there in ((2400, True), (5, False)):
            hand.view.say("")
            hand.view.worker.train_to(hand.run.steps + count)
            hand.view.worker.settle()
            recording.flush()
            hand.host.pass_time()  # the run stands by now
            assert (hand.view.bench.interaction.notice != "") == there
        assert hand.run.steps == 2405
        recording.close()
    (line,) = told
    assert "run.svz has reached 0.1 MB: whenever the file is full, every second frame is dropped" in line
