"""A chain of layers as standing plates that alternate: each output axis is the next plate's input axis. Or on trays.

Outputs of the first plate count downwards, of the second across, and so on; so the lines from a row of activations to
the next plate are parallel and never cross.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Literal

import numpy as np

from ...run.core.tensors import Stage, Tensor, is_chain
from .arrangement import Layout, Mode, Plate, fitted, grid_for, inner, laid, plate_for, row_plate, tray_of
from .camera import ACROSS, DOWN, FLOW, OUTPUTS_ACROSS, OUTPUTS_DOWN, Camera, Floats, Rect, Size, basis, fit
from .plane import shelves


@dataclass(frozen=True, slots=True)
class ChainLayer:
    """A linear stage and its output row (after the activation that follows, if any).

    `source` is the row that enters the first layer: the sample, or a row made of it without weights.
    """

    weight: Tensor
    bias: Tensor | None
    row: str
    outputs: int
    source: str = "input"


def chain_of(tensors: Sequence[Tensor], stages: Sequence[Stage]) -> list[ChainLayer]:
    """Return the layers of a chain, or an empty list if a layer reads other rows than the output of the layer before.

    It is also empty if `stages` do not cover every tensor with weight matrices and biases.
    """
    if not is_chain(stages):
        return []
    layers: list[ChainLayer] = []
    covered: set[str] = set()
    source = "input"
    for stage in stages:
        if stage.weight is not None:
            if len(stage.weight.shape) != 2 or stage.weight.size == 0:
                return []
            layers.append(ChainLayer(stage.weight, stage.bias, stage.name, stage.outputs, source))
            covered |= {t.name for t in (stage.weight, stage.bias) if t is not None}
        elif not layers:
            source = stage.name
        elif stage.outputs != layers[-1].outputs:
            return []  # another size than its input: needs a row of its own
        else:
            layers[-1] = replace(layers[-1], row=stage.name)
    return layers if covered == {t.name for t in tensors} else []


@dataclass(frozen=True, slots=True)
class _Style:
    """Distances in pitches.

    `row_flow` and `row_rise` lead from a plate to its row of activations, `steps` to the next plate: for layers whose
    outputs count down, and for those whose outputs count across.
    """

    half: float
    azimuth: float
    elevation: float
    row_depth: float
    row_flow: tuple[float, float]
    row_rise: float
    steps: tuple[float, float] = (7.0, 9.0)

    @property
    def side(self) -> float:
        """Distance from a plate to a strip beside it, so that the strip begins where the visible side ends."""
        return 2.0 * self.half * (1.0 + 1.0 / float(np.tan(np.radians(-self.azimuth)))) + 0.06


STAIRS = _Style(half=0.42, azimuth=-42.0, elevation=13.0, row_depth=0.19, row_flow=(3.8, 6.3), row_rise=1.65)
TIGHT = replace(STAIRS, row_flow=(2.3, 3.6), steps=(4.5, 6.0))
STACK = _Style(half=0.46, azimuth=-31.0, elevation=14.0, row_depth=0.46, row_flow=(0.0, 0.0), row_rise=2.5)
# One or two plates do not fill the width: a view more from the front makes them larger.
FRONTAL = {1: replace(STACK, azimuth=-62.0), 2: replace(STACK, azimuth=-42.0)}

_CLEAR = 1.4  # pitches from the end of a layer of a stack to the next plate
_OVER = 1.9  # pitches on screen from a row of activations down to the plate that it hangs over


def built(
    layer: ChainLayer, place: Floats, axes: Floats, sign: float, half: float, gap: float, to_row: Floats, depth: float
) -> tuple[tuple[Plate, Plate, Plate], Floats]:
    """Place a layer's weights at `place`, the biases `gap` beyond the output side, and the row of its units.

    Units leave along the first of `axes`, or against it for `sign` -1. A layer without biases repeats the weights in
    their place. Also return the place from which `to_row` leads to the row.
    """
    plate = plate_for(layer.weight, "weight", place, axes, half)
    straight = not plate.grid.folded
    deep = 0 if straight else grid_for((layer.outputs,)).cells[1] - 1  # folded units are a block
    back = (0.0 if sign > 0 else deep) * axes[0]
    end = place + (plate.grid.cells[1] - 1 if sign > 0 else 0) * axes[0]
    last = plate
    if layer.bias is not None:
        end = end + sign * gap * axes[0]
        last = plate_for(layer.bias, "bias", end - back, axes, half, strip=straight)
        end = end + sign * deep * axes[0]
    row = row_plate(layer.row, layer.outputs, end + to_row - back, axes, half, depth, straight)
    return (plate, last, row), np.asarray(end)


def parallel_lines(start: Floats, end: Floats, count: int, step: Floats) -> Floats:
    """Return parallel lines (count, 2, 3): the first from `start` to `end`, each next one moved by `step`."""
    return np.stack([start, end]) + np.arange(count)[:, None, None] * step


class _Builder:
    """Adds one layer after the other; stores the plates and the lines between them."""

    def __init__(self, style: _Style) -> None:
        self.style = style
        self.plates: list[Plate] = []
        self.lines: list[Floats] = []
        self._measured, self._right = 0, float("-inf")

    def layer(self, layer: ChainLayer, place: Floats, down: bool, *, below: bool) -> tuple[Plate, Plate, Floats]:
        """Add plate, bias and row; return plate, row and the place of the strip at the output edge.

        The outputs count `down`, or across; those across leave above the plate, or `below` it.
        """
        style, flat = self.style, self.style.row_flow == (0.0, 0.0)
        axes, sign = OUTPUTS_DOWN if down else OUTPUTS_ACROSS, 1.0 if down or below else -1.0
        out = sign * axes[0]
        off = style.row_rise if not down else style.side if flat else 0.42
        to_row = off * out + style.row_flow[0 if down else 1] * FLOW
        gap = style.side if down else 2.5 if below else 1.75
        (plate, last, row), end = built(layer, place, axes, sign, style.half, gap, to_row, style.row_depth)
        self.plates += dict.fromkeys([plate, last, row])
        if not (flat or plate.grid.folded):
            edge = last.cell_centre(0, last.shape[1] - 1 if sign > 0 else 0) + out * last.half + FLOW * last.depth
            front = row.cell_centre(0) - out * row.half - FLOW * row.depth
            self.lines.append(parallel_lines(edge, front, layer.outputs, axes[1]))
        return plate, row, end

    def ends(self, angle: float) -> float:
        """Return the right end on screen, in pitches, of all plates so far; `angle` is the flow's to the screen."""
        right = np.cos(angle) * FLOW + np.sin(angle) * ACROSS
        new, self._measured = self.plates[self._measured :], len(self.plates)  # each is measured once
        self._right = max([self._right, *(float((plate.corners @ right).max()) for plate in new)])
        return self._right

    def feed(self, row: Plate, plate: Plate) -> None:
        """Add lines from a row of activations into the input edge of the next plate."""
        if not (plate.grid.folded or row.grid.folded or row.size != plate.shape[1]):
            out, step = row.axes[:2]
            start = row.cell_centre(0) + out * row.half + FLOW * row.depth
            self.lines.append(parallel_lines(start, plate.cell_centre(0) - 0.5 * out, row.size, step))

    def layout(self, mode: Mode, size: Size, room: Rect, box: Rect) -> Layout:
        """Return the layout, as large as possible in a room."""
        camera = fitted(self.plates, size, room, self.style.azimuth, self.style.elevation)
        return laid(mode, camera, self.plates, box, self.lines)

    def inputs(self, layer: ChainLayer, plate: Plate, *, flow: float, below: float) -> None:
        """Add the sample as a row below the first plate."""
        count, straight = layer.weight.shape[1], not plate.grid.folded
        foot = plate.origin + (plate.grid.cells[0] - 1) * DOWN
        axes = OUTPUTS_ACROSS if straight else OUTPUTS_DOWN
        place = foot + flow * FLOW + below * DOWN
        row = row_plate(layer.source, count, place, axes, self.style.half, self.style.row_depth, straight)
        self.plates.append(row)
        if flow and straight:
            self.lines.append(parallel_lines(row.cell_centre(0) + FLOW * row.depth, foot + 0.5 * DOWN, count, ACROSS))


def _lowered(row: Plate, place: Floats, style: _Style) -> float:
    """Return how much lower a plate must stand so that the row before it hangs above it and does not hide it."""
    right, up, _ = basis(style.azimuth, style.elevation)
    way = place - row.origin
    way = way - (right @ way) / (right @ ACROSS) * ACROSS  # both run across: compare at one place of the screen
    return max(0.0, (_OVER + float(up @ way)) / -float(up @ DOWN))


def staircase(chain: Sequence[ChainLayer], size: Size, box: Rect) -> Layout:
    """Return plates that step aside as well as back, so that none hides another (mock-up ``mlp``)."""
    style = STAIRS if len(chain) <= 3 else TIGHT
    build, place, down = _Builder(style), np.zeros(3), True
    angle = np.radians(-style.azimuth)
    row: Plate | None = None
    for layer in chain:
        plate, new_row, end = build.layer(layer, place, down, below=False)
        if row is None:
            build.inputs(layer, plate, flow=-1.5, below=2.3)
        else:
            build.feed(row, plate)
        row = new_row
        if down:
            place = end + 0.6 * ACROSS + style.steps[0] * FLOW
        else:  # far enough back to come out from behind this plate
            clear = (plate.grid.cells[0] * np.sin(angle) + 0.9) / np.cos(angle)
            place = place + max(clear, style.steps[1]) * FLOW + 1.65 * DOWN
            place = place + _lowered(row, place, style) * DOWN
        down = not down
    return build.layout("mlp", size, inner(box, 92, 48, 75, 11 if style is STAIRS else 44), box)


def stack(chain: Sequence[ChainLayer], size: Size, box: Rect) -> Layout:
    """Return plates one behind the other (mock-up ``texture``): each begins where the one before ends."""
    style = FRONTAL.get(len(chain), STACK)
    build, place, down = _Builder(style), np.zeros(3), True
    angle = np.radians(-style.azimuth)
    for layer, after in zip_longest(chain, chain[1:]):
        plate, _, _ = build.layer(layer, place, down, below=True)
        if layer is chain[0]:
            build.inputs(layer, plate, flow=0.0, below=2.5)
        if after is None:
            break
        following = grid_for(after.weight.shape).cells
        largest = max(*plate.grid.cells, *following)
        flow = build.ends(angle) / np.cos(angle) + _CLEAR + 0.03 * largest
        rows = plate.grid.cells[0 if down else 1]
        down = not down  # the outputs leave at the foot, so the next plate is below it
        place = flow * FLOW + (float(place @ DOWN) + (rows - following[0] if down else 0)) * DOWN
    return build.layout("big", size, inner(box, 84, 45, 78, -9), box)


# ---- A few weights: cubes on trays, seen in perspective from above, each large enough for its number.
#
# Layers of a chain alternate: each output axis is the next layer's input axis, so no lines cross. In a chain whose flow
# turns, the inputs are rows, the first layer's units columns that leave below, the next layer's units rows that leave
# on the right, and so on up and right; where units leave there is room for a picture of each.

HALF = 0.40
AZIMUTH, ELEVATION = -10.0, 48.0
STANDING = (0.0, 60.0)
"""Azimuth and elevation for one layer in a standing picture: rows are level, and so are the texts beside them."""
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
LYING = np.array([[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]])
"""Axes of a plate on a tray: columns to the right, rows towards the viewer, main face up."""
LYING_TURNED = LYING[[1, 0, 2]]
"""`LYING` with outputs to the right and inputs towards the viewer."""
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
    view = STANDING if size[1] > size[0] else (AZIMUTH, ELEVATION)
    return _bounded([*dict.fromkeys([weight, last])], size, box, inner(box, 85, 35, 226, 0), [traces], view)


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
    cameras = (_camera(built.plates, size, inner(box, *margins), AZIMUTH, elevation) for margins, elevation in _SEEN)
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


def _bounded(
    plates: list[Plate], size: Size, box: Rect, room: Rect, lines: Sequence[Floats] = (),
    view: tuple[float, float] = (AZIMUTH, ELEVATION),
) -> Layout:  # fmt: skip
    """Return plates on trays in a room, in a `view`; smaller if a single number would fill the picture."""
    scene = laid("few", _camera(plates, size, room, *view), plates, box, lines, True)
    largest, own = MOST * min(1.0, max(0.6, size[1] / 720)), scene.pixels_per_cube()
    if own <= largest:
        return scene
    share = 0.5 * (1.0 - largest / own)
    across, down = share * (room[2] - room[0]), share * (room[3] - room[1])
    smaller = (room[0] + across, room[1] + down, room[2] - across, room[3] - down)
    return replace(scene, camera=_camera(plates, size, smaller, *view))


def _points(plates: Sequence[Plate], *, rows: bool) -> Floats:
    """Return the corners of plates and of their trays; `rows`: those of rows of activations too."""
    return np.concatenate([p.corners for p in plates] + [tray_of(p) for p in plates if rows or p.kind != "activation"])


def _distance(points: Floats, eye: tuple[float, float], least: float) -> float:
    """Return the distance of the eye: `eye[0]` for trays with the diagonal `eye[1]`, in proportion for others."""
    span = np.ptp(points, axis=0)
    return eye[0] * max(least, float(np.hypot(span[0], span[1])) / eye[1])


def _camera(plates: Sequence[Plate], size: Size, box: Rect, azimuth: float, elevation: float) -> Camera:
    points = _points(plates, rows=True)
    # right of the middle: the eye is over the biases, columns keep their width
    centre = points.min(0) + np.ptp(points, axis=0) * [0.64, 0.5, 0.5]
    distance = _distance(points, EYE, 0.5)
    return fit(points, size, box, azimuth=azimuth, elevation=elevation, distance=distance, centre=centre.tolist())
