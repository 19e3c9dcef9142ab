"""Layers of a block: the text of the functions that a kernel of blocks is made of where operands are neighbours.

Their weights stand in shared memory, a row of `width` numbers an output: a multiple of 4, so that four are one load,
and an odd one, so that the rows of 8 threads lie in different banks. A thread computes one row on four lanes: a weight
that is loaded serves four products. Sums run in the order of the plain form, bit for bit.
"""

from __future__ import annotations

from typing import Any

from ..jit import Int, Reals, Words, cuda, load4, real, shared, store4

LANES = 8
"""Of a block; the text of a kernel sets it."""


def layer_tile(
    theta: Reals, pool: Words, numbers: Reals, memory: Reals, b_table: Words, b_at: Int, b_values: Int, b_adjoints: Int,
    b_stride: Int, b_lanes: Int,
) -> None:  # fmt: skip
    """Row ``dst + j`` from the `n` rows that begin at `first`."""
    first, n, weight, width = b_table[b_at + 2], b_table[b_at + 3], b_table[b_at + 4], b_table[b_at + 5]
    bias, dst, outputs = b_table[b_at + 6], b_table[b_at + 7], b_table[b_at + 8]
    values, weights = shared(real, b_values), shared(real, 0)
    lane = cuda.threadIdx.x & -4
    for j in range(cuda.threadIdx.y * 4 + (cuda.threadIdx.x & 3), outputs, cuda.blockDim.y * 4):
        s0 = real(-0.0) if n == 1 else real(0)  # as the plain form
        if bias >= 0:
            s0 = theta[bias + j]
        s1, s2, s3 = s0, s0, s0
        at = weight + j * width
        place = first * LANES + lane
        k = 0
        while k + 3 < n:
            w0, w1, w2, w3 = load4(weights, at + k)
            a0, a1, a2, a3 = load4(values, place)
            b0, b1, b2, b3 = load4(values, place + LANES)
            c0, c1, c2, c3 = load4(values, place + 2 * LANES)
            d0, d1, d2, d3 = load4(values, place + 3 * LANES)
            s0 = s0 + w0 * a0 + w1 * b0 + w2 * c0 + w3 * d0
            s1 = s1 + w0 * a1 + w1 * b1 + w2 * c1 + w3 * d1
            s2 = s2 + w0 * a2 + w1 * b2 + w2 * c2 + w3 * d2
            s3 = s3 + w0 * a3 + w1 * b3 + w2 * c3 + w3 * d3
            place += 4 * LANES
            k += 4
        while k < n:
            w0 = weights[at + k]
            a0, a1, a2, a3 = load4(values, place)
            s0 += w0 * a0
            s1 += w0 * a1
            s2 += w0 * a2
            s3 += w0 * a3
            place += LANES
            k += 1
        store4(values, (dst + j) * LANES + lane, s0, s1, s2, s3)


def layer_tile_back(
    theta: Reals, pool: Words, numbers: Reals, memory: Reals, b_table: Words, b_at: Int, b_values: Int, b_adjoints: Int,
    b_stride: Int, b_lanes: Int,
) -> None:  # fmt: skip
    """Adjoints of the `n` rows that begin at `first`, of which nobody wrote where it is `fresh`."""
    first, n, weight, width = b_table[b_at + 2], b_table[b_at + 3], b_table[b_at + 4], b_table[b_at + 5]
    dst, outputs, fresh = b_table[b_at + 6], b_table[b_at + 7], b_table[b_at + 8]
    adjoints, weights = shared(real, b_adjoints), shared(real, 0)
    lane = cuda.threadIdx.x & -4
    for k in range(cuda.threadIdx.y * 4 + (cuda.threadIdx.x & 3), n, cuda.blockDim.y * 4):
        s0, s1, s2, s3 = real(0), real(0), real(0), real(0)
        at = weight + k
        place = dst * LANES + lane
        j = 0
        while j + 3 < outputs:
            w0, w1, w2, w3 = weights[at], weights[at + width], weights[at + 2 * width], weights[at + 3 * width]
            a0, a1, a2, a3 = load4(adjoints, place)
            b0, b1, b2, b3 = load4(adjoints, place + LANES)
            c0, c1, c2, c3 = load4(adjoints, place + 2 * LANES)
            d0, d1, d2, d3 = load4(adjoints, place + 3 * LANES)
            s0 = s0 + w0 * a0 + w1 * b0 + w2 * c0 + w3 * d0
            s1 = s1 + w0 * a1 + w1 * b1 + w2 * c1 + w3 * d1
            s2 = s2 + w0 * a2 + w1 * b2 + w2 * c2 + w3 * d2
            s3 = s3 + w0 * a3 + w1 * b3 + w2 * c3 + w3 * d3
            at += 4 * width
            place += 4 * LANES
            j += 4
        while j < outputs:
            w0 = weights[at]
            a0, a1, a2, a3 = load4(adjoints, place)
            s0 += w0 * a0
            s1 += w0 * a1
            s2 += w0 * a2
            s3 += w0 * a3
            at += width
            place += LANES
            j += 1
        place = (first + k) * LANES + lane
        if fresh == 0:
            a0, a1, a2, a3 = load4(adjoints, place)
            s0, s1, s2, s3 = a0 + s0, a1 + s1, a2 + s2, a3 + s3
        store4(adjoints, place, s0, s1, s2, s3)


def dot4(total: Any, a: Any, b: Any) -> Any:
    """The products of two fours, added in order."""
    return total + a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]


def layer_gradient(
    parts: Reals, base: Int, b_table: Words, b_at: Int, b_values: Int, b_adjoints: Int, lanes: Int
) -> None:  # fmt: skip
    """``parts[base + weight + j*n + k]``: the sum over lanes of an output's adjoint and an operand's value; biases.

    A thread computes four outputs by four operands. Past the edge it reads the last row again and keeps
    nothing of it.
    """
    first, n, weight, bias = b_table[b_at], b_table[b_at + 1], b_table[b_at + 2], b_table[b_at + 3]
    dst, outputs = b_table[b_at + 4], b_table[b_at + 5]
    values, adjoints = shared(real, b_values), shared(real, b_adjoints)
    thread = cuda.threadIdx.y * LANES + cuda.threadIdx.x
    threads = LANES * cuda.blockDim.y
    full = lanes & -4
    down, across = (outputs + 3) >> 2, (n + 3) >> 2
    for item in range(thread, down * across, threads):
        j0 = item // across
        k0 = item - j0 * across
        j1, j2, j3, k1, k2, k3 = j0 + down, j0 + 2 * down, j0 + 3 * down, k0 + across, k0 + 2 * across, k0 + 3 * across
        g0, x0 = (dst + j0) * LANES, (first + k0) * LANES
        g1, x1 = (dst + min(j1, outputs - 1)) * LANES, (first + min(k1, n - 1)) * LANES
        g2, x2 = (dst + min(j2, outputs - 1)) * LANES, (first + min(k2, n - 1)) * LANES
        g3, x3 = (dst + min(j3, outputs - 1)) * LANES, (first + min(k3, n - 1)) * LANES
        t00, t01, t02, t03 = real(0), real(0), real(0), real(0)
        t10, t11, t12, t13 = real(0), real(0), real(0), real(0)
        t20, t21, t22, t23 = real(0), real(0), real(0), real(0)
        t30, t31, t32, t33 = real(0), real(0), real(0), real(0)
        for lane in range(0, full, 4):
            a0, a1, a2 = load4(adjoints, g0 + lane), load4(adjoints, g1 + lane), load4(adjoints, g2 + lane)
            a3, b0, b1 = load4(adjoints, g3 + lane), load4(values, x0 + lane), load4(values, x1 + lane)
            b2, b3 = load4(values, x2 + lane), load4(values, x3 + lane)
            t00, t01, t02, t03 = dot4(t00, a0, b0), dot4(t01, a0, b1), dot4(t02, a0, b2), dot4(t03, a0, b3)
            t10, t11, t12, t13 = dot4(t10, a1, b0), dot4(t11, a1, b1), dot4(t12, a1, b2), dot4(t13, a1, b3)
            t20, t21, t22, t23 = dot4(t20, a2, b0), dot4(t21, a2, b1), dot4(t22, a2, b2), dot4(t23, a2, b3)
            t30, t31, t32, t33 = dot4(t30, a3, b0), dot4(t31, a3, b1), dot4(t32, a3, b2), dot4(t33, a3, b3)
        for lane in range(full, lanes):
            c0, c1, c2, c3 = adjoints[g0 + lane], adjoints[g1 + lane], adjoints[g2 + lane], adjoints[g3 + lane]
            d0, d1, d2, d3 = values[x0 + lane], values[x1 + lane], values[x2 + lane], values[x3 + lane]
            t00, t01, t02, t03 = t00 + c0 * d0, t01 + c0 * d1, t02 + c0 * d2, t03 + c0 * d3
            t10, t11, t12, t13 = t10 + c1 * d0, t11 + c1 * d1, t12 + c1 * d2, t13 + c1 * d3
            t20, t21, t22, t23 = t20 + c2 * d0, t21 + c2 * d1, t22 + c2 * d2, t23 + c2 * d3
            t30, t31, t32, t33 = t30 + c3 * d0, t31 + c3 * d1, t32 + c3 * d2, t33 + c3 * d3
        at = base + weight
        keep4(parts, at + j0 * n, k0, k1, k2, k3, n, t00, t01, t02, t03)
        if j1 < outputs:
            keep4(parts, at + j1 * n, k0, k1, k2, k3, n, t10, t11, t12, t13)
        if j2 < outputs:
            keep4(parts, at + j2 * n, k0, k1, k2, k3, n, t20, t21, t22, t23)
        if j3 < outputs:
            keep4(parts, at + j3 * n, k0, k1, k2, k3, n, t30, t31, t32, t33)
    if bias >= 0:
        for j in range(thread, outputs, threads):
            total = real(0)
            for lane in range(lanes):
                total += adjoints[(dst + j) * LANES + lane]
            parts[base + bias + j] = total


def keep4(
    parts: Reals, row: Int, k0: Int, k1: Int, k2: Int, k3: Int, n: Int, a: Any, b: Any, c: Any, d: Any
) -> None:  # fmt: skip
    """Those of four numbers of a row that are inside."""
    parts[row + k0] = a
    if k1 < n:
        parts[row + k1] = b
    if k2 < n:
        parts[row + k2] = c
    if k3 < n:
        parts[row + k3] = d


def stage(theta: Reals, fours: Words, quarters: Int, ones: Words, singles: Int) -> None:
    """The weights of layers into shared memory. Eight loads of a thread are under way at a time: each takes long.

    ``fours[i]``: where the four parameters from ``4 * i`` on go, or -1; ``ones``: parameters and where they go, of
    those whose four do not stay together.
    """
    weights = shared(real, 0)
    thread = cuda.threadIdx.y * LANES + cuda.threadIdx.x
    threads = LANES * cuda.blockDim.y
    last = quarters - 1
    for i in range(thread, quarters, 8 * threads):
        a, b = load4(theta, 4 * i), load4(theta, 4 * min(i + threads, last))
        c, d = load4(theta, 4 * min(i + 2 * threads, last)), load4(theta, 4 * min(i + 3 * threads, last))
        e, f = load4(theta, 4 * min(i + 4 * threads, last)), load4(theta, 4 * min(i + 5 * threads, last))
        g, h = load4(theta, 4 * min(i + 6 * threads, last)), load4(theta, 4 * min(i + 7 * threads, last))
        put4(weights, fours, i, last, a)
        put4(weights, fours, i + threads, last, b)
        put4(weights, fours, i + 2 * threads, last, c)
        put4(weights, fours, i + 3 * threads, last, d)
        put4(weights, fours, i + 4 * threads, last, e)
        put4(weights, fours, i + 5 * threads, last, f)
        put4(weights, fours, i + 6 * threads, last, g)
        put4(weights, fours, i + 7 * threads, last, h)
    last = singles - 1
    for i in range(thread, singles, 4 * threads):
        i1, i2, i3 = i + threads, i + 2 * threads, i + 3 * threads
        w0, w1 = theta[ones[2 * i]], theta[ones[2 * min(i1, last)]]
        w2, w3 = theta[ones[2 * min(i2, last)]], theta[ones[2 * min(i3, last)]]
        weights[ones[2 * i + 1]] = w0
        if i1 <= last:
            weights[ones[2 * i1 + 1]] = w1
        if i2 <= last:
            weights[ones[2 * i2 + 1]] = w2
        if i3 <= last:
            weights[ones[2 * i3 + 1]] = w3


def put4(weights: Reals, fours: Words, i: Int, last: Int, four: Any) -> None:
    """The four of number `i` to where they go, if anywhere."""
    if i <= last:
        place = fours[i]
        if place >= 0:
            store4(weights, place, four[0], four[1], four[2], four[3])


def scatter_block(
    parts: Reals, base: Int, b_table: Words, b_at: Int, pool: Words, values: Reals, adjoints: Reals, lanes: Int
) -> None:  # fmt: skip
    """``parts[base + weights[j] + k*step]`` gets the adjoints of a gather's column j on the lanes whose number is k.

    A thread for each entry of the table, which walks the lanes in order; see ``kernels.tables.scatter``.
    """
    ids, positions, weights, columns = b_table[b_at], b_table[b_at + 1], b_table[b_at + 2], b_table[b_at + 3]
    rows, step, dst = b_table[b_at + 4], b_table[b_at + 5], b_table[b_at + 6]
    for i in range(cuda.threadIdx.y * LANES + cuda.threadIdx.x, rows * columns, LANES * cuda.blockDim.y):
        k = i // columns
        j = i - k * columns
        number = real(k)
        total = real(0)
        for p in range(positions):
            of = pool[ids + p] * LANES
            upstream = (dst + p * columns + j) * LANES
            for lane in range(lanes):
                if values[of + lane] == number:
                    total += adjoints[upstream + lane]
        parts[base + pool[weights + j] + k * step] += total
