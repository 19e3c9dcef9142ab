"""A few weights: cubes on a tray, seen in perspective from above, each large enough for its number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scalarviz.run.frame import Tensor

from .camera import Camera, Rect, Size, fit
from .layout_chain import ChainLayer
from .layout_gallery import shelves
from .layout_plate import Floats, Plate
from .layout_scene import LYING, Arrangement, inner, plate_for, tray_of

HALF = 0.40
AZIMUTH, ELEVATION = -10.0, 48.0
DISTANCE = 17.0
"""Of the eye, in pitches, for 3x3 weights with their biases; larger plates are seen from proportionally further away."""
BIAS_GAP = 1.27
"""From the last column of weights to the biases."""


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
    return Arrangement(_camera(plates, size, inner(box, 85, 35, 228, 0)), plates, True, lines)


def few_gallery(tensors: Sequence[Tensor], size: Size, box: Rect) -> Arrangement:
    """Up to 64 numbers that are no layer: blocks of cubes on trays, in shelves."""
    plates = [plate_for(t, "bias" if t.role == "bias" else "weight", (0, 0, HALF), LYING, HALF) for t in tensors]
    aspect = (box[2] - box[0]) / (box[3] - box[1]) / 1.3  # seen from above, depth is foreshortened
    spots = shelves([p.grid.cells for p in plates], gap=0.9, aspect=aspect)
    placed = [p.moved((col, -row, 0.0)) for p, (row, col) in zip(plates, spots, strict=True)]
    return Arrangement(_camera(placed, size, inner(box, 85, 35, 85, 0)), placed, True)


def _camera(plates: Sequence[Plate], size: Size, box: Rect) -> Camera:
    points = np.concatenate([p.corners for p in plates] + [tray_of(p) for p in plates])
    span = np.ptp(points, axis=0)
    distance = DISTANCE * max(0.5, float(np.hypot(span[0], span[1])) / 6.6)
    return fit(points, size, box, azimuth=AZIMUTH, elevation=ELEVATION, distance=distance)
