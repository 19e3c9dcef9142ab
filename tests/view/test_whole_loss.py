"""Scenes that tell the loss of all samples, and such as say how many steps a frame has."""

from __future__ import annotations

import numpy as np
import pytest
from scalarviz.scenes import xor

import scalarviz as sv
from kit.benches import KEYS, again, bench_of, said, texts, words
from kit.commands import make_scene
from kit.windows import live_hand
from scalarviz.errors import InputError, TypeMismatchError
from scalarviz.run.edits import SetBatchSize, SetWeights
from scalarviz.view.ink.places import LABEL
from scalarviz.view.ink.text import loss_text
from scalarviz.view.watch.pace import pace
from scalarviz.view.watch.playback import RATE


@pytest.fixture
def scene():
    with (made := make_scene("xor", seed=1)).run:
        yield made


def of_all(scene):
    """The sum of squares of the four samples, by hand."""
    weights = [scene.run.values[:9].reshape(3, 3), scene.run.values[9:].reshape(1, 3)]
    hidden = np.tanh(xor.with_one(xor.BITS) @ weights[0].T)
    return loss_text(0.5 * float(((np.tanh(hidden @ weights[1].T) - xor.WANTED) ** 2).sum()))


def told(bench):
    """What stands behind the word `loss` in the HUD."""
    large = [item.text for item in texts(bench.sketches) if item.size > LABEL]
    return large[large.index("loss") + 1]


@pytest.mark.parametrize("size", [(1280, 720), (640, 360)])
def test_the_hud_tells_the_loss_of_all_samples_at_the_numbers_shown(scene, size):
    bench = bench_of(scene, size)
    for count in (0, 1, 6):
        scene.run.step(count)
        assert told(again(bench)) == of_all(scene)
        assert len({loss_text(float(loss)) for loss in scene.run.history.loss} - {told(bench)}) >= min(count, 1)
    before = told(bench)
    scene.run.do(SetWeights(0, np.array([2.5])))  # of the numbers shown after a change by hand too
    assert told(again(bench)) == of_all(scene) != before


@pytest.mark.parametrize(("batch", "which"), [(1, "of its batch"), (4, "before it")])
def test_the_time_bar_tells_no_other_loss_as_if_it_were_that_of_the_hud(batch, which):
    """The loss of a step is that of its batch, before the step; the HUD tells that of all samples, after it."""
    with (made := make_scene("xor", batch=batch)).run as run:
        run.step(20)
        bench = bench_of(made, keys=KEYS)
        assert told(bench) == of_all(made) != loss_text(run.loss)
        assert loss_text(run.loss) not in words(bench.bar.update(bench.subject.frame()))
        x, y, width, height = bench.bar.box
        bench.hover((x + 0.7 * width, y + height - 26))
        pointed = words(bench.bar.label(bench.places.size))
        assert any(line.startswith("loss ") and line.endswith(f", {which}") for line in pointed)
        assert ("single samples" in said(bench)) == (batch == 1)
        run.do(SetBatchSize(4))  # by hand: said beside the curve and in the bar
        run.step(5)
        assert {"single samples", "4 samples a step"}.intersection(said(again(bench))) == {
            "4 samples a step"
        } or batch == 4
        assert bench.bar.step_loss == "before it"


def test_a_steady_pace():
    stops = pace(20_000, 20.0, 30, steady=100, rest=0.0)
    assert stops[:61].tolist() == list(range(61))  # two seconds
    assert np.diff(stops[60:-1]).tolist() == [100] * (len(stops) - 62)
    assert stops[-1] == 20_000
    assert len(pace(20_000, 20.0, 30, steady=100)) > len(stops)  # a film rests at its end
    assert pace(5, 20.0, 30, steady=100, rest=0.0).tolist() == [0, 1, 2, 3, 4, 5]
    assert pace(0, 20.0, 30, steady=3).tolist()[-1] == 0
    for total in (10_000_000, 10**12):  # a film has a million frames at most
        stops = pace(total, 20.0, 30, steady=1, rest=0.0)
        assert 900_000 < len(stops) <= 10**6
        assert (stops[0], stops[-1], (np.diff(stops) >= 0).all()) == (0, total, True)


@pytest.mark.gl
def test_a_window_keeps_that_pace(scene):
    with live_hand(scene, steps=20_000, playing=True) as hand:
        hand.view.playback._time = 3.0
        assert hand.view.playback.text() == "pace 100 steps a frame"
        for at in (3.0, 60.0):
            assert hand.view.playback._paced(at) - hand.view.playback._paced(at - 1 / RATE) == pytest.approx(100)


@pytest.mark.gl
def test_a_window_that_stands_asks_nothing_of_the_thread_that_trains():
    """Each question leaves a new frame, for which it would be asked again: the picture would never come to rest."""
    with live_hand(make_scene("playground"), steps=5, playing=True) as hand:
        hand.until(lambda: hand.view.worker.latest.step == 5)
        hand.until(lambda: not hand.bench.moving and not hand.view.tick(0.05))
        frame = hand.view.worker.latest
        hand.picture()
        assert hand.view.worker.latest is frame


def test_fields_are_checked(scene):
    with pytest.raises(InputError, match="steady"):
        pace(10_000_000, 20.0, 30, steady=0)
    with pytest.raises(TypeMismatchError, match="whole_loss"):
        sv.Scene("mine", scene.run, whole_loss="yes")
    for wrong in (0, 1.5):
        with pytest.raises(InputError, match="steps_a_frame"):
            sv.Scene("mine", scene.run, steps_a_frame=wrong)
