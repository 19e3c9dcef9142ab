"""Samples of a batch through a program, block by block: the loops below a whole step.

A *machine* is an encoded program with its workspace, described by a list of numbers and addresses (its entries stand
in :mod:`scalarviz.engine.cpu.wire`). Everything goes by address: numba counts references of arrays that are handed on,
and that took half a microsecond a step. A row stride fits the lanes at work, so that neighbouring rows are neighbours
in memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from ..wire import (
    BACKWARD,
    BASE,
    BLOCK,
    COMPACT,
    CONSTANT_ROWS,
    CONSTANTS,
    FEED,
    FIELDS,
    FILLED,
    FORWARD,
    HEIGHT,
    KERNEL,
    LINE,
    LOSS,
    NARROW,
    NUMBERS,
    PLACE,
    POOL,
    ROWS,
    SPARE,
    STRIDE,
)
from .intrinsics import address_of, call_kernel, row_at, size_of, word_at, zero_of
from .tiles import SUMS, Row, Words, fill, row_of

CROWDED = 512
"""Rows this many bytes apart, or a multiple of it, would crowd into a few sets of the first-level cache."""

LINE_BYTES, FEED_BYTES = 8 * FIELDS, 8 * FEED


@njit(error_model="numpy")
def walk(space: Words, entry: int, theta: Row, grad: Row, lanes: int) -> None:
    """Run the instructions of a machine, FORWARD or BACKWARD, one after the other."""
    walk_lines(space, space[entry], space[entry + 1], theta, grad, lanes)


@njit(error_model="numpy")
def walk_lines(space: Words, where: int, count: int, theta: Row, grad: Row, lanes: int) -> None:
    """Run so many instructions from an address on.

    Row kernels work on whole cache lines: what stands behind the last lane is computed and never looked at.
    """
    base, stride, size = space[BASE], space[STRIDE], size_of(theta)
    width = stride // size
    padded = lanes if space[COMPACT] else (lanes * size + LINE - 1) // LINE * LINE // size
    pool, numbers, here = space[POOL], space[NUMBERS], address_of(space)
    thetas, grads = address_of(theta), address_of(grad)
    for _ in range(count):
        code = word_at(where)
        if code[0] == ROWS:
            call_kernel(
                code[1], base + code[2] * stride, base + code[3] * stride, base + code[4] * stride,
                base + code[5] * stride, base + code[6] * stride, base + code[7] * stride,
                (code[8] - 1) * width + padded, code[9],
            )  # fmt: skip
        elif code[0] == KERNEL:
            call_kernel(code[1], where, here, pool, numbers, thetas, grads, lanes, 0)
        elif code[0] == KERNEL + NARROW:
            call_kernel(code[1], where, here, pool, numbers, thetas, grads, 1, 0)
        else:
            rows_narrow(code, base, stride, LINE // size)
        where += LINE_BYTES


@njit(error_model="numpy")
def rows_narrow(code: Words, base: int, stride: int, lanes: int) -> None:
    """A line of a row kernel on the first cache line of each of its rows."""
    for _ in range(code[8]):
        call_kernel(
            code[1], base + code[2] * stride, base + code[3] * stride, base + code[4] * stride,
            base + code[5] * stride, base + code[6] * stride, base + code[7] * stride, lanes, code[9],
        )  # fmt: skip
        base += stride


@njit(error_model="numpy")
def prepare(space: Words, lanes: int, like: Row) -> None:
    """Ready the workspace for `lanes` lanes: constants and padding are written when the row stride changes."""
    stride = (lanes * size_of(like) + LINE - 1) // LINE * LINE
    if space[COMPACT]:
        stride = size_of(like)
    elif stride % CROWDED == 0:
        stride += LINE
    if stride == space[STRIDE]:
        return
    space[STRIDE] = stride
    space[FILLED] = 0
    width, zero = stride // size_of(like), zero_of(like)
    fill(row_of(space, space[SPARE], like), zero, width)
    fill(row_of(space, space[SPARE] + 1, like), zero + 1, width)
    rows, constants = word_at(space[CONSTANT_ROWS]), row_at(space[CONSTANTS], like)
    for i in range(space[CONSTANTS + 1]):
        fill(row_of(space, rows[i], like), constants[i], width)


@njit(error_model="numpy")
def copy(to: Row, source: Row, n: int) -> None:
    """``to = source``."""
    for i in range(n):
        to[i] = source[i]


@njit(error_model="numpy", fastmath=SUMS)
def sum_in_double(row: Row, n: int) -> float:
    """Sum of a row in float64 (1,024 losses in float32 lose three digits)."""
    total = 0.0
    for i in range(n):
        total += np.float64(row[i])
    return total


@njit(error_model="numpy")
def load_inputs(space: Words, feed: Words, lines: int, ids: int, like: int, start: int, lanes: int) -> None:
    """Fill the input rows from the `lines` of a feed: samples ``start ..`` in order (`ids` is 0), or ``ids[start:]``.

    `ids` and `like` (any place of the run's numbers) are addresses.
    """
    where = address_of(feed)
    for _ in range(lines):
        line = word_at(where)
        call_kernel(line[0], where, address_of(space), ids, like, line[3], like, lanes, start)
        where += FEED_BYTES


@njit(error_model="numpy")
def run_body(
    space: Words, theta: Row, grad: Row, feed: Words, lines: int, ids: int, on: int, batch: int, scale: Any,
    begin: int, end: int,
) -> float:  # fmt: skip
    """Forward, loss and backward of samples `begin` to `end` of a batch, block by block; the sum of the losses.

    Without `ids` the batch begins with sample `on`.
    """
    loss = 0.0
    for start in range(begin, end, space[BLOCK]):
        lanes = min(space[BLOCK], end - start)
        prepare(space, lanes, theta)
        space[PLACE] = start
        if not space[FILLED]:
            load_inputs(space, feed, lines, ids, address_of(theta), on + start, lanes)
            # a data set that is one block stays in its rows; nobody writes to them
            space[FILLED] = lanes == batch and ids == 0
        walk(space, FORWARD, theta, grad, lanes)
        loss += sum_in_double(row_of(space, space[LOSS], theta), lanes)
        fill(row_of(space, space[HEIGHT] + space[LOSS], theta), scale, lanes)
        walk(space, BACKWARD, theta, grad, lanes)
    return loss


@njit(error_model="numpy")
def group_start(group: int, groups: int, batch: int, block: int) -> int:
    """The first sample of a group of blocks."""
    blocks = (batch + block - 1) // block
    return min(batch, group * blocks // groups * block)


@njit(error_model="numpy")
def run_groups(
    space: Words, theta: Row, grad: Row, buffers: Row, size: int, feed: Words, lines: int, ids: int, on: int,
    batch: int, scale: Any, parts: Any, worker: int, workers: int,
) -> None:  # fmt: skip
    """A worker's groups of one step: the first into `grad`, which is cleared, each other one into its buffer."""
    group, groups = worker, len(parts)
    while group < groups:
        part = grad
        if group:
            part = row_at(address_of(buffers) + (group - 1) * size * size_of(theta), theta)
            fill(part, zero_of(theta), size)
        begin = group_start(group, groups, batch, space[BLOCK])
        end = group_start(group + 1, groups, batch, space[BLOCK])
        parts[group] = run_body(space, theta, part, feed, lines, ids, on, batch, scale, begin, end)
        group += workers


@njit(error_model="numpy")
def join(grad: Row, buffers: Row, groups: int, size: int) -> None:
    """Add the gradients of all groups but the first, in order."""
    for g in range(groups - 1):
        part = row_at(address_of(buffers) + g * size * size_of(grad), grad)
        for i in range(size):
            grad[i] += part[i]
