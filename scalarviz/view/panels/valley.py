"""The loss over two weights: isolines, the way that was taken, the last step, and the ball."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..draw.places import LABEL, Box
from ..draw.sketch import Sketch
from ..draw.text import measure
from ..draw.theme import Theme, mixed
from .descent import Place, Span
from .loss import tick_text
from .slope import BALL, LEFT

Floats = NDArray[np.float64]
SIDE = 33
"""Places at which the loss is worked out, along each weight."""
LEVELS = 10
_FOOT = 20.0


def draw_valley(
    sketch: Sketch,
    box: Box,
    theme: Theme,
    names: Sequence[str],
    spans: Sequence[Span],
    losses: Floats,
    place: Place,
    ball: Floats,
    trail: Floats,
) -> None:
    """Draw it into `box`: the first weight to the right, the second upwards.

    Parameters
    ----------
    losses : ndarray, shape (SIDE, SIDE)
        Rows by the second weight, columns by the first, both rising.
    place : Place
    ball : ndarray, shape (2,)
        Where the ball is drawn: on its way to ``place.here``.
    trail : ndarray, shape (N, 2)
        Where it was.
    """
    left = max([LEFT, *(measure(tick_text(end), LABEL) + 8 for end in spans[1])])
    plot = (box[0] + left, box[1] + 4, box[2] - left, box[3] - 4 - _FOOT)
    sketch.rect(*plot, fill=theme.panel, stroke=theme.border)
    for number, level in enumerate(levels(losses)):
        starts, ends = isoline(losses, level)
        ink = mixed(theme.text2, theme.panel, 0.85 - 0.6 * number / LEVELS)
        sketch.lines(_pixels(starts, plot), _pixels(ends, plot), ink, 1.4 if number == 0 else 1.0)
    _names(sketch, plot, theme, names, spans)

    def at(places: Floats) -> Floats:
        low, wide = np.array(spans)[:, 0], np.diff(np.array(spans), axis=1)[:, 0]
        return _pixels((SIDE - 1) * (places - low) / wide, plot)

    inside = np.array([[low <= p <= high for p, (low, high) in zip(row, spans, strict=True)] for row in trail])
    way = trail[inside.all(axis=1)] if len(trail) else trail
    if len(way):
        path = at(way)
        sketch.polyline(path, theme.flow, 1.6)
        for point in path:
            sketch.disc(float(point[0]), float(point[1]), 2.5, theme.text3)
    if place.before is not None and np.isfinite([*place.before, *place.here]).all():
        start, end = at(np.array([place.before, place.here]))
        sketch.line(start, end, theme.pulse, 2.0)
        sketch.disc(float(start[0]), float(start[1]), 5.0, theme.background, stroke=theme.pulse, border=1.8)
    elif place.gradient is not None and place.gradient.any():
        _downhill(sketch, plot, theme, at(place.here[None])[0], place.gradient, spans)
    if np.isfinite(ball).all():
        x, y = at(ball[None])[0].tolist()
        sketch.disc(x, y, BALL, theme.text1, stroke=theme.background, border=1.5)


def _downhill(sketch: Sketch, plot: Box, theme: Theme, start: Floats, gradient: Floats, spans: Sequence[Span]) -> None:
    """The gradient's own direction, against which the step will go."""
    wide = np.array([high - low for low, high in spans])
    way = gradient / wide * np.array([plot[2], -plot[3]])
    way = way / max(float(np.hypot(*way)), 1e-12)
    sketch.arrow(start.tolist(), (start - 46.0 * way).tolist(), theme.pulse, 2.0)


def levels(losses: Floats) -> Floats:
    """Where isolines are drawn, rising: closer together where the loss is low."""
    finite = losses[np.isfinite(losses)]
    if not finite.size or finite.min() == finite.max():
        return np.zeros(0)
    low, high = float(finite.min()), float(finite.max())
    return low + (high - low) * ((np.arange(LEVELS) + 0.5) / LEVELS) ** 2


def isoline(values: Floats, level: float) -> tuple[Floats, Floats]:
    """Where `values` (H, W) are `level`, between their places: starts and ends of straight pieces, (N, 2) each.

    Points are (column, row). Each cell of four values is cut into two triangles, so no case is ambiguous; a triangle
    with a number that is not finite has no line.
    """
    rows, columns = values.shape
    row, column = (part.ravel() for part in np.mgrid[: rows - 1, : columns - 1])
    first = [(0, 0), (0, 1), (1, 0)]
    second = [(1, 1), (1, 0), (0, 1)]
    starts, ends = [], []
    for corners in (first, second):
        points = np.array([[column + dx, row + dy] for dy, dx in corners], np.float64)  # (3, 2, cells)
        heights = np.array([values[row + dy, column + dx] for dy, dx in corners])  # (3, cells)
        above = heights > level
        cut = np.isfinite(heights).all(axis=0) & (above.any(axis=0) & ~above.all(axis=0))
        points, heights, above = points[:, :, cut], heights[:, cut], above[:, cut]
        alone = np.where(above.sum(axis=0) == 1, above.argmax(axis=0), (~above).argmax(axis=0))
        cells = np.arange(points.shape[2])
        tip, top = points[alone, :, cells], heights[alone, cells]
        both = []
        for step in (1, 2):
            other = (alone + step) % 3
            share = (level - top) / (heights[other, cells] - top)
            both.append(tip + (points[other, :, cells] - tip) * share[:, None])
        starts.append(both[0])
        ends.append(both[1])
    return np.concatenate(starts), np.concatenate(ends)


def _pixels(places: Floats, plot: Box) -> Floats:
    """Columns and rows of the grid (N, 2) as pixels."""
    x, y, width, height = plot
    across, up = places.reshape(-1, 2).T / (SIDE - 1)
    return np.stack([x + width * across, y + height * (1 - up)], axis=1)


def _names(sketch: Sketch, plot: Box, theme: Theme, names: Sequence[str], spans: Sequence[Span]) -> None:
    """Both weights at their ends."""
    x, y, width, height = plot
    (left, right), (low, high) = spans
    base = y + height + 16
    sketch.text(x, base, tick_text(left), LABEL, theme.text3)
    sketch.text(x + width / 2, base, names[0], LABEL, theme.text2, bold=True, anchor="middle")
    sketch.text(x + width, base, tick_text(right), LABEL, theme.text3, anchor="right")
    sketch.text(x - 7, y + 10, tick_text(high), LABEL, theme.text3, anchor="right")
    sketch.text(x - 7, y + height / 2 + 5, names[1], LABEL, theme.text2, bold=True, anchor="right")
    sketch.text(x - 7, y + height, tick_text(low), LABEL, theme.text3, anchor="right")
