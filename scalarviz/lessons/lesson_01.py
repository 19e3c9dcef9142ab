"""One weight: its product with 2 should become 4."""

from __future__ import annotations

import numpy as np

from ..nn import Linear, MSELoss
from ..optim import SGD
from ..run import Run, Scene, Story
from ..run.panels import LossOver, TrainingLoop

INPUT, TARGET = np.array([2.0]), np.array([4.0])
BEGIN, SPAN = -3.0, (-4.0, 8.0)


def scene(seed: int | None = None) -> Scene:
    """Return the scene: one weight, one sample, the loss over the weight; without a seed the lesson's weight."""
    net = Linear(1, 1, bias=False, seed=seed or 0)
    if seed is None:
        net.weight.data = [[BEGIN]]
    data = INPUT[None], TARGET[None]
    run = Run(net, MSELoss(), SGD(net.parameters(), lr=0.05), data=data, engine="numpy", dtype="float64")
    story = Story("Its product with 2 should become 4.")
    panels = LossOver((0,), ("w",), (SPAN,)), TrainingLoop((0,), ("w",))
    return Scene("weight", run, INPUT, TARGET, ("x",), ("y",), panels, story=story)
