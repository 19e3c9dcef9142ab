"""RGB by hand: three perceptrons learn to invert colours."""

from __future__ import annotations

import numpy as np

from ..nn import MSELoss, Network, Sigmoid, init
from ..optim import SGD
from ..run import Run, Scene, Story
from ..run.panels import ColourCube, LossCurve


def scene(seed: int = 0) -> Scene:
    """Return the scene: twelve parameters between 0 and 1, and 216 colours."""
    net = Network(3, 3, activation=Sigmoid(), loss=MSELoss())
    net.initialize(init.uniform(0, 1), seed=seed)
    levels = np.linspace(0, 1, 6)
    colours = np.array([[r, g, b] for r in levels for g in levels for b in levels])
    data = colours, 1 - colours
    run = Run(net, MSELoss(), SGD(net.parameters(), lr=0.5), data=data, engine="numpy")
    orange, names = np.array([0.9, 0.5, 0.1]), ("r", "g", "b")
    panels = ColourCube(*data), LossCurve()
    story = Story("They should turn every colour into its opposite.")
    return Scene("invert", run, orange, 1 - orange, names, names, panels, story=story)
