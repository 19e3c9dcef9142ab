"""A hand-written loop over objects and a `Run` on arrays do the same, whatever the optimiser and the loss."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim

STEPS, SAMPLES = 15, 8


class Signed(optim.Optimizer):
    """A user's own: state, the learning rate and the step number all count."""

    state = ("mean", "seen")

    def update(self, w, g, state, lr, t):
        mean = 0.8 * state["mean"] + 0.2 * g
        seen = state["seen"] + g * g
        return w - lr * mean / (1 + (seen / t).sqrt()), {"mean": mean, "seen": seen}


def softly(outputs, targets):
    """A user's loss."""
    return sum((sv.softplus(o - t) + sv.softplus(t - o)) for o, t in zip(outputs, targets, strict=True))


OPTIMISERS = {
    "sgd": lambda p: optim.SGD(p, lr=0.3),
    "sgd all": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "adam": lambda p: optim.Adam(p, lr=0.02, weight_decay=0.1),
    "adamw": lambda p: optim.AdamW(p, lr=0.02),
    "own": lambda p: Signed(p, lr=0.1),
}
LOSSES = {
    "mse": nn.MSELoss(), "mse sum half": nn.MSELoss("sum", factor=0.5), "l1": nn.L1Loss(), "bce": nn.BCELoss("sum"),
    "huber": nn.HuberLoss(delta=0.2), "own": softly,
}  # fmt: skip


def data():
    rng = np.random.default_rng(3)
    x = rng.random((SAMPLES, 3))
    return x, 0.2 + 0.6 * x[:, ::-1]


def network():
    net = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 3), nn.Sigmoid())
    net.initialize(seed=2)
    net.freeze("0.weight[1]")
    return net


def by_hand(net, loss, optimiser):
    x, y = data()
    for _ in range(STEPS):
        optimiser.zero_grad()
        total = sv.sum([loss(net(a), b) for a, b in zip(x, y, strict=True)])
        if nn.batch_reduction(loss) == "mean":
            total = total / len(x)
        total.backward()
        optimiser.step()
    return total.data


@pytest.mark.parametrize(("loss", "optimiser"), [
    *(("mse", o) for o in OPTIMISERS), *((loss, "adam") for loss in LOSSES if loss != "mse"), ("own", "own"),
])  # fmt: skip
@pytest.mark.parametrize("engine", ["numpy", "objects"])
def test_a_loop_and_a_run_end_at_the_same_weights(loss, optimiser, engine):
    one, other = network(), network()
    make, criterion = OPTIMISERS[optimiser], LOSSES[loss]
    last = by_hand(one, criterion, make(one.parameters()))
    run = sv.Run(
        other, criterion, make(other.parameters()), data=data(), batch_size=SAMPLES, engine=engine, dtype="float64"
    )
    run.step(STEPS)
    assert run.loss == pytest.approx(last, rel=1e-11)
    for name, wanted in one.state_dict().items():
        found = other.state_dict()[name]
        assert np.linalg.norm(found - wanted) <= 1e-11 * np.linalg.norm(wanted), name
    run.close()


def test_a_loop_goes_on_where_a_run_ended():
    net = network()
    twin = copy.deepcopy(net)
    opt = optim.Adam(net.parameters(), lr=0.02)
    run = sv.Run(net, nn.MSELoss(), opt, data=data(), batch_size=SAMPLES, engine="numpy", dtype="float64")
    run.step(STEPS)
    run.close()
    by_hand(net, nn.MSELoss(), opt)
    alone = optim.Adam(twin.parameters(), lr=0.02)
    by_hand(twin, nn.MSELoss(), alone)
    by_hand(twin, nn.MSELoss(), alone)
    for name, wanted in twin.state_dict().items():
        np.testing.assert_allclose(net.state_dict()[name], wanted, rtol=1e-9)


class Aside(nn.Module):
    """A layer that is computed for nothing, and one of which only the first row is used."""

    def __init__(self):
        self.aside, self.first, self.last = nn.Linear(3, 2, seed=1), nn.Linear(3, 2, seed=2), nn.Linear(1, 3, seed=3)

    def forward(self, x):
        self.aside(x)
        return self.last(self.first(x)[:1])


@pytest.mark.parametrize("optimiser", ["sgd all", "adamw"])
@pytest.mark.parametrize("engine", ["objects", "numpy", "numba"])
def test_weights_that_the_loss_does_not_read_do_not_decay(optimiser, engine):
    one, other = Aside(), Aside()
    before = other.state_dict()
    by_hand(one, LOSSES["mse"], OPTIMISERS[optimiser](one.parameters()))
    run = sv.Run(
        other, LOSSES["mse"], OPTIMISERS[optimiser](other.parameters()), data=data(), engine=engine, dtype="float64"
    )
    run.step(STEPS)
    found, wanted = run.state_dict(), one.state_dict()
    run.close()
    np.testing.assert_array_equal(found["aside.weight"], before["aside.weight"])
    np.testing.assert_array_equal(found["first.weight"][1], before["first.weight"][1])
    for name, array in wanted.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-10, err_msg=name)
