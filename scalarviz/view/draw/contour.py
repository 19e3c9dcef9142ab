"""Where a number that is known on a grid is zero: straight pieces of a line through its cells (marching squares)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

# Corners of a cell: 0 top left, 1 top right, 2 bottom right, 3 bottom left. Edge k runs from corner k to the next one.
# For each set of corners that are above zero (corner k counts 1 << k) the edges that up to two pieces join.
_NONE = (-1, -1)
_PIECES = np.array([
    (_NONE, _NONE), ((3, 0), _NONE), ((0, 1), _NONE), ((3, 1), _NONE),
    ((1, 2), _NONE), ((3, 0), (1, 2)), ((0, 2), _NONE), ((3, 2), _NONE),
    ((2, 3), _NONE), ((2, 0), _NONE), ((0, 1), (2, 3)), ((2, 1), _NONE),
    ((1, 3), _NONE), ((1, 0), _NONE), ((0, 3), _NONE), (_NONE, _NONE),
])  # fmt: skip
_ROW, _COLUMN = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 0])


def zero_lines(grid: ArrayLike) -> tuple[Floats, Floats]:
    """The line along which a function is zero.

    Parameters
    ----------
    grid : array_like, shape (H, W)
        Its values; where one is not finite there is no line.

    Returns
    -------
    starts, ends : ndarray, shape (K, 2)
        Pieces, as places (column, row) of the grid, fractions between two of them.
    """
    values = np.asarray(grid, np.float64)
    above = values > 0
    corners = [above[:-1, :-1], above[:-1, 1:], above[1:, 1:], above[1:, :-1]]
    case = sum((corner.astype(np.intp) << k for k, corner in enumerate(corners)), np.zeros((1, 1), np.intp))
    rows, columns = np.nonzero((case > 0) & (case < 15))
    numbers = values[rows[:, None] + _ROW, columns[:, None] + _COLUMN]
    fine = np.isfinite(numbers).all(axis=1)
    rows, columns, numbers = rows[fine], columns[fine], numbers[fine]
    pieces = _PIECES[case[rows, columns]]
    starts, ends = [], []
    for which in (0, 1):
        there = pieces[:, which, 0] >= 0
        cell = rows[there], columns[there], numbers[there]
        starts.append(_crossing(*cell, pieces[there, which, 0]))
        ends.append(_crossing(*cell, pieces[there, which, 1]))
    return np.concatenate(starts), np.concatenate(ends)


def _crossing(rows: NDArray[np.intp], columns: NDArray[np.intp], numbers: Floats, edges: NDArray[np.intp]) -> Floats:
    """Where the function is zero on one edge of each cell, if it is straight between two corners."""
    each, following = np.arange(len(rows)), (edges + 1) % 4
    first, second = numbers[each, edges], numbers[each, following]
    part = first / (first - second)
    x = _COLUMN[edges] + part * (_COLUMN[following] - _COLUMN[edges])
    y = _ROW[edges] + part * (_ROW[following] - _ROW[edges])
    return np.stack([columns + x, rows + y], axis=1)
