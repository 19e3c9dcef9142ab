"""Rows that are the same on all lanes, in programs that take means over the batch: computed on one lane.

What is made of means and parameters alone (``weight / sqrt(variance + eps)``) is one number, not one a sample. Where
nothing else reads such a row only its first lane is ever looked at; the others are *widened* for whoever reads them,
and what comes down to these is *folded* into the first lane, from where the backward pass goes on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....tape import Instruction, Program
from .. import wire
from .writer import Lines, Writer

_MADE = ("op", "dot", "weighted", "product")
_SOURCES = ("param", "batch_mean")


class Narrow:
    """Which instructions of a program are done on one lane.

    Parameters
    ----------
    program : Program
    asked : bool
        False: none.
    """

    def __init__(self, program: Program, asked: bool) -> None:
        self._program = program
        self._made = _uniform(program) if asked else set[int]()
        self._wide = np.ones(program.n_rows, np.bool_)
        if self._made:
            self._settle()

    def _settle(self) -> None:
        """Leave out what reads a row that others read on all lanes: its adjoint could not be both."""
        program, found = self._program, len(self._made) + 1
        needs = program.needs_gradient
        while len(self._made) < found:
            found = len(self._made)
            self._wide = self._read_wide()
            for k in sorted(self._made):
                i = program.instructions[k]
                if needs[i.dst] and (self._wide[i.args] & needs[i.args]).any():
                    self._made.discard(k)

    def _read_wide(self) -> NDArray[np.bool_]:
        """The rows that somebody reads on all lanes, or whose adjoints are read there."""
        program = self._program
        wide = np.zeros(program.n_rows, np.bool_)
        wide[program.outputs] = True
        if program.loss >= 0:
            wide[program.loss] = True
        for k, i in enumerate(program.instructions):
            if k not in self._made:
                wide[i.args] = True
                wide[i.dst : i.dst + i.count] |= i.kind not in _SOURCES
        for i in program.instructions:
            if i.kind in _SOURCES:
                rows = slice(i.dst, i.dst + i.count)
                wide[rows] = wide[rows].any()
        return wide

    def forward(self, w: Writer, k: int, lines: Lines) -> Lines:
        """The lines of instruction `k`, those on one lane marked, and what widens its rows."""
        i = self._program.instructions[k]
        if k in self._made:
            return [*map(_marked, lines), *self._lines(w, "widen", self._rows(i))]
        if i.kind == "param" and not self._wide[i.dst]:
            return [_marked(line) for line in lines]
        if i.kind == "batch_mean" and not self._wide[i.dst]:
            return [lines[0], _marked(lines[1])]
        return lines

    def backward(self, w: Writer, k: int, lines: Lines) -> Lines:
        """The same of its backward pass, behind what folds the adjoints of its rows."""
        i = self._program.instructions[k]
        if not lines:
            return lines
        if k in self._made:
            return [*self._lines(w, "fold", [w.adjoint(row) for row in self._rows(i)]), *map(_marked, lines)]
        if i.kind == "param" and not self._wide[i.dst]:
            return [_marked(line) for line in lines]
        if i.kind == "batch_mean" and not self._wide[i.dst]:
            return [_marked(lines[0]), lines[1]]
        return lines

    def _rows(self, i: Instruction) -> list[int]:
        return [row for row in range(i.dst, i.dst + i.count) if self._wide[row]]

    def _lines(self, w: Writer, kernel: str, rows: list[int]) -> Lines:
        return [[*w.kernel(kernel), w.keep(rows), len(rows)]] if rows else []


def _marked(line: list[int]) -> list[int]:
    return [line[0] + wire.NARROW, *line[1:]]


def _uniform(program: Program) -> set[int]:
    """The instructions whose results are the same on all lanes, but for those that read nothing."""
    uniform, found = np.zeros(program.n_rows, np.bool_), set()
    uniform[program.constant_rows] = True
    for k, i in enumerate(program.instructions):
        made = i.kind in _MADE and i.args.size > 0 and bool(uniform[i.args].all())
        if made:
            found.add(k)
        if made or i.kind in _SOURCES:
            uniform[i.dst : i.dst + i.count] = True
    return found
