"""The points over a plane: where they are drawn, in which colours, and which one is under the pointer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...run.panels import PlaneMap, Points
from ..draw.maps import class_colours, signed_shades
from ..draw.places import Box
from ..draw.sketch import Sketch, rgba
from ..draw.theme import Theme

MOST = 2000
"""Points that are drawn at most."""
LEARNT, BACK = 7.6, 8.6
"""Diameters with their rims: of points that are learnt from, and of hollow ones that are held back."""
RING = 19.5
"""Diameter, with its edges, of the ring around the point whose way is drawn."""
_RINGED = 1.45
_REACH = 6.0  # from the middle of a point, in which it is under the pointer
_RIM = 1.0

Float = NDArray[np.floating]


class PlanePoints:
    """What is drawn of some points in a box.

    Parameters
    ----------
    panel : PlaneMap
    points : Points
    box : Box
        Of the map.
    theme : Theme

    Attributes
    ----------
    points : Points
    kept : ndarray of int
        Numbers of those that are drawn: inside of the plane, at most `MOST` of them, spread over all.
    centres : ndarray, shape (len(kept), 2)
        Logical pixels.
    """

    def __init__(self, panel: PlaneMap, points: Points, box: Box, theme: Theme) -> None:
        self.points = points
        places = np.asarray(points.x, float)
        low = np.array([panel.across.least, panel.up.least])
        size = np.array([panel.across.most, panel.up.most]) - low
        with np.errstate(invalid="ignore"):
            part = (places - low) / size
            inside = np.flatnonzero(((part >= 0) & (part <= 1)).all(axis=1))
        if len(inside) > MOST:
            inside = inside[np.linspace(0, len(inside) - 1, MOST).astype(int)]
        self.kept = inside
        x, y, wide, high = box
        part = part[inside] * [1, -1] + [0, 1]
        self.centres: Float = (np.array([x, y]) + part * [wide, high]).astype(np.float32)
        self._back = points.back[inside]
        self._colours = _colours(panel, np.asarray(points.target)[inside], theme)
        self._theme = theme

    @property
    def shows_train(self) -> bool:
        """Whether some of those that are drawn are learnt from."""
        return not self._back.all()

    @property
    def shows_back(self) -> bool:
        """Whether some of those that are drawn are held back."""
        return bool(self._back.any())

    def sketches(self, *, back: bool) -> Sequence[Sketch]:
        """The points, hollow ones above, or without those that are held `back`."""
        sketch, ink = Sketch(), self._theme.ink
        plain, hollow = ~self._back, self._back
        sketch.discs(self.centres[plain], LEARNT, self._colours[plain], rim=ink, border=_RIM)
        if back and hollow.any():
            sketch.discs(self.centres[hollow], BACK, self._colours[hollow], rim=ink, border=_RIM, hollow=True)
        return [sketch]

    def ringed(self, number: int) -> Sketch | None:
        """One of those that are drawn once more, above all others and in a ring; None where it is not drawn."""
        sketch, theme = Sketch(), self._theme
        found = np.flatnonzero(self.kept == number)
        if not len(found):
            return None
        held, size = bool(self._back[found[0]]), BACK if self._back[found[0]] else LEARNT
        ring = np.array([rgba(theme.selection)[:3]], np.float32)
        sketch.discs(self.centres[found], RING, ring, rim=theme.background, border=_RINGED, hollow=True)
        sketch.discs(self.centres[found], size, self._colours[found], rim=theme.ink, border=_RIM, hollow=held)
        return sketch

    def at(self, point: tuple[float, float], *, back: bool) -> int | None:
        """Number of the point that is seen there, those that are held `back` or without them; None beside all."""
        away = np.hypot(self.centres[:, 0] - point[0], self.centres[:, 1] - point[1])
        away = np.where(self._back & (not back), np.inf, away)
        if not len(away) or away.min() > _REACH:
            return None
        return int(self.kept[int(np.argmin(away))])


def _colours(panel: PlaneMap, targets: NDArray[np.number], theme: Theme) -> Float:
    """Colours (N, 3) in 0..1: the whole range of the map, or the classes' own."""
    if not panel.classes:
        return np.asarray(signed_shades(targets[:, None], panel.span, theme)[:, 0] / 255.0)
    numbers = np.nan_to_num(targets.astype(float)).astype(int)
    found: Float = class_colours(len(panel.classes))[np.clip(numbers, 0, len(panel.classes) - 1)]
    return found
