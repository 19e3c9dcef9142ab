"""The encoding of weighted sums, layers, sums of products and squared errors.

* A layer whose batch fits one vector becomes tiles of up to 4 x 4 weights; otherwise it is one call. A layer of few
  samples goes along its weights.
* A sum that reads the columns of a matrix, ``x @ W + b`` with W of shape (inputs, outputs), uses the kernels of layers:
  they take any distance between weights, so what carries adjoints down through a layer carries values up here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from ....tape import Instruction
from ..wire import FEW, PASS
from .writer import Lines, Writer

FEW_SUMS = 2
"""Most tiles of a layer forward: with more, the loops of the usual kernel are as quick."""
FEW_OUTER = 8
"""Most tiles of its weights' gradients."""


def pieces(rows: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Spans ``(start, length)`` of up to four neighbours in a list of rows."""
    numbered = groupby(enumerate(rows.tolist()), key=lambda item: item[1] - item[0])
    spans = [[position for position, _ in group] for _, group in numbered]
    return [(first, min(FEW, span[-1] + 1 - first)) for span in spans for first in range(span[0], span[-1] + 1, FEW)]


def tiles_of(i: Instruction, most: int) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """The tiles of a layer: spans of its results and of its operands. Nothing if there are more than `most`."""
    results, operands = pieces(np.arange(i.count)), pieces(i.args[0])
    if len(results) * len(operands) > most:
        return []
    return [(to, source) for to in results for source in operands]


def forward_fields(i: Instruction) -> Iterator[list[int]]:
    """Fields of the instructions that compute a layer."""
    n = i.args.shape[1]
    for (to, height), (source, width) in tiles_of(i, FEW_SUMS):
        first = source == 0
        bias = i.bias + to if i.bias >= 0 and first else -1
        weight = int(i.weights[0]) + to * n + source
        yield [i.dst + to, height, int(i.args[0, source]), width, weight, n, 1, bias, int(not first)]


def outer_fields(i: Instruction, upstream: int) -> Iterator[list[int]]:
    """Fields of those that add up its weights' gradients; the adjoints of its results begin at row `upstream`."""
    n = i.args.shape[1]
    for (to, height), (source, width) in tiles_of(i, FEW_OUTER):
        bias = i.bias + to if i.bias >= 0 and source == 0 else -1
        weight = int(i.weights[0]) + to * n + source
        yield [upstream + to, height, int(i.args[0, source]), width, weight, n, bias]


def backward_fields(i: Instruction, upstream: int, start: int, to: list[int], adding: bool) -> Iterator[list[int]]:
    """Fields of those that make the adjoints `to` of the operands from number `start` on."""
    n, results, targets = i.args.shape[1], pieces(np.arange(i.count)), pieces(np.array(to))
    if len(results) * len(targets) > FEW_SUMS:
        return
    for position, width in targets:
        for source, height in results:
            weight = int(i.weights[0]) + source * n + start + position
            more = int(adding or source > 0)
            yield [to[position], width, upstream + source, height, weight, 1, n, -1, more]


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
    tiles = w.tiles("combine_few", forward_fields(i))
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
        tiles = w.tiles("combine_few", backward_fields(i, up, start, targets, adding))
        if not tiles:
            fields = [w.keep(targets), len(to), upstream, i.count, int(i.weights[0]) + start, 1, n, -1]
            tiles = [[*w.kernel(sums_kernel(w, len(to) * i.count)), *fields, int(adding)]]
        lines += zeros + tiles
    return lines + _weights_backward(w, i, upstream, up)  # last: it may change the weights


def _weights_backward(w: Writer, i: Instruction, upstream: int, up: int) -> Lines:
    """Lines that add up the gradients of a layer's weights."""
    rows, n = i.args[0], i.args.shape[1]
    tiles = w.tiles("outer_few", outer_fields(i, up))
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


LEAST = 16
"""Weights of a matrix from which on its sums are better done by the kernels of layers."""

COPIED = 128
"""Operands from which on the kernel copies the weights of a panel side by side, where it would look for biases too."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Sums that are ``theta[weight + k * outputs + j]`` times operand k, for output j.

    Attributes
    ----------
    dst, outputs : int
        The row of the first, and how many.
    rows : ndarray of int64
        Operands.
    weight, bias : int
        The first ones; no bias: -1.
    """

    dst: int
    outputs: int
    rows: NDArray[np.int64]
    weight: int
    bias: int


def parts(w: Writer, i: Instruction) -> Iterator[Columns | Instruction]:
    """A ``dot`` cut into such matrices and what lies between them."""
    first, start = 0, 0
    ends = _ends(i)
    for end in ends:
        found = _matrix(w, i, start, end)
        if found is not None:
            if first < start:
                yield _between(i, first, start)
            yield found
            first = end
        start = end
    if first == 0:
        yield i
    elif first < i.count:
        yield _between(i, first, i.count)


def _ends(i: Instruction) -> list[int]:
    """Where stretches of sums end whose operands are the same and whose weights are those before, moved by one."""
    if i.kind != "dot" or i.bias >= 0 or i.offset != 0.0 or i.count < 2 or not i.args.shape[1]:  # sums of nothing
        return []
    weights = i.weights.reshape(i.count, -1)
    on = (i.args[1:] == i.args[:-1]).all(axis=1) & (weights[1:] == weights[:-1] + 1).all(axis=1)
    return [*(np.flatnonzero(~on) + 1).tolist(), i.count]


def _matrix(w: Writer, i: Instruction, start: int, end: int) -> Columns | None:
    """The sums from `start` on as a matrix, if they are a whole one."""
    outputs, rows, weights = end - start, i.args[start], i.weights.reshape(i.count, -1)[start]
    bias = -1
    if _is_one(w, int(rows[-1])) and (len(rows) == 1 or weights[-1] != weights[-2] + outputs):
        rows, weights, bias = rows[:-1], weights[:-1], int(weights[-1])
    if outputs < 2 or outputs * len(rows) < LEAST or (np.diff(weights) != outputs).any():
        return None
    return Columns(i.dst + start, outputs, rows, int(weights[0]), bias)


def _is_one(w: Writer, row: int) -> bool:
    return bool((w.program.constants[w.program.constant_rows == row] == 1.0).any())


def _between(i: Instruction, start: int, end: int) -> Instruction:
    weights = i.weights.reshape(i.count, -1)[start:end].ravel()
    return replace(i, dst=i.dst + start, count=end - start, args=i.args[start:end], weights=weights)


def columns_forward(w: Writer, i: Columns) -> Lines:
    """Lines of a matrix."""
    to, source, n = w.keep(range(i.dst, i.dst + i.outputs)), w.keep(i.rows), len(i.rows)
    name = sums_kernel(w, n * i.outputs)
    lines: Lines = []
    bias = i.bias
    if bias >= 0 and n >= COPIED:
        lines.append([*w.kernel("parameters"), i.dst, i.outputs, w.keep(range(bias, bias + i.outputs))])
        bias = -1
    return [*lines, [*w.kernel(name), to, i.outputs, source, n, i.weight, 1, i.outputs, bias, len(lines)]]


def columns_backward(w: Writer, i: Columns) -> Lines:
    """Lines that carry the adjoints of its results to its operands, and add up its weights' gradients."""
    n, up = len(i.rows), w.adjoint(i.dst)
    upstream = w.keep(range(up, up + i.outputs))
    lines: Lines = []
    for start, to in stretches(i.rows, w.wanted(i.rows)):
        zeros, adding = w.adding(to)
        targets, weight = w.keep([w.adjoint(row) for row in to]), i.weight + start * i.outputs
        fields = [targets, len(to), upstream, i.outputs, weight, i.outputs, 1, -1, int(adding)]
        lines += [*zeros, [*w.kernel(sums_kernel(w, len(to) * i.outputs)), *fields]]
    name = gradients_kernel(w, n * i.outputs)
    lines.append([*w.kernel(name), w.keep(i.rows), n, upstream, i.outputs, i.weight, i.outputs, -1, 0])
    if i.bias >= 0:
        ones = w.keep([2 * w.program.n_rows + 1])
        lines.append([*w.kernel("outer"), upstream, i.outputs, ones, 1, i.bias, 1, -1, 0])
    return lines


def dot_forward(w: Writer, i: Instruction) -> Lines:
    """Lines of sums whose weights are parameters."""
    return _by_parts(w, i, columns_forward, weighted_forward)


def dot_backward(w: Writer, i: Instruction) -> Lines:
    """Lines that carry their adjoints to their operands and weights."""
    return _by_parts(w, i, columns_backward, weighted_backward)


def _by_parts(
    w: Writer,
    i: Instruction,
    of_columns: Callable[[Writer, Columns], Lines],
    of_rows: Callable[[Writer, Instruction], Lines],
) -> Lines:
    """Lines of each part by its kind."""
    found = (of_columns(w, p) if isinstance(p, Columns) else of_rows(w, p) for p in parts(w, i))
    return [line for lines in found for line in lines]


def weighted_forward(w: Writer, i: Instruction) -> Lines:
    """Lines of weighted sums."""
    return [[*w.kernel("weighted"), i.dst, *_weighted_fields(w, i), w.number(i.offset)]]


def weighted_backward(w: Writer, i: Instruction) -> Lines:
    """Lines that carry their adjoints to their operands and weights."""
    adjoints, fresh = w.targets(i.args.ravel())
    return [[*w.kernel("weighted_back"), w.adjoint(i.dst), *_weighted_fields(w, i), w.keep(adjoints), w.keep(fresh)]]


def _weighted_fields(w: Writer, i: Instruction) -> list[int]:
    weights = w.keep(i.weights) if i.kind == "dot" else -1
    first = w.number(*i.numbers) if i.kind == "weighted" else -1
    return [i.count, w.keep(i.args.ravel()), i.terms, weights, first, i.bias]


def product_forward(w: Writer, i: Instruction) -> Lines:
    """Lines of sums of products of rows."""
    return [[*w.kernel("product"), i.dst, i.count, w.keep(i.args.ravel()), i.terms, i.bias, w.number(i.offset)]]


def product_backward(w: Writer, i: Instruction) -> Lines:
    """Lines that carry their adjoints to both sides."""
    lists = [w.keep([*left, *right]) for left, right in _sides(w, i)]
    return [[*w.kernel("product_back"), w.adjoint(i.dst), i.count, w.keep(i.args.ravel()), i.terms, i.bias, *lists]]


def squares_forward(w: Writer, i: Instruction) -> Lines:
    """Lines of a squared error."""
    return [[*w.kernel("squares"), i.dst, w.keep(i.args.ravel()), i.args.shape[1], w.number(*i.numbers)]]


def squares_backward(w: Writer, i: Instruction) -> Lines:
    """Lines that carry its adjoint to both sides."""
    adjoints, fresh = ([*left, *right] for left, right in _sides(w, i))
    lists = [w.keep(part) for part in (i.args.ravel(), adjoints, fresh)]
    n, factor = i.args.shape[1], w.number(*i.numbers)
    return [[*w.kernel("squares_back"), w.adjoint(i.dst), lists[0], n, factor, *lists[1:]]]


def _sides(w: Writer, i: Instruction) -> list[list[list[int]]]:
    """Of two rows of operands: adjoint rows (left, right), and whether each is fresh (left, right)."""
    # in the order of the kernels, which go term by term
    pairs = [w.targets(i.args[:, j]) for j in range(i.args.shape[1])]
    return [[[pair[part][side] for pair in pairs] for side in (0, 1)] for part in (0, 1)]
