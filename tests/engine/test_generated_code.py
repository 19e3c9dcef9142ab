"""Code that is written from the table: what it reads like, and what the compiler makes of it.

Imports internals: the translator and the loader of compiled rows, whose vectors and dtypes no number shows.
"""

import re

import numpy as np
import pytest

from scalarviz.engine.cpu import loader
from scalarviz.scalar import ops
from scalarviz.scalar.emit import NUMPY, PYTHON, adjoint, function_source
from scalarviz.scalar.kernel import pull_source

NAMES = [name for name in ops.TABLE if not name.startswith("test_") and name != "scale_gradient"]  # it copies
VECTORS = ["exp", "tanh", "sigmoid", "softplus", "sin", "cos", "relu", "mul", "maximum", "logaddexp"]
BRANCHES = ["relu", "leaky_relu", "abs", "clip", "maximum", "minimum", "first_max", "where"]


def intermediate_code(name, row_kernel="forward"):
    """LLVM's optimised code of a float32 row kernel (compiled anew: a cached one keeps machine code only)."""
    op = ops.get(name)
    return loader._compile_rows(op, "float32", f"test-{name}", cached=False)[row_kernel].inspect_llvm()


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name == "tanh" else pytest.mark.ci) for name in NAMES])
def test_float32_stays_float32_and_rows_are_computed_in_vectors(name):
    """A literal 2.0 would make numba compute ``float32 * 2.0`` in float64, at half the speed."""
    code = intermediate_code(name)
    assert re.search(r"\bfloat\b", code)
    assert not re.search(r"\bdouble\b", code)
    assert name not in VECTORS or re.search(r"<\d+ x float>", code)
    if name in BRANCHES:  # the upstream gradient stands in the branches: they stay selections
        code = intermediate_code(name, "backward_1" if name == "where" else "backward_0")
        assert re.search(r"select <\d+ x i1>|call <\d+ x float> @llvm\.", code)
        assert not re.search(r"\bdouble\b", code)


@pytest.mark.parametrize("n", [0, 1, 3, 17, 64, 100])
def test_no_row_kernel_writes_past_its_end(n):
    x, y = np.ones((1, 128), np.float32), np.full(128, 7, np.float32)
    address = loader.row_addresses("tanh", "float32")["forward"]
    loader.callable_at(address)(*[x.ctypes.data] * 3, y.ctypes.data, 0, 0, n, 0)
    assert (y[:n] != 7).all()
    assert (y[n:] == 7).all()


@pytest.mark.parametrize("name", NAMES)
def test_there_is_a_kernel_for_each_derivative_and_no_other(name):
    partials = ops.get(name).partials
    wanted = {"forward", *(f"backward_{k}" for k, partial in enumerate(partials) if partial is not None)}
    assert set(loader.row_addresses(name, "float64")) == wanted


@pytest.mark.parametrize(("partial", "wanted"), [
    ("0", "0"), ("-0.0", "0"), ("1", "_up"), ("-1", "-_up"), ("a", "_up * a"), ("1 / a", "_up / a"),
    ("where(a > 0, 1, where(a <= 0, 0, a))", "where(a > 0, _up, where(a <= 0, 0, _up * a))"),
    ("-where(a > 0, 0, -where(a < b, 0.5, 0))", "-where(a > 0, 0, -where(a < b, _up * 0.5, 0))"),
    ("2 * where(a > 0, 1, 0)", "_up * (2 * where(a > 0, 1, 0))"),  # a product that comes out as 0
])  # fmt: skip
def test_the_upstream_gradient_goes_into_the_branches(partial, wanted):
    assert adjoint(partial) == wanted


def test_rules_read_as_the_chain_rule_and_compute_a_repeated_part_once():
    assert function_source("f", ("a",), (ops.get("sigmoid").value,), PYTHON).count("exp(") == 1
    assert function_source("f", ("a",), (ops.get("sigmoid").value,), NUMPY).count("np.exp(") == 1
    assert "_p0.grad += _up * (2.0 * a)\n" in pull_source(ops.get("square"))
    assert "_p1.grad += -_up\n" in pull_source(ops.get("sub"))
    assert pull_source(ops.get("lt")) == "def pull(_node): pass\n"


def test_the_sum_of_a_gradient_is_stored_or_added():
    """A row that is fresh holds anything: it is written over, not read."""
    x, up = np.linspace(-1, 1, 40), np.full(40, 0.5)
    call = loader.callable_at(loader.row_addresses("sin", "float64")["backward_0"])
    for fresh, before, wanted in ((1, np.nan, 0.5 * np.cos(x)), (0, 1.0, 1 + 0.5 * np.cos(x))):
        into = np.full(40, before)
        call(*[x.ctypes.data] * 3, x.ctypes.data, up.ctypes.data, into.ctypes.data, 40, fresh)
        np.testing.assert_allclose(into, wanted, rtol=1e-14)
