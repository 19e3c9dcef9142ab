"""The word beside the loss curve switches its axis, and before the first step the axes are those of the whole run."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.run.panels import LossCurve
from scalarviz.run.scene.scene import Scene
from scalarviz.run.sources.played import Rehearsal
from scalarviz.view.ink.axes import can_be_log, scale_of
from scalarviz.view.ink.places import LABEL
from scalarviz.view.ink.text import loss_text, measure
from scalarviz.view.ink.theme import DARK
from scalarviz.view.ink.widgets import AxisSwitch
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.panels.loss import Line, loss_panel
from scalarviz.view.shown.ahead import Ahead
from scalarviz.view.watch import live
from scalarviz.view.watch.live import LiveView
from scalarviz.view.workbench import Workbench

X = np.random.default_rng(0).random((64, 3))
BOX = (952.0, 300.0, 304.0, 300.0)


def scene() -> Scene:
    net = nn.Sequential(nn.Linear(3, 3, seed=1), nn.Sigmoid())
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.5), (X, 1 - X), engine="numpy")
    return Scene("t", run, X[0], 1 - X[0], panels=(LossCurve(),))


@pytest.fixture
def view(monkeypatch: pytest.MonkeyPatch) -> Iterator[LiveView]:
    monkeypatch.setattr(live, "REHEARSAL_SECONDS", 60.0)  # on a busy machine it is given up, and nothing is foretold
    with offscreen():
        made = LiveView(scene(), (1280, 720), steps=500, playing=False)
        made.tick(0.02)
        yield made
        made.close()


def words(view: LiveView) -> list[str]:
    return [item.text for sketch in view.bench.sketches for item in sketch.texts]


def click_the_word(view: LiveView) -> None:
    x, y, width, height = view.bench.side.drawers["loss"].switch.box
    at = (x + width / 2) * view.bench.scale, (y + height / 2) * view.bench.scale
    view.press(at)
    view.release(at)
    view.tick(0.2)


def until(view: LiveView, step: int) -> None:
    view.worker.train_to(step)
    view.worker.settle()
    for _ in range(3):
        view.tick(0.2)


@pytest.mark.gl
def test_a_click_on_the_word_switches_the_axis_and_back_and_it_stays_so(view: LiveView) -> None:
    until(view, 200)
    assert "log" in words(view)
    picture = offscreen().render(view.bench.draw, view.bench.size).astype(int)
    click_the_word(view)
    assert "linear" in words(view)
    assert "log" not in words(view)
    x, y, width, height = (round(n) for n in view.bench.places.panels["loss"])
    moved = np.any(offscreen().render(view.bench.draw, view.bench.size).astype(int) != picture, axis=2)
    assert moved[y + 30 : y + height - 30, x + 50 : x + width].any()  # the curve itself
    until(view, 300)
    view.resize((960, 540))
    view.send("toggle_theme")
    view.tick(0.2)
    assert "linear" in words(view)
    click_the_word(view)
    assert "log" in words(view)
    assert view.run.log == []


@pytest.mark.gl
def test_beside_the_word_nothing_is_switched(view: LiveView) -> None:
    until(view, 50)
    x, y, _, height = view.bench.side.drawers["loss"].switch.box
    for at in ((x - 4, y + 4), (x + 4, y + height + 4)):
        view.press(at)
        view.release(at)
        view.tick(0.1)
        assert "log" in words(view)


@pytest.mark.gl
def test_the_word_lights_up_below_the_pointer(view: LiveView) -> None:
    until(view, 50)
    switch = view.bench.side.drawers["loss"].switch
    x, y, width, height = (round(n) for n in switch.box)
    part = slice(y, y + height), slice(x, x + width)
    before = offscreen().render(view.bench.draw, view.bench.size).astype(int)[part]
    view.move((x + 5, y + 5))
    view.tick(0.1)
    assert offscreen().render(view.bench.draw, view.bench.size).astype(int)[part].sum() > before.sum() + 500
    view.leave()
    view.tick(0.1)
    assert np.array_equal(offscreen().render(view.bench.draw, view.bench.size).astype(int)[part], before)


@pytest.mark.gl
def test_a_film_has_no_switch() -> None:
    made = scene()
    with offscreen():
        bench = Workbench(made, (1280, 720))
        made.run.step(5)
        bench.update(made.run.frame(made.probe))
    assert bench.side.drawers["loss"].switch.box is None
    assert "log" in [item.text for sketch in bench.sketches for item in sketch.texts]


@pytest.mark.parametrize(("losses", "free"), [([0.5, 0.1], True), ([0.5, -0.1], False), ([0.0, 0.0], False)])
def test_what_cannot_be_logarithmic_is_no_switch(losses: list[float], free: bool) -> None:
    switch = AxisSwitch(touched=True)
    loss_panel(BOX, DARK, [Line("b", np.array([1, 2]), np.array(losses))], switch=switch)
    assert (switch.box is not None) is can_be_log(np.array(losses)) is free
    assert scale_of(np.array(losses)).log is free
    assert not scale_of(np.array(losses), linear=True).log


def ticks(sketch: object) -> list[str]:
    return [item.text for item in sketch.texts if item.anchor == "right" and item.x < BOX[0] + 40]  # type: ignore[attr-defined]


@pytest.mark.parametrize("linear", [False, True])
def test_with_the_steps_ahead_nothing_rescales(linear: bool) -> None:
    losses = 0.2 * np.exp(-np.arange(1000) / 150)
    ahead = Ahead(0, 1000, float(losses.min()), float(losses.max()), float(losses[0]), np.zeros(2))
    switch, seen = AxisSwitch(linear=linear), []
    for done in (1, 10, 300, 1000):
        curve = Line("b", np.arange(1, done + 1), losses[:done])
        sketch = loss_panel(BOX, DARK, [curve], switch=switch, ahead=ahead)
        ends = [item.text for item in sketch.texts if item.y > BOX[1] + BOX[3] - 10]
        seen.append((ticks(sketch), ends))
    assert all(one == seen[0] for one in seen)
    assert seen[0][1] == ["0", "1,000"]
    beyond = loss_panel(BOX, DARK, [Line("b", np.arange(1, 2001), np.full(2000, 0.1))], ahead=ahead)
    assert "2,000" in [item.text for item in beyond.texts]


@pytest.mark.gl
def test_before_the_first_step_stand_its_loss_and_one_dot(view: LiveView) -> None:
    frame = view.frame()
    assert np.isnan(frame.loss)
    expected = loss_text(view.run.evaluate(X, 1 - X))  # the whole data is one batch
    assert expected in words(view)
    assert "no step yet" not in words(view)
    until(view, 1)
    assert view.run.loss == pytest.approx(float(expected), abs=1e-4)
    assert "500" in words(view)


@pytest.mark.gl
def test_after_a_change_by_hand_the_loss_of_the_rehearsal_is_said_no_more(view: LiveView) -> None:
    expected = loss_text(view.run.evaluate(X, 1 - X))
    view.put(0, 5.0)
    view.worker.settle()
    for _ in range(3):
        view.tick(0.2)
    assert expected not in words(view)


def test_what_diverges_tells_nothing_of_the_steps_ahead() -> None:
    made = scene()
    frame = made.run.frame()
    for losses in (np.array([1.0, np.inf]), np.array([])):
        assert Ahead.of(Rehearsal(losses, np.arange(3), np.zeros(3)), frame) is None


@pytest.mark.parametrize("touched", [False, True])
@pytest.mark.parametrize(
    "note", ["test accuracy 7 %", "test accuracy 98.1 % at step 1,600", "accuracy 97 % at step 27"]
)
def test_the_note_is_clear_of_the_title_and_of_the_switch(note: str, touched: bool) -> None:
    """At steps of four digits it ran into the word of the axis."""
    switch = AxisSwitch(touched=touched)
    curve = Line("b", np.arange(1, 2001), np.geomspace(5.0, 1e-3, 2000))
    sketch = loss_panel(BOX, DARK, [curve], note, switch=switch)
    texts = {item.text: item for item in sketch.texts}
    half = measure(note, LABEL) / 2
    title = BOX[0] + measure("loss", LABEL, True)
    word = BOX[0] + BOX[2] - measure("log", LABEL) if switch.box is None else switch.box[0]
    assert title + 8 < texts[note].x - half < texts[note].x + half < word - 8
