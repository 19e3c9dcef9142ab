"""`Program`: the instructions that engines execute, over rows of lanes (a row is one scalar for many samples).

A sum over a span of parameters (:class:`scalarviz.scalar.sums.Total`) depends on parameters alone, so it is computed
once per step. A long sum is computed in pieces: adding a million float32 numbers one after the other leaves five
correct digits.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .tape import Node, Table, Track

Rows = NDArray[np.int64]
Kind = Literal[
    "op", "layer", "conv", "max", "dot", "weighted", "product", "squares", "param", "mask", "gather", "batch_mean"
]  # fmt: skip
"""The kinds of instructions; each engine implements all of them."""


_NO_ROWS: Rows = np.zeros(0, np.int64)
_NO_NUMBERS: NDArray[np.float64] = np.zeros(0)


@dataclass(frozen=True, slots=True)
class Instruction:
    """One kind of computation for `count` neighbouring result rows, from row `dst` on.

    ===============  ================  =============================================================================
    kind             shape of `args`   row ``dst + j``
    ===============  ================  =============================================================================
    ``op``           (arity, count)    the table operation `op` of the rows ``args[:, j]``
    ``layer``        (1, n)            sum_k theta[weights[j] + k] * row[args[0, k]] (+ theta[bias + j])
    ``conv``         (P, n)            layers that share weights: ``dst + j*P + p`` = sum_k theta[weights[j] + k] *
                                       row[args[p, k]] (+ theta[bias + j])
    ``max``          (count, n)        the largest of the rows ``args[j]``; the first of equal ones gets the gradient
    ``dot``          (count, n)        sum_k theta[weights[j*n + k]] * row[args[j, k]] (+ theta[bias]) + offset
    ``weighted``     (count, n)        sum_k numbers[k] * row[args[j, k]] (+ theta[bias]) + offset
    ``product``      (2, count * n)    sum_k row[args[0, j*n + k]] * row[args[1, j*n + k]] (+ theta[bias]) + offset
    ``squares``      (2, n)            numbers[0] * sum_k (row[args[0, k]] - row[args[1, k]])**2, one row
    ``param``        (0, 0)            theta[weights[j]] on every lane
    ``mask``         (0, 0)            0 with probability numbers[0], else ``1 / (1 - numbers[0])``: the dropout mask
                                       of unit ``units[j]`` of module call `call`, new for every step and sample
    ``gather``       (1, P)            ``dst + p*D + j`` = theta[weights[j] + k * table.step], k the number in row
                                       args[0, p], D = len(weights); a k outside 0 .. table.rows - 1 gives NaN and no
                                       gradient
    ``batch_mean``   (1, count)        the mean of row args[0, j] over the batch, on every lane; each lane of the
                                       operand gets the mean of the gradients of all lanes
    ===============  ================  =============================================================================

    `bias` is an index into theta, or -1.
    """

    kind: Kind
    dst: int
    count: int
    args: Rows
    op: str = ""
    weights: Rows = field(default_factory=lambda: _NO_ROWS)
    numbers: NDArray[np.float64] = field(default_factory=lambda: _NO_NUMBERS)
    bias: int = -1
    offset: float = 0.0
    call: int = 0
    units: Rows = field(default_factory=lambda: np.zeros(0, np.int64))
    table: Table | None = None

    @property
    def terms(self) -> int:
        """The number of operands of each row of ``dot``, ``weighted`` or ``product``."""
        n: int = self.args.shape[1]
        return n // self.count if self.kind == "product" else n


@dataclass(frozen=True, slots=True)
class Program:
    """A tape lowered to instructions, in forward order."""

    n_rows: int
    n_theta: int  # length of the parameter vector, derived parameters included
    instructions: tuple[Instruction, ...]
    # row `input_rows[i]` gets number `input_index[i]` of the sample (inputs, targets, features)
    input_rows: Rows
    input_index: Rows
    constant_rows: Rows
    constants: NDArray[np.float64]
    outputs: Rows
    loss: int  # the row of the loss of one sample; -1: none
    taps: tuple[tuple[Any, Rows], ...]
    # for each row: whether the loss (or, without one, the outputs) depends on it, and it on a parameter, both through
    # operands that have a derivative. All rows of one instruction agree. Every engine follows this
    needs_gradient: NDArray[np.bool_]
    tracks: tuple[Track, ...] = ()
    fewest: int = 1  # the least samples of a batch

    @property
    def couples(self) -> bool:
        """True if a sample's numbers depend on the rest of its batch, so that the whole batch must run together."""
        return any(i.kind == "batch_mean" for i in self.instructions)

    @property
    def has_masks(self) -> bool:
        """True if it has dropout masks, which depend on the step and on a sample's place in the batch."""
        return any(i.kind == "mask" for i in self.instructions)

    def __str__(self) -> str:
        title = f"Program: {self.n_rows} rows, {len(self.instructions)} instructions"
        return "\n  ".join([title, *map(_line, self.instructions)])


_LINES = {
    "layer": "LAYER {n} -> {i.count}{bias}",
    "conv": "CONV {n} -> {outputs} at {i.args.shape[0]} positions{bias}",
    "max": "POOL max of {n}, {i.count} rows",
    "squares": "LOSS squared error of {n}",
    "mask": "MASK of {i.count}, p {i.numbers[0]:g}",
    "batch_mean": "BATCH mean of {i.count} row{s}",
    "op": "{i.op} on {i.count} row{s}",
    "param": "PARAM param of {most}",
    "gather": "GATHER gather of {most}",
}
"""The printed form of each kind; all other kinds are sums."""
_SUM = "DOT {i.kind} of {i.terms}{rows}"


def _line(i: Instruction) -> str:
    n, several = i.args.shape[-1], i.count > 1
    return _LINES.get(i.kind, _SUM).format(
        i=i, n=n, outputs=len(i.weights), most=max(n, i.count), s="s" if several else "",
        bias=" with bias" if i.bias >= 0 else "", rows=f", {i.count} rows" if several else "",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole model, split by how often each part must run."""

    n_parameters: int  # length of theta; the derived parameters follow
    n_derived: int
    n_inputs: int
    n_targets: int
    n_features: int  # numbers that `encode` adds to a sample
    prologue: Program | None  # nodes of parameters only (`w1 * w2`): once per step, on one lane; derived parameters
    encode: Program | None  # nodes of inputs only (frequency encodings): once per data set; features
    body: Program  # everything else, on every lane

    def __str__(self) -> str:
        parts = [("prologue", self.prologue), ("encode", self.encode), ("body", self.body)]
        return "\n".join(f"{name}: {program}" for name, program in parts if program is not None)


CODES = {"total identity": "", "total square": "square", "total abs": "abs"}
"""Codes of totals over `number` parameters from `index` on, and the operation on each."""

PIECE = 1024
"""Terms of one piece of a long sum."""

_NONE = np.zeros((0, 0), np.int64)


def in_front(nodes: Iterable[Node], gets: Iterable[bool]) -> tuple[list[Instruction], list[bool]]:
    """Return the instructions of all totals, and flags for those of their rows that get a gradient.

    Their rows come before those of the nodes, whose instructions must be shifted by their number (see `shifted`).
    """
    wanted = [(row, node, flag) for row, (node, flag) in enumerate(zip(nodes, gets, strict=True)) if node.code in CODES]
    before = sum(_rows_of(node) for _, node, _ in wanted)
    made: list[Instruction] = []
    flags: list[bool] = []
    for row, node, flag in wanted:
        made += _total(node, before + row, len(flags))
        flags += [flag] * _rows_of(node)
    return made, flags


def _rows_of(node: Node) -> int:
    n = int(node.number)
    return n + (n if CODES[node.code] == "abs" else 0) + (_pieces(n) if n > PIECE else 0)


def _pieces(n: int) -> int:
    return -(-n // PIECE)


def _total(node: Node, result: int, first: int) -> list[Instruction]:
    """Return the instructions of one total: its parameters as rows, the operation on each, and the sum."""
    n, op = int(node.number), CODES[node.code]
    rows = np.arange(first, first + n)
    made = [Instruction("param", first, n, _NONE, weights=np.arange(node.index, node.index + n))]
    if op == "abs":
        made.append(Instruction("op", first + n, n, rows[None], op="abs"))
        rows = rows + n
    if n <= PIECE:
        return [*made, _sum(op, node.index, rows, result)]
    sums = int(rows[-1]) + 1 + np.arange(_pieces(n))
    for k, piece in enumerate(sums.tolist()):
        part = slice(k * PIECE, min((k + 1) * PIECE, n))
        made.append(_sum(op, node.index + part.start, rows[part], piece))
    return [*made, _sum("", 0, sums, result)]


def _sum(op: str, weight: int, rows: Rows, dst: int) -> Instruction:
    """Return the instruction of ``sum(rows)``, or for squares ``sum(theta * rows)`` over parameter rows."""
    if op == "square":
        return Instruction("layer", dst, 1, rows[None], weights=np.array([weight]))
    return Instruction("weighted", dst, 1, rows[None], numbers=np.ones(len(rows)))


def shifted(instruction: Instruction, by: int) -> Instruction:
    """Return the instruction with all its rows moved."""
    return replace(instruction, dst=instruction.dst + by, args=instruction.args + by)
