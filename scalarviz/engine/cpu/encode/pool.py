"""Maxima over windows of two by two that stand side by side: the fields of the kernels for one sample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Windows:
    """Window j of a run reads the rows ``first + 2*j``, the next one, and both again `down` rows further on.

    Attributes
    ----------
    first : ndarray of int64, shape (runs,)
        Where each run begins.
    width : int
        Windows of a run.
    down : int
    """

    first: Words
    width: int
    down: int


def windows_of(rows: Words) -> Windows | None:
    """The operands of maxima, shape (maxima, n), as runs of windows; None if they are none, or overlap."""
    if rows.shape[1] != 4 or len(np.unique(rows)) < rows.size:
        return None
    corner, down = rows[:, 0], int(rows[0, 2] - rows[0, 0])
    if (rows - corner[:, None] != [0, 1, down, down + 1]).any():
        return None
    starts = np.append(np.flatnonzero(np.diff(corner, prepend=corner[0]) != 2), len(corner))
    widths = np.diff(starts)
    if (widths != widths[0]).any():
        return None
    return Windows(corner[starts[:-1]], int(widths[0]), down)
