"""`Taken`: which parts of a scene are covered already, so that a text finds a place where it hides nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..ink.sketch import Box
from ..space.camera import convex_hull

Floats = NDArray[np.float64]
_CELL = 4.0  # pixels of a cell of the map
_LONGEST = 4096  # points of a line: zoomed in by hand, most of it is outside


class Taken:
    """Which parts of the scene are covered, on a coarse raster. Lines count little, cubes and texts fully."""

    def __init__(self, box: Box) -> None:
        self.box = box
        self._cost = np.zeros((int(box[3] / _CELL) + 2, int(box[2] / _CELL) + 2), np.float32)
        rows, columns = np.indices(self._cost.shape)
        self._x, self._y = box[0] + (columns + 0.5) * _CELL, box[1] + (rows + 0.5) * _CELL

    def add_polygon(self, corners: Floats) -> None:
        """Mark the convex hull of points (N, 2), with a little air around it."""
        ring = convex_hull(corners)
        low, high = corners.min(axis=0) - 2 * _CELL, corners.max(axis=0) + 2 * _CELL
        limit = np.array(self._cost.shape[::-1]) * _CELL + 4 * _CELL
        low, high = (np.clip(c, np.array(self.box[:2]) - 4 * _CELL, self.box[:2] + limit) for c in (low, high))
        part = self._window((low[0], low[1], high[0] - low[0], high[1] - low[1]))
        across, down = self._x[part], self._y[part]
        inside = np.ones(across.shape, bool)
        for p, q in zip(ring, np.roll(ring, -1, axis=0), strict=True):
            edge = q - p
            length = float(np.hypot(*edge)) or 1.0
            distance = (edge[0] * (down - p[1]) - edge[1] * (across - p[0])) / length
            inside &= distance > -_CELL
        self._cost[part][inside] += 1.0

    def add_line(self, start: Floats, end: Floats) -> None:
        """Mark a thin line."""
        count = min(max(2, int(np.hypot(*(end - start)) / _CELL) + 1), _LONGEST)
        points = start + np.linspace(0, 1, count)[:, None] * (end - start)
        at = (np.clip(points - self.box[:2], -1e6, 1e6) / _CELL).astype(int)
        inside = np.all((at >= 0) & (at < np.array(self._cost.shape)[::-1]), axis=1)
        self._cost[at[inside, 1], at[inside, 0]] += 0.12

    def add_box(self, box: Box) -> None:
        """Mark a rectangle as full."""
        self._cost[self._window(box)] += 1.0

    def cost(self, box: Box) -> float:
        """Covered cells below `box`; infinite when it leaves the scene."""
        x, y, width, height = box
        left, top, wide, high = self.box
        if x < left + 4 or y < top or x + width > left + wide - 4 or y + height > top + high:
            return float("inf")
        return float(self._cost[self._window(box)].sum())

    def _window(self, box: Box) -> tuple[slice, slice]:
        left, top = (int((box[k] - self.box[k]) / _CELL) for k in (0, 1))
        right, bottom = (int((box[k] + box[k + 2] - self.box[k]) / _CELL) + 1 for k in (0, 1))
        return slice(max(top, 0), max(bottom, 0)), slice(max(left, 0), max(right, 0))
