"""Kernels of layers for few samples.

Vectors go along the weights, not along the samples: a vector of lanes would be half empty. The numbers of a
sample are first put side by side, a panel of `PANEL` operands at a time; a weight then meets four samples in
one pass. Rows are written four numbers at a time: a loop over those that are missing costs more than they do.

The `_few` kernels are tiles of up to 4 x 4 weights over neighbouring rows, for a batch that fits one vector.
Fields are those of :mod:`scalarviz.engine.cpu.compiled.layers`.
"""

from __future__ import annotations

from typing import Any

from ..vector.layers import few_outer, few_sums
from ..wire import ADDED, BASE, STRIDE, TAKER
from .intrinsics import NoAlias, callee, select, stack_room, zero_of
from .layers import PANEL, PANEL_ROOM, add_samples, four_at, outer_of_samples, side_by_side
from .tiles import SUMS, Four, Row, Words, add_scaled, add_tile, at, fill, multiply_tile, row_of


@callee(pipeline_class=NoAlias, fastmath=SUMS)
def dot_four(w: Row, x: Four, zero: Any, n: int) -> tuple[Any, Any, Any, Any]:
    """The sums of ``w * x`` over four rows `x`."""
    x0, x1, x2, x3 = x
    s0 = s1 = s2 = s3 = zero
    for k in range(n):
        s0 += w[k] * x0[k]
        s1 += w[k] * x1[k]
        s2 += w[k] * x2[k]
        s3 += w[k] * x3[k]
    return s0, s1, s2, s3


@callee()
def begin(space: Words, pool: Words, theta: Row, to: int, count: int, bias: int, samples: int) -> None:
    """``to[i] = bias[i]``, or 0."""
    for i in range(count):
        row, number = row_of(space, pool[to + i], theta), theta[bias + i] if bias >= 0 else zero_of(theta)
        for s in range(0, samples, 4):
            for k in range(4):
                row[s + k] = number


@callee()
def forward(
    space: Words, pool: Words, theta: Row, to: int, n_to: int, source: int, n_from: int, weight: int, step: int,
    samples: int,
) -> None:  # fmt: skip
    """``to[i] += sum_j theta[weight + i*step + j] * from[j]``."""
    x, sums, zero = stack_room(theta, PANEL_ROOM), stack_room(theta, 128), zero_of(theta)
    for first in range(0, n_from, PANEL):
        count = min(n_from - first, PANEL)
        side_by_side(x, space, pool, source + first, count, samples)
        fours = n_to // 4 * 4
        for i in range(0, fours, 4):
            w = four_at(theta, weight + i * step + first, step)
            for s in range(0, samples, 4):
                multiply_tile(sums, w, four_at(x, s * PANEL, PANEL), zero, count)
                for r in range(4):
                    y = row_of(space, pool[to + i + r], theta)
                    for k in range(4):
                        y[s + k] += sums[4 * r + k]
        for i in range(fours, n_to):
            w, y = at(theta, weight + i * step + first), row_of(space, pool[to + i], theta)
            for s in range(0, samples, 4):
                sums[s], sums[s + 1], sums[s + 2], sums[s + 3] = dot_four(w, four_at(x, s * PANEL, PANEL), zero, count)
            for s in range(samples):
                y[s] += sums[s]


@callee()
def backward(
    space: Words, pool: Words, theta: Row, to: int, n_to: int, source: int, n_from: int, weight: int, step: int,
    samples: int,
) -> None:  # fmt: skip
    """``to[i] += sum_j theta[weight + i + j*step] * from[j]``."""
    g, sums, tile = stack_room(theta, PANEL_ROOM), stack_room(theta, PANEL_ROOM), stack_room(theta, 128)
    for first in range(0, n_to, PANEL):
        width = min(n_to - first, PANEL)
        for s in range((samples + 3) // 4 * 4):
            fill(at(sums, s * PANEL), zero_of(theta), width)
        for start in range(0, n_from, PANEL):
            count, here = min(n_from - start, PANEL), weight + first + start * step
            side_by_side(g, space, pool, source + start, count, samples)
            fours = count // 4 * 4
            for j in range(0, fours, 4):
                w = four_at(theta, here + j * step, step)
                for s in range(0, samples, 4):
                    for k in range(4):
                        for r in range(4):
                            tile[4 * k + r] = g[(s + k) * PANEL + j + r]
                    add_tile(four_at(sums, s * PANEL, PANEL), w, tile, width)
            for j in range(fours, count):
                for s in range(samples):
                    add_scaled(at(sums, s * PANEL), g[s * PANEL + j], at(theta, here + j * step), width)
        for i in range(width):
            y = row_of(space, pool[to + first + i], theta)
            for s in range(0, samples, 4):
                for k in range(4):
                    y[s + k] += sums[(s + k) * PANEL + i]


def combine_several(
    code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, unused: int
) -> None:  # fmt: skip
    """``to[i] (+)= bias[i] + sum_j theta[weight + i*to_step + j*from_step] * from[j]``; one of the steps is 1."""
    to, n_to, source, n_from, weight = code[2], code[3], code[4], code[5], code[6]
    if not code[10]:
        begin(space, pool, theta, to, n_to, code[9], n)
    if code[8] == 1:
        forward(space, pool, theta, to, n_to, source, n_from, weight, code[7], n)
    else:
        backward(space, pool, theta, to, n_to, source, n_from, weight, code[8], n)


@callee()
def add_biases(space: Words, pool: Words, grad: Row, bias: int, upstream: int, count: int, samples: int) -> None:
    """``grad[bias + i] += sum over lanes of upstream[i]``. Behind the last sample the next four are set to 0 first."""
    zero, last = zero_of(grad), (samples - 1) // 4 * 4
    for i in range(count):
        row, total = row_of(space, pool[upstream + i], grad), zero
        for k in range(4):  # nobody looks behind the last sample, but infinities may stand there
            row[last + k] = select(last + k < samples, row[last + k], zero)
        for s in range(0, samples, 4):
            total += (row[s] + row[s + 1]) + (row[s + 2] + row[s + 3])
        if bias >= 0:
            grad[bias + i] += total


def outer_several(code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, _: int) -> None:
    """``grad[weight + i*columns + j] += sum over lanes of upstream[i] * from[j]``, and the biases' gradients."""
    upstream, n_up, source = code[2], code[3], code[4]
    weight, columns = code[6], code[7]
    add_biases(space, pool, grad, code[8], upstream, n_up, n)
    if code[9] != 0 and space[TAKER] != ADDED:
        outer_of_samples(space, pool, grad, upstream, n_up, source, weight, columns, n)
        return
    x = stack_room(theta, PANEL_ROOM)
    for first in range(0, columns, PANEL):
        width = min(columns - first, PANEL)
        side_by_side(x, space, pool, source + first, width, n)
        add_samples(at(grad, weight + first), columns, n_up, x, space, pool, upstream, width, n)


def combine_few(code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, _: int) -> None:
    """``to[i] (+)= bias[i] + sum_j theta[weight + i*to_step + j*from_step] * from[j]``."""
    # Fields: first row `to`, how many (1 to 4), first row `from`, how many (1 to 4), weight, to_step,
    # from_step, bias (or -1), 1 to add.
    few_sums(
        theta, space[BASE], space[STRIDE], code[2], code[3], code[4], code[5], code[6], code[7], code[8], code[9],
        code[10],
    )  # fmt: skip


def outer_few(code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, _: int) -> None:
    """``grad[weight + i*step + j] += sum over lanes of upstream[i] * from[j]``, and the biases' gradients."""
    # Fields: first row `upstream`, how many (1 to 4), first row `from`, how many (1 to 4), weight, step, bias
    # (or -1).
    few_outer(
        grad, space[BASE], space[STRIDE], code[2], code[3], code[4], code[5], code[6], code[7], code[8], n
    )  # fmt: skip
