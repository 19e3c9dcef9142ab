"""A batch whose samples depend on each other: all of its blocks go through one part of the program before the next.

A program is cut where it reads a mean over the batch (``batch``). Each block of the batch has rows of its own, values
and adjoints, which stay until the step is done; between two parts the threads meet.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from ..wire import (
    APART,
    BACKWARD,
    BACKWARD_CUTS,
    BASE,
    BATCH,
    BLOCK,
    FILLED,
    FORWARD,
    FORWARD_CUTS,
    HEIGHT,
    LOSS,
    OWN,
    PLACE,
    STRIDE,
)
from .body import LINE_BYTES, group_start, load_inputs, prepare, sum_in_double, walk_lines
from .intrinsics import address_of, converted, row_at, size_of, word_at, zero_of
from .meet import gather
from .tiles import Row, Words, fill, row_of


@njit(error_model="numpy")
def enter(space: Words, start: int) -> None:
    """Let the machine work in the rows of the block that begins with sample `start`."""
    own = start // space[BLOCK]
    space[BASE] += (own - space[OWN]) * space[APART]
    space[OWN], space[PLACE] = own, start


@njit(error_model="numpy")
def ready_blocks(space: Words, theta: Row, batch: int, groups: int, worker: int, workers: int) -> None:
    """Write the constants and the padding of a worker's blocks; all have the stride of a full one."""
    space[BATCH] = batch
    for group in range(worker, groups, workers):
        end = group_start(group + 1, groups, batch, space[BLOCK])
        for start in range(group_start(group, groups, batch, space[BLOCK]), end, space[BLOCK]):
            enter(space, start)
            space[STRIDE] = 0
            prepare(space, min(space[BLOCK], batch), theta)
    enter(space, 0)


@njit(error_model="numpy")
def walk_part(space: Words, entry: int, cuts: int, part: int, theta: Row, grad: Row, lanes: int) -> None:
    """The instructions between two cuts, FORWARD or BACKWARD."""
    lines, count = word_at(space[cuts]), space[cuts + 1]
    begin = lines[part - 1] if part > 0 else 0
    end = lines[part] if part < count else space[entry + 1]
    walk_lines(space, space[entry] + begin * LINE_BYTES, end - begin, theta, grad, lanes)


@njit(error_model="numpy")
def run_coupled(
    space: Words, theta: Row, grad: Row, buffers: Row, size: int, feed: Words, lines: int, ids: int, on: int,
    batch: int, scale: Any, parts: Any, team: Words, arrivals: int, worker: int, workers: int,
) -> int:  # fmt: skip
    """A worker's share of one step, as ``body.run_groups``; returns how often somebody has arrived at a cut."""
    groups, half, last = len(parts), space[FORWARD_CUTS + 1], space[FORWARD_CUTS + 1] + space[BACKWARD_CUTS + 1]
    filled = space[FILLED]
    for part in range(last + 1):  # the last one forward is the first one backward
        for group in range(worker, groups, workers):
            into = grad
            if group:
                into = row_at(address_of(buffers) + (group - 1) * size * size_of(theta), theta)
            if part == half:
                parts[group] = 0.0
                if group:
                    fill(into, zero_of(theta), size)
            end = group_start(group + 1, groups, batch, space[BLOCK])
            for start in range(group_start(group, groups, batch, space[BLOCK]), end, space[BLOCK]):
                lanes = min(space[BLOCK], batch - start)
                enter(space, start)
                if part == 0 and not filled:
                    load_inputs(space, feed, lines, ids, address_of(theta), on + start, lanes)
                if part <= half:
                    walk_part(space, FORWARD, FORWARD_CUTS, part, theta, into, lanes)
                if part == half:
                    parts[group] += sum_in_double(row_of(space, space[LOSS], theta), lanes)
                    fill(row_of(space, space[HEIGHT] + space[LOSS], theta), scale, lanes)
                if part >= half:
                    walk_part(space, BACKWARD, BACKWARD_CUTS, part - half, theta, into, lanes)
        if part < last:
            arrivals = gather(team, arrivals, workers)
    enter(space, 0)
    space[FILLED] = ids == 0  # samples that are taken in order stay in their rows; nobody writes to them
    return arrivals


@njit(error_model="numpy")
def follow(space: Words, values: Row, tracks: Any, factors: Any) -> None:
    """Let numbers follow the statistics of a step: as :func:`scalarviz.engine.coupled.follow`, in the same order.

    Parameters
    ----------
    space : pointer to int64
        The machine, in the rows of the first block.
    values : pointer to the run's dtype
    tracks : ndarray of int64, shape (tracks, 3)
        Which number, the row of its statistic or -1, the number that counts the steps.
    factors : ndarray of float64, shape (tracks, 2)
        The rate, NaN for 1 by the count; what the statistic is multiplied by.
    """
    for k in range(len(tracks)):
        index, row, rate = tracks[k, 0], tracks[k, 1], factors[k, 0]
        old = np.float64(values[index])
        if row < 0:
            values[index] = converted(old + 1.0, values)
            continue
        if rate != rate:
            rate = 1.0 / np.float64(values[tracks[k, 2]])
        stat = factors[k, 1] * np.float64(row_of(space, row, values)[0])
        values[index] = converted((1.0 - rate) * old + rate * stat, values)
