"""Layers of few samples, computed along the weights: kernels against NumPy, networks against NumPy and PyTorch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scalarviz import Run, nn, optim
from scalarviz.engine.arrays.trainer import NumpyTrainer
from scalarviz.engine.cpu import wire
from scalarviz.engine.cpu.cache import loader
from scalarviz.engine.cpu.machine import Loaded
from scalarviz.engine.cpu.trainer import NumbaTrainer
from scalarviz.engine.cpu.vector import capability
from scalarviz.engine.data import Data

pytestmark = pytest.mark.skipif(capability.vector_bytes() == 0, reason="this processor has no vectors of its own")
TOLERANCE = {"float64": 1e-13, "float32": 5e-6}
WHOLE = {"float64": 1e-12, "float32": 2e-5}


class Bench:
    """Rows of whole cache lines; behind the last sample stands NaN."""

    def __init__(self, rows, samples, weights, dtype):
        rng = np.random.default_rng(rows + samples)
        line = 64 // np.dtype(dtype).itemsize
        self.samples, width = samples, -(-samples // line) * line
        self.rows = rng.normal(size=(rows, width)).astype(dtype)
        self.rows[:, samples:] = np.nan
        self.theta, self.grad = rng.normal(size=(2, weights)).astype(dtype)
        self.order = rng.permutation(rows).tolist()
        self.space = np.zeros(wire.ALONE + 2, np.int64)
        self.space[[wire.BASE, wire.STRIDE]] = self.rows.ctypes.data, self.rows.strides[0]

    def call(self, name, fields, pool):
        address = loader.kernel_address(name, self.rows.dtype.name)
        line = np.zeros(wire.FIELDS, np.int64)
        line[: 2 + len(fields)] = wire.KERNEL, address, *fields
        arrays = [line, self.space, np.array(pool, np.int64)]
        arrays += [self.theta, self.theta, self.grad]
        loader.callable_at(address)(*(a.ctypes.data for a in arrays), self.samples, 0)

    def values(self, rows):
        return self.rows[list(rows), : self.samples].astype(float)


def close(found, expected, dtype):
    return np.linalg.norm(found - expected) <= TOLERANCE[dtype] * max(np.linalg.norm(expected), 1)


sides = st.integers(1, 70)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@settings(max_examples=50, deadline=None)
@given(
    n_to=sides, n_from=sides, samples=st.integers(2, wire.PASS), back=st.booleans(), adding=st.booleans(),
    bias=st.booleans(),
)  # fmt: skip
@example(n_to=9, n_from=256, samples=8, back=False, adding=False, bias=True)
@example(n_to=9, n_from=259, samples=3, back=False, adding=True, bias=False)
@example(n_to=6, n_from=600, samples=6, back=True, adding=False, bias=False)
@example(n_to=600, n_from=7, samples=4, back=True, adding=True, bias=False)
@example(n_to=517, n_from=513, samples=5, back=True, adding=False, bias=False)
def test_sums(dtype, n_to, n_from, samples, back, adding, bias):
    bench = Bench(n_to + n_from, samples, n_to * n_from + 80, dtype)
    to, source = bench.order[:n_to], bench.order[n_to:]
    matrix = bench.theta[5 : 5 + n_to * n_from].astype(float)
    matrix = matrix.reshape(n_from, n_to).T if back else matrix.reshape(n_to, n_from)
    bias = bias and n_to <= 70
    start = bench.values(to) if adding else bench.theta[3 : 3 + n_to, None].astype(float) if bias else 0.0
    expected, before = matrix @ bench.values(source) + start, bench.values(source)
    steps = (1, n_to) if back else (n_from, 1)
    bench.call("combine_several", [0, n_to, n_to, n_from, 5, *steps, 3 if bias else -1, int(adding)], [*to, *source])
    assert close(bench.values(to), expected, dtype)
    np.testing.assert_array_equal(bench.values(source), before)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@settings(max_examples=50, deadline=None)
@given(n_up=sides, n_from=sides, samples=st.integers(2, wire.SEVERAL), bias=st.booleans())
@example(n_up=5, n_from=256, samples=16, bias=True)
@example(n_up=5, n_from=700, samples=9, bias=True)
@example(n_up=4, n_from=257, samples=2, bias=False)
def test_gradients_of_weights(dtype, n_up, n_from, samples, bias):
    bench = Bench(n_up + n_from, samples, n_up * n_from + 80, dtype)
    upstream, source = bench.order[:n_up], bench.order[n_up:]
    expected = bench.grad.astype(float)
    first = len(expected) - n_up * n_from
    expected[first:] += (bench.values(upstream) @ bench.values(source).T).ravel()
    if bias:
        expected[2 : 2 + n_up] += bench.values(upstream).sum(axis=1)
    bench.call("outer_several", [0, n_up, n_up, n_from, first, n_from, 2 if bias else -1], [*upstream, *source])
    assert close(bench.grad, expected, dtype)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("samples", [3, 8])
@pytest.mark.parametrize("place", [0, 17, 39])
def test_what_is_not_finite_comes_through(place, samples, bad):
    """It spoils its own sample of the sums, and the gradients that it takes part in."""
    bench = Bench(50, samples, 600, "float32")
    bench.rows[10 + place, samples - 1] = bad
    bench.call("combine_several", [0, 10, 10, 40, 5, 40, 1, -1, 0], range(50))
    assert not np.isfinite(bench.rows[:10, samples - 1]).any()
    assert np.isfinite(bench.rows[:10, : samples - 1]).all()
    bench.rows[:10, :samples] = 1
    bench.call("outer_several", [0, 10, 10, 40, 5, 40, -1], range(50))
    spoiled = [5 + 40 * i + place for i in range(10)]
    assert np.flatnonzero(~np.isfinite(bench.grad)).tolist() == spoiled


def network(width, seed=0):
    class Net(nn.Module):
        """A layer whose operands are read again, one that is torn apart, one that is used twice."""

        def __init__(self):
            self.first, self.second = nn.Linear(width, width, seed=seed), nn.Linear(width, 70, bias=False, seed=1)
            self.twice = nn.Linear(70, 70, seed=2)

        def forward(self, x):
            h = [a.tanh() + b for a, b in zip(self.first(x), x, strict=True)]
            h = self.second([*h[1:], h[0]])
            return self.twice([v.tanh() for v in self.twice(h)])

    return Net()


@pytest.fixture(scope="module", params=["float32", "float64"])
def problem(request):
    rng = np.random.default_rng(0)
    net = network(130)
    data = rng.normal(size=(16, 130)), rng.normal(size=(16, 70))
    optimiser = optim.SGD(net.parameters(), lr=0.1)
    with Run(net, nn.MSELoss(), optimiser, data, engine="numba", dtype=request.param) as run:
        yield run.problem


def gradient_of(problem, trainer, batch):
    few = replace(problem, batch=batch, data=Data(problem.data.dtype, problem.data[:, :batch]))
    loss = trainer(few).gradient(0)
    return np.append(loss, problem.store.grad.astype(float))


def near(found, expected, problem):
    return np.linalg.norm(found - expected) <= WHOLE[problem.store.value.dtype.name] * np.linalg.norm(expected)


@pytest.mark.parametrize("batch", [*range(2, 10), 12, 16])
def test_networks_agree_with_numpy(batch, problem):
    expected = gradient_of(problem, NumpyTrainer, batch)
    assert near(gradient_of(problem, NumbaTrainer, batch), expected, problem)


@pytest.mark.slow
@pytest.mark.parametrize("batch", [2, 4, 5, 8, 16])
def test_networks_agree_with_pytorch(batch, problem):
    torch = pytest.importorskip("torch", reason="no PyTorch (extra oracle)")
    values = torch.tensor(problem.store.value.astype(float))
    shapes = [(130, 130), (130,), (70, 130), (70, 70), (70,)]
    parts = values.split([int(np.prod(shape)) for shape in shapes])
    w1, b1, w2, w3, b3 = parameters = [
        part.reshape(shape).requires_grad_() for part, shape in zip(parts, shapes, strict=True)
    ]
    numbers = torch.tensor(problem.data[:, :batch].T.astype(float))
    x = numbers[:, :130]
    h = torch.roll(torch.tanh(x @ w1.T + b1) + x, -1, dims=1) @ w2.T
    loss = torch.nn.functional.mse_loss(torch.tanh(h @ w3.T + b3) @ w3.T + b3, numbers[:, 130:])
    gradients = torch.autograd.grad(loss, parameters)
    expected = np.concatenate([[loss.item()], *(g.numpy().ravel() for g in gradients)])
    assert near(gradient_of(problem, NumbaTrainer, batch), expected, problem)


@pytest.mark.parametrize(
    ("samples", "sums", "gradients"), [(2, 7, 4), (4, 7, 4), (5, 1, 4), (8, 1, 4), (9, 0, 4), (16, 0, 4), (17, 0, 0)]
)
def test_they_are_used_where_they_pay(samples, sums, gradients, problem):
    """Four layers forward and three backward, one of whose 130 operands stands alone: few weights."""
    dtype = problem.store.value.dtype.name
    machine = Loaded(problem.plan.body, dtype, samples, (problem.plan.body.loss,))
    lines = np.concatenate(machine._lists[:2])
    used = lines[lines[:, 0] == wire.KERNEL, 1].tolist()
    found = [used.count(loader.kernel_address(name, dtype)) for name in ("combine_several", "outer_several")]
    assert found == [sums, gradients]
