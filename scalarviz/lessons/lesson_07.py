"""Why did this cube move: six colours, so that a gradient can be split by samples."""

from __future__ import annotations

import numpy as np

from ..nn import MSELoss, Network, Sigmoid, init
from ..optim import SGD
from ..run import Run, Scene, Story
from ..run.panels import LossCurve

COLOURS = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 1, 1], [1, 0, 1]], float)


def scene(seed: int = 0) -> Scene:
    """Return the scene. A clicked cube shows its terms, the optimiser's update, and the loss for other values."""
    net = Network(3, 3, activation=Sigmoid(), loss=MSELoss())
    net.initialize(init.uniform(0, 1), seed=seed)
    sgd = SGD(net.parameters(), lr=0.5, momentum=0.5)
    run = Run(net, MSELoss(), sgd, data=(COLOURS, 1 - COLOURS), engine="numpy", dtype="float64")
    names, story = ("r", "g", "b"), Story("They should turn every colour into its opposite.")
    return Scene("why", run, COLOURS[0], 1 - COLOURS[0], names, names, (LossCurve(),), story=story)
