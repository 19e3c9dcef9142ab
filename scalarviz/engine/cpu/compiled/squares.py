"""The squared error, forward and backward: a pass over its operands each. See `sums`."""

from __future__ import annotations

from typing import Any

from numba import njit

from .noalias import NoAlias
from .tiles import Row, Words, row_of


@njit(error_model="numpy")
def whole(n: int) -> int:
    """Lanes up to the next four, which rows have room for unless they are single numbers: no rest to do one by one."""
    return n if n == 1 else (n + 3) // 4 * 4


def squares(
    code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, unused: int
) -> None:  # fmt: skip
    """``to = factor * sum_j (a[j] - b[j])**2``: one row.

    Fields: row `to`, list of all a and then all b, how many of each, which number is the factor.
    """
    rows, count, factor, n = code[3], code[4], numbers[code[5]], whole(n)
    y = row_of(space, code[2], theta)
    for j in range(count):
        a, b = row_of(space, pool[rows + j], theta), row_of(space, pool[rows + count + j], theta)
        if j == 0:
            set_square(y, factor, a, b, n)
        else:
            add_square(y, factor, a, b, n)


def squares_back(
    code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, unused: int
) -> None:  # fmt: skip
    """Adjoints of both sides of `squares`.

    Fields: row `upstream`, list of a and b, how many of each, factor as there; lists of the adjoints of all of them
    (-1: not wanted) and of flags: 1 to store, 0 to add.
    """
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


@njit(error_model="numpy", pipeline_class=NoAlias, fastmath={"contract"})
def set_square(y: Row, factor: Any, a: Row, b: Row, n: int) -> None:
    """``y = factor * (a - b)**2``."""
    for k in range(n):
        e = a[k] - b[k]
        y[k] = factor * (e * e)


@njit(error_model="numpy", pipeline_class=NoAlias, fastmath={"contract"})
def add_square(y: Row, factor: Any, a: Row, b: Row, n: int) -> None:
    """``y += factor * (a - b)**2``."""
    for k in range(n):
        e = a[k] - b[k]
        y[k] += factor * (e * e)


@njit(error_model="numpy", pipeline_class=NoAlias, fastmath={"contract"})
def set_slope(d: Row, twice: Any, g: Row, a: Row, b: Row, n: int) -> None:
    """``d = twice * g * (a - b)``."""
    for k in range(n):
        d[k] = (twice * g[k]) * (a[k] - b[k])


@njit(error_model="numpy", pipeline_class=NoAlias, fastmath={"contract"})
def add_slope(d: Row, twice: Any, g: Row, a: Row, b: Row, n: int) -> None:
    """``d += twice * g * (a - b)``."""
    for k in range(n):
        d[k] += (twice * g[k]) * (a[k] - b[k])
