"""Gradients of a layer's weights that its instruction has alone: computed and handed over, many rows at a time.

A stretch of them waits in `space[ROOM]` until it is whole: rows of weights that lie one behind the other in memory, so
that who takes them (:mod:`scalarviz.engine.cpu.compiled.taken`) goes along theta and the states without a gap.
"""

from __future__ import annotations

from numba import njit

from ..vector.emitter import TILE_COLUMNS, TILE_ROWS
from ..vector.outer import outer_tile
from ..wire import ROOM, ROOM_COLUMNS, ROOM_NUMBERS
from .intrinsics import row_at, size_of, stack_room, zero_of
from .panels import PANEL, at, four_at, side_by_side, upstream_tile
from .taken import hand_over
from .tiles import Row, Words, add_four, add_tile, fill, row_of

PANEL_BYTES = 16 * 1024
"""A third of a usual first-level cache."""


@njit(error_model="numpy")
def rows_together(columns: int) -> int:
    """How many rows of so many weights wait together: whole tiles."""
    return ROOM_NUMBERS // columns // TILE_ROWS * TILE_ROWS


@njit(error_model="numpy")
def hand_over_rows(
    space: Words, found: Row, grad: Row, first: int, step: int, rows: int, count: int
) -> None:  # fmt: skip
    """`count` gradients of each of some rows, which lie `step` apart in theta and one behind the other in `found`."""
    if count == step:
        hand_over(space, found, grad, first, rows * count)
        return
    for r in range(rows):
        hand_over(space, at(found, r * count), grad, first + r * step, count)


@njit(error_model="numpy")
def outer_of_samples(
    space: Words, pool: Words, grad: Row, upstream: int, n_up: int, source: int, weight: int, columns: int, n: int
) -> None:  # fmt: skip
    """``grad[weight + i*columns + j] = sum over lanes of upstream[i] * from[j]`` for 2 to 16 lanes."""
    found, apart = row_at(space[ROOM], grad), (n + 3) // 4 * 4 * PANEL
    for start in range(0, columns, ROOM_COLUMNS):
        count = min(columns - start, ROOM_COLUMNS)
        x, together = at(found, ROOM_NUMBERS), rows_together(count)
        for first in range(0, count, PANEL):
            numbers = at(x, first // PANEL * apart)
            side_by_side(numbers, space, pool, source + start + first, min(count - first, PANEL), n)
        for i in range(0, n_up, together):
            rows = min(n_up - i, together)
            fill(found, zero_of(grad), rows * count)
            for first in range(0, count, PANEL):
                numbers, y = at(x, first // PANEL * apart), at(found, first)
                add_samples(y, count, rows, numbers, space, pool, upstream + i, min(count - first, PANEL), n)
            hand_over_rows(space, found, grad, weight + i * columns + start, columns, rows, count)


@njit(error_model="numpy")
def add_samples(
    y: Row, step: int, rows: int, x: Row, space: Words, pool: Words, upstream: int, width: int, n: int
) -> None:  # fmt: skip
    """``y[i*step + j] += sum over lanes of upstream[i] * x[j]``, for a panel that lies side by side."""
    tile, fours = stack_room(y, 128), rows // 4 * 4
    for i in range(0, fours, 4):
        for s in range(0, n, 4):
            upstream_tile(tile, space, pool, upstream + i, s)
            add_tile(four_at(y, i * step, step), four_at(x, s * PANEL, PANEL), tile, width)
    for i in range(fours, rows):
        row = row_of(space, pool[upstream + i], y)
        for s in range(0, n, 4):
            add_four(at(y, i * step), four_at(x, s * PANEL, PANEL), at(row, s), width)


@njit(error_model="numpy")
def outer_of_rows(
    space: Words, pool: Words, grad: Row, upstream: int, n_up: int, source: int, weight: int, columns: int, bias: int,
    n: int,
) -> None:  # fmt: skip
    """The same for more lanes, with the biases; in panels of columns that stay in the first-level cache."""
    panel = max(PANEL_BYTES // (n * size_of(grad)) // TILE_COLUMNS, 1) * TILE_COLUMNS
    found = row_at(space[ROOM], grad)
    for start in range(0, columns, ROOM_COLUMNS):
        count = min(columns - start, ROOM_COLUMNS)
        together = rows_together(count)
        for i in range(0, n_up, together):
            rows = min(n_up - i, together)
            fill(found, zero_of(grad), rows * count)
            biases = at(found, ROOM_NUMBERS)
            fill(biases, zero_of(grad), rows)
            for first in range(0, count, panel):
                end = min(first + panel, count)
                for r in range(0, rows, TILE_ROWS):
                    height, up = min(rows - r, TILE_ROWS), upstream + i + r
                    for j in range(first, end, TILE_COLUMNS):
                        b = ROOM_NUMBERS + r if bias >= 0 and start + j == 0 else -1
                        width, x = min(end - j, TILE_COLUMNS), source + start + j
                        outer_tile(space, pool, found, r * count + j, count, b, up, height, x, width, n)
            hand_over_rows(space, found, grad, weight + i * columns + start, columns, rows, count)
            if bias >= 0 and start == 0:
                for r in range(rows):
                    grad[bias + i + r] += biases[r]
