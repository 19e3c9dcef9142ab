"""What panels share that draw points over one number: the point under the pointer, and a line inside its box."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ...run.panels import Panel
from .drawer import Drawer, Ground, Point

Floats = NDArray[np.float64]
P = TypeVar("P", bound=Panel)


class SpotsDrawer(Drawer[P]):
    """Points that a pointer finds.

    Attributes
    ----------
    near : float
        Logical pixels within which one is meant.
    """

    near = 9.0

    def __init__(self, panel: P, ground: Ground) -> None:
        super().__init__(panel, ground)
        self._spots: Floats = np.zeros((0, 2))
        self._over: int | None = None

    def _point(self, at: Point | None) -> int | None:
        if at is None or not len(self._spots):
            return None
        away = np.hypot(*(self._spots - at).T)
        return int(away.argmin()) if away.min() <= self.near else None

    def hover(self, at: Point | None) -> bool:
        """A point under the pointer says what it is."""
        before, self._over = self._over, self._point(at)
        return before != self._over


def inside(x: Floats, y: Floats, span: tuple[float, float]) -> tuple[Floats, Floats]:
    """A line through points, cut where it leaves `span` upwards or downwards: starts and ends, (N, 2) each."""
    ends = np.stack([np.stack([x[:-1], y[:-1]], 1), np.stack([x[1:], y[1:]], 1)])
    known = np.isfinite(ends).all(axis=(0, 2))
    crosses = known & (ends[:, :, 1].max(axis=0) >= span[0]) & (ends[:, :, 1].min(axis=0) <= span[1])
    ends = ends[:, crosses]
    (x0, y0), (x1, y1) = ends[0].T, ends[1].T
    rise = np.where(y1 == y0, 1.0, y1 - y0)
    found = []
    for here in (y0, y1):
        height = np.clip(here, *span)  # where it leaves, exactly there, however steep it is
        share = np.where(y1 == y0, 0.0 if here is y0 else 1.0, (height - y0) / rise)
        found.append(np.stack([x0 + np.clip(share, 0.0, 1.0) * (x1 - x0), height], axis=1))
    return found[0], found[1]
