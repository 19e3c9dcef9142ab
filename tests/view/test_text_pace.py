"""Words and numbers wait for a tenth of a second in a window: never longer, in part, or in vain."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import pytest

import scalarviz as sv
from kit.benches import KEYS, pixels_of, said_anywhere, words
from kit.commands import make_scene
from kit.windows import live_hand, make_colour_scene
from scalarviz.run.panels import GraphPanel, LossCurve, Made, Table, TrainingLoop
from scalarviz.view.ink.text import MINUS, chip_text
from scalarviz.view.workbench import Workbench

FRAME = 1 / 60


@pytest.fixture
def scene():
    with (made := make_colour_scene(panels=())).run:
        yield made


def step_of(texts):
    """The step of the HUD."""
    return next(after for word, after in pairwise(texts) if word == "step" and after[0].isdigit())


class Shown:
    """A picture of a scene that runs, whose words change ten times a second."""

    def __init__(self, scene, size=(1280, 720), steps=0, keys=KEYS):
        self.run, self.bench = scene.run, Workbench(scene, size, text_hz=10.0, keys=keys)
        self.after(0.2, steps)

    def after(self, seconds, steps=0, pace=""):
        self.run.step(steps)
        self.frame = self.bench.subject.frame() if steps or not hasattr(self, "frame") else self.frame
        self.bench.update(self.frame, pace, seconds)
        return said_anywhere(self.bench)


@pytest.mark.gl
def test_a_step_after_a_rest_is_written_at_once_and_so_is_the_end(scene, monkeypatch):
    """The curve shows the step in this frame: so do the HUD and the numbers on the cubes."""
    with live_hand(scene, steps=3, duration=2.0) as hand:
        view, advance = hand.view, hand.view.playback.tick
        hand.settled(30, FRAME)
        view.send("step")
        hand.settled(1, FRAME)
        assert view.shown.step == 1
        assert step_of(said_anywhere(hand.bench)) == "1"
        # the last step may be done before the frame is drawn in which it was asked for
        monkeypatch.setattr(view.playback, "tick", lambda seconds: (advance(seconds), view.worker.settle()))
        view.send("toggle_run")
        for _ in range(180):
            view.tick(FRAME)
        assert view.shown.step == 3
        assert any("paused at the end" in text for text in said_anywhere(hand.bench))


def test_the_numbers_of_the_inspector_are_of_the_frame_that_its_equation_is_of(scene):
    shown = Shown(scene, steps=5)
    shown.bench.select(2)
    for _ in range(3):
        shown.after(0.02, 40)
        said = words(shown.bench.overlays[0])
        value = said[said.index("value") + 1]
        result = re.search(r"last update: [^=]*= [^=]*= ([^ ]+)", " ".join(said)).group(1)
        assert float(value.replace(MINUS, "-")) == pytest.approx(float(result.replace(MINUS, "-")), abs=1e-4)


def test_words_of_a_panel_are_of_the_frame_that_the_hud_speaks_of(scene):
    """A table, the four calls of a step and a graph: all say the step of the HUD, at every frame that runs."""

    def made(moment):
        return Made((sv.Value(float(moment.step), label="s"),), f"graph of {moment.step}")

    table = Table("mine", lambda moment: [(f"table of {moment.step}",)], lines=1)
    panels = LossCurve("here"), table, TrainingLoop((0,), ("w",)), GraphPanel("graph", made)
    shown, seen = Shown(replace(scene, panels=panels), (1280, 900), steps=1), set()
    for _ in range(39):
        said = shown.after(FRAME, 1)
        step = step_of(said)
        assert step in words(shown.bench.side.drawn("loss"))  # though the curve grows in every frame
        assert {f"table of {step}", f"all four happened in step {step}"} <= set(said)
        aged = any(text.startswith("step ") for text in said)  # it is dear: else it says of which step it is
        assert f"graph of {step}" in said or aged
        seen.add(step)
    assert 5 < len(seen) < 12
    assert shown.bench.moving
    assert {"table of 40", "paused"} <= set(shown.after(0.1, pace="paused"))
    assert not shown.bench.moving


@pytest.mark.gl
def test_a_number_on_a_cube_is_of_the_moment_of_its_colour():
    """A weight that jumps over its lowest point has another sign at every step: orange is below 0, blue above."""
    neuron, signs = make_scene("neuron", lr=1.1), set()
    with neuron.run as run:
        shown = Shown(neuron, steps=20, keys=())
        for _ in range(5):  # within a tenth of a second
            said, bench = shown.after(0.01, 1), shown.bench
            plate, value = bench.layout.plates[0], float(run.values[0])
            assert chip_text(value, signed=True) in said
            x, y = bench.project([0.9 * plate.cell_corners(0, 0)[4] + 0.1 * plate.cell_centre_top(0, 0)])[0]
            red, _, blue = pixels_of(bench)[round(y), round(x), :3]  # the main face, beside its number
            assert (red > blue) == (value < 0)
            signs.add(value < 0)
    assert signs == {True, False}
