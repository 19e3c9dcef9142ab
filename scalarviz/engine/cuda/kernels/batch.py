"""Means over the batch, which is one chunk of lanes; and numbers that follow statistics of a step.

Sums are float64, in a fixed number of slices that are added in order: two kernels, since no block of threads can wait
for another one.
"""

from __future__ import annotations

import numpy as np

from ..jit import cuda
from ..typed import Doubles, Int, Longs, Reals, Words, real


def batch_parts(
    sums: Doubles, rows: Reals, pool: Words, args: Int, slices: Int, count: Int, stride: Int, lanes: Int
) -> None:
    """``sums[i*slices + q]``: lanes ``q, q + slices, ...`` of row ``pool[args + i]``."""
    lane = cuda.blockIdx.y * cuda.blockDim.x + cuda.threadIdx.x
    i = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    if lane < lanes and lane < slices and i < count:
        row = pool[args + i] * stride
        total = np.float64(0)
        for k in range(lane, lanes, slices):
            total += np.float64(rows[row + k])
        sums[i * slices + lane] = total


def batch_mean(values: Reals, sums: Doubles, slices: Int, dst: Int, count: Int, stride: Int, lanes: Int) -> None:
    """Row ``dst + i`` from its sums, the same number on every lane."""
    lane = cuda.blockIdx.y * cuda.blockDim.x + cuda.threadIdx.x
    i = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    if lane < lanes and i < count:
        total = np.float64(0)
        for q in range(min(slices, lanes)):
            total += sums[i * slices + q]
        values[(dst + i) * stride + lane] = real(total / np.float64(lanes))


def batch_mean_back(
    adjoints: Reals, sums: Doubles, pool: Words, at: Int, count: Int, slices: Int, stride: Int, lanes: Int
) -> None:
    """Items: j, whose adjoints have the sums ``sums[j*slices] ...``; see ``backward`` for a list of targets."""
    lane = cuda.blockIdx.y * cuda.blockDim.x + cuda.threadIdx.x
    i = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    if lane < lanes and i < count:
        items = at + 2 * count + 1
        total = np.float64(0)
        for item in range(pool[at + count + i], pool[at + count + i + 1]):
            for q in range(min(slices, lanes)):
                total += sums[pool[items + item] * slices + q]
        mean = real(total / np.float64(lanes))
        row = pool[at + i]
        if row < 0:
            adjoints[(-1 - row) * stride + lane] += mean
        else:
            adjoints[row * stride + lane] = mean


def follow(
    theta: Reals, values: Reals, tracks: Longs, factors: Doubles, starts: Longs, first: Int, count: Int, stride: Int
) -> None:
    """Let numbers of theta follow rows: :func:`scalarviz.engine.coupled.follow`, a thread for each number.

    Number i has the tracks from ``starts[first + i]`` on: four numbers each, which it is (-1: leave it as it is), the
    row (-1: it counts), the number that counts the steps, and how many of this step that has counted too early.
    """
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < count:
        for k in range(starts[first + i], starts[first + i + 1]):
            index = tracks[4 * k]
            row = tracks[4 * k + 1]
            if index >= 0:
                number = np.float64(theta[index])
                if row < 0:
                    number += 1.0
                else:
                    rate = factors[2 * k]
                    if rate != rate:
                        counted = np.float64(theta[tracks[4 * k + 2]]) - np.float64(tracks[4 * k + 3])
                        rate = 1.0 / counted
                    stat = factors[2 * k + 1] * np.float64(values[row * stride])
                    number = (1.0 - rate) * number + rate * stat
                theta[index] = real(number)
