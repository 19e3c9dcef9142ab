"""IEEE results everywhere: infinities and NaN as NumPy gives them, never an exception or a complex number."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.scalar import function, ops

SPECIAL = [
    -math.inf,
    -1e308,
    -8.0,
    -1.0,
    -0.5,
    -5e-324,
    -0.0,
    0.0,
    5e-324,
    1 / 3,
    1.0,
    2.0,
    3.0,
    1e200,
    math.inf,
    math.nan,
]
BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "pow": np.power}
UNARY = {"exp": np.exp, "log": np.log, "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "tanh": np.tanh,
         "neg": np.negative, "abs": np.abs, "square": np.square}  # fmt: skip


@pytest.mark.parametrize("name", BINARY)
def test_binary_operations_give_what_numpy_gives(name):
    call = function(name)
    for a, b in itertools.product(SPECIAL, SPECIAL):
        with np.errstate(all="ignore"):
            wanted = BINARY[name](np.float64(a), np.float64(b))
        found = call(sv.Value(a), sv.Value(b)).data
        np.testing.assert_allclose(found, wanted, rtol=1e-15, err_msg=f"{name}({a}, {b})")
        if found == 0 or math.isinf(found):
            assert math.copysign(1, found) == math.copysign(1, wanted), f"sign of {name}({a}, {b})"


@pytest.mark.parametrize("name", UNARY)
def test_unary_operations_give_what_numpy_gives(name):
    for x in [*SPECIAL, 1000.0, -1000.0, 1e300]:
        with np.errstate(all="ignore"):
            wanted = UNARY[name](np.float64(x))
        found = function(name)(sv.Value(x)).data
        np.testing.assert_allclose(found, wanted, rtol=2e-15, err_msg=f"{name}({x})")


def test_the_famous_cases():
    v = sv.Value
    assert (v(0.0) ** 0).data == 1.0
    assert (v(0.0) ** 0.5).data == 0.0
    assert math.isnan((v(-8.0) ** (1 / 3)).data)
    assert (v(1e200) ** 2).data == math.inf
    assert (v(-1e200) ** 3).data == -math.inf
    assert (v(1.0) / 0).data == math.inf
    assert (v(1.0) / v(-0.0)).data == -math.inf
    assert math.isnan((v(0.0) / 0).data)
    assert v(0.0).log().data == -math.inf
    assert v(1000.0).exp().data == math.inf
    assert (2 ** v(10.0)).data == 1024.0


@pytest.mark.parametrize("x", [-1000.0, -800.0, -20.0, -10.0, 0.0, 10.0, 1000.0])
def test_sigmoid_and_softplus_do_not_overflow_and_keep_their_relative_precision(x):
    big = np.longdouble(x)
    sigmoid = 1 / (1 + np.exp(-big)) if x > -11000 else np.longdouble(0)
    np.testing.assert_allclose(sv.Value(x).sigmoid().data, float(sigmoid), rtol=1e-15)
    np.testing.assert_allclose(sv.Value(x).softplus().data, float(np.logaddexp(np.longdouble(0), big)), rtol=1e-15)


# NaN in, NaN out. Left out are the cases that are no swallowing: a comparison with NaN is false (IEEE), 1**NaN and
# NaN**0 are 1 (IEEE), and a selection does not look at what it does not select.
def nan_cases():
    ordinary = {
        "clip": (0.5, -1.0, 1.0), "where": (1.0, 2.0, 3.0), "pow": (2.0, 3.0),
        "binary_cross_entropy": (0.3, 0.6), "leaky_relu": (-0.5, 0.1),
    }  # fmt: skip
    for name in [*ops.METHODS, "binary_cross_entropy", "huber"]:
        if name in ("lt", "le", "gt", "ge"):
            continue
        point = ordinary.get(name, (0.5, 0.25)[: len(ops.get(name).args)])
        for k in range(len(point)):
            if (name, k) != ("where", 2):
                yield name, point, k


CONSTANT_DERIVATIVE = {("add", 0), ("add", 1), ("sub", 0), ("sub", 1), ("neg", 0), ("where", 1)}


@pytest.mark.parametrize(("name", "point", "k"), sorted(set(nan_cases())))
def test_nan_in_gives_nan_out(name, point, k):
    leaves = [sv.Value(math.nan if i == k else x) for i, x in enumerate(point)]
    result = function(name)(*leaves)
    assert math.isnan(result.data)
    result.backward()
    if (name, k) not in CONSTANT_DERIVATIVE:
        assert any(math.isnan(leaf.grad) for leaf in leaves)


@pytest.mark.parametrize("name", ["sum", "max", "logsumexp"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_nan_is_not_swallowed_by_nary_operations(name, place):
    numbers = [1.0, 5.0, 2.0]
    numbers[place] = math.nan
    assert math.isnan(getattr(sv, name)([sv.Value(x) for x in numbers]).data)


CLIPS = [
    p for p in itertools.product([-math.inf, -1.0, 0.0, 1.0, math.inf, math.nan], repeat=3) if any(map(math.isnan, p))
]


@pytest.mark.parametrize("point", CLIPS)
def test_clip_hands_on_a_nan_whatever_the_others_are(point):
    """Bounds that cross or lie at infinity included, as in PyTorch."""
    leaves = [sv.Value(x) for x in point]
    result = sv.clip(*leaves)
    result.backward()
    assert math.isnan(result.data)
    assert all(math.isnan(leaf.grad) for leaf in leaves)


KINKED = ["relu", "abs", "leaky_relu", "minimum", "maximum", "first_max", "clip", "huber"]


@pytest.mark.parametrize("name", KINKED)
def test_the_gradient_at_nan_is_nan_where_a_branch_could_swallow_it(name):
    point = {1: (math.nan,), 2: (math.nan, 0.5), 3: (math.nan, -1.0, 1.0)}[len(ops.get(name).args)]
    leaves = [sv.Value(x) for x in point]
    function(name)(*leaves).backward()
    assert math.isnan(leaves[0].grad)


def test_no_operation_returns_a_complex_number_or_raises():
    for name, op in ops.TABLE.items():
        for point in itertools.product(
            [-math.inf, -2.5, -0.0, 0.0, 0.5, 1e308, math.inf, math.nan], repeat=len(op.args)
        ):
            leaves = [sv.Value(x) for x in point]
            result = function(name)(*leaves)
            result.backward()
            assert type(result.data) is float, f"{name}{point}"
            assert all(type(leaf.grad) is float for leaf in leaves), f"{name}{point}"
