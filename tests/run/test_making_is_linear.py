"""What a Run does until its first step is done grows as the network does: calls of functions are counted, not time."""

import gc
import sys

import numpy as np
import pytest

import scalarviz as sv
from kit.runs import ENGINES
from scalarviz import nn, optim

pytestmark = pytest.mark.ci


def loose(n):
    weights = [sv.Weight(0.01 * k) for k in range(n)]
    return weights, lambda x: sum(w * x[0] for w in weights)


def residuals(n):
    layers = [nn.Linear(2, 2, seed=k) for k in range(n // 8)]

    def model(x):
        for layer in layers:
            x = [a + sv.tanh(b) for a, b in zip(x, layer(x), strict=True)]
        return x[0] + x[1]

    return [part for layer in layers for part in layer.parameters()], model


def calls(make, n, engine):
    """How many functions are called until the first step is done.

    Of one sample: the tests cut a GPU's memory small, and a batch of larger networks would be cut into more chunks.
    """
    (weights, model), rng, count = make(n), np.random.default_rng(0), 0

    def counted(frame, event, arg):
        nonlocal count
        count += event in ("call", "c_call")

    data, optimizer = (rng.normal(size=(1, 2)), rng.normal(size=(1, 1))), optim.Adam(weights, lr=0.01)
    gc.collect()  # what is left of earlier runs would be given back meanwhile, a GPU's memory by calls
    gc.disable()
    sys.setprofile(counted)
    try:
        sv.Run(model, nn.MSELoss(), optimizer, data, engine=engine).step()
    finally:
        sys.setprofile(None)
        gc.enable()
    return count


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("make", [loose, residuals])
def test_twice_the_network_is_twice_the_work(make, engine):
    sizes = (32, 64, 128)
    for n in sizes:  # what is done once: kernels are loaded, other ones for other sizes
        calls(make, n, engine)
    least, small, large = (calls(make, n, engine) for n in sizes)
    assert large - small < 2.3 * (small - least), "the second 64 nodes cost more than the first 32 twice"
