"""Sums that read the columns of a matrix, ``x @ W + b`` with W of shape (inputs, outputs): the kernels of layers.

These take any distance between weights, so such a layer is one whose adjoints go the other way: what carries adjoints
down through a layer carries values up through this one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ....tape import Instruction
from .layer import gradients_kernel, stretches, sums_kernel
from .writer import Lines, Writer

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
