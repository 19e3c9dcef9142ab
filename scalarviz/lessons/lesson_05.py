"""Whose gradient is it: three points share two weights, and their gradients are added up."""

from __future__ import annotations

import numpy as np

from ..nn import Linear, MSELoss
from ..optim import SGD
from ..run import Run, Scene, Story
from ..run.panels import LossCurve

POINTS = np.array([[-1.0], [0.0], [1.0]])
WANTED = np.array([[-1.0], [1.0], [3.0]])


def scene(seed: int = 0) -> Scene:
    """Return the scene: a line through three points. The weight should end at 2, the bias at 1."""
    net = Linear(1, 1, seed=seed)
    run = Run(net, MSELoss(), SGD(net.parameters(), lr=0.1), data=(POINTS, WANTED), engine="numpy")
    story = Story("A line should go through three points.")
    return Scene("line", run, POINTS[2], WANTED[2], ("x",), ("y",), (LossCurve(),), story=story)
