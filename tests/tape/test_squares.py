"""Squared errors as one node: where they are found, and where they are left alone."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn
from scalarviz.tape import lower, record

ENGINES = ("objects", "numpy", "numba")


def found(loss, outputs=3):
    net = nn.Linear(2, outputs)
    plan = lower(record(net, n_inputs=2, n_targets=outputs, loss=loss))
    return [i for i in plan.body.instructions if i.kind == "squares"], plan


@pytest.mark.parametrize(
    ("loss", "factor"),
    [
        (nn.MSELoss(), 1 / 3),
        (nn.MSELoss("sum"), 1.0),
        (nn.MSELoss(factor=0.5), 0.5 / 3),
        (lambda y, t: sv.sum([(a - b) ** 2 for a, b in zip(y, t, strict=True)]), 1.0),
        (lambda y, t: 0.25 * (y[0] - t[0]).square(), 0.25),
        (lambda y, t: 0.25 * sv.dot([0.5, 0.5], [(y[k] - t[k]).square() for k in range(2)]), 0.125),
    ],
)
def test_one_instruction_for_the_loss(loss, factor):
    (squares,), plan = found(loss)
    assert squares.numbers[0] == pytest.approx(factor)
    assert squares.dst == plan.body.loss
    assert not {i.op for i in plan.body.instructions} & {"sub", "square", "mul"}
    assert "LOSS squared error" in str(plan)


def each(y, t):
    return [(a - b).square() for a, b in zip(y, t, strict=True)]


def read_twice(y, t):
    squares = each(y, t)
    return sv.sum(squares) + squares[0].tanh()


def sum_read_twice(y, t):
    total = sv.sum(each(y, t))
    return 0.5 * total + total.tanh()


@pytest.mark.parametrize(
    ("loss", "pairs"),
    [
        (nn.L1Loss(), []),
        (lambda y, t: y[0].square(), []),
        (lambda y, t: (y[0] - t[0]).square() + (y[1] - t[1]).abs(), [1]),
        (lambda y, t: sv.dot([1.0, 2.0], each(y, t)[:2]), [1, 1]),
        (lambda y, t: 0.5 * each(y, t)[0] + 0.5 * each(y, t)[1] + 1.0, [2]),
        (lambda y, t: sv.dot([0.5, 0.5], each(y, t)[:2], sv.Weight(0.3)), [1, 1]),
        (read_twice, [1, 1, 1]),
        (sum_read_twice, [3]),
    ],
)
def test_what_is_no_such_sum_stays(loss, pairs):
    """Smaller sums in it may still be found; nothing is computed twice."""
    instructions, plan = found(loss)
    assert [i.args.shape[1] for i in instructions] == pairs
    assert "square" not in {i.op for i in plan.body.instructions} or not pairs


def test_a_difference_that_others_read_stays():
    def loss(y, t):
        d = y[0] - t[0]
        return d.square() * d.tanh()

    assert found(loss)[0] == []


def twice(y, t):
    """One output in two terms, an output beside an output, and a target against nothing that learns."""
    return sv.sum([(y[0] - t[0]) ** 2, (t[1] - y[0]) ** 2, (y[1] - y[2]) ** 2, (t[2] - 0.5) ** 2, (y[1] - y[1]) ** 2])


@pytest.mark.parametrize("samples", [1, 5, 40])
@pytest.mark.parametrize("loss", [nn.MSELoss(), nn.MSELoss("sum", factor=0.5), twice])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_engines_agree(loss, samples, dtype):
    rng = np.random.default_rng(samples)
    data = rng.normal(size=(samples, 2)), rng.normal(size=(samples, 3))
    gradients = {}
    for engine in ENGINES:
        nn.init.manual_seed(3)
        net = nn.Sequential(nn.Linear(2, 3), nn.Tanh())
        run = sv.Run(net, loss, sv.optim.SGD(net.parameters(), lr=0.1), data, engine=engine, dtype=dtype)
        run.step()
        gradients[engine] = np.append(run.problem.store.grad.astype(float), run.loss)
        run.close()
    for engine in ENGINES[1:]:
        error = np.linalg.norm(gradients[engine] - gradients["objects"])
        assert error <= (1e-12 if dtype == "float64" else 1e-5) * np.linalg.norm(gradients["objects"])
