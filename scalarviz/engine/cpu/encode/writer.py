"""What every part of the encoder needs: lists, numbers and kernels of a program, and who wrote which adjoint."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ....tape import Program
from .. import wire
from .adjoints import AdjointRows
from .alone import Alone

Rows = Callable[[str], dict[str, int]]
Lines = list[list[int]]
"""Lines of the table."""


def runs(columns: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Spans ``(start, length)`` of the columns in which every row counts up by one."""
    if columns.shape[1] == 0:
        return []
    breaks = np.flatnonzero((np.diff(columns, axis=1) != 1).any(axis=0)) + 1
    edges = [0, *breaks.tolist(), columns.shape[1]]
    return [(a, b - a) for a, b in pairwise(edges)]


@dataclass
class Writer:
    """A program while it is encoded.

    Attributes
    ----------
    program : Program
    rows : callable
        The name of an operation to the addresses of its row kernels.
    kernel_address : callable
        The name of another kernel to its address.
    lanes : int
        Numbers of a vector where rows are single numbers, else 0.
    few : bool
        A row is never longer than one vector.
    samples : int
        Lanes of a row, where they are 2 to 16, else 0.
    pool, numbers : array of int64, list of float
        What lines refer to: lists, coefficients.
    written : set of int
        Rows whose adjoints have been written.
    adjoint : AdjointRows
        Where they lie.
    alone : Alone
        Weights whose gradients one instruction alone has.
    places : int
        Of the sums that blocks leave for means over the batch: how many are taken.
    """

    program: Program
    rows: Rows
    kernel_address: Callable[[str], int]
    lanes: int
    few: bool
    samples: int
    adjoint: AdjointRows
    written: set[int]
    alone: Alone
    pool: array[int] = field(default_factory=lambda: array("q"))
    numbers: list[float] = field(default_factory=list)
    places: int = 0
    _wanted: list[bool] = field(init=False)

    def __post_init__(self) -> None:
        self._wanted = self.program.needs_gradient.tolist()

    def keep(self, entries: Sequence[int] | NDArray[np.int64]) -> int:
        """Put a list into the pool; returns its offset."""
        self.pool.extend(entries.tolist() if isinstance(entries, np.ndarray) else [int(e) for e in entries])
        return len(self.pool) - len(entries)

    def number(self, *values: float) -> int:
        """Put coefficients among the numbers; returns the first one's place."""
        self.numbers += [float(v) for v in values]
        return len(self.numbers) - len(values)

    def kernel(self, name: str) -> tuple[int, int]:
        """Kind and address of a kernel, the first columns of its line."""
        one = self.lanes and name in wire.ONE
        return wire.KERNEL, self.kernel_address(f"{name}_one" if one else name)

    def tiles(self, name: str, fields: Iterable[list[int]]) -> Lines:
        """Lines of a kernel for rows of one vector; none where rows are longer."""
        return [[*self.kernel(name), *line] for line in fields] if self.few else []

    def wanted(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which rows want a gradient."""
        return self.program.needs_gradient[rows]

    def wants(self, row: int) -> bool:
        """Whether one row wants a gradient."""
        return self._wanted[row]

    def zeros(self, rows: Sequence[int]) -> Lines:
        """Store zero in adjoints that an instruction reads or adds to although nobody wrote them."""
        self.written.update(rows)
        ordered = np.array(sorted(self.adjoint(row) for row in rows), np.int64)[None]
        return [[*self.kernel("zero"), int(ordered[0, start]), length] for start, length in runs(ordered)]

    def adding(self, rows: Sequence[int]) -> tuple[Lines, bool]:
        """Before a kernel that stores all these adjoints or adds to all: what it needs, and whether it adds."""
        fresh = [row for row in rows if row not in self.written]
        adding = len(fresh) < len(rows)
        lines = self.zeros(fresh) if adding else []
        self.written.update(fresh)
        return lines, adding

    def first_to_write(self, row: int) -> bool:
        """Whether nobody wrote this adjoint; from now on somebody has."""
        fresh = row not in self.written
        self.written.add(row)
        return fresh

    def targets(self, rows: NDArray[np.int64]) -> tuple[list[int], list[int]]:
        """Adjoint rows (-1: none wanted) and whether each is fresh."""
        asked = list(zip(rows.tolist(), self.wanted(rows).tolist(), strict=True))
        adjoints = [self.adjoint(row) if wanted else -1 for row, wanted in asked]
        fresh = [int(wanted and self.first_to_write(row)) for row, wanted in asked]
        return adjoints, fresh
