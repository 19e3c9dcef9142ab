"""A few weights: cubes on trays, seen in perspective from above, each large enough for its number.

Layers of a chain alternate: each output axis is the next layer's input axis, so no lines cross. In a chain whose flow
turns, the inputs are rows, the first layer's units columns that leave below, the next layer's units rows that leave on
the right, and so on up and right; where units leave there is room for a picture of each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ...run.core.frame import Tensor
from .arrangement import LYING, LYING_TURNED, Layout, inner, laid, plate_for, row_plate, tray_of
from .camera import Camera, Floats, Rect, Size, fit
from .chain import ChainLayer, built, parallel_lines
from .plane import shelves
from .plate import Plate

HALF = 0.40
AZIMUTH, ELEVATION = -10.0, 48.0
EYE = (17.0, 5.55)
"""Distance of the eye in pitches, and the diagonal of trays it is for: 3x3 weights with biases."""
ROW_GAP, ROW_DEPTH = 1.35, 0.12
"""Pitches from a layer to its row of activations and on to the next layer; half the thickness of a row."""
BEHIND = 1.75
"""Pitches from a row of activations to a layer in front of it that would hide it."""
BIAS_GAP = 1.27
"""Pitches from the last column of weights to the biases."""
READABLE = 50.5
"""Least pixels of a pitch whose cube holds a number."""
_SEEN = ((85, 45, 85, 0), ELEVATION), ((85, 45, 85, 0), 34.0), ((24, 24, 24, 0), 34.0)
"""Margins of a chain and elevation of the eye; lower, with less room for names, if numbers need it."""
MOST = 150.0
"""Most pixels of a pitch at 1280x720."""

Direction = Literal["down", "right", "up"]
MOST_UNITS = 24
"""Most units of a layer whose flow turns. Up to about eight, cubes show their numbers."""
LEAST_PIXELS = 15.0
"""Least pixels of a cube there, with its gap."""
WAYS: tuple[Direction, ...] = ("down", "right", "up", "right")
TURNING_ANGLES = (-5.0, 50.0)
TURNING_EYE = (26.0, 12.4)
# From a layer to its units and from there to the next layer, in pitches.
_GAPS: dict[Direction, tuple[float, float]] = {"right": (ROW_GAP, ROW_GAP), "down": (ROW_GAP, BEHIND)}
_TURNING_GAPS: dict[Direction, tuple[float, float]] = {"down": (1.15, 1.7), "right": (1.4, 1.45), "up": (1.6, 1.15)}
_NEAR, _UP = LYING[1:]
_STEP = {"down": _NEAR, "right": LYING[0], "up": -_NEAR}


@dataclass(frozen=True, slots=True)
class Turns:
    """Options of a chain whose flow turns."""

    left: float = 0.0  # pixels left of the cubes for other parts
    rows: bool = False  # whether a sample's numbers are rows of cubes; else their places are for pictures


def one_layer(layer: ChainLayer, size: Size, box: Rect) -> Layout:
    """Return one layer: a row reads as its formula, products, then bias; its text is to the right."""
    (weight, last, _), end = built(layer, HALF * _UP, LYING, 1.0, HALF, BIAS_GAP, np.zeros(3), HALF)
    stop = (end if last is not weight else end + 0.5 * LYING[0]) - HALF * _UP
    traces = parallel_lines(-0.5 * LYING[0], stop, layer.outputs, _NEAR)
    return _bounded([*dict.fromkeys([weight, last])], size, box, inner(box, 85, 35, 226, 0), [traces])


def few_gallery(tensors: Sequence[Tensor], size: Size, box: Rect) -> Layout:
    """Return up to 64 numbers that are no layer: blocks of cubes on trays, in shelves."""
    plates = [plate_for(t, "bias" if t.role == "bias" else "weight", (0, 0, HALF), LYING, HALF) for t in tensors]
    aspect = (box[2] - box[0]) / (box[3] - box[1]) / 1.3  # seen from above, depth is foreshortened
    spots = shelves([p.grid.cells for p in plates], gap=0.9, aspect=aspect)
    placed = [p.moved((col, -row, 0.0)) for p, (row, col) in zip(plates, spots, strict=True)]
    return _bounded(placed, size, box, inner(box, 85, 35, 85, 0))


def few_chain(chain: Sequence[ChainLayer], size: Size, box: Rect) -> Layout:
    """Return several small layers on trays: to the right, then down, then right again."""
    built = _Built(_GAPS, rows=True)
    built.enter(chain[0], BEHIND, "down")
    built.chain(chain, ("right", "down"))
    cameras = (_camera(built.plates, size, inner(box, *margins), elevation) for margins, elevation in _SEEN)
    ways = [laid("mlp", camera, built.plates, box, built.lines, True) for camera in cameras]
    return next((way for way in ways if way.pixels_per_cube() >= READABLE), ways[0])


def turning(chain: Sequence[ChainLayer], size: Size, box: Rect, turns: Turns) -> Layout | None:
    """Return a chain of two or more layers whose flow turns; None if a layer is too long, or cubes too small."""
    if len(chain) < 2 or any(max(layer.weight.shape) > MOST_UNITS for layer in chain):
        return None
    built = _Built(_TURNING_GAPS, turns.rows)
    if turns.rows:
        built.enter(chain[0], 1.35, "right")
    built.chain(chain, WAYS)
    room = inner(box, max(85.0, turns.left), 26, 40, 6)
    room = (box[0] + turns.left, *room[1:]) if turns.left else room  # parts there keep their width in a small picture
    spots = [] if turns.rows else built.spots
    points = _points([*built.plates, *built.spots], rows=False)
    azimuth, elevation = TURNING_ANGLES
    distance = _distance(points, TURNING_EYE, 0.7)
    camera = fit(points, size, room, azimuth=azimuth, elevation=elevation, distance=distance)
    made = replace(laid("mlp", camera, built.plates, box, built.lines, True), turns=True, spots=tuple(spots))
    return made if made.pixels_per_cube() >= LEAST_PIXELS else None


class _Built:
    """Plates, lines and places of units, one layer after the other."""

    def __init__(self, gaps: Mapping[Direction, tuple[float, float]], rows: bool) -> None:
        self._gaps, self._rows = gaps, rows
        self.plates: list[Plate] = []
        self.spots: list[Plate] = []
        self.lines: list[Floats] = []

    def enter(self, layer: ChainLayer, away: float, way: Direction) -> None:
        """Add the row that enters the first layer."""
        count, axes = layer.weight.shape[1], LYING if way == "right" else LYING_TURNED
        start = -away * _STEP[way]
        self.plates.append(row_plate(layer.source, count, start + ROW_DEPTH * _UP, axes, HALF, ROW_DEPTH))
        self.lines.append(parallel_lines(start, -0.5 * _STEP[way], count, axes[1]))

    def chain(self, chain: Sequence[ChainLayer], ways: Sequence[Direction]) -> None:
        """Add all layers; their units leave in turn in the directions `ways`."""
        place, before = np.zeros(3), "right"
        for index, layer in enumerate(chain):
            way = ways[index % len(ways)]
            place = self._layer(layer, place, before, way, last=index + 1 == len(chain))
            before = way

    def _layer(self, layer: ChainLayer, place: Floats, before: str, way: Direction, *, last: bool) -> Floats:
        """Add a layer whose first input is at `place`; return the place of the next layer.

        `before` is the direction in which the inputs arrive.
        """
        outputs, inputs = layer.weight.shape
        along, (to_units, to_next) = _STEP[way], self._gaps[way]
        origin = place - (outputs - 1) * _NEAR if way == "right" and before == "up" else place
        axes = LYING if way == "right" else LYING_TURNED
        height = ROW_DEPTH if self._rows else HALF if way == "right" else 0.0
        to_row, sign = to_units * along + (height - HALF) * _UP, -1.0 if way == "up" else 1.0
        (plate, bias, row), end = built(layer, origin + HALF * _UP, axes, sign, HALF, BIAS_GAP, to_row, ROW_DEPTH)
        self.plates += dict.fromkeys([plate, bias])
        if self._rows:
            self.plates.append(row)
        elif not last:
            self.spots.append(row)
        start, end = (origin + (inputs - 1) * _NEAR if way == "up" else origin), end - HALF * _UP
        units = end + to_units * along
        following = units + to_next * along
        stop = units if last and self._rows else end if last else following - 0.5 * along
        self.lines.append(parallel_lines(start - 0.5 * along, stop, outputs, axes[1]))
        return np.asarray(following)


def _bounded(plates: list[Plate], size: Size, box: Rect, room: Rect, lines: Sequence[Floats] = ()) -> Layout:
    """Return plates on trays in a room; smaller if a single number would fill the picture."""
    scene = laid("few", _camera(plates, size, room), plates, box, lines, True)
    largest, own = MOST * min(1.0, max(0.6, size[1] / 720)), scene.pixels_per_cube()
    if own <= largest:
        return scene
    share = 0.5 * (1.0 - largest / own)
    across, down = share * (room[2] - room[0]), share * (room[3] - room[1])
    smaller = (room[0] + across, room[1] + down, room[2] - across, room[3] - down)
    return replace(scene, camera=_camera(plates, size, smaller))


def _points(plates: Sequence[Plate], *, rows: bool) -> Floats:
    """Return the corners of plates and of their trays; `rows`: those of rows of activations too."""
    return np.concatenate([p.corners for p in plates] + [tray_of(p) for p in plates if rows or p.kind != "activation"])


def _distance(points: Floats, eye: tuple[float, float], least: float) -> float:
    """Return the distance of the eye: `eye[0]` for trays with the diagonal `eye[1]`, in proportion for others."""
    span = np.ptp(points, axis=0)
    return eye[0] * max(least, float(np.hypot(span[0], span[1])) / eye[1])


def _camera(plates: Sequence[Plate], size: Size, box: Rect, elevation: float = ELEVATION) -> Camera:
    points = _points(plates, rows=True)
    # right of the middle: the eye is over the biases, columns keep their width
    centre = points.min(0) + np.ptp(points, axis=0) * [0.64, 0.5, 0.5]
    distance = _distance(points, EYE, 0.5)
    return fit(points, size, box, azimuth=AZIMUTH, elevation=elevation, distance=distance, centre=centre.tolist())
