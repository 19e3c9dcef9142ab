"""The row kernels of every operation: values, derivatives, IEEE corners, dtype and vectors."""

from __future__ import annotations

import itertools
import math
import re
from types import SimpleNamespace

import numba
import numpy as np
import pytest

import scalarviz as sv
from scalarviz.engine.cpu.cache import loader
from scalarviz.engine.cpu.compiled.intrinsics import select
from scalarviz.scalar import ops
from scalarviz.scalar.erf import erf
from scalarviz.scalar.kernel import kernel

DTYPES = ("float32", "float64")
NAMES = list(ops.TABLE)
SPECIAL = [-np.inf, -60.0, -1.5, -1.0, -0.5, -0.0, 0.0, 1e-30, 0.25, 1.0, 2.0, 3.0, 60.0, np.inf, np.nan]
FEW = [-np.inf, -1.0, -0.0, 0.0, 0.5, 1.0, 2.0, np.inf, np.nan]


def points(arity: int, dtype: str) -> np.ndarray:
    """Every combination of special values, then ordinary ones; shape (arity, n)."""
    corners = np.array(list(itertools.product(SPECIAL if arity < 3 else FEW, repeat=arity))).T
    ordinary = np.random.default_rng(arity).normal(0, 1.5, (arity, 200))
    return np.ascontiguousarray(np.concatenate([corners, ordinary], axis=1).astype(dtype))


def call(address: int, operands, y, g=None, d=None, fresh=0) -> None:
    rows = [*operands, *[operands[0]] * (3 - len(operands)), y, y if g is None else g, y if d is None else d]
    loader.callable_at(address)(*(row.ctypes.data for row in rows), len(y), fresh)


def forward(name: str, x: np.ndarray) -> np.ndarray:
    y = np.zeros_like(x[0])
    call(loader.row_addresses(name, x.dtype.name)["forward"], x, y)
    return y


def close(found: np.ndarray, wanted: np.ndarray, scale: float) -> None:
    """Same NaNs, same infinities with their signs, numbers to a few roundings of their largest intermediate."""
    with np.errstate(over="ignore"):
        wanted = wanted.astype(found.dtype)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    infinite = np.isinf(found) | np.isinf(wanted)
    np.testing.assert_array_equal(found[infinite], wanted[infinite])
    ordinary = np.isfinite(wanted) & ~infinite
    eps = np.finfo(found.dtype).eps
    np.testing.assert_allclose(found[ordinary], wanted[ordinary], rtol=64 * eps, atol=scale * eps)


def pulled(name: str, *operands: float, value: float) -> list[float]:
    """What the chain rule in plain Python adds to each operand's gradient, for an upstream gradient of 0.5."""
    parents = tuple(SimpleNamespace(data=x, grad=0.0) for x in operands)
    kernel(name).pull(SimpleNamespace(_parents=parents, data=value, grad=0.5))
    return [parent.grad for parent in parents]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_value_is_that_of_plain_python(name, dtype):
    x = points(len(ops.get(name).args), dtype)
    wanted = np.array([kernel(name).value(*column) for column in x.T.tolist()])
    close(forward(name, x), wanted, scale=4)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_derivatives_are_those_of_plain_python(name, dtype):
    op = ops.get(name)
    x = points(len(op.args), dtype)
    y = forward(name, x)
    wanted = np.array([pulled(name, *column, value=value) for *column, value in np.vstack([x, y]).T.tolist()])
    addresses = loader.row_addresses(name, dtype)
    assert set(addresses) == {"forward", *(f"backward_{k}" for k, p in enumerate(op.partials) if p is not None)}
    g = np.full_like(y, 0.5)
    for k, partial in enumerate(op.partials):
        if partial is None:
            continue
        stored, added = np.full_like(y, np.nan), np.ones_like(y)
        call(addresses[f"backward_{k}"], x, y, g, stored, fresh=1)
        call(addresses[f"backward_{k}"], x, y, g, added, fresh=0)
        close(stored, wanted[:, k], scale=8)
        close(added, 1 + stored.astype(float), scale=8)


@pytest.mark.parametrize("name", NAMES)
def test_value_and_derivatives_agree_with_pytorch(oracle, name):
    reference = oracle("ops")
    if f"{name}/x" not in reference or name == "binary_cross_entropy":  # tested with the losses
        assert name in {"first_max", "huber", "lt", "le", "gt", "ge", "binary_cross_entropy"} or name not in ops.METHODS
        return
    x = np.ascontiguousarray(reference[f"{name}/x"])
    y = forward(name, x)
    np.testing.assert_allclose(y, reference[f"{name}/value"], rtol=1e-13, atol=1e-300)
    g = np.ones_like(y)
    for k, wanted in enumerate(reference[f"{name}/grad"]):
        if ops.get(name).partials[k] is None:
            assert (wanted == 0).all()
            continue
        d = np.empty_like(y)
        call(loader.row_addresses(name, "float64")[f"backward_{k}"], x, y, g, d, fresh=1)
        np.testing.assert_allclose(d, wanted, rtol=1e-12, atol=1e-300)


UNARY = {
    "exp": (np.exp, [(-87, 88), (-1, 1)]),
    "log": (np.log, [(1e-30, 1e30), (0.5, 2.0)]),
    "tanh": (np.tanh, [(-12, 12), (-0.7, 0.7), (-1e-4, 1e-4)]),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), [(-80, 80), (-2, 2)]),
    "softplus": (lambda x: np.logaddexp(0, x), [(-80, 80), (-2, 2)]),
    "erf": (None, [(-7, 7), (-1, 1), (-1e-4, 1e-4)]),
    "sin": (np.sin, [(-1, 1), (-50, 50), (-11_999, 11_999), (-1e6, 1e6), (-1e20, 1e20)]),
    "cos": (np.cos, [(-1, 1), (-50, 50), (-11_999, 11_999), (-1e6, 1e6), (-1e20, 1e20)]),
}


def exact_erf(x):
    """The C library's, which is right to one unit of float64."""
    return np.array([math.erf(number) for number in x.tolist()])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UNARY)
def test_vector_functions_are_within_four_units_in_the_last_place(name, dtype):
    if np.finfo(np.longdouble).eps > 1e-18:
        pytest.skip("this processor has no long doubles")
    reference, ranges = UNARY[name]
    for low, high in ranges:
        x = np.random.default_rng(0).uniform(low, high, 100_000).astype(dtype)
        exact = exact_erf(x) if reference is None else reference(x.astype(np.longdouble))
        found = forward(name, x[None])
        units = np.abs(found - exact) / np.spacing(np.abs(exact).astype(dtype))
        assert units.max() <= 4, (low, high, x[units.argmax()])


@pytest.mark.parametrize("dtype", DTYPES)
def test_exp_tanh_and_log_at_the_edges(dtype):
    info = np.finfo(dtype)
    tiny = float(info.smallest_subnormal)
    x = np.array([[0.0, -0.0, tiny, -tiny, np.inf, -np.inf, float(info.max), -float(info.max)]], dtype)
    np.testing.assert_array_equal(forward("exp", x), np.array([1, 1, 1, 1, np.inf, 0, np.inf, 0], dtype))
    flat = forward("tanh", x)
    np.testing.assert_array_equal(flat, np.array([0, -0.0, tiny, -tiny, 1, -1, 1, -1], dtype))
    np.testing.assert_array_equal(np.signbit(flat), np.signbit(x[0]))
    positive = np.abs(x)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(forward("log", positive), np.log(positive[0]), rtol=4 * info.eps)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_error_function_at_the_edges(dtype):
    """Of the kernels and of NumPy's arrays, which have none of their own."""
    info = np.finfo(dtype)
    tiny, least = float(info.smallest_subnormal), float(info.tiny)
    x = np.array([0.0, -0.0, tiny, -tiny, 7 * least / 8, least, 1.0, np.inf, -np.inf, 9.0, -1e30], dtype)
    wanted = exact_erf(x).astype(dtype)
    for found in (forward("erf", x[None]), erf(x), np.array([erf(number) for number in x])):
        assert found.dtype == np.dtype(dtype)
        np.testing.assert_allclose(found, wanted, rtol=4 * info.eps, atol=tiny)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(x))
        assert (found[-4:] == [1, -1, 1, -1]).all()
    for found in (forward("erf", np.array([[np.nan]], dtype)), erf(np.array([np.nan], dtype))):
        assert np.isnan(found).all()
    many = np.random.default_rng(0).normal(0, 2, 10_000).astype(dtype)
    np.testing.assert_allclose(erf(many), exact_erf(many), rtol=4 * info.eps)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["sin", "cos"])
def test_sine_and_cosine_at_the_edges_and_near_their_zeros(name, dtype):
    tiny = float(np.finfo(dtype).smallest_subnormal)
    x = np.array([[0.0, -0.0, tiny, -tiny]], dtype)
    found = forward(name, x)
    np.testing.assert_array_equal(found, getattr(np, name)(x[0]))
    np.testing.assert_array_equal(np.signbit(found), np.signbit(getattr(np, name)(x[0])))
    turns = (np.arange(-7000, 7000) * (np.pi / 2)).astype(dtype)
    exact = getattr(np, name)(turns.astype(np.longdouble)).astype(float)
    np.testing.assert_allclose(forward(name, turns[None]), exact, rtol=4 * np.finfo(dtype).eps, atol=0)
    bad = forward(name, np.array([[1.0, np.nan, np.inf, -np.inf, 2.0]], dtype))
    np.testing.assert_array_equal(np.isnan(bad), [False, True, True, True, False])
    np.testing.assert_allclose(bad[[0, 4]], getattr(np, name)([1.0, 2.0]), rtol=4 * np.finfo(dtype).eps)


def test_exp_underflows_gradually():
    x = np.linspace(-103.9, -87, 500, dtype=np.float32)[None]
    found = forward("exp", x)
    np.testing.assert_allclose(found, np.exp(x[0].astype(float)), rtol=1e-6, atol=1e-45)
    assert (found[found > 0] < np.finfo(np.float32).tiny).any()


@pytest.mark.parametrize("n", [0, 1, 3, 17, 64, 100])
def test_no_row_kernel_writes_past_its_end(n):
    x, y = np.ones((1, 128), np.float32), np.full(128, 7, np.float32)
    address = loader.row_addresses("tanh", "float32")["forward"]
    loader.callable_at(address)(*[x.ctypes.data] * 3, y.ctypes.data, 0, 0, n, 0)
    assert (y[:n] != 7).all()
    assert (y[n:] == 7).all()


def intermediate_code(name: str, row_kernel: str = "forward") -> str:
    """LLVM's optimised code of a float32 row kernel (compiled anew: a cached one keeps machine code only)."""
    op = ops.get(name)
    return loader._compile_rows(op, "float32", f"test-{name}", cached=False)[row_kernel].inspect_llvm()


def test_a_selection_takes_two_numbers_of_one_dtype():
    """Else a float64 would be cut to float32, or the other way round, and nobody would know."""

    @numba.njit
    def chosen(condition, a, b):
        return select(condition, a, b)

    assert [chosen(flag, np.float32(1), np.float32(2)) for flag in (True, False)] == [1, 2]
    assert [signature.return_type for signature in chosen.nopython_signatures] == [numba.float32]
    for a, b in ((np.float32(1), 2.0), (1.0, np.float32(2)), (1, 2), (1j, 2j)):
        with pytest.raises(numba.TypingError):
            chosen(True, a, b)


@pytest.mark.parametrize("name", NAMES)
def test_float32_stays_float32(name):
    """A literal 2.0 would make numba compute ``float32 * 2.0`` in float64, at half the speed."""
    code = intermediate_code(name)
    assert "float" in code
    assert not re.search(r"\bdouble\b", code)


@pytest.mark.parametrize(
    "name", ["exp", "tanh", "sigmoid", "softplus", "sin", "cos", "relu", "mul", "maximum", "logaddexp"]
)
def test_rows_are_computed_in_vectors(name):
    assert re.search(r"<\d+ x float>", intermediate_code(name))


@pytest.mark.parametrize("name", ["relu", "leaky_relu", "abs", "clip", "maximum", "minimum", "first_max", "where"])
def test_adjoints_with_branches_are_selected_in_vectors(name):
    """The upstream gradient stands in the branches: they stay selections, also in float32."""
    code = intermediate_code(name, "backward_1" if name == "where" else "backward_0")
    assert re.search(r"select <\d+ x i1>|call <\d+ x float> @llvm\.", code)
    assert not re.search(r"\bdouble\b", code)


def test_operand_names_of_a_user_cannot_clash_with_the_kernel():
    name = "test_names"
    if name not in ops.TABLE:
        sv.register(name, ("n", "exp", "i"), "exp(n) + exp * i", ("exp(n)", "i", "exp"))
    x = np.array([[0.5, 1.0], [2.0, 3.0], [4.0, 5.0]])
    np.testing.assert_allclose(forward(name, x), np.exp(x[0]) + x[1] * x[2], rtol=1e-15)
