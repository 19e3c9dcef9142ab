"""Where the small maps of hidden units stand in a picture; worked out once for a camera."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..draw.places import LABEL, Box
from ..draw.text import measure
from .drawer import Setting
from .neuron_names import Hidden

LARGE, SMALL = 58.0, 24.0
"""Sides of a map beside a unit of a small layer, and the least where there is room for that."""
MOST = 32
"""Units of a layer of which each has its map beside it; of more, only the one that is pointed at is drawn."""
_LEAST = 13.0  # a smaller one shows nothing
_SHARE = 0.72  # of the distance of two units that a map takes
_YIELDS = 0.1  # the share of its side that a map gives up for the names
_HOT = 12.0  # side of the place of a unit without a map


class NeuronPlaces:
    """Boxes of the units of some layers.

    Parameters
    ----------
    layers : sequence of Hidden
    setting : Setting

    Attributes
    ----------
    setting : Setting
    side : float
        Of all maps; 0: they are too small to be drawn.
    boxes : dict of (int, int) to Box
        Where each unit can be pointed at, by layer and number.
    drawn : list of (int, int)
        Those with a map beside them.
    numbers : ndarray of int
        The same counted through all layers.
    names : dict of (int, int) to str
        Of those beside whose map there is room for it.
    """

    def __init__(self, layers: Sequence[Hidden], setting: Setting) -> None:
        self.setting = setting
        places = [_middles(layer, setting) for layer in layers]
        few = [(layer, row) for layer, row in zip(layers, places, strict=True) if 0 < len(row) <= MOST]
        side = _side_of([row for _, row in few], large=setting.turns)
        self.side = side = _named_side(few, side) if setting.turns else side
        self.boxes: dict[tuple[int, int], Box] = {}
        self.drawn: list[tuple[int, int]] = []
        self.names: dict[tuple[int, int], str] = {}
        numbers, start = [], 0
        for index, (layer, row) in enumerate(zip(layers, places, strict=True)):
            drawn = side > 0.0 and 0 < len(row) <= MOST
            room = _room(row, side)
            for unit, (x, y) in enumerate(row):
                wide = side if drawn else _HOT
                box = (float(round(x - wide / 2)), float(round(y - wide / 2)), wide, wide)
                if not setting.holds(box):
                    continue
                self.boxes[index, unit] = box
                if drawn:
                    self.drawn.append((index, unit))
                    numbers.append(start + unit)
                    name = layer.name(unit)
                    if setting.turns and room >= _wanted(name):
                        self.names[index, unit] = name
            start += layer.units
        self.numbers = np.array(numbers, np.intp)

    @property
    def rects(self) -> NDArray[np.float64]:
        """Boxes of the maps, (N, 4)."""
        return np.array([self.boxes[key] for key in self.drawn], float).reshape(-1, 4)


def _middles(layer: Hidden, setting: Setting) -> NDArray[np.float64]:
    """Where the units of a layer are drawn, (units, 2) in logical pixels; (0, 2) where they are not."""
    plate = setting.plates.get(layer.row)
    if plate is None or plate.kind != "activation" or plate.size != layer.units:
        return np.zeros((0, 2))
    lift = 0.0 if setting.turns else plate.depth
    places = [plate.centre_of(k) + lift * plate.axes[2] for k in range(plate.size)]
    return np.asarray(setting.project(np.array(places)))


def _side_of(places: Sequence[NDArray[np.float64]], *, large: bool) -> float:
    """Side of the maps, the same for all; 0: too small to be seen."""
    step = min([1e3, *(float(np.hypot(*np.diff(row, axis=0).T).min()) for row in places if len(row) > 1)])
    side = min(LARGE if large else SMALL, max(_SHARE * step, min(SMALL, step - 3.0)))
    return float(np.floor(side)) if side >= _LEAST else 0.0


def _named_side(few: Sequence[tuple[Hidden, NDArray[np.float64]]], side: float) -> float:
    """A little less than `side`, where names have room then that had none."""
    for layer, row in few:
        short = max(_wanted(layer.name(unit)) for unit in range(len(row))) - _room(row, side)
        if 0 < short <= _YIELDS * side:
            return float(np.floor(side - short))
    return side


def _wanted(name: str) -> float:
    """Pixels that a name takes beside a map."""
    return measure(name, LABEL, True) + 6


def _room(row: NDArray[np.float64], side: float) -> float:
    """Pixels to the right of a map up to the next one, or up to the next layer's cubes."""
    if len(row) < 2:
        return np.inf
    down = float(np.abs(np.diff(row[:, 1])).min())
    if down >= side:
        return 1.2 * down - side / 2
    return float(np.abs(np.diff(row[:, 0])).min()) - side
