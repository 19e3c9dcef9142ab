"""`Features`: what a network of the scene `playground` gets of a point, computed inside of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import scalarviz as sv
from scalarviz import nn


@dataclass(frozen=True, slots=True)
class Feature:
    """A function of a point: how it is called, and how it is written."""

    name: str
    title: str
    inputs: int

    def of(self, row: Sequence[Any]) -> Any:
        """Of one point, numbers or Values."""
        return _FORMULAS[self.name](*row[: self.inputs])

    def at(self, points: NDArray[np.floating]) -> NDArray[np.float64]:
        """Of points (N, 2) at once, shape (N,)."""
        x, y = np.asarray(points, np.float64).T
        return _AT_ONCE[self.name](x, y)


_FORMULAS: dict[str, Any] = {
    "x": lambda x: x,
    "y": lambda x, y: y,
    "x2": lambda x: x * x,
    "y2": lambda x, y: y * y,
    "xy": lambda x, y: x * y,
    "sinx": sv.sin,
    "siny": lambda x, y: sv.sin(y),
}

_AT_ONCE: dict[str, Callable[..., NDArray[np.float64]]] = {
    "x": lambda x, y: x,
    "y": lambda x, y: y,
    "x2": lambda x, y: x * x,
    "y2": lambda x, y: y * y,
    "xy": lambda x, y: x * y,
    "sinx": lambda x, y: np.sin(x),
    "siny": lambda x, y: np.sin(y),
}

FEATURES = {
    feature.name: feature
    for feature in (
        Feature("x", "x", 1), Feature("y", "y", 2), Feature("x2", "x\N{SUPERSCRIPT TWO}", 1),
        Feature("y2", "y\N{SUPERSCRIPT TWO}", 2), Feature("xy", "x\N{MIDDLE DOT}y", 2), Feature("sinx", "sin x", 1),
        Feature("siny", "sin y", 2),
    )
}  # fmt: skip
"""All there are, in the order in which a network gets them."""


class Features(nn.Module):
    """The features of a point, one number each; one that is switched off is 0.

    Parameters
    ----------
    names : sequence of str
        Of :data:`FEATURES`; the network has a column of weights for each.
    off : collection of str
        Those of them that are switched off.
    """

    stage = "features"

    def __init__(self, names: Sequence[str], off: Sequence[str] = ()) -> None:
        super().__init__()
        self.names = tuple(names)
        self.off = frozenset(off)

    def forward(self, row: Any) -> Any:
        """The features of one point, a list of Values."""
        made = [sv.Value(0.0) if name in self.off else FEATURES[name].of(row) for name in self.names]
        given = list(row)
        if len(made) < len(given) and all(any(value is number for number in given) for value in made):
            made = [
                value * 1.0 for value in made
            ]  # what only selects is no stage of its own: the picture needs its row
        return made
