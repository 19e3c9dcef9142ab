"""Numbers of a matrix or a row as small squares in one line of a tree, and which of them is under the pointer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...run.questions.ranges import Range, extent
from ..draw.maps import Colormap, get_map
from ..draw.places import Box
from ..draw.sketch import Sketch
from ..draw.theme import Theme
from .tree_rows import CELL, LINE, MOST, reduced

Floats = NDArray[np.float64]
_WIDEST, _BARS = 9.0, 32


@dataclass(frozen=True, slots=True, eq=False)
class Spot:
    """Where some numbers stand, each by itself.

    Attributes
    ----------
    box : Box
        Left and top, width and height of one of them.
    name, what : str
        Of the tensor or stage, and what the numbers are.
    numbers : ndarray, two-dimensional
    """

    box: Box
    name: str
    what: str
    numbers: Floats

    def number(self, at: tuple[float, float]) -> tuple[int, int] | None:
        """Row and column of the number at a point."""
        left, top, wide, high = self.box
        row, column = int((at[1] - top) // high), int((at[0] - left) // wide)
        inside = 0 <= row < self.numbers.shape[0] and 0 <= column < self.numbers.shape[1]
        return (row, column) if inside else None

    def middle(self, row: int, column: int) -> tuple[float, float]:
        """Its middle."""
        left, top, wide, high = self.box
        return left + wide * (column + 0.5), top + high * (row + 0.5)


def spots(box: Box, name: str, numbers: Floats, what: str) -> list[Spot]:
    """The spot of some numbers in a line; none where not each of them is drawn."""
    if max(numbers.shape) > MOST:
        return []
    return [Spot(place(box, numbers.shape), name, what, numbers)]


def place(box: Box, shape: tuple[int, ...]) -> Box:
    """Left, top, width and height of each cell of some numbers (rows, columns) in a line."""
    x, y, width, height = box
    rows, columns = min(shape[0], MOST), min(shape[1], MOST)
    cell = min(_WIDEST, width / max(columns, 1))
    if rows == 1:
        return x, y + LINE / 2 - 4.5, cell, 9.0
    return x, y + 7.0, cell, min(CELL, (height - 9.0) / rows)


def draw_cells(sketch: Sketch, box: Box, theme: Theme, numbers: Floats, scale: Range, colours: Colormap) -> None:
    """A square a number in the colours of its quantity; one that is NaN is struck out."""
    shown = reduced(numbers)
    left, top, cell, tall = place(box, shown.shape)
    row, column = np.nonzero(~np.isnan(shown))
    sizes = np.full(len(row), cell), np.full(len(row), tall)
    boxes = np.stack([left + cell * column, top + tall * row, *sizes], axis=-1)
    sketch.cells(boxes, colours(2 * scale.unit(shown[row, column]) - 1))
    row, column = np.nonzero(np.isnan(shown))
    starts = np.stack([left + cell * column, top + tall * row], axis=-1)
    sketch.lines(starts, starts + np.array([cell, tall]), theme.text2, 1.0)
    outline(sketch, box, theme, numbers.shape)


def outline(sketch: Sketch, box: Box, theme: Theme, shape: tuple[int, ...]) -> None:
    """The frame around numbers of a shape."""
    left, top, cell, tall = place(box, shape)
    sketch.rect(left, top, cell * min(shape[1], MOST), tall * min(shape[0], MOST), stroke=theme.border)


def draw_factors(
    sketch: Sketch, box: Box, theme: Theme, factors: tuple[Floats, Floats], scale: Range, colours: Colormap
) -> None:
    """The two rows of numbers whose products a leaf is: left of it the derivatives, above it the inputs."""
    delta, entering = reduced(factors[0][:, None])[:, 0], reduced(factors[1][None])[0]
    left, top, cell, tall = place(box, (len(factors[0]), len(factors[1])))
    down, across = np.arange(len(delta)), np.arange(len(entering))
    beside = np.stack([np.full(len(delta), left - 7), top + tall * down, np.full(len(delta), 4.0),
                       np.full(len(delta), tall)], axis=-1)  # fmt: skip
    sketch.cells(beside, colours(2 * scale.unit(np.nan_to_num(delta)) - 1))
    above = np.stack([left + cell * across, np.full(len(entering), top - 6), np.full(len(entering), cell),
                      np.full(len(entering), 4.0)], axis=-1)  # fmt: skip
    sketch.cells(above, get_map("activation", theme)(np.abs(np.nan_to_num(entering)) / extent(entering)))


def draw_bar(sketch: Sketch, box: Box, colours: Colormap) -> None:
    """The colours of a quantity from its least to its largest number."""
    x, y, width, height = box
    left = x + width * np.arange(_BARS) / _BARS
    boxes = np.stack([left, np.full(_BARS, y), np.full(_BARS, width / _BARS + 0.3), np.full(_BARS, height)], axis=-1)
    sketch.cells(boxes, colours(np.linspace(-1.0, 1.0, _BARS)))
