"""Parameter groups of the compiled engine, stretch by stretch: what the rules of all weights together would make."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.engine.cpu import pieces
from scalarviz.engine.cpu.wire import PIECE, PIECES
from scalarviz.optim import lr_scheduler

X = np.random.default_rng(0).random((8, 6))
KINDS = {
    "rates": (optim.Adam, {"lr": 0.05}),
    "rules": (optim.AdamW, {"weight_decay": 0.5, "betas": (0.5, 0.8), "amsgrad": True}),
    "states": (optim.SGD, {"momentum": 0.5}),
    "mean": (optim.RMSprop, {"centered": True, "lr": 0.03}),
}


def make(kind, dtype, scattered=False, engine="numba", cycle=False, frozen=False, **more):
    net = nn.Sequential(nn.Linear(6, 8, seed=1), nn.Tanh(), nn.Linear(8, 6, seed=2))
    cls, numbers = KINDS[kind]
    first, second = net[0].parameters(), net[2].parameters()
    if scattered:
        every = [w for row in net[0].weight for w in row]
        first, second = every[::2], [*every[1::2], net[0].bias, *second]
    optimizer = cls([{"params": first}, {"params": second, **numbers}], lr=0.02)
    if cycle:
        lr_scheduler.OneCycleLR(optimizer, 0.1, 30)
    if frozen:
        net[2].weight[1].frozen = True
    return sv.Run(net, nn.MSELoss(), optimizer, (X, X), engine=engine, dtype=dtype, batch_size=4, **more)


def stretches(run):
    return int(run._training.trainer._update.machine[PIECES + 1]) // PIECE


@pytest.mark.parametrize("more", [{}, {"clip_norm": 0.1, "l2": 0.05}, {"frozen": True}, {"clip_value": 0.01}])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_bits_are_those_of_all_rules_for_every_weight(kind, dtype, more, monkeypatch):
    runs = [make(kind, dtype, **more)]
    monkeypatch.setattr(pieces, "FEW", 0)
    runs.append(make(kind, dtype, **more))
    assert [stretches(run) for run in runs] == [2, 0]
    for run in runs:
        run.step(7), run.step(1), run.step(20)
    assert runs[0].values.tobytes() == runs[1].values.tobytes()
    for one, other in zip(runs[0].problem.state, runs[1].problem.state, strict=True):
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("kind", ["rates", "states"])
def test_weights_that_are_scattered_are_updated_together_and_equal_numpys(kind):
    runs = [make(kind, "float64", True, engine) for engine in ("numba", "numpy")]
    assert stretches(runs[0]) == 0
    for run in runs:
        run.step(12)
    np.testing.assert_allclose(runs[0].values, runs[1].values, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kind", ["rates", "states"])
def test_momenta_that_a_schedule_moves_are_those_of_each_group(kind):
    runs = [make(kind, "float64", engine=engine, cycle=True) for engine in ("numba", "numpy")]
    for run in runs:
        run.step(4)
        run.set_numbers(run.model[0].bias, lr=0.07)
        run.step(9)
    assert stretches(runs[0]) == 3
    np.testing.assert_allclose(runs[0].values, runs[1].values, rtol=1e-10, atol=1e-12)


def test_going_back_before_the_groups_and_on_again_has_the_same_bits():
    run = make("rates", "float32")
    run.step(3)
    run.change(optimizer=optim.Adam(run.model.parameters(), lr=0.02))
    run.step(2)
    run.set_numbers(run.model[0].weight, lr=0.05)
    run.step(5)
    bits = run.values.tobytes()
    run.to(1), run.to(4), run.to(10)
    assert run.values.tobytes() == bits
    run.back(3), run.step(3)
    assert run.values.tobytes() == bits
