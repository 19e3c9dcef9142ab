"""The picture of a plane: numbers on a grid as colours, and the line where the answer changes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...run.panels import PlaneMap
from ...run.source import Moment
from ..draw.contour import Floats, zero_lines
from ..draw.maps import class_shades, signed_shades
from ..draw.sketch import Box, Sketch, rgba
from ..draw.theme import Theme

SHARE = 0.62
"""Of the colour map's range that the ground uses, so that points in the whole range stand out."""
LINE = 1.6


def answers(panel: PlaneMap, moment: Moment, outputs: NDArray[np.floating]) -> NDArray[np.floating]:
    """What is drawn of outputs (N, n_outputs): one of them (N, 1), or the probabilities of the classes (N, n)."""
    if not panel.classes:
        return outputs[:, panel.output : panel.output + 1]
    stages = moment.source.stages
    numbers = np.asarray(outputs[:, : len(panel.classes)], float)
    if stages and stages[-1].kind == "softmax":
        return numbers
    with np.errstate(invalid="ignore", over="ignore"):
        raised = np.exp(numbers - numbers.max(axis=1, keepdims=True))
        return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def finer(rows: NDArray[np.floating], times: int) -> NDArray[np.floating]:
    """Answers (H, W, k) on a grid with so many times as many cells in each direction, straight between the middles."""
    found = rows
    for axis in (0, 1):
        count = found.shape[axis]
        at = np.clip((np.arange(count * times) + 0.5) / times - 0.5, 0, count - 1)
        low = np.minimum(at.astype(int), max(count - 2, 0))
        part = (at - low).reshape(-1, *[1] * (2 - axis))
        first, second = (np.take(found, np.minimum(low + k, count - 1), axis) for k in (0, 1))
        found = first + part * (second - first)
    return found


def shades(panel: PlaneMap, rows: NDArray[np.floating], theme: Theme, *, hard: bool = False) -> NDArray[np.uint8]:
    """Colours (H, W, 3) of answers (H, W, k); `hard`: as if each answer were certain."""
    if panel.classes:
        return class_shades(rows, theme, SHARE, hard=hard)
    values, (low, high) = rows[..., 0], panel.span
    if hard:
        values = np.where(np.isnan(values), values, np.where(values > (low + high) / 2, high, low))
    return signed_shades(values, panel.span, theme, SHARE)


def boundary(panel: PlaneMap, rows: NDArray[np.floating]) -> tuple[Floats, Floats]:
    """Where the answer changes, as pieces of lines over the unit square: starts and ends (K, 2), y downwards."""
    side = np.array([rows.shape[1], rows.shape[0]])
    if not panel.classes:
        grids = [rows[..., 0] - sum(panel.span) / 2]
    else:
        ordered = np.sort(rows, axis=-1)
        best = rows == ordered[..., -1:]
        others = np.where(best, ordered[..., -2:-1], ordered[..., -1:])
        grids = [rows[..., k] - others[..., k] for k in range(rows.shape[-1])]
    found = [zero_lines(grid) for grid in grids]
    starts, ends = (np.concatenate([pieces[k] for pieces in found]) for k in (0, 1))
    return (starts + 0.5) / side, (ends + 0.5) / side


def boundary_sketch(box: Box, pieces: tuple[Floats, Floats], theme: Theme) -> Sketch:
    """That line over a picture in `box`, with an edge that keeps it apart from the ground."""
    sketch = Sketch(over=True)
    corner, size = np.array(box[:2]), np.array(box[2:])
    starts, ends = (corner + part * size for part in pieces)
    sketch.lines(starts, ends, rgba(theme.background, 0.55), LINE + 1.6, round_ends=True)
    sketch.lines(starts, ends, theme.selection, LINE, round_ends=True)
    return sketch
