"""Where the three views of a comparison stand: pure numbers in logical pixels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import floor

from ..draw.places import MARGIN, Box, Places

HEAD, SMALL_HEAD, LETTER = 78.0, 54.0, 34.0
"""Height of what is written above each, in a low picture, and where only a letter is."""
_SMALL = 500.0  # logical pixels of a picture that is low
GAP = 20.0
"""Between two legends."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The places of one picture.

    Attributes
    ----------
    wide : float
        Of each column.
    heads : tuple of Box
        What is written above each.
    legends : tuple of Box
        That of the two and that of the difference; empty where there is no room.
    scene : Box
        Of the difference, which is the last; those of the two lie `wide` and twice `wide` left of it.
    """

    wide: float
    heads: tuple[Box, ...]
    legends: tuple[Box, ...]
    scene: Box

    def column(self, x: float) -> int:
        """Which column a place from left to right is in."""
        return min(max(int(x / self.wide), 0), 2)


def columns_of(places: Places, shown: bool) -> tuple[Columns, Places]:
    """The columns of a picture, and its places with the last of them for its cubes; not `shown`: the cubes alone."""
    width, height = places.size
    wide = floor(width * places.scale / 3) / places.scale  # whole pixels: the three are drawn alike
    head = (SMALL_HEAD if height < _SMALL else HEAD) if shown else LETTER
    bottom = places.scene[1] + places.scene[3]
    scene = (2 * wide, head, wide, max(bottom - head, 1.0))
    heads = tuple((k * wide + _pad(wide), 0.0, wide - 2 * _pad(wide), head) for k in range(3))
    legends: tuple[Box, ...] = ()
    if places.strip is not None:
        _, y, _, high = places.strip
        legends = ((_pad(wide), y, 2 * wide - _pad(wide) - GAP, high),
                   (2 * wide + _pad(wide), y, wide - 2 * _pad(wide), high))  # fmt: skip
    return Columns(wide, heads, legends, scene), replace(places, scene=scene)


def _pad(wide: float) -> float:
    """Left and right of what is written in a column."""
    return min(float(MARGIN), 0.05 * wide)
