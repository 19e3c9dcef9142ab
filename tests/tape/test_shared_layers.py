"""What lowering finds in pictures: layers that share weights, and maxima."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn
from scalarviz.engine.arrays.plan import PlanRunner
from scalarviz.run.gather import blocks_of
from scalarviz.tape import lower, record


def plan_of(net, n, **more):
    return lower(record(net, n, blocks=blocks_of(net), **more))


def kinds(plan):
    return [i.kind if i.kind != "op" else i.op for i in plan.body.instructions]


def cnn(side=8, channels=(2, 3), **conv):
    return nn.Sequential(
        nn.Unflatten((1, side, side)),
        nn.Conv2d(1, channels[0], 3, seed=1, **conv),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(channels[0], channels[1], 3, padding=1, seed=2),
        nn.Tanh(),
        nn.MaxPool2d(2),
        nn.Flatten(),
    )


def test_a_convolution_is_one_instruction_and_a_pool_another():
    plan = plan_of(cnn(padding=1), 64)
    assert kinds(plan) == ["conv", "relu", "max", "conv", "tanh", "max"]
    first, _, pool, second, *_ = plan.body.instructions
    assert first.args.shape == (64, 9)
    assert first.count == 2 * 64
    assert pool.args.shape == (2 * 16, 4)
    assert second.args.shape == (16, 18)
    assert "CONV 18 -> 3 at 16 positions with bias" in str(plan)
    assert "POOL max of 4, 32 rows" in str(plan)


def test_one_layer_on_two_inputs_shares_its_weights_too():
    layer = nn.Linear(3, 4, seed=0)
    twins = plan_of(Module(layer, lambda f, x: [*f(x[:3]), *f(x[3:])]), 6)
    assert kinds(twins) == ["conv"]
    np.testing.assert_array_equal(twins.body.instructions[0].args, [[0, 1, 2], [3, 4, 5]])


def test_a_layer_on_its_own_results_stays_two_layers():
    layer = nn.Linear(3, 3, seed=0)
    assert kinds(plan_of(Module(layer, lambda f, x: f(f(x))), 3)) == ["layer", "layer"]


class Module(nn.Module):
    def __init__(self, layer, function):
        self.layer, self.function = layer, function

    def forward(self, x):
        return self.function(self.layer, x)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 9])
def test_a_maximum_becomes_one_node_from_three_operands_on(n):
    w = sv.Weight(2.0)
    plan = lower(record(lambda x: sv.max([w * v for v in x]), n))
    assert ("max" in kinds(plan)) == (n > 2)
    data = np.random.default_rng(n).normal(size=(n, 7))
    found = PlanRunner(plan, np.float64).rows(np.array([2.0]), data, plan.body.outputs)
    np.testing.assert_allclose(found[0], 2 * data.max(axis=0))


def test_a_chain_whose_middle_is_read_elsewhere_stays_whole():
    def both(x):
        m = sv.max(x[:3])
        return [m, sv.max([m, x[3], x[4]])]

    plan = lower(record(both, 5))
    data = np.random.default_rng(0).normal(size=(5, 7))
    found = PlanRunner(plan, np.float64).rows(np.zeros(0), data, plan.body.outputs)
    np.testing.assert_allclose(found, [data[:3].max(axis=0), data.max(axis=0)])


def test_pictures_and_large_layers_are_few_instructions():
    """Their number does not grow with the picture or the layer: that is what makes lowering and running quick."""
    counts = [len(plan_of(cnn(side, (8, 16), padding=1), side * side).body.instructions) for side in (8, 28)]
    assert counts[0] == counts[1] <= 8
    assert len(plan_of(nn.Linear(1024, 1024, seed=1), 1024).body.instructions) == 1
