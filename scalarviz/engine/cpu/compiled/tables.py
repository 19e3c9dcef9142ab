"""Tables that are read by number, forward and backward. See `sums`.

A number becomes an address in `chosen` alone, after it was compared with the table's size.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from .tiles import Row, Words, row_of

NAN = np.float32(np.nan)
"""Becomes a float64 where the rows are."""


@njit(error_model="numpy")
def chosen(number: Any, rows: int) -> int:
    """`number` as an index below `rows`; -1 where it is no such whole number, NaN among them."""
    if number >= 0 and number < rows:  # only now is the conversion defined
        index = int(number)
        if index == number:
            return index
    return -1


def gather(
    code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, unused: int
) -> None:  # fmt: skip
    """Row ``to + p*columns + j`` = theta[weights[j] + k*step], k the number in row ``ids[p]``; NaN without such a k.

    Fields: row `to`, list `ids`, its length, list `weights`, its length, rows of the table, step.
    """
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


def gather_back(
    code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, unused: int
) -> None:  # fmt: skip
    """The gradients of the parameters that `gather` read, id by id, lane by lane. The first field is the upstream's."""
    ids, count, weights, columns, rows, step = code[3], code[4], code[5], code[6], code[7], code[8]
    for p in range(count):
        of, up = row_of(space, pool[ids + p], theta), code[2] + p * columns
        for k in range(n):
            index = chosen(of[k], rows)
            if index >= 0:
                for j in range(columns):
                    grad[pool[weights + j] + index * step] += row_of(space, up + j, theta)[k]
