"""Whole training steps in one compiled call.

:func:`train` is what Python calls. What not every run needs (an order of the samples, several threads, means over the
batch, derived parameters, limits, an update row by row) is a kernel of its own: a run compiles those that it calls, and
the machine's description has their addresses, or 0. All have one signature: the machine, two more addresses of words,
parameters, gradients, values and two numbers.

A program whose samples depend on each other is cut where it reads a mean over the batch: all blocks go through one part
before any begins the next. Each block keeps its own rows, values and adjoints, until the step is done, and the threads
of a team meet between two parts.

Penalties and the length of the gradient are sums over all weights, between backward and update. `LIMITS_AT` has the
numbers of :class:`scalarviz.engine.problem.Limits`: ``l1, l2, clip_norm`` (below 0 if none), what is added to the
length, where among the numbers of a step the factor of the gradient has its place, and how many values are weights
(buffers stand behind them).
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from .. import wire
from .body import LINE_BYTES, copy, group_start, load_inputs, prepare, run_body, sum_in_double, walk, walk_lines
from .intrinsics import (
    add_atomically,
    address_of,
    bytes_at,
    call_bare,
    call_kernel,
    callee,
    converted,
    doubles_at,
    read_atomically,
    row_at,
    size_of,
    word_at,
    zero_of,
)
from .taken import clear_rest, know_update, update_rest
from .tiles import SUMS, Row, Words, fill, row_of

# ---- a team of threads

SPINS = 4000


@callee()
def all_arrive(space: Words) -> None:
    """Wait for the other workers, if there are any."""
    if space[wire.WORKERS] > 1:
        space[wire.ARRIVALS] += space[wire.WORKERS]
        meet(word_at(space[wire.TEAM_AT]), space[wire.ARRIVALS])


@callee()
def meet(team: Words, target: int) -> None:
    """Wait until `target` arrivals have been counted, this one included."""
    add_atomically(team, 1)
    spins = 0
    while read_atomically(team) < target:
        spins += 1
        if spins > SPINS:  # another process has the processor
            call_bare(team[wire.YIELD])


# ---- a step


def train(
    space: Words, unused: Words, unused_too: Words, theta: Row, grad: Row, values: Row, n: int, size: int
) -> None:  # fmt: skip
    """``COUNT`` steps from ``FIRST`` on, which counts from 0; `space` has the entries of a call (``wire.CALL``).

    Several workers call it at the same time, each with a machine of its own; the rest is shared. `theta` and
    `grad` have `size` numbers: the `n` of the run, the derived ones behind them. `values` are the live
    parameters (`theta` itself where nothing is derived).
    """
    here, theta_at, grad_at, values_at = address_of(space), address_of(theta), address_of(grad), address_of(values)
    count, worker, batch, known = space[wire.COUNT], space[wire.WORKER], space[wire.BATCH], space[wire.LOOKED_UP]
    updater, columns, prologue = word_at(space[wire.UPDATER]), word_at(space[wire.COLUMNS_AT]), space[wire.PROLOGUE]
    now, commit, through, chosen = space[wire.AT_ONCE], space[wire.COMMIT], space[wire.THROUGH], space[wire.ORDERS]
    joined, derive, back, penal = space[wire.JOIN], space[wire.DERIVE], space[wire.DERIVE_BACK], space[wire.PENALISE]
    losses, scales = doubles_at(space[wire.LOSSES_AT]), row_at(space[wire.SCALES_AT], theta)
    hyper = space[wire.HYPERS_AT]
    space[wire.FILLED] = 0  # the data may have changed since the last call
    space[wire.IDS] = space[wire.ON] = space[wire.ARRIVALS] = space[wire.STRANGE] = 0
    space[wire.TAKER] = updater[wire.FUSED] if now else wire.STORED if space[wire.WHOLE] else wire.ADDED
    know_update(space, updater, columns, space[wire.STATES])
    for step in range(count):
        space[wire.STEP], space[wire.HYPER_AT] = space[wire.FIRST] + step, hyper
        space[wire.KEEPS] = step == count - 1
        if chosen:
            if step % known == 0:
                call_kernel(chosen, here, 0, 0, theta_at, 0, 0, space[wire.STEP], min(known, count - step))
            space[wire.IDS] = space[wire.INDICES_AT] + step % known * batch * 8
        if space[wire.AHEAD]:
            space[wire.ON], space[wire.FILLED] = step * batch, 0
        if worker == 0:
            if space[wire.TAKER] == wire.ADDED:
                fill(grad, zero_of(grad), size)
            else:
                clear_rest(space, grad, size)
            if derive:
                call_kernel(derive, prologue, 0, 0, theta_at, grad_at, values_at, n, size)
        if through:
            all_arrive(space)
            call_kernel(through, here, 0, 0, theta_at, grad_at, values_at, step, size)
            all_arrive(space)
        else:
            losses[step] = run_body(space, theta, grad, scales[step], 0, batch)
        if worker > 0:
            continue
        if joined:
            call_kernel(joined, here, 0, 0, theta_at, grad_at, values_at, step, size)
        if back:
            call_kernel(back, prologue, 0, 0, theta_at, grad_at, values_at, n, size)
        if penal:
            call_kernel(penal, here, 0, 0, hyper, grad_at, values_at, n, step)
        if now:
            update_rest(space, grad, n)
        elif commit:
            if step == count - 1:
                copy(row_at(space[wire.PREVIOUS_AT], values), values, n)
            if space[wire.UPDATE]:
                call_kernel(
                    space[wire.UPDATE], address_of(updater), address_of(columns), space[wire.TRAINED_AT], hyper, 0, 0,
                    0, n,
                )  # fmt: skip
            else:
                update_fused(updater, row_at(hyper, values), columns, 0, n)
            if space[wire.FOLLOW]:
                call_kernel(space[wire.FOLLOW], here, 0, 0, theta_at, grad_at, values_at, 0, 0)
        hyper += space[wire.HYPER_BYTES]


# ---- through the batch otherwise than in blocks one after the other: in groups of blocks, or part by part


def groups(
    space: Words, unused: Words, unused_too: Words, theta: Row, grad: Row, values: Row, step: int, size: int
) -> None:  # fmt: skip
    """A worker's groups of one step: the first into `grad`, which is cleared, each other one into its buffer."""
    many, parts = space[wire.GROUPS], doubles_at(space[wire.PARTS_AT])
    scale = row_at(space[wire.SCALES_AT], theta)[step]
    for group in range(space[wire.WORKER], many, space[wire.WORKERS]):
        into = grad
        if group:
            into = buffer_of(space, group, size, theta)
            fill(into, zero_of(theta), size)
        begin = group_start(group, many, space[wire.BATCH], space[wire.BLOCK])
        end = group_start(group + 1, many, space[wire.BATCH], space[wire.BLOCK])
        parts[group] = run_body(space, theta, into, scale, begin, end)


@callee()
def buffer_of(space: Words, group: int, size: int, like: Row) -> Row:
    """Where the gradient of a group of blocks is summed, which is not the first."""
    return row_at(space[wire.BUFFERS_AT] + (group - 1) * size * size_of(like), like)


def join(
    space: Words, unused: Words, unused_too: Words, theta: Row, grad: Row, values: Row, step: int, size: int
) -> None:  # fmt: skip
    """Add the gradients and the losses of all groups, in order."""
    parts, total = doubles_at(space[wire.PARTS_AT]), 0.0
    for group in range(space[wire.GROUPS]):
        total += parts[group]
        if group:
            part = buffer_of(space, group, size, theta)
            for i in range(size):
                grad[i] += part[i]
    doubles_at(space[wire.LOSSES_AT])[step] = total


def coupled(
    space: Words, unused: Words, unused_too: Words, theta: Row, grad: Row, values: Row, step: int, size: int
) -> None:  # fmt: skip
    """A worker's share of one step whose blocks wait for each other where they read a mean over the batch."""
    if step == 0:
        ready_blocks(space, theta)
    half, last = space[wire.FORWARD_CUTS + 1], space[wire.FORWARD_CUTS + 1] + space[wire.BACKWARD_CUTS + 1]
    filled, parts, batch = space[wire.FILLED], doubles_at(space[wire.PARTS_AT]), space[wire.BATCH]
    many, block, scale = space[wire.GROUPS], space[wire.BLOCK], row_at(space[wire.SCALES_AT], theta)[step]
    for part in range(last + 1):  # the last one forward is the first one backward
        for group in range(space[wire.WORKER], many, space[wire.WORKERS]):
            into = grad
            if group:
                into = buffer_of(space, group, size, theta)
            if part == half:
                parts[group] = 0.0
                if group:
                    fill(into, zero_of(theta), size)
            begin, end = group_start(group, many, batch, block), group_start(group + 1, many, batch, block)
            for start in range(begin, end, block):
                lanes = min(block, batch - start)
                enter(space, start)
                if part == 0 and not filled:
                    load_inputs(space, theta, space[wire.ON] + start, lanes)
                if part <= half:
                    walk_part(space, wire.FORWARD, wire.FORWARD_CUTS, part, theta, into, lanes)
                if part == half:
                    parts[group] += sum_in_double(row_of(space, space[wire.LOSS], theta), lanes)
                    fill(row_of(space, space[wire.HEIGHT] + space[wire.LOSS], theta), scale, lanes)
                if part >= half:
                    walk_part(space, wire.BACKWARD, wire.BACKWARD_CUTS, part - half, theta, into, lanes)
        if part < last:
            all_arrive(space)
    enter(space, 0)
    space[wire.FILLED] = space[wire.IDS] == 0  # samples in order stay in their rows; nobody writes to them


@callee()
def ready_blocks(space: Words, theta: Row) -> None:
    """Write the constants and the padding of a worker's blocks; all have the stride of a full one."""
    batch = space[wire.BATCH]
    for group in range(space[wire.WORKER], space[wire.GROUPS], space[wire.WORKERS]):
        end = group_start(group + 1, space[wire.GROUPS], batch, space[wire.BLOCK])
        for start in range(group_start(group, space[wire.GROUPS], batch, space[wire.BLOCK]), end, space[wire.BLOCK]):
            enter(space, start)
            space[wire.STRIDE] = 0
            prepare(space, min(space[wire.BLOCK], batch), theta)
    enter(space, 0)


@callee()
def enter(space: Words, start: int) -> None:
    """Let the machine work in the rows of the block that begins with sample `start`."""
    own = start // space[wire.BLOCK]
    space[wire.BASE] += (own - space[wire.OWN]) * space[wire.APART]
    space[wire.OWN], space[wire.PLACE] = own, start


@callee()
def walk_part(space: Words, entry: int, cuts: int, part: int, theta: Row, grad: Row, lanes: int) -> None:
    """The instructions between two cuts, FORWARD or BACKWARD."""
    lines, count = word_at(space[cuts]), space[cuts + 1]
    begin = lines[part - 1] if part > 0 else 0
    end = lines[part] if part < count else space[entry + 1]
    walk_lines(space, space[entry] + begin * LINE_BYTES, end - begin, theta, grad, lanes)


def follow(
    space: Words, unused: Words, unused_too: Words, theta: Row, grad: Row, values: Row, nothing: int, none: int
) -> None:  # fmt: skip
    """Let numbers follow the statistics of a step: as :func:`scalarviz.engine.problem.follow`, in the same order.

    ``TRACKS_AT`` has lines of three: which number, the row of its statistic or -1, the number that counts the steps.
    ``FACTORS_AT`` has lines of two: the rate, NaN for 1 by the count; what the statistic is multiplied by.
    """
    tracks, factors = word_at(space[wire.TRACKS_AT]), doubles_at(space[wire.FACTORS_AT])
    for k in range(space[wire.TRACKS]):
        index, row, rate = tracks[3 * k], tracks[3 * k + 1], factors[2 * k]
        old = np.float64(values[index])
        if row < 0:
            values[index] = converted(old + 1.0, values)
            continue
        if rate != rate:
            rate = 1.0 / np.float64(values[tracks[3 * k + 2]])
        stat = factors[2 * k + 1] * np.float64(row_of(space, row, values)[0])
        values[index] = converted((1.0 - rate) * old + rate * stat, values)


# ---- derived parameters: the machine is that of the prologue


def derive(
    space: Words, unused: Words, unused_too: Words, theta: Row, grad: Row, values: Row, n: int, size: int
) -> None:  # fmt: skip
    """Compute the derived parameters, ``theta[n:]``, on one lane, of the values."""
    copy(theta, values, n)
    outputs = word_at(space[wire.OUTPUTS])
    prepare(space, 1, theta)
    walk(space, wire.FORWARD, theta, grad, 1)
    for i in range(space[wire.OUTPUTS + 1]):
        theta[n + i] = row_of(space, outputs[i], theta)[0]


def derive_back(
    space: Words, unused: Words, unused_too: Words, theta: Row, grad: Row, values: Row, n: int, size: int
) -> None:  # fmt: skip
    """Carry the gradients of the derived parameters, ``grad[n:]``, to the parameters they are made of."""
    outputs, count = word_at(space[wire.OUTPUTS]), space[wire.OUTPUTS + 1]
    for i in range(count):  # one row may be several of them
        row_of(space, space[wire.HEIGHT] + outputs[i], theta)[0] = 0
    for i in range(count):
        row_of(space, space[wire.HEIGHT] + outputs[i], theta)[0] += grad[n + i]
    walk(space, wire.BACKWARD, theta, grad, 1)


# ---- limits


def penalise(
    space: Words, unused: Words, unused_too: Words, hyper: Row, grad: Row, values: Row, n: int, step: int
) -> None:  # fmt: skip
    """What the loss of a step has on top, and what the update multiplies the gradient by, among the step's numbers."""
    limits = doubles_at(space[wire.LIMITS_AT])
    if space[wire.PENALTIES_AT]:
        doubles_at(space[wire.PENALTIES_AT])[step] = penalty(values, limits)
    if space[wire.COMMIT] and limits[2] >= 0:
        hyper[int(limits[4])] = coefficient(values, grad, n, bytes_at(space[wire.TRAINED_AT]), limits)


@callee(fastmath=SUMS)
def penalty(values: Row, limits: Any) -> float:
    """What the loss has on top."""
    total, square = 0.0, 0.0
    for i in range(int(limits[5])):
        w = np.float64(values[i])
        total += abs(w)
        square += w * w
    return float(limits[0] * total + limits[1] * square)


@callee(fastmath=SUMS)
def coefficient(values: Row, grad: Row, n: int, trained: Any, limits: Any) -> float:
    """What the gradient is multiplied by. `trained`: flags, or a null pointer where all are trained."""
    total, l1, l2 = 0.0, limits[0], 2.0 * limits[1]
    everything = address_of(trained) == 0
    for i in range(n):
        w = np.float64(values[i])
        sign = (1.0 if w > 0.0 else 0.0) - (1.0 if w < 0.0 else 0.0)
        g = np.float64(grad[i]) + l1 * sign + l2 * w
        if everything or trained[i]:
            total += g * g
    found = limits[2] / (sqrt(total) + limits[3])
    return 1.0 if found > 1.0 else found


# ---- the optimiser's step: the machine is that of the update


@callee()
def update_fused(space: Words, hyper: Row, columns: Words, first: int, n: int) -> None:
    """That of `n` weights from `first` on, by the kernel that does the same as the machine."""
    last = space[wire.INPUT_ROWS + 1] - 1  # a state that there is none of is any column; the kernel leaves it alone
    on = first * size_of(hyper)
    call_kernel(
        space[wire.FUSED], columns[0] + on, columns[1] + on, columns[min(2, last)] + on, columns[min(3, last)] + on,
        space[wire.CONSTANTS], address_of(hyper), n, 0,
    )  # fmt: skip


def update_rows(
    space: Words, columns: Words, trained: Words, hyper: Row, grad: Row, values: Row, first: int, n: int
) -> None:  # fmt: skip
    """That of `n` weights from `first` on, with the parameters as lanes; those whose flag in `trained` is 0 stay.

    `columns`: addresses of values, gradients and states. `trained` is null where all are trained.
    """
    flags = bytes_at(address_of(trained))
    rows, numbers = word_at(space[wire.INPUT_ROWS]), word_at(space[wire.INPUT_INDEX])
    outputs = word_at(space[wire.OUTPUTS])
    for start in range(first, first + n, space[wire.BLOCK]):
        lanes = min(space[wire.BLOCK], first + n - start)
        prepare(space, lanes, hyper)
        offset = start * size_of(hyper)
        for i in range(space[wire.INPUT_ROWS + 1]):
            copy(row_of(space, rows[i], hyper), row_at(columns[numbers[i]] + offset, hyper), lanes)
        walk(space, wire.FORWARD, hyper, hyper, lanes)
        for i in range(space[wire.OUTPUTS + 1]):
            row, column = row_of(space, outputs[i], hyper), row_at(columns[i + 1 if i else 0] + offset, hyper)
            if address_of(trained) == 0:
                copy(column, row, lanes)
            else:
                for k in range(lanes):
                    if flags[start + k]:
                        column[k] = row[k]


def update_pieces(
    space: Words, columns: Words, trained: Words, hyper: Row, grad: Row, values: Row, first: int, n: int
) -> None:  # fmt: skip
    """That of all weights piece by piece, each by the program of its parameter group."""
    piece = space[wire.PIECES]
    for _ in range(space[wire.PIECES + 1] // wire.PIECE):
        line = word_at(piece)
        numbers = row_at(address_of(hyper) + line[3] * size_of(hyper), hyper)
        if line[4] >= 0:
            numbers[line[4]] = hyper[line[4]]
        own = word_at(line[2])
        if own[wire.FUSED] and address_of(trained) == 0:
            update_fused(own, numbers, columns, line[0], line[1])
        else:
            call_kernel(
                space[wire.UPDATE], line[2], address_of(columns), address_of(trained), address_of(numbers), 0, 0,
                line[0], line[1],
            )  # fmt: skip
        piece += 8 * wire.PIECE
