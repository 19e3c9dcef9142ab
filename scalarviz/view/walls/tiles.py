"""Where the pictures of a wall stand, in rows that scroll, and one of them in the pixels of its place."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..ink.sketch import Box

Picture = NDArray[np.uint8]
ASPECT = 16 / 9
"""Of a picture of a window."""
USUAL = (1280.0, 720.0)
"""Logical pixels of a window that is no larger; a larger one scales everything."""


def scale_of(size: tuple[int, int]) -> float:
    """Device pixels of a logical one."""
    return max(1.0, min(size[0] / USUAL[0], size[1] / USUAL[1]))


def is_small(size: tuple[float, float]) -> bool:
    """Whether so many logical pixels are little room, and type is smaller."""
    return size[0] < 900 or size[1] < 500


class Look(NamedTuple):
    """Logical pixels around pictures; `keys`: the baseline of the line of keys, from below."""

    margin: float
    gap: float
    top: float
    foot: float
    caption: float
    keys: float
    bar: float = 0.0  # width of the bar that says where one is; without one, all pictures are seen
    least: float = 0.0  # square pixels of a picture that can be made out


@dataclass(frozen=True, slots=True)
class Grid:
    """The places of pictures in a window: rows that scroll as wholes, in logical pixels."""

    look: Look
    size: tuple[float, float]
    scale: float
    count: int
    columns: int
    rows: int  # that are seen at once
    first: int  # the row on top
    picture: tuple[float, float]
    left: float
    top: float

    @property
    def last(self) -> int:
        """The row that can be on top at most."""
        return max(0, -(-self.count // self.columns) - self.rows)

    @property
    def shown(self) -> range:
        """The pictures that are seen."""
        return range(self.first * self.columns, min((self.first + self.rows) * self.columns, self.count))

    def box(self, place: int) -> Box:
        """A picture that is seen, on whole device pixels; its caption stands below it."""
        row, column = divmod(place - self.first * self.columns, self.columns)
        wide, high = self.picture
        x = self.left + column * (wide + self.look.gap)
        y = self.top + row * (high + self.look.caption + self.look.gap)
        return round(x * self.scale) / self.scale, round(y * self.scale) / self.scale, wide, high

    @property
    def bar(self) -> tuple[Box, Box] | None:
        """The bar at the right and its part that is seen; None where all is seen."""
        if not self.last:
            return None
        look, rows = self.look, self.last + self.rows
        x, high = self.size[0] - look.bar - 4, self.size[1] - look.top - look.foot
        part = max(high * self.rows / rows, 16.0)
        return (x, look.top, 6.0, high), (x, look.top + (high - part) * self.first / self.last, 6.0, part)

    def to(self, place: int) -> int:
        """The row on top where a place is to be seen: as few rows away as possible."""
        row = place // self.columns
        return min(max(self.first, row - self.rows + 1), row)

    def beside(self, place: int, across: int, down: int) -> int:
        """The place so many columns, as one reads, and rows further; the nearest where there is none."""
        further = place + across + down * self.columns
        if down and not 0 <= further < self.count:
            last = self.columns * ((self.count - 1) // self.columns)
            further = place % self.columns + (0 if down < 0 else last)
        return min(max(further, 0), self.count - 1)


def grid_of(
    size: tuple[int, int], count: int, look: Look, aspect: float = ASPECT, columns: int | None = None, first: int = 0
) -> Grid:
    """The places of pictures whose width is `aspect` times their height, in a window of so many device pixels.

    Without `columns` all of them are seen, as large as that lets them be; where they would be too small to be made out
    there are rows to be scrolled to.
    """
    scale, margin, gap = scale_of(size), look.margin, look.gap
    wide, high = size[0] / scale, size[1] / scale
    room = max(wide - 2 * margin - look.bar, 40.0), max(high - look.top - look.foot, 40.0)

    def down(across: int) -> int:
        """How many rows all of them take."""
        return max(1, -(-count // across))

    def side(across: int, rows: int) -> float:
        """The width of a picture, so many of them beside and below each other."""
        tall = (room[1] - (rows - 1) * gap) / rows - look.caption
        return min((room[0] - (across - 1) * gap) / across, tall * aspect)

    scrolls, wanted = columns is not None, 0.0
    if columns is None:
        columns = max(range(1, max(count, 1) + 1), key=lambda across: side(across, down(across)))
        wanted, least = side(columns, down(columns)), math.sqrt(look.least * aspect)
        if wanted < least:
            columns, scrolls = max(1, int((room[0] + gap) // (least + gap))), True
    if scrolls:  # less than their columns let it be where half a row would be left empty
        wanted = side(columns, 1)
        rows = round((room[1] + gap) / (wanted / aspect + look.caption + gap))
        wanted = min(wanted, side(columns, min(down(columns), max(1, rows))))
    whole = int if look.bar else round
    picture = max(float(whole(wanted)), 8.0), max(float(whole(wanted / aspect)), 5.0)
    step = picture[1] + look.caption + gap
    rows = max(1, int((room[1] + gap) // step)) if look.bar else down(columns)
    left = margin + max(0.0, (room[0] - columns * picture[0] - (columns - 1) * gap) / 2)
    top = look.top + (0.0 if look.bar else max(0.0, room[1] - rows * step + gap) / 2)
    first = min(max(first, 0), max(0, down(columns) - rows))
    return Grid(look, (wide, high), scale, count, columns, rows, first, picture, left, top)


def fitting(picture: Picture, size: tuple[int, int]) -> Picture:
    """A picture in another width and height, averaged, so that drawing it loses no lines."""
    from PIL import Image

    way = Image.Resampling.BOX if size < picture.shape[1::-1] else Image.Resampling.BILINEAR
    return np.asarray(Image.fromarray(picture).resize(size, way))


class Face:
    """A picture, and the same in the device pixels of the box where it stood last."""

    def __init__(self, picture: Picture) -> None:
        self.picture = self._fitted = picture

    def fitted(self, box: Box, scale: float) -> Picture:
        """The picture in the device pixels of a box."""
        size = max(1, round(box[2] * scale)), max(1, round(box[3] * scale))
        if self._fitted.shape[1::-1] != size:
            self._fitted = fitting(self.picture, size)
        return self._fitted
