"""Where a weight is used: for each place what comes down to it from the loss (delta), and what it is multiplied by (x).

A weight of a layer meets an input, so delta is the upstream gradient of the sum and x that input; a bias meets 1. A
weight that any other operation reads meets that operation's own derivative by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engine.arrays.program import RowProgram
from ...tape import Instruction

Float = NDArray[np.float64]
Rows = NDArray[np.int64]
Factor = Callable[[Float, Float], Float]


@dataclass(frozen=True, slots=True, eq=False)
class Use:
    """One place where a program reads a weight.

    Attributes
    ----------
    kind : str
        ``"weight"`` (it multiplies a row), ``"bias"`` (it is added to one), ``"gather"`` (a number may choose it: x is
        1 where it does, else 0), or the name of the operation that reads it.
    rows : ndarray of int64, shape (positions,)
        The rows that delta belongs to; several where a layer stands at several positions.
    read : ndarray of int64, shape (positions,), or None
        The rows that are x; None where x is no row.
    factor : callable
        What meets the weight, from all rows (n_rows, lanes) and theta: shape (positions, lanes), or one that
        broadcasts to it.
    through : float
        1, or the derivative by the weight of a number made of weights alone that is used here in its place.
    """

    kind: str
    rows: Rows
    read: Rows | None
    factor: Factor
    through: float = 1.0

    def x(self, values: Float, theta: Float) -> Float:
        """What delta is multiplied by."""
        found = self.factor(values, theta)
        return found if self.through == 1.0 else found * self.through

    def times(self, slope: float) -> Use:
        """The same of a number whose derivative by the weight is `slope`."""
        return replace(self, through=self.through * slope)


def _of_rows(rows: Any) -> Factor:
    return lambda values, theta: values[rows]


def _one(values: Float, theta: Float) -> Float:
    return np.ones((1, 1))


def uses_in(program: RowProgram, index: int) -> Iterator[Use]:
    """Every use of parameter `index` of a program, in its order; those that no gradient comes to left out."""
    alive = program.program.needs_gradient
    for instruction in program.program.instructions:
        if not alive[instruction.dst]:
            continue
        if instruction.kind == "param":
            for place in np.flatnonzero(instruction.weights == index):
                yield from readers(program, instruction.dst + int(place))
            continue
        for use in _weights(instruction, index):
            yield _as_bias(use) if _is_one(program, use.read) else use
        yield from _biases(instruction, index)
        yield from _chosen(instruction, index)


def _is_one(program: RowProgram, read: Rows | None) -> bool:
    """Whether what a weight meets is a row of ones: then it was typed as a bias."""
    constants = program.program.constant_rows[program.program.constants == 1.0]
    return read is not None and bool(np.isin(read, constants).all())


def _as_bias(use: Use) -> Use:
    return Use("bias", use.rows, None, _one)


def _weights(i: Instruction, index: int) -> Iterator[Use]:
    """As a weight of a sum."""
    if i.kind == "dot":
        for k in np.flatnonzero(i.weights == index):
            read = i.args.ravel()[k : k + 1]
            yield Use("weight", i.dst + np.array([k // i.terms]), read, _of_rows(read))
    elif i.kind in ("layer", "conv"):
        n, first = i.args.shape[1], int(i.weights[0])
        if first <= index < first + n * len(i.weights):
            output, k = divmod(index - first, n)
            read = i.args[:, k]
            yield Use("weight", _outputs(i, output), read, _of_rows(read))


def _chosen(i: Instruction, index: int) -> Iterator[Use]:
    """As what a number may choose from a table."""
    if i.kind != "gather" or i.table is None:
        return
    ids, columns = i.args[0], len(i.weights)
    for column, first in enumerate(i.weights.tolist()):
        number, rest = divmod(index - first, i.table.step)
        if rest == 0 and 0 <= number < i.table.rows:
            rows = i.dst + np.arange(len(ids)) * columns + column
            yield Use("gather", rows, None, _where_it_is(ids, number))


def _where_it_is(ids: Rows, number: int) -> Factor:
    return lambda values, theta: (values[ids] == number).astype(np.float64)


def _outputs(i: Instruction, output: int) -> Rows:
    """The rows of one output of a layer: one, or one a position."""
    positions = len(i.args)
    return i.dst + output * positions + np.arange(positions)


def _biases(i: Instruction, index: int) -> Iterator[Use]:
    """As what is added to a sum."""
    outputs = len(i.weights) if i.kind in ("layer", "conv") else 1
    if i.bias >= 0 and i.bias <= index < i.bias + outputs:
        rows = _outputs(i, index - i.bias) if i.kind in ("layer", "conv") else np.arange(i.dst, i.dst + i.count)
        yield Use("bias", rows, None, _one)


# a weight that stands in a row of its own


def readers(program: RowProgram, row: int) -> Iterator[Use]:
    """The instructions that read `row`, a place in one after the other."""
    if row == program.program.loss:
        yield Use("loss", np.array([row]), None, _one)
    for step in program.steps:
        i = step.instruction
        if not program.program.needs_gradient[i.dst] or not i.args.size:
            continue
        for k, column in np.argwhere(i.args == row).tolist():
            use = _reading(step, i, k, column)
            if use is not None:
                yield use


def _reading(step: Any, i: Instruction, k: int, column: int) -> Use | None:
    """``args[k, column]`` as an operand; None where no gradient flows to it."""
    if i.kind == "op":
        return None if step.pulls[k] is None else _of_operation(step, i, k, column)
    if i.kind == "gather":  # a number that chooses
        return None
    if i.kind == "batch_mean":  # of a number that is the same on all lanes
        return Use("batch_mean", np.array([i.dst + column]), None, _one)
    if i.kind == "max":
        return Use("max", np.array([i.dst + k]), None, _Chosen(i, k, column))
    if i.kind == "product":
        other = i.args[1 - k, column : column + 1]
        return Use("product", i.dst + np.array([column // i.terms]), other, _of_rows(other))
    if i.kind == "squares":
        a, b, twice = int(i.args[0, column]), int(i.args[1, column]), (2.0 if k == 0 else -2.0) * float(i.numbers[0])
        return Use("squares", np.array([i.dst]), None, lambda v, theta: (twice * (v[a] - v[b]))[None])
    if i.kind == "weighted":
        number = np.full((1, 1), i.numbers[column])
        return Use("weighted", np.array([i.dst + k]), None, lambda v, theta: number)
    return _through_a_layer(i, k, column)


def _of_operation(step: Any, i: Instruction, k: int, column: int) -> Use:
    operands, row, pull = [int(a) for a in i.args[:, column]], i.dst + column, step.pulls[k]

    def partial(values: Float, theta: Float) -> Float:
        found: Float = pull(
            *[values[a : a + 1] for a in operands], values[row : row + 1], np.ones((1, values.shape[1]))
        )
        return found

    return Use(i.op, np.array([row]), None, partial)


class _Chosen:
    """1 where an operand is the largest, the first of equal ones; a NaN goes to all."""

    def __init__(self, i: Instruction, k: int, column: int) -> None:
        self.row, self.before, self.own = i.dst + k, i.args[k, :column], int(i.args[k, column])

    def __call__(self, values: Float, theta: Float) -> Float:
        found = values[self.row]
        chosen = (values[self.own] == found) & ~(values[self.before] == found).any(axis=0)
        return np.asarray(np.where(found == found, chosen, found))[None]


def _through_a_layer(i: Instruction, k: int, column: int) -> Use:
    """A row that is an input of sums: what it is multiplied by are their weights."""
    if i.kind == "dot":
        weight = int(i.weights[k * i.terms + column])
        return Use("dot", np.array([i.dst + k]), None, lambda v, theta: theta[weight : weight + 1, None])
    rows = i.dst + np.arange(len(i.weights)) * len(i.args) + k
    weights = i.weights + column
    return Use(i.kind, rows, None, lambda v, theta: theta[weights][:, None])


# numbers made of weights alone


def slopes(prologue: RowProgram, values: Float, theta: Float, index: int) -> Iterator[tuple[int, float]]:
    """Which outputs of a program of parameters depend on parameter `index`, and their derivatives by it."""
    tangent: dict[int, float] = {}
    waiting: list[int] = []

    def reached(use: Use, slope: float) -> None:
        factors = np.broadcast_to(use.factor(values, theta), (len(use.rows), 1))[:, 0]
        for row, x in zip(use.rows.tolist(), factors.tolist(), strict=True):
            if row not in tangent:
                tangent[row] = 0.0
                heappush(waiting, row)
            tangent[row] += slope * x

    with np.errstate(all="ignore"):
        for use in uses_in(prologue, index):
            reached(use, 1.0)
        while waiting:  # a row comes after all that it is made of
            row = heappop(waiting)
            for use in readers(prologue, row):
                reached(use, tangent[row])
    for number, row in enumerate(prologue.program.outputs.tolist()):
        if row in tangent:
            yield number, tangent[row]


def depending(program: RowProgram) -> NDArray[np.bool_]:
    """Which rows of a program depend on a parameter, through operands that have a derivative; shape (n_rows,)."""
    found = np.zeros(program.program.n_rows, bool)
    for step in program.steps:
        i = step.instruction
        if i.kind in ("layer", "conv", "dot", "param", "gather") or i.bias >= 0:
            made: Any = True
        elif i.kind == "op":
            made = found[i.args[[k for k, pull in enumerate(step.pulls) if pull is not None]]].any(axis=0)
        elif i.kind == "batch_mean":
            made = found[i.args[0]]
        elif i.kind == "product":
            made = found[i.args].reshape(2, i.count, -1).any(axis=(0, 2))
        else:
            made = found[i.args].any(axis=None if i.kind == "squares" else 1)
        found[i.dst : i.dst + i.count] = made
    return found
