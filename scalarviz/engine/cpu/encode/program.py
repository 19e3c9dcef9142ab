"""A `Program` as the table of numbers that the compiled interpreter walks.

Neighbouring rows whose operands are neighbours too become one call. Backward, every adjoint row is *stored* by the
first instruction that writes it and added to by the others, so nothing is zeroed in advance; what the loss does not
depend on is left out.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....tape import Instruction, Program
from .. import wire
from . import batch, layer, masks, pictures, sums, tables
from .adjoints import AdjointRows
from .alone import Alone
from .narrow import Narrow
from .writer import Lines, Rows, Writer, runs

Table = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Encoded:
    """A program in numbers; see :mod:`scalarviz.engine.cpu.wire`.

    Attributes
    ----------
    forward, backward : ndarray of int64, shape (instructions, FIELDS)
    pool : ndarray of int64
    numbers : ndarray
        Coefficients and offsets, in the dtype of the run.
    rows : int
        Rows of the workspace: values, adjoints and padding.
    cuts : tuple of ndarray of int64
        Lines forward, and backward, that read what all blocks of a batch have left.
    places : int
        Of the sums that a block leaves.
    alone : ndarray of int64
        Where the weights of each layer begin and end whose instruction has their gradients alone.
    """

    forward: Table
    backward: Table
    pool: NDArray[np.int64]
    numbers: NDArray[Any]
    rows: int
    cuts: tuple[NDArray[np.int64], NDArray[np.int64]]
    places: int
    alone: NDArray[np.int64]


def encode(
    program: Program, seeds: Iterable[int], rows: Rows, kernel: Callable[[str], int], dtype: Any, lanes: int = 0,
    few: bool = False, samples: int = 0, taken: bool = False, narrow: bool = False,
) -> Encoded:  # fmt: skip
    """Encode a program.

    Parameters
    ----------
    program : Program
    seeds : iterable of int
        Rows whose adjoints are given before the backward pass; none for forward only.
    rows : callable
        The name of an operation to the addresses of its row kernels.
    kernel : callable
        The name of another kernel to its address.
    dtype : dtype-like
    lanes : int
        Numbers of a vector where rows are single numbers (`can_be_compact` must allow it), else 0.
    few : bool
        A row is never longer than one vector.
    samples : int
        Lanes of a row, where they are 2 to 16, else 0.
    taken : bool
        There are kernels that hand gradients over.
    narrow : bool
        Whether rows that are the same on all lanes are computed on one.
    """
    written = {int(row) for row in seeds}
    adjoint = AdjointRows(program, range(program.n_rows) if lanes else written)
    w = Writer(program, rows, kernel, lanes, few, samples, adjoint, written, Alone(program, taken))
    narrowed = Narrow(program, narrow)
    forward = _table(narrowed.forward(w, k, FORWARD[i.kind](w, i)) for k, i in enumerate(program.instructions))
    backward = _table(_backward(w, narrowed, k) for k in range(len(program.instructions) - 1, -1, -1) if written)
    return Encoded(
        forward=forward,
        backward=backward,
        pool=np.array(w.pool or [0], np.int64),
        numbers=np.array(w.numbers or [0.0], dtype),
        rows=2 * program.n_rows + wire.PADDING,
        cuts=(_cuts(w, forward), _cuts(w, backward)),
        places=w.places,
        alone=w.alone.spans(),
    )


def _cuts(w: Writer, table: Table) -> NDArray[np.int64]:
    """The lines of a table that read what all blocks have left."""
    if w.places == 0:
        return np.zeros(0, np.int64)
    kernels = table[:, 0] % wire.NARROW == wire.KERNEL
    return np.flatnonzero(kernels & (table[:, 1] == w.kernel("batch_spread")[1]))


def _table(parts: Iterable[Lines]) -> Table:
    """All lines below each other; as plain numbers at once, for a million lists would fill half a gigabyte."""
    flat, zeros = array("q"), [0] * wire.FIELDS
    for lines in parts:
        for line in lines:
            flat.extend(line)
            flat.extend(zeros[len(line) :])
    return np.array(flat, np.int64).reshape(-1, wire.FIELDS)


def _backward(w: Writer, narrowed: Narrow, k: int) -> Lines:
    """The lines of an instruction's backward pass; none if its results get no gradient."""
    i = w.program.instructions[k]
    lines: Lines = []
    if w.wants(i.dst):
        assert w.written.issuperset(range(i.dst, i.dst + i.count))  # else it would read what nobody has written
        lines = narrowed.backward(w, k, BACKWARD[i.kind](w, i))
    w.adjoint.done(i)
    return lines


def op_forward(w: Writer, i: Instruction) -> Lines:
    """Lines of an operation of the table."""
    address = w.rows(i.op)["forward"]
    if i.count == 1:  # a graph that was typed has many of these, and an array for each would take most of the time
        a, b, c = _operands(i, 0)
        return [[wire.ROWS, address, a, b, c, i.dst, 0, 0, 1, 0]]
    results = np.arange(i.dst, i.dst + i.count)
    lines = []
    for start, length in runs(np.vstack([results, i.args])):
        a, b, c = _operands(i, start)
        lines.append([wire.ROWS, address, a, b, c, i.dst + start, 0, 0, length, 0])
    return lines


def op_backward(w: Writer, i: Instruction) -> Lines:
    """Lines that carry its adjoints to its operands, one after the other."""
    addresses = w.rows(i.op)
    if i.count == 1:
        return _one_backward(w, i, addresses)
    results = np.arange(i.dst, i.dst + i.count)
    lines = []
    for k, rows in enumerate(i.args):
        kernel = f"backward_{k}"
        if kernel not in addresses:
            continue
        (chosen,) = np.nonzero(w.wanted(rows))
        fresh = np.array([w.first_to_write(int(rows[j])) for j in chosen], np.int64)
        # a change of the flag ends a run as a gap does: it is counted up like a row with a jump
        flags = np.arange(len(chosen)) + fresh * 2 * i.count
        targets = np.array([w.adjoint(int(rows[j])) for j in chosen], np.int64)
        for start, length in runs(np.vstack([results[chosen], i.args[:, chosen], targets, flags])):
            j = int(chosen[start])
            a, b, c = _operands(i, j)
            y, g, d = i.dst + j, w.adjoint(i.dst + j), int(targets[start])
            lines.append([wire.ROWS, addresses[kernel], a, b, c, y, g, d, length, int(fresh[start])])
    return lines


def _one_backward(w: Writer, i: Instruction, addresses: dict[str, int]) -> Lines:
    """The same of a single row."""
    operands = i.args[:, 0].tolist()
    a, b, c = _operands(i, 0)
    up = w.adjoint(i.dst)
    return [
        [wire.ROWS, addresses[f"backward_{k}"], a, b, c, i.dst, up, w.adjoint(row), 1, int(w.first_to_write(row))]
        for k, row in enumerate(operands)
        if f"backward_{k}" in addresses and w.wants(row)
    ]


def _operands(i: Instruction, start: int) -> list[int]:
    """The three operand rows of a call; a missing one is any row."""
    found: list[int] = i.args[:, start].tolist()
    return found + [found[0]] * (3 - len(found))


def param_forward(w: Writer, i: Instruction) -> Lines:
    """Lines of parameters that are rows of their own."""
    return [[*w.kernel("parameters"), i.dst, i.count, w.keep(i.weights)]]


def param_backward(w: Writer, i: Instruction) -> Lines:
    """Lines that sum their adjoints up."""
    return [[*w.kernel("parameters_back"), w.adjoint(i.dst), i.count, w.keep(i.weights)]]


Part = Callable[[Writer, Instruction], Lines]

FORWARD: dict[str, Part] = {
    "op": op_forward,
    "param": param_forward,
    "layer": layer.layer_forward,
    "conv": pictures.conv_forward,
    "max": pictures.max_forward,
    "dot": sums.dot_forward,
    "weighted": sums.weighted_forward,
    "product": sums.product_forward,
    "squares": sums.squares_forward,
    "mask": masks.mask_forward,
    "gather": tables.gather_forward,
    "batch_mean": batch.mean_forward,
}
"""How each kind of instruction is written."""

BACKWARD: dict[str, Part] = {
    "op": op_backward,
    "param": param_backward,
    "layer": layer.layer_backward,
    "conv": pictures.conv_backward,
    "max": pictures.max_backward,
    "dot": sums.dot_backward,
    "weighted": sums.weighted_backward,
    "product": sums.product_backward,
    "squares": sums.squares_backward,
    "mask": masks.mask_backward,
    "gather": tables.gather_backward,
    "batch_mean": batch.mean_backward,
}
"""And its backward pass."""
