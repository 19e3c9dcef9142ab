"""Points over one number and a network's curve between them: which axes, which points, which errors, and hands."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scalarviz.scenes import neuron

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import InputError, TypeMismatchError
from scalarviz.run.panels import Axis, CurveFit, Points
from scalarviz.view.ink.axes import Scale
from scalarviz.view.ink.theme import DARK, rgb
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.panels.curve_fit import CurveFitDrawer, around, inside
from scalarviz.view.panels.points import DRAWN, shortened
from scalarviz.view.workbench import Workbench

X = Axis("x", -1.0, 1.0)
NUMBERS = st.floats(-1e6, 1e6)


def bench_of(run, panel, size=(1280, 720), **options):
    """A picture of a run with this panel, and its drawer."""
    with offscreen():
        bench = Workbench(sv.Scene("mine", run, panels=(panel,)), size, **options)
        bench.update(bench.subject.frame())
    (drawer,) = bench.side.drawers.values()
    assert isinstance(drawer, CurveFitDrawer)
    return bench, drawer


def run_of(x, t, weight=0.5):
    """A line through 0 over samples of one number."""
    net = nn.Sequential(nn.Linear(1, 1, bias=False))
    net.initialize(neuron.begin_at(weight, 0.0))
    sgd = optim.SGD(net.parameters(), lr=0.1)
    return sv.Run(net, nn.MSELoss(), sgd, data=(np.reshape(x, (-1, 1)), np.reshape(t, (-1, 1))), engine="numpy")


def words(bench):
    return [item.text for sketch in bench.sketches for item in sketch.texts]


def pixels(bench, drawer, colour):
    """How many of the panel's pixels are nearly of a colour."""
    x, y, wide, high = (round(number) for number in drawer.box)
    picture = offscreen().render(bench.draw, bench.size).astype(int)[y : y + high, x : x + wide]
    return int((np.abs(picture - np.array(rgb(colour)) * 255).max(axis=2) < 12).sum())


# ---- axes


@given(st.lists(NUMBERS, min_size=1, max_size=20))
def test_an_axis_holds_its_numbers_with_air_and_what_is_near(numbers):
    axis, low, high = around("x", np.array(numbers)), min(numbers), max(numbers)
    assert axis.least < low <= high < axis.most
    if low <= 0 <= high or 0 < min(abs(low), abs(high)) <= (high - low) / 2:
        assert axis.least < 0 < axis.most
    elif high > low:
        assert axis.most - axis.least <= 1.25 * (high - low) * (1 + 1e-9)


def test_an_axis_that_cannot_be():
    with pytest.raises(InputError), np.errstate(over="ignore"):
        around("x", np.array([-1.7e308, 1.7e308]))


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
    assert (len(starts) > 0) == bool(((np.maximum(y[1:], y[:-1]) >= -1) & (np.minimum(y[1:], y[:-1]) <= 1)).any())


@pytest.mark.parametrize(
    ("title", "width", "shown"),
    [
        ("output over the plane", 400, "output over the plane"),
        ("output over the plane", 110, "output"),
        ("temp over hour", 70, "temp"),
        ("output over the unit square", 150, "output"),
        ("the rows and the formula", 100, "the rows"),
        ("a_name_that_has_no_end_at_all", 60, "a_na"),
    ],
)
def test_a_title_loses_words_that_join_nothing_any_more(title, width, shown):
    assert shortened(title, width).startswith(shown)
    assert shortened(title, width).rstrip("\N{HORIZONTAL ELLIPSIS}") in title
    assert not shortened(title, width).endswith((" over", " the"))


# ---- pictures


@pytest.mark.gl
def test_of_samples_alone_it_finds_points_axes_and_names():
    x, t = np.array([1.0, 2.0, 4.0]), np.array([-3.0, 0.5, 2.0])
    with run_of(x, t) as run:
        bench, drawer = bench_of(run, CurveFit())
        left, top, wide, high = drawer.box
        spots = drawer.spots
        assert ((spots >= (left, top)) & (spots <= (left + wide, top + high))).all()
        assert np.corrcoef(spots[:, 0], x)[0, 1] == pytest.approx(1.0)
        assert np.corrcoef(spots[:, 1], t)[0, 1] == pytest.approx(-1.0)
        assert {"y over x", "\N{MINUS SIGN}0.48", "4.48"} <= set(words(bench))  # 0 is near, and 12 % of air
        assert not {"train", "test"} & set(words(bench))


@pytest.mark.gl
def test_errors_are_drawn_of_a_few_points_and_no_longer_where_they_are_right():
    x = np.linspace(-1, 1, 9)
    drawn = {}
    for name, weight, numbers in (("wrong", 0.5, x), ("right", 2.0, x), ("many", 0.5, np.linspace(-1, 1, 200))):
        with run_of(numbers, 2.0 * numbers, weight) as run:
            drawn[name] = pixels(*bench_of(run, CurveFit("points")), DARK.flow)
    assert drawn["wrong"] > drawn["right"] + 200
    assert drawn["many"] <= drawn["right"] + 20


@pytest.mark.gl
def test_of_more_points_than_can_be_seen_some_are_drawn_evenly_out_of_all():
    x = np.linspace(-1, 1, 3 * DRAWN)
    with run_of(x, x) as run:
        bench, drawer = bench_of(run, CurveFit("points"))
        assert drawer.seen.sum() == DRAWN
        assert np.diff(np.flatnonzero(drawer.seen)).max() <= 4
        assert np.isfinite(drawer.spots).all(axis=1).tolist() == drawer.seen.tolist()
        assert f"{DRAWN:,} of {3 * DRAWN:,}" in words(bench)


@pytest.mark.gl
def test_points_that_are_held_back_are_hollow_and_the_title_says_so():
    x = np.linspace(-1, 1, 6)
    back = np.arange(6) >= 3
    with run_of(x, 0.5 * x) as run:
        inks = {}
        for name, held in (("none", None), ("half", back)):
            points = Points(np.stack([x, x], 1), np.ones(6), held)
            bench, drawer = bench_of(run, CurveFit("", X, X, points=lambda moment, points=points: points))
            inks[name] = pixels(bench, drawer, DARK.weight[4]), {"train", "test"} <= set(words(bench))
        assert 0 < inks["half"][0] < inks["none"][0]
        assert [said for _, said in inks.values()] == [False, True]


@pytest.mark.gl
def test_a_point_near_0_can_be_told_from_the_ground():
    """Of the signed map itself 0 is the colour of nothing."""
    x = np.linspace(-1, 1, 5)
    with run_of(x, np.array([-1.0, -1e-3, 1e-3, 0.5, 1.0])) as run:
        _, drawer = bench_of(run, CurveFit())
        inks = drawer._inks(np.array([-1.0, -1e-3, 1e-3, 1.0]), Scale(X.least, X.most)) * 255
    ground = np.array(rgb(DARK.panel)) * 255
    assert (np.abs(inks - ground).max(axis=1) > 90).all()
    assert (inks[:2, 0] > inks[:2, 2]).all()  # orange
    assert (inks[2:, 0] < inks[2:, 2]).all()  # blue


@pytest.mark.gl
def test_a_click_on_a_point_shows_its_way():
    scene = neuron.build(neuron.Options(engine="numpy", dtype="float64"))
    with scene.run, offscreen():
        bench = Workbench(scene, (1280, 720), keys=(("Space", "run"),))
        bench.update(bench.subject.frame())
        drawer = bench.side.drawers["curve"]
        x, y = neuron.points(0.0, 0)
        spot = tuple(drawer.spots[2])
        assert not drawer.click((spot[0] + 30, spot[1] - 30))
        assert drawer.hover(spot)
        (label,) = bench.side.drawers["curve"].label(
            sv.run.Moment(bench.subject.frame(), bench.subject.source), (1280, 720)
        )
        off = -1.5 * x[2, 0] - y[2, 0]
        assert any(f"error {off:+.2f}".replace("-", "\N{MINUS SIGN}") in item.text for item in label.texts)
        assert drawer.click(spot)
        assert bench.subject.probe.tolist() == x[2].tolist()
        assert bench.subject.target.tolist() == y[2].tolist()


# ---- what cannot be


@pytest.mark.parametrize(
    "given",
    [
        {"title": 7},
        {"across": None},
        {"up": 3.0},
        {"inputs": "x"},
        {"points": [1]},
        {"edits": 3},
    ],
)
def test_panels_that_cannot_be(given):
    with pytest.raises(TypeMismatchError, match="CurveFit"):
        CurveFit(**given)


@pytest.mark.gl
def test_what_goes_wrong_in_a_scenes_own_functions_stands_in_the_panels_place():
    def broken(moment):
        raise ValueError("no such points")

    with run_of([0.0, 1.0], [0.0, 1.0]) as run:
        bench, drawer = bench_of(run, CurveFit("curve", X, X, points=broken))
        assert any("no such points" in word for word in words(bench))
        assert not drawer.hover((drawer.box[0] + 50, drawer.box[1] + 50))


@pytest.mark.gl
def test_samples_of_two_numbers_are_refused_in_words():
    net = nn.Sequential(nn.Linear(2, 1))
    data = np.zeros((4, 2)), np.zeros((4, 1))
    with sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data=data, engine="numpy") as run:
        bench, _ = bench_of(run, CurveFit("points"))
    assert "points: wanted are samples of one number" in words(bench)
