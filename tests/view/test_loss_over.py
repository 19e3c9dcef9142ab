"""The loss over one weight or two, the four calls of a step: their numbers and their pictures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scalarviz.scenes import neuron

import scalarviz as sv
from kit.benches import bench_of, said_anywhere, text_boxes
from kit.commands import make_scene
from kit.windows import Window
from scalarviz import nn, optim
from scalarviz.errors import InputError, TypeMismatchError
from scalarviz.run.edits import SetWeights
from scalarviz.run.panels import CurveFit, LossOver, TrainingLoop
from scalarviz.run.source import RunSource
from scalarviz.view.ink.sketch import Path, Rect
from scalarviz.view.ink.text import short
from scalarviz.view.ink.theme import DARK
from scalarviz.view.panels.loop import CALLS
from scalarviz.view.panels.loss_over import (
    MOST,
    UNKNOWN,
    Place,
    Standing,
    Trail,
    grown,
    levels,
    place_of,
    rolled,
    steepness,
    verdict,
)

NUMBERS = st.floats(-50, 50)
AT_REST = "too small a move to change the loss", "it stays where it is"


def made(**options):
    return make_scene("neuron", **{"dtype": "float64", **options})


def standing(run, own):
    frame = run.frame()
    return Standing(RunSource(run), frame, place_of(frame, own), own, tuple(run.samples()))


def shapes(bench, kind, ink):
    """Those of one colour in the picture."""
    every = [shape for sketch in bench.sketches for shape in sketch.shapes if isinstance(shape, kind)]
    return [shape for shape in every if ink in (getattr(shape, "colour", None), getattr(shape, "fill", None))]


def ball(bench):
    """Where the ball is, in pixels."""
    (found,) = [disc for disc in shapes(bench, Rect, DARK.text1) if disc.radius == 6.5]
    return np.array([found.x + 6.5, found.y + 6.5])


# ---- numbers


@given(st.floats(-5, 5), st.floats(-5, 5), st.integers(1, 2))
def test_the_losses_are_those_of_the_formula(w, b, weights):
    with made(weights=weights).run as run:
        x, y = neuron.points(0.0, 0)
        places = np.array([[w, b], [b, w]])[:, :weights]
        own = [((p[0] * x + (p[1] if weights == 2 else 0.0) - y) ** 2).mean() for p in places]
        np.testing.assert_allclose(standing(run, range(weights)).losses(places), own, rtol=1e-12)


def test_they_are_asked_again_only_where_something_else_is_changed(monkeypatch):
    asked, losses = [], Standing.losses
    monkeypatch.setattr(Standing, "losses", lambda self, places: asked.append(len(places)) or losses(self, places))
    scene = replace(made(weights=2), panels=(LossOver((0,), ("w",), ((-9.0, 9.0),)),))
    with scene.run as run:
        bench = bench_of(scene)
        for weight, times in ((0, 1), (1, 2), (0, 2)):
            run.do(SetWeights(weight, np.array([0.5])))
            bench.update(bench.subject.frame())
            assert sum(count > 9 for count in asked) == times


@given(st.floats(0.01, 3), st.floats(-4, 4), st.floats(-5, 5), st.floats(0.01, 5))
def test_the_rate_from_which_a_step_lands_higher_is_two_over_the_bend(bend, lowest, start, rate):
    """Of a parabola: gradient descent lands higher if and only if the rate is above 2 / f''."""
    assume(abs(start - lowest) > 1e-3)
    slope = 2 * bend * (start - lowest)
    place = Place(np.array([start - rate * slope]), np.array([start]), np.array([slope]), rate)
    before, after, limit = steepness(lambda p: bend * (p[:, 0] - lowest) ** 2, place)
    assert limit == pytest.approx(1 / bend, rel=1e-6)
    assume(abs(rate * bend - 1) > 1e-6)
    assert (after > before) == (rate > limit) == verdict(place, ("w",), (before, after, limit))[2]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("flags", [{}, {"weights": 2}, {"noise": 0.3}])
def test_a_step_downhill_is_never_said_to_end_higher_however_near_to_the_lowest_point_it_is(dtype, flags):
    """Of exact numbers each step ends lower with this rate: what rounding makes of the last ones is not told."""
    own = tuple(range(flags.get("weights", 1)))
    with made(dtype=dtype, **flags).run as run:
        said = set()
        for _ in range(450):
            run.step()
            at = standing(run, own)
            said.add(verdict(at.place, ("w", "b")[: len(own)], steepness(at.losses, at.place))[1:])
        assert said <= {("downhill", False), *((text, False) for text in AT_REST)}
        assert said & {(text, False) for text in AT_REST}


@given(st.tuples(NUMBERS, st.floats(0.1, 50)), st.lists(NUMBERS, max_size=3))
def test_a_span_grows_until_all_is_inside(ends, places):
    span = ends[0], ends[0] + ends[1]
    low, high = grown(span, [*places, np.inf, np.nan])
    assert all(low < p < high for p in places)
    assert low <= span[0] + 1e-9
    assert high >= span[1] - 1e-9
    if all(abs(p - sum(span) / 2) < 0.9 * ends[1] / 2 for p in places):
        assert (low, high) == pytest.approx(span)


def test_isolines_leave_out_what_is_no_number():
    values = np.arange(9.0).reshape(3, 3)
    values[0, 0] = np.inf
    assert len(levels(np.full((3, 3), np.nan))) == 0
    assert (np.diff(levels(values), 2) > 0).all()
    assert 1 < levels(values)[0] < levels(values)[-1] < 8


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
        place, first = place_of(run.frame(), (0,)), -1.5 - 0.1 * 2 * (-1.5 - 1.05)
        assert place.before == pytest.approx(first)
        assert place.gradient == pytest.approx(2 * (first - 1.05))
        run.do(SetWeights(0, np.array([2.0])))
        assert place_of(run.frame(), (0,)).before is None


# ---- pictures


@pytest.mark.parametrize(
    ("rate", "says"),
    [(0.1, "downhill"), (0.9, "downhill, past the lowest point"), (1.1, "too far: it ends higher, as from lr 1.0 on")],
)
def test_what_is_said_and_drawn_of_a_step(rate, says):
    for weights in (1, 2):
        scene = made(lr=rate, weights=weights)
        with scene.run as run:
            bench = bench_of(scene)
            assert UNKNOWN in said_anywhere(bench)
            before = len(shapes(bench, object, DARK.pulse))
            run.step()
            bench.update(bench.subject.frame())
            assert len(shapes(bench, object, DARK.pulse)) > before  # the tangent, or the step
            if weights == 1:
                assert says in said_anywhere(bench)
                assert any(line.startswith(f"−{rate} × slope −5.10 = +") for line in said_anywhere(bench))


def test_the_four_calls_have_happened_after_a_step():
    scene = made(weights=2)
    with scene.run as run:
        assert {"none has happened yet", *CALLS} <= set(said_anywhere(bench_of(scene)))
        run.step(2)
        frame, said = run.frame(), set(said_anywhere(bench_of(scene)))
        values, gradient = ([short(number) for number in flat] for flat in (frame.values, frame.gradient))
        assert {"all four happened in step 2", f"loss {run.history.loss[-1]:.4f}", "grad w 0, b 0"} <= said
        assert f"w = {frame.values[0]:.2f}, b = {values[1]}".replace("-", "−") in said
        assert f"grad w {gradient[0]}, b {gradient[1]}" in said


@pytest.mark.gl
@pytest.mark.parametrize("trial", [True, False])
def test_inside_a_step_they_happen_one_after_another(trial):
    with Window(made(lr=0.2), steps=20) as window:
        window.view.micro.trial, seen = trial, {}
        for _ in range(7):
            window.send("micro_next")
            told = window.bench.inside.told
            seen[told.phase] = [
                line for line in window.words if line.startswith(("w.grad = −", "w = ", "loss 6", "loss 22"))
            ]
        shown = window.bench.colouring.quantity
        x, y = neuron.points(0.0, 0)
        gradient = (2 * x * (-1.5 * x - y))[-1, 0] if trial else (2 * x * (-1.5 * x - y)).mean()
        loss = ((1.5 * x + y) ** 2)[-1, 0] if trial else ((1.5 * x + y) ** 2).mean()
        assert sorted(seen) == [0, 1, 2, 3, 4, 5]
        assert seen[0] == []
        assert any(f"{loss:.2f}" in line for line in seen[2])
        assert any(line.endswith(f"{abs(gradient):.3g}".ljust(4, "0")) for line in seen[4]), seen[4]
        assert not any(line.startswith("w = ") for line in seen[4])
        assert any(line.startswith("w = ") and f"{-1.5 - 0.2 * gradient:.2f}"[-4:] in line for line in seen[5])
        assert (shown, window.run.steps) == ("weight", 0)


def test_a_still_shows_the_way_there_and_looking_changes_no_bit():
    scene, other = made(weights=2, lr=0.05), made(weights=2, lr=0.05)
    with scene.run as run, other.run as alone:
        for _ in range(3):
            run.step(3)
            bench = bench_of(scene)
        alone.step(9)
        assert (run.values.tobytes(), run.history.loss.tobytes()) == (
            alone.values.tobytes(),
            alone.history.loss.tobytes(),
        )
        (way,) = [path.points for path in shapes(bench, Path, DARK.flow) if len(path.points) == 10]
        np.testing.assert_allclose(way[-1], ball(bench), atol=1e-3)
        run.to(0)
        np.testing.assert_allclose(way[0], ball(bench_of(scene)), atol=1e-3)


def test_the_ball_rolls_and_arrives():
    scene = made()
    with scene.run as run:
        bench = bench_of(scene, seconds=1.0)
        run.step()
        frame = bench.subject.frame()
        bench.update(frame, "", 1.0)
        seen = []
        for _ in range(20):
            assert bench.side.drawers["loss over weights"].moving == (len(seen) * 0.02 < 0.3 - 1e-9)
            bench.update(frame, "", 0.02)
            seen.append(ball(bench)[0])
        assert seen[0] < seen[5] < seen[-1] == pytest.approx(ball(bench_of(scene))[0], abs=1e-3)
        assert (np.diff(seen) >= 0).all()
    far, near = np.array([3e19, -2e19]), np.array([-1.5, -1.0])  # a difference to something large forgets the small
    assert rolled(far, near, 1.0).tolist() == near.tolist()


def test_a_network_with_too_few_weights_is_said():
    net = nn.Sequential(nn.Linear(1, 1, bias=False))
    with sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data=neuron.points(0, 0)) as run:
        panels = LossOver((0, 1), ("w", "b"), ((-1, 1), (-1, 1))), TrainingLoop((1,), ("b",)), CurveFit()
        said = said_anywhere(bench_of(sv.Scene("mine", run, panels=panels)))
    assert sum("this network has 1 weight" in line for line in said) == 2


def test_a_diverged_neuron_fits_into_its_column():
    scene = made(weights=2, lr=1.1)
    with scene.run as run:
        run.step(40)
        bench = bench_of(scene)
        left, _, width, _ = bench.side.drawers["loss over weights"].box
        for (x, _, wide, _), text in text_boxes(*bench.sketches):
            assert x + wide < left or left - 1 <= x < x + wide <= left + width + 1, text
        assert any("too far: it ends higher" in line for line in said_anywhere(bench))


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
    with pytest.raises(error, match=kind.__name__):
        kind(*given)
