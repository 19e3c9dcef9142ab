"""Rows of lanes in plain loops that LLVM vectorises; a tile is four rows by four.

Reductions over lanes are reordered (``reassoc``), in the same way every time; NaN and infinities come
through. Rows are pointers, `n` is the number of lanes; what is written is no row that is read (see
:mod:`scalarviz.engine.cpu.compiled.intrinsics`).
"""

from __future__ import annotations

from typing import Any

from ..wire import BASE, SPARE, STRIDE
from .intrinsics import NoAlias, address_of, callee, row_at, select, size_of

Row = Any  # a pointer to float32 or float64
Words = Any  # a pointer to int64
Four = tuple[Row, Row, Row, Row]

SUMS = {"contract", "reassoc", "nsz"}


@callee(forceinline=True)
def row_of(space: Words, row: int, like: Row) -> Row:
    """Row number `row` of a workspace, as a pointer of the type of `like`."""
    return row_at(space[BASE] + row * space[STRIDE], like)


@callee(forceinline=True)
def at(numbers: Row, index: int) -> Row:
    """The numbers from `index` on."""
    return row_at(address_of(numbers) + index * size_of(numbers), numbers)


@callee(forceinline=True)
def six_of(pool: Words, k: int) -> tuple[int, int, int, int, int, int]:
    """Six numbers of a list."""
    return pool[k], pool[k + 1], pool[k + 2], pool[k + 3], pool[k + 4], pool[k + 5]


@callee(forceinline=True)
def larger(a: Any, b: Any) -> Any:
    """The larger one; a NaN is larger than anything."""
    return select(a >= b, a, select(a < b, b, a + b))


@callee(forceinline=True)
def four_rows(space: Words, rows: Words, first: int, left: int, like: Row) -> Four:
    """The rows ``rows[first : first + 4]``; the row of zeros stands for those behind the `left` that exist."""
    b = rows[first + 1] if left > 1 else space[SPARE]
    c = rows[first + 2] if left > 2 else space[SPARE]
    d = rows[first + 3] if left > 3 else space[SPARE]
    a = row_of(space, rows[first], like)
    return a, row_of(space, b, like), row_of(space, c, like), row_of(space, d, like)


@callee(pipeline_class=NoAlias, fastmath=SUMS)
def add_tile(y: Four, x: Four, w: Row, n: int) -> None:
    """``y[i] += sum_j w[4*i + j] * x[j]``."""
    y0, y1, y2, y3 = y
    x0, x1, x2, x3 = x
    w00, w01, w02, w03, w10, w11, w12, w13 = w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]
    w20, w21, w22, w23, w30, w31, w32, w33 = w[8], w[9], w[10], w[11], w[12], w[13], w[14], w[15]
    for k in range(n):
        p, q, r, s = x0[k], x1[k], x2[k], x3[k]
        y0[k] += w00 * p + w01 * q + w02 * r + w03 * s
        y1[k] += w10 * p + w11 * q + w12 * r + w13 * s
        y2[k] += w20 * p + w21 * q + w22 * r + w23 * s
        y3[k] += w30 * p + w31 * q + w32 * r + w33 * s


@callee(pipeline_class=NoAlias, fastmath=SUMS)
def multiply_tile(tile: Row, g: Four, x: Four, zero: Any, n: int) -> None:
    """``tile[4*i + j] = sum over lanes of g[i] * x[j]``; `zero` is 0 in their dtype."""
    g0, g1, g2, g3 = g
    x0, x1, x2, x3 = x
    s00 = s01 = s02 = s03 = s10 = s11 = s12 = s13 = zero
    s20 = s21 = s22 = s23 = s30 = s31 = s32 = s33 = zero
    for k in range(n):
        a, b, c, d = g0[k], g1[k], g2[k], g3[k]
        p, q, r, s = x0[k], x1[k], x2[k], x3[k]
        s00, s01, s02, s03 = s00 + a * p, s01 + a * q, s02 + a * r, s03 + a * s
        s10, s11, s12, s13 = s10 + b * p, s11 + b * q, s12 + b * r, s13 + b * s
        s20, s21, s22, s23 = s20 + c * p, s21 + c * q, s22 + c * r, s23 + c * s
        s30, s31, s32, s33 = s30 + d * p, s31 + d * q, s32 + d * r, s33 + d * s
    tile[0], tile[1], tile[2], tile[3], tile[4], tile[5], tile[6], tile[7] = s00, s01, s02, s03, s10, s11, s12, s13
    tile[8], tile[9], tile[10], tile[11] = s20, s21, s22, s23
    tile[12], tile[13], tile[14], tile[15] = s30, s31, s32, s33


@callee(pipeline_class=NoAlias, fastmath=SUMS)
def set_four(y: Row, x: Four, w: Row, b: Any, n: int) -> None:
    """``y = b + w[0]*x[0] + ... + w[3]*x[3]``."""
    x0, x1, x2, x3 = x
    w0, w1, w2, w3 = w[0], w[1], w[2], w[3]
    for k in range(n):
        y[k] = b + w0 * x0[k] + w1 * x1[k] + w2 * x2[k] + w3 * x3[k]


@callee(pipeline_class=NoAlias, fastmath=SUMS)
def add_four(y: Row, x: Four, w: Row, n: int) -> None:
    """``y += w[0]*x[0] + ... + w[3]*x[3]``."""
    x0, x1, x2, x3 = x
    w0, w1, w2, w3 = w[0], w[1], w[2], w[3]
    for k in range(n):
        y[k] += w0 * x0[k] + w1 * x1[k] + w2 * x2[k] + w3 * x3[k]


@callee(pipeline_class=NoAlias, fastmath=SUMS)
def dot_lanes(g: Row, x: Row, zero: Any, n: int) -> Any:
    """The sum over lanes of ``g * x``."""
    total = zero
    for k in range(n):
        total += g[k] * x[k]
    return total


@callee(pipeline_class=NoAlias, fastmath=SUMS)
def sum_lanes(g: Row, zero: Any, n: int) -> Any:
    """The sum over lanes of `g`."""
    total = zero
    for k in range(n):
        total += g[k]
    return total


@callee(pipeline_class=NoAlias, fastmath={"contract"})
def set_scaled(y: Row, w: Any, x: Row, n: int) -> None:
    """``y = w * x``."""
    for k in range(n):
        y[k] = w * x[k]


@callee(pipeline_class=NoAlias, fastmath={"contract"})
def set_sum(y: Row, start: Any, w: Any, x: Row, n: int) -> None:
    """``y = start + w * x``."""
    for k in range(n):
        y[k] = start + w * x[k]


@callee(pipeline_class=NoAlias, fastmath={"contract"})
def add_scaled(y: Row, w: Any, x: Row, n: int) -> None:
    """``y += w * x``."""
    for k in range(n):
        y[k] += w * x[k]


@callee(pipeline_class=NoAlias, fastmath={"contract"})
def set_product(y: Row, start: Any, a: Row, b: Row, n: int) -> None:
    """``y = start + a * b``."""
    for k in range(n):
        y[k] = start + a[k] * b[k]


@callee(pipeline_class=NoAlias, fastmath={"contract"})
def add_product(y: Row, a: Row, b: Row, n: int) -> None:
    """``y += a * b``."""
    for k in range(n):
        y[k] += a[k] * b[k]


@callee(pipeline_class=NoAlias)
def add_number(y: Row, number: Any, n: int) -> None:
    """``y += number``."""
    for k in range(n):
        y[k] += number


@callee(pipeline_class=NoAlias)
def fill(y: Row, number: Any, n: int) -> None:
    """``y = number``."""
    for k in range(n):
        y[k] = number
