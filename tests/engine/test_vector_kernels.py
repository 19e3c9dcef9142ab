"""Layers on register tiles and on plain tiles: each against NumPy, and one against the other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalarviz.engine.cpu import wire
from scalarviz.engine.cpu.cache import loader
from scalarviz.engine.cpu.vector import capability

TOLERANCE = {"float64": 1e-13, "float32": 3e-6}
FORMS = ("", "_plain")
LINE = 64

shapes = st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(1, 150))


class Bench:
    """A workspace of `rows` random rows for calls of one kernel."""

    def __init__(self, rows, lanes, dtype, seed=0, weights=200):
        self.rng = np.random.default_rng(seed)
        itemsize = np.dtype(dtype).itemsize
        width = -(-lanes * itemsize // LINE) * LINE // itemsize
        memory = np.zeros((rows + wire.PADDING) * width + LINE, dtype)
        skip = -memory.ctypes.data % LINE // itemsize
        self.rows = memory[skip : skip + (rows + wire.PADDING) * width].reshape(-1, width)
        self.rows[:rows] = self.rng.normal(size=(rows, width))
        self.rows[:rows, lanes:] = np.nan  # what stands behind the last lane must not get anywhere
        self.rows[rows + 1] = 1
        self.tile, self.lanes, self.memory = np.zeros(16, dtype), lanes, memory
        space = [self.rows.ctypes.data, width * itemsize, rows, self.tile.ctypes.data, rows, lanes, 0, 0]
        self.space = np.zeros(wire.ALONE + 2, np.int64)
        self.space[: len(space)] = space
        self.theta = self.rng.normal(size=weights).astype(dtype)
        self.grad = self.rng.normal(size=weights).astype(dtype)

    def call(self, name, fields, pool):
        address = loader.kernel_address(name, self.theta.dtype.name)
        line = np.zeros(wire.FIELDS, np.int64)
        line[: 2 + len(fields)] = wire.KERNEL, address, *fields
        arrays = [line, self.space, np.array(pool, np.int64)]
        arrays += [self.theta, self.theta, self.grad]
        loader.callable_at(address)(*(a.ctypes.data for a in arrays), self.lanes, 0)

    def values(self, rows):
        return self.rows[list(rows), : self.lanes].astype(float)


def close(found, expected, dtype):
    return np.linalg.norm(found - expected) <= TOLERANCE[dtype] * max(np.linalg.norm(expected), 1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=60, deadline=None)
@given(shape=shapes, transposed=st.booleans(), bias=st.sampled_from([-1, 150]), adding=st.booleans())
def test_weighted_sums_of_rows(dtype, form, shape, transposed, bias, adding):
    n_to, n_from, lanes = shape
    bench = Bench(n_to + n_from, lanes, dtype, seed=n_to + 10 * n_from)
    order = bench.rng.permutation(n_to + n_from)
    to, source = order[:n_to], order[n_to:]
    steps = (1, n_to) if transposed else (n_from, 1)
    matrix = bench.theta[5 : 5 + n_to * n_from].astype(float)
    matrix = matrix.reshape(n_from, n_to).T if transposed else matrix.reshape(n_to, n_from)
    expected = matrix @ bench.values(source)
    if adding:
        expected += bench.values(to)
    elif bias >= 0:
        expected += bench.theta[bias : bias + n_to, None].astype(float)
    before = bench.values(source)
    # the plain tile adds a bias only where it stores, as the encoder asks
    fields = [0, n_to, n_to, n_from, 5, *steps, -1 if adding else bias, int(adding)]
    bench.call("combine" + form, fields, [*to, *source])
    assert close(bench.values(to), expected, dtype)
    np.testing.assert_array_equal(bench.values(source), before)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=60, deadline=None)
@given(shape=shapes, bias=st.booleans())
def test_gradients_of_weights(dtype, form, shape, bias):
    n_up, n_from, lanes = shape
    bench = Bench(n_up + n_from, lanes, dtype, seed=n_up + 10 * n_from)
    upstream, source = list(range(n_up)), list(range(n_up, n_up + n_from))
    expected = bench.grad.astype(float)
    change = bench.values(upstream) @ bench.values(source).T
    expected[7 : 7 + n_up * n_from] += change.ravel()
    if bias:
        expected[150 : 150 + n_up] += bench.values(upstream).sum(axis=1)
        source.append(len(upstream) + len(source) + 1)  # the row of ones
    fields = [0, n_up, n_up, len(source), 7, n_from, 150 if bias else -1]
    bench.call("outer" + form, fields, [*upstream, *source])
    assert close(bench.grad, expected, dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("columns", [1, 4, 5, 11, 12, 26])
@pytest.mark.parametrize("lanes", [255, 512, 1000, 2100])
def test_gradients_of_weights_in_panels_of_columns(dtype, columns, lanes):
    """Rows so long that a few fill the cache: 1, 2, 4 or more tiles of columns go through together."""
    bench = Bench(5 + columns, lanes, dtype, seed=columns)
    upstream, source = list(range(5)), list(range(5, 5 + columns))
    expected = bench.grad.astype(float)
    expected[7 : 7 + 5 * columns] += (bench.values(upstream) @ bench.values(source).T).ravel()
    expected[150:155] += bench.values(upstream).sum(axis=1)
    bench.call("outer", [0, 5, 5, columns + 1, 7, columns, 150], [*upstream, *source, 5 + columns + 1])
    assert close(bench.grad, expected, dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("lanes", [1, 9, 40, 64, 130])
@pytest.mark.parametrize(("n_to", "n_from"), [(3, 127), (16, 128), (70, 129), (5, 300), (33, 256), (130, 140)])
@pytest.mark.parametrize("way", ["forward", "backward", "adding"])
def test_sums_of_many_rows_go_through_in_panels(way, n_to, n_from, lanes, dtype):
    """Backward, the weights of a panel are copied together first."""
    bench = Bench(n_to + n_from, lanes, dtype, seed=n_to, weights=n_to * n_from + 200)
    to, source = list(range(n_from, n_from + n_to)), list(range(n_from))
    matrix = bench.theta[5 : 5 + n_to * n_from].astype(float)
    matrix = matrix.reshape(n_to, n_from) if way == "forward" else matrix.reshape(n_from, n_to).T
    expected = matrix @ bench.values(source) + (bench.values(to) if way == "adding" else 0)
    if way == "forward":
        expected += bench.theta[6 : 6 + n_to, None].astype(float)
    steps, bias = ((n_from, 1), 6) if way == "forward" else ((1, n_to), -1)
    untouched = bench.theta.copy()
    bench.call("combine", [0, n_to, n_to, n_from, 5, *steps, bias, int(way == "adding")], [*to, *source])
    assert close(bench.values(to), expected, dtype)
    np.testing.assert_array_equal(bench.theta, untouched)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("lane", [0, 20, 69])
def test_what_is_not_finite_comes_through(form, bad, lane):
    """It spoils its own lane of the sums, and the gradients that it takes part in."""
    bench = Bench(7, 70, "float32")
    bench.rows[4, lane] = bad
    bench.call("combine" + form, [0, 3, 3, 4, 5, 4, 1, -1, 0], [0, 1, 2, 3, 4, 5, 6])
    finite = np.isfinite(bench.values(range(3)))
    assert not finite[:, lane].any()
    assert np.delete(finite, lane, axis=1).all()
    bench.rows[:3, :70] = 1
    bench.call("outer" + form, [0, 3, 3, 4, 7, 4, -1], [0, 1, 2, 3, 4, 5, 6])
    finite = np.isfinite(bench.grad)
    assert np.flatnonzero(~finite).tolist() == [8, 12, 16]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("count", range(1, 10))
@pytest.mark.parametrize("kept", ["parameters", "numbers"])
def test_a_weighted_sum_reads_no_weight_behind_its_own(kept, count, dtype):
    """Four rows go through together: those that are missing are zeros, and zero times a NaN would be one."""
    bench = Bench(1 + count, 20, dtype, seed=count)
    own = np.arange(40, 40 + count)
    bench.theta[[40 + count, 199]] = np.nan
    source, weights = list(range(1, 1 + count)), [*own, 199]
    expected = bench.theta[3].astype(float) + bench.theta[own].astype(float) @ bench.values(source)
    pool = source + weights if kept == "parameters" else source
    # the numbers of this program are those of theta
    bench.call("weighted", [0, 1, 0, count, count if kept == "parameters" else -1, 40, -1, 3], pool)
    assert close(bench.values([0])[0], expected, dtype)


def test_a_processor_without_vectors_gets_the_plain_tiles(monkeypatch):
    monkeypatch.setenv("NUMBA_CPU_FEATURES", "+sse2")
    capability._found.cache_clear()
    try:
        assert capability.vector_bytes() == 0
        assert "plain" in capability.describe()
        monkeypatch.setenv("NUMBA_CPU_FEATURES", "+avx2,+fma")
        capability._found.cache_clear()
        assert (capability.vector_bytes(), capability.wide_vectors()) == (32, 2)
    finally:
        monkeypatch.undo()
        capability._found.cache_clear()
