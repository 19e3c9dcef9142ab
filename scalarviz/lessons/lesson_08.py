"""Nothing learns: a network with one fault, which the seed selects."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..nn import Linear, Module, MSELoss, ReLU, Sequential, Sigmoid, Tanh
from ..optim import SGD
from ..run import Run, Scene, Story
from ..run.panels import LossCurve

BITS = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
WANTED = np.array([[0.0], [1.0], [1.0], [0.0]])
LR = 0.1

EQUAL = {
    "0.weight": np.full((4, 2), 0.5),
    "0.bias": np.zeros(4),
    "2.weight": np.full((1, 4), 0.5),
    "2.bias": np.zeros(1),
}
TROUBLES: tuple[tuple[type[Module], bool, dict[str, NDArray[np.float64]], float], ...] = (
    (Tanh, True, EQUAL, LR),  # all weights of a layer start equal
    (Tanh, True, {}, 100 * LR),  # the learning rate is a hundred times too large
    (ReLU, True, {"0.bias": np.full(4, -5.0)}, LR),  # all ReLUs are dead
    (Sigmoid, True, {"0.bias": np.full(4, 30.0)}, LR),  # all sigmoids are saturated
    (Tanh, False, {}, LR),  # without biases the output for (0, 0) is always 0, but the target is 1
    (Tanh, True, {}, LR),  # without a fault
)
"""The activation, whether there are biases, numbers to start from, and the rate. The seed modulo 6 selects a row."""


def scene(seed: int = 0) -> Scene:
    """Return the scene: exclusive or that may never be learnt; pupils find out why."""
    activation, bias, numbers, rate = TROUBLES[seed % len(TROUBLES)]
    net = Sequential(Linear(2, 4, bias, seed=seed), activation(), Linear(4, 1, bias, seed=seed + 100))
    net.load_state_dict(numbers, strict=False)
    wanted = WANTED if bias else 1 - WANTED
    run = Run(net, MSELoss(), SGD(net.parameters(), lr=rate), data=(BITS, wanted), engine="numpy")
    story = Story("The four answers should become right. Do they?")
    return Scene("trouble", run, BITS[1], wanted[1], ("a", "b"), ("out",), (LossCurve(),), story=story)
