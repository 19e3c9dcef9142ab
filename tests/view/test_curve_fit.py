"""Points over one number and a network's curve between them: which axes, which points, which errors, and hands."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scalarviz.scenes import neuron

import scalarviz as sv
from kit.benches import bench_of, said_anywhere, signed
from kit.commands import make_scene
from kit.windows import live_hand
from scalarviz import nn, optim
from scalarviz.errors import InputError, TypeMismatchError
from scalarviz.run.panels import Axis, CurveFit
from scalarviz.view.ink.sketch import Lines
from scalarviz.view.ink.theme import DARK
from scalarviz.view.panels.curve_fit import around, inside
from scalarviz.view.panels.points import DRAWN

X = Axis("x", -1.0, 1.0)
NUMBERS = st.floats(-1e6, 1e6)


def shown(x, t, panel=None, weight=0.5):
    """A picture of a line through 0 over samples of one number, the panel's drawer, and what it draws."""
    net = nn.Sequential(nn.Linear(1, 1, bias=False))
    net.initialize(neuron.begin_at(weight, 0.0))
    sgd, data = optim.SGD(net.parameters(), lr=0.1), (np.reshape(x, (-1, 1)), np.reshape(t, (-1, 1)))
    with sv.Run(net, nn.MSELoss(), sgd, data=data, engine="numpy") as run:
        bench = bench_of(sv.Scene("mine", run, panels=(panel or CurveFit(),)))
    sketches = bench.side.drawn("curve")
    return bench, bench.side.drawer(CurveFit), [s for sketch in sketches for s in (*sketch.shapes, *sketch.tops)]


@given(st.lists(NUMBERS, min_size=1, max_size=20))
def test_an_axis_holds_its_numbers_with_air_and_what_is_near(numbers):
    axis, low, high = around("x", np.array(numbers)), min(numbers), max(numbers)
    assert axis.least < low <= high < axis.most
    if low <= 0 <= high or 0 < min(abs(low), abs(high)) <= (high - low) / 2:
        assert axis.least < 0 < axis.most
    elif high > low:
        assert axis.most - axis.least <= 1.25 * (high - low) * (1 + 1e-9)


@given(st.floats(-1e30, 1e30), st.floats(-1e30, 1e30))
def test_a_line_is_cut_at_the_edges_however_steep_it_is(slope, height):
    x = np.linspace(-1, 2, 7)
    y = slope * x + height
    starts, ends = inside(x, y, (-1.0, 1.0))
    for points in (starts, ends):
        assert (np.abs(points[:, 1]) <= 1).all()
        assert ((points[:, 0] >= -1) & (points[:, 0] <= 2)).all()
        within = np.abs(points[:, 1]) < 1
        scale = max(abs(slope), abs(height), 1.0)
        np.testing.assert_allclose(points[within, 1], slope * points[within, 0] + height, atol=1e-9 * scale)
    reached = (np.maximum(y[1:], y[:-1]) >= -1) & (np.minimum(y[1:], y[:-1]) <= 1)
    assert (len(starts) > 0) == reached.any()
    assert len(inside(x, np.where(x > 0, np.nan, y / max(abs(y).max(), 1.0)), (-1.0, 1.0))[0]) == 2


# ---- pictures


def test_of_samples_alone_it_finds_points_axes_and_names():
    x, t = np.array([1.0, 2.0, 4.0]), np.array([-3.0, 0.5, 2.0])
    bench, drawer, shapes = shown(x, t)
    (zero,) = [shape for shape in shapes if isinstance(shape, Lines) and shape.colour == DARK.grid]
    np.testing.assert_allclose([zero.starts[0, 1], zero.ends[0, 1]], drawer.axes.point(0.0, 0.0)[1], atol=1e-3)
    np.testing.assert_allclose(drawer.axes.points(x, t), drawer.spots)
    assert {"y over x", "\N{MINUS SIGN}0.48", "4.48"} <= set(said_anywhere(bench))  # 0 is near, and 12 % of air


@pytest.mark.parametrize(("count", "weight"), [(9, 0.5), (9, 2.0), (200, 0.5)])
def test_errors_are_drawn_of_a_few_points_from_what_is_wanted_to_what_is_said(count, weight):
    x = np.linspace(-1, 1, count)
    _, drawer, shapes = shown(x, 2.0 * x, weight=weight)
    errors = [s for s in shapes if isinstance(s, Lines) and s.colour == DARK.flow]
    assert len(errors) == (count == 9)
    for lines in errors:
        np.testing.assert_allclose(lines.starts, drawer.axes.points(x, 2.0 * x), atol=1e-3)
        np.testing.assert_allclose(lines.ends, drawer.axes.points(x, weight * x), atol=1e-3)


def test_of_more_points_than_can_be_seen_some_are_drawn_evenly_out_of_all():
    x = np.linspace(-1, 1, 3 * DRAWN)
    bench, drawer, _ = shown(x, x)
    assert drawer.seen.sum() == DRAWN
    assert np.diff(np.flatnonzero(drawer.seen)).max() <= 4
    assert np.isfinite(drawer.spots).all(axis=1).tolist() == drawer.seen.tolist()
    assert f"{DRAWN:,} of {3 * DRAWN:,}" in said_anywhere(bench)


# ---- hands, and what cannot be


def test_a_click_on_a_point_shows_its_way():
    with live_hand(make_scene("neuron", dtype="float64")) as hand:
        x, y = neuron.points(0.0, 0)
        spot, subject = hand.drawer(CurveFit).spots[2], hand.bench.subject
        before = subject.probe.tolist()
        hand.press(hand.at((spot[0] + 30, spot[1] - 30)))
        assert subject.probe.tolist() == before
        hand.view.move(hand.at(spot))
        assert any(f"error {signed(-1.5 * x[2, 0] - y[2, 0])}" in text for text in hand.words())
        hand.press(hand.at(spot))
        assert [*subject.probe, *subject.target] == [*x[2], *y[2]]


def test_what_cannot_be_is_refused_in_words():
    with pytest.raises(InputError), np.errstate(over="ignore"):
        around("x", np.array([-1.7e308, 1.7e308]))
    for what in ({"title": 7}, {"across": None}, {"up": 3.0}, {"inputs": "x"}, {"points": [1]}, {"edits": 3}):
        with pytest.raises(TypeMismatchError, match="CurveFit"):
            CurveFit(**what)
    net, data = nn.Sequential(nn.Linear(2, 1)), (np.zeros((4, 2)), np.zeros((4, 1)))
    with sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data=data, engine="numpy") as run:
        said = said_anywhere(bench_of(sv.Scene("s", run, panels=(CurveFit("points"),))))
    assert "points: wanted are samples of one number" in said
