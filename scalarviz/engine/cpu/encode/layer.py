"""Layers: small ones in tiles where the batch fits one vector, else as one call; of few samples along the weights."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ....tape import Instruction
from ..wire import PASS
from . import few
from .writer import Lines, Writer

SEVERAL_WEIGHTS = 1024
"""From so many weights on their gradients are quicker along the weights; sums are from twice as many on."""

HALF = 4
"""Samples of one pass over the weights; a second one pays in layers of 128 x 128."""


def sums_kernel(w: Writer, weights: int) -> str:
    """The kernel that computes sums with so many weights."""
    least = 2 * SEVERAL_WEIGHTS if w.samples <= HALF else 16 * SEVERAL_WEIGHTS
    return "combine_several" if 0 < w.samples <= PASS and weights >= least else "combine"


def gradients_kernel(w: Writer, weights: int) -> str:
    """The kernel that adds up the gradients of so many weights."""
    return "outer_several" if w.samples and weights >= SEVERAL_WEIGHTS else "outer"


def layer_forward(w: Writer, i: Instruction) -> Lines:
    """Lines of a layer."""
    tiles = w.tiles("combine_few", few.forward_fields(i))
    if tiles:
        return tiles
    n = i.args.shape[1]
    to, source = w.keep(range(i.dst, i.dst + i.count)), w.keep(i.args[0])
    name = sums_kernel(w, n * i.count)
    return [[*w.kernel(name), to, i.count, source, n, int(i.weights[0]), n, 1, i.bias, 0]]


def layer_backward(w: Writer, i: Instruction) -> Lines:
    """Lines that add up its weights' gradients, and carry the adjoints of its results to its operands."""
    rows, n, up = i.args[0], i.args.shape[1], w.adjoint(i.dst)
    upstream = w.keep(range(up, up + i.count))
    lines: Lines = []
    for start, to in stretches(rows, w.wanted(rows)):
        zeros, adding = w.adding(to)
        targets = [w.adjoint(r) for r in to]
        tiles = w.tiles("combine_few", few.backward_fields(i, up, start, targets, adding))
        if not tiles:
            fields = [w.keep(targets), len(to), upstream, i.count, int(i.weights[0]) + start, 1, n, -1]
            tiles = [[*w.kernel(sums_kernel(w, len(to) * i.count)), *fields, int(adding)]]
        lines += zeros + tiles
    return lines + _weights_backward(w, i, upstream, up)  # last: it may change the weights


def _weights_backward(w: Writer, i: Instruction, upstream: int, up: int) -> Lines:
    """Lines that add up the gradients of a layer's weights."""
    rows, n = i.args[0], i.args.shape[1]
    tiles = w.tiles("outer_few", few.outer_fields(i, up))
    if tiles:
        return tiles
    ones = 2 * w.program.n_rows + 1
    source = w.keep([*rows, ones] if i.bias >= 0 else rows)
    columns, alone = n + (i.bias >= 0), w.alone.take(i)
    name = gradients_kernel(w, n * i.count)
    return [[*w.kernel(name), upstream, i.count, source, columns, int(i.weights[0]), n, i.bias, int(alone)]]


def stretches(rows: NDArray[np.int64], wanted: NDArray[np.bool_]) -> Iterator[tuple[int, list[int]]]:
    """Neighbouring operands of a layer that want a gradient: the first one's position, and the rows.

    Their weights stand side by side. A row that occurs again begins a new stretch: the destinations of one
    instruction must be different rows.
    """
    stretch: list[int] = []
    seen: set[int] = set()
    for position, (row, want) in enumerate(zip(rows.tolist(), wanted, strict=True)):
        if stretch and (not want or row in seen):
            yield position - len(stretch), stretch
            stretch, seen = [], set()
        if want:
            stretch.append(row)
            seen.add(row)
    if stretch:
        yield len(rows) - len(stretch), stretch
