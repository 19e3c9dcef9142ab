"""Networks as lectures, lessons and books type them, no longer than there; PyTorch, or a count, says what is right.

Where they write ``torch.``, here stands NumPy or ``sv``. "Loops": the same training, step by step, by PyTorch.
"""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from kit.runs import ENGINES, far
from scalarviz import nn, optim

pytestmark = pytest.mark.ci
FAST = ENGINES[1:]


def drawn(*shapes, seed=0):
    random = np.random.default_rng(seed)
    return [random.standard_normal(shape) for shape in shapes]


def tensors(torch, parts):
    return [torch.tensor(np.array(part.data), dtype=torch.float64, requires_grad=True) for part in parts]


def steps_alike(run, rule, loss_of, count):
    """Both train; the losses and, at the end, the weights are the same."""
    for step in range(count):
        loss = loss_of(step)
        rule.zero_grad()
        loss.backward()
        rule.step()
        run.step()
        assert run.loss == pytest.approx(loss.item(), rel=1e-10)
    parts = [part for group in rule.param_groups for part in group["params"]]
    assert far(run.values, np.concatenate([part.detach().numpy().ravel() for part in parts])) < 1e-9


def cross_entropy_by_hand(p):
    """nn-zero-to-hero, "backprop ninja": every step is an array that has a gradient."""
    counts = (p - p.max(1, keepdim=True).values).exp()
    sums = counts.sum(1, keepdims=True)
    logprobs = (counts * sums**-1).log()
    return [counts, sums, logprobs, -logprobs[range(8), range(8)].mean()]


def test_every_step_of_a_loss_by_hand_has_pytorchs_gradient(torch):
    (numbers,) = drawn((8, 9))
    found, wanted = (cross_entropy_by_hand(p) for p in (nn.Parameter(numbers), torch.tensor(numbers).requires_grad_()))
    for step in wanted:
        step.retain_grad()
    found[-1].backward(), wanted[-1].backward()
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(ours.grad, theirs.grad.numpy(), rtol=1e-9, atol=1e-14)


def two_moons(n):
    """Two half circles that hold each other; labels -1 and 1."""
    random, angle = np.random.default_rng(1337), np.linspace(0, np.pi, n // 2)
    outer = np.stack([np.cos(angle), np.sin(angle)], 1)
    inner = np.stack([1 - np.cos(angle), 0.5 - np.sin(angle)], 1)
    points = np.concatenate([outer, inner]) + random.normal(scale=0.1, size=(n, 2))
    return points, np.repeat([-1.0, 1.0], n // 2)


@pytest.mark.parametrize("engine", FAST)
def test_max_margin(engine, torch):
    """The demo of micrograd: a multilayer perceptron, the hinge loss and L2, on two moons."""
    X, y = two_moons(100)
    net = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))
    net.initialize(nn.init.uniform(-1.0, 1.0), seed=3)
    parts, optimizer = tensors(torch, net.parameters()), optim.SGD(net.parameters(), lr=1.0)
    optim.lr_scheduler.LambdaLR(optimizer, lambda k: 1.0 - 0.9 * k / 100)
    run = sv.Run(
        net, lambda o, t: (1 - t[0] * o[0]).relu() + 1e-4 * sum(w * w for w in net.weights()), optimizer,
        data=(X, y[:, None]), engine=engine, dtype="float64",
    )  # fmt: skip
    rule = torch.optim.SGD(parts, lr=1.0)
    plan = torch.optim.lr_scheduler.LambdaLR(rule, lambda k: 1.0 - 0.9 * k / 100)
    x, t = torch.tensor(X), torch.tensor(y)

    def loss(step):
        if step:
            plan.step()
        a = torch.relu(torch.relu(x @ parts[0].T + parts[1]) @ parts[2].T + parts[3])
        scores = (a @ parts[4].T + parts[5])[:, 0]
        return torch.relu(1 - t * scores).mean() + 1e-4 * sum((p * p).sum() for p in parts)

    steps_alike(run, rule, loss, 20)
    run.step(80)
    assert run.history.lr[-1] == pytest.approx(1.0 - 0.9 * 99 / 100)
    assert ((run.predict(X)[:, 0] > 0) == (y > 0)).all()


class LSTM(nn.Module):
    """Dive into Deep Learning, "LSTM": the three gates and the cell, written out."""

    def __init__(self, inputs, hidden):
        random = np.random.default_rng(3)
        self.hidden = hidden

        def three():
            return [nn.Parameter(random.standard_normal(s) * 0.3) for s in ((inputs, hidden), (hidden, hidden), hidden)]

        self.i, self.f, self.g, self.o = three(), three(), three(), three()

    def forward(self, xs):
        H = C = np.zeros(self.hidden)
        for X in xs:
            i, f, g, o = (X @ W_x + H @ W_h + b for W_x, W_h, b in (self.i, self.f, self.g, self.o))
            C = sv.sigmoid(f) * C + sv.sigmoid(i) * sv.tanh(g)
            H = sv.sigmoid(o) * sv.tanh(C)
        return H


@pytest.mark.parametrize("engine", FAST)
def test_an_lstm_by_hand_is_pytorchs(engine, torch):
    net, (X, Y) = LSTM(3, 4), drawn((10, 4, 3), (10, 4))
    theirs = torch.nn.LSTM(3, 4, batch_first=True).double()
    parts = dict(theirs.named_parameters())
    for k, part in enumerate(("weight_ih_l0", "weight_hh_l0", "bias_ih_l0")):
        joined = np.concatenate([gate[k].data.T for gate in (net.i, net.f, net.g, net.o)])
        parts[part].data.copy_(torch.tensor(joined))
    parts.pop("bias_hh_l0").data.zero_()
    rule = torch.optim.Adam(parts.values(), lr=0.01)
    run = sv.Run(net, nn.MSELoss(), optim.Adam(net.parameters(), lr=0.01), data=(X, Y), engine=engine, dtype="float64")
    for _ in range(10):
        loss = (theirs(torch.tensor(X))[0][:, -1] - torch.tensor(Y)).square().mean()
        rule.zero_grad()
        loss.backward()
        rule.step()
        run.step()
        assert run.loss == pytest.approx(loss.item(), rel=1e-11)
    np.testing.assert_allclose(run.predict(X), theirs(torch.tensor(X))[0][:, -1].detach().numpy(), atol=1e-10)
