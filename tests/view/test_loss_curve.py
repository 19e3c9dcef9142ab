"""The loss curve: its mean and spread, its names, its axis that a click switches, what is known beforehand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scalarviz as sv
from kit.benches import KEYS, bench_of, middle, pixels_of, said_anywhere, text_boxes
from kit.commands import make_scene
from kit.windows import Window
from scalarviz import nn, optim
from scalarviz.run.edits import SetBatchSize
from scalarviz.run.panels import LossCurve
from scalarviz.run.panels import TestCurve as Curve
from scalarviz.run.sources.played import Rehearsal
from scalarviz.view.ink.axes import can_be_log, scale_of
from scalarviz.view.ink.painter import Painter
from scalarviz.view.ink.sketch import Path, Rect, meet
from scalarviz.view.ink.text import loss_text
from scalarviz.view.ink.theme import DARK, LIGHT, rgb
from scalarviz.view.ink.widgets import AxisSwitch
from scalarviz.view.out.offscreen import render
from scalarviz.view.panels.loss import SHARE, Line, averaged, loss_panel, thin_out
from scalarviz.view.panels.wording import BEFORE
from scalarviz.view.shown.ahead import Ahead
from scalarviz.view.watch import live

X = np.random.default_rng(0).random((64, 3))
BOX = (952.0, 300.0, 304.0, 300.0)


def scene(*panels):
    net = nn.Sequential(nn.Linear(3, 3, seed=1), nn.Sigmoid())
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.5), (X, 1 - X), engine="numpy")
    return sv.Scene("t", run, X[0], 1 - X[0], panels=panels or (LossCurve(),))


def painted(sketch):
    return render(lambda _: Painter((360, 300)).draw([sketch]), (360, 300)).astype(int)


def texts(sketch):
    return {text.text: text for text in sketch.texts}


# ---- mean and spread


@given(st.lists(st.floats(0, 1e30), min_size=1, max_size=300))
def test_each_point_is_the_mean_of_those_around_it(losses):
    curve = thin_out(np.arange(len(losses)), np.array(losses), 400)
    found, half, last = averaged(curve).line, int(len(losses) * SHARE), len(losses) - 1
    for k in range(len(losses)):
        left, right = min(half, k), min(half, k, last - k)
        assert found[k] == pytest.approx(np.mean(losses[k - left : k + right + 1]), rel=1e-12)
    assert found[0] == losses[0]


def test_a_loss_beyond_all_others_does_not_lose_the_small_ones():
    losses = np.full(200, 1e-3)
    losses[50] = 1e300
    np.testing.assert_allclose(averaged(thin_out(np.arange(200), losses, 400)).line[60:], 1e-3)


def test_a_thinned_curve_keeps_means_extremes_and_its_ends():
    steps, losses = np.arange(1.0, 1001.0), np.random.default_rng(0).random(1000)
    middles, mean, low, high = thin_out(steps, losses, 50)
    groups = losses.reshape(50, 20)
    np.testing.assert_allclose(mean[1:], groups.mean(1)[1:])  # at its end one batch's own loss would be a cliff
    np.testing.assert_array_equal([low, high], [groups.min(1), groups.max(1)])
    np.testing.assert_allclose(middles[1:-1], steps.reshape(50, 20).mean(1)[1:-1])
    assert (middles[0], mean[0], middles[-1]) == (1.0, losses[0], 1000.0)


def test_what_is_averaged_is_seen_behind_the_mean():
    noise = np.where(np.arange(200) % 2, 0.5, 1.5)
    paths = {
        noisy: [
            shape
            for shape in loss_panel(BOX, DARK, [Line("b", np.arange(200), noise, noisy=noisy)]).shapes
            if isinstance(shape, Path) and len(shape.points) == 200
        ]
        for noisy in (True, False)
    }
    assert [len(some) for some in paths.values()] == [2, 1]
    grey, mean = (np.ptp(path.points[20:-20, 1]) for path in paths[True])
    assert mean < 0.5 * grey == 0.5 * np.ptp(paths[False][0].points[20:-20, 1])


@pytest.mark.gl
def test_the_curve_passes_where_the_axis_says():
    steps = np.arange(1, 161)
    losses = 0.1 * np.exp(-steps / 60)
    switch = AxisSwitch()
    sketch = loss_panel((20, 10, 304, 280), DARK, [Line("batch", steps, losses)], switch=switch)
    picture = painted(sketch)
    for step in (20, 80, 140):
        x, y = switch.axes.point(step, losses[step - 1])
        assert switch.step((x, y)) == step
        assert picture[int(y) - 1 : int(y) + 2, int(x) - 1 : int(x) + 2].max() > 200
        assert picture[int(y) + 8 : int(y) + 14, int(x)].max() < 100


@pytest.mark.gl
@pytest.mark.parametrize("theme", [DARK, LIGHT])
@pytest.mark.parametrize("factor", [1.0, 1.02])
def test_of_two_curves_upon_each_other_both_are_seen(theme, factor):
    steps = np.arange(1, 200)
    losses = np.exp(-steps / 60)
    curves = [Line("b", steps, losses), Line("t", steps[::3], factor * losses[::3], dashed=True)]
    sketch = loss_panel((20.0, 10.0, 304.0, 280.0), theme, curves)
    sketch.texts.clear()
    picture = painted(sketch)
    picture[:80, 190:] = 0  # the curves' names
    for ink in (theme.text1, theme.text2):
        near = np.abs(picture - np.array(rgb(ink)) * 255).max(axis=2) < 25
        assert len(np.unique(np.nonzero(near)[1])) > 70, ink  # columns, of 250


@pytest.mark.parametrize("losses", [[], [np.nan], [0.5]])
def test_a_curve_of_few_points_or_none_is_a_frame(losses):
    for curves in ([], [Line("b", np.arange(len(losses)), np.array(losses))]):
        sketch = loss_panel(BOX, DARK, curves)
        assert sketch.texts[0].text == "loss"
        assert np.isfinite(sketch.triangles).all()
        assert ("no step yet" in texts(sketch)) == (not (curves and 0.5 in losses))


# ---- names, and the note in the title

STEPS = np.arange(300)
NOISE = np.exp(np.random.default_rng(0).normal(0, 0.05, 300))
SHAPES = {
    "falling": np.exp(-STEPS / 60.0) * NOISE,
    "rising": np.exp(STEPS / 60.0) * NOISE,
    "late": np.where(STEPS < 150, 1e-3, 1.0) * NOISE,
    "valley": np.exp(np.abs(STEPS - 150) / 40.0) * NOISE,
    "hill": np.exp(-np.abs(STEPS - 150) / 40.0) * NOISE,
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("count", [1, 2])
def test_no_curve_and_no_gridline_goes_through_a_name(shape, count):
    switch, losses = AxisSwitch(), SHAPES[shape]
    curves = [Line("1,024 colours", STEPS, losses), Line("the photo", STEPS, 0.9 * losses, dashed=True)][:count]
    sketch = loss_panel(BOX, DARK, curves, switch=switch)
    if shape == "falling":
        name = texts(sketch)["1,024 colours"]
        assert name.x > BOX[0] + 0.7 * BOX[2]
        assert name.y < BOX[1] + 0.25 * BOX[3]
    for curve in curves:
        name = texts(sketch)[curve.label]
        across = np.linspace(STEPS[0], STEPS[-1], 3000)
        places = switch.axes.points(across, np.interp(across, STEPS, curve.losses))
        beside = (places[:, 0] > name.x - 32) & (places[:, 0] < name.x + name.width)
        assert not (beside & (np.abs(places[:, 1] - name.y + 5) < 8)).any()
        (ground,) = [
            s
            for s in sketch.shapes
            if isinstance(s, Rect)
            and s.fill == DARK.background
            and s.height < 60
            and meet((s.x, s.y, s.width, s.height), (name.x, name.y - 10, name.width, 10))
        ]
        assert sketch.shapes.index(ground) > 0  # over the gridlines, which come first


def test_names_stand_on_no_spread_where_a_corner_is_free():
    """Losses of single batches reach far below their mean: both lower corners are theirs."""
    losses = np.exp(-np.arange(20_000) / 5000) * 10.0 ** -np.random.default_rng(0).uniform(0, 6, 20_000)
    name = texts(loss_panel(BOX, DARK, [Line("batches", np.arange(20_000), losses)]))["batches"]
    assert name.x > BOX[0] + BOX[2] / 2
    assert name.y < BOX[1] + 80


@pytest.mark.parametrize("touched", [False, True])
@pytest.mark.parametrize("note", ["test accuracy 7 %", "test accuracy 98.1 % at step 1,600"])
def test_the_note_is_clear_of_the_title_and_of_the_switch(note, touched):
    """At steps of four digits it ran into the word of the axis."""
    switch = AxisSwitch(touched=touched)
    curve = Line("b", np.arange(1, 2001), np.geomspace(5.0, 1e-3, 2000))
    boxes = {text: box for box, text in text_boxes(loss_panel(BOX, DARK, [curve], note, switch=switch))}
    right = boxes["log"][0] if switch.box is None else switch.box[0]
    assert boxes["loss"][0] + boxes["loss"][2] + 8 < boxes[note][0]
    assert boxes[note][0] + boxes[note][2] < right - 8


# ---- the axis


@pytest.fixture
def window(monkeypatch):
    monkeypatch.setattr(live, "REHEARSAL_SECONDS", 60.0)  # on a busy machine it is given up, and nothing is foretold
    with Window(scene(), steps=500) as made:
        yield made


@pytest.mark.gl
def test_a_click_on_the_word_switches_the_axis_and_back_and_it_stays_so(window):
    window.send("step", 200)
    window.rest(lambda: window.view.shown.step == 200)
    switch = window.drawer(LossCurve).switch
    x, y, width, height = switch.box
    plots = [switch.axes]
    for beside in ((x - 4, y + 4), (x + 4, y + height + 4)):
        window.press(beside)
        assert "log" in window.words
    dark = pixels_of(window.bench)
    window.move(middle(switch.box))
    lit = pixels_of(window.bench) - dark
    assert lit[int(y) : int(y + height), int(x) : int(x + width)].sum() > 500
    window.press(middle(switch.box))
    plots.append(switch.axes)
    assert "linear" in window.words
    assert "log" not in window.words
    assert [plot.up.log for plot in plots] == [True, False]
    window.view.resize((960, 540))
    window.send("toggle_theme")
    assert "linear" in window.words
    window.press(middle(window.drawer(LossCurve).switch.box))
    assert "log" in window.words
    assert window.run.log == []


def test_where_there_is_no_hand_or_no_logarithm_there_is_no_switch():
    with scene().run as run:
        run.step(5)
        bench = bench_of(sv.Scene("t", run, panels=(LossCurve(),)))
    assert bench.side.drawer(LossCurve).switch.box is None
    assert "log" in said_anywhere(bench)
    for losses, free in (([0.5, 0.1], True), ([0.5, -0.1], False), ([0.0, 0.0], False)):
        switch = AxisSwitch(touched=True)
        loss_panel(BOX, DARK, [Line("b", np.array([1, 2]), np.array(losses))], switch=switch)
        assert (switch.box is not None) is can_be_log(np.array(losses)) is scale_of(np.array(losses)).log is free
        assert not scale_of(np.array(losses), linear=True).log


@pytest.mark.parametrize("linear", [False, True])
def test_with_the_steps_ahead_nothing_rescales(linear):
    losses = 0.2 * np.exp(-np.arange(1000) / 150)
    ahead = Ahead(0, 1000, float(losses.min()), float(losses.max()), float(losses[0]), np.zeros(2))
    seen = []
    for done in (1, 10, 300, 1000):
        switch = AxisSwitch(linear=linear)
        sketch = loss_panel(BOX, DARK, [Line("b", np.arange(1, done + 1), losses[:done])], switch=switch, ahead=ahead)
        seen.append((switch.axes, {"0", "1,000"} <= set(texts(sketch))))
    assert all(one == seen[0] for one in seen)
    assert seen[0][1]
    beyond = loss_panel(BOX, DARK, [Line("b", np.arange(1, 2001), np.full(2000, 0.1))], ahead=ahead)
    assert "2,000" in texts(beyond)


@pytest.mark.gl
def test_before_the_first_step_stands_its_loss_until_a_change_by_hand(window):
    expected = loss_text(window.run.evaluate(X, 1 - X))  # the whole data is one batch
    assert np.isnan(window.view.frame().loss)
    assert {expected, "500"} <= set(window.words)
    assert "no step yet" not in window.words
    window.view.put(0, 5.0)
    window.rest()
    assert expected not in window.words
    for losses in (np.array([1.0, np.inf]), np.array([])):  # what diverges tells nothing of the steps ahead
        assert Ahead.of(Rehearsal(losses, np.arange(3), np.zeros(3)), window.run.frame()) is None


# ---- the dashed curve


def test_a_still_knows_the_losses_of_the_test_before_it_and_a_window_what_it_shows():
    """Those of a run that was asked at each of these steps, and looking changes no bit."""
    shown, watched = (make_scene("playground") for _ in range(2))
    with shown.run as run, watched.run as other:
        for one in (run, other):
            one.step(300)
            one.do(SetBatchSize(20))
            one.step(300)
        drawer = bench_of(shown).side.drawer(LossCurve)
        assert len(drawer.steps) > 20
        assert drawer.steps == sorted(set(drawer.steps))
        assert (drawer.steps[0], drawer.steps[-1]) == (0, 600)
        for step, loss in zip(drawer.steps, drawer.losses, strict=True):
            other.to(step)
            assert loss == other.evaluate(*watched.first.test), step
        assert (run.steps, len(run.log)) == (600, 1)
        other.to(600)
        for steps in (0, 5):
            run.step(steps)
            other.step(steps)
            assert run.values.tobytes() == other.values.tobytes()
        assert bench_of(shown, keys=KEYS, seconds=0.1).side.drawer(LossCurve).steps == [run.steps]


def test_curves_begin_anew_with_the_weights_that_were_loaded(tmp_path):
    """The solid one was gone, the dashed one went on from numbers that were no longer there."""
    shown = scene(LossCurve("here", Curve("test", X[:8], 1 - X[:8])))
    with shown.run as run:
        bench = bench_of(shown, keys=KEYS)
        curve = bench.side.drawer(LossCurve)
        assert curve.steps == [0]
        for _ in range(6):
            run.step(5)
            bench.update(run.frame(shown.probe), "", 0.1)
            if run.steps == 15:
                run.save(tmp_path / "w.safetensors")
        assert curve.steps == [0, 5, 10, 15, 20, 25, 30]
        run.load(tmp_path / "w.safetensors")
        bench.update(run.frame(shown.probe), "", 0.1)
        assert curve.steps == [15]
        assert not any(BEFORE in text for text in said_anywhere(bench))
        run.step(5)
        bench.update(run.frame(shown.probe), "", 0.1)
        assert curve.steps == [15, 20]
        assert curve.losses[-1] == pytest.approx(run.evaluate(X[:8], 1 - X[:8]))
