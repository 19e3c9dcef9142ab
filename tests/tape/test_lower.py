"""What recording and lowering find."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn
from scalarviz.engine.arrays.plan import PlanRunner
from scalarviz.errors import InputError, TracingError
from scalarviz.tape import lower


def kinds(program):
    return [i.op or i.kind for i in program.instructions]


def run_plan(tape, theta, inputs):
    runner = PlanRunner(lower(tape.only(outputs=True)), np.float64)
    return runner.rows(np.array(theta, float), np.array(inputs, float).T, runner.plan.body.outputs).T


def test_layers_are_found_in_a_sequential():
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2), nn.Sigmoid())
    plan = lower(sv.record(net, 3).only(outputs=True))
    assert kinds(plan.body) == ["layer", "tanh", "layer", "sigmoid"]
    assert [i.count for i in plan.body.instructions] == [4, 4, 2, 2]
    assert plan.prologue is None
    assert plan.encode is None
    assert "LAYER 3 -> 4 with bias" in str(plan)


def test_layers_are_found_in_plain_operators():
    w = [[sv.Weight(0.1 * (3 * i + j)) for j in range(3)] for i in range(2)]
    b = [sv.Weight(1.0), sv.Weight(2.0)]
    tape = sv.record(
        lambda x: [sum(w * v for w, v in zip(r, x, strict=True)) + c for r, c in zip(w, b, strict=True)], 3
    )
    (layer,) = lower(tape).body.instructions
    assert (layer.kind, layer.count) == ("layer", 2)  # the weights were met in the order of a matrix
    theta = [block.flat_value[0] for block in tape.blocks]
    x = [0.5, -1.0, 2.0]
    expected = [sum(v.data * u for v, u in zip(r, x, strict=True)) + c.data for r, c in zip(w, b, strict=True)]
    np.testing.assert_allclose(run_plan(tape, theta, [x])[0], expected, rtol=1e-15)


def test_scattered_weights_become_dots():
    w = [sv.Weight(float(i)) for i in range(4)]
    tape = sv.record(lambda x: [w[0] * x[0] + w[1] * x[1], w[3] * x[0] + w[0] * x[1] + 0.5], 2)
    assert kinds(lower(tape).body) == ["layer", "dot"]
    theta = [block.flat_value[0] for block in tape.blocks]
    assert run_plan(tape, theta, [[2.0, 3.0]])[0].tolist() == [3.0, 6.5]


def test_the_order_of_the_terms_does_not_matter():
    w = [sv.Weight(float(i)) for i in range(4)]
    tape = sv.record(lambda x: [w[0] * x[0] + w[1] * x[1], w[3] * x[1] + x[0] * w[2]], 2)
    (layer,) = lower(tape).body.instructions
    assert (layer.kind, layer.count) == ("layer", 2)


def test_parts_are_split_by_how_often_they_must_run():
    w1, w2 = sv.Weight(2.0), sv.Weight(3.0)
    tape = sv.record(lambda x: (w1 * w2).exp() * x[0] + (x[1] * 5.0).sin(), 2)
    plan = lower(tape)
    assert kinds(plan.prologue) == ["param", "mul", "exp"]
    assert kinds(plan.encode) == ["mul", "sin"]
    assert plan.n_derived == plan.n_features == 1
    np.testing.assert_allclose(run_plan(tape, [0.2, 0.3], [[1.5, 0.1]]), np.exp(0.06) * 1.5 + np.sin(0.5))


def test_inputs_that_change_every_step_are_not_encoded():
    plan = lower(sv.record(lambda x: x[0] * 2.0 + 1.0, 1), encode=False)
    assert plan.encode is None
    assert plan.n_features == 0


@pytest.mark.parametrize(
    ("fn", "theta", "expected"),
    [
        (lambda x, w: w, [0.5], [0.5]),
        (lambda x, w: x[1], [0.5], [3.0]),
        (lambda x, w: sv.Value(7.0), [0.5], [7.0]),
        (lambda x, w: [x[0], x[0], w, w], [0.5], [2.0, 2.0, 0.5, 0.5]),
        (lambda x, w: [w * w, w], [0.5], [0.25, 0.5]),
        (lambda x, w: w * x[0] + w * x[1], [0.5], [2.5]),
        (lambda x, w: sv.sum([]) + x[0], [0.5], [2.0]),
    ],
    ids=["weight", "input", "constant", "twice", "square of a weight", "tied", "empty sum"],
)
def test_bare_results(fn, theta, expected):
    w = sv.Weight(0.5)
    tape = sv.record(lambda x: fn(x, w), 2)
    assert run_plan(tape, theta[: tape.n_parameters], [[2.0, 3.0]])[0].tolist() == expected


def test_constants_are_folded_and_powers_of_two_squared():
    tape = sv.record(lambda x: (sv.Value(2.0) * 3.0).exp() * x[0] ** 2, 1)
    plan = lower(tape)
    assert kinds(plan.encode) == ["square", "mul"]


@pytest.mark.parametrize(
    "ask", [bool, float, lambda v: v.data, lambda v: 1 if v > 0 else 2, lambda v: v.backward(), lambda v: max(v, v * 2)]
)
def test_numbers_are_refused_while_recording(ask):
    with pytest.raises(TracingError, match=r"sv\.where|inside a recorded function"):
        sv.record(lambda x: [x[0], ask(x[0] * 2.0)], 1)
    assert float(sv.Value(2.0)) == 2.0  # and the thread is free again


def test_weights_are_refused_as_numbers_too():
    w = sv.Weight(1.0)
    with pytest.raises(TracingError, match=r"sv\.where"):
        sv.record(lambda x: x[0] if w.data > 0 else x[1], 2)


@pytest.mark.parametrize(
    ("fn", "n_inputs"), [(lambda x: None, 1), (lambda x: "no", 1), (lambda x: x[0], -1), (lambda x: [None], 1)]
)
def test_bad_functions(fn, n_inputs):
    with pytest.raises((InputError, TypeError)):
        sv.record(fn, n_inputs)


def test_a_symbol_of_another_recording_is_refused():
    kept = []
    sv.record(lambda x: kept.append(x[0]) or x[0], 1)
    with pytest.raises(InputError, match="another recording"):
        sv.record(lambda x: x[0] + kept[0], 1)
    with pytest.raises(TracingError, match="left its recording"):
        kept[0].data  # noqa: B018


def test_a_large_layer_makes_no_objects():
    tape = sv.record(nn.Linear(200, 300), 200)
    assert len(tape.nodes) == 200 + 300
    (layer,) = lower(tape.only(outputs=True)).body.instructions
    assert (layer.kind, layer.count, layer.args.shape) == ("layer", 300, (1, 200))


def test_the_bias_of_a_dot_may_be_any_value():
    w = sv.Weight(2.0)
    tape = sv.record(lambda x: sv.dot([w], [x[0]], x[1] * x[1]), 2)
    assert run_plan(tape, [2.0], [[5.0, 3.0]])[0].tolist() == [19.0]
