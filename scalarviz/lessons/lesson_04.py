"""The order of backward: ``b = a + a``, ``c = b + b``, and a weight that is trained by it."""

from __future__ import annotations

import numpy as np

from .. import rng
from ..nn import Module, MSELoss
from ..optim import SGD
from ..run import Moment, Run, Scene, Story
from ..run.panels import GraphPanel, LossCurve
from ..scalar import Value, Weight

TARGET = 6.0


class Diamond(Module):
    """One weight that is used twice; its sum is used twice again."""

    def __init__(self, start: float) -> None:
        self.a = Weight(start, name="a")

    def forward(self, x: object) -> Value:
        """Return four times the weight. A Run needs an input; it is ignored."""
        b = self.a + self.a
        return b + b


def graph_at(moment: Moment) -> Value:
    """Return the graph with the numbers of a moment, and its gradients."""
    a = Value(float(moment.frame.values[0]), label="a")
    b = a + a
    b.label = "b"
    c = b + b
    c.label = "c"
    loss = (c - TARGET) ** 2
    loss.backward()
    return loss


def scene(seed: int = 0) -> Scene:
    """Return the scene: the weight begins between -1 and 1, and should end at 1.5."""
    model = Diamond(-1 + 2 * float(rng.uniform(seed, rng.Stream.WEIGHTS, 0, 1)[0]))
    run = Run(model, MSELoss(), SGD(model.parameters(), lr=0.005), data=([[1.0]], [[TARGET]]), engine="numpy")
    panels = GraphPanel("c = b + b, b = a + a", graph_at, place="above"), LossCurve()
    story = Story("Four times the weight should be 6.")
    return Scene("diamond", run, np.array([1.0]), np.array([TARGET]), ("one",), ("c",), panels, story=story)
