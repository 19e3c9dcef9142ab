"""The first two minutes: a window opens paused under one large line, begins, and says at its end what it has learnt."""

from __future__ import annotations

import re
import time
from types import SimpleNamespace

import numpy as np
import pytest

import scalarviz as sv
from kit.benches import assert_readable, said, said_above, texts, words
from kit.networks import mlp
from kit.unseen import Unseen
from kit.windows import COLOURS, Hand, live_hand, make_colour_run, make_colour_scene
from scalarviz import nn, optim
from scalarviz.engine.cpu import units
from scalarviz.run import Story
from scalarviz.run.engines import full_speed
from scalarviz.run.scene.scene import Scene
from scalarviz.view.ink.text import loss_text
from scalarviz.view.screen.strip import Cap, StoryText
from scalarviz.view.watch.live import BREATHING, COMPILING, FADE, REST, LiveView, learnt
from scalarviz.view.watch.viewer import WAIT

from .test_every_picture import ink, meet

pytestmark = pytest.mark.gl
SENTENCE = "They learn to turn every colour into its opposite."
CLAIM = "Each output now falls when its own colour rises."
STEPS = 60


def scene(*hidden, lr=5.0, told=True, **story) -> Scene:
    net = mlp(3, *hidden, 3, activation="Sigmoid")(nn)
    net.initialize(nn.init.uniform(0, 1), seed=1)
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=lr), (COLOURS, 1 - COLOURS), engine="numpy")
    made = make_colour_scene(run)
    made.story = Story(SENTENCE, **story) if told else None
    return made


class Opened(Hand):
    """A window that has just been opened."""

    def __init__(self, made: Scene | None = None, size=(1280, 720), **options) -> None:
        options = {"wait": WAIT, "steps": STEPS, "duration": 0.5, **options}
        super().__init__(Unseen(lambda wanted: LiveView(made or scene(), wanted, **options), size))
        self.pass_time(0.02, 0.02)

    @property
    def words(self) -> list[str]:
        return said(self.view.bench)

    @property
    def plays(self) -> bool:
        return self.view.playback.running

    def pass_time(self, seconds: float, tick: float = 0.1) -> None:
        for _ in range(round(seconds / tick)):
            self.host.pass_time(tick)

    def alpha(self, text: str) -> float:
        """How much of a line is seen."""
        return next((item.colour[3] for item in texts(self.view.bench.sketches) if item.text == text), 0.0)

    def cap(self, key: str) -> tuple[float, float]:
        return self.middle(next(s.box for s in self.view.bench.story.spots if s.words.startswith(f"{key} ")))

    def to_the_end(self) -> None:
        self.view.send("step", STEPS)
        self.settled(1, 0.05)
        self.pass_time(REST + FADE + 0.3, 0.05)


@pytest.fixture
def opened():
    made = []
    yield lambda *args, **options: made.append(Opened(*args, **options)) or made[-1]
    for one in made:
        one.host.close_soon()


# ---- the start


def test_it_opens_paused_under_one_large_line_and_fades_before_the_formulas_come(opened):
    one = opened(steps=3000, duration=60.0)
    assert {"12 weights.", SENTENCE, "Space", "begin", "Right", "one step", "?", "all keys"} <= {*one.words}
    assert not {"controls"} & {*one.words}
    assert any("not trained yet" in text for text in one.words)
    assert (one.plays, one.run.steps) == (False, 0)
    one.view.send("toggle_panels")  # asks for the formulas
    one.pass_time(0.1)
    seen = [one.alpha(SENTENCE)]
    one.view.key("Space")
    while seen[-1]:
        assert not any("σ(" in text for text in one.words)  # the sentence is alone
        one.pass_time(0.1)
        seen.append(one.alpha(SENTENCE))
    assert seen == sorted(seen, reverse=True)
    assert 3 < len(seen) < 8
    one.pass_time(0.3)
    assert any("σ(" in text for text in one.words)
    assert "controls" in one.words
    one.view.key("Space")  # paused again: what has been read is not said again
    one.pass_time(2 * WAIT)
    assert (SENTENCE in one.words, one.plays) == (False, False)


TOUCHES = {
    "nothing": lambda view: None, "key": lambda view: view.key("F8"),
    "wheel": lambda view: view.scroll((600.0, 300.0), (0.0, 1.0)),
    "press": lambda view: (view.press((600.0, 100.0)), view.release((600.0, 100.0))),
}  # fmt: skip
OPEN = {
    "the list of keys": lambda view: view.send("toggle_help"), "the inspector": lambda view: view.bench.select(3),
    "a step": lambda view: view.key("."), "a button held": lambda view: view.press((600.0, 100.0)),
}  # fmt: skip


@pytest.mark.parametrize("what", [*TOUCHES, *OPEN])
def test_it_begins_when_nothing_was_touched_for_four_seconds_and_nothing_is_open(opened, what):
    one = opened()
    one.host.pass_time(3 * WAIT)  # which the window needed to come up: no more than a moment of it counts
    for k in range(round(WAIT / 0.1) - 7):
        one.view.move((300.0 + k, 300.0))  # is no touch
        one.host.pass_time(0.1)
    {**TOUCHES, **OPEN}[what](one.view)
    if what in OPEN:
        one.pass_time(3 * WAIT)
        assert not one.plays
        one.view.release((600.0, 100.0)) if what == "a button held" else one.view.send("escape")
    for seconds, plays in ((WAIT - 0.3 if what != "nothing" else 0.2, False), (0.5, True)):
        one.pass_time(seconds)
        assert one.plays == plays


def test_a_window_told_to_wait_waits_for_ever_and_comes_to_rest(opened):
    one = opened(wait=None)
    one.pass_time(BREATHING + 3, 0.25)  # until then the first cap breathes
    before = one.host.drawings
    one.pass_time(5)
    assert (one.host.drawings, one.plays, SENTENCE in one.words) == (before, False, True)  # nothing happens: none drawn


def test_one_step_by_hand_is_a_beginning_too_and_a_loaded_run_begins_with_its_story(opened):
    made = scene()
    made.run.step(25)
    one = opened(made)
    assert SENTENCE in one.words
    assert not any("not trained yet" in text for text in one.words)
    one.click(one.cap("Right"))
    one.settled()
    one.pass_time(1)
    assert (one.run.steps, SENTENCE in one.words) == (26, False)
    for playing in (False, True):  # one that plays or stands by itself has no opening
        other = opened(playing=playing, wait=0.0)
        assert (SENTENCE in other.words, other.plays) == (False, playing)


# ---- the end


CLAIMS = {
    "claimed": ({"claim": lambda moment: f"This is said of step {moment.step}."},
                {"Learnt.", f"This is said of step {STEPS}.", "Click", "inspect a cube", "Shift+Wheel",
                 "over a cube: change it"}, []),
    "raises": ({"claim": lambda moment: str(1 / 0)}, {"Learnt."},
               ["the story's claim: ZeroDivisionError: division by zero"]),
    "stopped": ({"lr": 1e-4, "claim": lambda moment: "It has learnt everything."}, {"Stopped at loss "}, []),
    "reached": ({"claim": lambda moment: "Three of four.", "reached": lambda moment: True},
                {"Learnt.", "Three of four."}, []),
    "missed": ({"claim": lambda moment: "Three of four.", "reached": lambda moment: False},
               {"Stopped at loss ", "Three of four."}, []),
}  # fmt: skip


@pytest.mark.parametrize("name", CLAIMS)
def test_at_the_end_it_says_what_has_come_of_it(opened, name):
    options, there, told = CLAIMS[name]
    one, plain = opened(scene(**options)), scene(**options).run
    plain.step(STEPS)
    one.to_the_end()
    plain.step()  # the loss that the coming step has is that of the weights shown
    losses = plain.history.curve().loss
    assert all(any(text.startswith(start) for text in one.words) for start in (*there, "R"))
    for start in {"Learnt.", "Stopped at loss ", "It has learnt everything."} - there:
        assert not any(text.startswith(start) for text in one.words)
    assert one.host.told == told
    assert any(loss_text(float(losses[-1])) in text for text in one.words)
    assert (f"loss {loss_text(float(losses[0]))}" in one.words) == ("Learnt." in there)
    assert (losses[-1] < losses[0] / 2) == (name != "stopped")
    plain.to(STEPS)
    assert np.array_equal(plain.values, one.run.values)  # looking at it changes no bit


def test_the_end_comes_half_a_second_after_the_last_step_and_stands_until_something_else_happens(opened):
    one = opened()
    one.view.send("step", STEPS)
    one.settled(1, 0.05)
    for seconds in (0.05, REST - 0.1):
        one.pass_time(seconds, 0.05)
        assert one.alpha("Learnt.") == 0.0
    one.pass_time(0.2, 0.05)
    assert 0 < one.alpha("Learnt.") < 1
    one.pass_time(FADE, 0.05)
    assert one.alpha("Learnt.") == 1.0
    one.click(one.cap("Shift+Wheel"))
    assert one.view.notice() == "Shift+Wheel over a cube: change its weight"
    one.view.set_weight(0, 9.0)  # an edit ends it, and so does going on
    for _ in range(2):
        one.settled(1, 0.1)
        one.pass_time(0.3)
        assert "Learnt." not in one.words
        one.view.key("Space")
    one.settled(1, 0.05)  # on a busy machine the steps that were asked for come late
    assert (one.run.steps > STEPS, "controls" in one.words) == (True, True)  # the line of keys is there again


@pytest.mark.parametrize(
    ("losses", "batches", "expected"),
    [
        ([1.0, 0.5], 1, True), ([1.0, 0.51], 1, False), ([1.0, np.nan], 1, False), ([1.0, np.inf], 1, False),
        ([0.0, 0.0], 1, True), ([-1.0, -1.2], 1, False), ([-1.0, -1.5], 1, True), ([1.0], 1, False),
        ([1.0, 1.1, 0.9, 1.0, 0.2, 0.1, 0.3, 0.9], 2, False), ([1.0, 1.1, 0.9, 1.0, 0.2, 0.1, 0.1, 0.7], 2, True),
    ],
)  # fmt: skip
def test_when_something_has_been_learnt(losses, batches, expected):
    assert learnt(np.array(losses), batches) is expected
    # a scene says how far its loss has to fall
    assert [learnt(np.array([3.0, 2.4]), 1, fall) for fall in (0.2, 0.21)] == [True, False]


# ---- where it stands


@pytest.mark.parametrize("size", [(1280, 720), (960, 540), (640, 480), (520, 720)])
@pytest.mark.parametrize("hidden", [(), (16, 16)])
def test_the_end_overlaps_nothing_nor_leaves_the_picture(opened, size, hidden):
    one = opened(scene(*hidden, claim=lambda moment: CLAIM), size)
    bench, caps = (
        one.view.bench,
        (Cap("R", "again"), Cap("Click", "inspect a cube"), Cap("Shift+Wheel", "over a cube: change it")),
    )
    bench.story.text = StoryText("Learnt.", CLAIM, caps, ("0.1326", "0.0018"))
    bench.update(one.view.frame(), "", 0.2)
    items = texts(bench.sketches)
    assert any(item.text in CLAIM for item in items)
    assert min(item.size for item in items) >= 13
    for every in ([ink(item) for item in items], [spot.box for spot in bench.story.spots]):
        for k, box in enumerate(every):
            assert min(box[:2]) >= 0
            assert all(at + long <= most for at, long, most in zip(box[:2], box[2:], bench.places.size, strict=True))
            assert not [other for other in every[:k] if meet(other, box)]


# ---- a machine that has no kernels yet, and news

NEWS = "step 1,234,567 is a new best one, 40 times as good"


@pytest.fixture
def cold(monkeypatch, tmp_path):
    """A window that runs on a machine without compiled kernels."""
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(units, "LOADED", {})
    scene = make_colour_scene(make_colour_run(engine="auto"), ())
    with live_hand(scene, steps=10**6, playing=True) as made:
        yield made


def test_without_kernels_step_0_is_shown_at_once_and_the_run_begins_when_they_are_there(cold):
    cold.view.tick(1 / 60)
    assert (cold.view.worker.latest.step, cold.run.engine.name) == (0, "numba")
    assert COMPILING in " ".join(said(cold.bench))
    cold.until(lambda: cold.run.steps > 20, 60.0)
    cold.until(lambda: COMPILING not in " ".join(said(cold.bench)))
    told = re.search(r"([\d.,]+) of ([\d,]+) steps/s", cold.view.pace_text())
    assert float(told[1].replace(",", "")) > 0
    assert 0.5 < int(told[2].replace(",", "")) / full_speed(cold.run) < 2  # it is measured more than once
    assert cold.view.worker.log == []


def test_no_speed_reads_0_however_slow_it_is():
    with live_hand(make_colour_scene(make_colour_run(), ()), steps=10**6, playing=True) as hand:
        for now, best in ((0.004, 0.03), (0.4, 2831291.0), (9.7, 20.0), (31.0, 100.0)):
            hand.view._full_speed, hand.view._steps = best, SimpleNamespace(value=now, mark=lambda step: None)
            (said,) = (part for part in hand.view.pace(hand.view.shown) if "steps/s" in part)
            first, last = (float(part.replace(",", "")) for part in re.findall(r"[\d.,]+", said))
            assert first == pytest.approx(now, rel=0.05)
            assert last == pytest.approx(best, rel=0.05)


def test_a_window_that_is_closed_while_kernels_compile_ends_at_once(cold):
    for _ in range(20):
        cold.view.tick(1 / 60)
        time.sleep(0.02)
    begun = time.monotonic()
    cold.view.close()
    assert time.monotonic() - begun < 1
    assert cold.run.steps == 0


@pytest.mark.parametrize(("size", "first"), [((1280, 720), "a message"), ((600, 300), "40 times as good")])
def test_news_hide_nothing_that_learns_and_in_a_low_picture_trouble_waits_for_them(size, first):
    with live_hand(make_colour_scene(panels=()), size) as hand:
        hand.view.say(NEWS, 8.0)
        hand.view.tick(0.01)
        bench, (bar,) = hand.bench, [sketch for layer in hand.bench.overlays for sketch in layer]
        assert_readable([bar], size)
        assert NEWS.split() == [word for word in " ".join(words([bar])).split() if word != "i"]
        ends, top = bench.places.scene[0] + bench.places.scene[2], bar.shapes[0].y
        behind = {t.text for t in texts(bench.sketches) if t.y > top and t.x < ends}
        assert behind == {t.text for t in texts(bench.sketches) if t.y == bench.places.keys} != set()
        hand.view.worker.error = ValueError("a message")
        for seconds, seen in ((0.01, {first, "40 times as good"}), (9.0, {"a message"})):
            hand.view.tick(seconds)
            above = " ".join(said_above(hand.bench))
            assert {text for text in ("a message", "40 times as good") if text in above} == seen
