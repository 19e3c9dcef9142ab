"""Write your own Value: exclusive or with only sums and products."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..nn import Linear, Module, MSELoss, Sequential
from ..optim import SGD
from ..run import Run, Scene, Story
from ..run.panels import Axis, PlaneMap, Points

BITS = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
WANTED = np.array([[0.0], [1.0], [1.0], [0.0]])


class Square(Module):
    """The square of each number."""

    def forward(self, x: Any) -> Any:
        """Return each number times itself."""
        return x * x


def scene(seed: int | None = None) -> Scene:
    """Return the scene: one unit with three parameters; without a seed the lesson's numbers."""
    net = Sequential(Linear(2, 1, seed=seed or 0), Square())
    if seed is None:
        net.load_state_dict({"0.weight": [[0.9, -0.4]], "0.bias": [0.3]})
    sgd = SGD(net.parameters(), lr=0.08)
    run = Run(net, MSELoss(), sgd, data=(BITS, WANTED), engine="numpy", dtype="float64")
    corners = Axis("x", -0.2, 1.2), Axis("y", -0.2, 1.2)
    points = Points(BITS, WANTED[:, 0])
    plane = PlaneMap("output", *corners, span=(0, 1), says=("0", "1"), cells=24, points=lambda _: points)
    story = Story("One unit should learn exclusive or.")
    return Scene("square", run, BITS[1], WANTED[1], ("x", "y"), ("out",), (plane,), story=story)
