"""Every operation of the table over the whole range of its dtype, against mpmath: values and derivatives.

An error is counted in units of the last place of what is wanted, and of what its operands' own last places are worth
there (`share` in ``oracle/ranges``): far out ``exp(x)`` moves by x of its units when x moves by one of its own.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from scalarviz.engine.arrays.step import numpy_form
from scalarviz.engine.cpu.cache import loader
from scalarviz.scalar import ops
from scalarviz.scalar.kernel import kernel

NAMES = tuple(ops.TABLE)
ENGINES = ("objects", "numpy", "numba")
UNITS = {"float64": 4.0, "float32": 4.0}
"""How far off a number may be, in those units; and those that may be farther:"""
MORE = {"pow": 8.0}  # of two functions
OF_THE_RESULT = {"tanh": 2.0, "sigmoid": 1.0}
"""Derivatives made of the result, which rounds what is beyond its last place: units of 1, as in PyTorch."""


def of_objects(name, x):
    found = []
    for *operands, value in zip(*x.tolist(), [kernel(name).value(*column) for column in x.T.tolist()], strict=True):
        parents = tuple(SimpleNamespace(data=v, grad=0.0) for v in operands)
        kernel(name).pull(SimpleNamespace(_parents=parents, data=value, grad=1.0))
        found.append([value, *(parent.grad for parent in parents)])
    return list(np.array(found).T)


def of_numpy(name, x):
    value, pulls = numpy_form(name, x.dtype)
    y = np.broadcast_to(value(*x), x[0].shape)
    assert y.dtype == x.dtype
    return [y, *(np.broadcast_to(p(*x, y, np.ones_like(y)), y.shape) if p else None for p in pulls)]


def of_numba(name, x):
    addresses = loader.row_addresses(name, x.dtype.name)
    y, up = np.zeros_like(x[0]), np.ones_like(x[0])
    given = [row.ctypes.data for row in [*x, *[x[0]] * (3 - len(x))]]
    loader.callable_at(addresses["forward"])(*given, y.ctypes.data, 0, 0, len(y), 0)
    found = [y]
    for k, partial in enumerate(ops.get(name).partials):
        into = np.full_like(y, np.nan)
        if partial is not None:
            call = loader.callable_at(addresses[f"backward_{k}"])
            call(*given, y.ctypes.data, up.ctypes.data, into.ctypes.data, len(y), 1)
        found.append(into if partial is not None else None)
    return found


FORMS = {"objects": of_objects, "numpy": of_numpy, "numba": of_numba}


@pytest.fixture(scope="module")
def stored_ranges():
    with np.load(Path(__file__).parents[1] / "oracle" / "ranges.npz") as arrays:
        return dict(arrays)


EVERY = [(tier, dtype) for tier in ENGINES for dtype in UNITS if (tier, dtype) != ("objects", "float32")]


def made_for(x, dtype):
    """Which points are numbers of that dtype."""
    with np.errstate(over="ignore", under="ignore"):
        return (x.astype(dtype).astype(float) == x).all(axis=0)


@pytest.mark.parametrize(("tier", "dtype"), EVERY)
@pytest.mark.parametrize("name", NAMES)
def test_errors_are_a_few_units_over_the_whole_range(stored_ranges, name, tier, dtype):
    info = np.finfo(dtype)
    every = stored_ranges[f"{name}/x"]
    here = made_for(every, dtype)
    x = np.ascontiguousarray(every[:, here].astype(dtype))
    with np.errstate(all="ignore"):
        found = FORMS[tier](name, x)
    assert x.shape[1] >= 30
    for k, (exact, share) in enumerate(
        zip(stored_ranges[f"{name}/exact"][:, here], stored_ranges[f"{name}/share"][:, here], strict=True)
    ):
        if k and ops.get(name).partials[k - 1] is None:
            continue
        got = np.asarray(found[k], float)
        if k == 0:
            np.testing.assert_array_equal(np.isnan(got), np.isnan(exact), err_msg=f"{name} at {x}")
        known = ~np.isnan(exact)
        beyond = known & (np.abs(exact) > float(info.max) * 1.0001)
        np.testing.assert_array_equal(got[beyond], np.copysign(np.inf, exact[beyond]))
        known &= np.abs(exact) < float(info.max) * 0.9999
        units = np.abs(exact) + np.where(np.isfinite(share), share, 0.0)
        if k:
            units += OF_THE_RESULT.get(name, 0.0)
        lost = float(info.smallest_subnormal) * (2 + np.abs(x.astype(float)).sum(axis=0))  # on the way, in denormals
        most = MORE.get(name, UNITS[dtype]) * units * float(info.eps) / 2 + lost
        with np.errstate(invalid="ignore"):
            wrong = known & ~(np.abs(got - exact) <= most)
        assert not wrong.any(), (k, x[:, wrong][:, 0].tolist(), got[wrong][0], exact[wrong][0])


@pytest.mark.slow
def test_what_is_stored_is_what_mpmath_says(stored_ranges, make_oracle):
    pytest.importorskip("mpmath", reason="no mpmath (extra oracle)")
    import ranges

    for name, (arity, call) in ranges.functions().items():
        x = ranges.points(name, arity)
        np.testing.assert_array_equal(x, stored_ranges[f"{name}/x"])
        some = slice(len(name) % 19, None, 19)
        exact, share = ranges.table(call, x[:, some])
        np.testing.assert_array_equal(exact, stored_ranges[f"{name}/exact"][:, some])
        np.testing.assert_array_equal(share, stored_ranges[f"{name}/share"][:, some])


INF, NAN = np.inf, np.nan
# Values and derivatives at -inf, -0, 0, inf. NaN: there is none, or PyTorch has none either (0 times an infinity).
LIMITS = {
    "neg": ([INF, 0.0, -0.0, -INF], [-1, -1, -1, -1]), "exp": ([0, 1, 1, INF], [0, 1, 1, INF]),
    "log": ([NAN, -INF, -INF, INF], [0, -INF, INF, 0]), "sqrt": ([NAN, -0.0, 0.0, INF], [NAN, -INF, INF, 0]),
    "sin": ([NAN, -0.0, 0.0, NAN], [NAN, 1, 1, NAN]), "cos": ([NAN, 1, 1, NAN], [NAN, 0, 0, NAN]),
    "tanh": ([-1, -0.0, 0.0, 1], [0, 1, 1, 0]), "sigmoid": ([0, 0.5, 0.5, 1], [0, 0.25, 0.25, 0]),
    "softplus": ([0, np.log(2), np.log(2), INF], [0, 0.5, 0.5, 1]), "relu": ([0, 0, 0, INF], [0, 0, 0, 1]),
    "abs": ([INF, 0, 0, INF], [-1, 0, 0, 1]), "square": ([INF, 0, 0, INF], [-INF, 0, 0, INF]),
    "erf": ([-1, -0.0, 0.0, 1], [0, 2 / np.sqrt(np.pi), 2 / np.sqrt(np.pi), 0]),
    "gelu": ([NAN, -0.0, 0.0, INF], [NAN, 0.5, 0.5, NAN]), "gelu_tanh": ([NAN, -0.0, 0.0, INF], [0, 0.5, 0.5, 1]),
    "silu": ([NAN, -0.0, 0.0, INF], [NAN, 0.5, 0.5, NAN]),
    "log_sigmoid": ([-INF, -np.log(2), -np.log(2), 0], [1, 0.5, 0.5, 0]), "relu6": ([0, 0, 0, 6], [0, 0, 0, 0]),
}  # fmt: skip
SIGNED = ("neg", "sqrt", "sin", "tanh", "erf", "gelu", "gelu_tanh", "silu")
"""Those that hand on the sign of a zero."""


def test_the_limits_of_all_operations_of_one_operand_are_known():
    assert set(LIMITS) == {name for name in NAMES if len(ops.get(name).args) == 1 and not name.startswith("test_")}


@pytest.mark.parametrize(("tier", "dtype"), EVERY)
@pytest.mark.parametrize("name", LIMITS)
def test_infinities_nan_and_zeros_of_both_signs(name, tier, dtype):
    points = np.array([[-INF, -0.0, 0.0, INF, NAN]], dtype)
    with np.errstate(all="ignore"):
        value, slope = FORMS[tier](name, points)
    rounding = {"rtol": 4 * np.finfo(dtype).eps, "atol": 0}
    np.testing.assert_allclose(value, np.array([*LIMITS[name][0], NAN]), **rounding)
    np.testing.assert_allclose(slope, np.array([*LIMITS[name][1], -1 if name == "neg" else NAN]), **rounding)
    if name in SIGNED:
        np.testing.assert_array_equal(np.signbit(value[1:3]), np.signbit(LIMITS[name][0][1:3]))


FARTHER = {
    ("logaddexp", (INF, 1.0)): (INF, 1, 0), ("logaddexp", (-INF, 1.0)): (1, 0, 1),
    ("logaddexp", (INF, INF)): (INF, 0.5, 0.5), ("logaddexp", (-INF, -INF)): (-INF, 0.5, 0.5),
    ("logaddexp", (INF, -INF)): (INF, 1, 0), ("elu", (-INF, 2.0)): (-2, 0, -1), ("elu", (INF, 2.0)): (INF, 1, 0),
    ("huber", (-INF, 1.0)): (INF, -1, INF), ("smooth_l1", (-INF, 1.0)): (INF, -1, -0.5),
    ("smooth_l1", (1.0, 0.0)): (1, 1, -0.5), ("leaky_relu", (-INF, 0.1)): (-INF, 0.1, -INF),
    ("bce_with_logits", (INF, 0.0, 1.0)): (INF, 1, -INF, 0), ("bce_with_logits", (-INF, 1.0, 1.0)): (INF, -1, INF, INF),
    ("bce_with_logits", (1000.0, 1.0, 1.0)): (0, 0, -1000, 0),
    ("bce_with_logits", (-1000.0, 1.0, 3.0)): (3000, -3, 3000, 1000),
    ("softplus_up_to", (INF, 1.0, 20.0)): (INF, 1), ("softplus_up_to", (-INF, 1.0, 20.0)): (0, 0),
    ("hinge_embedding", (-INF, -1.0, 1.0)): (INF, -1), ("hinge_embedding", (INF, -1.0, 1.0)): (0, 0),
}  # fmt: skip


@pytest.mark.parametrize(("tier", "dtype"), EVERY)
@pytest.mark.parametrize(("name", "point"), FARTHER)
def test_infinities_among_several_operands(name, point, tier, dtype):
    with np.errstate(all="ignore"):
        found = FORMS[tier](name, np.array([point, point], dtype).T.copy())
    wanted = FARTHER[name, point]
    for column, number in zip(found, wanted, strict=False):
        np.testing.assert_allclose(column, number, rtol=4 * np.finfo(dtype).eps, atol=0)
