"""The NumPy tier takes as many samples together as fit its workspace: small nets all of a block, pictures fewer."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.engine.arrays import plan as model
from scalarviz.engine.arrays.plan import LANES, lanes_in_workspace

RANDOM = np.random.default_rng(0)


def pictures(samples, side=8, dtype="float64"):
    net = nn.Sequential(
        nn.Conv2d(1, 4, 3, seed=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear((side // 2 - 1) ** 2 * 4, 3)
    )
    net.initialize(seed=0)
    x = np.random.default_rng(1).random((samples, 1, side, side))
    y = np.arange(samples) % 3
    optimizer = optim.SGD(net.parameters(), lr=0.1)
    return sv.Run(net, nn.CrossEntropyLoss(), optimizer, (x, y), engine="numpy", dtype=dtype)


def test_a_small_net_keeps_its_block():
    net = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 3), nn.Sigmoid())
    data = np.zeros((5000, 3)), np.zeros((5000, 3))
    run = sv.Run(net, nn.MSELoss(), optim.Adam(net.parameters()), data, engine="numpy")
    assert run._training.trainer.lanes == LANES


@pytest.mark.parametrize(
    ("lane_bytes", "lanes"), [(1, LANES), (1 << 14, LANES), (1 << 15, 2048), (200_000, 320), (10**7, 6), (1 << 40, 1)]
)
def test_lanes_fill_the_workspace_and_no_more(lane_bytes, lanes):
    assert lanes_in_workspace(lane_bytes) == lanes
    assert lanes == 1 or lanes * lane_bytes <= model.WORKSPACE_BYTES


def test_blocks_change_the_rounding_alone(monkeypatch):
    whole = pictures(50)
    monkeypatch.setattr(model, "WORKSPACE_BYTES", whole._training.trainer.runner.body.lane_bytes * 7)
    parts = pictures(50)
    assert parts._training.trainer.lanes == 7
    for run in (whole, parts):
        run.step(3)
    np.testing.assert_allclose(parts.values, whole.values, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(parts.history.loss, whole.history.loss, rtol=1e-12)


def test_a_large_batch_of_pictures_stays_in_the_workspace(monkeypatch):
    monkeypatch.setattr(model, "WORKSPACE_BYTES", 4 << 20)
    run = pictures(3000, side=16)
    run.step(1)
    tracemalloc.start()
    run.step(1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2 * model.WORKSPACE_BYTES
