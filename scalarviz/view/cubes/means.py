"""Mean colours of blocks of cubes, for plates of which a pixel covers more than can be sampled.

A few samples of a pixel that covers hundreds of cubes depend on which ones they happen to hit: thin patterns would turn
into coarse ones and flicker when the camera moves. So blocks are averaged beforehand, as colours, not as numbers: what
cancels out is grey, not neutral.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...run.questions.ranges import Range
from ..draw.gl import gloo
from ..space.plate import Plate
from .atlas import DEAD, FROZEN, NAN, NEG_INF, NOT_COMPUTED, POS_INF

SAMPLES = 4
"""Along each of a pixel's axes; where that is fewer than the cubes that it covers, blocks are averaged."""
MARKS = ((NOT_COMPUTED | DEAD, 40), (NEG_INF, 85), (POS_INF, 170), (NAN, 255))
"""What stands in the fourth channel for a block with such marks, the most important last."""


def averages(plate: Plate) -> bool:
    """Whether blocks of a plate can be averaged: its cubes are one matrix without gaps."""
    return not (plate.grid.folded or plate.grid.tile[0])


def block_means(
    values: NDArray[np.float32], flags: NDArray[np.uint8], chosen: Range, table: NDArray[np.uint8], block: int
) -> NDArray[np.uint8]:
    """The mean colour of each block of cubes, and its mark.

    Parameters
    ----------
    values, flags : ndarray, shape (rows, columns)
    chosen : Range
        Of the colours.
    table : ndarray, shape (T, 3)
        The colour map.
    block : int
        Side of a block; those at the end may be smaller.

    Returns
    -------
    ndarray of uint8, shape (ceil(rows / block), ceil(columns / block), 4)
    """
    marked = flags & ~np.uint8(FROZEN) if flags.any() else flags
    unit = np.clip(chosen.unit(values), 0.0, 1.0)
    if marked.any():
        unit[marked != 0] = 0.5
    rows, cols = values.shape
    places = np.rint(unit * (len(table) - 1)).astype(np.intp)
    tall, wide = -(-rows // block), -(-cols // block)
    total, count = np.zeros((tall, wide, 3), np.uint32), np.zeros((tall, wide, 1), np.uint32)
    found = np.zeros((tall, wide, 4), np.uint8)
    for row in range(min(block, rows)):
        for col in range(min(block, cols)):
            colours = table[places[row::block, col::block]]
            part = (slice(colours.shape[0]), slice(colours.shape[1]))
            total[part] += colours
            count[part] += 1
            for bits, mark in MARKS if marked.any() else ():
                there = (marked[row::block, col::block] & bits) != 0
                found[(*part, 3)] = np.maximum(found[(*part, 3)], np.where(there, np.uint8(mark), np.uint8(0)))
    found[..., :3] = (total + count // 2) // count
    return found


class Means:
    """The textures of those plates of a slab that are drawn so; each is made anew where something of it changed."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[object, Any]] = {}

    def texture(
        self, index: int, key: object, shape: tuple[int, int], block: int, make: Any
    ) -> tuple[Any, tuple[float, float, float]]:
        """The texture of plate `index`, and its block's side with one over their number across and down.

        ``make()`` gives the colours where `key` says that they are others than before.
        """
        rows, cols = (-(-side // block) for side in shape)
        before = self._made.get(index)
        if before is None or before[0] != key:
            colours = make()
            if before is not None and before[1].shape[:2] == colours.shape[:2]:
                texture = before[1]
                texture.set_data(colours)
            else:
                texture = gloo.Texture2D(colours, format="rgba", interpolation="nearest", wrapping="clamp_to_edge")
            self._made[index] = key, texture
        return self._made[index][1], (float(block), 1.0 / cols, 1.0 / rows)
