"""Updates as one kernel: which ones are known, and that they say the same as their programs, number for number."""

from __future__ import annotations

import numpy as np
import pytest

from scalarviz import Run, nn, optim
from scalarviz.engine.cpu import NumbaTrainer, wire
from scalarviz.engine.cpu.source import updates

KNOWN = {
    "update_sgd": lambda p: optim.SGD(p, lr=0.3),
    "update_momentum": lambda p: optim.SGD(p, lr=0.3, momentum=0.8),
    "update_adam": lambda p: optim.Adam(p, lr=0.01, betas=(0.8, 0.95), eps=1e-5),
    "update_adamw": lambda p: optim.AdamW(p, lr=0.01, weight_decay=0.1),
}
OTHERS = [
    lambda p: optim.SGD(p, lr=0.3, momentum=0.8, nesterov=True),
    lambda p: optim.SGD(p, lr=0.3, weight_decay=0.1),
    lambda p: optim.Adam(p, lr=0.01, weight_decay=0.1),
]


class Halving(optim.Optimizer):
    """An optimiser of a user."""

    def update(self, w, g, state, lr, t):
        return w * 0.5 - lr * g, {}


def start(make, dtype="float32", engine="numba"):
    nn.init.manual_seed(1)
    net = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 11))
    rng = np.random.default_rng(0)
    data = rng.normal(size=(40, 5)), rng.normal(size=(40, 11))
    run = Run(net, nn.MSELoss(), make(net.parameters()), data, batch_size=8, engine=engine, dtype=dtype, seed=2)
    return net, run


def numbers(run):
    return [run.problem.store.value, *run.problem.state]


def train(make, dtype, by_rows):
    _, run = start(make, dtype)
    trainer = run._training.trainer
    assert isinstance(trainer, NumbaTrainer)
    machine = trainer._update.machine
    assert machine[wire.FUSED] != 0
    if by_rows:
        machine[wire.FUSED] = 0
    run.step(9)
    return np.concatenate(numbers(run))


@pytest.mark.parametrize("name", KNOWN)
def test_the_optimisers_are_recognised(name):
    _, run = start(KNOWN[name])
    assert updates.name_of(run.problem.update.body) == name


@pytest.mark.parametrize("make", [*OTHERS, lambda p: Halving(p, lr=0.1)])
def test_any_other_runs_by_rows(make):
    _, run = start(make)
    assert updates.name_of(run.problem.update.body) == ""
    before = run.problem.store.value.copy()
    run.step(2)
    assert (run.problem.store.value != before).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", KNOWN)
def test_the_bits_are_those_of_the_rows(name, dtype):
    np.testing.assert_array_equal(train(KNOWN[name], dtype, False), train(KNOWN[name], dtype, True))


@pytest.mark.parametrize("name", KNOWN)
def test_a_frozen_weight_stands_still_and_the_others_move_as_by_rows(name):
    net, run = start(KNOWN[name])
    net[0].weight[2][1].frozen = True
    before = net[0].weight.data.copy()
    run.step(9)
    moved = net[0].weight.data != before
    assert moved.sum() == moved.size - 1
    assert not moved[2, 1]


@pytest.mark.parametrize("name", KNOWN)
def test_ten_steps_agree_with_the_objects(name):
    (_, found), (_, wanted) = start(KNOWN[name], "float64"), start(KNOWN[name], "float64", "objects")
    for run in (found, wanted):
        run.step(10)
    for a, b in zip(numbers(found), numbers(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_a_gradient_that_is_not_finite_reaches_its_weight():
    net, run = start(KNOWN["update_adam"])
    run.step(1)
    net[2].bias[3].data = np.inf
    run._training.trainer.train(1, 1, 0.01)
    assert np.isnan(net[2].bias[3].data)
