"""Kernels that compute the values of rows, and the adjoints of their operands. ``pool`` holds the operand rows.

Backward, a thread gathers in order all that one target row gets from one instruction. A list of targets stands in the
pool at `at`: ``count`` rows (``-1 - row`` where the thread adds to what earlier writers left, else it is the first and
stores), ``count + 1`` places where the items of each begin, and the items, each of which names an operand of the
instruction. So no two threads write one number, and nothing is zeroed in advance.
"""

from __future__ import annotations

import numpy as np

from ..jit import Int, Longs, Real, Reals, Words, cuda, nan, real


def lane_and_row() -> tuple[int, int]:
    """Which lane of which row a thread stands for."""
    lane = cuda.blockIdx.y * cuda.blockDim.x + cuda.threadIdx.x
    return lane, cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y


def inputs(
    values: Reals, pool: Words, rows: Int, offsets: Longs, count: Int, data: Reals, order: Longs, mode: Int,
    clock: Longs, batch: Int, start: Int, stride: Int, lanes: Int,
) -> None:  # fmt: skip
    """Row ``rows[i]`` from the numbers behind ``data[offsets[i]]``.

    The samples ``start ..`` of all (mode 0), of those that `order` picks (1), or of the step's batch, where the batches
    of a call stand one behind the other (2).
    """
    lane, i = lane_and_row()
    if lane < lanes and i < count:
        sample = start + lane
        if mode == 1:
            sample = order[sample]
        elif mode == 2:
            sample += (clock[0] - clock[2]) * batch
        values[pool[rows + i] * stride + lane] = data[offsets[i] + sample]


def constants(
    values: Reals, pool: Words, rows: Int, numbers: Reals, at: Int, count: Int, stride: Int, lanes: Int
) -> None:
    """Rows that never change."""
    lane, i = lane_and_row()
    if lane < lanes and i < count:
        values[pool[rows + i] * stride + lane] = numbers[at + i]


def param(
    values: Reals, theta: Reals, pool: Words, weights: Int, dst: Int, count: Int, stride: Int, lanes: Int
) -> None:
    """A parameter on every lane."""
    lane, j = lane_and_row()
    if lane < lanes and j < count:
        values[(dst + j) * stride + lane] = theta[pool[weights + j]]


def gather(
    values: Reals, theta: Reals, pool: Words, ids: Int, weights: Int, columns: Int, rows: Int, step: Int, dst: Int,
    count: Int, stride: Int, lanes: Int,
) -> None:  # fmt: skip
    """Row ``dst + p*columns + j``: parameter ``weights[j] + k*step`` for the number k in row ``ids[p]``; else NaN."""
    lane, row = lane_and_row()
    if lane < lanes and row < count:
        p = row // columns
        number = values[pool[ids + p] * stride + lane]
        values[(dst + row) * stride + lane] = nan
        if number >= real(0) and number < real(rows):  # only now may it become an index
            k = np.int64(number)
            if real(k) == number:
                values[(dst + row) * stride + lane] = theta[pool[weights + row - p * columns] + k * step]


def layer(
    values: Reals, theta: Reals, pool: Words, args: Int, n: Int, weight: Int, bias: Int, dst: Int, count: Int,
    stride: Int, lanes: Int,
) -> None:  # fmt: skip
    """Row ``dst + j`` is the sum of ``theta[weight + j*n + k]`` times operand k, and the bias."""
    lane, j = lane_and_row()
    if lane < lanes and j < count:
        total = real(-0.0) if n == 1 else real(0)  # a product alone keeps the sign of -0.0
        if bias >= 0:
            total = theta[bias + j]
        for k in range(n):
            total += theta[weight + j * n + k] * values[pool[args + k] * stride + lane]
        values[(dst + j) * stride + lane] = total


def conv(
    values: Reals, theta: Reals, pool: Words, args: Int, n: Int, positions: Int, weight: Int, bias: Int, dst: Int,
    count: Int, stride: Int, lanes: Int,
) -> None:  # fmt: skip
    """Layers that share their weights: row ``dst + j*positions + p``; `count` is the number of all rows."""
    lane, row = lane_and_row()
    if lane < lanes and row < count:
        j = row // positions
        first = args + (row - j * positions) * n
        total = real(-0.0) if n == 1 else real(0)  # a product alone keeps the sign of -0.0
        if bias >= 0:
            total = theta[bias + j]
        for k in range(n):
            total += theta[weight + j * n + k] * values[pool[first + k] * stride + lane]
        values[(dst + row) * stride + lane] = total


def largest(values: Reals, pool: Words, args: Int, n: Int, dst: Int, count: Int, stride: Int, lanes: Int) -> None:
    """The largest of n rows, the first of equal ones; NaN if one is NaN."""
    lane, j = lane_and_row()
    if lane < lanes and j < count:
        best = values[pool[args + j * n] * stride + lane]
        for k in range(1, n):
            other = values[pool[args + j * n + k] * stride + lane]
            if not best >= other:
                best = other if best < other else best + other
        values[(dst + j) * stride + lane] = best


def dot(
    values: Reals, theta: Reals, pool: Words, args: Int, weights: Int, n: Int, bias: Int, numbers: Reals, at: Int,
    dst: Int, count: Int, stride: Int, lanes: Int,
) -> None:  # fmt: skip
    """Row ``dst + j``: n parameters anywhere times n rows, the bias and the offset ``numbers[at]``."""
    # Here and below, the offset gives a sum of nothing but -0.0 its sign: it is 0, for a single product -0.0.
    lane, j = lane_and_row()
    if lane < lanes and j < count:
        total = real(-0.0)
        for k in range(j * n, j * n + n):
            total += theta[pool[weights + k]] * values[pool[args + k] * stride + lane]
        if bias >= 0:
            total += theta[bias]
        values[(dst + j) * stride + lane] = total + numbers[at]


def weighted(
    values: Reals, theta: Reals, pool: Words, args: Int, n: Int, bias: Int, numbers: Reals, at: Int, dst: Int,
    count: Int, stride: Int, lanes: Int,
) -> None:  # fmt: skip
    """Row ``dst + j``: the numbers behind ``numbers[at]`` times n rows, the bias and the offset ``numbers[at]``."""
    lane, j = lane_and_row()
    if lane < lanes and j < count:
        total = real(-0.0)
        for k in range(n):
            total += numbers[at + 1 + k] * values[pool[args + j * n + k] * stride + lane]
        if bias >= 0:
            total += theta[bias]
        values[(dst + j) * stride + lane] = total + numbers[at]


def product(
    values: Reals, theta: Reals, pool: Words, args: Int, n: Int, bias: Int, numbers: Reals, at: Int, dst: Int,
    count: Int, stride: Int, lanes: Int,
) -> None:  # fmt: skip
    """Row ``dst + j``: n rows times n rows, the bias and the offset ``numbers[at]``."""
    lane, j = lane_and_row()
    if lane < lanes and j < count:
        total = real(-0.0)
        for k in range(j * n, j * n + n):
            total += values[pool[args + k] * stride + lane] * values[pool[args + count * n + k] * stride + lane]
        if bias >= 0:
            total += theta[bias]
        values[(dst + j) * stride + lane] = total + numbers[at]


def squares(
    values: Reals, pool: Words, args: Int, n: Int, numbers: Reals, at: Int, dst: Int, stride: Int, lanes: Int
) -> None:
    """One row: ``numbers[at]`` times the sum of squared differences."""
    lane, j = lane_and_row()
    if lane < lanes and j < 1:
        total = real(0)
        for k in range(n):
            error = values[pool[args + k] * stride + lane] - values[pool[args + n + k] * stride + lane]
            total += error * error
        values[dst * stride + lane] = numbers[at] * total


def give(adjoints: Reals, target: Int, stride: Int, lane: Int, total: Real) -> None:
    """What a target gets, see above."""
    if target < 0:
        adjoints[(-1 - target) * stride + lane] += total
    else:
        adjoints[target * stride + lane] = total


def derivative(_up: Real, y: Real, a: Real, first: Real, second: Real) -> Real:
    """What operations in front of an instruction hand on; ``catalog`` puts those of the ops table here."""
    return _up


DEVICE = ("lane_and_row", "give", "derivative", "largest_share")


def layer_back(
    adjoints: Reals, theta: Reals, pool: Words, at: Int, count: Int, n: Int, weight: Int, dst: Int, outputs: Int,
    stride: Int, lanes: Int,
) -> None:  # fmt: skip
    """Items: k."""
    lane, i = lane_and_row()
    if lane < lanes and i < count:
        items = at + 2 * count + 1
        total = real(0)
        for item in range(pool[at + count + i], pool[at + count + i + 1]):
            k = pool[items + item]
            for j in range(outputs):
                total += theta[weight + j * n + k] * adjoints[(dst + j) * stride + lane]
        give(adjoints, pool[at + i], stride, lane, total)


def conv_back(
    adjoints: Reals, theta: Reals, pool: Words, at: Int, count: Int, n: Int, positions: Int, weight: Int, dst: Int,
    outputs: Int, stride: Int, lanes: Int,
) -> None:  # fmt: skip
    """Items: ``p*n + k``."""
    lane, i = lane_and_row()
    if lane < lanes and i < count:
        items = at + 2 * count + 1
        total = real(0)
        for item in range(pool[at + count + i], pool[at + count + i + 1]):
            operand = pool[items + item]
            p = operand // n
            k = operand - p * n
            for j in range(outputs):
                total += theta[weight + j * n + k] * adjoints[(dst + j * positions + p) * stride + lane]
        give(adjoints, pool[at + i], stride, lane, total)


def largest_share(
    adjoints: Reals, values: Reals, pool: Words, at: Int, count: Int, args: Int, n: Int, dst: Int, i: Int, stride: Int,
    lane: Int,
) -> Real:  # fmt: skip
    """Items: ``j*n + k``. All to the first operand that is the largest; of a NaN, its share to all."""
    items = at + 2 * count + 1
    total = real(0)
    for item in range(pool[at + count + i], pool[at + count + i + 1]):
        operand = pool[items + item]
        j = operand // n
        found = values[(dst + j) * stride + lane]
        upstream = adjoints[(dst + j) * stride + lane]
        if found != found:
            total += upstream * found
        elif values[pool[args + operand] * stride + lane] == found:
            first = j * n
            while values[pool[args + first] * stride + lane] != found:
                first += 1
            if first == operand:
                total += upstream
    return total


def largest_back(
    adjoints: Reals, values: Reals, pool: Words, at: Int, count: Int, args: Int, n: Int, dst: Int, stride: Int,
    lanes: Int,
) -> None:  # fmt: skip
    """See :func:`largest_share`."""
    lane, i = lane_and_row()
    if lane < lanes and i < count:
        total = largest_share(adjoints, values, pool, at, count, args, n, dst, i, stride, lane)
        give(adjoints, pool[at + i], stride, lane, total)


def largest_back_joined(
    adjoints: Reals, values: Reals, pool: Words, at: Int, count: Int, args: Int, n: Int, dst: Int, joined: Int,
    one: Real, two: Real, stride: Int, lanes: Int,
) -> None:  # fmt: skip
    """The same, through operations in front: the rows of their results stand at `joined`, then those of operands."""
    lane, i = lane_and_row()
    if lane < lanes and i < count:
        total = largest_share(adjoints, values, pool, at, count, args, n, dst, i, stride, lane)
        y, a = values[pool[joined + i] * stride + lane], values[pool[joined + count + i] * stride + lane]
        give(adjoints, pool[at + i], stride, lane, derivative(total, y, a, one, two))


def dot_back(
    adjoints: Reals, theta: Reals, pool: Words, at: Int, count: Int, weights: Int, n: Int, dst: Int, stride: Int,
    lanes: Int,
) -> None:  # fmt: skip
    """Items: ``j*n + k``."""
    lane, i = lane_and_row()
    if lane < lanes and i < count:
        items = at + 2 * count + 1
        total = real(0)
        for item in range(pool[at + count + i], pool[at + count + i + 1]):
            operand = pool[items + item]
            total += theta[pool[weights + operand]] * adjoints[(dst + operand // n) * stride + lane]
        give(adjoints, pool[at + i], stride, lane, total)


def weighted_back(
    adjoints: Reals, pool: Words, at: Int, count: Int, n: Int, numbers: Reals, first: Int, dst: Int, stride: Int,
    lanes: Int,
) -> None:  # fmt: skip
    """Items: ``j*n + k``, whose coefficient is ``numbers[first + 1 + k]``."""
    lane, i = lane_and_row()
    if lane < lanes and i < count:
        items = at + 2 * count + 1
        total = real(0)
        for item in range(pool[at + count + i], pool[at + count + i + 1]):
            operand = pool[items + item]
            j = operand // n
            total += numbers[first + 1 + operand - j * n] * adjoints[(dst + j) * stride + lane]
        give(adjoints, pool[at + i], stride, lane, total)


def product_back(
    adjoints: Reals, values: Reals, pool: Words, at: Int, count: Int, args: Int, n: Int, dst: Int, rows: Int,
    stride: Int, lanes: Int,
) -> None:  # fmt: skip
    """Items: ``(side*rows + j)*n + k``; the other side's row times what comes from above."""
    lane, i = lane_and_row()
    if lane < lanes and i < count:
        items = at + 2 * count + 1
        total = real(0)
        for item in range(pool[at + count + i], pool[at + count + i + 1]):
            operand = pool[items + item]
            every = rows * n
            other = operand - every if operand >= every else operand + every
            upstream = adjoints[(dst + min(operand, other) // n) * stride + lane]
            total += values[pool[args + other] * stride + lane] * upstream
        give(adjoints, pool[at + i], stride, lane, total)


def squares_back(
    adjoints: Reals, values: Reals, pool: Words, at: Int, count: Int, args: Int, n: Int, numbers: Reals, first: Int,
    dst: Int, stride: Int, lanes: Int,
) -> None:  # fmt: skip
    """Items: ``side*n + k``; twice the difference to the first side, the opposite to the second."""
    lane, i = lane_and_row()
    if lane < lanes and i < count:
        items = at + 2 * count + 1
        upstream = adjoints[dst * stride + lane] * (numbers[first] * real(2))
        total = real(0)
        for item in range(pool[at + count + i], pool[at + count + i + 1]):
            operand = pool[items + item]
            other = operand - n if operand >= n else operand + n
            error = values[pool[args + operand] * stride + lane] - values[pool[args + other] * stride + lane]
            total += error * upstream
        give(adjoints, pool[at + i], stride, lane, total)
