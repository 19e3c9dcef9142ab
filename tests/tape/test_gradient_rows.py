"""Which rows get a gradient: lowering says so, every engine and the walk over objects follow the same edges."""

from __future__ import annotations

import math

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.scalar import function, table
from scalarviz.tape import lower, record

HELD_MAX = function("held_max")


def with_layer(rows):
    """A layer of which `rows` says what is read."""

    def graph(w, x):
        h = [sv.dot([w[2 * k], w[2 * k + 1]], [x[0], x[1]]) for k in range(2)]
        return rows(h)

    return graph


def convolved(w, x):
    """Two layers on the same two weights; the second one is only compared."""
    a, b = (sv.dot([w[0], w[1]], [x[0] * k, x[1]]) for k in (1.0, 0.0))
    return sv.where(b.sqrt() < 1.0, 3.0 * a, a)


# What only a comparison, a condition or a shift reads has an infinite derivative at these weights: 0 * inf is NaN.
# The graph, the weights, the gradient of each, at x = (1, 2).
TRAPS = {
    "parameters alone": (lambda w, x: sv.where(w[0].sqrt() < 1.0, 2.0 * w[0], w[0]), [0.0], [2.0]),
    "beside an input": (lambda w, x: sv.where((w[0] * x[0]).sqrt() < x[0], 2.0 * w[0], w[0]), [0.0], [2.0]),
    "derived, compared": (lambda w, x: sv.where(w[0].sqrt() < x[0], 5.0 * w[0] * x[1], w[0]), [0.0], [10.0]),
    "two derived, one compared": (
        lambda w, x: sv.where(w[0].sqrt() < x[0], (w[0] * w[1]) * x[1], w[0]), [0.0, 3.0], [6.0, 0.0],
    ),
    "a comparison as a factor": (lambda w, x: ((w[0] * x[0]).sqrt() < 1.0) * (w[0] * x[1]), [0.0], [2.0]),
    "nested": (
        lambda w, x: sv.where(sv.where(w[0].log() < x[0], w[0].sqrt(), w[0]) > 1.0, w[0], w[1] * x[1]), [0.0, 1.0],
        [0.0, 2.0],
    ),
    "a shift": (lambda w, x: w[0] * x[0] - HELD_MAX((w[0] * x[0]).sqrt(), x[1]), [0.0], [1.0]),
    "a row of a layer": (
        with_layer(lambda h: sv.where(h[1].sqrt() < 1.0, 2.0 * h[0], h[0])), [0.5, 0.25, 0.0, 0.0],
        [2.0, 4.0, 0.0, 0.0],
    ),
    "the other row": (
        with_layer(lambda h: sv.where(h[0].log() < 1.0, 2.0 * h[1], h[1])), [0.0, 0.0, 0.5, 0.25],
        [0.0, 0.0, 2.0, 4.0],
    ),
    "a position of a convolution": (convolved, [0.5, 0.0], [3.0, 6.0]),
    "a product of rows": (
        lambda w, x: sv.where(
            sv.dot([w[0] * x[0], w[1] * x[0]], [w[1] * x[0], w[0] * x[1]]).sqrt() < 1.0, w[0], w[1] * x[1]
        ), [0.0, 0.0], [1.0, 0.0],
    ),
    "a maximum": (
        lambda w, x: sv.where(
            sv.max([w[0].sqrt() * x[0], w[0].log() * x[0], 0.0 * x[1]]) > 1.0, w[0], w[0] * x[1]
        ), [0.0], [2.0],
    ),
    "a weighted sum": (
        lambda w, x: sv.where(
            sv.dot([0.5, 2.0], [(w[0] * x[0]).sqrt(), (w[0] * x[1]).sqrt()]) > 1.0, w[0], w[0] * x[1]
        ), [0.0], [2.0],
    ),
    "a squared error": (
        lambda w, x: sv.where(((w[0] * x[0] - 1.0 * x[0]) ** 2).sqrt() < 1.0, w[0] * x[1], w[0] * x[0]), [1.0], [2.0],
    ),
    "not chosen by clip": (lambda w, x: sv.clip((w[0] * x[0]).sqrt() + 2.0, x[0], x[1]) + w[0], [1.0], [1.0]),
}  # fmt: skip


def gradient(graph, numbers, engine, samples, dtype="float64", x=(1.0, 2.0)):
    w = [sv.Weight(number) for number in numbers]
    data = np.tile(x, (samples, 1))
    model = lambda inputs: graph(w, inputs)  # noqa: E731
    with Run(
        model, lambda o, t: o, optim.SGD(w, lr=0.1), (data, data[:, :1]), batch_size=samples, engine=engine, dtype=dtype
    ) as run:
        run._training.trainer.gradient(0)  # leaves its numbers in the workspace
        run._training.trainer.gradient(0)
        index = [weight._block.start + weight._index for weight in w]
        return run.problem.store.grad[index].tolist()


@pytest.mark.parametrize("engine", ["objects", "numpy", "numba"])
@pytest.mark.parametrize("name", TRAPS)
def test_what_has_no_derivative_hands_on_nothing(name, engine):
    graph, numbers, expected = TRAPS[name]
    for samples in (1, 8):
        assert gradient(graph, numbers, engine, samples) == expected


@pytest.mark.parametrize("name", TRAPS)
def test_one_node_after_the_other_gives_the_same(name):
    graph, numbers, expected = TRAPS[name]
    w = [sv.Weight(number) for number in numbers]
    graph(w, [sv.Value(1.0), sv.Value(2.0)]).backward()
    assert [weight.grad for weight in w] == expected


@pytest.mark.parametrize("engine", ["objects", "numpy", "numba"])
def test_an_infinite_input_of_a_row_that_is_only_compared(engine):
    """As one layer the two rows would multiply it by the 0 that stands in the second one's place."""

    def graph(w, x):
        h = [sv.dot([w[2 * k], w[2 * k + 1]], [x[0], x[1] / 0.0]) for k in range(2)]
        return sv.where(h[1] < 0.0, x[0] * h[0], h[0])

    found = gradient(graph, [1.0, 2.0, 3.0, 4.0], engine, 8)
    assert found == [1.0, math.inf, 0.0, 0.0]


def flags(graph, n_weights, loss=None):
    w = [sv.Weight(0.5) for _ in range(n_weights)]
    tape = record(lambda x: graph(w, x), 2, 2, loss=loss or (lambda o, t: o))
    return lower(tape.only(loss=True))


def test_the_lowered_program_says_which_rows():
    plan = flags(lambda w, x: sv.where((w[0] * x[0]).sin() < w[1] * x[1], w[2] * x[0], x[1]), 3)
    says = {(i.op or i.kind, i.dst): bool(plan.body.needs_gradient[i.dst]) for i in plan.body.instructions}
    got = sorted(name for (name, _), gets in says.items() if gets)
    none = sorted(name for (name, _), gets in says.items() if not gets)
    assert got == ["layer", "where"]
    assert "lt" in none
    assert "sin" in none
    assert not plan.body.needs_gradient[plan.body.input_rows].any()


@pytest.mark.parametrize("name", TRAPS)
def test_the_rows_of_an_instruction_agree(name):
    graph, numbers, _ = TRAPS[name]
    plan = flags(graph, len(numbers))
    for program in (plan.prologue, plan.body):
        for i in program.instructions if program else ():
            assert len(set(program.needs_gradient[i.dst : i.dst + i.count].tolist())) == 1


def test_a_derived_parameter_that_is_only_compared_gets_none():
    plan = flags(lambda w, x: sv.where(w[0].exp() < x[0], w[1].sin() * x[1], x[0]), 2)
    rows = {i.op: bool(plan.prologue.needs_gradient[i.dst]) for i in plan.prologue.instructions if i.op}
    assert rows == {"exp": False, "sin": True}


def test_a_large_layer_stays_one_instruction():
    net = nn.Sequential(nn.Linear(30, 40), nn.ReLU(), nn.Linear(40, 10))
    plan = lower(record(net, 30, 1, loss=nn.CrossEntropyLoss()).only(loss=True))
    assert [i.count for i in plan.body.instructions if i.kind == "layer"] == [40, 10]
    held = [i for i in plan.body.instructions if i.op == "held_max"]
    assert held
    assert not any(plan.body.needs_gradient[i.dst] for i in held)


def test_nodes_that_the_walk_leaves_out_read_0_and_not_an_older_gradient():
    w = sv.Weight(4.0)
    root, twice = w.sqrt(), 2.0 * w
    inner = root * 3.0
    inner.backward()
    assert root.grad == 3.0
    sv.where(inner < 1.0, twice, w).backward()
    assert (root.grad, inner.grad, twice.grad) == (0.0, 0.0, 0.0)
    assert w.grad == 3.0 / 4.0 + 1.0


def test_a_layer_of_a_module_that_is_only_compared_reads_0():
    net = nn.Linear(5, 6, seed=1)
    outs = net([0.1, 0.2, 0.3, 0.4, 0.5])
    hidden = [o.tanh() for o in outs]
    sv.sum(hidden).backward()
    before = net.weight.grad.copy()
    x = sv.Value(1.0)
    sv.where(sv.sum(hidden) < 0.0, x, 2.0 * x).backward()
    assert {node.grad for node in (*hidden, *outs)} == {0.0}
    np.testing.assert_array_equal(net.weight.grad, before)


def test_the_backward_of_a_module_follows_the_same_edges():
    class Chosen(nn.Module):
        def __init__(self):
            self.w = sv.Weight(0.0)

        def forward(self, x):
            return sv.where((self.w * x[0]).sqrt() < 1.0, self.w * x[1], x[0])

    module = Chosen()
    module([0.0, 3.0])
    assert module.backward() == [0.0, 0.0]
    assert module.w.grad == 3.0


@pytest.mark.parametrize("engine", ["objects", "numpy", "numba"])
def test_a_derivative_that_is_the_number_0_as_a_whole(engine, monkeypatch):
    monkeypatch.setattr(table, "TABLE", dict(table.TABLE))
    rounded = sv.register("test_sign_of", "a", "where(a > 0, 1, where(a < 0, -1, 0))", ("0",))
    found = gradient(lambda w, x: 1.0 / (rounded(w[0] * x[0]) * x[0]) + w[0], [0.0], engine, 4)
    assert found == [1.0]  # the 1 / 0 above it hands on -inf


@pytest.mark.parametrize("engine", ["objects", "numpy", "numba"])
def test_an_operation_of_the_user_with_branches(engine, monkeypatch):
    monkeypatch.setattr(table, "TABLE", dict(table.TABLE))
    name = "test_hard"
    hard = sv.register(name, "a low", "where(a > low, a, 0)", ("where(a > low, 1, where(a <= low, -0.0, a))", None))
    for weight, expected in ((-1.0, 0.0), (4.0, 0.25), (math.nan, math.nan)):
        (found,) = gradient(lambda w, x: hard(w[0] * x[0], 0.5).sqrt(), [weight], engine, 4)
        np.testing.assert_equal(found, expected)
