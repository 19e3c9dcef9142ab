"""Units of the hidden layers of a chain: their names, their weights, and where each is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...run.frame import Tensor
from ..shown.subject import Subject
from ..space.chain import chain_of
from .drawer import Setting

LETTERS = "hkmnpqrstuvw"
"""The first letter of the units of each hidden layer."""
LARGE, SMALL = 58.0, 24.0
"""Sides of a map beside a unit of a small layer, and along the edge of a plate."""
_LEAST = 13.0  # a smaller one shows nothing
_SHARE = 0.72  # of the distance of two units that a map takes


class Hidden(NamedTuple):
    """A hidden layer.

    Attributes
    ----------
    row : str
        The stage whose row it makes.
    kind : str
        Of that stage.
    weight : Tensor
    bias : Tensor or None
    units : int
    letter : str
    """

    row: str
    kind: str
    weight: Tensor
    bias: Tensor | None
    units: int
    letter: str

    def name(self, unit: int) -> str:
        """``h3``."""
        return f"{self.letter}{unit + 1}"


def hidden_of(subject: Subject) -> list[Hidden]:
    """The hidden layers of a chain; empty where the network is none."""
    kinds = {stage.name: stage.kind for stage in subject.stages}
    chain = chain_of([t for t in subject.tensors if t.size and t.role != "count"], subject.stages)
    return [
        Hidden(layer.row, kinds[layer.row], layer.weight, layer.bias, layer.outputs, LETTERS[k % len(LETTERS)])
        for k, layer in enumerate(chain[:-1])
    ]


def middles(layer: Hidden, setting: Setting) -> NDArray[np.float64]:
    """Where the units of a layer are drawn, (units, 2) in logical pixels; (0, 2) where they are not."""
    plate = setting.plates.get(layer.row)
    if plate is None or plate.kind != "activation" or plate.size != layer.units:
        return np.zeros((0, 2))
    lift = 0.0 if setting.turns else plate.depth
    places = [plate.centre_of(k) + lift * plate.axes[2] for k in range(plate.size)]
    return np.asarray(setting.project(np.array(places)))


def side_of(places: Sequence[NDArray[np.float64]], *, large: bool) -> float:
    """Side of the maps, the same for all; 0: too small to be seen."""
    step = min([1e3, *(float(np.hypot(*np.diff(row, axis=0).T).min()) for row in places if len(row) > 1)])
    side = min(LARGE if large else SMALL, max(_SHARE * step, min(SMALL, step - 3.0)))
    return float(np.floor(side)) if side >= _LEAST else 0.0
