"""Kernels of maxima of rows, in plain loops, and of the windows of one sample's pictures."""

from __future__ import annotations

from ..vector.conv import window_adjoints, window_maxima
from ..vector.emitter import lanes_of
from ..wire import SPARE
from .intrinsics import NoAlias, callee, one_of, select, zero_of
from .tiles import Row, Words, fill, larger, row_of


@callee(pipeline_class=NoAlias)
def max_of_four(y: Row, a: Row, b: Row, c: Row, d: Row, n: int) -> None:
    """The largest of four rows; a NaN is larger than anything."""
    for k in range(n):
        y[k] = larger(larger(larger(a[k], b[k]), c[k]), d[k])


@callee(pipeline_class=NoAlias)
def max_into(y: Row, x: Row, n: int) -> None:
    """``y = max(y, x)``."""
    for k in range(n):
        y[k] = larger(y[k], x[k])


def maxima(code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, _: int) -> None:
    """``row[to + j]`` = the largest of ``row[table[j, 0]] ...``. Fields: to, how many, list `table`, its columns."""
    to, count, table, columns = code[2], code[3], code[4], code[5]
    for j in range(count):
        y, rows = row_of(space, to + j, theta), table + j * columns
        a, b = row_of(space, pool[rows], theta), row_of(space, pool[rows + 1], theta)
        c, d = row_of(space, pool[rows + 2], theta), row_of(space, pool[rows + min(3, columns - 1)], theta)
        max_of_four(y, a, b, c, d, n)
        for k in range(4, columns):
            max_into(y, row_of(space, pool[rows + k], theta), n)


@callee(pipeline_class=NoAlias)
def four_to_first(da: Row, db: Row, dc: Row, dd: Row, y: Row, g: Row, a: Row, b: Row, c: Row, d: Row, n: int) -> None:
    """The gradient of `max_of_four`, stored: to the first that is the largest; a NaN to all."""
    zero = zero_of(y)
    for k in range(n):
        m, up = y[k], g[k]
        none = select(m == m, zero, m * up)
        ta, tb, tc, td = a[k] == m, b[k] == m, c[k] == m, d[k] == m
        da[k] = select(ta, up, none)
        db[k] = select(tb & (not ta), up, none)
        dc[k] = select(tc & (not (ta | tb)), up, none)
        dd[k] = select(td & (not (ta | tb | tc)), up, none)


@callee(pipeline_class=NoAlias)
def one_to_first(d: Row, left: Row, y: Row, g: Row, x: Row, n: int) -> None:
    """Add one operand's share of the gradient of a maximum; `left` is 1 where no operand before it was the largest."""
    zero = zero_of(y)
    for k in range(n):
        m, up = y[k], g[k]
        share = select(x[k] == m, left[k], zero)
        d[k] += select(share > zero, up, select(m == m, zero, m * up))
        left[k] -= share


def maxima_back(code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, _: int) -> None:
    """Adjoints of the operands of `maxima`."""
    # Fields: to, how many, list `table`, its columns, row of the first adjoint, list of the adjoints in the
    # order of the table (-1: not wanted), 1 if there are four columns and all adjoints are to be stored; else
    # they are added to.
    to, count, table, columns, up, adjoints, storing = code[2], code[3], code[4], code[5], code[6], code[7], code[8]
    left = row_of(space, space[SPARE] + 2, theta)
    for j in range(count):
        y, g = row_of(space, to + j, theta), row_of(space, up + j, theta)
        rows, targets = table + j * columns, adjoints + j * columns
        if storing:
            four_to_first(
                row_of(space, pool[targets], theta), row_of(space, pool[targets + 1], theta),
                row_of(space, pool[targets + 2], theta), row_of(space, pool[targets + 3], theta), y, g,
                row_of(space, pool[rows], theta), row_of(space, pool[rows + 1], theta),
                row_of(space, pool[rows + 2], theta), row_of(space, pool[rows + 3], theta), n,
            )  # fmt: skip
            continue
        fill(left, one_of(theta), n)
        for k in range(columns):
            # nobody reads what goes to the last spare row
            target = pool[targets + k] if pool[targets + k] >= 0 else space[SPARE] + 3
            x = row_of(space, pool[rows + k], theta)
            one_to_first(row_of(space, target, theta), left, y, g, x, n)


def windows_one(code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, _: int) -> None:
    """``rows[to + j]`` = the largest of window j. Fields: to, windows of a run, `down`, list of runs, its length."""
    for lane in range(0, code[3], lanes_of(theta)):
        window_maxima(space, pool, theta, code[2], code[3], code[4], code[5], code[6], lane)


def windows_back_one(
    code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, unused: int
) -> None:  # fmt: skip
    """Adjoints of the operands of `windows_one`. Further fields: row of the first adjoint, 1 to add (0 stores)."""
    for lane in range(0, code[3], lanes_of(theta)):
        window_adjoints(space, pool, theta, code[2], code[3], code[4], code[5], code[6], lane, code[7], code[8])
