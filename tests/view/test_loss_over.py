"""The loss over one weight or two, the four calls of a step: their numbers and their pictures."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scalarviz.scenes import neuron

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import InputError, TypeMismatchError
from scalarviz.run.core.frame import Frame
from scalarviz.run.edits import SetWeights
from scalarviz.run.panels import CurveFit, LossOver, TrainingLoop
from scalarviz.run.source import RunSource
from scalarviz.view.ink.axes import zero_lines
from scalarviz.view.ink.text import measure, short
from scalarviz.view.ink.theme import DARK, rgb
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.out.unseen import Unseen
from scalarviz.view.panels.loop import CALLS
from scalarviz.view.panels.loss_over import (
    MOST,
    UNKNOWN,
    Losses,
    LossOverDrawer,
    Place,
    Trail,
    grown,
    levels,
    losses,
    place_of,
    steepness,
    verdict,
)
from scalarviz.view.watch.live import LiveView
from scalarviz.view.workbench import Workbench

NUMBERS = st.floats(-50, 50)
AT_REST = "too small a move to change the loss", "it stays where it is"


def made(**options):
    return neuron.build(neuron.Options(**{"engine": "numpy", "dtype": "float64", **options}))


def words(bench):
    return [item.text for sketch in bench.sketches for item in sketch.texts]


def bench_of(scene, size=(1280, 720), **options):
    with offscreen():
        bench = Workbench(scene, size, **options)
        bench.update(bench.subject.frame())
    return bench


# ---- numbers


@given(st.floats(-5, 5), st.floats(-5, 5), st.integers(1, 2))
def test_the_losses_are_those_of_the_formula(w, b, weights):
    with made(weights=weights).run as run:
        x, y = neuron.points(0.0, 0)
        places = np.array([[w, b], [b, w]])[:, :weights]
        found = losses(RunSource(run), run.values, range(weights), places, (x, y))
        own = [((p[0] * x + (p[1] if weights == 2 else 0.0) - y) ** 2).mean() for p in places]
        np.testing.assert_allclose(found, own, rtol=1e-12)


def test_they_are_asked_again_only_where_something_else_is_changed():
    with made(weights=2).run as run:
        source, kept = RunSource(run), Losses()
        places, data = np.linspace(-1, 1, 5)[:, None], run.samples()
        values = run.values.copy()
        first = kept.at(source, values, (0,), places, data)
        values[0] += 1.0
        assert kept.at(source, values, (0,), places, data) is first
        values[1] += 1.0
        again = kept.at(source, values, (0,), places, data)
        assert again is not first
        assert not np.allclose(again, first)


@given(st.floats(0.01, 3), st.floats(-4, 4), st.floats(-5, 5), st.floats(0.01, 5))
def test_the_rate_from_which_a_step_lands_higher_is_two_over_the_bend(bend, lowest, start, rate):
    """Of a parabola: gradient descent lands higher if and only if the rate is above 2 / f''."""
    assume(abs(start - lowest) > 1e-3)
    slope = 2 * bend * (start - lowest)
    place = Place(np.array([start - rate * slope]), np.array([start]), np.array([slope]), rate)
    before, after, limit = steepness(lambda p: bend * (p[:, 0] - lowest) ** 2, place)
    assert limit == pytest.approx(1 / bend, rel=1e-6)
    assume(abs(rate * bend - 1) > 1e-6)
    assert (after > before) == (rate > limit)
    wrong = verdict(place, ("w",), (before, after, limit))[2]
    assert wrong == (rate > limit)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("flags", [{}, {"weights": 2}, {"noise": 0.3}])
def test_a_step_downhill_is_never_said_to_end_higher_however_near_to_the_lowest_point_it_is(dtype, flags):
    """Of exact numbers each step ends lower with this rate: what rounding makes of the last ones is not told."""
    scene = made(dtype=dtype, **flags)
    own = tuple(range(flags.get("weights", 1)))
    with scene.run as run:
        data = tuple(run.samples())
        said = set()
        for _ in range(450):
            run.step()
            frame, place = run.frame(), place_of(run.frame(), own)
            told = steepness(lambda at, values=frame.values: losses(RunSource(run), values, own, at, data), place)
            said.add(verdict(place, ("w", "b")[: len(own)], told)[1:])
        assert said <= {("downhill", False), *((text, False) for text in AT_REST)}
        assert said & {(text, False) for text in AT_REST}


@given(st.tuples(NUMBERS, st.floats(0.1, 50)), st.lists(NUMBERS, max_size=3))
def test_a_span_grows_until_all_is_inside(ends, places):
    span = ends[0], ends[0] + ends[1]
    low, high = grown(span, places)
    assert all(low < p < high for p in places)
    assert low <= span[0] + 1e-9
    assert high >= span[1] - 1e-9
    if all(abs(p - sum(span) / 2) < 0.9 * ends[1] / 2 for p in places):
        assert (low, high) == pytest.approx(span)


def test_a_span_takes_no_notice_of_what_is_no_number():
    assert grown((-1.0, 1.0), [np.inf, np.nan]) == (-1.0, 1.0)


@given(st.floats(-2, 2), st.floats(-2, 2), st.floats(0.5, 3))
def test_an_isoline_is_where_the_height_is(a, b, radius):
    """Between the places heights are straight, so of a plane the line is exact, and of a bowl nearly."""
    row, column = np.mgrid[:33, :33].astype(float)
    plane = a * column + b * row + 0.3 * (a == b == 0)
    level = float(plane.mean()) + 0.137
    for points in zero_lines(plane - level):
        np.testing.assert_allclose(points @ [a, b], level, atol=1e-9)
    away = 4 * radius
    bowl = (column - 16.0123) ** 2 + (row - 16.0257) ** 2  # through no place
    starts, ends = zero_lines(bowl - away**2)
    np.testing.assert_allclose(np.hypot(*(starts - (16.0123, 16.0257)).T), away, atol=0.2)
    assert len(starts) == len(ends) > 0
    joined = {tuple(p) for p in np.round(starts, 9)} | {tuple(p) for p in np.round(ends, 9)}
    assert len(joined) == len(starts)  # closed: as many corners as pieces


def test_isolines_leave_out_what_is_no_number():
    values = np.arange(9.0).reshape(3, 3)
    values[0, 0] = np.inf
    assert all(np.isfinite(part).all() for part in zero_lines(values - 3.5))
    assert len(levels(np.full((3, 3), np.nan))) == 0
    assert (np.diff(levels(values)) > 0).all()


def test_a_trail_is_cut_where_another_line_begins():
    trail = Trail()
    for step in range(5):
        trail.add(step, Place(np.array([float(step)])))
    assert trail.until(3)[:, 0].tolist() == [0, 1, 2, 3]
    trail.add(2, Place(np.array([7.0])))
    assert trail.until(9)[:, 0].tolist() == [0, 1, 7]
    for step in range(3, 3 * MOST):
        trail.add(step, Place(np.array([float(step)])))
    assert len(trail.until(10**9)) <= MOST + 1
    assert trail.until(10**9)[-1, 0] == 3 * MOST - 1


def test_a_place_knows_its_step_only_if_nothing_was_changed_since():
    with made().run as run:
        assert place_of(run.frame(), (0,)).before is None
        run.step(2)
        place = place_of(run.frame(), (0,))
        first = -1.5 - 0.1 * 2 * (-1.5 - 1.05)
        assert place.before == pytest.approx(first)
        assert place.gradient == pytest.approx(2 * (first - 1.05))
        run.do(SetWeights(0, np.array([2.0])))
        assert place_of(run.frame(), (0,)).before is None


# ---- pictures


@pytest.mark.gl
def test_what_is_said_of_a_step():
    for rate, says in ((0.1, "downhill"), (0.9, "downhill, past the lowest point"),
                       (1.1, "too far: it ends higher, as from lr 1.0 on")):  # fmt: skip
        scene = made(lr=rate)
        with scene.run as run:
            assert UNKNOWN in words(bench_of(scene))
            run.step()
            said = words(bench_of(scene))
            assert says in said
            assert any(line.startswith(f"−{rate} × slope −5.10 = +") for line in said), said


@pytest.mark.gl
def test_the_four_calls_have_happened_after_a_step():
    scene = made(weights=2)
    with scene.run as run:
        said = words(bench_of(scene))
        assert "none has happened yet" in said
        assert all(call in said for call in CALLS)
        run.step(2)
        bench = bench_of(scene)
        frame, said = bench.subject.frame(), words(bench)
        assert "all four happened in step 2" in said
        assert f"loss {run.history.loss[-1]:.4f}" in said
        assert f"w = {frame.values[0]:.2f}, b = {short(frame.values[1])}".replace("-", "−") in said
        assert "grad w 0, b 0" in said
        assert f"grad w {short(frame.gradient[0])}, b {short(frame.gradient[1])}" in said


@pytest.mark.gl
@pytest.mark.parametrize("trial", [True, False])
def test_inside_a_step_they_happen_one_after_another(trial):
    scene = made(lr=0.2)
    unseen = Unseen(lambda size: LiveView(scene, size, steps=20, playing=False))
    view = unseen.view
    try:
        view.micro.trial = trial
        seen = {}
        for _ in range(7):
            view.send("micro_next")
            for _ in range(3):
                unseen.pass_time(0.5)
            told, said = view.bench.inside.told, words(view.bench)
            seen[told.phase] = [line for line in said if line.startswith(("w.grad = −", "w = ", "loss 6", "loss 22"))]
            shown = view.bench.colouring.quantity
        x, y = neuron.points(0.0, 0)
        gradient = (2 * x * (-1.5 * x - y))[-1, 0] if trial else (2 * x * (-1.5 * x - y)).mean()
        loss = ((1.5 * x + y) ** 2)[-1, 0] if trial else ((1.5 * x + y) ** 2).mean()
        assert sorted(seen) == [0, 1, 2, 3, 4, 5]
        assert seen[0] == []
        assert any(f"{loss:.2f}" in line for line in seen[2])
        assert any(line.endswith(f"{abs(gradient):.3g}".ljust(4, "0")) for line in seen[4]), seen[4]
        assert not any(line.startswith("w = ") for line in seen[4])
        assert any(line.startswith("w = ") and f"{-1.5 - 0.2 * gradient:.2f}"[-4:] in line for line in seen[5])
        assert shown == "weight"
        assert scene.run.steps == 0
    finally:
        view.close()


@pytest.mark.gl
def test_the_tangent_is_there_once_there_is_a_gradient():
    violet = np.array(rgb(DARK.pulse)) * 255

    def pixels(bench):
        box = bench.side.drawers["loss over weights"].box
        x, y, width, height = (round(v) for v in box)
        picture = offscreen().render(bench.draw, bench.size).astype(int)[y : y + height, x : x + width]
        return int((np.abs(picture - violet).max(axis=2) < 40).sum())

    for weights in (1, 2):
        scene = made(weights=weights, lr=0.3)
        with scene.run as run:
            before = pixels(bench_of(scene))
            run.step()
            assert pixels(bench_of(scene)) > before + 60


@pytest.mark.gl
def test_looking_changes_no_bit():
    numbers = []
    for look in (True, False):
        scene = made(weights=2, lr=0.05)
        with scene.run as run:
            for _ in range(4):
                run.step(3)
                if look:
                    bench_of(scene)
            numbers.append((run.values.tobytes(), run.history.loss.tobytes()))
    assert numbers[0] == numbers[1]


@pytest.mark.gl
def test_a_still_shows_the_way_there():
    scene = made(weights=2)
    with scene.run as run:
        run.step(6)
        drawer = bench_of(scene).side.drawers["loss over weights"]
        way = drawer._trail.until(6)
        assert way.shape == (7, 2)
        assert way[0].tolist() == [-1.5, 0.0]
        assert way[-1].tolist() == run.values.tolist()


@pytest.mark.gl
def test_the_ball_rolls_and_arrives():
    scene = made()
    with scene.run as run:
        bench = bench_of(scene)
        drawer = bench.side.drawers["loss over weights"]
        assert isinstance(drawer, LossOverDrawer)
        bench.update(bench.subject.frame(), "", 1.0)
        start = drawer._ball()[0]
        run.step()
        bench.update(bench.subject.frame(), "", 1.0)
        assert drawer.moving
        frame: Frame = bench.subject.frame()
        seen = []
        for _ in range(20):
            bench.update(frame, "", 0.02)
            seen.append(drawer._ball()[0])
        assert start < seen[3] < seen[-1] == run.values[0]
        assert (np.diff(seen) >= 0).all()
        assert not drawer.moving


@pytest.mark.gl
def test_a_network_with_too_few_weights_is_said():
    net = nn.Sequential(nn.Linear(1, 1, bias=False))
    with sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data=neuron.points(0, 0)) as run:
        panels = LossOver((0, 1), ("w", "b"), ((-1, 1), (-1, 1))), TrainingLoop((1,), ("b",)), CurveFit()
        said = words(bench_of(sv.Scene("mine", run, panels=panels)))
    assert sum("this network has 1 weight" in line for line in said) == 2


@pytest.mark.parametrize(
    ("kind", "given", "error"),
    [
        (LossOver, ((0, 1, 2), ("a", "b", "c"), ((0, 1),) * 3), InputError),
        (LossOver, ((0,), ("a",), ((1, 0),)), InputError),
        (LossOver, ((0,), ("a",), ((0, np.inf),)), InputError),
        (LossOver, ((0,), ("a",), (3,)), InputError),
        (LossOver, ((), (), ()), TypeMismatchError),
        (LossOver, ((-1,), ("a",), ((0, 1),)), InputError),
        (TrainingLoop, ((0,), ("a", "b")), InputError),
        (TrainingLoop, ((0, 1, 2, 3), ("a",) * 4), InputError),
        (TrainingLoop, ((0,), (3,)), TypeMismatchError),
    ],
)
def test_panels_that_cannot_be(kind, given, error):
    names = {LossOver: ("weights", "names", "spans"), TrainingLoop: ("weights", "names")}
    with pytest.raises(error, match=kind.__name__):
        kind(**dict(zip(names[kind], given, strict=True)))


@pytest.mark.gl
def test_a_ball_that_comes_back_from_far_arrives():
    """A difference to something large forgets the small."""
    scene = made(weights=2)
    with scene.run:
        bench = bench_of(scene)
        drawer = bench.side.drawers["loss over weights"]
        for place in ([3e19, -2e19], [-1.5, -1.0]):
            drawer._rolling(np.array(place), 1.0)
            drawer._rolling(np.array(place), 1.0)
        assert drawer._ball().tolist() == [-1.5, -1.0]


@pytest.mark.gl
def test_a_diverged_neuron_fits_into_its_column():
    scene = made(weights=2, lr=1.1)
    with scene.run as run:
        run.step(40)
        bench = bench_of(scene)
        column = bench.side.drawers["loss over weights"].box
        for sketch in bench.sketches:
            for item in sketch.texts:
                wide = measure(item.text, item.size, item.bold)
                left = item.x - {"left": 0.0, "middle": 0.5, "right": 1.0}[item.anchor] * wide
                assert left >= column[0] - 1 or left + wide < column[0], item.text
                assert left + wide <= 1280
        assert any("too far: it ends higher" in line for line in words(bench))
