"""Nothing learns: a network with one fault, which the seed selects."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..nn import Linear, Module, MSELoss, ReLU, Sequential, Sigmoid, Tanh
from ..optim import SGD
from ..run import Run, Scene, Story
from ..run.panels import LossCurve

BITS = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
WANTED = np.array([[0.0], [1.0], [1.0], [0.0]])
LR = 0.1


def layers(activation: Callable[[], Module], seed: int, bias: bool = True) -> tuple[Linear, Linear, Sequential]:
    """Return two inputs, four hidden units, one output: both layers, and the network."""
    first, second = Linear(2, 4, bias, seed=seed), Linear(4, 1, bias, seed=seed + 100)
    return first, second, Sequential(first, activation(), second)


def sound(seed: int) -> tuple[Sequential, float]:
    """Return a network without a fault."""
    return layers(Tanh, seed)[2], LR


def symmetric(seed: int) -> tuple[Sequential, float]:
    """Return a network in which all weights of a layer start equal."""
    first, second, net = layers(Tanh, seed)
    for layer in (first, second):
        layer.weight.data = np.full(layer.weight.shape, 0.5)
        assert layer.bias is not None
        layer.bias.data = np.zeros(layer.bias.shape)
    return net, LR


def too_fast(seed: int) -> tuple[Sequential, float]:
    """Return a network whose learning rate is a hundred times too large."""
    return layers(Tanh, seed)[2], 100 * LR


def dead(seed: int) -> tuple[Sequential, float]:
    """Return a network whose ReLUs are all dead."""
    first, _, net = layers(ReLU, seed)
    assert first.bias is not None
    first.bias.data = np.full(4, -5.0)
    return net, LR


def saturated(seed: int) -> tuple[Sequential, float]:
    """Return a network whose sigmoids are all saturated."""
    first, _, net = layers(Sigmoid, seed)
    assert first.bias is not None
    first.bias.data = np.full(4, 30.0)
    return net, LR


def no_bias(seed: int) -> tuple[Sequential, float]:
    """Return a network without biases: its output for (0, 0) is always 0, but the target is 1."""
    return layers(Tanh, seed, bias=False)[2], LR


TROUBLES = (symmetric, too_fast, dead, saturated, no_bias, sound)
"""The seed modulo 6 selects one."""


def scene(seed: int = 0) -> Scene:
    """Return the scene: exclusive or that may never be learnt; pupils find out why."""
    net, rate = TROUBLES[seed % len(TROUBLES)](seed)
    wanted = WANTED if net[0].bias is not None else 1 - WANTED
    run = Run(net, MSELoss(), SGD(net.parameters(), lr=rate), data=(BITS, wanted), engine="numpy")
    story = Story("The four answers should become right. Do they?")
    return Scene("trouble", run, BITS[1], wanted[1], ("a", "b"), ("out",), (LossCurve(),), story=story)
