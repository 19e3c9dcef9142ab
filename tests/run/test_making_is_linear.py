"""What a Run does until its first step is done grows as the network does: calls of functions are counted, not time."""

import sys

import numpy as np
import pytest

import scalarviz as sv
from kit.runs import ENGINES
from scalarviz import nn, optim

pytestmark = pytest.mark.ci


class Made(nn.Module):
    """A network of a size: its weights, and what it makes of them and two numbers."""

    def __init__(self, weights, way):
        self.w, self.way = weights, way

    def forward(self, x):
        return self.way(self.w, x)


def added(stream, layer):
    return [a + sv.tanh(b) for a, b in zip(stream, layer(stream), strict=True)]


def residual(layers, x):
    for layer in layers:
        x = added(x, layer)
    return x[0] + x[1]


def chain(w, x):
    h = x[0] * x[1]
    for _ in range(w[0]):
        h = sv.sin(h * w[1] + w[2])
    return h


def picture(parts, x):
    row = [x[0], *([x[0] * x[1]] * (parts[0] - 2)), x[1]]
    return sv.sum([v for plane in nn.ReLU()(parts[1]([[row, row, row]])) for line in plane for v in line])


MAKE = {
    "loose": lambda n: Made([sv.Weight(0.01 * k) for k in range(n)], lambda weights, x: sum(w * x[0] for w in weights)),
    "chain": lambda n: Made([n // 2, sv.Weight(0.9), sv.Weight(0.1)], chain),
    "residuals": lambda n: Made([nn.Linear(2, 2, seed=k) for k in range(n // 8)], residual),
    "picture": lambda n: Made([n // 8, nn.Conv2d(1, 2, 3, padding=1, seed=1)], picture),
}  # fmt: skip


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


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("make", MAKE)
def test_twice_the_network_is_twice_the_work(make, engine):
    sizes = (32, 64, 128)
    for n in sizes:  # what is done once: kernels are loaded, other ones for other sizes
        calls(MAKE[make], n, engine)
    least, small, large = (calls(MAKE[make], n, engine) for n in sizes)
    assert large - small < 2.3 * (small - least), "the second 64 nodes cost more than the first 32 twice"
