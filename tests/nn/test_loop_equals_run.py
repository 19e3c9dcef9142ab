"""A hand-written loop over objects and a `Run` do the same, whatever the optimiser and the loss."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from kit.learning import LOSSES, OPTIMISERS, make_optimizer
from kit.networks import NETWORKS
from kit.runs import ENGINES, far, make_data, make_run
from scalarviz import nn

STEPS, SAMPLES = 15, 8


def loop(net, loss, rule, data):
    for _ in range(STEPS):
        rule.zero_grad()
        total = sv.sum([loss(net(a), b) for a, b in zip(*data, strict=True)])
        if nn.batch_reduction(loss) == "mean":
            total = total / len(data[0])
        total.backward()
        rule.step()
    return total.data


@pytest.mark.parametrize("engine", ["numpy", "objects"])
@pytest.mark.parametrize(
    ("loss", "rule"), [*(("mse", rule) for rule in (*OPTIMISERS, "own")), *((name, "sgd_all") for name in LOSSES)]
)
def test_a_loop_and_a_run_end_at_the_same_weights(loss, rule, engine):
    network = "rgb" if LOSSES[loss].outputs == "probabilities" else "classes"
    net = NETWORKS[network].ours()
    last = loop(net, LOSSES[loss].ours(), make_optimizer(rule, net.parameters()), make_data(network, loss, SAMPLES))
    with make_run(network, loss, rule, engine=engine, samples=SAMPLES, batch_size=None) as run:
        run.step(STEPS)
        assert run.loss == pytest.approx(last, rel=1e-11)
        for name, wanted in net.state_dict().items():
            assert far(run.state_dict()[name], wanted) <= 1e-11, name


class Aside(nn.Module):
    """A layer that is computed for nothing, and one of which only the first row is used."""

    def __init__(self):
        self.aside, self.first, self.last = nn.Linear(3, 2, seed=1), nn.Linear(3, 2, seed=2), nn.Linear(1, 3, seed=3)

    def forward(self, x):
        self.aside(x)
        return self.last(self.first(x)[:1])


@pytest.mark.parametrize("rule", ["sgd_all", "adamw_decay"])
@pytest.mark.parametrize("engine", ENGINES)
def test_weights_that_the_loss_does_not_read_do_not_decay(rule, engine):
    one, other, data = Aside(), Aside(), make_data("rgb", "mse", SAMPLES)
    before = other.state_dict()
    loop(one, nn.MSELoss(), make_optimizer(rule, one.parameters()), data)
    with sv.Run(
        other, nn.MSELoss(), make_optimizer(rule, other.parameters()), data=data, engine=engine, dtype="float64"
    ) as run:
        run.step(STEPS)
        found = run.state_dict()
    np.testing.assert_array_equal(found["aside.weight"], before["aside.weight"])
    np.testing.assert_array_equal(found["first.weight"][1], before["first.weight"][1])
    for name, array in one.state_dict().items():
        np.testing.assert_allclose(found[name], array, rtol=1e-10, err_msg=name)
