"""Sums over lanes: gradients of parameters and the loss, in a fixed number of slices, added in order."""

from __future__ import annotations

import numpy as np

from ..jit import cuda
from ..typed import Doubles, Int, Longs, Reals, Words, real


def pairs(
    parts: Reals, adjoints: Reals, values: Reals, which: Words, first: Longs, adjoint_rows: Words, value_rows: Words,
    count: Int, n: Int, slices: Int, fresh: Int, stride: Int, lanes: Int,
) -> None:  # fmt: skip
    """``parts[slice*n + which[i]]``: the slice's part of a parameter's gradient, over its pairs of rows.

    The i-th has the pairs from ``first[i]`` on; a value row of -1 stands for 1 (a bias). Where it is not `fresh`, it is
    added to what earlier chunks gave.
    """
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    q = cuda.blockIdx.y
    if i < count:
        place = q * n + which[i]
        begin = q * lanes // slices
        end = (q + 1) * lanes // slices
        total = real(0)
        if fresh == 0:
            total = parts[place]
        for m in range(first[i], first[i + 1]):
            adjoint = adjoint_rows[m] * stride
            if value_rows[m] >= 0:
                value = value_rows[m] * stride
                for lane in range(begin, end):
                    total += adjoints[adjoint + lane] * values[value + lane]
            else:
                for lane in range(begin, end):
                    total += adjoints[adjoint + lane]
        parts[place] = total


def join(grad: Reals, parts: Reals, n: Int, slices: Int, fresh: Int) -> None:
    """The gradient of a parameter from its slices, in order; added to what is there where it is not `fresh`."""
    p = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if p < n:
        total = real(0)
        if fresh == 0:
            total = grad[p]
        for q in range(slices):
            total += parts[q * n + p]
        grad[p] = total


def loss(
    parts: Doubles, values: Reals, adjoints: Reals, row: Int, scales: Reals, slices: Int, fresh: Int, clock: Longs,
    stride: Int, lanes: Int,
) -> None:  # fmt: skip
    """Where the backward pass begins: the losses' sum in float64, their adjoints, and the next step's number.

    ``parts[step*slices + q]`` gets lanes ``q, q + slices, ...`` (1,024 losses in float32 lose three digits); the host
    adds them up. Where it is not `fresh`, it is added to what earlier chunks gave. See ``steps`` for the clock.
    """
    q = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if q < slices:
        place = (clock[0] - clock[2]) * slices + q
        total, scale = np.float64(0), scales[clock[0] - clock[2]]
        if fresh == 0:
            total = parts[place]
        for lane in range(q, lanes, slices):
            total += np.float64(values[row * stride + lane])
            adjoints[row * stride + lane] = scale
        parts[place] = total
        if q == 0:
            clock[1] = clock[0] + 1


def loss_of_squares(
    parts: Doubles, values: Reals, adjoints: Reals, pool: Words, args: Int, n: Int, numbers: Reals, at: Int,
    scales: Reals, slices: Int, fresh: Int, clock: Longs, stride: Int, lanes: Int,
) -> None:  # fmt: skip
    """As :func:`loss`, of ``numbers[at]`` times the sum of squared differences; the adjoints are those of its rows."""
    q = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if q < slices:
        place = (clock[0] - clock[2]) * slices + q
        total = np.float64(0)
        if fresh == 0:
            total = parts[place]
        factor = numbers[at]
        upstream = scales[clock[0] - clock[2]] * (factor * real(2))
        for lane in range(q, lanes, slices):
            squares = real(0)
            for k in range(n):
                row = pool[args + k] * stride + lane
                error = values[row] - values[pool[args + n + k] * stride + lane]
                squares += error * error
                adjoints[row] = error * upstream
            total += np.float64(factor * squares)
        parts[place] = total
        if q == 0:
            clock[1] = clock[0] + 1
