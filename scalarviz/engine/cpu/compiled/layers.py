"""Layers on register tiles, where the processor has vectors for them.

The functions have the arguments and fields of those of the same name in :mod:`scalarviz.engine.cpu.compiled.sums`.
"""

from __future__ import annotations

from numba import njit

from ..vector.conv import outer_places_tile, sums_middle, sums_narrow, sums_wide
from ..vector.emitter import (  # fmt: skip
    MIDDLE,
    TALL,
    TILE_COLUMNS,
    TILE_ROWS,
    WIDE,
    combine_middle,
    combine_narrow,
    combine_wide,
    lanes_of,
)
from ..vector.outer import outer_tile
from ..wire import ADDED, TAKER
from .alone import PANEL_BYTES, outer_of_rows
from .intrinsics import size_of, stack_room
from .noalias import NoAlias
from .tiles import Row, Words

DEPTH = 128
"""Operands of a panel: of the widest vectors, 32 KiB."""

PACKED = 16
"""Results whose weights are copied side by side: whole tiles of either height."""

ROOM = 32 * 1024
"""Bytes on the stack for weights that are copied."""


@njit(error_model="numpy")
def width_of(lanes: int, vector: int) -> int:
    """Vectors of the widest tile that so many lanes fill; the last one may stick out, rows are padded to whole ones."""
    if lanes > (WIDE - 1) * vector:
        return WIDE
    return MIDDLE if lanes > (MIDDLE - 1) * vector else 1


@njit(error_model="numpy", pipeline_class=NoAlias)
def pack(room: Row, theta: Row, weight: int, from_step: int, columns: int, count: int) -> None:
    """``room[(i // 16 * count + k) * 16 + i % 16] = theta[weight + k*from_step + i]`` k < `count`, i < `columns`."""
    for k in range(count):
        to, source = k * PACKED, weight + k * from_step
        for _ in range(columns // PACKED):
            for i in range(PACKED):
                room[to + i] = theta[source + i]
            to, source = to + count * PACKED, source + PACKED
        for i in range(columns % PACKED):
            room[to + i] = theta[source + i]


def combine(
    code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, unused: int
) -> None:  # fmt: skip
    """``to[i] (+)= bias[i] + sum_j theta[weight + i*to_step + j*from_step] * from[j]``.

    Lanes go through in panels of `DEPTH` operands, so that these stay in the first-level cache; the sums go on where
    they stopped. Weights of one result that lie apart (backward) are copied together first: they would share few sets
    of the cache.
    """
    to, n_to, source, n_from, weight = code[2], code[3], code[4], code[5], code[6]
    to_step, from_step, bias, adding = code[7], code[8], code[9], code[10]
    vector, room = lanes_of(theta), stack_room(theta, ROOM)
    packed = to_step == 1 and n_from >= DEPTH
    group = ROOM // (DEPTH * size_of(theta)) if packed else n_to
    for first in range(0, n_from, DEPTH):
        depth, more = min(n_from - first, DEPTH), adding if first == 0 else 1
        for start in range(0, n_to, group):
            end = min(start + group, n_to)
            if packed:
                pack(room, theta, weight + first * from_step + start, from_step, end - start, depth)
            lane = 0
            while lane < n:
                width = width_of(n - lane, vector)
                tall = TILE_ROWS if width == WIDE else TALL
                for i in range(start, end, tall):
                    rows, y = min(end - i, tall), to + i
                    b = bias + i if bias >= 0 else -1
                    matrix, w, step = theta, weight + i * to_step + first * from_step, from_step
                    if packed:
                        matrix, step = room, PACKED
                        w = (i - start) // PACKED * PACKED * depth + (i - start) % PACKED
                    x = source + first
                    if width == WIDE:
                        combine_wide(space, pool, matrix, y, rows, x, depth, w, to_step, step, b, more, lane)
                    elif width == MIDDLE:
                        combine_middle(space, pool, matrix, y, rows, x, depth, w, to_step, step, b, more, lane)
                    else:
                        combine_narrow(space, pool, matrix, y, rows, x, depth, w, to_step, step, b, more, lane)
                lane += width * vector


def outer(
    code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, unused: int
) -> None:  # fmt: skip
    """``grad[weight + i*columns + j] += sum over lanes of upstream[i] * from[j]``.

    Columns go through in panels that stay in the first-level cache. The first tile of a row does its bias too.
    """
    upstream, n_up, source = code[2], code[3], code[4]
    weight, columns, bias = code[6], code[7], code[8]
    if code[9] != 0 and space[TAKER] != ADDED:
        outer_of_rows(space, pool, grad, upstream, n_up, source, weight, columns, bias, n)
        return
    panel = max(PANEL_BYTES // (n * size_of(theta)) // TILE_COLUMNS, 1) * TILE_COLUMNS
    for first in range(0, columns, panel):
        end = min(first + panel, columns)
        for i in range(0, n_up, TILE_ROWS):
            rows, to = min(n_up - i, TILE_ROWS), weight + i * columns
            for j in range(first, end, TILE_COLUMNS):
                width = min(end - j, TILE_COLUMNS)
                b = bias + i if bias >= 0 and j == 0 else -1
                outer_tile(space, pool, grad, to + j, columns, b, upstream + i, rows, source + j, width, n)


def conv(
    code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, unused: int
) -> None:  # fmt: skip
    """``row[to[p] + i*to_step] (+)= bias[i] + sum over the entries of p and k of theta[...] * row[...]``."""
    at = code[2]
    outputs, to_step, weight_step, weight, bias, adding = (
        pool[at], pool[at + 1], pool[at + 2], pool[at + 3], pool[at + 4], pool[at + 5]
    )  # fmt: skip
    run, row_step, run_step, places = pool[at + 6], pool[at + 7], pool[at + 8], pool[at + 9]
    to, starts, entries = pool[at + 10], pool[at + 11], pool[at + 12]
    vector = lanes_of(theta)
    lane = 0
    while lane < n:
        width = width_of(n - lane, vector)
        tall = TILE_ROWS if width == WIDE else TALL
        for p in range(places):
            first = entries + 2 * pool[starts + p]
            count = pool[starts + p + 1] - pool[starts + p]
            for i in range(0, outputs, tall):
                rows, row, w = min(outputs - i, tall), pool[to + p] + i * to_step, weight + i * weight_step
                b = bias + i if bias >= 0 else -1
                if width == WIDE:
                    sums_wide(
                        space, pool, theta, row, to_step, rows, w, weight_step, b, adding, first, count, run, row_step,
                        run_step, lane,
                    )  # fmt: skip
                elif width == MIDDLE:
                    sums_middle(
                        space, pool, theta, row, to_step, rows, w, weight_step, b, adding, first, count, run, row_step,
                        run_step, lane,
                    )  # fmt: skip
                else:
                    sums_narrow(
                        space, pool, theta, row, to_step, rows, w, weight_step, b, adding, first, count, run, row_step,
                        run_step, lane,
                    )  # fmt: skip
        lane += width * vector


def conv_outer(
    code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, unused: int
) -> None:  # fmt: skip
    """``grad[weight + i*columns + j] += sum over places p and lanes of row[up + i*places + p] * row[table[p, j]]``.

    Sums stay in registers over all places. The biases are a column of their own, over the row of ones.
    """
    up, outputs, places, table, columns, weight, bias = code[2], code[3], code[4], code[5], code[6], code[7], code[8]
    ones = code[9]
    for i in range(0, outputs, TILE_ROWS):
        rows, g, to = min(outputs - i, TILE_ROWS), up + i * places, weight + i * columns
        for j in range(0, columns, TILE_COLUMNS):
            width = min(columns - j, TILE_COLUMNS)
            outer_places_tile(
                space, pool, grad, to + j, columns, g, places, rows, table + j, columns, width, places, n
            )  # fmt: skip
        if bias >= 0:
            outer_places_tile(space, pool, grad, bias + i, 1, g, places, rows, ones, 0, 1, places, n)
