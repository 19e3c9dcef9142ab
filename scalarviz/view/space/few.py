"""A few weights: cubes on a tray, seen in perspective from above, each large enough for its number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...run.core.frame import Tensor
from .arrangement import LYING, LYING_TURNED, Arrangement, inner, plate_for, row_plate, tray_of
from .camera import Camera, Rect, Size, fit
from .chain import ChainLayer
from .gallery import shelves
from .plate import Floats, Plate

HALF = 0.40
AZIMUTH, ELEVATION = -10.0, 48.0
DISTANCE = 17.0
"""Of the eye, in pitches, for 3x3 weights with their biases; proportionally further away for larger plates."""
SPAN = 5.55
"""Diagonal of those trays in pitches."""
ROW_GAP, ROW_DEPTH = 1.35, 0.12
"""From a layer to its row of activations and on to the next layer; half the thickness of a row."""
BEHIND = 1.75
"""From a row of activations to a layer that stands in front of it and would hide it."""
BIAS_GAP = 1.27
"""From the last column of weights to the biases."""
MOST = 150.0
"""Pixels of a pitch at 1280x720 at most."""


def one_layer(layer: ChainLayer, size: Size, box: Rect) -> Arrangement:
    """One layer: a row reads as its formula, products, then bias; the rest of the row is text to the right of it."""
    weight = plate_for(layer.weight, "weight", (0.0, 0.0, HALF), LYING, HALF)
    plates = [weight]
    lines: list[Floats] = []
    rows, cols = weight.grid.cells
    end = cols - 1 + 0.5
    if layer.bias is not None:
        bias = plate_for(layer.bias, "bias", (cols - 1 + BIAS_GAP, 0.0, HALF), LYING, HALF, strip=True)
        plates.append(bias)
        end = cols - 1 + BIAS_GAP
    if not weight.grid.folded:  # one trace per output along the tray
        ends = [[[-0.5, -row, 0.0], [end, -row, 0.0]] for row in range(rows)]
        lines.append(np.array(ends))
    room = inner(box, 85, 35, 226, 0)
    return _bounded(Arrangement(_camera(plates, size, room), plates, True, lines), size, room)


def few_chain(chain: Sequence[ChainLayer], size: Size, box: Rect) -> Arrangement:
    """Several small layers on trays: to the right, then down, then right again; lines from row to plate are straight.

    As in the standing chain each output axis is the next layer's input axis.
    """
    scene = _Flat()
    first = chain[0].weight.shape[1]
    scene.row(chain[0].source, first, np.array([0.0, -BEHIND]), outputs_down=False)
    scene.trace(np.array([0.0, -BEHIND]), np.array([0.0, -0.5]), first, outputs_down=False)
    place = np.zeros(2)  # across, down
    for index, layer in enumerate(chain):
        place = scene.layer(layer, place, outputs_down=index % 2 == 0, last=index + 1 == len(chain))
    camera = _camera(scene.plates, size, inner(box, 85, 45, 85, 0))
    return Arrangement(camera, scene.plates, True, scene.lines)


class _Flat:
    """Lying layers, one after the other. Places are (across, down) in pitches."""

    def __init__(self) -> None:
        self.plates: list[Plate] = []
        self.lines: list[Floats] = []

    def layer(self, layer: ChainLayer, place: Floats, *, outputs_down: bool, last: bool) -> Floats:
        """Add a layer; return the place of the next one."""
        axes = LYING if outputs_down else LYING_TURNED
        along = np.array([1.0, 0.0]) if outputs_down else np.array([0.0, 1.0])
        weight = plate_for(layer.weight, "weight", _lay(place, HALF), axes, HALF)
        self.plates.append(weight)
        end = place + along * (weight.grid.cells[1] - 1)
        if layer.bias is not None:
            end = end + along * BIAS_GAP
            self.plates.append(plate_for(layer.bias, "bias", _lay(end, HALF), axes, HALF, strip=True))
        end = end + along * ROW_GAP
        self.row(layer.row, layer.outputs, end, outputs_down=outputs_down)
        gap = ROW_GAP if outputs_down else BEHIND
        stop = end if last else end + along * (gap - 0.5)
        self.trace(place - along * 0.5, stop, layer.outputs, outputs_down=outputs_down)
        return np.asarray(end + along * gap)

    def row(self, name: str, count: int, place: Floats, *, outputs_down: bool) -> None:
        """The cubes of one layer's outputs, from `place` on."""
        axes = LYING if outputs_down else LYING_TURNED
        self.plates.append(row_plate(name, count, _lay(place, ROW_DEPTH), axes, HALF, ROW_DEPTH))

    def trace(self, start: Floats, stop: Floats, count: int, *, outputs_down: bool) -> None:
        """Lines side by side on the tray, one for each output."""
        step = np.arange(count)[:, None] * (np.array([0.0, 1.0]) if outputs_down else np.array([1.0, 0.0]))
        ends = np.stack([start + step, stop + step], axis=1)
        self.lines.append(np.concatenate([ends * [1.0, -1.0], np.zeros((count, 2, 1))], axis=2))


def _lay(place: Floats, height: float) -> Floats:
    return np.array([place[0], -place[1], height])


def few_gallery(tensors: Sequence[Tensor], size: Size, box: Rect) -> Arrangement:
    """Up to 64 numbers that are no layer: blocks of cubes on trays, in shelves."""
    plates = [plate_for(t, "bias" if t.role == "bias" else "weight", (0, 0, HALF), LYING, HALF) for t in tensors]
    aspect = (box[2] - box[0]) / (box[3] - box[1]) / 1.3  # seen from above, depth is foreshortened
    spots = shelves([p.grid.cells for p in plates], gap=0.9, aspect=aspect)
    placed = [p.moved((col, -row, 0.0)) for p, (row, col) in zip(plates, spots, strict=True)]
    room = inner(box, 85, 35, 85, 0)
    return _bounded(Arrangement(_camera(placed, size, room), placed, True), size, room)


def _bounded(scene: Arrangement, size: Size, room: Rect) -> Arrangement:
    """The same smaller, where a single number would fill the picture."""
    largest, own = MOST * min(1.0, max(0.6, size[1] / 720)), scene.pixels_per_cube()
    if own <= largest:
        return scene
    share = 0.5 * (1.0 - largest / own)
    across, down = share * (room[2] - room[0]), share * (room[3] - room[1])
    smaller = (room[0] + across, room[1] + down, room[2] - across, room[3] - down)
    return replace(scene, camera=_camera(scene.plates, size, smaller))


def _camera(plates: Sequence[Plate], size: Size, box: Rect) -> Camera:
    points = np.concatenate([p.corners for p in plates] + [tray_of(p) for p in plates])
    low, span = points.min(0), np.ptp(points, axis=0)
    distance = DISTANCE * max(0.5, float(np.hypot(span[0], span[1])) / SPAN)
    centre = low + span * [0.64, 0.5, 0.5]  # right of the middle: the eye is over the biases, columns keep their width
    return fit(points, size, box, azimuth=AZIMUTH, elevation=ELEVATION, distance=distance, centre=centre.tolist())
