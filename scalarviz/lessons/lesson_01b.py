"""A neuron: three weights and a bias, one sample."""

from __future__ import annotations

import numpy as np

from ..nn import Linear, MSELoss, Sequential, Sigmoid
from ..optim import SGD
from ..run import Run, Scene, Story
from ..run.panels import LossCurve

SAMPLE, TARGET = np.array([0.9, 0.5, 0.1]), np.array([0.1])


def scene(seed: int | None = None) -> Scene:
    """Return the scene: one perceptron with the lesson's numbers; a seed gives others."""
    net = Sequential(Linear(3, 1, seed=seed or 0), Sigmoid())
    if seed is None:
        net.load_state_dict({"0.weight": [[0.8, -0.4, 0.3]], "0.bias": [0.2]})
    data = SAMPLE[None], TARGET[None]
    run = Run(net, MSELoss(), SGD(net.parameters(), lr=1.0), data=data, engine="numpy", dtype="float64")
    story = Story("The output should become 0.1.")
    return Scene("neuron", run, SAMPLE, TARGET, ("x0", "x1", "x2"), ("out",), (LossCurve(),), story=story)
