"""Shared parts of the encoder: lists, numbers and kernels of a program, and which gradients are written.

Backward, a gradient row is free as soon as its instruction has passed it on. The row, still in the processor's
cache, is reused by the next instruction with as many results. This halves the memory of a block at best.

If one layer alone reads some weights, their gradient is complete as soon as its instruction has run (`alone`).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ....tape import Instruction, Program
from .. import wire

FEWEST = 16
"""Results of an instruction whose adjoints may move: fewer gain nothing, and neighbours remain neighbours."""

_LISTED = ("conv", "max")
"""Kinds whose kernels find all gradients of their operands at a fixed distance from the values."""


class AdjointRows:
    """The gradient rows: row r has ``n_rows + r`` unless it moved; `fixed` rows never move."""

    def __init__(self, program: Program, fixed: Iterable[int]) -> None:
        self._height = program.n_rows
        owner = np.full(program.n_rows, -1, np.int64)
        for i in program.instructions:
            if i.count >= FEWEST and i.kind not in _LISTED:
                owner[i.dst : i.dst + i.count] = i.dst
        kept = [np.array(list(fixed), np.int64)]
        kept += [i.args.ravel() for i in program.instructions if i.kind in _LISTED]
        owner[np.isin(owner, owner[np.concatenate(kept)])] = -1
        self._owner: list[int] = owner.tolist()
        """The first result of the row's instruction; -1 if the gradient row cannot move."""
        self._counts = {i.dst: i.count for i in program.instructions}
        self._moved: dict[int, int] = {}
        self._free: dict[int, list[int]] = {}

    def __call__(self, row: int) -> int:
        """Return the workspace row with the gradient of program row `row`."""
        owner = self._owner[row]
        if owner < 0:
            return self._height + row
        if owner not in self._moved:
            free = self._free.get(self._counts[owner])
            self._moved[owner] = free.pop() if free else self._height + owner
        return self._moved[owner] + row - owner

    def free(self, instruction: Instruction) -> None:
        """Free the gradient rows of an instruction's results."""
        if instruction.dst in self._moved:
            self._free.setdefault(instruction.count, []).append(self._moved[instruction.dst])


LEAST = 4096
"""From this many weights of a layer on, it pays that their gradients do not go through memory."""


class SoleReaders:
    """The layers that alone read their weights: kernels hand their gradients over directly (``compiled/taken``)."""

    def __init__(self, program: Program) -> None:
        self._spans: list[tuple[int, int]] = []
        self._shared = np.zeros(program.n_theta if _any_wide(program) else 0, np.bool_)
        if len(self._shared):
            self._mark(program)

    def _mark(self, program: Program) -> None:
        seen = np.zeros_like(self._shared)
        for i in program.instructions:
            if i.kind == "layer":
                span = slice(*_span(i))
                self._shared[span] |= seen[span]
                seen[span] = True
                if i.bias >= 0:
                    self._shared[i.bias : i.bias + i.count] = True
            else:
                self._shared[_read(i)] = True

    def claim(self, i: Instruction) -> bool:
        """Return whether a layer is one of them; marks its instruction as the owner of their gradients."""
        start, end = _span(i)
        if len(self._shared) == 0 or end - start < LEAST or self._shared[start:end].any():
            return False
        self._spans.append((start, end))
        return True

    def spans(self) -> NDArray[np.int64]:
        """Start and end of the weights of each, in order, shape (2 * layers,)."""
        return np.array(sorted(self._spans), np.int64).ravel()


def _any_wide(program: Program) -> bool:
    return any(i.kind == "layer" and i.count * i.args.shape[1] >= LEAST for i in program.instructions)


def _span(i: Instruction) -> tuple[int, int]:
    """Start and end of the weights of a layer."""
    first = int(i.weights[0])
    return first, first + i.count * i.args.shape[1]


def _read(i: Instruction) -> NDArray[np.int64]:
    """Return the weights that any other instruction reads."""
    weights = i.weights
    if i.kind == "conv":
        weights = (weights[:, None] + np.arange(i.args.shape[1])).ravel()
    elif i.table is not None:
        weights = (weights[:, None] + np.arange(i.table.rows) * i.table.step).ravel()
    biases = np.arange(i.bias, i.bias + (len(i.weights) if i.kind == "conv" else 1)) if i.bias >= 0 else weights[:0]
    return np.concatenate([weights, biases])


Rows = Callable[[str], dict[str, int]]
Lines = list[list[int]]
"""Lines of the table."""


def runs(columns: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return spans ``(start, length)`` of the columns in which every row counts up by one."""
    if columns.shape[1] == 0:
        return []
    breaks = np.flatnonzero((np.diff(columns, axis=1) != 1).any(axis=0)) + 1
    edges = [0, *breaks.tolist(), columns.shape[1]]
    return [(a, b - a) for a, b in pairwise(edges)]


@dataclass(frozen=True, slots=True)
class LaneLayout:
    """The lanes for which a program is encoded."""

    lanes: int  # numbers of a vector if rows are single numbers (`can_be_compact` must allow it), else 0
    few: bool  # a row is never longer than one vector
    samples: int  # lanes of a row, if they are 2 to 16, else 0
    narrow: bool  # rows that are equal on all lanes are computed on one lane


@dataclass
class Writer:
    """A program that is being encoded; `rows` and `kernel_address` look up kernels by name."""

    program: Program
    rows: Rows
    kernel_address: Callable[[str], int]
    layout: LaneLayout
    adjoint: AdjointRows
    written: set[int]  # rows whose adjoints have been written
    sole_readers: SoleReaders
    pool: array[int] = field(default_factory=lambda: array("q"))
    numbers: list[float] = field(default_factory=list)
    places: int = 0  # used sums that blocks leave for means over the batch
    _wanted: list[bool] = field(init=False)

    def __post_init__(self) -> None:
        self._wanted = self.program.needs_gradient.tolist()

    @property
    def ones(self) -> int:
        """The row of ones."""
        return 2 * self.program.n_rows + 1

    def keep(self, entries: Sequence[int] | NDArray[np.int64]) -> int:
        """Put a list into the pool; return its offset."""
        self.pool.extend(entries.tolist() if isinstance(entries, np.ndarray) else entries)
        return len(self.pool) - len(entries)

    def number(self, *values: float) -> int:
        """Put coefficients among the numbers; return the first one's place."""
        self.numbers += [float(v) for v in values]
        return len(self.numbers) - len(values)

    def kernel(self, name: str) -> tuple[int, int]:
        """Return kind and address of a kernel, the first columns of its line."""
        one = self.layout.lanes and name in wire.ONE
        return wire.KERNEL, self.kernel_address(f"{name}_one" if one else name)

    def need_gradients(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which rows want a gradient."""
        return self.program.needs_gradient[rows]

    def needs_gradient(self, row: int) -> bool:
        """Return whether one row wants a gradient."""
        return self._wanted[row]

    def zeros(self, rows: Sequence[int]) -> Lines:
        """Zero the gradient rows that an instruction reads or adds to before any instruction wrote them."""
        self.written.update(rows)
        ordered = np.array(sorted(self.adjoint(row) for row in rows), np.int64)[None]
        return [[*self.kernel("zero"), int(ordered[0, start]), length] for start, length in runs(ordered)]

    def adding(self, rows: Sequence[int]) -> tuple[Lines, bool]:
        """Prepare a kernel that stores all these gradients or adds to all; return whether it adds."""
        fresh = [row for row in rows if row not in self.written]
        adding = len(fresh) < len(rows)
        lines = self.zeros(fresh) if adding else []
        self.written.update(fresh)
        return lines, adding

    def first_to_write(self, row: int) -> bool:
        """Return whether this gradient is fresh; marks it as written."""
        fresh = row not in self.written
        self.written.add(row)
        return fresh

    def targets(self, rows: NDArray[np.int64]) -> tuple[list[int], list[int]]:
        """Return gradient rows (-1: no gradient) and whether each is fresh."""
        asked = list(zip(rows.tolist(), self.need_gradients(rows).tolist(), strict=True))
        adjoints = [self.adjoint(row) if wanted else -1 for row, wanted in asked]
        fresh = [int(wanted and self.first_to_write(row)) for row, wanted in asked]
        return adjoints, fresh
