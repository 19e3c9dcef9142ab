"""Kernels for one sample at a time: the rows of a program are single numbers, one behind the other in memory.

The lanes are neighbouring rows: the operands of a layer, the positions of a convolution. Row number r is
``rows[r]``, where `rows` is the workspace. The arguments and fields are those of the kernels of the same name
without ``_one``, except for convolutions (:class:`scalarviz.engine.cpu.encode.pictures.Shifts`).
"""

from __future__ import annotations

from typing import Any

from ..vector.capability import COLUMNS
from ..vector.conv import HIGH, SIDE, shift_outer_tile, shifts_narrow, shifts_wide
from ..vector.emitter import TALL, TILE_ROWS, lanes_of
from ..wire import ADDED, BASE, TAKER
from .intrinsics import callee, one_of, row_at, select, stack_room, zero_of
from .taken import hand_over
from .tiles import Row, Words, add_scaled, at, dot_lanes, larger, set_sum, six_of, sum_lanes


def weighted_one(code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, _: int) -> None:
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


def product_one(code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, _: int) -> None:
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


STRETCH = 1024
"""Gradients that are handed over together."""
STRETCH_ROOM = 8 * STRETCH
"""Bytes on the stack for them."""


@callee()
def neighbours(pool: Words, first: int, count: int) -> bool:
    """Whether a list of rows counts up by one."""
    off = 0
    for k in range(count):
        off += pool[first + k] != pool[first] + k
    return off == 0


@callee()
def one_sum(rows: Row, pool: Words, source: int, count: int, theta: Row, weight: int, step: int, start: Any) -> Any:
    """``start + sum_j theta[weight + j*step] * rows[pool[source + j]]``."""
    for j in range(count):
        start += theta[weight + j * step] * rows[pool[source + j]]
    return start


def combine_one(code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, _: int) -> None:
    """``to[i] (+)= bias[i] + sum_j theta[weight + i*to_step + j*from_step] * from[j]``."""
    to, n_to, source, n_from, weight = code[2], code[3], code[4], code[5], code[6]
    to_step, from_step, bias, adding = code[7], code[8], code[9], code[10]
    rows, zero = row_at(space[BASE], theta), zero_of(theta)
    for i in range(n_to):
        if not adding:
            rows[pool[to + i]] = theta[bias + i] if bias >= 0 else zero
    if to_step == 1 and neighbours(pool, to, n_to):
        for j in range(n_from):
            add_scaled(at(rows, pool[to]), rows[pool[source + j]], at(theta, weight + j * from_step), n_to)
    elif from_step == 1 and neighbours(pool, source, n_from):
        x = at(rows, pool[source])
        for i in range(n_to):
            rows[pool[to + i]] += dot_lanes(at(theta, weight + i * to_step), x, zero, n_from)
    else:
        for i in range(n_to):
            y = pool[to + i]
            rows[y] = one_sum(rows, pool, source, n_from, theta, weight + i * to_step, from_step, rows[y])


@callee()
def outer_alone(
    space: Words, rows: Row, g: Any, pool: Words, source: int, side_by_side: bool, grad: Row, to: int, columns: int
) -> None:  # fmt: skip
    """The gradients of the weights from `to` on, whose instruction has them alone, are ``g * from[j]``."""
    room, zero = stack_room(grad, STRETCH_ROOM), zero_of(grad)
    for first in range(0, columns, STRETCH):
        count = min(columns - first, STRETCH)
        if side_by_side:
            set_sum(room, zero, g, at(rows, pool[source] + first), count)
        else:
            for j in range(count):
                room[j] = zero + g * rows[pool[source + first + j]]
        hand_over(space, room, grad, to + first, count)


def outer_one(code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, _: int) -> None:
    """``grad[weight + i*columns + j] += upstream[i] * from[j]``, and the biases' gradients."""
    upstream, n_up, source = code[2], code[3], code[4]
    weight, columns, bias = code[6], code[7], code[8]
    rows = row_at(space[BASE], theta)
    side_by_side, alone = neighbours(pool, source, columns), code[9] != 0 and space[TAKER] != ADDED
    for i in range(n_up):
        g, to = rows[pool[upstream + i]], weight + i * columns
        if alone:
            outer_alone(space, rows, g, pool, source, side_by_side, grad, to, columns)
        elif side_by_side:
            add_scaled(at(grad, to), g, at(rows, pool[source]), columns)
        else:
            for j in range(columns):
                grad[to + j] += g * rows[pool[source + j]]
        if bias >= 0:
            grad[bias + i] += g


def conv_one(code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, _: int) -> None:
    """A convolution forward, or its adjoints: the lanes are positions. Field: list of `Shifts`."""
    here = code[2]
    outputs, to, to_step, weight, weight_step, bias = six_of(pool, here)
    adding, run, row_step, run_step, vectors, count = six_of(pool, here + 6)
    taps, masks, ends, whole = pool[here + 12], pool[here + 13], pool[here + 14], pool[here + 15]
    v = 0
    while v < vectors:
        lane, wide = v * lanes_of(theta), v + SIDE <= whole
        most = HIGH if wide else TALL
        for i in range(0, outputs, most):
            first, rows, w = to + i * to_step + lane, min(outputs - i, most), weight + i * weight_step
            b = bias + i if bias >= 0 else -1
            if wide:
                shifts_wide(
                    space, pool, theta, first, to_step, rows, w, weight_step, b, adding, taps, count, run, row_step,
                    run_step, lane, masks + v, vectors, pool[ends + v],
                )  # fmt: skip
            else:
                shifts_narrow(
                    space, pool, theta, first, to_step, rows, w, weight_step, b, adding, taps, count, run, row_step,
                    run_step, lane, masks + v, vectors, pool[ends + v],
                )  # fmt: skip
        v += SIDE if wide else 1


def conv_outer_one(code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, _: int) -> None:
    """Gradients of a convolution's weights."""
    # Fields: first row of the upstream, outputs, places, list of the tiles of columns (list of masks, rows of
    # place 0), number of columns, weight, bias (or -1), vectors of places.
    up, outputs, places, table, columns, weight, bias = code[2], code[3], code[4], code[5], code[6], code[7], code[8]
    rows = row_at(space[BASE], theta)
    for i in range(0, outputs, TILE_ROWS):
        height = min(outputs - i, TILE_ROWS)
        tile, to = table, weight + i * columns
        for j in range(0, columns, COLUMNS):
            width = min(columns - j, COLUMNS)
            shift_outer_tile(space, pool, grad, up + i * places, places, height, tile, width, code[9], to + j, columns)
            tile += 1 + width
        if bias >= 0:
            for r in range(height):
                grad[bias + i + r] += sum_lanes(at(rows, up + (i + r) * places), zero_of(theta), places)


def maxima_one(code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, _: int) -> None:
    """``rows[to + j]`` = the largest of ``rows[table[j, 0]] ...``."""
    to, count, table, columns = code[2], code[3], code[4], code[5]
    rows = row_at(space[BASE], theta)
    for j in range(count):
        here = table + j * columns
        found = rows[pool[here]]
        if columns == 4:
            found = larger(larger(found, rows[pool[here + 1]]), rows[pool[here + 2]])
            found = larger(found, rows[pool[here + 3]])
        else:
            for k in range(1, columns):
                found = larger(found, rows[pool[here + k]])
        rows[to + j] = found


def maxima_back_one(
    code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, unused: int
) -> None:  # fmt: skip
    """Adjoints of the operands of `maxima_one`; a NaN goes to all."""
    to, count, table, columns, up, adjoints, storing = code[2], code[3], code[4], code[5], code[6], code[7], code[8]
    rows, zero = row_at(space[BASE], theta), zero_of(theta)
    for j in range(count):
        m, g, here = rows[to + j], rows[up + j], j * columns
        none = select(m == m, zero, m * g)
        left = one_of(theta)
        for k in range(columns):
            share = select(rows[pool[table + here + k]] == m, left, zero)
            left -= share
            target = pool[adjoints + here + k]
            if storing:
                rows[target] = select(share > zero, g, none)
            elif target >= 0:
                rows[target] += select(share > zero, g, none)
