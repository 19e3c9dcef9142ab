"""Where the runs stand on their wall: rows that scroll as wholes, in logical pixels."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from ..draw.sketch import Box, holds
from ..rooms.grid import USUAL

MARGIN, GAP, BAR = 24.0, 14.0, 12.0
"""Around everything, between two pictures, and of the bar at the right that says where one is."""
TOP, FOOT, CAPTION = 92.0, 40.0, 22.0
LEAST = 13_000.0
"""Square pixels of a picture that can be made out."""


@dataclass(frozen=True, slots=True)
class RunGrid:
    """The places of some runs in a window.

    Attributes
    ----------
    size : (float, float)
        Logical pixels of the window.
    scale : float
        Device pixels of one of them.
    count, columns, rows : int
        Runs, and how many pictures stand side by side and, at once, below each other.
    first : int
        The row on top.
    picture : (float, float)
        Width and height of a picture; its caption stands below it.
    left : float
        Where the first column begins.
    """

    size: tuple[float, float]
    scale: float
    count: int
    columns: int
    rows: int
    first: int
    picture: tuple[float, float]
    left: float

    @property
    def last(self) -> int:
        """The row that can be on top at most."""
        return max(0, -(-self.count // self.columns) - self.rows)

    @property
    def shown(self) -> range:
        """The runs that are seen."""
        return range(self.first * self.columns, min((self.first + self.rows) * self.columns, self.count))

    def box(self, place: int) -> Box:
        """The picture at a place that is seen."""
        row, column = divmod(place - self.first * self.columns, self.columns)
        wide, high = self.picture
        x, y = self.left + column * (wide + GAP), TOP + row * (high + CAPTION + GAP)
        return round(x * self.scale) / self.scale, round(y * self.scale) / self.scale, wide, high

    @property
    def bar(self) -> tuple[Box, Box] | None:
        """The bar at the right and its part that is seen; None where all is seen."""
        if not self.last:
            return None
        x, high = self.size[0] - BAR - 4, self.size[1] - TOP - FOOT
        rows = self.last + self.rows
        part = max(high * self.rows / rows, 16.0)
        return (x, TOP, 6.0, high), (x, TOP + (high - part) * self.first / self.last, 6.0, part)

    def at(self, point: tuple[float, float]) -> int | None:
        """The place under a point in device pixels, its caption included."""
        at = point[0] / self.scale, point[1] / self.scale
        boxes = ((place, self.box(place)) for place in self.shown)
        return next((place for place, (x, y, wide, high) in boxes if holds((x, y, wide, high + CAPTION), at)), None)

    def row_at(self, point: tuple[float, float]) -> int | None:
        """The row on top where the bar is taken hold of at a point; None beside the bar."""
        if self.bar is None:
            return None
        (left, top, wide, high), _ = self.bar
        x, y = point[0] / self.scale, point[1] / self.scale
        inside = left - 6 <= x <= left + wide + 6 and top <= y <= top + high
        return round(self.last * min(max((y - top) / high, 0.0), 1.0)) if inside else None

    def to(self, place: int) -> int:
        """The row on top where a place is to be seen: as few rows away as possible."""
        row = place // self.columns
        return min(max(self.first, row - self.rows + 1), row)

    def beside(self, place: int, across: int, down: int) -> int:
        """The place so many columns and rows further; the nearest where there is none."""
        further = place + across + down * self.columns
        if down and not 0 <= further < self.count:
            column = place % self.columns
            further = (
                column if down < 0 else min(self.count - 1, self.columns * ((self.count - 1) // self.columns) + column)
            )
        return min(max(further, 0), self.count - 1)


def run_grid(size: tuple[int, int], count: int, aspect: float, columns: int | None = None, first: int = 0) -> RunGrid:
    """The places of pictures whose width is `aspect` times their height, in a window of so many device pixels.

    Without `columns` all of them are seen, as large as that lets them be; where they would be too small to be made out
    there are rows to be scrolled to.
    """
    scale = max(1.0, min(size[0] / USUAL[0], size[1] / USUAL[1]))
    window = size[0] / scale, size[1] / scale
    room = max(window[0] - 2 * MARGIN - BAR, 40.0), max(window[1] - TOP - FOOT, 40.0)

    def side(across: int, down: int) -> float:
        """The width of a picture, so many of them beside and below each other."""
        high = (room[1] - (down - 1) * GAP) / down - CAPTION
        return min((room[0] - (across - 1) * GAP) / across, high * aspect)

    if columns is None:
        columns = max(range(1, max(count, 1) + 1), key=lambda across: side(across, -(-max(count, 1) // across)))
        wide = side(columns, -(-max(count, 1) // columns))
        least = math.sqrt(LEAST * aspect)
        if wide < least:
            columns = max(1, int((room[0] + GAP) // (least + GAP)))
            wide = _of_rows(columns, side, room[1], count, aspect)
    else:
        wide = _of_rows(columns, side, room[1], count, aspect)
    picture = max(float(int(wide)), 8.0), max(float(int(wide / aspect)), 5.0)
    rows = max(1, int((room[1] + GAP) // (picture[1] + CAPTION + GAP)))
    left = MARGIN + max(0.0, (room[0] - columns * picture[0] - (columns - 1) * GAP) / 2)
    last = max(0, -(-count // columns) - rows)
    return RunGrid(window, scale, count, columns, rows, min(max(first, 0), last), picture, left)


def _of_rows(columns: int, side: Callable[[int, int], float], high: float, count: int, aspect: float) -> float:
    """The width of pictures in rows that scroll; less than their columns let it be where half a row is left empty."""
    wide, needed = side(columns, 1), max(1, -(-count // columns))
    rows = round((high + GAP) / (wide / aspect + CAPTION + GAP))
    return min(wide, side(columns, min(needed, max(1, rows))))
