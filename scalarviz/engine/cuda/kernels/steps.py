"""Kernels of a step around its program: its samples, its rates, sums over lanes, what is kept of the update, the clock.

Gradients of parameters and the loss are summed in a fixed number of slices, which are added in order.

A kernel is launched with the same arguments in every step, so that a step can be recorded once. What differs stands in
``clock``: the number of the step, that of the next one, and that of the call's first step. The loss writes the next
step's number, and the update, which reads that one, makes it the step's: so nobody writes what others may still read.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .... import rng
from ..jit import (
    FUNCTIONS,
    Double,
    Doubles,
    Flags,
    Int,
    Key,
    Longs,
    Real,
    Reals,
    Words,
    cuda,
    device_function,
    real,
    shared,
)
from .rows import derivative, lane_and_row


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


def join(grad: Reals, parts: Reals, n: Int, slices: Words, fresh: Int) -> None:
    """The gradient of a parameter from its slices, in order; added to what is there where it is not `fresh`."""
    p = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if p < n:
        total = real(0)
        if fresh == 0:
            total = grad[p]
        for q in range(slices[p]):
            total += parts[q * n + p]
        grad[p] = total


half: Any = None
infinity: Any = None
"""The nearest float16 of a number, and an infinite one; ``catalog`` puts them here."""


TREE = 128
"""Threads of a block that adds up what its threads found: a power of two."""


def add_up(parts: Doubles, place: Int, fresh: Int, total: Double) -> None:
    """Put the sum of a block's totals, added in a tree, at a place; add it to what is there where it is not `fresh`."""
    sums = shared(np.float64, 0)
    me = cuda.threadIdx.y * cuda.blockDim.x + cuda.threadIdx.x
    sums[me] = total
    half = TREE // 2
    while half > 0:
        cuda.syncthreads()
        if me < half:
            sums[me] += sums[me + half]
        half //= 2
    if me == 0:
        total = sums[0]
        if fresh == 0:
            total += parts[place]
        parts[place] = total


TOGETHER = 16
"""Slices that a thread loads before it adds the first one, because loading takes long."""


def half_gradients(
    state: Reals, size: Int, n: Int, parts: Reals, slices: Words, halves: Words, scale: Int, trained: Flags,
    found: Doubles, stopped: Longs,
) -> None:  # fmt: skip
    """Gradients of parameters from the slices of their halves': rounded, and divided by the loss scale.

    ``found[block]`` is how many of a block's trained ones overflow. Once a step is stopped, its gradient stays.
    """
    inverse, lost = real(1) / state[scale], np.float64(0)
    some = cuda.local.array(TOGETHER, real)
    if stopped[0] == 0:
        for p in range(cuda.blockIdx.x * TREE + cuda.threadIdx.x, n, cuda.gridDim.x * TREE):
            total = real(0)
            if halves[p] >= 0:
                q, place, count = np.int64(0), np.int64(halves[p]), slices[halves[p]]
                while q + TOGETHER <= count:
                    for k in range(TOGETHER):
                        some[k] = parts[(q + k) * size + place]
                    for k in range(TOGETHER):
                        total += some[k]
                    q += TOGETHER
                while q < count:
                    total += parts[q * size + place]
                    q += 1
                total = half(total) * inverse
            state[size + p] = total
            if trained[p] != 0 and not abs(total) < infinity:
                lost += 1.0
    add_up(found, cuda.blockIdx.x, 1, lost)


def overflow(found: Doubles, blocks: Int, stopped: Longs) -> None:
    """Whether a step is stopped: 1 in that whose gradient overflows, 2 in those that were queued behind it."""
    total = np.float64(0)
    for q in range(cuda.threadIdx.x, blocks, TREE):
        total += found[q]
    add_up(found, blocks, 1, total)
    if cuda.threadIdx.x == 0:
        if stopped[0] != 0:
            stopped[0] = 2
        elif stopped[1] != 0 and found[blocks] > 0.0:
            stopped[0] = 1


def loss(
    parts: Doubles, values: Reals, adjoints: Reals, row: Int, scales: Reals, slices: Int, fresh: Int, clock: Longs,
    stride: Int, lanes: Int,
) -> None:  # fmt: skip
    """Where the backward pass begins: the losses' sum in float64, their adjoints, and the next step's number.

    ``parts[step*slices + q]`` is the sum of block q of `slices` (1,024 losses in float32 lose three digits); the host
    adds the parts up. Where it is not `fresh`, it is added to what earlier chunks gave. See ``steps`` for the clock.
    """
    q, total = cuda.blockIdx.y, np.float64(0)
    scale = scales[clock[0] - clock[2]]
    for lane in range(q * TREE + cuda.threadIdx.y * cuda.blockDim.x + cuda.threadIdx.x, lanes, slices * TREE):
        total += np.float64(values[row * stride + lane])
        adjoints[row * stride + lane] = scale
    if q == 0 and cuda.threadIdx.x == 0 and cuda.threadIdx.y == 0:
        clock[1] = clock[0] + 1
    add_up(parts, (clock[0] - clock[2]) * slices + q, fresh, total)


JOINED = False


def loss_of_squares(
    parts: Doubles, values: Reals, adjoints: Reals, theta: Reals, pool: Words, args: Int, n: Int, numbers: Reals,
    at: Int, scale: Int, one: Real, two: Real, high: Int, wide: Int, scales: Reals, fresh: Int, clock: Longs,
    stride: Int, lanes: Int,
) -> None:  # fmt: skip
    """As :func:`loss`, of ``numbers[at]`` times the sum of squared differences; the adjoints are those of its rows.

    Of the operands of the operations in front of it, if they are joined: their rows follow those of the targets.
    Parameter `scale`, if it is one, multiplies the adjoints. `high` blocks share the rows, and `wide` the lanes.
    """
    first, row = lane_and_row()
    total, factor = np.float64(0), numbers[at]
    for lane in range(first, lanes, wide * cuda.blockDim.x):
        squares, upstream = real(0), scales[clock[0] - clock[2]]
        if scale >= 0:
            upstream *= theta[scale]
        upstream *= factor * real(2)
        for k in range(row, n, high * cuda.blockDim.y):
            place = pool[args + k] * stride + lane
            error = values[place] - values[pool[args + n + k] * stride + lane]
            squares += error * error
            if JOINED:
                y, place = values[place], pool[args + 2 * n + k] * stride + lane
                adjoints[place] = derivative(error * upstream, y, values[place], one, two)
            else:
                adjoints[place] = error * upstream
        total += np.float64(factor * squares)
    if first == 0 and row == 0:
        clock[1] = clock[0] + 1
    add_up(parts, ((clock[0] - clock[2]) * high + cuda.blockIdx.x) * wide + cuda.blockIdx.y, fresh, total)


WORD, HALF, NOTHING, ONE = rng.WORD, rng.HALF, np.uint64(0), np.uint64(1)
TWO, THREE = np.uint64(2), np.uint64(3)
ORDER, SAMPLING = np.uint64(int(rng.Stream.ORDER)), np.uint64(int(rng.Stream.SAMPLING))
root = FUNCTIONS["sqrt"]
philox4x32 = device_function(rng.philox4x32)
feistel = device_function(rng.feistel)
drawn = device_function(rng.drawn)


def sample(
    place: Int, step: Int, batch: Int, samples: Int, k0: Key, k1: Key, left: Key, right: Key, rounds: Int
) -> Int:
    """The sample at a place of a step's batch, :meth:`scalarviz.engine.problem.Problem.indices`.

    Without rounds, with replacement.
    """
    if rounds == 0:
        at = np.uint64(step)
        e0, e1, e2, e3 = philox4x32(np.uint64(place) >> ONE, SAMPLING, at & WORD, at >> HALF, k0, k1)
        if place % 2 != 0:
            e0, e1 = e2, e3
        return np.int64(drawn(e0, e1, np.uint64(samples)))
    batches = samples // batch
    epoch = np.uint64(step // batches)
    e0, e1, e2, e3 = philox4x32(NOTHING, ORDER, epoch & WORD, epoch >> HALF, k0, k1)
    x = np.uint64(step % batches * batch + place)
    x = feistel(x, left, right, rounds, e0, e1, e2, e3)
    while x >= np.uint64(samples):
        x = feistel(x, left, right, rounds, e0, e1, e2, e3)
    return np.int64(x)


DEVICE = ("lane_and_row", "sample", "add_up", "derivative")


def batch_order(
    order: Longs, clock: Longs, batch: Int, samples: Int, k0: Key, k1: Key, left: Key, right: Key, rounds: Int
) -> None:  # fmt: skip
    """The samples of a step, one a thread."""
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < batch:
        order[i] = sample(i, clock[0], batch, samples, k0, k1, left, right, rounds)


def masks(
    values: Reals, pool: Words, units: Int, count: Int, dst: Int, k0: Key, k1: Key, threshold: Int, factor: Real,
    clock: Longs, start: Int, stride: Int, lanes: Int,
) -> None:  # fmt: skip
    """Dropout masks of a call for the samples ``start ..`` of the batch: :func:`scalarviz.rng.dropped`."""
    lane, i = lane_and_row()
    if lane < lanes and i < count:
        step, unit = np.uint64(clock[0]), np.uint64(pool[units + i])
        w0, w1, w2, w3 = philox4x32(np.uint64(start + lane), unit >> TWO, step & WORD, step >> HALF, k0, k1)
        which = unit & THREE
        if which >= TWO:
            w0, w1 = w2, w3
        if which & ONE != NOTHING:
            w0 = w1
        kept = factor
        if w0 < np.uint64(threshold):
            kept = real(0)
        values[(dst + i) * stride + lane] = kept


def rates(numbers: Reals, table: Reals, clock: Longs, width: Int) -> None:
    """The step's learning rate, its number and what follows from them: a line of the call's table."""
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < width:
        numbers[i] = table[(clock[0] - clock[2]) * width + i]


def derived(theta: Reals, n: Int, values: Reals, pool: Words, outputs: Int, count: Int) -> None:
    """The derived parameters, which stand behind the others, from the rows of the prologue."""
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < count:
        theta[n + i] = values[pool[outputs + i]]


def derived_back(adjoints: Reals, grad: Reals, n: Int, pool: Words, at: Int, count: Int) -> None:
    """Adjoints of the prologue's outputs from the gradients of the derived parameters; a row may be several of them.

    A list of targets as in ``rows``; its items are the numbers of the derived parameters.
    """
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < count:
        items = at + 2 * count + 1
        total = real(0)
        for item in range(pool[at + count + i], pool[at + count + i + 1]):
            total += grad[n + pool[items + item]]
        adjoints[pool[at + i]] = total


def keep(previous: Reals, values: Reals, n: Int) -> None:
    """The values before the update."""
    p = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if p < n:
        previous[p] = values[p]


def commit(
    state: Reals, values: Reals, pool: Words, outputs: Int, offsets: Longs, count: Int, trained: Flags, start: Int,
    stride: Int, lanes: Int,
) -> None:  # fmt: skip
    """What the optimiser's program made of weights and states, to where they stand, for weights that are trained."""
    lane, i = lane_and_row()
    if lane < lanes and i < count and trained[start + lane] != 0:
        state[offsets[i] + start + lane] = values[pool[outputs + i] * stride + lane]


def penalty(
    losses: Doubles, theta: Reals, n: Int, l1: Double, l2: Double, slices: Int, blocks: Int, scales: Reals, clock: Longs
) -> None:
    """What the loss has on top, to the first parts of the step's loss, one a block: these are scaled by the host."""
    q, total, squares = cuda.blockIdx.x, np.float64(0), np.float64(0)
    for p in range(q * TREE + cuda.threadIdx.x, n, blocks * TREE):
        w = np.float64(theta[p])
        total += abs(w)
        squares += w * w
    step = clock[0] - clock[2]
    add_up(losses, step * slices + q, 0, (l1 * total + l2 * squares) / np.float64(scales[step]))


def lengths(
    parts: Doubles, grad: Reals, theta: Reals, trained: Flags, n: Int, l1: Double, l2: Double, slices: Int
) -> None:  # fmt: skip
    """Parts of the squared length of the gradient, penalties included."""
    q = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if q < slices:
        total = np.float64(0)
        for p in range(q, n, slices):
            if trained[p] != 0:
                w = np.float64(theta[p])
                g = np.float64(grad[p]) + 2.0 * l2 * w
                if w > 0.0:
                    g += l1
                elif w < 0.0:
                    g -= l1
                total += g * g
        parts[q] = total


def coefficient(
    table: Reals, parts: Doubles, slices: Int, most: Double, tiny: Double, place: Int, width: Int, clock: Longs
) -> None:  # fmt: skip
    """What the gradient of the step is multiplied by, among the step's numbers."""
    if cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x == 0:
        total = np.float64(0)
        for q in range(slices):
            total += parts[q]
        found = most / (root(total) + tiny)
        if found > 1.0:
            found = np.float64(1)
        table[(clock[0] - clock[2]) * width + place] = real(found)


def tick(clock: Longs) -> None:
    """The step is done."""
    if cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x == 0:
        clock[0] = clock[1]
