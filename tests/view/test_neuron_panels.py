"""Panels of one neuron: the loss over its weights, the four calls of a step, the curve between its points."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scalarviz.scenes import neuron

import scalarviz as sv
from kit.benches import again, bench_of, said_anywhere, signed
from kit.commands import make_scene
from kit.windows import live_hand
from scalarviz import nn, optim
from scalarviz.errors import InputError
from scalarviz.run.panels import CurveFit, LossOver, TrainingLoop
from scalarviz.run.source import RunSource
from scalarviz.view.ink.sketch import Lines, Path, Rect
from scalarviz.view.ink.text import short
from scalarviz.view.ink.theme import DARK
from scalarviz.view.panels import one_step
from scalarviz.view.panels.one_step import CALLS, Place, Standing
from scalarviz.view.panels.points import DRAWN, around, inside

NUMBERS = st.floats(-50, 50)


def made(**options):
    return make_scene("neuron", **{"dtype": "float64", **options})


def standing(run, own):
    frame = run.frame()
    return Standing(RunSource(run), frame, one_step.place_of(frame, own), own, tuple(run.samples()))


def shapes(bench, kind, ink):
    """Those of one colour in the picture."""
    every = [shape for sketch in bench.sketches for shape in sketch.shapes if isinstance(shape, kind)]
    return [shape for shape in every if ink in (getattr(shape, "colour", None), getattr(shape, "fill", None))]


def ball(bench):
    """Where the ball is, in pixels."""
    (found,) = [disc for disc in shapes(bench, Rect, DARK.text1) if disc.radius == 6.5]
    return np.array([found.x + 6.5, found.y + 6.5])


@given(st.floats(-5, 5), st.floats(-5, 5), st.integers(1, 2))
def test_the_losses_are_those_of_the_formula(w, b, weights):
    with made(weights=weights).run as run:
        x, y = neuron.points(0.0, 0)
        places = np.array([[w, b], [b, w]])[:, :weights]
        own = [((p[0] * x + (p[1] if weights == 2 else 0.0) - y) ** 2).mean() for p in places]
        np.testing.assert_allclose(standing(run, range(weights)).losses(places), own, rtol=1e-12)


@given(st.floats(0.01, 3), st.floats(-4, 4), st.floats(-5, 5), st.floats(0.01, 5))
def test_the_rate_from_which_a_step_lands_higher_is_two_over_the_bend(bend, lowest, start, rate):
    """Of a parabola: gradient descent lands higher if and only if the rate is above 2 / f''."""
    assume(abs(start - lowest) > 1e-3)
    slope = 2 * bend * (start - lowest)
    place = Place(np.array([start - rate * slope]), np.array([start]), np.array([slope]), rate)
    before, after, limit = one_step.steepness(lambda p: bend * (p[:, 0] - lowest) ** 2, place)
    assert limit == pytest.approx(1 / bend, rel=1e-6)
    assume(abs(rate * bend - 1) > 1e-6)
    assert (after > before) == (rate > limit) == one_step.verdict(place, ("w",), (before, after, limit))[2]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("flags", [{}, {"weights": 2}, {"noise": 0.3}])
def test_a_step_downhill_is_never_said_to_end_higher_however_near_to_the_lowest_point_it_is(dtype, flags):
    """Of exact numbers each step ends lower with this rate: what rounding makes of the last ones is not told."""
    own, said = tuple(range(flags.get("weights", 1))), set()
    with made(dtype=dtype, **flags).run as run:
        for _ in range(450):
            run.step()
            at = standing(run, own)
            said.add(one_step.verdict(at.place, ("w", "b")[: len(own)], one_step.steepness(at.losses, at.place))[1:])
    at_rest = ("too small to change the loss", False), ("it stays where it is", False)
    assert said <= {("downhill", False), *at_rest}
    assert said.intersection(at_rest)


@pytest.mark.parametrize("weights", [1, 2])
@pytest.mark.parametrize(("rate", "says"), [(0.1, "downhill"), (0.9, "past the lowest"), (1.1, "as from lr 1.0 on")])
def test_what_is_said_and_drawn_of_a_step(rate, says, weights):
    scene = made(lr=rate, weights=weights)
    with scene.run as run:
        bench = bench_of(scene, asked=True)
        assert {one_step.UNKNOWN, "none has happened yet", *CALLS} <= set(said_anywhere(bench))
        before = len(shapes(bench, object, DARK.pulse))
        run.step()
        said = said_anywhere(again(bench))
        assert len(shapes(bench, object, DARK.pulse)) > before  # the tangent, or the step
        assert "all four happened in step 1" in said
        assert any(text.startswith(f"loss {run.history.loss[-1]:.4f} at ") for text in said)
        gradient = [short(number) for number in run.frame().gradient]
        two = [f"grad w {gradient[0]}, b {gradient[-1]}"]
        for line in two if weights == 2 else [says, f"−{rate} × slope {gradient[0]} = +"]:
            assert any(line in each for each in said), line


@pytest.mark.gl
@pytest.mark.parametrize("trial", [True, False])
def test_inside_a_step_they_happen_one_after_another(trial):
    with live_hand(made(lr=0.2), steps=20) as hand:
        hand.view.micro.trial, seen = trial, {}
        for _ in range(7):
            hand.do("micro_next")
            seen[hand.bench.inside.told.phase] = " | ".join(hand.words())
        x, y = (numbers[-1:] if trial else numbers for numbers in neuron.points(0.0, 0))
        gradient, loss = (2 * x * (-1.5 * x - y)).mean(), ((1.5 * x + y) ** 2).mean()
        assert sorted(seen) == [0, 1, 2, 3, 4, 5]
        since = {f"| loss {loss:.2f}": 2, f"| w.grad = −{abs(gradient):.3g}": 4, "| w = ": 5}
        for text, first in since.items():
            assert next(phase for phase in range(6) if text in seen[phase]) == first, text
        assert f"| w = {signed(-1.5 - 0.2 * gradient)}".replace("+", "") in seen[5]
        assert (hand.bench.colouring.quantity, hand.run.steps) == ("change", 0)


def test_a_still_shows_the_way_there_and_looking_changes_no_bit():
    scene, other = made(weights=2, lr=0.05), made(weights=2, lr=0.05)
    with scene.run as run, other.run as alone:
        for _ in range(3):
            run.step(3)
            bench = bench_of(scene)
        alone.step(9)
        assert run.values.tobytes() == alone.values.tobytes()
        assert run.history.loss.tobytes() == alone.history.loss.tobytes()
        (way,) = [path.points for path in shapes(bench, Path, DARK.flow) if len(path.points) == 10]
        np.testing.assert_allclose(way[-1], ball(bench), atol=1e-3)
        run.to(0)
        np.testing.assert_allclose(way[0], ball(bench_of(scene)), atol=1e-3)


def test_a_network_with_too_few_weights_is_said():
    net = nn.Sequential(nn.Linear(1, 1, bias=False))
    with sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data=neuron.points(0, 0)) as run:
        panels = LossOver((0, 1), ("w", "b"), ((-1, 1), (-1, 1))), TrainingLoop((1,), ("b",)), CurveFit()
        said = said_anywhere(bench_of(sv.Scene("mine", run, panels=panels), asked=True))
    assert sum("this network has 1 weight" in line for line in said) == 2


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20))
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


@pytest.mark.parametrize(("count", "weight"), [(9, 0.5), (9, 2.0), (200, 0.5), (3 * DRAWN, 0.5)])
def test_points_zero_and_the_errors_of_a_few_are_where_the_numbers_are(count, weight):
    net, x = nn.Sequential(nn.Linear(1, 1, bias=False)), np.linspace(-1, 2, count)
    net.initialize(neuron.begin_at(weight, 0.0))
    sgd, data = optim.SGD(net.parameters(), lr=0.1), (x[:, None], 2.0 * x[:, None])
    with sv.Run(net, nn.MSELoss(), sgd, data=data, engine="numpy") as run:
        bench = bench_of(sv.Scene("mine", run, panels=(CurveFit(),)))
    drawer, said = bench.side.drawer(CurveFit), said_anywhere(bench)
    assert drawer.seen.sum() == min(count, DRAWN)
    assert np.diff(np.flatnonzero(drawer.seen)).max() <= 4  # evenly out of all
    assert np.isfinite(drawer.spots).all(axis=1).tolist() == drawer.seen.tolist()
    np.testing.assert_allclose(drawer.axes.points(x, 2.0 * x)[drawer.seen], drawer.spots[drawer.seen])
    assert ("y over x" in said, f"{DRAWN:,} of {count:,}" in said) == (True, count > DRAWN)
    drawn = [s for sketch in bench.side.drawn("curve") for s in (*sketch.shapes, *sketch.tops) if isinstance(s, Lines)]
    (zero,) = [lines for lines in drawn if lines.colour == DARK.grid]
    np.testing.assert_allclose([zero.starts[0, 1], zero.ends[0, 1]], drawer.axes.point(0.0, 0.0)[1], atol=1e-3)
    errors = [lines for lines in drawn if lines.colour == DARK.flow]
    assert len(errors) == (count == 9)
    for lines in errors:  # from what is wanted to what is said
        np.testing.assert_allclose(lines.starts, drawer.axes.points(x, 2.0 * x), atol=1e-3)
        np.testing.assert_allclose(lines.ends, drawer.axes.points(x, weight * x), atol=1e-3)


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


def test_data_that_cannot_be_drawn_over_one_number_is_said():
    with pytest.raises(InputError), np.errstate(over="ignore"):
        around("x", np.array([-1.7e308, 1.7e308]))
    net, data = nn.Sequential(nn.Linear(2, 1)), (np.zeros((4, 2)), np.zeros((4, 1)))
    with sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data=data, engine="numpy") as run:
        said = said_anywhere(bench_of(sv.Scene("s", run, panels=(CurveFit("points"),))))
    assert "points: wanted are samples of one number" in said
