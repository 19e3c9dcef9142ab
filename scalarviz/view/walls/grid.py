"""Where things stand on the wall: pure numbers in logical pixels."""

from __future__ import annotations

from dataclasses import dataclass

from ..ink.sketch import Box, holds

ASPECT = 16 / 9
"""Of a picture on the wall."""
USUAL = (1280.0, 720.0)
"""Logical pixels of a window that is no larger; a larger one scales everything."""


@dataclass(frozen=True, slots=True)
class Grid:
    """The places of a wall.

    Attributes
    ----------
    size : (float, float)
        Logical pixels of the whole.
    scale : float
        Device pixels of one logical pixel.
    margin : float
        Around everything.
    columns : int
    tiles : tuple of Box
        Of the pictures; their captions stand below them.
    caption : float
        Height of a caption.
    small : bool
        Whether there is little room, and type is smaller.
    """

    size: tuple[float, float]
    scale: float
    margin: float
    columns: int
    tiles: tuple[Box, ...]
    caption: float
    small: bool

    @property
    def head(self) -> float:
        """Baseline of the title."""
        return 30.0 if self.small else 48.0

    @property
    def foot(self) -> float:
        """Baseline of the line of keys."""
        return self.size[1] - (14.0 if self.small else 17.0)

    def at(self, point: tuple[float, float]) -> int | None:
        """The tile under a point in device pixels, its caption included."""
        at = point[0] / self.scale, point[1] / self.scale
        boxes = ((left, top, wide, high + self.caption) for left, top, wide, high in self.tiles)
        return next((number for number, box in enumerate(boxes) if holds(box, at)), None)

    def beside(self, tile: int, across: int, down: int) -> int:
        """The tile that stands so many columns and rows further; the same where there is none."""
        row, column = divmod(tile, self.columns)
        if across:  # along the rows as one reads
            return min(max(tile + across, 0), len(self.tiles) - 1)
        further = (row + down) * self.columns + column
        if down > 0 and further >= len(self.tiles) and (row + 1) * self.columns < len(self.tiles):
            return len(self.tiles) - 1  # the last row is shorter
        return further if 0 <= further < len(self.tiles) else tile


def grid_of(size: tuple[int, int], count: int) -> Grid:
    """The places of `count` pictures in a window of so many device pixels: as large as they can be."""
    scale = max(1.0, min(size[0] / USUAL[0], size[1] / USUAL[1]))
    wide, high = size[0] / scale, size[1] / scale
    small = wide < 900 or high < 500
    margin, gap, caption = (12.0, 10.0, 20.0) if small else (24.0, 18.0, 28.0)
    top, bottom = (56.0, 40.0) if small else (96.0, 46.0)
    room = max(wide - 2 * margin, 40.0), max(high - top - bottom, 40.0)
    best, columns = 0.0, 1
    for tried in range(1, max(count, 1) + 1):
        rows = -(-count // tried)
        across = (room[0] - gap * (tried - 1)) / tried
        down = ((room[1] - gap * (rows - 1)) / max(rows, 1) - caption) * ASPECT
        if min(across, down) > best:
            best, columns = min(across, down), tried
    side = max(round(best), 8), max(round(best / ASPECT), 5)
    rows = -(-count // columns)
    left = (wide - columns * side[0] - (columns - 1) * gap) / 2
    over = max(0.0, room[1] - rows * (side[1] + caption) - (rows - 1) * gap) / 2
    tiles = []
    for number in range(count):
        row, column = divmod(number, columns)
        x, y = left + column * (side[0] + gap), top + over + row * (side[1] + caption + gap)
        tiles.append((_whole(x, scale), _whole(y, scale), float(side[0]), float(side[1])))
    return Grid((wide, high), scale, margin, columns, tuple(tiles), caption, small)


def _whole(place: float, scale: float) -> float:
    """A place on a whole device pixel."""
    return round(place * scale) / scale
