"""Every operation of the table against PyTorch: values and gradients, kinks and limits included."""

from __future__ import annotations

import math

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.scalar import function, ops

NARY_PARTS = {"first_max"}  # tested through max
WITHOUT_GRADIENT = {"lt", "le", "gt", "ge"}
ORACLED = [name for name in ops.METHODS if name not in NARY_PARTS | WITHOUT_GRADIENT | {"huber"}]


def ours(call, columns):
    """Values (n,) and gradients (arity, n) at the points ``columns`` (arity, n)."""
    values, grads = [], []
    for point in columns.T.tolist():
        leaves = [sv.Value(x) for x in point]
        result = call(*leaves)
        result.backward()
        values.append(result.data)
        grads.append([leaf.grad for leaf in leaves])
    return np.array(values), np.array(grads).T


@pytest.mark.parametrize("name", [*ORACLED, "binary_cross_entropy"])
def test_operation_agrees_with_pytorch(oracle, name):
    reference = oracle("ops")
    points = reference[f"{name}/x"]
    values, grads = ours(function(name), points)
    np.testing.assert_allclose(values, reference[f"{name}/value"], rtol=1e-12, atol=1e-300)
    wanted = reference[f"{name}/grad"].copy()
    if name == "binary_cross_entropy":  # PyTorch's 1e-12 under the derivative is the float32 next to it
        wanted[:, points[0] * (1 - points[0]) < 1e-12] *= float(np.float32(1e-12)) / 1e-12
    np.testing.assert_allclose(grads[: len(wanted)], wanted, rtol=1e-12, atol=1e-300)


def test_no_operation_of_the_table_is_left_out(oracle):
    tested = {key.split("/")[0] for key in oracle("ops")}
    assert set(ORACLED) <= tested


@pytest.mark.parametrize("name", ["sum", "max", "logsumexp"])
@pytest.mark.parametrize("kind", ["ordinary", "ties", "large"])
def test_nary_agrees_with_pytorch(oracle, name, kind):
    reference = oracle("ops")
    leaves = [sv.Value(x) for x in reference[f"nary/{kind}/x"]]
    result = getattr(sv, name)(leaves)
    result.backward()
    found = [result.data, *(leaf.grad for leaf in leaves)]
    # PyTorch's softmax is exp(x - result), which costs it the digits that the result 1001.3 takes
    np.testing.assert_allclose(found, reference[f"nary/{kind}/{name}"], rtol=1e-13, atol=1e-15)


def test_dot_agrees_with_pytorch(oracle):
    reference = oracle("ops")
    numbers = [sv.Value(x) for x in reference["dot/x"]]
    result = sv.dot(numbers[:3], numbers[3:6], numbers[6])
    result.backward()
    np.testing.assert_allclose([result.data, *(v.grad for v in numbers)], reference["dot"], rtol=1e-15)


@pytest.mark.parametrize("name", sorted(WITHOUT_GRADIENT))
def test_comparisons_give_0_or_1_and_no_gradient(name):
    wanted = {"lt": (1, 0, 0), "le": (1, 1, 0), "gt": (0, 0, 1), "ge": (0, 1, 1)}[name]
    for (a, b), truth in zip(((1.0, 2.0), (2.0, 2.0), (3.0, 2.0)), wanted, strict=True):
        x, y = sv.Value(a), sv.Value(b)
        result = function(name)(x, y)
        (result * x).backward()
        assert (result.data, y.grad) == (truth, 0.0)
        assert x.grad == truth  # only through the product


# The kinks by themselves, so that a wrong reference file cannot hide them.
KINKS = [
    ("relu", (0.0,), (0.0,)), ("relu", (-0.0,), (0.0,)), ("abs", (0.0,), (0.0,)),
    ("leaky_relu", (0.0, 0.2), (0.2, 0.0)),
    ("clip", (1.0, 0.0, 1.0), (1.0, 0.0, 0.0)), ("clip", (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)),
    ("minimum", (2.0, 2.0), (0.5, 0.5)), ("maximum", (2.0, 2.0), (0.5, 0.5)), ("pow", (0.0, 0.0), (0.0, 0.0)),
    ("pow", (0.0, 2.0), (0.0, 0.0)), ("pow", (3.0, 0.0), (0.0, math.log(3.0))), ("first_max", (2.0, 2.0), (1.0, 0.0)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "point", "grads"), KINKS)
def test_kinks(name, point, grads):
    leaves = [sv.Value(x) for x in point]
    function(name)(*leaves).backward()
    assert tuple(leaf.grad for leaf in leaves) == grads
