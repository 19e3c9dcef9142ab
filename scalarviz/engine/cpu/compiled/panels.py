"""The numbers of a few samples side by side, a panel of operands at a time."""

from __future__ import annotations

from numba import njit

from ..vector.emitter import lanes_of
from ..vector.turn import turn
from ..wire import PASS, SEVERAL
from .intrinsics import address_of, row_at, size_of, zero_of
from .tiles import Four, Row, Words, fill, row_of

PANEL = 256
"""Operands whose numbers are put side by side; of 16 samples, 16 or 32 KiB."""

ROOM = 8 * PANEL * SEVERAL
"""Bytes on the stack for them."""


@njit(forceinline=True)
def at(numbers: Row, index: int) -> Row:
    """The numbers from `index` on."""
    return row_at(address_of(numbers) + index * size_of(numbers), numbers)


@njit(forceinline=True)
def four_at(numbers: Row, first: int, step: int) -> Four:
    """Where the numbers `first`, ``first + step`` ... stand."""
    start = at(numbers, first)
    return start, at(start, step), at(start, 2 * step), at(start, 3 * step)


@njit(error_model="numpy")
def side_by_side(room: Row, space: Words, pool: Words, first: int, count: int, samples: int) -> None:
    """``room[s*PANEL + j] = row[pool[first + j]][s]``; samples up to the next four are 0."""
    vector = lanes_of(room)
    whole = count // vector * vector
    for s in range(0, samples, PASS):
        for j in range(0, whole, vector):
            turn(room, space, pool, first + j, s, min(samples - s, PASS), s * PANEL + j, PANEL)
    for j in range(whole, count):
        row = row_of(space, pool[first + j], room)
        for s in range(samples):
            room[s * PANEL + j] = row[s]
    for s in range(samples, (samples + 3) // 4 * 4):
        fill(at(room, s * PANEL + whole), zero_of(room), count - whole)


@njit(error_model="numpy")
def upstream_tile(tile: Row, space: Words, pool: Words, first: int, sample: int) -> None:
    """``tile[4*r + k] = row[pool[first + r]][sample + k]``."""
    for r in range(4):
        row = row_of(space, pool[first + r], tile)
        for k in range(4):
            tile[4 * r + k] = row[sample + k]
