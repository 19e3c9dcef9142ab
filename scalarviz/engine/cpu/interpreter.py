"""The interpreter: walks an encoded program over one block of lanes, forward or backward.

Operations of the table are called by address (about 10 ns a call), weighted sums are tiles. The kinds and fields of
the instructions are described in :mod:`scalarviz.engine.cpu.layout`.
"""

from __future__ import annotations

from numba import njit

from .intrinsics import call_row
from .layout import CALL, COMBINE, OUTER, PARAM, PARAM_BACK, PRODUCT, PRODUCT_BACK, SUM, SUM_BACK, ZERO
from .tiles import (
    SUMS,
    add_product,
    add_scaled,
    combine,
    dot_lanes,
    fill,
    four_rows,
    outer,
    row_of,
    set_scaled,
    sum_lanes,
)


@njit(forceinline=True)
def call(code, base, stride, lanes, size):
    """Run a row kernel over neighbouring rows (with the gaps between them, which nobody reads)."""
    n = ((code[8] - 1) * stride) // size + lanes
    call_row(
        code[1],
        base + code[2] * stride,
        base + code[3] * stride,
        base + code[4] * stride,
        base + code[5] * stride,
        base + code[6] * stride,
        base + code[7] * stride,
        n,
        code[9],
    )


@njit(error_model="numpy")
def forward(table, pool, numbers, space, theta):
    """Compute every row from the inputs and the constants."""
    base, stride, lanes, _, _ = space
    size = theta.itemsize
    for i in range(table.shape[0]):
        code = table[i]
        kind = code[0]
        if kind == CALL:
            call(code, base, stride, lanes, size)
        elif kind == COMBINE:
            combine(space, pool, theta, code[1], code[2], code[3], code[4], code[5], code[6], code[7], code[8], code[9])
        elif kind == SUM:
            weighted_sum(code, pool, numbers, space, theta)
        elif kind == PRODUCT:
            product(code, pool, numbers, space, theta)
        else:  # PARAM
            for j in range(code[2]):
                fill(row_of(base, stride, code[1] + j, lanes, theta), theta[pool[code[3] + j]])


@njit(error_model="numpy")
def backward(table, pool, numbers, space, theta, grad):
    """Carry the adjoint of the loss to the rows, and to `grad` (which is added to)."""
    base, stride, lanes, _, _ = space
    size = theta.itemsize
    for i in range(table.shape[0]):
        code = table[i]
        kind = code[0]
        if kind == CALL:
            call(code, base, stride, lanes, size)
        elif kind == OUTER:
            outer(space, pool, grad, code[1], code[2], code[3], code[4], code[5], code[6], code[7])
        elif kind == COMBINE:
            combine(space, pool, theta, code[1], code[2], code[3], code[4], code[5], code[6], code[7], code[8], code[9])
        elif kind == SUM_BACK:
            weighted_sum_back(code, pool, numbers, space, theta, grad)
        elif kind == PRODUCT_BACK:
            product_back(code, pool, space, grad)
        elif kind == ZERO:
            for j in range(code[2]):
                fill(row_of(base, stride, code[1] + j, lanes, theta), theta.dtype.type(0))
        else:  # PARAM_BACK
            for j in range(code[2]):
                grad[pool[code[3] + j]] += sum_lanes(row_of(base, stride, code[1] + j, lanes, theta))


@njit(error_model="numpy", fastmath=SUMS)
def set_four(y, b, w0, w1, w2, w3, x0, x1, x2, x3):
    """``y = b + w0*x0 + w1*x1 + w2*x2 + w3*x3``."""
    for k in range(len(y)):
        y[k] = b + w0 * x0[k] + w1 * x1[k] + w2 * x2[k] + w3 * x3[k]


@njit(error_model="numpy", fastmath=SUMS)
def add_four(y, w0, w1, w2, w3, x0, x1, x2, x3):
    """``y += w0*x0 + w1*x1 + w2*x2 + w3*x3``."""
    for k in range(len(y)):
        y[k] += w0 * x0[k] + w1 * x1[k] + w2 * x2[k] + w3 * x3[k]


@njit(error_model="numpy")
def weighted_sum(code, pool, numbers, space, theta):
    """One row: weights from theta, or numbers."""
    base, stride, lanes, spare, w = space
    _, to, source, n, weights, first, bias, offset, _, _ = code
    y = row_of(base, stride, to, lanes, theta)
    b = numbers[offset] + theta[bias] if bias >= 0 else numbers[offset]
    if n == 0:
        fill(y, b)
    for j in range(0, n, 4):
        for k in range(4):
            w[k] = theta.dtype.type(0)
            if j + k < n:
                w[k] = theta[pool[weights + j + k]] if weights >= 0 else numbers[first + j + k]
        x0, x1, x2, x3 = four_rows(base, stride, lanes, pool, source + j, n - j, spare, 0, theta)
        if j == 0:
            set_four(y, b, w[0], w[1], w[2], w[3], x0, x1, x2, x3)
        else:
            add_four(y, w[0], w[1], w[2], w[3], x0, x1, x2, x3)


@njit(error_model="numpy")
def weighted_sum_back(code, pool, numbers, space, theta, grad):
    """The adjoints of a weighted sum's inputs and the gradients of its weights."""
    base, stride, lanes, _, _ = space
    _, upstream, source, n, weights, first, bias, adjoints, fresh, _ = code
    g = row_of(base, stride, upstream, lanes, theta)
    if bias >= 0:
        grad[bias] += sum_lanes(g)
    for j in range(n):
        if weights >= 0:
            grad[pool[weights + j]] += dot_lanes(g, row_of(base, stride, pool[source + j], lanes, theta))
        if pool[adjoints + j] >= 0:
            d = row_of(base, stride, pool[adjoints + j], lanes, theta)
            w = theta[pool[weights + j]] if weights >= 0 else numbers[first + j]
            if pool[fresh + j]:
                set_scaled(d, w, g)
            else:
                add_scaled(d, w, g)


@njit(error_model="numpy")
def product(code, pool, numbers, space, theta):
    """One row: the sum of products of two rows."""
    base, stride, lanes, _, _ = space
    _, to, left, right, n, bias, offset, _, _, _ = code
    y = row_of(base, stride, to, lanes, theta)
    fill(y, numbers[offset] + theta[bias] if bias >= 0 else numbers[offset])
    for j in range(n):
        a = row_of(base, stride, pool[left + j], lanes, theta)
        add_product(y, a, row_of(base, stride, pool[right + j], lanes, theta))


@njit(error_model="numpy")
def product_back(code, pool, space, grad):
    """The adjoints of both sides of a sum of products."""
    base, stride, lanes, _, _ = space
    _, upstream, left, right, n, bias, left_adjoints, right_adjoints, left_fresh, right_fresh = code
    g = row_of(base, stride, upstream, lanes, grad)
    if bias >= 0:
        grad[bias] += sum_lanes(g)
    for j in range(n):
        for adjoints, fresh, other in (
            (left_adjoints, left_fresh, right),
            (right_adjoints, right_fresh, left),
        ):
            if pool[adjoints + j] >= 0:
                d = row_of(base, stride, pool[adjoints + j], lanes, grad)
                if pool[fresh + j]:
                    fill(d, grad.dtype.type(0))
                add_product(d, g, row_of(base, stride, pool[other + j], lanes, grad))
