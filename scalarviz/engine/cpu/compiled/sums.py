"""Kernels of weighted sums, parameters, zeros, squared errors and table lookups, in plain loops.

All have the C signature of row kernels. Their arguments: `code`, the instruction; `space`, the description of the
workspace; `pool` and `numbers` of the program; `theta`, the parameters; `grad`, what their gradients are added to; `n`,
the lanes at work; one that is not used. They carry no decorator: the loader compiles each when it is first wanted.

Four operands of a weighted sum go through together. The row of zeros (with weight 0) stands for those that are missing,
so there is one loop for all sizes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..wire import STRIDE, TILE
from .intrinsics import NoAlias, callee, row_at, size_of, zero_of
from .tiles import (
    Row,
    Words,
    add_four,
    add_product,
    add_scaled,
    dot_lanes,
    fill,
    four_rows,
    row_of,
    set_four,
    set_product,
    set_scaled,
    set_sum,
    six_of,
    sum_lanes,
)


def weighted(code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, _: int) -> None:
    """``to[r] = offset + bias + sum_j w[j] * from[r][j]``: neighbouring rows."""
    # Fields: first row `to`, how many, list of all `from`, the length of one, list of indices into theta (for
    # all; or -1), first of the numbers (for one) otherwise, bias (or -1), which number is the offset.
    source, count, weights, first, bias = code[4], code[5], code[6], code[7], code[8]
    w, b = row_at(space[TILE], theta), numbers[code[9]]
    if bias >= 0:
        b += theta[bias]
    for r in range(code[3]):
        y = row_of(space, code[2] + r, theta)
        if count == 0:
            fill(y, b, n)
        for j in range(0, count, 4):
            for k in range(4):
                w[k] = 0
                if j + k < count:
                    w[k] = theta[pool[weights + j + k]] if weights >= 0 else numbers[first + j + k]
            x = four_rows(space, pool, source + j, count - j, theta)
            if count == 1 and b == 0:  # four products at a time may lose the sign of -0.0
                set_sum(y, b, w[0], x[0], n)
            elif j == 0:
                set_four(y, x, w, b, n)
            else:
                add_four(y, x, w, n)
        source += count
        weights += count if weights >= 0 else 0


def weighted_back(code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, _: int) -> None:
    """Adjoints of the inputs of `weighted` and gradients of its weights."""
    # Fields: first row `upstream`, then how many, list `from`, length, indices, first number and bias as
    # there, list of the adjoints (-1: not wanted), list of flags: 1 to store, 0 to add.
    source, count, weights, first, bias, adjoints = six_of(code, 4)
    fresh, zero, at = code[10], zero_of(theta), 0
    for r in range(code[3]):
        g = row_of(space, code[2] + r, theta)
        if bias >= 0:
            grad[bias] += sum_lanes(g, zero, n)
        for j in range(count):
            if weights >= 0:
                grad[pool[weights + at]] += dot_lanes(g, row_of(space, pool[source + at], theta), zero, n)
            if pool[adjoints + at] >= 0:
                d = row_of(space, pool[adjoints + at], theta)
                w = theta[pool[weights + at]] if weights >= 0 else numbers[first + j]
                if pool[fresh + at]:
                    set_scaled(d, w, g, n)
                else:
                    add_scaled(d, w, g, n)
            at += 1


def product(code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, _: int) -> None:
    """``to[r] = offset + bias + sum_j a[r][j] * b[r][j]``: neighbouring rows."""
    # Fields: first row `to`, how many, list of all `a` and then `b`, the length of one, bias (or -1), which
    # number is the offset.
    rows, left, count, bias = code[3], code[4], code[5], code[6]
    right, b = left + rows * count, numbers[code[7]]
    if bias >= 0:
        b += theta[bias]
    for r in range(rows):
        y = row_of(space, code[2] + r, theta)
        if count == 0:
            fill(y, b, n)
        for j in range(count):
            p, q = row_of(space, pool[left + j], theta), row_of(space, pool[right + j], theta)
            if j == 0:
                set_product(y, b, p, q, n)
            else:
                add_product(y, p, q, n)
        left += count
        right += count


def product_back(code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, _: int) -> None:
    """Adjoints of both sides of `product`."""
    # Fields: first row `upstream`, how many, list of a and b, length and bias as there; list of the adjoints
    # of all of them (-1: not wanted), list of flags: 1 to store, 0 to add.
    rows, operands, count, bias, adjoints, fresh = code[3], code[4], code[5], code[6], code[7], code[8]
    zero, every, at = zero_of(theta), rows * count, 0
    for r in range(rows):
        g = row_of(space, code[2] + r, theta)
        if bias >= 0:
            grad[bias] += sum_lanes(g, zero, n)
        for _ in range(count):
            for side in range(2):
                own, other = (at, at + every) if side == 0 else (at + every, at)
                if pool[adjoints + own] >= 0:
                    d = row_of(space, pool[adjoints + own], theta)
                    if pool[fresh + own]:
                        set_product(d, zero, g, row_of(space, pool[operands + other], theta), n)
                    else:
                        add_product(d, g, row_of(space, pool[operands + other], theta), n)
            at += 1


def parameters(code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, _: int) -> None:
    """Parameters as rows. Fields: first row, how many, list of indices into theta."""
    for j in range(code[3]):
        fill(row_of(space, code[2] + j, theta), theta[pool[code[4] + j]], n)


def parameters_back(
    code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, unused: int
) -> None:  # fmt: skip
    """Gradients of parameters that are rows. Fields: first adjoint row, how many, list of indices into theta."""
    zero = zero_of(theta)
    for j in range(code[3]):
        grad[pool[code[4] + j]] += sum_lanes(row_of(space, code[2] + j, theta), zero, n)


def zero(code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, _: int) -> None:
    """Zeros. Fields: first row, how many. What stands between the rows may be overwritten."""
    width = space[STRIDE] // size_of(theta)
    fill(row_of(space, code[2], theta), zero_of(theta), (code[3] - 1) * width + n)


@callee()
def whole(n: int) -> int:
    """Lanes up to the next four, which rows have room for unless they are single numbers: no rest to do one by one."""
    return n if n == 1 else (n + 3) // 4 * 4


def squares(code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, _: int) -> None:
    """``to = factor * sum_j (a[j] - b[j])**2``: one row."""
    # Fields: row `to`, list of all a and then all b, how many of each, which number is the factor.
    rows, count, factor, n = code[3], code[4], numbers[code[5]], whole(n)
    y = row_of(space, code[2], theta)
    for j in range(count):
        a, b = row_of(space, pool[rows + j], theta), row_of(space, pool[rows + count + j], theta)
        if j == 0:
            set_square(y, factor, a, b, n)
        else:
            add_square(y, factor, a, b, n)


def squares_back(code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, _: int) -> None:
    """Adjoints of both sides of `squares`."""
    # Fields: row `upstream`, list of a and b, how many of each, factor as there; lists of the adjoints of all
    # of them (-1: not wanted) and of flags: 1 to store, 0 to add.
    rows, count, adjoints, fresh = code[3], code[4], code[6], code[7]
    g, twice, n = row_of(space, code[2], theta), numbers[code[5]] + numbers[code[5]], whole(n)
    for j in range(2 * count):
        if pool[adjoints + j] < 0:
            continue
        d = row_of(space, pool[adjoints + j], theta)
        own, other = pool[rows + j], pool[rows + (j + count if j < count else j - count)]
        if pool[fresh + j]:
            set_slope(d, twice, g, row_of(space, own, theta), row_of(space, other, theta), n)
        else:
            add_slope(d, twice, g, row_of(space, own, theta), row_of(space, other, theta), n)


@callee(pipeline_class=NoAlias, fastmath={"contract"})
def set_square(y: Row, factor: Any, a: Row, b: Row, n: int) -> None:
    """``y = factor * (a - b)**2``."""
    for k in range(n):
        e = a[k] - b[k]
        y[k] = factor * (e * e)


@callee(pipeline_class=NoAlias, fastmath={"contract"})
def add_square(y: Row, factor: Any, a: Row, b: Row, n: int) -> None:
    """``y += factor * (a - b)**2``."""
    for k in range(n):
        e = a[k] - b[k]
        y[k] += factor * (e * e)


@callee(pipeline_class=NoAlias, fastmath={"contract"})
def set_slope(d: Row, twice: Any, g: Row, a: Row, b: Row, n: int) -> None:
    """``d = twice * g * (a - b)``."""
    for k in range(n):
        d[k] = (twice * g[k]) * (a[k] - b[k])


@callee(pipeline_class=NoAlias, fastmath={"contract"})
def add_slope(d: Row, twice: Any, g: Row, a: Row, b: Row, n: int) -> None:
    """``d += twice * g * (a - b)``."""
    for k in range(n):
        d[k] += (twice * g[k]) * (a[k] - b[k])


NAN = np.float32(np.nan)
"""Becomes a float64 where the rows are."""


@callee()
def chosen(number: Any, rows: int) -> int:
    """`number` as an index below `rows`; -1 where it is no such whole number, NaN among them."""
    if number >= 0 and number < rows:  # only now is the conversion defined
        index = int(number)
        if index == number:
            return index
    return -1


def gather(code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, _: int) -> None:
    """Row ``to + p*columns + j`` = theta[weights[j] + k*step], k the number in row ``ids[p]``; NaN without such a k."""
    # Fields: row `to`, list `ids`, its length, list `weights`, its length, rows of the table, step.
    ids, count, weights, columns, rows, step = code[3], code[4], code[5], code[6], code[7], code[8]
    for p in range(count):
        of, to = row_of(space, pool[ids + p], theta), code[2] + p * columns
        for k in range(n):
            index = chosen(of[k], rows)
            for j in range(columns):
                y = row_of(space, to + j, theta)
                if index >= 0:
                    y[k] = theta[pool[weights + j] + index * step]
                else:
                    y[k] = NAN


def gather_back(code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, _: int) -> None:
    """The gradients of the parameters that `gather` read, id by id, lane by lane. The first field is the upstream's."""
    ids, count, weights, columns, rows, step = code[3], code[4], code[5], code[6], code[7], code[8]
    for p in range(count):
        of, up = row_of(space, pool[ids + p], theta), code[2] + p * columns
        for k in range(n):
            index = chosen(of[k], rows)
            if index >= 0:
                for j in range(columns):
                    grad[pool[weights + j] + index * step] += row_of(space, up + j, theta)[k]
