"""A chain of small layers on trays whose flow turns at each layer: down, right, up, right, and so on.

Each output axis is the next layer's input axis, so no line crosses another: the inputs are rows, the first layer's
units columns that leave below, the next layer's units rows that leave on the right. Where units leave there is room for
a picture of each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from .arrangement import LYING, LYING_TURNED, Arrangement, inner, plate_for, row_plate, tray_of
from .camera import Camera, Rect, Size, fit
from .chain import ChainLayer
from .few import BIAS_GAP, HALF, ROW_DEPTH
from .plate import Floats, Plate

Way = Literal["down", "right", "up"]
WAYS: tuple[Way, ...] = ("down", "right", "up", "right")
MOST_UNITS = 24
"""Of a layer. Up to eight or so cubes carry their numbers."""
LEAST_PIXELS = 15.0
"""Of a cube, with its gap."""
AZIMUTH, ELEVATION = -5.0, 50.0
DISTANCE, SPAN = 26.0, 12.4
"""Of the eye, in pitches, and the diagonal of the trays for which it is that; further away for larger ones."""
TO_UNITS: dict[Way, float] = {"down": 1.15, "right": 1.4, "up": 1.6}
TO_NEXT: dict[Way, float] = {"down": 1.7, "right": 1.45, "up": 1.15}
"""From a layer to the pictures of its units and from there to the next layer, in pitches."""
_LIFT: dict[Way, float] = {"down": 0.0, "right": HALF, "up": 0.0}
_MARGINS = (85.0, 26.0, 40.0, 6.0)
_STEP = {"down": np.array([0.0, 1.0]), "right": np.array([1.0, 0.0]), "up": np.array([0.0, -1.0])}


@dataclass(frozen=True, slots=True)
class Turns:
    """What a picture wants of such an arrangement.

    Attributes
    ----------
    left : float
        Pixels that something else takes left of the cubes.
    rows : bool
        Whether the numbers of a sample are drawn as rows of cubes, or their places are left to pictures.
    """

    left: float = 0.0
    rows: bool = False


def turning(chain: Sequence[ChainLayer], size: Size, box: Rect, turns: Turns) -> Arrangement | None:
    """The arrangement; None where a layer is too long, or cubes would be too small.

    Parameters
    ----------
    chain : sequence of ChainLayer
        At least two.
    size, box
        As for :func:`layout_for`.
    turns : Turns
    """
    if len(chain) < 2 or any(max(layer.weight.shape) > MOST_UNITS for layer in chain):
        return None
    built = _Built(turns.rows)
    if turns.rows:
        built.row(chain[0].source, chain[0].weight.shape[1], np.array([-1.35, 0.0]), "right")
        built.trace(np.array([-1.35, 0.0]), np.array([-0.5, 0.0]), chain[0].weight.shape[1], "right")
    place = np.zeros(2)
    for index, layer in enumerate(chain):
        before = WAYS[(index - 1) % len(WAYS)] if index else "right"
        place = built.layer(layer, place, before, WAYS[index % len(WAYS)], last=index + 1 == len(chain))
    left, top, right, bottom = _MARGINS
    room = inner(box, max(left, turns.left), top, right, bottom)
    if turns.left:  # what stands there keeps its width in a small picture
        room = (box[0] + turns.left, *room[1:])
    camera = _camera(built.plates + built.spots, size, room)
    made = Arrangement(camera, built.plates, True, built.lines, spots=[] if turns.rows else built.spots)
    return made if made.pixels_per_cube() >= LEAST_PIXELS else None


class _Built:
    """Plates, lines and places of units so far. Places are (across, down) in pitches."""

    def __init__(self, rows: bool) -> None:
        self._rows = rows
        self.plates: list[Plate] = []
        self.spots: list[Plate] = []
        self.lines: list[Floats] = []

    def layer(self, layer: ChainLayer, place: Floats, before: Way, way: Way, *, last: bool) -> Floats:
        """Add a layer that is entered at `place`, the first of its units, `before`; return where the next one is."""
        outputs, inputs = layer.weight.shape
        along = _STEP[way]
        origin = place - (outputs - 1) * _STEP["down"] if way == "right" and before == "up" else place
        axes = LYING if way == "right" else LYING_TURNED
        self.plates.append(plate_for(layer.weight, "weight", _lay(origin, HALF), axes, HALF))
        start = origin + (inputs - 1) * _STEP["down"] if way == "up" else origin
        end = start + along * (inputs - 1)
        if layer.bias is not None:
            end = end + along * BIAS_GAP
            self.plates.append(plate_for(layer.bias, "bias", _lay(end, HALF), axes, HALF, strip=True))
        units = end + along * TO_UNITS[way]
        if not last or self._rows:
            self.row(layer.row, outputs, units, way)
        following = units + along * TO_NEXT[way]
        stop = units if last and self._rows else end if last else following - along * 0.5
        self.trace(start - along * 0.5, stop, outputs, way)
        return np.asarray(following)

    def row(self, name: str, count: int, place: Floats, way: Way) -> None:
        """The places of a layer's units, from `place` on."""
        axes = LYING if way == "right" else LYING_TURNED
        height = ROW_DEPTH if self._rows else _LIFT[way]
        plate = row_plate(name, count, _lay(place, height), axes, HALF, ROW_DEPTH)
        (self.plates if self._rows else self.spots).append(plate)

    def trace(self, start: Floats, stop: Floats, count: int, way: Way) -> None:
        """Lines side by side on the tray, one for each unit."""
        step = np.arange(count)[:, None] * _STEP["down" if way == "right" else "right"]
        ends = np.stack([start + step, stop + step], axis=1)
        self.lines.append(np.concatenate([ends * [1.0, -1.0], np.zeros((count, 2, 1))], axis=2))


def _lay(place: Floats, height: float) -> Floats:
    return np.array([place[0], -place[1], height])


def _camera(plates: Sequence[Plate], size: Size, box: Rect) -> Camera:
    points = np.concatenate([p.corners for p in plates] + [tray_of(p) for p in plates if p.kind != "activation"])
    span = np.ptp(points, axis=0)
    distance = DISTANCE * max(0.7, float(np.hypot(span[0], span[1])) / SPAN)
    return fit(points, size, box, azimuth=AZIMUTH, elevation=ELEVATION, distance=distance)
