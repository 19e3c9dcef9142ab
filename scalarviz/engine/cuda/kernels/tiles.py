"""Layers and convolutions as tiles: a block computes a rectangle of results from shared memory and registers.

Products, each with one number of a rectangle in the registers of a thread from the first term to the last, added in the
order of the plain form:

* `tile_layer`: results x lanes, summed over operands, with the bias and the operation behind the layer;
* `tile_back`: operands x lanes, summed over results, times the derivative of the operation in front of the layer;
* `tile_weights`: results x operands, summed over the positions and lanes of a slice.

A convolution is a layer at each of its positions. The sizes of a tile are compile-time constants (``calls.Tile``):
a thread of the DOWN x ACROSS of a block has ROWS rows, strided by DOWN, and GROUPS groups of four columns, strided by
4 * ACROSS; DEPTH terms lie in shared memory at a time. Lanes come in fours: the stride of rows is a multiple of four,
and what stands between the last lane and the end of its four is read and written by nobody else.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..jit import Int, Real, Reals, Words, cuda, load4, real, shared, store4

ROWS = GROUPS = DOWN = ACROSS = DEPTH = 0
HIGH = WIDE = THREADS = PITCH = COLUMNS = 0
LEFT_SIZE = QUADS = SUMS = PAIRS = 0
mma: Any = None
pack: Any = None
SPAN = 8
DOWNWARD = SIDEWAYS = TURNS = 0
JOINED = KEPT = DERIVED = False


def activation(a: Real, first: Real, second: Real) -> Real:
    """The operation behind a layer; ``catalog`` puts one of the ops table here."""
    return a


def derivative(_up: Real, y: Real, a: Real, first: Real, second: Real) -> Real:
    """What the operation in front of a layer hands on; ``catalog`` puts one of the ops table here."""
    return _up


def spread(sums: Reals, fours: bool) -> None:
    """Begin with sums of a thread's own rows and columns; those of tensor cores are spread otherwise."""


def gather(sums: Reals) -> None:
    """Let `four_of` and `one_of` find the sums of a thread's own rows and columns."""


def four_of(sums: Reals, r: Int, h: Int) -> Any:
    """A thread's four sums of row r and group h."""
    s = r * COLUMNS + 4 * h
    return sums[s], sums[s + 1], sums[s + 2], sums[s + 3]


def one_of(sums: Reals, r: Int, c: Int) -> Real:
    """A thread's sum of row r and column c."""
    return sums[r * COLUMNS + c]


def column_of(c: Int, fours: bool) -> Int:
    """The column of a thread's c-th sum."""
    if fours:
        return 4 * cuda.threadIdx.x + 4 * ACROSS * (c // 4) + c % 4
    return cuda.threadIdx.x + ACROSS * c


def spread_halves(sums: Reals, fours: bool) -> None:
    """Through shared memory, to the fragments of a warp: DOWNWARD of 16 rows by SIDEWAYS of eight columns."""
    tile = shared(real, 0)
    row, column, g, t = corner()
    for r in range(ROWS):
        for c in range(COLUMNS):
            tile[(cuda.threadIdx.y + DOWN * r) * WIDE + column_of(c, fours)] = sums[r * COLUMNS + c]
    cuda.syncthreads()
    for m in range(DOWNWARD):
        for n in range(SIDEWAYS):
            for q in range(4):
                place = (row + 16 * m + g + 8 * (q // 2)) * WIDE + column + 8 * n + t + q % 2
                sums[4 * (m * SIDEWAYS + n) + q] = tile[place]
    cuda.syncthreads()


def gather_halves(sums: Reals) -> None:
    """The way back, to shared memory."""
    tile = shared(real, 0)
    row, column, g, t = corner()
    for m in range(DOWNWARD):
        for n in range(SIDEWAYS):
            for q in range(4):
                place = (row + 16 * m + g + 8 * (q // 2)) * WIDE + column + 8 * n + t + q % 2
                tile[place] = sums[4 * (m * SIDEWAYS + n) + q]
    cuda.syncthreads()


def four_of_halves(sums: Reals, r: Int, h: Int) -> Any:
    """The same, from there."""
    return load4(shared(real, 0), (cuda.threadIdx.y + DOWN * r) * WIDE + 4 * (cuda.threadIdx.x + ACROSS * h))


def one_of_halves(sums: Reals, r: Int, c: Int) -> Real:
    """The same, from there."""
    return shared(real, 0)[(cuda.threadIdx.y + DOWN * r) * WIDE + cuda.threadIdx.x + ACROSS * c]


def corner() -> Any:
    """First row and column of a warp, and the row and column of a lane within a fragment."""
    me = cuda.threadIdx.y * ACROSS + cuda.threadIdx.x
    lane, warp = me & 31, me >> 5
    return warp // TURNS * 16 * DOWNWARD, warp % TURNS * 8 * SIDEWAYS, lane >> 2, 2 * (lane & 3)


def load_lanes(
    tile: Reals, numbers: Reals, pool: Words, table: Int, first: Int, step: Int, count: Int, lane: Int, lanes: Int,
    stride: Int,
) -> None:  # fmt: skip
    """DEPTH rows x WIDE lanes; beyond `count` rows, and beyond the last lane, zeros.

    Row i is ``pool[table + i]``, without a table (-1) ``first + i*step``.
    """
    across, down = 4 * cuda.threadIdx.x, cuda.threadIdx.y
    if count >= DEPTH and lane + WIDE <= lanes:
        place = (first + down * step) * stride + lane + across
        for i in range(DEPTH // DOWN):
            if table >= 0:
                place = pool[table + down + DOWN * i] * stride + lane + across
            for h in range(GROUPS):
                a, b, c, d = load4(numbers, place + 4 * ACROSS * h)
                store4(tile, (down + DOWN * i) * WIDE + across + 4 * ACROSS * h, a, b, c, d)
            place += DOWN * step * stride
    else:
        for i in range(DEPTH // DOWN):
            k = down + DOWN * i
            row = first + k * step
            if table >= 0 and k < count:
                row = pool[table + k]
            for h in range(GROUPS):
                at = across + 4 * ACROSS * h
                a, b, c, d = real(0), real(0), real(0), real(0)
                if k < count and lane + at < lanes:
                    a, b, c, d = load4(numbers, row * stride + lane + at)
                store4(tile, k * WIDE + at, a, b, c, d)


def load_weights(tile: Reals, theta: Reals, weight: Int, n: Int, count: Int, terms: Int) -> None:
    """HIGH rows x DEPTH weights, a row `n` behind the one before; -0.0, which adds nothing, beyond both."""
    me = cuda.threadIdx.y * ACROSS + cuda.threadIdx.x
    if THREADS % DEPTH == 0 and count >= HIGH and terms >= DEPTH:
        place = weight + me // DEPTH * n + me % DEPTH
        for i in range(HIGH * DEPTH // THREADS):
            tile[(me // DEPTH + THREADS // DEPTH * i) * PITCH + me % DEPTH] = theta[place]
            place += THREADS // DEPTH * n
    else:
        for i in range(HIGH * DEPTH // THREADS):
            cell = me + THREADS * i
            j, q = cell // DEPTH, cell % DEPTH
            number = real(-0.0)
            if j < count and q < terms:
                number = theta[weight + j * n + q]
            tile[j * PITCH + q] = number


def multiply(left: Reals, right: Reals, sums: Reals, quads: Int) -> None:
    """``sums[r, c] += left[row r, k] * right[k, column c]`` for ``4 * quads`` terms k, in order."""
    w = cuda.local.array(QUADS, real)
    v = cuda.local.array(COLUMNS, real)
    row, column = cuda.threadIdx.y * PITCH, 4 * cuda.threadIdx.x
    end = row + 4 * quads
    while row < end:
        for r in range(ROWS):
            w[4 * r], w[4 * r + 1], w[4 * r + 2], w[4 * r + 3] = load4(left, row + DOWN * PITCH * r)
        for k in range(4):
            for h in range(GROUPS):
                at = column + WIDE * k + 4 * ACROSS * h
                v[4 * h], v[4 * h + 1], v[4 * h + 2], v[4 * h + 3] = load4(right, at)
            for r in range(ROWS):
                for c in range(COLUMNS):
                    sums[r * COLUMNS + c] += w[4 * r + k] * v[c]
        row += 4
        column += 4 * WIDE


def multiply_halves(left: Reals, right: Reals, sums: Reals, quads: Int) -> None:
    """The same on tensor cores: numbers that halves hold, sixteen terms at a time."""
    b = cuda.local.array(PAIRS, np.uint32)
    row, column, g, t = corner()
    for k in range(0, (4 * quads + 15) // 16 * 16, 16):
        for n in range(SIDEWAYS):
            at = (k + t) * WIDE + column + 8 * n + g
            b[2 * n] = pack(right[at], right[at + WIDE])
            b[2 * n + 1] = pack(right[at + 8 * WIDE], right[at + 9 * WIDE])
        for m in range(DOWNWARD):
            add_products(left, (row + 16 * m + g) * PITCH + k + t, b, sums, m)


def add_products(left: Reals, at: Int, b: Words, sums: Reals, m: Int) -> None:
    """A fragment of 16 rows times those of SIDEWAYS columns."""
    a0, a1 = pack(left[at], left[at + 1]), pack(left[at + 8 * PITCH], left[at + 8 * PITCH + 1])
    a2, a3 = pack(left[at + 8], left[at + 9]), pack(left[at + 8 * PITCH + 8], left[at + 8 * PITCH + 9])
    for n in range(SIDEWAYS):
        s = 4 * (m * SIDEWAYS + n)
        sums[s], sums[s + 1], sums[s + 2], sums[s + 3] = mma(
            a0, a1, a2, a3, b[2 * n], b[2 * n + 1], sums[s], sums[s + 1], sums[s + 2], sums[s + 3]
        )


def tile_layer(
    values: Reals, theta: Reals, pool: Words, table: Int, row: Int, n: Int, positions: Int, weight: Int, bias: Int,
    dst: Int, outputs: Int, out: Int, one: Real, two: Real, stride: Int, lanes: Int,
) -> None:  # fmt: skip
    """Row ``dst + j*positions + p``, and what the operation behind it makes of it at `out`.

    Operands of position p: the rows in the pool from ``table + p*n`` on, without a table (-1) those from `row` on.
    """
    left, right = shared(real, 0), shared(real, LEFT_SIZE)
    sums = cuda.local.array(SUMS, real)
    across, down = 4 * cuda.threadIdx.x, cuda.threadIdx.y
    p = cuda.blockIdx.x % positions
    top = cuda.blockIdx.x // positions * HIGH
    lane = cuda.blockIdx.y * WIDE
    for r in range(ROWS):
        j = top + down + DOWN * r
        start = real(-0.0) if n == 1 else real(0)  # as the plain form
        if bias >= 0 and j < outputs:
            start = theta[bias + j]
        for c in range(COLUMNS):
            sums[r * COLUMNS + c] = start
    spread(sums, True)
    for k in range(0, n, DEPTH):
        load_weights(left, theta, weight + top * n + k, n, outputs - top, n - k)
        place = table
        if table >= 0:
            place = table + p * n + k
        load_lanes(right, values, pool, place, row + k, 1, n - k, lane, lanes, stride)
        cuda.syncthreads()
        multiply(left, right, sums, (min(n - k, DEPTH) + 3) // 4)
        cuda.syncthreads()
    gather(sums)
    for r in range(ROWS):
        j = top + down + DOWN * r
        for h in range(GROUPS):
            at = lane + across + 4 * ACROSS * h
            if j < outputs and at < lanes:
                a, b, c, d = four_of(sums, r, h)
                to = (j * positions + p) * stride + at
                if KEPT:
                    store4(values, dst * stride + to, a, b, c, d)
                if JOINED:
                    store4(
                        values, out * stride + to, activation(a, one, two), activation(b, one, two),
                        activation(c, one, two), activation(d, one, two),
                    )  # fmt: skip


def load_columns(
    tile: Reals, theta: Reals, pool: Words, weight: Int, n: Int, operands: Int, step: Int, count: Int, terms: Int
) -> None:  # fmt: skip
    """HIGH operands x DEPTH weights, a column of the matrix each; zeros beyond `count` and `terms`.

    The operands' numbers: from ``pool[operands]`` on in steps, without a step (0) ``pool[operands + t]``.
    """
    me = cuda.threadIdx.y * ACROSS + cuda.threadIdx.x
    t0, q0 = me % SPAN, me // SPAN
    place = weight + q0 * n + pool[operands] + t0 * step
    if step > 0 and count >= HIGH and terms >= DEPTH:
        for u in range(HIGH // SPAN):
            for v in range(SPAN * DEPTH // THREADS):
                to = (t0 + SPAN * u) * PITCH + q0 + THREADS // SPAN * v
                tile[to] = theta[place + THREADS // SPAN * v * n + SPAN * u * step]
    else:
        for u in range(HIGH // SPAN):
            for v in range(SPAN * DEPTH // THREADS):
                t, q = t0 + SPAN * u, q0 + THREADS // SPAN * v
                number = real(0)
                if t < count and q < terms:
                    column = pool[operands] + t * step
                    if step == 0:
                        column = pool[operands + t]
                    number = theta[weight + q * n + column]
                tile[t * PITCH + q] = number


def tile_back(
    adjoints: Reals, values: Reals, theta: Reals, pool: Words, at: Int, n: Int, positions: Int, weight: Int, dst: Int,
    outputs: Int, one: Real, two: Real, stride: Int, lanes: Int,
) -> None:  # fmt: skip
    """Adjoints of operands that occur at the same positions.

    A block's six numbers in the pool: where its targets stand (``-1 - row`` to add), how many there are, how often
    each occurs, where the positions stand, where the operands' numbers, and their step: from one number for each of
    the positions on, or 0 for those of all targets one position after another. With an operation in front of the layer
    the rows of its results and operands follow the targets.
    """
    left, right = shared(real, 0), shared(real, LEFT_SIZE)
    sums = cuda.local.array(SUMS, real)
    block = at + 6 * cuda.blockIdx.x
    targets, count, items, places, operands, step = (
        pool[block], pool[block + 1], pool[block + 2], pool[block + 3], pool[block + 4], pool[block + 5]
    )  # fmt: skip
    lane = cuda.blockIdx.y * WIDE
    for s in range(SUMS):
        sums[s] = real(0)
    for item in range(items):
        first = dst + pool[places + item]
        column = operands + item if step > 0 else operands + item * count
        for k in range(0, outputs, DEPTH):
            load_columns(left, theta, pool, weight + k * n, n, column, step, count, outputs - k)
            load_lanes(right, adjoints, pool, -1, first + k * positions, positions, outputs - k, lane, lanes, stride)
            cuda.syncthreads()
            multiply(left, right, sums, (min(outputs - k, DEPTH) + 3) // 4)
            cuda.syncthreads()
    gather(sums)
    for r in range(ROWS):
        t = cuda.threadIdx.y + DOWN * r
        if t < count:
            for h in range(GROUPS):
                to = lane + 4 * (cuda.threadIdx.x + ACROSS * h)
                if to < lanes:
                    a, b, c, d = four_of(sums, r, h)
                    hand_on(adjoints, values, pool, targets + t, count, one, two, stride, to, a, b, c, d)


def hand_on(
    adjoints: Reals, values: Reals, pool: Words, target: Int, count: Int, one: Real, two: Real, stride: Int, lane: Int,
    a: Real, b: Real, c: Real, d: Real,
) -> None:  # fmt: skip
    """Four adjoints to their target, through the operation in front."""
    row = pool[target]
    if DERIVED:
        y0, y1, y2, y3 = load4(values, pool[target + count] * stride + lane)
        a0, a1, a2, a3 = load4(values, pool[target + 2 * count] * stride + lane)
        a, b = derivative(a, y0, a0, one, two), derivative(b, y1, a1, one, two)
        c, d = derivative(c, y2, a2, one, two), derivative(d, y3, a3, one, two)
    if row < 0:
        row = -1 - row
        p, q, r, s = load4(adjoints, row * stride + lane)
        a, b, c, d = p + a, q + b, r + c, s + d
    store4(adjoints, row * stride + lane, a, b, c, d)


DEVICE = (
    "spread", "gather", "four_of", "one_of", "column_of", "corner", "activation", "derivative", "load_lanes",
    "load_weights", "load_columns", "multiply", "hand_on", "load_terms", "correlate", "add_products", "spread_halves",
    "gather_halves", "four_of_halves", "one_of_halves", "multiply_halves", "correlate_halves",
)  # fmt: skip
HALVES = {
    "multiply": multiply_halves, "spread": spread_halves, "gather": gather_halves, "four_of": four_of_halves,
    "one_of": one_of_halves,
}  # fmt: skip
"""What tensor cores do instead, of numbers that halves hold."""  # fmt: skip


def load_terms(
    tile: Reals, high: Int, numbers: Reals, pool: Words, table: Int, first: Int, step: Int, count: Int, lane: Int,
    lanes: Int, stride: Int,
) -> None:  # fmt: skip
    """`high` rows x DEPTH lanes from `lane` on; beyond `count` rows, and beyond the last lane, zeros."""
    me = cuda.threadIdx.y * ACROSS + cuda.threadIdx.x
    at, down, jump = me % (DEPTH // 4) * 4, me // (DEPTH // 4), 4 * THREADS // DEPTH
    if count >= high and lane + DEPTH <= lanes:
        place = (first + down * step) * stride + lane + at
        for i in range(high * DEPTH // 4 // THREADS):
            if table >= 0:
                place = pool[table + down + jump * i] * stride + lane + at
            a, b, c, d = load4(numbers, place)
            store4(tile, (down + jump * i) * PITCH + at, a, b, c, d)
            place += jump * step * stride
    else:
        for i in range(high * DEPTH // 4 // THREADS):
            j = down + jump * i
            row = first + j * step
            if table >= 0 and j < count:
                row = pool[table + j]
            a, b, c, d = real(0), real(0), real(0), real(0)
            if j < count and lane + at < lanes:
                a, b, c, d = load4(numbers, row * stride + lane + at)
                b = b if lane + at + 1 < lanes else real(0)
                c = c if lane + at + 2 < lanes else real(0)
                d = d if lane + at + 3 < lanes else real(0)
            store4(tile, j * PITCH + at, a, b, c, d)


def correlate(left: Reals, right: Reals, sums: Reals) -> None:
    """``sums[r, c] += left[row r, k] * right[row c, k]`` for DEPTH terms k, in order."""
    w = cuda.local.array(QUADS, real)
    v = cuda.local.array(4, real)
    row, column = cuda.threadIdx.y * PITCH, cuda.threadIdx.x * PITCH
    end = row + DEPTH
    while row < end:
        for r in range(ROWS):
            w[4 * r], w[4 * r + 1], w[4 * r + 2], w[4 * r + 3] = load4(left, row + DOWN * PITCH * r)
        for c in range(COLUMNS):
            v[0], v[1], v[2], v[3] = load4(right, column + ACROSS * PITCH * c)
            for k in range(4):
                for r in range(ROWS):
                    sums[r * COLUMNS + c] += w[4 * r + k] * v[k]
        row += 4
        column += 4


def correlate_halves(left: Reals, right: Reals, sums: Reals) -> None:
    """The same on tensor cores."""
    b = cuda.local.array(PAIRS, np.uint32)
    row, column, g, t = corner()
    for k in range(0, DEPTH, 16):
        for n in range(SIDEWAYS):
            at = (column + 8 * n + g) * PITCH + k + t
            b[2 * n], b[2 * n + 1] = pack(right[at], right[at + 1]), pack(right[at + 8], right[at + 9])
        for m in range(DOWNWARD):
            add_products(left, (row + 16 * m + g) * PITCH + k + t, b, sums, m)


HALVES["correlate"] = correlate_halves


def tile_weights(
    parts: Reals, adjoints: Reals, values: Reals, pool: Words, at: Int, total: Int, fresh: Int, stride: Int,
    lanes: Int,
) -> None:  # fmt: skip
    """The parts of the gradients of the weights and the bias of layers, as ``sums.pairs`` makes those of the others.

    A slice has some of the groups of DEPTH lanes, one position after another. A block's thirteen numbers in the pool:
    table, row, n, positions, weight, bias, dst and outputs as in `tile_layer`, its first result and operand, whether it
    adds to what others gave, its slice and the number of slices.
    """
    left, right = shared(real, 0), shared(real, LEFT_SIZE)
    sums = cuda.local.array(SUMS, real)
    across, down = cuda.threadIdx.x, cuda.threadIdx.y
    me = cuda.threadIdx.y * ACROSS + cuda.threadIdx.x
    b = at + 13 * cuda.blockIdx.x
    table, row, n, positions, weight, bias = pool[b], pool[b + 1], pool[b + 2], pool[b + 3], pool[b + 4], pool[b + 5]
    dst, outputs, top, start = pool[b + 6], pool[b + 7], pool[b + 8], pool[b + 9]
    adding = fresh == 0 or pool[b + 10] != 0
    groups, slice_, slices = (lanes + DEPTH - 1) // DEPTH, pool[b + 11], pool[b + 12]
    unit, end = positions * groups * slice_ // slices, positions * groups * (slice_ + 1) // slices
    p, group = unit // groups, unit % groups
    to = slice_ * total
    has_bias = bias >= 0 and start == 0 and me < HIGH and top + me < outputs
    summed = real(0)
    if adding and has_bias:
        summed = parts[to + bias + top + me]
    for r in range(ROWS):
        for c in range(COLUMNS):
            j, k = top + down + DOWN * r, start + across + ACROSS * c
            number = real(0)
            if adding and j < outputs and k < n:
                number = parts[to + weight + j * n + k]
            sums[r * COLUMNS + c] = number
    spread(sums, False)
    while unit < end:
        place = table
        if table >= 0:
            place = table + p * n + start
        lane, first = group * DEPTH, dst + top * positions + p
        load_terms(left, HIGH, adjoints, pool, -1, first, positions, outputs - top, lane, lanes, stride)
        load_terms(right, WIDE, values, pool, place, row + start, 1, n - start, lane, lanes, stride)
        cuda.syncthreads()
        correlate(left, right, sums)
        if has_bias:
            for q in range(DEPTH):
                summed += left[me * PITCH + q]
        cuda.syncthreads()
        unit += 1
        group += 1
        if group == groups:
            p, group = p + 1, 0
    gather(sums)
    if has_bias:
        parts[to + bias + top + me] = summed
    for r in range(ROWS):
        for c in range(COLUMNS):
            j, k = top + down + DOWN * r, start + across + ACROSS * c
            if j < outputs and k < n:
                parts[to + weight + j * n + k] = one_of(sums, r, c)
