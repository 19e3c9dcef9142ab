"""The compiled kernels of weighted sums, their gradients and of data, each alone, against NumPy.

Imports internals: only a call of one kernel can put NaN behind the last lane, and rows where no program has them.
"""

import itertools
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llvmlite import binding

from scalarviz.engine.cpu import loader, wire
from scalarviz.engine.cpu.vector import capability

VECTORS = capability.vector_bytes()
DTYPES = ("float32", "float64")
FORMS = ["", "_several", "_few"]
"""Tiles of registers, layers of few samples, and those of a batch that fits one vector."""
dtypes = pytest.mark.parametrize("dtype", DTYPES)


class Bench:
    """A workspace of `rows` random rows for calls of one kernel; behind the last lane stands NaN."""

    def __init__(self, rows, lanes, dtype, weights=200):
        self.rng, self.lanes = np.random.default_rng(rows + 10 * lanes), lanes
        itemsize = np.dtype(dtype).itemsize
        width = -(-lanes * itemsize // 64) * 64 // itemsize
        memory = np.zeros((rows + wire.PADDING) * width + 64, dtype)
        skip = -memory.ctypes.data % 64 // itemsize
        self.rows = memory[skip : skip + (rows + wire.PADDING) * width].reshape(-1, width)
        self.rows[:rows] = self.rng.normal(size=(rows, width))
        self.rows[:rows, lanes:] = np.nan
        self.rows[rows + 1] = 1
        self.tile, self.memory = np.zeros(16, dtype), memory
        self.space = np.zeros(max(wire.ALONE + 2, 28), np.int64)
        self.space[:8] = self.rows.ctypes.data, width * itemsize, rows, self.tile.ctypes.data, rows, lanes, 0, 0
        self.theta, self.grad = self.rng.normal(size=(2, weights)).astype(dtype)

    def call(self, name, fields, pool=(0,)):
        address = loader.kernel_address(name, self.theta.dtype.name)
        line = np.zeros(wire.FIELDS, np.int64)
        line[: 2 + len(fields)] = wire.KERNEL, address, *fields
        arrays = [line, self.space, np.array(pool, np.int64), self.theta, self.theta, self.grad]
        loader.callable_at(address)(*(a.ctypes.data for a in arrays), self.lanes, 0)

    def values(self, rows):
        return self.rows[list(rows), : self.lanes].astype(float)


def close(found, expected, dtype):
    return np.linalg.norm(found - expected) <= {"float64": 1e-13, "float32": 5e-6}[dtype] * max(
        np.linalg.norm(expected), 1
    )


def combine(form, dtype, n_to, n_from, lanes, back=False, bias=False, adding=False):
    """Rows become sums of others times weights, whose matrix may be read across; the others stay as they are."""
    bench = Bench(n_to + n_from, lanes, dtype, n_to * n_from + 200)
    order = bench.rng.permutation(n_to + n_from) if form != "_few" else np.arange(n_to + n_from)
    to, source = order[:n_to], order[n_to:]
    matrix = bench.theta[5 : 5 + n_to * n_from].astype(float)
    matrix = matrix.reshape(n_from, n_to).T if back else matrix.reshape(n_to, n_from)
    steps, first = ((1, n_to) if back else (n_from, 1)), n_to * n_from + 10
    bias = bias and not adding and n_to <= 150
    expected = matrix @ bench.values(source) + (bench.values(to) if adding else 0)
    expected += bench.theta[first : first + n_to, None].astype(float) if bias else 0
    before, theta = bench.values(source), bench.theta.copy()
    rest = [5, *steps, first if bias else -1, int(adding)]
    if form == "_few":
        bench.call("combine_few", [to[0], n_to, source[0], n_from, *rest])
    else:
        bench.call("combine" + form, [0, n_to, n_to, n_from, *rest], [*to, *source])
    assert close(bench.values(to), expected, dtype)
    np.testing.assert_array_equal(bench.values(source), before)
    np.testing.assert_array_equal(bench.theta, theta)


def outer(form, dtype, n_up, n_from, lanes, bias=False):
    """Gradients of weights get products of upstream rows and operands, those of biases sums of upstream rows."""
    bench = Bench(n_up + n_from, lanes, dtype, n_up * n_from + 200)
    upstream, source = list(range(n_up)), list(range(n_up, n_up + n_from))
    first, expected = n_up * n_from + 10, bench.grad.astype(float)
    expected[7 : 7 + n_up * n_from] += (bench.values(upstream) @ bench.values(source).T).ravel()
    bias = bias and n_up <= 150
    if bias:
        expected[first : first + n_up] += bench.values(upstream).sum(axis=1)
    rest = [7, n_from, first if bias else -1]
    if form == "_few":
        bench.call("outer_few", [0, n_up, n_up, n_from, *rest])
    else:
        bench.call("outer" + form, [0, n_up, n_up, n_from, *rest], [*upstream, *source])
    assert close(bench.grad, expected, dtype)


def size_of(form, dtype, a, b, lanes):
    """Within what a form takes."""
    if form == "_few":
        return 1 + a % 4, 1 + b % 4, 1 + lanes % (VECTORS // np.dtype(dtype).itemsize)
    if form == "_several":
        return a, b, 2 + lanes % (min(wire.PASS, wire.SEVERAL) - 1)
    return 1 + a % 9, 1 + b % 9, lanes


sides = st.integers(1, 70)


@dtypes
@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=30, deadline=None)
@given(a=sides, b=sides, lanes=st.integers(1, 150), back=st.booleans(), bias=st.booleans(), adding=st.booleans())
def test_weighted_sums_of_rows_and_the_gradients_of_their_weights(dtype, form, a, b, lanes, back, bias, adding):
    a, b, lanes = size_of(form, dtype, a, b, lanes)
    combine(form, dtype, a, b, lanes, back, bias, adding)
    outer(form, dtype, a, b, lanes, bias)


SIZES = ((3, 127), (70, 129), (33, 256))
SUMS = [("", *sizes, lanes) for sizes, lanes in itertools.product(SIZES, (1, 9, 130))]
OF_FEW = [("_several", *sizes) for sizes in ((9, 256, 8), (9, 259, 3), (6, 600, 6), (600, 7, 4), (517, 513, 5))]


@dtypes
@pytest.mark.parametrize(("form", "n_to", "n_from", "lanes"), [*SUMS, *OF_FEW])
def test_sums_of_many_rows_go_through_in_panels(form, n_to, n_from, lanes, dtype):
    """Backward, the weights of a panel are copied together first."""
    for back, bias, adding in ((False, True, False), (True, False, False), (True, False, True)):
        combine(form, dtype, n_to, n_from, lanes, back, bias, adding)


PANELS = [("", 5, columns, lanes) for columns in (1, 5, 12, 26) for lanes in (255, 1000, 2100)]
OF_FEW = [("_several", *sizes) for sizes in ((5, 256, 16), (5, 700, 9), (4, 257, 2))]


@dtypes
@pytest.mark.parametrize(("form", "n_up", "n_from", "lanes"), [*PANELS, *OF_FEW])
def test_gradients_of_weights_in_panels_of_columns(form, n_up, n_from, lanes, dtype):
    """Rows so long that a few fill the cache: 1, 2, 4 or more tiles of columns go through together."""
    outer(form, dtype, n_up, n_from, lanes, True)


@dtypes
@pytest.mark.parametrize("count", range(1, 6))
@pytest.mark.parametrize("kept", ["parameters", "numbers"])
def test_a_weighted_sum_reads_no_weight_behind_its_own(kept, count, dtype):
    """Four rows go through together: those that are missing are zeros, and zero times a NaN would be one."""
    bench = Bench(1 + count, 20, dtype)
    own = np.arange(40, 40 + count)
    bench.theta[[40 + count, 199]] = np.nan
    source, weights = list(range(1, 1 + count)), [*own, 199]
    expected = bench.theta[3].astype(float) + bench.theta[own].astype(float) @ bench.values(source)
    pool = source + weights if kept == "parameters" else source
    # the numbers of this program are those of theta
    bench.call("weighted", [0, 1, 0, count, count if kept == "parameters" else -1, 40, -1, 3], pool)
    assert close(bench.values([0])[0], expected, dtype)


# ---- other processors


def test_a_processor_of_another_kind_gets_vectors_of_128_bits(monkeypatch):
    monkeypatch.setenv("NUMBA_CPU_FEATURES", "+sse2")
    capability._found.cache_clear()
    try:
        assert (capability.vector_bytes(), capability.wide_vectors()) == (16, 2)
        assert "128 bits" in capability.describe()
        monkeypatch.setenv("NUMBA_CPU_FEATURES", "+avx2,+fma")
        capability._found.cache_clear()
        assert (capability.vector_bytes(), capability.wide_vectors()) == (32, 2)
    finally:
        monkeypatch.undo()
        capability._found.cache_clear()


NEHALEM = "cx16 popcnt sse sse2 sse3 ssse3 sse4.1 sse4.2"
OTHERS = {"haswell": (f"avx avx2 fma bmi bmi2 f16c lzcnt movbe {NEHALEM}", 32), "nehalem": (NEHALEM, 16)}
HERE = binding.get_host_cpu_features()


@pytest.mark.ci
@pytest.mark.parametrize("name", OTHERS)
def test_kernels_of_shorter_vectors_pass_the_tests_of_all(name):
    """The kernels for processors with AVX2 alone, and for those without: their own tests, once more."""
    features, width = OTHERS[name]
    if not all(HERE.get(feature) for feature in features.split()):
        pytest.skip(f"this processor cannot do what {name} can")
    given = ",".join(f"+{feature}" for feature in features.split())
    environment = {**os.environ, "NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": given}
    environment.pop("SCALARVIZ_TEST_SECONDS", None)  # here they compile
    code = f"from scalarviz.engine.cpu.vector.capability import vector_bytes; assert vector_bytes() == {width}"
    options = ["-qx", "-n0", "-p", "no:cacheprovider", "-k", "sums or panels"]
    tests = ["-m", "pytest", __file__, *options]
    for command in (["-c", code], tests):
        result = subprocess.run(
            [sys.executable, *command], env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]
    assert "passed" in result.stdout
