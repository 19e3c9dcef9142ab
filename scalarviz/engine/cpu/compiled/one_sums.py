"""Weighted sums and sums of products for one sample at a time: rows are single numbers (see `one`)."""

from __future__ import annotations

from ..wire import BASE
from .intrinsics import row_at
from .tiles import Row, Words


def weighted_one(
    code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, unused: int
) -> None:  # fmt: skip
    """``to[r] = offset + bias + sum_j w[j] * from[r][j]``."""
    to, count, source, terms, weights, first, bias = code[2], code[3], code[4], code[5], code[6], code[7], code[8]
    rows, b = row_at(space[BASE], theta), numbers[code[9]]
    if bias >= 0:
        b += theta[bias]
    for r in range(count):
        total = b
        if weights >= 0:
            for j in range(terms):
                total += theta[pool[weights + j]] * rows[pool[source + j]]
            weights += terms
        else:
            for j in range(terms):
                total += numbers[first + j] * rows[pool[source + j]]
        rows[to + r] = total
        source += terms


def weighted_back_one(
    code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, unused: int
) -> None:  # fmt: skip
    """Adjoints of the inputs of `weighted_one` and gradients of its weights."""
    up, count, source, terms, weights, first, bias = code[2], code[3], code[4], code[5], code[6], code[7], code[8]
    rows, adjoints, fresh, at = row_at(space[BASE], theta), code[9], code[10], 0
    for r in range(count):
        g = rows[up + r]
        if bias >= 0:
            grad[bias] += g
        for j in range(terms):
            if weights >= 0:
                grad[pool[weights + at]] += g * rows[pool[source + at]]
            target = pool[adjoints + at]
            if target >= 0:
                share = g * (theta[pool[weights + at]] if weights >= 0 else numbers[first + j])
                rows[target] = share if pool[fresh + at] else rows[target] + share
            at += 1


def product_one(
    code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, unused: int
) -> None:  # fmt: skip
    """``to[r] = offset + bias + sum_j a[r][j] * b[r][j]``."""
    to, count, left, terms, bias = code[2], code[3], code[4], code[5], code[6]
    rows, right, b = row_at(space[BASE], theta), left + count * terms, numbers[code[7]]
    if bias >= 0:
        b += theta[bias]
    for r in range(count):
        total = b
        for j in range(terms):
            total += rows[pool[left + j]] * rows[pool[right + j]]
        rows[to + r] = total
        left += terms
        right += terms


def product_back_one(
    code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, unused: int
) -> None:  # fmt: skip
    """Adjoints of both sides of `product_one`."""
    up, count, operands, terms, bias, adjoints, fresh = code[2], code[3], code[4], code[5], code[6], code[7], code[8]
    rows, every, at = row_at(space[BASE], theta), count * terms, 0
    for r in range(count):
        g = rows[up + r]
        if bias >= 0:
            grad[bias] += g
        for _ in range(terms):
            for side in range(2):
                own, other = (at, at + every) if side == 0 else (at + every, at)
                target = pool[adjoints + own]
                if target >= 0:
                    share = g * rows[pool[operands + other]]
                    rows[target] = share if pool[fresh + own] else rows[target] + share
            at += 1
