"""The encoding of weighted sums, layers, sums of products and squared errors.

A layer whose batch fits one vector becomes tiles of up to 4 x 4 weights; any other layer is one call. Sums that
read the columns of a matrix, ``x @ W + b`` with W of shape (inputs, outputs), use the kernels of layers.
These allow any distance between weights, so the backward kernel of a layer computes these sums forward.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby, product

import numpy as np
from numpy.typing import NDArray

from ....tape import Instruction
from ..wire import FEW, PASS
from .writer import Lines, Writer

FEW_SUMS = 2
"""The most tiles of a layer forward; for more, the loops of the usual kernel are as fast."""
FEW_OUTER = 8
"""The most tiles of the gradients of its weights."""
SEVERAL_WEIGHTS = 1024
"""From this many weights on, gradients are faster along the weights; sums from twice as many on."""
HALF = 4
"""Samples per pass over the weights; a second pass pays for layers of 128 x 128."""
LEAST = 16
"""From this many weights on, the kernels of layers compute the sums of a matrix faster."""
COPIED = 128
"""Operands from which on the kernel copies the weights of a panel side by side, where it would look for biases too."""

Span = tuple[int, int]
"""Start and length."""


def pieces(rows: Sequence[int]) -> list[Span]:
    """Return spans of up to four neighbours in a list of rows."""
    numbered = groupby(enumerate(rows), key=lambda item: item[1] - item[0])
    spans = [[position for position, _ in group] for _, group in numbered]
    return [(first, min(FEW, span[-1] + 1 - first)) for span in spans for first in range(span[0], span[-1] + 1, FEW)]


def tiles_of(to: Sequence[int], rows: Sequence[int], most: int) -> list[tuple[Span, Span]]:
    """Return the tiles of a layer: spans of results and of operands; empty if there are more than `most`."""
    high, wide = pieces(to), pieces(rows)
    return list(product(high, wide)) if len(high) * len(wide) <= most else []


@dataclass(frozen=True, slots=True)
class Matrix:
    """Sums ``to[i] = bias[i] + sum_j theta[weight + i*to_step + j*from_step] * rows[j]``; no bias: -1."""

    to: range
    rows: NDArray[np.int64]
    weight: int
    to_step: int
    from_step: int
    bias: int
    tiled: bool = False  # cut into tiles if its rows are vectors

    @classmethod
    def of_layer(cls, i: Instruction) -> Matrix:
        """Return the `Matrix` of a layer."""
        n = i.args.shape[1]
        return cls(range(i.dst, i.dst + i.count), i.args[0], int(i.weights[0]), n, 1, i.bias, tiled=True)

    def upstream(self, w: Writer) -> range:
        """Return the gradient rows of the results."""
        first = w.adjoint(self.to[0])
        return range(first, first + self.to.step * len(self.to), self.to.step)


def sums_kernel(w: Writer, weights: int) -> str:
    """Return the kernel that computes sums with `weights` weights."""
    least = 2 * SEVERAL_WEIGHTS if w.layout.samples <= HALF else 16 * SEVERAL_WEIGHTS
    return "combine_several" if 0 < w.layout.samples <= PASS and weights >= least else "combine"


def gradients_kernel(w: Writer, weights: int) -> str:
    """Return the kernel that adds up the gradients of `weights` weights."""
    return "outer_several" if w.layout.samples and weights >= SEVERAL_WEIGHTS else "outer"


def combine(
    w: Writer, to: Sequence[int], rows: Sequence[int], weight: int, steps: tuple[int, int], bias: int, adding: bool,
    tiled: bool,
) -> Lines:  # fmt: skip
    """Return lines that store or add the sums of a matrix; `steps` are the weight distances of results and operands."""
    tiles = tiles_of(to, rows, FEW_SUMS) if tiled and w.layout.few else []
    if not tiles:
        lists, name = [w.keep(to), len(to), w.keep(rows), len(rows)], sums_kernel(w, len(to) * len(rows))
        return [[*w.kernel(name), *lists, weight, *steps, bias, int(adding)]]
    lines = []
    for (i, height), (j, width) in tiles:
        first, b = weight + i * steps[0] + j * steps[1], bias + i if bias >= 0 and j == 0 else -1
        lines.append([*w.kernel("combine_few"), to[i], height, rows[j], width, first, *steps, b, int(adding or j > 0)])
    return lines


def matrix_forward(w: Writer, m: Matrix, adding: bool = False) -> Lines:
    """Return lines of the sums of a matrix."""
    return combine(w, m.to, m.rows.tolist(), m.weight, (m.to_step, m.from_step), m.bias, adding, m.tiled)


def matrix_backward(w: Writer, m: Matrix, upstream: range) -> Lines:
    """Return lines that add the gradients of its results to its operands."""
    lines: Lines = []
    for start, rows in stretches(m.rows, w.need_gradients(m.rows)):
        zeros, adding = w.adding(rows)
        targets, steps = [w.adjoint(row) for row in rows], (m.from_step, m.to_step)
        lines += zeros + combine(w, targets, upstream, m.weight + start * m.from_step, steps, -1, adding, m.tiled)
    return lines


def rows_outer(w: Writer, m: Matrix, upstream: range, layer: Instruction | None = None) -> Lines:
    """Return lines that add up the gradients of the biases, and of weights that are stored by result."""
    rows, n, biased = m.rows.tolist(), len(m.rows), m.bias >= 0
    tiles = tiles_of(upstream, rows, FEW_OUTER) if m.tiled and w.layout.few else []
    if not tiles:
        lists, name = [w.keep(upstream), len(upstream), w.keep(rows), n], gradients_kernel(w, n * len(upstream))
        alone = layer is not None and w.sole_readers.claim(layer)
        return [[*w.kernel(name), *lists, m.weight, n, m.bias, int(alone)]]
    lines = []
    for (i, height), (j, width) in tiles:
        weight, bias = m.weight + i * n + j, m.bias + i if biased and j == 0 else -1
        lines.append([*w.kernel("outer_few"), upstream[i], height, rows[j], width, weight, n, bias])
    return lines


def products(i: Instruction) -> Instruction | None:
    """Return a layer or convolution that only multiplies as a ``dot``: it keeps the sign of -0.0."""
    if i.args.shape[1] > 1 or i.bias >= 0:
        return None
    args = np.tile(i.args, (i.count // len(i.args), 1))
    return replace(i, kind="dot", args=args, weights=np.repeat(i.weights, len(i.args)), offset=-0.0)


def layer_forward(w: Writer, i: Instruction) -> Lines:
    """Return lines of a layer."""
    alone = products(i)
    return matrix_forward(w, Matrix.of_layer(i)) if alone is None else weighted_forward(w, alone)


def layer_backward(w: Writer, i: Instruction) -> Lines:
    """Return lines that carry the adjoints of its results to its operands, and add up its weights' gradients."""
    m = Matrix.of_layer(i)
    upstream = m.upstream(w)
    return matrix_backward(w, m, upstream) + rows_outer(w, m, upstream, i)  # the last use: it may change the weights


def stretches(rows: NDArray[np.int64], wanted: NDArray[np.bool_]) -> Iterator[tuple[int, list[int]]]:
    """Yield neighbouring operands of a layer that want a gradient: the first one's position, and the rows.

    A row that occurs again begins a new stretch: the destinations of one instruction must be different rows.
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


def parts(w: Writer, i: Instruction) -> Iterator[Matrix | Instruction]:
    """Yield the parts of a ``dot``: matrices whose weights are stored by operand, and the sums between them."""
    first, start = 0, 0
    for end in _ends(i):
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
    """Return the ends of ranges of sums with equal operands and weights moved by one."""
    if i.kind != "dot" or i.bias >= 0 or i.offset != 0.0 or i.count < 2 or not i.args.shape[1]:  # empty sums
        return []
    weights = i.weights.reshape(i.count, -1)
    on = (i.args[1:] == i.args[:-1]).all(axis=1) & (weights[1:] == weights[:-1] + 1).all(axis=1)
    return [*(np.flatnonzero(~on) + 1).tolist(), i.count]


def _matrix(w: Writer, i: Instruction, start: int, end: int) -> Matrix | None:
    """Return the sums from `start` on as a matrix, or None if they are not a whole one."""
    outputs, rows, weights = end - start, i.args[start], i.weights.reshape(i.count, -1)[start]
    bias, constants = -1, w.program.constants[w.program.constant_rows == rows[-1]]
    if (constants == 1.0).any() and (len(rows) == 1 or weights[-1] != weights[-2] + outputs):
        rows, weights, bias = rows[:-1], weights[:-1], int(weights[-1])
    if outputs < 2 or outputs * len(rows) < LEAST or (np.diff(weights) != outputs).any():
        return None
    return Matrix(range(i.dst + start, i.dst + end), rows, int(weights[0]), 1, outputs, bias)


def _between(i: Instruction, start: int, end: int) -> Instruction:
    weights = i.weights.reshape(i.count, -1)[start:end].ravel()
    return replace(i, dst=i.dst + start, count=end - start, args=i.args[start:end], weights=weights)


def columns_forward(w: Writer, m: Matrix) -> Lines:
    """Return lines of a matrix of :func:`parts`."""
    if m.bias < 0 or len(m.rows) < COPIED:
        return matrix_forward(w, m)
    biases = w.keep(range(m.bias, m.bias + len(m.to)))
    return [[*w.kernel("parameters"), m.to[0], len(m.to), biases], *matrix_forward(w, replace(m, bias=-1), adding=True)]


def columns_backward(w: Writer, m: Matrix) -> Lines:
    """Return lines that carry the adjoints of its results to its operands, and add up its weights' gradients."""
    n, outputs, upstream = len(m.rows), len(m.to), m.upstream(w)
    lines, up = matrix_backward(w, m, upstream), w.keep(upstream)
    name = gradients_kernel(w, n * outputs)
    lines.append([*w.kernel(name), w.keep(m.rows), n, up, outputs, m.weight, outputs, -1, 0])
    if m.bias >= 0:
        lines.append([*w.kernel("outer"), up, outputs, w.keep([w.ones]), 1, m.bias, 1, -1, 0])
    return lines


def dot_forward(w: Writer, i: Instruction) -> Lines:
    """Return lines of sums whose weights are parameters."""
    every = [i] if i.terms == 1 else parts(w, i)  # kernels of matrices lose the sign of -0.0
    found = (columns_forward(w, p) if isinstance(p, Matrix) else weighted_forward(w, p) for p in every)
    return list(chain.from_iterable(found))


def dot_backward(w: Writer, i: Instruction) -> Lines:
    """Return lines that carry their adjoints to their operands and weights."""
    found = (columns_backward(w, p) if isinstance(p, Matrix) else weighted_backward(w, p) for p in parts(w, i))
    return list(chain.from_iterable(found))


def weighted_forward(w: Writer, i: Instruction) -> Lines:
    """Return lines of weighted sums."""
    return [[*w.kernel("weighted"), i.dst, *_weighted_fields(w, i), w.number(i.offset)]]


def weighted_backward(w: Writer, i: Instruction) -> Lines:
    """Return lines that carry their adjoints to their operands and weights."""
    adjoints, fresh = w.targets(i.args.ravel())
    return [[*w.kernel("weighted_back"), w.adjoint(i.dst), *_weighted_fields(w, i), w.keep(adjoints), w.keep(fresh)]]


def _weighted_fields(w: Writer, i: Instruction) -> list[int]:
    weights = w.keep(i.weights) if i.kind == "dot" else -1
    first = w.number(*i.numbers) if i.kind == "weighted" else -1
    return [i.count, w.keep(i.args.ravel()), i.terms, weights, first, i.bias]


def product_forward(w: Writer, i: Instruction) -> Lines:
    """Return lines of sums of products of rows."""
    return [[*w.kernel("product"), i.dst, i.count, w.keep(i.args.ravel()), i.terms, i.bias, w.number(i.offset)]]


def product_backward(w: Writer, i: Instruction) -> Lines:
    """Return lines that carry their adjoints to both sides."""
    lists = [w.keep([*left, *right]) for left, right in _sides(w, i)]
    return [[*w.kernel("product_back"), w.adjoint(i.dst), i.count, w.keep(i.args.ravel()), i.terms, i.bias, *lists]]


def squares_forward(w: Writer, i: Instruction) -> Lines:
    """Return lines of a squared error."""
    return [[*w.kernel("squares"), i.dst, w.keep(i.args.ravel()), i.args.shape[1], w.number(*i.numbers)]]


def squares_backward(w: Writer, i: Instruction) -> Lines:
    """Return lines that add its gradient to both sides."""
    adjoints, fresh = ([*left, *right] for left, right in _sides(w, i))
    lists = [w.keep(part) for part in (i.args.ravel(), adjoints, fresh)]
    n, factor = i.args.shape[1], w.number(*i.numbers)
    return [[*w.kernel("squares_back"), w.adjoint(i.dst), lists[0], n, factor, *lists[1:]]]


def _sides(w: Writer, i: Instruction) -> list[list[list[int]]]:
    """Return gradient rows (left, right), and whether each is fresh, for two rows of operands."""
    # in the order of the kernels, which go term by term
    pairs = [w.targets(i.args[:, j]) for j in range(i.args.shape[1])]
    return [[[pair[part][side] for pair in pairs] for side in (0, 1)] for part in (0, 1)]
