"""Kernels of gradients of tables that are read by number (``gather``), and of means over the batch.

No two threads add to one entry of a table. A small table has a thread for each entry, which walks the lanes of a slice
in order and takes those whose number is its own. A large one would have too many threads that find nothing: there the
numbers are sorted, with the places where they occur, and a thread for each number and column adds up what it has.

Means over the batch are float64 sums in a fixed number of slices that are added in order: two kernels, since no block
of threads can wait for another one.
"""

from __future__ import annotations

import numpy as np

from ..jit import Doubles, Int, Longs, Reals, Words, cuda, real
from .rows import give, lane_and_row

DEVICE = ("lane_and_row", "give")


def scatter(
    parts: Reals, adjoints: Reals, values: Reals, pool: Words, ids: Int, positions: Int, weights: Int, columns: Int,
    rows: Int, step: Int, dst: Int, n: Int, slices: Int, stride: Int, lanes: Int,
) -> None:  # fmt: skip
    """``parts[slice*n + weights[j] + k*step]`` gets the adjoints of column j on the lanes whose number is k."""
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    q = cuda.blockIdx.y
    if i < rows * columns:
        k = i // columns
        j = i - k * columns
        number = real(k)
        begin = q * lanes // slices
        end = (q + 1) * lanes // slices
        total = real(0)
        for p in range(positions):
            of = pool[ids + p] * stride
            upstream = (dst + p * columns + j) * stride
            for lane in range(begin, end):
                if values[of + lane] == number:
                    total += adjoints[upstream + lane]
        parts[q * n + pool[weights + j] + k * step] += total


def scatter_keys(
    keys: Longs, places: Longs, values: Reals, pool: Words, ids: Int, positions: Int, rows: Int, slices: Int,
    stride: Int, lanes: Int,
) -> None:  # fmt: skip
    """Of each place ``p*lanes + lane`` its slice and number as one, ``slices*rows`` where the table has no such one."""
    m = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if m < positions * lanes:
        p = m // lanes
        lane = m - p * lanes
        number = values[pool[ids + p] * stride + lane]
        key = slices * rows
        if number >= real(0) and number < real(rows):
            k = np.int64(number)
            if real(k) == number:
                key = ((lane + 1) * slices - 1) // lanes * rows + k
        keys[m] = key
        places[m] = m


def scatter_merge(keys: Longs, places: Longs, keys_to: Longs, places_to: Longs, count: Int, run: Int) -> None:
    """Neighbouring sorted runs of so many keys merged, equal keys in the order of their places."""
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < count:
        key = keys[i]
        mine = i // run
        left = mine % 2 == 0
        first = (mine + 1) * run if left else (mine - 1) * run
        low = min(first, count)
        high = min(first + run, count)
        base = low
        while low < high:  # how many of the other run come before
            middle = (low + high) // 2
            if keys[middle] < key or (keys[middle] == key and not left):
                low = middle + 1
            else:
                high = middle
        to = i + (low - base) if left else i - run + (low - base)
        keys_to[to] = key
        places_to[to] = places[i]


def scatter_sorted(
    parts: Reals, adjoints: Reals, pool: Words, keys: Longs, places: Longs, count: Int, weights: Int, columns: Int,
    rows: Int, step: Int, dst: Int, n: Int, slices: Int, stride: Int, lanes: Int,
) -> None:  # fmt: skip
    """As :func:`scatter`, from sorted keys: the thread where a key begins adds up all that have it."""
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < count * columns:
        item = i // columns
        j = i - item * columns
        key = keys[item]
        begins = key < slices * rows
        if begins and item > 0:
            begins = keys[item - 1] != key
        if begins:
            total = real(0)
            while item < count and keys[item] == key:
                place = places[item]
                p = place // lanes
                total += adjoints[(dst + p * columns + j) * stride + place - p * lanes]
                item += 1
            q = key // rows
            parts[q * n + pool[weights + j] + (key - q * rows) * step] += total


def batch_parts(
    sums: Doubles, rows: Reals, pool: Words, args: Int, slices: Int, count: Int, stride: Int, lanes: Int
) -> None:
    """``sums[i*slices + q]``: lanes ``q, q + slices, ...`` of row ``pool[args + i]``."""
    lane, i = lane_and_row()
    if lane < lanes and lane < slices and i < count:
        row = pool[args + i] * stride
        total = np.float64(0)
        for k in range(lane, lanes, slices):
            total += np.float64(rows[row + k])
        sums[i * slices + lane] = total


def batch_mean(values: Reals, sums: Doubles, slices: Int, dst: Int, count: Int, stride: Int, lanes: Int) -> None:
    """Row ``dst + i`` from its sums, the same number on every lane."""
    lane, i = lane_and_row()
    if lane < lanes and i < count:
        total = np.float64(0)
        for q in range(min(slices, lanes)):
            total += sums[i * slices + q]
        values[(dst + i) * stride + lane] = real(total / np.float64(lanes))


def batch_mean_back(
    adjoints: Reals, sums: Doubles, pool: Words, at: Int, count: Int, slices: Int, stride: Int, lanes: Int
) -> None:
    """Items: j, whose adjoints have the sums ``sums[j*slices] ...``; see ``rows`` for a list of targets."""
    lane, i = lane_and_row()
    if lane < lanes and i < count:
        items = at + 2 * count + 1
        total = np.float64(0)
        for item in range(pool[at + count + i], pool[at + count + i + 1]):
            for q in range(min(slices, lanes)):
                total += sums[pool[items + item] * slices + q]
        mean = real(total / np.float64(lanes))
        give(adjoints, pool[at + i], stride, lane, mean)


def follow(
    theta: Reals, values: Reals, tracks: Longs, factors: Doubles, starts: Longs, first: Int, count: Int, stride: Int
) -> None:
    """Let numbers of theta follow rows: :func:`scalarviz.engine.problem.follow`, a thread for each number.

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
