"""Networks, losses and optimisers that the tests of this folder share."""

from __future__ import annotations

import itertools
from itertools import pairwise

import scalarviz as sv
from scalarviz import nn, optim


def mlp(*sizes, activation=nn.Tanh, bias=True):
    layers = []
    for k, (n, m) in enumerate(itertools.pairwise(sizes)):
        layers += [nn.Linear(n, m, bias=bias, seed=k), activation()]
    return nn.Sequential(*layers)


class Residual(nn.Module):
    """Two layers on one input, and the input added again."""

    def __init__(self):
        self.a, self.b = nn.Linear(3, 3, seed=1), nn.Linear(3, 3, seed=2)

    def forward(self, x):
        return [p.tanh() + q.sigmoid() + r for p, q, r in zip(self.a(x), self.b(x), x, strict=True)]


class Tied(nn.Module):
    """One layer used twice."""

    def __init__(self):
        self.layer = nn.Linear(3, 3, seed=4)

    def forward(self, x):
        return self.layer([v.tanh() for v in self.layer(x)])


class Expression(nn.Module):
    """A formula without layers: parameter-only, input-only and mixed nodes, all kinds of weighted sums."""

    def __init__(self):
        self.w = [sv.Weight(x) for x in (0.3, -0.7, 1.1, 0.2, 0.5)]

    def forward(self, x):
        w = self.w
        product = w[0] * w[1]
        encoded = [(3.0 * v).sin() for v in x]
        a = product * x[0] + w[2] * encoded[1] + w[3]
        b = sv.dot([0.5, -1.5, 2.0], [a, x[1], encoded[2]])
        c = sv.dot([a, b], [b.tanh(), x[2]], w[4])
        d = sv.logsumexp([a, b, c]) + sv.max([a, c]) + sv.where(a < c, a * b, w[0] * c + 2.0)
        return [d / (1.0 + c.square()), w[1], x[0], (b * b + 1.0).sqrt().log() ** w[3].exp()]


class OneNodeTwice(nn.Module):
    """One node as two outputs, an unused input, a constant output."""

    def __init__(self):
        self.w = sv.Weight(0.4)

    def forward(self, x):
        y = (self.w * x[0]).tanh()
        return [y, y, sv.Value(0.25)]


MODELS = {
    "rgb": lambda: mlp(3, 3, activation=nn.Sigmoid),
    "mlp": lambda: mlp(3, 16, 16, 3),
    "no bias": lambda: mlp(3, 5, 2, bias=False),
    "relu": lambda: mlp(3, 8, 2, activation=nn.ReLU),
    "leaky": lambda: mlp(3, 7, 3, activation=nn.LeakyReLU),
    "softplus": lambda: mlp(3, 7, 3, activation=nn.Softplus),
    "residual": Residual,
    "tied": Tied,
    "expression": Expression,
    "one node twice": OneNodeTwice,
}
LOSSES = {"mse": nn.MSELoss, "sum of half squares": lambda: nn.MSELoss(reduction="sum", factor=0.5), "l1": nn.L1Loss}


class SignDescent(optim.Optimizer):
    """A user's optimiser in ten lines."""

    state = ("count",)

    def update(self, w, g, state, lr, t):
        direction = sv.where(g > 0, 1.0, sv.where(g < 0, -1.0, 0.0))
        return w - lr * direction / (t + 1.0).sqrt(), {"count": state["count"] + 1.0}


OPTIMISERS = {
    "sgd": lambda p: optim.SGD(p, lr=0.2),
    "nesterov": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "adam": lambda p: optim.Adam(p, lr=0.02),
    "adamw": lambda p: optim.AdamW(p, lr=0.02),
    "user": lambda p: SignDescent(p, lr=0.01),
}


def net(conv=None, pool=None, side=7, channels=2, more=()):
    layers = [
        nn.Unflatten((1, side, side)),
        nn.Conv2d(1, channels, 3, seed=1, **(conv or {"padding": 1})),
        nn.Tanh(),
        pool or nn.MaxPool2d(2),
        nn.Conv2d(channels, 5, 2, seed=2),
        *more,
        nn.Flatten(),
    ]
    return nn.Sequential(*layers)


def same(channels=3, outputs=5):
    """Convolutions whose pictures keep their size."""
    return nn.Sequential(
        nn.Unflatten((1, 8, 8)),
        nn.Conv2d(1, channels, 3, padding=1, seed=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(channels, outputs, 3, padding=1, seed=2),
        nn.Tanh(),
        nn.Conv2d(outputs, 2, (1, 3), padding=(0, 1), seed=3),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(8, 3, seed=4),
    )


class Shared(nn.Module):
    """A layer on overlapping windows of a row, whose inputs others read too."""

    def __init__(self):
        self.first, self.layer = nn.Linear(4, 6, seed=1), nn.Linear(3, 2, seed=2)

    def forward(self, x):
        h = [v.tanh() for v in self.first(x)]
        return [v + h[0] for k in range(4) for v in self.layer(h[k : k + 3])]


class Mixed(nn.Module):
    """A layer used on rows of which only some want a gradient."""

    def __init__(self):
        self.first, self.layer = nn.Linear(4, 6, seed=1), nn.Linear(2, 3, seed=2)

    def forward(self, x):
        h = [v.tanh() for v in self.first(x)]
        rows = [*x[:2], *h]
        return [v * v for k in range(6) for v in self.layer([rows[k], rows[k + 2]])]


def network(sizes, wiring):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = [nn.Linear(n, m) for n, m in pairwise(sizes)]
            for k, layer in enumerate(self.layers):
                setattr(self, f"layer{k}", layer)

        def forward(self, x):
            for layer in self.layers:
                h = [v.tanh() for v in layer(x)]
                if wiring == "again":  # who reads the operands of a layer again has written some of their adjoints
                    h = [v + u for v, u in zip(h, x, strict=False)] + h[len(x) :]
                # neighbours are torn apart: the rows of a layer are then no longer one piece
                x = [*h[1:], h[0]] if wiring == "apart" else h
            return x

    return Net()
