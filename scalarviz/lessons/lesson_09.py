"""Is my gradient right: a small network with a kink, whose gradient can be checked weight by weight."""

from __future__ import annotations

import numpy as np

from .. import rng
from ..nn import Linear, MSELoss, ReLU, Sequential, Tanh
from ..optim import SGD
from ..run import Run, Scene, Story
from ..run.panels import LossCurve


def scene(seed: int = 0) -> Scene:
    """Return the scene: two inputs, three ReLUs, two tanh, one output; eight samples of a saddle."""
    net = Sequential(Linear(2, 3, seed=seed), ReLU(), Linear(3, 2, seed=seed + 1), Tanh(), Linear(2, 1, seed=seed + 2))
    points = 2 * rng.uniform(seed, rng.Stream.WEIGHTS, 9, 16).reshape(8, 2) - 1
    data = points, points[:, :1] * points[:, 1:]
    run = Run(net, MSELoss(), SGD(net.parameters(), lr=0.1), data=data, engine="numpy", dtype="float64")
    story = Story("The output should be the product of the inputs.")
    first = np.asarray(points[0]), np.asarray(data[1][0])
    return Scene("gradcheck", run, *first, ("x", "y"), ("out",), (LossCurve(),), story=story)
