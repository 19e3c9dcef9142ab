"""The networks of the scene `playground`: features, hidden layers, and an output of the sort that the points need."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from scalarviz import nn
from scalarviz.run.edits.change import ACTIVATIONS

from ._features import Features
from ._sort import Sort

BETWEEN = ("tanh", "relu", "sigmoid", "leaky_relu", "identity")
"""Activations of the hidden layers."""
SPREAD = 0.5
"""Weights begin between minus this and this, biases at 0: the same start in every layer, as in the best-known one."""
MOST_LAYERS, MOST_UNITS = 6, 64


def network(
    features: Sequence[str], hidden: Sequence[int], activation: str, sort: Sort, seed: int, off: Collection[str] = ()
) -> nn.Sequential:
    """A network whose weights are drawn by the seed: those of a layer of one place and shape are always the same.

    Parameters
    ----------
    features : sequence of str
        What it gets of a point, by the names of :data:`._features.FEATURES`.
    hidden : sequence of int
    activation : str
        One of :data:`BETWEEN`.
    sort : Sort
    seed : int
    off : collection of str
        Features that are 0; the weights of their column are frozen.
    """
    layers: list[nn.Module] = [Features(features, tuple(off))]
    before = len(features)
    for units in hidden:
        layers += [nn.Linear(before, units), ACTIVATIONS[activation]()]
        before = units
    layers.append(nn.Linear(before, sort.outputs))
    if len(sort.classes) == 2:
        layers.append(nn.Tanh())
    net = nn.Sequential(*layers)
    net.initialize(nn.init.uniform(-SPREAD, SPREAD), seed=seed)
    return net
