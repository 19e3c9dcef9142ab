"""The chain rule with numbers: a network of nine parameters whose steps can be opened."""

from __future__ import annotations

import numpy as np

from ..nn import Linear, MSELoss, Sequential, Tanh
from ..optim import SGD
from ..run import Run, Scene, Story
from ..run.panels import LossCurve

SAMPLE, TARGET = np.array([1.0, 0.5]), np.array([1.0])


def scene(seed: int | None = None) -> Scene:
    """Return the scene: two inputs, two hidden units, one output; without a seed the lesson's numbers."""
    net = Sequential(Linear(2, 2, seed=seed or 0), Tanh(), Linear(2, 1, seed=(seed or 0) + 1))
    if seed is None:
        net[0].weight.data, net[0].bias.data = [[0.5, -1.0], [1.5, 0.5]], [0.1, -0.2]
        net[2].weight.data, net[2].bias.data = [[2.0, -0.5]], [0.3]
    data = SAMPLE[None], TARGET[None]
    run = Run(net, MSELoss(), SGD(net.parameters(), lr=0.1), data=data, engine="numpy", dtype="float64")
    story = Story("The output should become 1.")
    return Scene("chain", run, SAMPLE, TARGET, ("x0", "x1"), ("out",), (LossCurve(),), story=story)
