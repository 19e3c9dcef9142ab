"""What a Run does until its first step is done grows as the network does: calls of functions are counted, not time."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim


class Loose(nn.Module):
    """A sum of products with loose Weights, in a list."""

    def __init__(self, n):
        self.w = [sv.Weight(0.01 * k) for k in range(n)]

    def forward(self, x):
        return sum(w * x[k % 2] for k, w in enumerate(self.w)) + 0.5


class Nested(nn.Module):
    """Rows of loose Weights in a list of lists, and what they make goes through a tanh."""

    def __init__(self, n):
        self.rows = [[sv.Weight(0.01 * k), sv.Weight(-0.01 * k)] for k in range(n // 2)]

    def forward(self, x):
        return sum(sv.tanh(sum(w * v for w, v in zip(row, x, strict=True))) for row in self.rows)


class Unit(nn.Module):
    def __init__(self, k):
        self.w, self.b = sv.Weight(0.1 * k), sv.Weight(0.2)

    def forward(self, x):
        return sv.sin(self.w * x[0] + self.b) * x[1]


class Children(nn.Module):
    """Hand-made modules in a list, each with Weights of its own."""

    def __init__(self, n):
        self.units = [Unit(k / n) for k in range(n // 4)]

    def forward(self, x):
        return sum(unit(x) for unit in self.units)


class Chain(nn.Module):
    """Deep: each node reads the one before."""

    def __init__(self, n):
        self.n, self.w, self.b = n, sv.Weight(0.9), sv.Weight(0.1)

    def forward(self, x):
        h = x[0] * x[1]
        for _ in range(self.n // 2):
            h = sv.sin(h * self.w + self.b)
        return h


class Residuals(nn.Module):
    """Layers whose results are added to a stream by hand."""

    def __init__(self, n):
        self.layers = [nn.Linear(2, 2, seed=k) for k in range(n // 8)]

    def forward(self, x):
        for layer in self.layers:
            x = [a + sv.tanh(b) for a, b in zip(x, layer(x), strict=True)]
        return x[0] + x[1]


class Picture(nn.Module):
    """A convolution over a picture that grows; the two numbers of the sample are its corners."""

    def __init__(self, n):
        self.width, self.conv, self.relu = n // 8, nn.Conv2d(1, 2, 3, padding=1, seed=1), nn.ReLU()

    def forward(self, x):
        row = [x[0], *([x[0] * x[1]] * (self.width - 2)), x[1]]
        return sv.sum([v for plane in self.relu(self.conv([[row, row, row]])) for line in plane for v in line])


def calls(make, n, engine):
    """How many functions are called until the first step is done."""
    net, count = make(n), 0

    def counted(frame, event, arg):
        nonlocal count
        count += event in ("call", "c_call")

    rng = np.random.default_rng(0)
    data = rng.normal(size=(8, 2)), rng.normal(size=(8, 1))
    optimizer = optim.Adam(net.parameters(), lr=0.01)
    sys.setprofile(counted)
    try:
        sv.Run(net, nn.MSELoss(), optimizer, data, engine=engine).step()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("name", ["numba", "numpy", "objects"])
@pytest.mark.parametrize("make", [Loose, Nested, Children, Chain, Residuals, Picture])
def test_twice_the_network_is_twice_the_work(make, name):
    sizes = (64, 128, 256)
    for n in sizes:  # what is done once: kernels are loaded, other ones for other sizes
        calls(make, n, name)
    least, small, large = (calls(make, n, name) for n in sizes)
    assert large - small < 2.3 * (small - least), "the second 128 nodes cost more than the first 64 twice"
