"""Samples of a batch through a program, block by block: loading inputs, running instructions, means over the batch.

A *machine* is an encoded program with its workspace, described by a list of numbers and addresses
(:mod:`scalarviz.engine.cpu.wire`). Everything goes by address: numba counts references of arrays that are handed on,
and that took half a microsecond a step. A row stride fits the lanes at work: neighbouring rows lie side by side.

Means over the batch: each block leaves its sums, in float64, in a line of its own (``wire.BATCH_SUMS``). When
all blocks have, each adds them up in the order of the blocks.

A line of the feed (:mod:`scalarviz.engine.cpu.machine`) has the kernel, the first row, how many rows, the
address of the first number, the bytes from number to number of a sample, and the bytes from sample to sample.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import wire
from ..vector.emitter import lanes_of
from ..vector.layers import transpose_tiles
from .intrinsics import address_of, call_kernel, callee, converted, doubles_at, row_at, size_of, word_at, zero_of
from .tiles import SUMS, Row, Words, add_number, fill, row_of

CROWDED = 512
"""Rows this many bytes apart, or a multiple of it, would crowd into a few sets of the first-level cache."""

LINE_BYTES, FEED_BYTES = 8 * wire.FIELDS, 8 * wire.FEED


@callee()
def walk(space: Words, entry: int, theta: Row, grad: Row, lanes: int) -> None:
    """Run the instructions of a machine, FORWARD or BACKWARD, one after the other."""
    walk_lines(space, space[entry], space[entry + 1], theta, grad, lanes)


@callee()
def walk_lines(space: Words, where: int, count: int, theta: Row, grad: Row, lanes: int) -> None:
    """Run so many instructions from an address on; row kernels compute whole cache lines, behind the last lane too."""
    base, stride, size = space[wire.BASE], space[wire.STRIDE], size_of(theta)
    width = stride // size
    padded = lanes if space[wire.COMPACT] else (lanes * size + wire.LINE - 1) // wire.LINE * wire.LINE // size
    pool, numbers, here = space[wire.POOL], space[wire.NUMBERS], address_of(space)
    thetas, grads = address_of(theta), address_of(grad)
    for _ in range(count):
        code = word_at(where)
        if code[0] == wire.ROWS:
            call_kernel(
                code[1], base + code[2] * stride, base + code[3] * stride, base + code[4] * stride,
                base + code[5] * stride, base + code[6] * stride, base + code[7] * stride,
                (code[8] - 1) * width + padded, code[9],
            )  # fmt: skip
        elif code[0] == wire.KERNEL:
            call_kernel(code[1], where, here, pool, numbers, thetas, grads, lanes, 0)
        elif code[0] == wire.KERNEL + wire.NARROW:
            call_kernel(code[1], where, here, pool, numbers, thetas, grads, 1, 0)
        else:
            rows_narrow(code, base, stride, wire.LINE // size)
        where += LINE_BYTES


@callee()
def rows_narrow(code: Words, base: int, stride: int, lanes: int) -> None:
    """A line of a row kernel on the first cache line of each of its rows."""
    for _ in range(code[8]):
        call_kernel(
            code[1], base + code[2] * stride, base + code[3] * stride, base + code[4] * stride,
            base + code[5] * stride, base + code[6] * stride, base + code[7] * stride, lanes, code[9],
        )  # fmt: skip
        base += stride


@callee()
def prepare(space: Words, lanes: int, like: Row) -> None:
    """Ready the workspace for `lanes` lanes: constants and padding are written when the row stride changes."""
    stride = (lanes * size_of(like) + wire.LINE - 1) // wire.LINE * wire.LINE
    if space[wire.COMPACT]:
        stride = size_of(like)
    elif stride % CROWDED == 0:
        stride += wire.LINE
    if stride == space[wire.STRIDE]:
        return
    space[wire.STRIDE] = stride
    space[wire.FILLED] = 0
    width, zero = stride // size_of(like), zero_of(like)
    fill(row_of(space, space[wire.SPARE], like), zero, width)
    fill(row_of(space, space[wire.SPARE] + 1, like), zero + 1, width)
    rows, constants = word_at(space[wire.CONSTANT_ROWS]), row_at(space[wire.CONSTANTS], like)
    for i in range(space[wire.CONSTANTS + 1]):
        fill(row_of(space, rows[i], like), constants[i], width)


@callee()
def copy(to: Row, source: Row, n: int) -> None:
    """``to = source``."""
    for i in range(n):
        to[i] = source[i]


@callee(fastmath=SUMS)
def sum_in_double(row: Row, n: int) -> float:
    """Sum of a row in float64 (1,024 losses in float32 lose three digits)."""
    total = 0.0
    for i in range(n):
        total += np.float64(row[i])
    return total


@callee()
def load_inputs(space: Words, like: Row, start: int, lanes: int) -> None:
    """Fill the input rows from the feed: samples ``start ..`` in order, or those of ``IDS``."""
    where, ids = space[wire.FEED_AT], space[wire.IDS]
    for _ in range(space[wire.FEED_LINES]):
        line = word_at(where)
        call_kernel(
            line[0], where, address_of(space), ids, address_of(like), line[3], address_of(like), lanes, start
        )  # fmt: skip
        where += FEED_BYTES


@callee()
def run_body(space: Words, theta: Row, grad: Row, scale: Any, begin: int, end: int) -> float:
    """Forward, loss and backward of samples `begin` to `end` of a batch, block by block; the sum of the losses."""
    loss, batch = 0.0, space[wire.BATCH]
    for start in range(begin, end, space[wire.BLOCK]):
        lanes = min(space[wire.BLOCK], end - start)
        prepare(space, lanes, theta)
        space[wire.PLACE] = start
        if not space[wire.FILLED]:
            load_inputs(space, theta, space[wire.ON] + start, lanes)
            # a data set that is one block stays in its rows; nobody writes to them
            space[wire.FILLED] = lanes == batch and space[wire.IDS] == 0
        walk(space, wire.FORWARD, theta, grad, lanes)
        loss += sum_in_double(row_of(space, space[wire.LOSS], theta), lanes)
        fill(row_of(space, space[wire.HEIGHT] + space[wire.LOSS], theta), scale, lanes)
        walk(space, wire.BACKWARD, theta, grad, lanes)
    return loss


@callee()
def group_start(group: int, groups: int, batch: int, block: int) -> int:
    """The first sample of a group of blocks."""
    blocks = (batch + block - 1) // block
    return min(batch, group * blocks // groups * block)


def batch_sums(code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, _: int) -> None:
    """The sums of rows over the lanes of the block. Fields: list of rows, its length, first place."""
    mine = doubles_at(space[wire.BATCH_SUMS] + 8 * (space[wire.OWN] * space[wire.WIDTH] + code[4]))
    for j in range(code[3]):
        mine[j] = sum_in_double(row_of(space, pool[code[2] + j], theta), n)


def widen(code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, _: int) -> None:
    """The number of the first lane on all. Fields: list of rows, its length."""
    for j in range(code[3]):
        row = row_of(space, pool[code[2] + j], theta)
        fill(row, row[0], n)


def fold(code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, _: int) -> None:
    """The sum over all lanes on the first one. Fields: list of rows, its length."""
    for j in range(code[3]):
        row = row_of(space, pool[code[2] + j], theta)
        row[0] = converted(sum_in_double(row, n), theta)


def batch_spread(code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, _: int) -> None:
    """The mean over the batch on every lane. Fields: list of rows (-1: unwanted), length, place, flags: 1 to store."""
    rows, count, fresh = code[2], code[3], code[5]
    for j in range(count):
        if pool[rows + j] < 0:
            continue
        total = 0.0
        for block in range(space[wire.BLOCKS]):
            total += doubles_at(space[wire.BATCH_SUMS] + 8 * (block * space[wire.WIDTH] + code[4] + j))[0]
        to, mean = row_of(space, pool[rows + j], theta), converted(total / space[wire.BATCH], theta)
        if pool[fresh + j]:
            fill(to, mean, n)
        else:
            add_number(to, mean, n)


Source = Any  # a pointer to whole or real numbers


@callee()
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


@callee()
def load_one(to: Row, source: Source, count: int) -> None:
    """One sample's numbers, into rows that are single numbers side by side."""
    for k in range(count):
        to[k] = converted(source[k], to)


@callee()
def load_rows(
    line: Words, space: Words, ids: Words, like: Row, source: Source, first: int, lanes: int, start: int
) -> None:
    """The rows of a line from its number `first` on, one after the other."""
    size = size_of(source)
    beside, apart = line[4] // size, line[5] // size
    if space[wire.COMPACT] and beside == 1:
        sample = ids[start] if address_of(ids) != 0 else start
        load_one(row_of(space, line[1], like), row_at(line[3] + sample * line[5], source), line[2])
        return
    for i in range(first, line[2]):
        load_row(
            row_of(space, line[1] + i, like), row_at(line[3] + i * line[4], source), ids, apart, start, lanes
        )  # fmt: skip


def load(line: Words, space: Words, ids: Words, like: Row, source: Source, unused: Row, lanes: int, start: int) -> None:
    """The same on vector tiles, where a sample has enough numbers side by side."""
    vector, count, chosen = lanes_of(like), line[2], int(address_of(ids) != 0)
    tiled = count >= vector and line[4] == size_of(source) and not space[wire.COMPACT]
    if not tiled:
        load_rows(line, space, ids, like, source, 0, lanes, start)
        return
    for lane in range(0, lanes, vector):
        transpose_tiles(space, like, source, ids, chosen, start, lane, lanes, line[1], count, line[5])
