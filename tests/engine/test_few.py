"""Layers of a batch that fits one vector: tiles against NumPy, networks against the objects."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalarviz import Run, nn, optim
from scalarviz.engine.cpu import wire
from scalarviz.engine.cpu.cache import loader
from scalarviz.engine.cpu.encode import few as encode_few
from scalarviz.engine.cpu.vector import capability

pytestmark = pytest.mark.skipif(capability.vector_bytes() == 0, reason="this processor has no vectors of its own")
TOLERANCE = {"float64": 1e-14, "float32": 1e-6}
ROWS = 12
sides, share = st.integers(1, 4), st.floats(0.01, 1)


def lanes_of(dtype):
    return capability.vector_bytes() // np.dtype(dtype).itemsize


class Bench:
    """Rows of one vector; behind the last lane stands NaN."""

    def __init__(self, lanes, dtype):
        width = 64 // np.dtype(dtype).itemsize
        rng = np.random.default_rng(lanes)
        self.rows = rng.normal(size=(ROWS, width)).astype(dtype)
        self.rows[:, lanes:] = np.nan
        self.theta, self.grad = rng.normal(size=(2, 60)).astype(dtype)
        self.lanes = lanes
        entries = np.zeros(28, np.int64)
        entries[[wire.BASE, wire.STRIDE]] = self.rows.ctypes.data, self.rows.strides[0]
        self.space = entries

    def call(self, name, fields):
        address = loader.kernel_address(name, self.rows.dtype.name)
        code = np.array([wire.KERNEL, address, *fields], np.int64)
        arrays = [code, self.space, np.zeros(1, np.int64), self.theta, self.theta, self.grad]
        loader.callable_at(address)(*(a.ctypes.data for a in arrays), self.lanes, 0)


def close(found, expected, dtype):
    return np.linalg.norm(found - expected) <= TOLERANCE[dtype] * np.linalg.norm(expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@settings(max_examples=60, deadline=None)
@given(rows=sides, columns=sides, share=share, bias=st.booleans(), adding=st.booleans(), back=st.booleans())
def test_sums(dtype, rows, columns, share, bias, adding, back):
    bench = Bench(max(1, int(share * lanes_of(dtype))), dtype)
    to_step, from_step = (1, 7) if back else (7, 1)
    y, x = bench.rows[8 : 8 + rows, : bench.lanes], bench.rows[2 : 2 + columns, : bench.lanes].astype(float)
    weights = bench.theta[5 + to_step * np.arange(rows)[:, None] + from_step * np.arange(columns)].astype(float)
    expected = weights @ x + (y.astype(float) if adding else bench.theta[40 : 40 + rows, None] if bias else 0.0)
    untouched = bench.rows[:8].copy()
    bench.call("combine_few", [8, rows, 2, columns, 5, to_step, from_step, 40 if bias else -1, int(adding)])
    assert close(y, expected, dtype)
    np.testing.assert_array_equal(bench.rows[:8], untouched)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@settings(max_examples=60, deadline=None)
@given(rows=sides, columns=sides, share=share, bias=st.booleans())
def test_gradients_of_weights(dtype, rows, columns, share, bias):
    bench = Bench(max(1, int(share * lanes_of(dtype))), dtype)
    g, x = (bench.rows[first : first + n, : bench.lanes].astype(float) for first, n in ((8, rows), (2, columns)))
    expected = bench.grad.astype(float)
    expected[5 + 6 * np.arange(rows)[:, None] + np.arange(columns)] += g @ x.T
    if bias:
        expected[40 : 40 + rows] += g.sum(axis=1)
    bench.call("outer_few", [8, rows, 2, columns, 5, 6, 40 if bias else -1])
    assert close(bench.grad, expected, dtype)


@pytest.mark.parametrize("lanes", [3, 7])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_comes_through(lanes, bad):
    bench = Bench(lanes, "float32")
    bench.rows[2, lanes - 1] = bad
    bench.call("combine_few", [8, 2, 2, 2, 0, 2, 1, -1, 0])
    bench.call("outer_few", [6, 2, 2, 2, 0, 2, -1])
    assert not np.isfinite(bench.rows[8:10, lanes - 1]).any()
    assert np.isfinite(bench.rows[8:10, : lanes - 1]).all()
    assert np.isfinite(bench.grad).tolist() == [k not in (0, 2) for k in range(60)]


def test_pieces_are_up_to_four_neighbours():
    assert encode_few.pieces(np.array([3, 4, 5, 6, 7, 9, 10, 2])) == [(0, 4), (4, 1), (5, 2), (7, 1)]


def network(sizes, wiring):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = [nn.Linear(n, m) for n, m in pairwise(sizes)]
            for k, layer in enumerate(self.layers):
                setattr(self, f"layer{k}", layer)

        def forward(self, x):
            for layer in self.layers:
                h = [v.tanh() for v in layer(x)]
                if wiring == "again":  # who reads the operands of a layer again has written some of their adjoints
                    h = [v + u for v, u in zip(h, x, strict=False)] + h[len(x) :]
                # neighbours are torn apart: the rows of a layer are then no longer one piece
                x = [*h[1:], h[0]] if wiring == "apart" else h
            return x

    return Net()


@settings(max_examples=40, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 9), min_size=2, max_size=4),
    samples=st.integers(2, 8),
    wiring=st.sampled_from(["plain", "apart", "again"]),
    dtype=st.sampled_from(["float64", "float32"]),
)
def test_networks_agree_with_the_objects(sizes, samples, wiring, dtype):
    rng = np.random.default_rng(len(sizes) + samples)
    x, y = rng.normal(size=(samples, sizes[0])), rng.normal(size=(samples, sizes[-1]))
    found = {}
    for engine in ("objects", "numba"):
        nn.init.manual_seed(5)
        net = network(sizes, wiring)
        run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (x, y), engine=engine, dtype=dtype)
        run.step()
        found[engine] = np.concatenate([p.grad.ravel() for p in net.parameters()]).astype(float)
        run.close()
    tolerance = 1e-12 if dtype == "float64" else 1e-5
    scale = np.linalg.norm(found["objects"])
    assert np.linalg.norm(found["numba"] - found["objects"]) <= tolerance * scale
