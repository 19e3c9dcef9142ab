"""Compositions with branches at special points, against PyTorch: what is not chosen gets 0, whatever comes above it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, nn, optim

DTYPES = ["float64", "float32"]


def wanted(oracle, make_oracle, dtype):
    """Gradients by PyTorch, shape (compositions, upstreams, points), but for what is meant to differ."""
    reference = oracle("branches")[dtype]
    read, gradients = reference[:, 0], reference[:, 1:].copy()
    points = make_oracle.branching.special(dtype)
    names = list(
        itertools.product(make_oracle.branching.OUTSIDE, make_oracle.branching.BRANCHES, make_oracle.branching.INSIDE)
    )
    for row, (_, branch, inside) in enumerate(names):
        if branch not in ("smaller", "larger", "condition"):  # a NaN operand gives a NaN gradient
            gradients[row][:, np.isnan(read[row])] = np.nan
        if branch == "abs":  # 0 at 0, times the derivative of what is inside
            gradients[row][:, read[row] == 0] = np.nan if inside == "sqrt" else 0.0  # 0 * inf
    assert len(points) == gradients.shape[2]
    return gradients


def compositions(make_oracle):
    for outside, branch, inside in itertools.product(
        *(getattr(make_oracle.branching, name).values() for name in PARTS)
    ):
        yield lambda x, parts=(outside, branch, inside): parts[0](sv, parts[1](sv, parts[2](sv, x)))


PARTS = ("OUTSIDE", "BRANCHES", "INSIDE")


def close(found, expected, dtype):
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_allclose(found, expected, rtol=64 * np.finfo(dtype).eps, atol=0)


def test_values_agree_with_pytorch(oracle, make_oracle):
    expected = wanted(oracle, make_oracle, "float64")
    for row, function in enumerate(compositions(make_oracle)):
        for k, upstream in enumerate(make_oracle.branching.UPSTREAMS):
            leaves = [sv.Value(x) for x in make_oracle.branching.special("float64").tolist()]
            for leaf in leaves:
                function(leaf).backward(upstream)
            close(np.array([leaf.grad for leaf in leaves]), expected[row, k], "float64")


class Composed(nn.Module):
    """Every composition of every weight, which passes a selection by the input first: else it would run once a step."""

    def __init__(self, functions, size):
        self.functions = functions
        self.w = nn.Parameter(np.ones((len(functions), size)))

    def forward(self, x):
        inside = x[0] < 1.0
        return [function(sv.where(inside, w, 0.0)) for k, function in enumerate(self.functions) for w in self.w[k]]


HALVES = [slice(0, 144), slice(144, 288)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("engine", "samples"), [("numpy", 4), ("numba", 1), ("numba", 64)])
@pytest.mark.parametrize("half", HALVES, ids=["first", "second"])
def test_engines_agree_with_pytorch(make_oracle, half, engine, samples, dtype):
    with np.load(make_oracle.HERE / "branches.npz") as stored:
        expected = wanted(lambda group: stored, make_oracle, dtype)[half]
    functions = list(compositions(make_oracle))[half]
    points, upstreams = make_oracle.branching.special(dtype), make_oracle.branching.UPSTREAMS
    model = Composed(functions, len(points) * len(upstreams))
    factors = np.tile(np.repeat(upstreams, len(points)), len(functions)).tolist()
    data = np.zeros((samples, 1))

    def loss(outputs, targets):
        return sv.dot(factors, outputs)

    loss.batch_reduction = "sum"
    optimiser = optim.SGD(model.parameters(), lr=0.1)
    with Run(model, loss, optimiser, (data, data), batch_size=samples, engine=engine, dtype=dtype) as run:
        run._store.value[:] = np.tile(points, len(functions) * len(upstreams))
        run._training.trainer.gradient(0)
        found = run._store.grad.reshape(expected.shape).copy()
    with np.errstate(over="ignore"):
        close(found, samples * expected, dtype)
