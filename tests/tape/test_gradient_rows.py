"""Which rows get a gradient: what has no derivative hands on nothing, in every engine and in the walk over objects."""

import math

import numpy as np
import pytest

import scalarviz as sv
from kit.runs import ENGINES, loss_and_gradient
from scalarviz.scalar import function, ops
from scalarviz.tape import trace

HELD_MAX = function("held_max")
OWN = {
    "test_sign_of": ("a", "where(a > 0, 1, where(a < 0, -1, 0))", ("0",)),
    "test_hard": ("a low", "where(a > low, a, 0)", ("where(a > low, 1, where(a <= low, -0.0, a))", None)),
}


@pytest.fixture(autouse=True)
def own_operations():
    for name, entry in OWN.items():
        sv.register(name, *entry)
    yield
    for name in OWN:
        del ops.TABLE[name]


def with_layer(read):
    """A layer of which `read` says what is read."""
    return lambda w, x: read([sv.dot([w[2 * k], w[2 * k + 1]], [x[0], x[1]]) for k in range(2)])


def convolved(w, x):
    """Two layers on the same two weights; the second one is only compared."""
    a, b = (sv.dot([w[0], w[1]], [x[0] * k, x[1]]) for k in (1.0, 0.0))
    return sv.where(b.sqrt() < 1.0, 3.0 * a, a)


def infinite_input(w, x):
    """As one layer the two rows would multiply it by the 0 that stands in the second one's place."""
    h = [sv.dot([w[2 * k], w[2 * k + 1]], [x[0], x[1] / 0.0]) for k in range(2)]
    return sv.where(h[1] < 0.0, x[0] * h[0], h[0])


def product(w, x):
    rows = sv.dot([w[0] * x[0], w[1] * x[0]], [w[1] * x[0], w[0] * x[1]])
    return sv.where(rows.sqrt() < 1.0, w[0], w[1] * x[1])


def largest(w, x):
    return sv.where(sv.max([w[0].sqrt() * x[0], w[0].log() * x[0], 0.0 * x[1]]) > 1.0, w[0], w[0] * x[1])


# What only a comparison, a condition or a shift reads has an infinite derivative at these weights: 0 * inf is NaN.
# The graph, the weights, the gradient of each, at x = (1, 2).
TRAPS = {
    "parameters alone": (lambda w, x: sv.where(w[0].sqrt() < 1.0, 2.0 * w[0], w[0]), [0.0], [2.0]),
    "beside an input": (lambda w, x: sv.where((w[0] * x[0]).sqrt() < x[0], 2.0 * w[0], w[0]), [0.0], [2.0]),
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
    "a position of a convolution": (convolved, [0.5, 0.0], [3.0, 6.0]),
    "an infinite input": (infinite_input, [1.0, 2.0, 3.0, 4.0], [1.0, math.inf, 0.0, 0.0]),
    "a product of rows": (product, [0.0, 0.0], [1.0, 0.0]), "a maximum": (largest, [0.0], [2.0]),
    "not chosen by clip": (lambda w, x: sv.clip((w[0] * x[0]).sqrt() + 2.0, x[0], x[1]) + w[0], [1.0], [1.0]),
}  # fmt: skip
OF_USERS = {  # the 1 / 0 above the first hands on -inf
    "a derivative that is 0": (
        lambda w, x: 1.0 / (function("test_sign_of")(w[0] * x[0]) * x[0]) + w[0], [0.0], [1.0],
    ),
    **{f"a branch at {at}": (lambda w, x: function("test_hard")(w[0] * x[0], 0.5).sqrt(), [at], [slope])
       for at, slope in ((-1.0, 0.0), (4.0, 0.25), (math.nan, math.nan))},
}  # fmt: skip
ALL = {**TRAPS, **OF_USERS}


def gradient(graph, numbers, engine, samples):
    w, data = [sv.Weight(number) for number in numbers], np.tile((1.0, 2.0), (samples, 1))
    given = {"weights": w, "engine": engine, "batch_size": samples, "dtype": "float64"}
    found = loss_and_gradient(lambda x: graph(w, x), lambda o, t: o, (data, data), **given)[:-1]
    return [found[k] for k in places(w, graph)]


def places(w, graph):
    """Where each weight stands: in the order in which the graph reads them."""
    blocks = trace(lambda x: graph(w, x), 2).blocks
    order = [next(k for k, one in enumerate(w) if block.weight(0) is one) for block in blocks]
    return [order.index(k) for k in range(len(w))]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ALL)
def test_what_has_no_derivative_hands_on_nothing(name, engine):
    graph, numbers, expected = ALL[name]
    for samples in (1, 8):
        np.testing.assert_equal(gradient(graph, numbers, engine, samples), expected)
