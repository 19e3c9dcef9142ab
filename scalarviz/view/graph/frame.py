"""`View`: which part of a figure a window shows, at which size; moved and enlarged by hands, never lost."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..ink.sketch import Point

LEAST, MOST = 0.05, 4.0
"""Pixels that one of the figure may become."""
LARGEST = 1.5
"""And where all of it is shown."""
SEEN = 60.0
"""So much of the figure stays in the window."""


@dataclass(frozen=True, slots=True)
class View:
    """A figure in a window.

    Attributes
    ----------
    figure, window : (float, float)
        Width and height of both.
    scale : float
    left, top : float
        Where the figure's corner is in the window.
    """

    figure: tuple[float, float]
    window: tuple[float, float]
    scale: float
    left: float
    top: float

    @classmethod
    def whole(cls, figure: tuple[float, float], window: tuple[float, float]) -> View:
        """All of it, in the middle."""
        scale = max(min(window[0] / figure[0], window[1] / figure[1], LARGEST), LEAST)
        left, top = ((room - scale * side) / 2 for room, side in zip(window, figure, strict=True))
        return cls(figure, window, scale, left, top)

    @classmethod
    def readable(cls, figure: tuple[float, float], window: tuple[float, float], least: float) -> View:
        """All of it, never enlarged; of a figure that would be smaller than `least` the upper left part."""
        scale = max(min(window[0] / figure[0], window[1] / figure[1], 1.0), least)
        return cls(figure, window, scale, 0.0, 0.0).within()

    @property
    def fitting(self) -> float:
        """The scale at which all of it is seen."""
        return min(room / side for room, side in zip(self.window, self.figure, strict=True))

    def within(self, by: Point = (0.0, 0.0)) -> View:
        """Moved without showing more of what is beside it than there is: in the middle where there is room."""
        kept = []
        for at, move, side, room in zip((self.left, self.top), by, self.figure, self.window, strict=True):
            free = room - side * self.scale
            kept.append(free / 2 if free > 0 else min(max(at + move, free), 0.0))
        return replace(self, left=kept[0], top=kept[1])

    def on(self, at: Point) -> Point:
        """A point of the window in the figure's own pixels."""
        return (at[0] - self.left) / self.scale, (at[1] - self.top) / self.scale

    def moved(self, by: Point) -> View:
        """Moved by pixels of the window."""
        return self._kept(self.left + by[0], self.top + by[1], self.scale)

    def zoomed(self, factor: float, at: Point) -> View:
        """Larger or smaller, the point under `at` where it is."""
        scale = min(max(self.scale * factor, LEAST), MOST)
        x, y = self.on(at)
        return self._kept(at[0] - x * scale, at[1] - y * scale, scale)

    def of(self, figure: tuple[float, float]) -> View:
        """Another figure in the place of this one."""
        return replace(self, figure=figure)._kept(self.left, self.top, self.scale)

    def showing(self, figure: tuple[float, float], part: tuple[float, float, float, float]) -> View:
        """Another figure, a part of which (left, top, right, bottom) is in the middle, and whole; never enlarged."""
        left, top, right, bottom = part
        wide, high = right - left + 2 * SEEN, bottom - top + 2 * SEEN
        scale = max(min(self.scale, self.window[0] / wide, self.window[1] / high), LEAST)
        middle = (left + right) / 2, (top + bottom) / 2
        x, y = (room / 2 - scale * at for room, at in zip(self.window, middle, strict=True))
        return replace(self, figure=figure)._kept(x, y, scale)

    def _kept(self, left: float, top: float, scale: float) -> View:
        """With a part of the figure in the window."""
        kept = []
        for at, side, room in zip((left, top), self.figure, self.window, strict=True):
            seen = min(SEEN, side * scale, room)
            kept.append(min(max(at, seen - side * scale), room - seen))
        return View(self.figure, self.window, scale, kept[0], kept[1])
