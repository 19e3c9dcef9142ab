"""Gradients that go to the optimiser's update at once: the same numbers as through memory, however calls are cut."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from scalarviz import Run, nn, optim
from scalarviz.engine.cpu import wire
from scalarviz.engine.cpu.encode.alone import LEAST
from scalarviz.engine.cpu.machine import Loaded
from scalarviz.engine.cpu.trainer import NumbaTrainer
from scalarviz.engine.cpu.vector import capability

pytestmark = pytest.mark.skipif(capability.vector_bytes() == 0, reason="this processor has no vectors of its own")

OPTIMISERS = {
    "SGD": lambda p: optim.SGD(p, lr=0.05),
    "momentum": lambda p: optim.SGD(p, lr=0.05, momentum=0.9),
    "Adam": lambda p: optim.Adam(p, lr=0.01),
    "AdamW": lambda p: optim.AdamW(p, lr=0.01, weight_decay=0.1),
    "decay": lambda p: optim.SGD(p, lr=0.05, weight_decay=0.1),
}
NEAR = {"float32": 2e-4, "float64": 1e-10}


class Net(nn.Module):
    """A layer of its own, one that is used twice, one whose operands come in no order and that has no bias.

    The weights of one more have no part in the loss.
    """

    def __init__(self, width, outputs):
        self.own, self.twice = nn.Linear(width, 66, seed=1), nn.Linear(66, 66, seed=2)
        self.last, self.unused = nn.Linear(66, outputs, bias=False, seed=3), nn.Linear(3, 2, seed=4)

    def forward(self, x):
        h = [v.tanh() for v in self.twice([v.tanh() for v in self.own(x)])]
        return self.last([v.tanh() for v in self.twice(h)][::-1])


def trained(cuts, batch, optimiser, dtype="float64", engine="numba", width=67, outputs=63, before=None, **options):
    """Weights, gradient, weights before the last step, state and losses after calls of so many steps."""
    rng = np.random.default_rng(0)
    net = Net(width, outputs)
    data = rng.normal(size=(batch, width)), rng.normal(size=(batch, outputs))
    with Run(net, nn.MSELoss(), OPTIMISERS[optimiser](net.parameters()), data, engine=engine, dtype=dtype,
             **options) as run:  # fmt: skip
        if before is not None:
            before(net)
        for cut in cuts:
            run.step(cut)
        problem = run.problem
        found = (problem.store.value, problem.store.grad, problem.previous, *problem.state, run.history.loss)
        return [np.array(part) for part in found]


def same(left, right):
    for a, b in zip(left, right, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("batch", [1, 5, 40])
@pytest.mark.parametrize("optimiser", OPTIMISERS)
@pytest.mark.parametrize("dtype", NEAR)
def test_bits_do_not_depend_on_calls(dtype, optimiser, batch):
    """A call of one step leaves its gradient in memory; of a longer one only the last step does."""
    together = trained([6], batch, optimiser, dtype)
    same(together, trained([1] * 6, batch, optimiser, dtype))
    same(together, trained([2, 4], batch, optimiser, dtype))


@pytest.mark.parametrize("batch", [1, 13, 40])
@pytest.mark.parametrize("optimiser", OPTIMISERS)
@pytest.mark.parametrize("dtype", NEAR)
def test_numpy_finds_the_same(dtype, optimiser, batch):
    found, expected = (trained([5], batch, optimiser, dtype, engine=engine) for engine in ("numba", "numpy"))
    for a, b in zip(found, expected, strict=True):
        assert np.linalg.norm(a - b) <= NEAR[dtype] * np.linalg.norm(b)


@pytest.mark.parametrize(
    "options",
    [{"clip_norm": 0.1}, {"l2": 0.01}, {"before": lambda net: setattr(net.own.weight[3], "frozen", True)}],
    ids=["clipped", "penalised", "frozen"],
)  # fmt: skip
@pytest.mark.parametrize("batch", [1, 4])
def test_where_somebody_looks_in_between(batch, options):
    """What needs the whole gradient, or leaves weights out, gets it: numbers of NumPy, and bits of single steps."""
    found = trained([5], batch, "Adam", **options)
    same(found, trained([1] * 5, batch, "Adam", **options))
    for a, b in zip(found, trained([5], batch, "Adam", engine="numpy", **options), strict=True):
        assert np.linalg.norm(a - b) <= NEAR["float64"] * np.linalg.norm(b)


@pytest.mark.parametrize("batch", [1, 6, 20])
def test_layers_of_many_operands(batch):
    """More than wait together: rows of weights are handed over in pieces."""
    width = wire.ROOM_COLUMNS + 37
    found, expected = (trained([3], batch, "SGD", engine=engine, width=width) for engine in ("numba", "numpy"))
    for a, b in zip(found, expected, strict=True):
        assert np.linalg.norm(a - b) <= NEAR["float64"] * np.linalg.norm(b)
    same(found, trained([1] * 3, batch, "SGD", width=width))


def test_blocks_share_a_sum():
    """A batch of more than a block adds up: nothing is whole before the last block."""
    expected = trained([3], 40, "SGD", engine="numpy")[0]
    for calls in ([3], [1, 1, 1]):
        rng, net = np.random.default_rng(0), Net(67, 63)
        data = rng.normal(size=(40, 67)), rng.normal(size=(40, 63))
        with Run(net, nn.MSELoss(), OPTIMISERS["SGD"](net.parameters()), data, engine="numpy", dtype="float64") as run:
            everything = np.ones_like(run.problem.trained)
            trainer, done = NumbaTrainer(replace(run.problem, block=16, trained=everything)), 0
            for steps in calls:
                trainer.train(done, steps, 0.05)
                done += steps
            assert np.linalg.norm(run.problem.store.value - expected) <= NEAR["float64"] * np.linalg.norm(expected)


def stretches(net, width, block=4):
    data = np.zeros((block, width)), np.zeros((block, 63))
    with Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data, engine="numba") as run:
        body = run.problem.plan.body
    return Loaded(body, "float64", block, (body.loss,))._lists[-1].tolist()


def test_which_weights_are_one_instructions_alone():
    """Biases, and the layer that is used twice, are not; nor layers of few weights."""
    own, own_bias, twice, last = 67 * 66, 66, 66 * 67, 66 * 63
    assert last >= LEAST
    assert stretches(Net(67, 63), 67) == [0, own, own + own_bias + twice, own + own_bias + twice + last]
    assert stretches(Net(5, 63), 5) == [5 * 66 + own_bias + twice, 5 * 66 + own_bias + twice + last]
