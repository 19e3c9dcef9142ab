"""Words and numbers wait for a tenth of a second in a window: never for longer, never in part, and never in vain."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from scalarviz.scenes import neuron

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.run import Scene
from scalarviz.run import panels as described
from scalarviz.run.panels import LossCurve
from scalarviz.view.ink.sketch import rgba
from scalarviz.view.ink.text import MINUS, chip_text, short
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.panels.wording import BEFORE
from scalarviz.view.watch.live import LiveView
from scalarviz.view.workbench import Workbench

pytestmark = pytest.mark.gl
X = np.random.default_rng(0).random((32, 3))
FRAME = 1 / 60


def scene():
    net = nn.Sequential(nn.Linear(3, 3, seed=1), nn.Sigmoid())
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.5), (X, 1 - X), engine="numpy")
    return Scene("t", run, probe=X[0], probe_target=1 - X[0])


def said(sketches):
    return [text.text for sketch in sketches for text in sketch.texts]


def has(view, words):
    return any(words in text for text in said(view.bench.sketches))


@pytest.fixture
def live():
    views = []

    def make(**options):
        views.append(LiveView(scene(), (1280, 720), **options))
        views[-1].tick(0.0)
        return views[-1]

    with offscreen():
        yield make
        for view in views:
            view.close()


def test_a_step_after_a_rest_is_written_at_once(live):
    """The curve shows step 1 in this frame: so do the HUD and the numbers on the cubes."""
    view = live(playing=False)
    for _ in range(30):
        assert not view.tick(FRAME)
    view.send("step")
    view.worker.settle()
    view.tick(FRAME)
    assert view._shown.step == 1
    texts = said(view.bench._numbers)
    assert texts[texts.index("step") + 1] == "1"


def test_a_pause_is_said_though_no_number_changes():
    shown = scene()
    shown.run.step(5)
    with offscreen():
        bench = Workbench(shown, text_hz=10.0)
        frame = shown.run.frame(shown.probe)
        bench.update(frame, "pace 1 step a frame", 0.0)
        bench.update(frame, "paused", FRAME)
        assert bench.moving
        bench.update(frame, "paused", 0.1)
        assert not bench.moving
    assert "paused" in said(bench.sketches)
    shown.run.close()


def test_the_end_of_the_steps_is_said(live, monkeypatch):
    """Also where the last step is done before the frame is drawn in which it was asked for."""
    view = live(steps=3, duration=2.0)
    advance = view.playback.tick

    def quick(seconds):
        advance(seconds)
        view.worker.settle()

    monkeypatch.setattr(view.playback, "tick", quick)
    for _ in range(180):
        view.tick(FRAME)
    assert view._shown.step == 3
    assert has(view, "paused at the end")


def test_speed_is_said_while_paused(live):
    view = live(playing=False)
    for key, words in (("]", "paused, speed 2x"), ("[", "paused"), ("[", "paused, speed 1/2x"), ("\\", "paused")):
        assert view.key(key)
        view.tick(0.2)
        assert has(view, f"{words}  ·  "), words
    assert view.key("\\")
    assert view.notice() == "the speed is 1x already"
    for _ in range(5):
        view.key("]")
    assert view.notice() == "the speed is without limit already"


def test_the_numbers_of_the_inspector_are_of_the_frame_that_its_equation_is_of():
    shown = scene()
    shown.run.step(5)
    with offscreen():
        bench = Workbench(shown, text_hz=10.0)
        bench.update(shown.run.frame(shown.probe), "", 0.2)
        bench.select(2)
        for _ in range(3):
            shown.run.step(40)
            bench.update(shown.run.frame(shown.probe), "", 0.02)
            texts = said(bench.overlays[0])
            value = texts[texts.index("value") + 1]
            result = re.search(r"last update: [^=]*= [^=]*= ([^ ]+)", " ".join(texts)).group(1)
            assert float(value.replace(MINUS, "-")) == pytest.approx(float(result.replace(MINUS, "-")), abs=1e-4)
    shown.run.close()


@pytest.mark.parametrize("quantity", ["gradient", "update"])
def test_what_was_not_computed_has_no_range(quantity):
    """Nine cubes without a gradient: no range beside them, no tick and no share in the legend."""
    shown = scene()
    with offscreen():
        bench = Workbench(shown, quantity=quantity)
        bench.update(shown.run.frame(shown.probe))
        scale = bench.colouring.legend()
        assert not len(scale.marks)
        assert "clipped" not in scale.note
        assert [text for _, text in scale.labels] == ["0"]
        assert bench.colouring.extents() == {}
        shown.run.step(1)
        bench.update(shown.run.frame(shown.probe))
        assert len(bench.colouring.legend().marks) == 12
        assert set(bench.colouring.extents()) == {tensor.name for tensor in shown.run.tensors}
    shown.run.close()


def test_curves_begin_anew_with_the_weights_that_were_loaded(tmp_path):
    """The solid one was gone, the dashed one went on from numbers that were no longer there."""
    shown = replace(scene(), panels=(LossCurve("here", described.TestCurve("test", X[:8], 1 - X[:8])),))
    with offscreen():
        bench = Workbench(shown)
        for _ in range(6):
            shown.run.step(5)
            bench.update(shown.run.frame(shown.probe))
            if shown.run.steps == 15:
                shown.run.save(tmp_path / "w.safetensors")
        shown.run.load(tmp_path / "w.safetensors")
        bench.update(shown.run.frame(shown.probe))
        curve = bench.side.drawer(LossCurve)
        assert curve.steps == [15]
        assert not any(BEFORE in text for text in said(bench.sketches))
        shown.run.step(5)
        bench.update(shown.run.frame(shown.probe))
        assert curve.steps == [15, 20]
    shown.run.close()


def test_the_axis_of_the_curve_ends_at_the_step_that_the_hud_says():
    """The curve grows in every frame; its words are of the frame that all words are of, and catch up at rest."""
    shown = replace(scene(), panels=(LossCurve("here"),))
    with offscreen():
        bench = Workbench(shown, text_hz=10.0, keys=(("?", "keys"),))
        shown.run.step(1)
        bench.update(shown.run.frame(shown.probe), "", 0.2)
        seen = set()
        for _ in range(12):
            shown.run.step(40)
            frame = shown.run.frame(shown.probe)
            bench.update(frame, "", 0.02)
            texts = said(bench._numbers)
            step = texts[texts.index("step") + 1]
            axis = said(bench._moving)
            assert step in axis
            assert step == f"{frame.step:,}" or f"{frame.step:,}" not in axis
            seen.add(step)
        assert 2 <= len(seen) <= 4
        while bench.moving:
            bench.update(frame, "", 0.02)
        assert f"{frame.step:,}" in said(bench._moving)
    shown.run.close()


def test_an_accuracy_that_has_come_is_no_longer_dim():
    """The window updates while the picture moves by itself, and no longer: then the HUD must say that it is of now."""
    net = nn.Sequential(nn.Linear(3, 3, seed=1))
    classes = np.arange(32) % 3
    run = Run(net, nn.CrossEntropyLoss(), optim.SGD(net.parameters(), lr=0.1), (X, classes), engine="numpy")
    test = described.TestCurve("test", X, classes, accuracy=True)
    for pause in (0.01, 0.02, 0.03, 0.05):  # whichever clock is the last one to be due
        shown = Scene("t", run, panels=(LossCurve("here", test),))
        with offscreen():
            bench = Workbench(shown, text_hz=10.0, keys=(("?", "keys"),))
            bench.update(run.frame(), "", pause)
            for _ in range(3):
                run.step(1)
                frame = run.frame()
                bench.update(frame, "", pause)
            while bench.moving:
                bench.update(frame, "", pause)
            colours = [t.colour for s in bench._numbers for t in s.texts if re.fullmatch(r"\d+\.\d %", t.text)]
        assert colours == [rgba(bench.theme.text1)], pause
    run.close()


def test_words_of_a_panel_are_of_the_frame_that_the_hud_speaks_of():
    """A table, the four calls of a step and a graph: all say the step of the HUD, at every frame that runs."""
    shown = scene()
    table = described.Table("mine", lambda moment: [(f"table of {moment.step}",)], lines=1)
    loop = described.TrainingLoop((0,), ("w",))

    def made(moment):
        return described.Made((sv.Value(float(moment.step), label="s"),), f"graph of {moment.step}")

    shown = replace(shown, panels=(table, loop, described.GraphPanel("graph", made)))
    with offscreen():
        bench = Workbench(shown, (1280, 900), text_hz=10.0, keys=(("?", "all keys"),))
        seen = set()
        for _ in range(40):
            shown.run.step()
            bench.update(shown.run.frame(shown.probe), "", FRAME)
            texts = said(bench.sketches)
            step = texts[texts.index("step") + 1]
            assert f"table of {step}" in texts
            assert f"all four happened in step {step}" in texts
            aged = any(text.startswith("step ") for text in texts)  # it is dear: else it says of which step it is
            assert f"graph of {step}" in texts or aged
            seen.add(step)
        assert 5 < len(seen) < 12
        assert bench.moving
        bench.update(shown.run.frame(shown.probe), "", 0.1)
        assert "table of 40" in said(bench.sketches)
        assert not bench.moving


def test_a_number_on_a_cube_is_of_the_moment_of_its_colour():
    """A weight that jumps over its lowest point has another sign at every step: orange is below 0, blue above."""
    shown = neuron.build(neuron.Options(engine="numpy", lr=1.1))
    signs = set()
    with shown.run as run, offscreen() as canvas:
        bench = Workbench(shown, (1280, 720), text_hz=10.0)
        run.step(20)
        bench.update(bench.subject.frame(), "", 0.2)
        for _ in range(5):  # within a tenth of a second
            run.step(1)
            bench.update(bench.subject.frame(), "", 0.01)
            plate = bench.layout.plates[0]
            value = float(run.values[0])
            assert chip_text(value, signed=True) in said(bench._on_cubes)
            red, _, blue = face(canvas.render(bench.draw, bench.size), bench, plate)
            assert (red > blue) == (value < 0)
            signs.add(value < 0)
    assert signs == {True, False}


def face(pixels, bench, plate):
    """The colour of the first cube's main face, beside its number."""
    corner = plate.cell_corners(0, 0)[4:]
    x, y = bench.project([0.9 * corner[0] + 0.1 * plate.cell_centre_top(0, 0)])[0]
    return pixels[round(y), round(x), :3].astype(int)


def test_what_is_said_of_a_step_is_of_the_step_that_the_hud_names():
    """The slope and the move beneath the loss over a weight, the calls beside it, and the HUD: one step."""
    shown = neuron.build(neuron.Options(engine="numpy", lr=0.3))
    with shown.run as run, offscreen():
        bench = Workbench(shown, (1280, 720), text_hz=10.0)
        run.step(3)
        frame = bench.subject.frame()
        bench.update(frame, "", 0.2)
        gradient = short(float(frame.gradient[0]), signed=True)
        run.step(1)
        bench.update(bench.subject.frame(), "", 0.01)
        texts = said(bench.sketches)
        assert texts[texts.index("step") + 1] == "3"
        assert any(f"× slope {gradient} =" in text for text in texts)
        assert bench.moving
        bench.update(bench.subject.frame(), "", 0.1)
        texts = said(bench.sketches)
        assert texts[texts.index("step") + 1] == "4"
        assert any(f"× slope {short(float(run.frame().gradient[0]), signed=True)} =" in text for text in texts)
