"""Every operation of the table, in every engine: against plain objects, mpmath and PyTorch.

The operands of a point stand in one row of a table, which a sample looks up by its number. So each sample is a lane of
its own, and the gradient of its row is the derivative there, whatever stands in the other lanes.
"""

import contextlib
import functools
import itertools
import math
from pathlib import Path

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import DivergedError
from scalarviz.scalar import function, ops

INF, NAN = math.inf, math.nan
NAMES = tuple(name for name in ops.TABLE if not name.startswith("test_") and name not in ops.STAND_INS)
WITHOUT_ORACLE = ("lt", "le", "gt", "ge", "first_max")
ENGINES = [("objects", "float64"), *itertools.product(("numpy", "numba"), ("float64", "float32"))]
every_engine = pytest.mark.parametrize(("engine", "dtype"), ENGINES)


class LookedUp(nn.Module):
    """Functions of the row that a sample names; what comes from above stands in the row's last column."""

    def __init__(self, functions, arity, count):
        self.functions, self.arity = functions, arity
        self.table = nn.Parameter(np.ones((count, arity * len(functions) + 1)))

    def forward(self, x):
        *row, upstream = self.table[x[0]]
        parts = [row[k * self.arity : (k + 1) * self.arity] for k in range(len(self.functions))]
        return [*(call(*part) for call, part in zip(self.functions, parts, strict=True)), upstream]


def weighted(outputs, targets):
    return sv.sum([outputs[-1] * found for found in outputs[:-1]])


weighted.batch_reduction = "sum"


def everywhere(functions, points, engine, dtype, upstream=1.0):
    """Values (functions, n), and derivatives (functions, arity, n), of functions at points (arity, n)."""
    arity, count = points.shape
    net, ids = LookedUp(functions, arity, count), np.arange(count)[:, None]
    with sv.Run(net, weighted, optim.SGD(net.parameters(), lr=0.0), (ids, ids), engine=engine, dtype=dtype) as run:
        rows = [*np.tile(points, (len(functions), 1)), np.broadcast_to(upstream, count)]
        run.values[:] = np.column_stack(rows).ravel()
        with np.errstate(all="ignore"):
            values = run.predict(ids)[:, :-1].T
            with contextlib.suppress(DivergedError):  # the numbers of that step are there
                run.step()
        gradient = run.frame().gradient.reshape(count, -1)[:, :-1]
    return values, gradient.T.reshape(len(functions), arity, count)


@functools.cache
def stored_ranges():
    with np.load(Path(__file__).parents[1] / "oracle" / "ranges.npz") as arrays:
        return dict(arrays)


SPECIAL = [-INF, -60.0, -1.5, -1.0, -0.5, -0.0, 0.0, 1e-30, 0.25, 1.0, 2.0, 3.0, 60.0, INF, NAN]
FEW = [-INF, -1.0, -0.0, 0.0, 0.5, 1.0, 2.0, INF, NAN]


@functools.cache
def corners(name):
    """Every combination of special values, then ordinary ones; all of them are numbers of float32."""
    arity = len(ops.get(name).args)
    special = np.array(list(itertools.product(SPECIAL if arity < 3 else FEW, repeat=arity))).T
    ordinary = np.random.default_rng(arity).normal(0, 1.5, (arity, 100))
    return np.concatenate([special, ordinary], axis=1).astype("float32").astype(float)


@functools.cache
def of_mpmath(name, dtype):
    """The points of the stored ranges that are numbers of `dtype`, with what mpmath says there."""
    stored = {key: stored_ranges()[f"{name}/{key}"] for key in ("x", "exact", "share")}
    with np.errstate(over="ignore", under="ignore"):
        here = (stored["x"].astype(dtype).astype(float) == stored["x"]).all(axis=0)
    return tuple(part[:, here] for part in stored.values())


@functools.cache
def found(name, engine, dtype):
    """Value and derivatives of an operation at its corners, and at the points of mpmath: two arrays (1 + arity, n)."""
    first = corners(name)
    points = np.concatenate([first, of_mpmath(name, dtype)[0]], axis=1)
    values, slopes = everywhere([function(name)], points, engine, dtype)
    every = np.concatenate([values, slopes[0]])
    return every[:, : first.shape[1]], every[:, first.shape[1] :]


def by_hand(call, points, upstream=1.0):
    """The same by Values that nobody recorded: an array (1 + arity, n)."""
    rows = []
    for point in points.T.tolist():
        leaves = [sv.Value(x) for x in point]
        result = call(*leaves)
        result.backward(upstream)
        assert {type(number) for number in (result.data, *(leaf.grad for leaf in leaves))} == {float}
        rows.append([result.data, *(leaf.grad for leaf in leaves)])
    return np.array(rows).T


def close(got, wanted, dtype, units=64.0, near=8.0):
    """The same NaNs, the same infinities, numbers to some roundings."""
    eps = np.finfo(dtype).eps
    with np.errstate(over="ignore"):
        wanted = np.asarray(wanted, float).astype(dtype).astype(float)
    np.testing.assert_allclose(np.asarray(got, float), wanted, rtol=units * eps, atol=near * eps)


# ---- every engine


@every_engine
@pytest.mark.parametrize("name", NAMES)
def test_every_engine_has_the_numbers_of_plain_values_at_all_special_points(name, engine, dtype):
    close(found(name, engine, dtype)[0], by_hand(function(name), corners(name)), dtype)


MORE = {"pow": 8.0}
"""Units of the last place that a result may be off, where they are not 4: of two functions."""
OF_THE_RESULT = {"tanh": 2.0, "sigmoid": 1.0}
"""Derivatives made of the result, which rounds what is beyond its last place: units of 1, as in PyTorch."""


@every_engine
@pytest.mark.parametrize("name", NAMES)
def test_errors_are_a_few_units_over_the_whole_range_of_the_dtype(name, engine, dtype):
    """In units of the last place of what is wanted, and of what its operands' own last places are worth there."""
    info, (x, exacts, shares) = np.finfo(dtype), of_mpmath(name, dtype)
    assert x.shape[1] >= 30
    partials = ops.get(name).partials
    every = found(name, engine, dtype)[1].astype(float)
    for k, (got, exact, share) in enumerate(zip(every, exacts, shares, strict=True)):
        if k and partials[k - 1] is None:
            assert not got.any()
            continue
        known = ~np.isnan(exact)
        assert k or (np.isnan(got) == ~known).all()
        beyond = known & (np.abs(exact) > float(info.max) * 1.0001)
        np.testing.assert_array_equal(got[beyond], np.copysign(INF, exact[beyond]))
        known &= np.abs(exact) < float(info.max) * 0.9999
        units = np.abs(exact) + np.where(np.isfinite(share), share, 0.0) + (OF_THE_RESULT.get(name, 0.0) if k else 0.0)
        lost = float(info.smallest_subnormal) * (2 + np.abs(x).sum(axis=0))  # on the way, in denormals
        with np.errstate(invalid="ignore"):
            wrong = known & ~(np.abs(got - exact) <= MORE.get(name, 4.0) * units * float(info.eps) / 2 + lost)
        assert not wrong.any(), (k, x[:, wrong][:, 0].tolist(), got[wrong][0], exact[wrong][0])


# Value and derivatives at one point. The kinks stand here by themselves, so that a wrong oracle cannot hide them.
POINTS = [
    ("logaddexp", (INF, 1.0), (INF, 1, 0)), ("logaddexp", (-INF, 1.0), (1, 0, 1)),
    ("logaddexp", (INF, INF), (INF, 0.5, 0.5)), ("logaddexp", (-INF, -INF), (-INF, 0.5, 0.5)),
    ("logaddexp", (INF, -INF), (INF, 1, 0)), ("elu", (-INF, 2.0), (-2, 0, -1)), ("elu", (INF, 2.0), (INF, 1, 0)),
    ("huber", (-INF, 1.0), (INF, -1, INF)), ("smooth_l1", (-INF, 1.0), (INF, -1, -0.5)),
    ("smooth_l1", (1.0, 0.0), (1, 1, -0.5)), ("leaky_relu", (-INF, 0.1), (-INF, 0.1, -INF)),
    ("bce_with_logits", (INF, 0.0, 1.0), (INF, 1, -INF, 0)),
    ("bce_with_logits", (-INF, 1.0, 1.0), (INF, -1, INF, INF)),
    ("bce_with_logits", (1000.0, 1.0, 1.0), (0, 0, -1000, 0)),
    ("bce_with_logits", (-1000.0, 1.0, 3.0), (3000, -3, 3000, 1000)),
    ("softplus_up_to", (INF, 1.0, 20.0), (INF, 1)), ("softplus_up_to", (-INF, 1.0, 20.0), (0, 0)),
    ("hinge_embedding", (-INF, -1.0, 1.0), (INF, -1)), ("hinge_embedding", (INF, -1.0, 1.0), (0, 0)),
    ("first_max", (2.0, 2.0), (2, 1, 0)), ("pow", (-8.0, 1 / 3), (NAN, NAN, NAN)), ("div", (0.0, 0.0), (NAN, INF)),
    ("lt", (1.0, 2.0), (1, 0, 0)), ("lt", (2.0, 2.0), (0, 0, 0)), ("le", (2.0, 2.0), (1, 0, 0)),
    ("le", (3.0, 2.0), (0, 0, 0)), ("gt", (3.0, 2.0), (1, 0, 0)), ("gt", (2.0, 2.0), (0, 0, 0)),
    ("ge", (2.0, 2.0), (1, 0, 0)), ("ge", (1.0, 2.0), (0, 0, 0)), ("lt", (NAN, 2.0), (0, 0, 0)),
]  # fmt: skip


@every_engine
def test_kinks_comparisons_and_infinities_among_several_operands(engine, dtype):
    for arity in (1, 2, 3):
        rows = [row for row in POINTS if len(row[1]) == arity]
        for name, rows_of_it in itertools.groupby(sorted(rows, key=lambda row: row[0]), lambda row: row[0]):
            _, points, wanted = zip(*rows_of_it, strict=True)
            values, slopes = everywhere([function(name)], np.array(points).T, engine, dtype)
            for k, (point, expected) in enumerate(zip(points, wanted, strict=True)):
                got = [values[0, k], *slopes[0, :, k]][: len(expected)]
                np.testing.assert_allclose(got, expected, rtol=8 * np.finfo(dtype).eps, err_msg=f"{name}{point}")


IEEE = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "pow": np.power, "exp": np.exp,
        "log": np.log, "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "tanh": np.tanh, "neg": np.negative,
        "abs": np.abs, "square": np.square}  # fmt: skip


READ = {
    **dict.fromkeys(("lt", "le", "gt", "ge"), 0),
    **dict.fromkeys(("where", "huber", "smooth_l1", "softplus_up_to", "hinge_embedding", "elu", "leaky_relu"), 1),
    **dict.fromkeys(("bce_with_logits", "binary_cross_entropy"), 1),
}
"""How many operands always matter: comparisons with NaN are false (IEEE), settings and branches are not always read."""
CONSTANT = ("add", "sub", "neg", "where", "hinge_embedding", "held_max")


@pytest.mark.parametrize("name", NAMES)
def test_a_nan_that_comes_in_goes_out_and_comes_back(name):
    points, count = corners(name), READ.get(name, len(ops.get(name).args))
    reads = np.isnan(points[:count]).any(axis=0)
    if name == "pow":
        reads &= (points[0] != 1) & (points[1] != 0)  # 1**NaN and NaN**0 are 1 (IEEE)
    value, *slopes = by_hand(function(name), points)[:, reads]
    assert np.isnan(value).all()
    assert name in CONSTANT or np.isnan(slopes).any(axis=0).all()


# ---- PyTorch


ORACLED = [name for name in ops.METHODS if name not in WITHOUT_ORACLE] + ["binary_cross_entropy"]


@pytest.mark.parametrize("engine", ["objects", "numpy", "numba"])
@pytest.mark.parametrize("name", ORACLED)
def test_operations_agree_with_pytorch(oracle, name, engine):
    reference = oracle("ops")
    points = reference[f"{name}/x"]
    values, slopes = everywhere([function(name)], points, engine, "float64")
    wanted = reference[f"{name}/grad"].copy()
    if name == "binary_cross_entropy":  # PyTorch's 1e-12 under the derivative is the float32 next to it
        wanted[:, points[0] * (1 - points[0]) < 1e-12] *= float(np.float32(1e-12)) / 1e-12
    np.testing.assert_allclose(values[0], reference[f"{name}/value"], rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(slopes[0, : len(wanted)], wanted, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("kind", ["ordinary", "ties", "large"])
def test_folds_agree_with_pytorch(oracle, kind):
    reference = oracle("ops")
    points = reference[f"nary/{kind}/x"]
    for name in ("sum", "max", "logsumexp"):
        # PyTorch's softmax is exp(x - result), which costs it the digits that the result 1001.3 takes
        got = by_hand(lambda *v, name=name: getattr(sv, name)(v), points[:, None])[:, 0]
        np.testing.assert_allclose(got, reference[f"nary/{kind}/{name}"], rtol=1e-13, atol=1e-15)
    numbers = reference["dot/x"]
    got = by_hand(lambda *v: sv.dot(v[:3], v[3:6], v[6]), numbers[:, None])[:, 0]
    np.testing.assert_allclose(got, reference["dot"], rtol=1e-15)


def test_gradcheck_finds_a_wrong_derivative_and_fails_for_nan():
    wrong = sv.register("test_wrong_cube", "a", "a * a * a", ("2 * a * a",))
    try:
        result = sv.gradcheck(wrong, 1.5)
        assert not result
        assert (result.numeric, result.analytic) == (pytest.approx((6.75,)), (4.5,))
        assert result.error > 0.1
    finally:
        del ops.TABLE["test_wrong_cube"]
    assert not sv.gradcheck(lambda x: x * NAN, 1.0)
    w = sv.Weight(0.3)
    assert sv.gradcheck(lambda x, y: (w * x - y).square() + sv.tanh(x * y), 0.5, -0.7)
