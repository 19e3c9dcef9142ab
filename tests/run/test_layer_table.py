"""The table of layers against sums written out, and a forward pass by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from scalarviz import Run, nn, optim
from scalarviz.run.layer_table import layer_rows

X = np.random.default_rng(0).normal(size=(40, 3))
Y = np.random.default_rng(1).normal(size=(40, 2))


def make(*middle, steps=3):
    net = nn.Sequential(nn.Linear(3, 5, seed=1), *middle, nn.Linear(5, 2, seed=2))
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (X, Y), engine="numpy", dtype="float64")
    run.step(steps)
    return run


def norm(*parts):
    return math.sqrt(math.fsum(float(x) ** 2 for part in parts for x in np.ravel(part)))


def test_norms_are_those_of_the_numbers_of_each_layer():
    run = make(nn.ReLU(), steps=2)
    before = run.frame().values.copy()
    run.step()
    frame = run.frame()
    rows = layer_rows(frame, run.tensors, run.stages)
    assert [(row.name, row.count) for row in rows] == [("0", 20), ("2", 12)]
    for row, (first, end) in zip(rows, ((0, 20), (20, 32)), strict=True):
        moved = norm(frame.values[first:end] - before[first:end])
        assert row.weight == pytest.approx(norm(frame.values[first:end]), rel=1e-12)
        assert row.gradient == pytest.approx(norm(frame.gradient[first:end]), rel=1e-12)
        assert row.update == pytest.approx(moved, rel=1e-9)
        assert row.ratio == pytest.approx(moved / norm(frame.values[first:end]), rel=1e-9)


def test_dead_units_are_those_that_no_sample_wakes():
    run = make(nn.ReLU())
    weight = np.array(run.model[0].weight.data)
    bias = np.array([0.0, -100.0, 0.1, -100.0, 50.0])
    run.model[0].bias.data = bias
    frame = run.frame()
    row, last = layer_rows(frame, run.tensors, run.stages)
    awake = (X @ weight.T + bias > 0).any(axis=0)
    assert (row.dead, row.units, row.flat) == (5 - awake.sum(), 5, None)
    assert row.dead >= 2
    assert last.dead is None
    assert frame.units.samples == len(X)


def test_flat_units_of_a_tanh():
    run = make(nn.Tanh())
    run.model[0].bias.data = np.array([0.0, 90.0, 0.0, -90.0, 90.0])
    weight = np.array(run.model[0].weight.data)
    row = layer_rows(run.frame(), run.tensors, run.stages)[0]
    sums = X @ weight.T + [0.0, 90.0, 0.0, -90.0, 90.0]
    assert row.flat == pytest.approx(np.mean(1 - np.tanh(sums) ** 2 < 1e-3))


def test_before_the_first_step_there_is_neither_gradient_nor_update():
    run = make(nn.ReLU(), steps=0)
    for row in layer_rows(run.frame(), run.tensors, run.stages):
        assert (row.gradient, row.update, row.ratio) == (None, None, None)


def test_weights_of_zero_have_no_ratio():
    run = make(nn.ReLU())
    run.set_weights(20, np.zeros(12))
    assert layer_rows(run.frame(), run.tensors, run.stages)[1].ratio is None


def test_running_statistics_are_no_weights():
    net = nn.Sequential(nn.Linear(3, 4, seed=1), nn.BatchNorm1d(4), nn.Linear(4, 2, seed=2))
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (X, Y), engine="numpy")
    run.step()
    assert [row.count for row in layer_rows(run.frame(), run.tensors, run.stages)] == [16, 8, 10]
