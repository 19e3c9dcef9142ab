"""Gradients of weights as tiles: results x operands, summed over the lanes of a slice. See ``tiles`` for the sizes."""

from __future__ import annotations

from ..jit import cuda, shared
from ..typed import Int, Reals, Words, real
from ..wide import load4, store4

ROWS = COLUMNS = DOWN = ACROSS = DEPTH = 0
HIGH = WIDE = THREADS = PITCH = LEFT_SIZE = QUADS = SUMS = 0


def load_terms(
    tile: Reals, high: Int, numbers: Reals, pool: Words, table: Int, first: Int, step: Int, count: Int, lane: Int,
    begin: Int, end: Int, stride: Int,
) -> None:  # fmt: skip
    """`high` rows x DEPTH lanes from `lane` on; beyond `count` rows, and outside of ``begin .. end``, zeros."""
    me = cuda.threadIdx.y * ACROSS + cuda.threadIdx.x
    at, down, jump = me % (DEPTH // 4) * 4, me // (DEPTH // 4), 4 * THREADS // DEPTH
    if count >= high and lane >= begin and lane + DEPTH <= end:
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
            if j < count and lane + at < end:
                a, b, c, d = load4(numbers, row * stride + lane + at)
                a = a if lane + at >= begin else real(0)
                b = b if lane + at + 1 >= begin and lane + at + 1 < end else real(0)
                c = c if lane + at + 2 >= begin and lane + at + 2 < end else real(0)
                d = d if lane + at + 3 < end else real(0)
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


def tile_weights(
    parts: Reals, adjoints: Reals, values: Reals, pool: Words, at: Int, total: Int, slices: Int, fresh: Int,
    stride: Int, lanes: Int,
) -> None:  # fmt: skip
    """The parts of the gradients of the weights and the bias of layers, as ``sums.pairs`` makes those of the others.

    A block's eleven numbers in the pool: table, row, n, positions, weight, bias, dst and outputs as in `tile_layer`,
    its first result and operand, and whether it adds to what others gave.
    """
    left, right = shared(real, 0), shared(real, LEFT_SIZE)
    sums = cuda.local.array(SUMS, real)
    across, down = cuda.threadIdx.x, cuda.threadIdx.y
    me = cuda.threadIdx.y * ACROSS + cuda.threadIdx.x
    b = at + 11 * cuda.blockIdx.x
    table, row, n, positions, weight, bias = pool[b], pool[b + 1], pool[b + 2], pool[b + 3], pool[b + 4], pool[b + 5]
    dst, outputs, top, start = pool[b + 6], pool[b + 7], pool[b + 8], pool[b + 9]
    adding = fresh == 0 or pool[b + 10] != 0
    begin, end = cuda.blockIdx.y * lanes // slices, (cuda.blockIdx.y + 1) * lanes // slices
    to = cuda.blockIdx.y * total
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
    for p in range(positions):
        place = table
        if table >= 0:
            place = table + p * n + start
        for lane in range(begin // 4 * 4, end, DEPTH):
            first = dst + top * positions + p
            load_terms(left, HIGH, adjoints, pool, -1, first, positions, outputs - top, lane, begin, end, stride)
            load_terms(right, WIDE, values, pool, place, row + start, 1, n - start, lane, begin, end, stride)
            cuda.syncthreads()
            correlate(left, right, sums)
            if has_bias:
                for q in range(DEPTH):
                    summed += left[me * PITCH + q]
            cuda.syncthreads()
    if has_bias:
        parts[to + bias + top + me] = summed
    for r in range(ROWS):
        for c in range(COLUMNS):
            j, k = top + down + DOWN * r, start + across + ACROSS * c
            if j < outputs and k < n:
                parts[to + weight + j * n + k] = sums[r * COLUMNS + c]


DEVICE = ("load_terms", "correlate")
