"""How many lanes go through a program together: the rule, and large programs in narrow blocks against other engines."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.engine.arrays.trainer import NumpyTrainer
from scalarviz.engine.cpu import team
from scalarviz.engine.cpu.trainer import NumbaTrainer
from scalarviz.engine.problem import CACHE_BYTES, default_block

TOLERANCE = {"float64": 1e-12, "float32": 2e-5}


def program(rows, weights=0):
    return SimpleNamespace(n_rows=rows, n_theta=weights)


@pytest.mark.parametrize(
    ("rows", "float32", "float64"),
    [
        (64, 1024, 512), (128, 512, 256), (129, 256, 256), (512, 256, 256), (513, 256, 128), (2048, 256, 128),
        (2049, 128, 64), (8192, 128, 64), (8193, 64, 32), (22_000, 64, 32), (32_769, 32, 32), (10**7, 32, 32),
    ],
)  # fmt: skip
def test_the_more_rows_the_fewer_lanes(rows, float32, float64):
    assert default_block(program(rows), 4) == float32
    assert default_block(program(rows), 8) == float64


@given(rows=st.integers(1, 10**6), weights=st.integers(0, 10**8), itemsize=st.sampled_from([4, 8]))
def test_blocks_are_powers_of_two_and_never_grow_with_the_rows(rows, weights, itemsize):
    found = default_block(program(rows, weights), itemsize)
    assert found in (1024, 512, 256, 128, 64, 32)
    assert default_block(program(rows + 1), itemsize) <= default_block(program(rows), itemsize)
    assert found <= 256 or 2 * rows * found * itemsize <= CACHE_BYTES
    assert default_block(program(rows, weights), 8) <= default_block(program(rows, weights), 4)


def test_wide_layers_keep_their_lanes():
    """Their gradients, more than the rows, go through memory once a block."""
    assert default_block(program(5000, 64 * 5000), 4) == 256
    assert default_block(program(5000, 64 * 5000 - 1), 4) == 128


@pytest.mark.parametrize(("batch", "groups"), [(256, 0), (512, 2), (1024, 2), (1536, 3), (4096, 8), (10**6, 8)])
def test_many_weights_have_few_sums_of_gradients(batch, groups):
    """Each is cleared and added to another one: of many weights that takes as long as some hundred samples."""
    net = nn.Linear(300, 300)
    plan = sv.tape.lower(sv.record(net, 300, 300, loss=nn.MSELoss()))
    assert plan.body.n_theta >= team.MANY_WEIGHTS
    assert team.groups_of(plan.body, batch, 256) == groups


def pictures():
    """22,000 rows: two convolutions, pools and a layer on 28 x 28 numbers."""
    return nn.Sequential(
        nn.Unflatten((1, 28, 28)), nn.Conv2d(1, 8, 3, padding=1, seed=0), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1, seed=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(784, 10, seed=2),
    )  # fmt: skip


class Typed(nn.Module):
    """20,000 rows typed with operators: each number of a layer is a formula of those below."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.scale, self.shift = (nn.Parameter(rng.normal(0, 0.5, (60, 40)).tolist()) for _ in range(2))
        self.kinds = rng.integers(0, 4, (60, 40)).tolist()

    def forward(self, x):
        for kinds, scale, shift in zip(self.kinds, self.scale, self.shift, strict=True):
            around = zip(kinds, scale, shift, x, [*x[1:], x[0]], [*x[7:], *x[:7]], strict=True)
            x = [self.formula(*of) for of in around]
        return x

    @staticmethod
    def formula(kind, a, b, x, y, z):
        if kind == 0:
            return (a * x + b * y).tanh() + 0.5 * z
        if kind == 1:
            return ((x - b) * (y + a)).sin() * 0.7 + z * 0.3
        if kind == 2:
            return (a * x * y + b).sigmoid() - (z * z + 1.0).sqrt() * 0.1
        return sv.where(x > y, a * (x - y), b * (y - x) + z * 0.1).relu() * 0.5 + x * 0.5


@pytest.fixture(scope="module", params=["float32", "float64"])
def large(request):
    """Networks of more than 20,000 rows, bound to 75 samples; each is made once a dtype, which takes seconds."""
    runs = {}

    def bound(kind):
        if kind not in runs:
            net, n_in, n_out = (pictures(), 784, 10) if kind == "pictures" else (Typed(5), 40, 40)
            rng = np.random.default_rng(3)
            data = rng.normal(size=(75, n_in)), rng.normal(size=(75, n_out))
            optimiser = optim.SGD(net.parameters(), lr=0.1)
            runs[kind] = Run(net, nn.MSELoss(), optimiser, data, engine="numba", dtype=request.param)
        return runs[kind].problem

    yield bound
    for run in runs.values():
        run.close()


def gradient_of(trainer):
    return np.append(trainer.gradient(0), trainer.problem.store.grad.astype(float))


@pytest.mark.parametrize("kind", ["pictures", pytest.param("typed", marks=pytest.mark.slow)])
def test_large_programs_agree_with_numpy_at_every_size_of_blocks(kind, large):
    problem = large(kind)
    dtype = problem.store.value.dtype.name
    assert problem.plan.body.n_rows > 20_000
    assert problem.block == {"float32": 64, "float64": 32}[dtype]
    expected = gradient_of(NumpyTrainer(problem))
    for block in (64, 32, 256):
        found = gradient_of(NumbaTrainer(replace(problem, block=block)))
        assert np.linalg.norm(found - expected) <= TOLERANCE[dtype] * np.linalg.norm(expected), block


def test_narrow_blocks_have_the_same_bits_with_one_thread_and_two(large, monkeypatch):
    monkeypatch.setattr(team, "processors", lambda: 2)
    problem = large("pictures")
    trainers = [NumbaTrainer(replace(problem, threads=threads)) for threads in (1, 2)]
    assert [trainer.threads for trainer in trainers] == [1, 2]
    assert len({gradient_of(trainer).tobytes() for trainer in trainers}) == 1


@pytest.mark.slow
def test_narrow_blocks_have_the_gradients_of_pytorch(large):
    torch = pytest.importorskip("torch", reason="no PyTorch (extra oracle)")
    problem = large("pictures")
    dtype = problem.store.value.dtype.name
    theirs = torch.nn.Sequential(
        torch.nn.Unflatten(1, (1, 28, 28)), torch.nn.Conv2d(1, 8, 3, padding=1), torch.nn.ReLU(),
        torch.nn.MaxPool2d(2), torch.nn.Conv2d(8, 16, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Flatten(), torch.nn.Linear(784, 10),
    ).to(getattr(torch, dtype))  # fmt: skip
    torch.nn.utils.vector_to_parameters(torch.tensor(problem.store.value), theirs.parameters())
    numbers = torch.tensor(problem.data[:].T)
    loss = torch.nn.functional.mse_loss(theirs(numbers[:, :784]), numbers[:, 784:])
    loss.backward()
    expected = np.concatenate([[loss.item()], *(p.grad.numpy().ravel() for p in theirs.parameters())])
    found = gradient_of(NumbaTrainer(problem))
    assert np.linalg.norm(found - expected) <= TOLERANCE[dtype] * np.linalg.norm(expected)
