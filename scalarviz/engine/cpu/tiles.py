"""Weighted sums over rows of lanes: four rows by four at a time, in plain loops that LLVM vectorises.

A tile that sticks out over the edge of a layer reads a row of zeros (with weight 0) and writes to spare rows, so
there is one loop for all sizes. Reductions over lanes are reordered (``reassoc``), in the same way every time; NaN
and infinities come through.

Rows are numbers in a workspace: row r of `rows` begins at the address ``base + r * stride``. The five rows from
`spare` on are padding: zeros, ones, and three that are never read. `tile` is room for 16 numbers.
"""

from __future__ import annotations

from numba import carray, njit

from .intrinsics import row_at

SUMS = {"contract", "reassoc", "nsz"}


@njit(forceinline=True)
def row_of(base, stride, row, lanes, like):
    """Row number `row` as an array of `lanes` numbers of the dtype of `like`."""
    return carray(row_at(base + row * stride, like), lanes)


@njit(forceinline=True)
def four_rows(base, stride, lanes, pool, first, left, padding, step, like):
    """The rows ``pool[first : first + 4]``; those behind the `left` that exist are ``padding, padding + step ...``."""
    a = pool[first]
    b = pool[first + 1] if left > 1 else padding
    c = pool[first + 2] if left > 2 else padding + step
    d = pool[first + 3] if left > 3 else padding + step + step
    return (
        row_of(base, stride, a, lanes, like),
        row_of(base, stride, b, lanes, like),
        row_of(base, stride, c, lanes, like),
        row_of(base, stride, d, lanes, like),
    )


@njit(error_model="numpy")
def load_tile(tile, numbers, first, row_step, column_step, rows, columns):
    """``tile[4*i + j] = numbers[first + i*row_step + j*column_step]`` where i < rows and j < columns, else 0."""
    for i in range(4):
        for j in range(4):
            inside = i < rows and j < columns
            tile[4 * i + j] = numbers[first + i * row_step + j * column_step] if inside else numbers.dtype.type(0)


@njit(error_model="numpy", fastmath=SUMS)
def set_tile(y0, y1, y2, y3, x0, x1, x2, x3, w, b):
    """``y[i] = b[i] + sum_j w[4*i + j] * x[j]`` on every lane."""
    b0, b1, b2, b3 = b
    w00, w01, w02, w03, w10, w11, w12, w13 = w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]
    w20, w21, w22, w23, w30, w31, w32, w33 = w[8], w[9], w[10], w[11], w[12], w[13], w[14], w[15]
    for k in range(len(x0)):
        p, q, r, s = x0[k], x1[k], x2[k], x3[k]
        y0[k] = b0 + w00 * p + w01 * q + w02 * r + w03 * s
        y1[k] = b1 + w10 * p + w11 * q + w12 * r + w13 * s
        y2[k] = b2 + w20 * p + w21 * q + w22 * r + w23 * s
        y3[k] = b3 + w30 * p + w31 * q + w32 * r + w33 * s


@njit(error_model="numpy", fastmath=SUMS)
def add_tile(y0, y1, y2, y3, x0, x1, x2, x3, w):
    """``y[i] += sum_j w[4*i + j] * x[j]`` on every lane."""
    w00, w01, w02, w03, w10, w11, w12, w13 = w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]
    w20, w21, w22, w23, w30, w31, w32, w33 = w[8], w[9], w[10], w[11], w[12], w[13], w[14], w[15]
    for k in range(len(x0)):
        p, q, r, s = x0[k], x1[k], x2[k], x3[k]
        y0[k] += w00 * p + w01 * q + w02 * r + w03 * s
        y1[k] += w10 * p + w11 * q + w12 * r + w13 * s
        y2[k] += w20 * p + w21 * q + w22 * r + w23 * s
        y3[k] += w30 * p + w31 * q + w32 * r + w33 * s


@njit(error_model="numpy")
def combine(space, pool, theta, to, n_to, source, n_from, weight, to_step, from_step, bias, adding):
    """``to[i] (+)= bias[i] + sum_j theta[weight + i*to_step + j*from_step] * from[j]`` for two lists of rows.

    `space` is the workspace: base, stride, lanes, the first padding row, the tile.
    """
    base, stride, lanes, spare, tile = space
    for i in range(0, n_to, 4):
        rows = n_to - i
        y0, y1, y2, y3 = four_rows(base, stride, lanes, pool, to + i, rows, spare + 2, 1, theta)
        load_tile(tile, theta, max(bias, 0) + i, 1, 0, rows if bias >= 0 else 0, 1)
        b = (tile[0], tile[4], tile[8], tile[12])
        for j in range(0, n_from, 4):
            columns = n_from - j
            x0, x1, x2, x3 = four_rows(base, stride, lanes, pool, source + j, columns, spare, 0, theta)
            load_tile(tile, theta, weight + i * to_step + j * from_step, to_step, from_step, rows, columns)
            if j == 0 and not adding:
                set_tile(y0, y1, y2, y3, x0, x1, x2, x3, tile, b)
            else:
                add_tile(y0, y1, y2, y3, x0, x1, x2, x3, tile)


@njit(error_model="numpy", fastmath=SUMS)
def multiply_tile(g0, g1, g2, g3, x0, x1, x2, x3, tile):
    """``tile[4*i + j] = sum over lanes of g[i] * x[j]``."""
    zero = tile.dtype.type(0)
    s00 = s01 = s02 = s03 = s10 = s11 = s12 = s13 = zero
    s20 = s21 = s22 = s23 = s30 = s31 = s32 = s33 = zero
    for k in range(len(x0)):
        a, b, c, d = g0[k], g1[k], g2[k], g3[k]
        p, q, r, s = x0[k], x1[k], x2[k], x3[k]
        s00, s01, s02, s03 = s00 + a * p, s01 + a * q, s02 + a * r, s03 + a * s
        s10, s11, s12, s13 = s10 + b * p, s11 + b * q, s12 + b * r, s13 + b * s
        s20, s21, s22, s23 = s20 + c * p, s21 + c * q, s22 + c * r, s23 + c * s
        s30, s31, s32, s33 = s30 + d * p, s31 + d * q, s32 + d * r, s33 + d * s
    tile[0], tile[1], tile[2], tile[3], tile[4], tile[5], tile[6], tile[7] = s00, s01, s02, s03, s10, s11, s12, s13
    tile[8], tile[9], tile[10], tile[11] = s20, s21, s22, s23
    tile[12], tile[13], tile[14], tile[15] = s30, s31, s32, s33


@njit(error_model="numpy")
def outer(space, pool, grad, upstream, n_up, source, n_from, weight, n_weights, bias):
    """``grad[weight + i*n_weights + j] += sum over lanes of upstream[i] * source[j]``.

    Source number `n_weights`, if there is one, is the row of ones: its weights are the biases.
    """
    base, stride, lanes, spare, tile = space
    for i in range(0, n_up, 4):
        rows = min(n_up - i, 4)
        g0, g1, g2, g3 = four_rows(base, stride, lanes, pool, upstream + i, rows, spare, 0, grad)
        for j in range(0, n_from, 4):
            columns = min(n_from - j, 4)
            x0, x1, x2, x3 = four_rows(base, stride, lanes, pool, source + j, columns, spare, 0, grad)
            multiply_tile(g0, g1, g2, g3, x0, x1, x2, x3, tile)
            for r in range(rows):
                for c in range(columns):
                    if j + c < n_weights:
                        grad[weight + (i + r) * n_weights + j + c] += tile[4 * r + c]
                    else:
                        grad[bias + i + r] += tile[4 * r + c]


@njit(error_model="numpy", fastmath=SUMS)
def dot_lanes(g, x):
    """``sum over lanes of g * x``."""
    total = g.dtype.type(0)
    for k in range(len(g)):
        total += g[k] * x[k]
    return total


@njit(error_model="numpy", fastmath=SUMS)
def sum_lanes(g):
    """``sum over lanes of g``."""
    total = g.dtype.type(0)
    for k in range(len(g)):
        total += g[k]
    return total


@njit(error_model="numpy", fastmath={"contract"})
def set_scaled(y, w, x):
    """``y = w * x``."""
    for k in range(len(y)):
        y[k] = w * x[k]


@njit(error_model="numpy", fastmath={"contract"})
def add_scaled(y, w, x):
    """``y += w * x``."""
    for k in range(len(y)):
        y[k] += w * x[k]


@njit(error_model="numpy", fastmath={"contract"})
def add_product(y, a, b):
    """``y += a * b``."""
    for k in range(len(y)):
        y[k] += a[k] * b[k]


@njit(error_model="numpy")
def fill(y, number):
    """``y = number``."""
    for k in range(len(y)):
        y[k] = number
