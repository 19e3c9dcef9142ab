"""Filling the input rows of a block, from samples in any layout and of any dtype: one line of the feed a call.

Samples whose numbers lie side by side are transposed by vector tiles (:mod:`scalarviz.engine.cpu.vector.transpose`)
where there are vectors, everything else goes through plain loops. Lines are written by
:mod:`scalarviz.engine.cpu.feed`: kernel, first row, how many rows, address of the first number, bytes from number to
number of a sample, bytes from sample to sample.
"""

from __future__ import annotations

from typing import Any

from numba import njit

from ..vector.emitter import lanes_of
from ..vector.transpose import transpose_tiles
from ..wire import COMPACT
from .intrinsics import address_of, converted, row_at, width_of
from .tiles import Row, Words, row_of

Source = Any  # a pointer to whole or real numbers


@njit(error_model="numpy")
def load_row(to: Row, source: Source, ids: Words, apart: int, start: int, lanes: int) -> None:
    """A row of lanes from numbers that lie `apart` numbers from sample to sample."""
    if address_of(ids) != 0:
        for k in range(lanes):
            to[k] = converted(source[ids[start + k] * apart], to)
    elif apart == 1:
        for k in range(lanes):
            to[k] = converted(source[start + k], to)
    else:
        for k in range(lanes):
            to[k] = converted(source[(start + k) * apart], to)


@njit(error_model="numpy")
def load_one(to: Row, source: Source, count: int) -> None:
    """One sample's numbers, into rows that are single numbers side by side."""
    for k in range(count):
        to[k] = converted(source[k], to)


@njit(error_model="numpy")
def load_rows(
    line: Words, space: Words, ids: Words, like: Row, source: Source, first: int, lanes: int, start: int
) -> None:
    """The rows of a line from its number `first` on, one after the other."""
    size = width_of(source)
    beside, apart = line[4] // size, line[5] // size
    if space[COMPACT] and beside == 1:
        sample = ids[start] if address_of(ids) != 0 else start
        load_one(row_of(space, line[1], like), row_at(line[3] + sample * line[5], source), line[2])
        return
    for i in range(first, line[2]):
        load_row(
            row_of(space, line[1] + i, like), row_at(line[3] + i * line[4], source), ids, apart, start, lanes
        )  # fmt: skip


def load_plain(
    line: Words, space: Words, ids: Words, like: Row, source: Source, unused: Row, lanes: int, start: int
) -> None:
    """The rows of a line, for `lanes` samples: those from `start` on, or those of ``ids[start:]``.

    Parameters
    ----------
    line, space : pointer to int64
        Of the feed; the machine.
    ids : pointer to int64
        Null where samples are taken in order.
    like, unused : pointer to the run's dtype
    source : pointer to the data's dtype
        The first number of the line.
    """
    load_rows(line, space, ids, like, source, 0, lanes, start)


def load(line: Words, space: Words, ids: Words, like: Row, source: Source, unused: Row, lanes: int, start: int) -> None:
    """The same on vector tiles, where a sample has enough numbers side by side."""
    vector, count, chosen = lanes_of(like), line[2], int(address_of(ids) != 0)
    tiled = count >= vector and line[4] == width_of(source) and not space[COMPACT]
    if not tiled:
        load_rows(line, space, ids, like, source, 0, lanes, start)
        return
    for lane in range(0, lanes, vector):
        transpose_tiles(space, like, source, ids, chosen, start, lane, lanes, line[1], count, line[5])
