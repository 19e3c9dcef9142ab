"""Means over the batch: each block leaves its sums, and when all have, each adds them up, in the order of the blocks.

Sums are float64. What a block leaves stands in a line of its own (``wire.BATCH_SUMS``), at places of the instruction
alone. A program is cut between the two kernels (``coupled``).
"""

from __future__ import annotations

from ..wire import BATCH, BATCH_SUMS, BLOCKS, OWN, WIDTH
from .body import sum_in_double
from .intrinsics import converted, doubles_at
from .tiles import Row, Words, add_number, fill, row_of


def batch_sums(
    code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, unused: int
) -> None:  # fmt: skip
    """The sums of rows over the lanes of the block. Fields: list of rows, its length, first place."""
    mine = doubles_at(space[BATCH_SUMS] + 8 * (space[OWN] * space[WIDTH] + code[4]))
    for j in range(code[3]):
        mine[j] = sum_in_double(row_of(space, pool[code[2] + j], theta), n)


def widen(
    code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, unused: int
) -> None:  # fmt: skip
    """The number of the first lane on all. Fields: list of rows, its length."""
    for j in range(code[3]):
        row = row_of(space, pool[code[2] + j], theta)
        fill(row, row[0], n)


def fold(
    code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, unused: int
) -> None:  # fmt: skip
    """The sum over all lanes on the first one. Fields: list of rows, its length."""
    for j in range(code[3]):
        row = row_of(space, pool[code[2] + j], theta)
        row[0] = converted(sum_in_double(row, n), theta)


def batch_spread(
    code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, unused: int
) -> None:  # fmt: skip
    """The mean over the batch on every lane. Fields: list of rows (-1: unwanted), length, place, flags: 1 to store."""
    rows, count, fresh = code[2], code[3], code[5]
    for j in range(count):
        if pool[rows + j] < 0:
            continue
        total = 0.0
        for block in range(space[BLOCKS]):
            total += doubles_at(space[BATCH_SUMS] + 8 * (block * space[WIDTH] + code[4] + j))[0]
        to, mean = row_of(space, pool[rows + j], theta), converted(total / space[BATCH], theta)
        if pool[fresh + j]:
            fill(to, mean, n)
        else:
            add_number(to, mean, n)
