"""Adjoints of operands. A thread gathers all that one target row gets from one instruction, in order.

A list of targets stands in the pool at `at`: ``count`` rows (``-1 - row`` where the thread adds to what earlier writers
left, else it is the first and stores), ``count + 1`` places where the items of each begin, and the items, each of which
names an operand of the instruction. So no two threads write one number, and nothing is zeroed in advance.
"""

from __future__ import annotations

from ..jit import cuda
from ..typed import Int, Reals, Words, real


def layer_back(
    adjoints: Reals, theta: Reals, pool: Words, at: Int, count: Int, n: Int, weight: Int, dst: Int, outputs: Int,
    stride: Int, lanes: Int,
) -> None:  # fmt: skip
    """Items: k."""
    lane = cuda.blockIdx.y * cuda.blockDim.x + cuda.threadIdx.x
    i = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    if lane < lanes and i < count:
        items = at + 2 * count + 1
        total = real(0)
        for item in range(pool[at + count + i], pool[at + count + i + 1]):
            k = pool[items + item]
            for j in range(outputs):
                total += theta[weight + j * n + k] * adjoints[(dst + j) * stride + lane]
        row = pool[at + i]
        if row < 0:
            adjoints[(-1 - row) * stride + lane] += total
        else:
            adjoints[row * stride + lane] = total


def conv_back(
    adjoints: Reals, theta: Reals, pool: Words, at: Int, count: Int, n: Int, positions: Int, weight: Int, dst: Int,
    outputs: Int, stride: Int, lanes: Int,
) -> None:  # fmt: skip
    """Items: ``p*n + k``."""
    lane = cuda.blockIdx.y * cuda.blockDim.x + cuda.threadIdx.x
    i = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    if lane < lanes and i < count:
        items = at + 2 * count + 1
        total = real(0)
        for item in range(pool[at + count + i], pool[at + count + i + 1]):
            operand = pool[items + item]
            p = operand // n
            k = operand - p * n
            for j in range(outputs):
                total += theta[weight + j * n + k] * adjoints[(dst + j * positions + p) * stride + lane]
        row = pool[at + i]
        if row < 0:
            adjoints[(-1 - row) * stride + lane] += total
        else:
            adjoints[row * stride + lane] = total


def largest_back(
    adjoints: Reals, values: Reals, pool: Words, at: Int, count: Int, args: Int, n: Int, dst: Int, stride: Int,
    lanes: Int,
) -> None:  # fmt: skip
    """Items: ``j*n + k``. All to the first operand that is the largest; of a NaN, its share to all."""
    lane = cuda.blockIdx.y * cuda.blockDim.x + cuda.threadIdx.x
    i = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    if lane < lanes and i < count:
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
        row = pool[at + i]
        if row < 0:
            adjoints[(-1 - row) * stride + lane] += total
        else:
            adjoints[row * stride + lane] = total


def dot_back(
    adjoints: Reals, theta: Reals, pool: Words, at: Int, count: Int, weights: Int, n: Int, dst: Int, stride: Int,
    lanes: Int,
) -> None:  # fmt: skip
    """Items: ``j*n + k``."""
    lane = cuda.blockIdx.y * cuda.blockDim.x + cuda.threadIdx.x
    i = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    if lane < lanes and i < count:
        items = at + 2 * count + 1
        total = real(0)
        for item in range(pool[at + count + i], pool[at + count + i + 1]):
            operand = pool[items + item]
            total += theta[pool[weights + operand]] * adjoints[(dst + operand // n) * stride + lane]
        row = pool[at + i]
        if row < 0:
            adjoints[(-1 - row) * stride + lane] += total
        else:
            adjoints[row * stride + lane] = total


def weighted_back(
    adjoints: Reals, pool: Words, at: Int, count: Int, n: Int, numbers: Reals, first: Int, dst: Int, stride: Int,
    lanes: Int,
) -> None:  # fmt: skip
    """Items: ``j*n + k``, whose coefficient is ``numbers[first + 1 + k]``."""
    lane = cuda.blockIdx.y * cuda.blockDim.x + cuda.threadIdx.x
    i = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    if lane < lanes and i < count:
        items = at + 2 * count + 1
        total = real(0)
        for item in range(pool[at + count + i], pool[at + count + i + 1]):
            operand = pool[items + item]
            j = operand // n
            total += numbers[first + 1 + operand - j * n] * adjoints[(dst + j) * stride + lane]
        row = pool[at + i]
        if row < 0:
            adjoints[(-1 - row) * stride + lane] += total
        else:
            adjoints[row * stride + lane] = total


def product_back(
    adjoints: Reals, values: Reals, pool: Words, at: Int, count: Int, args: Int, n: Int, dst: Int, rows: Int,
    stride: Int, lanes: Int,
) -> None:  # fmt: skip
    """Items: ``(side*rows + j)*n + k``; the other side's row times what comes from above."""
    lane = cuda.blockIdx.y * cuda.blockDim.x + cuda.threadIdx.x
    i = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    if lane < lanes and i < count:
        items = at + 2 * count + 1
        total = real(0)
        for item in range(pool[at + count + i], pool[at + count + i + 1]):
            operand = pool[items + item]
            every = rows * n
            other = operand - every if operand >= every else operand + every
            upstream = adjoints[(dst + min(operand, other) // n) * stride + lane]
            total += values[pool[args + other] * stride + lane] * upstream
        row = pool[at + i]
        if row < 0:
            adjoints[(-1 - row) * stride + lane] += total
        else:
            adjoints[row * stride + lane] = total


def squares_back(
    adjoints: Reals, values: Reals, pool: Words, at: Int, count: Int, args: Int, n: Int, numbers: Reals, first: Int,
    dst: Int, stride: Int, lanes: Int,
) -> None:  # fmt: skip
    """Items: ``side*n + k``; twice the difference to the first side, the opposite to the second."""
    lane = cuda.blockIdx.y * cuda.blockDim.x + cuda.threadIdx.x
    i = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    if lane < lanes and i < count:
        items = at + 2 * count + 1
        upstream = adjoints[dst * stride + lane] * (numbers[first] * real(2))
        total = real(0)
        for item in range(pool[at + count + i], pool[at + count + i + 1]):
            operand = pool[items + item]
            other = operand - n if operand >= n else operand + n
            error = values[pool[args + operand] * stride + lane] - values[pool[args + other] * stride + lane]
            total += error * upstream
        row = pool[at + i]
        if row < 0:
            adjoints[(-1 - row) * stride + lane] += total
        else:
            adjoints[row * stride + lane] = total
