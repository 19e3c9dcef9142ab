"""The loss curve: its mean and spread, its names, its axis that a click switches, what is known beforehand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scalarviz as sv
from kit.benches import KEYS, bench_of, said_anywhere
from kit.commands import make_scene
from kit.windows import X, live_hand, make_colour_run, make_colour_scene
from scalarviz.run.edits import SetBatchSize
from scalarviz.run.panels import LossCurve
from scalarviz.run.panels import TestCurve as Curve
from scalarviz.run.sources.played import Rehearsal
from scalarviz.view.ink.axes import can_be_log, scale_of
from scalarviz.view.ink.painter import Painter
from scalarviz.view.ink.sketch import Rect, meet
from scalarviz.view.ink.text import loss_text
from scalarviz.view.ink.theme import DARK
from scalarviz.view.ink.widgets import AxisSwitch
from scalarviz.view.out.offscreen import render
from scalarviz.view.panels.loss import SHARE, Line, averaged, loss_panel, thin_out
from scalarviz.view.panels.wording import BEFORE
from scalarviz.view.shown.ahead import Ahead
from scalarviz.view.watch import live

BOX = (952.0, 300.0, 304.0, 300.0)
STEPS = np.arange(300)
NOISE = np.exp(np.random.default_rng(0).normal(0, 0.05, 300))
SHAPES = {
    "falling": np.exp(-STEPS / 60.0) * NOISE,
    "rising": np.exp(STEPS / 60.0) * NOISE,
    "late": np.where(STEPS < 150, 1e-3, 1.0) * NOISE,
    "valley": np.exp(np.abs(STEPS - 150) / 40.0) * NOISE,
    "hill": np.exp(-np.abs(STEPS - 150) / 40.0) * NOISE,
}


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


def test_a_thinned_curve_keeps_means_extremes_and_its_ends():
    steps, losses = np.arange(1.0, 1001.0), np.random.default_rng(0).random(1000)
    middles, mean, low, high = thin_out(steps, losses, 50)
    groups = losses.reshape(50, 20)
    np.testing.assert_allclose(mean[1:], groups.mean(1)[1:])  # at its end one batch's own loss would be a cliff
    np.testing.assert_array_equal([low, high], [groups.min(1), groups.max(1)])
    np.testing.assert_allclose(middles[1:-1], steps.reshape(50, 20).mean(1)[1:-1])
    assert (middles[0], mean[0], middles[-1]) == (1.0, losses[0], 1000.0)


@pytest.mark.gl
def test_the_curve_passes_where_the_axis_says():
    steps, switch = np.arange(1, 161), AxisSwitch()
    losses = 0.1 * np.exp(-steps / 60)
    sketch = loss_panel((20, 10, 304, 280), DARK, [Line("batch", steps, losses)], switch=switch)
    picture = render(lambda _: Painter((360, 300)).draw([sketch]), (360, 300)).astype(int)
    for step in (20, 80, 140):
        x, y = (int(v) for v in switch.axes.point(step, losses[step - 1]))
        assert switch.step(switch.axes.point(step, losses[step - 1])) == step
        assert picture[y - 1 : y + 2, x - 1 : x + 2].max() > 200
        assert picture[y + 8 : y + 14, x].max() < 100


@pytest.mark.parametrize("losses", [[], [np.nan], [0.5]])
def test_a_curve_of_few_points_or_none_is_a_frame(losses):
    sketch = loss_panel(BOX, DARK, [Line("b", np.arange(len(losses)), np.array(losses))])
    assert np.isfinite(sketch.triangles).all()
    assert ("no step yet" in texts(sketch)) == (losses != [0.5])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("count", [1, 2])
def test_no_curve_and_no_gridline_goes_through_a_name(shape, count):
    switch, losses = AxisSwitch(), SHAPES[shape]
    curves = [Line("1,024 colours", STEPS, losses), Line("the photo", STEPS, 0.9 * losses, dashed=True)][:count]
    sketch = loss_panel(BOX, DARK, curves, switch=switch)
    grounds = [s for s in sketch.shapes if isinstance(s, Rect) and s.fill == DARK.background and s.height < 60]
    for curve in curves:
        name = texts(sketch)[curve.label]
        places = switch.axes.points(across := np.linspace(0, 299, 3000), np.interp(across, STEPS, curve.losses))
        beside = (places[:, 0] > name.x - 32) & (places[:, 0] < name.x + name.width)
        assert not (beside & (np.abs(places[:, 1] - name.y + 5) < 8)).any()
        own = name.x, name.y - 10, name.width, 10
        (ground,) = [s for s in grounds if meet((s.x, s.y, s.width, s.height), own)]
        assert sketch.shapes.index(ground) > 0  # over the gridlines, which come first


# ---- the axis


@pytest.fixture
def hand(monkeypatch):
    monkeypatch.setattr(live, "REHEARSAL_SECONDS", 60.0)  # on a busy machine it is given up, and nothing is foretold
    with live_hand(make_colour_scene(panels=(LossCurve(),)), steps=500) as made:
        yield made


def test_a_click_on_the_word_switches_the_axis_and_back_and_it_stays_so(hand):
    hand.do("step", 200)
    x, y, _, height = hand.drawer(LossCurve).switch.box
    for place in ((x - 4, y + 4), (x + 4, y + height + 4)):
        hand.press(hand.at(place))
        assert (hand.drawer(LossCurve).switch.axes.up.log, "log" in hand.words()) == (True, True)
    hand.press(hand.middle(hand.drawer(LossCurve).switch.box))
    assert not hand.drawer(LossCurve).switch.axes.up.log
    hand.view.resize((960, 540))
    hand.do("toggle_theme")
    assert {"linear", "log"}.intersection(hand.words()) == {"linear"}
    hand.press(hand.middle(hand.drawer(LossCurve).switch.box))
    assert "log" in hand.words()
    assert hand.run.log == []


@pytest.mark.parametrize(("losses", "free"), [([0.5, 0.1], True), ([0.5, -0.1], False), ([0.0, 0.0], False)])
def test_where_there_is_no_hand_or_no_logarithm_there_is_no_switch(losses, free):
    for touched in (False, True):
        switch = AxisSwitch(touched=touched)
        loss_panel(BOX, DARK, [Line("b", np.array([1, 2]), np.array(losses))], switch=switch)
        assert (switch.box is not None) == (free and touched)
    assert can_be_log(np.array(losses)) is scale_of(np.array(losses)).log is free
    assert not scale_of(np.array(losses), linear=True).log


@pytest.mark.parametrize("linear", [False, True])
def test_with_the_steps_ahead_nothing_rescales(linear):
    losses = 0.2 * np.exp(-np.arange(1000) / 150)
    ahead, first = Ahead(0, 1000, float(losses.min()), float(losses.max()), float(losses[0]), np.zeros(2)), None
    for done in (1, 10, 300, 1000):
        switch = AxisSwitch(linear=linear)
        sketch = loss_panel(BOX, DARK, [Line("b", np.arange(1, done + 1), losses[:done])], switch=switch, ahead=ahead)
        first = first or switch.axes
        assert switch.axes == first
        assert {"0", "1,000"} <= texts(sketch).keys()
    beyond = loss_panel(BOX, DARK, [Line("b", np.arange(1, 2001), np.full(2000, 0.1))], ahead=ahead)
    assert "2,000" in texts(beyond)


def test_before_the_first_step_stands_its_loss_until_a_change_by_hand(hand):
    expected = loss_text(hand.run.evaluate(X, 1 - X))  # the whole data is one batch
    hand.until(lambda: expected in hand.words())
    assert np.isnan(hand.view.frame().loss)
    assert {"500", "no step yet"}.intersection(hand.words()) == {"500"}
    hand.view.put(0, 5.0)
    assert expected not in hand.words()
    for losses in (np.array([1.0, np.inf]), np.array([])):  # what diverges tells nothing of the steps ahead
        assert Ahead.of(Rehearsal(losses, np.arange(3), np.zeros(3)), hand.run.frame()) is None


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
        for one in (run, other):
            one.to(600)
            one.step(5)
        assert run.values.tobytes() == other.values.tobytes()
        assert bench_of(shown, keys=KEYS, seconds=0.1).side.drawer(LossCurve).steps == [605]


def test_curves_begin_anew_with_the_weights_that_were_loaded(tmp_path):
    """The solid one was gone, the dashed one went on from numbers that were no longer there."""
    with make_colour_run() as run:
        bench = bench_of(sv.Scene("t", run, panels=(LossCurve("here", Curve("test", X[:8], 1 - X[:8])),)), keys=KEYS)
        curve = bench.side.drawer(LossCurve)

        def steps(count=5):
            run.step(count)
            bench.update(run.frame(), "", 0.1)
            return curve.steps

        assert [*steps(), *steps()][-3:] == [0, 5, 10]
        run.save(tmp_path / "w.safetensors")
        assert steps() == [0, 5, 10, 15]
        run.load(tmp_path / "w.safetensors")
        assert steps(0) == [10]
        assert not any(BEFORE in text for text in said_anywhere(bench))
        assert steps() == [10, 15]
        assert curve.losses[-1] == pytest.approx(run.evaluate(X[:8], 1 - X[:8]))
