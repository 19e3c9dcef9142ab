"""Where the adjoints of a program's rows lie in the workspace.

Backward, an adjoint is done with as soon as its own instruction has passed it on. Its rows are still in the cache
then, so they are given to the next instruction whose results are as many: what a block of lanes touches shrinks by up
to a half.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ....tape import Instruction, Program

FEWEST = 16
"""Results of an instruction whose adjoints may move: fewer gain nothing, and neighbours remain neighbours."""

_LISTED = ("conv", "max")
"""Kinds whose kernels find the adjoints of all their operands by the distance from the values."""


class AdjointRows:
    """The rows of the adjoints, ``n_rows`` to ``2 * n_rows``: those of row r at ``n_rows + r`` unless they moved.

    Parameters
    ----------
    program : Program
    fixed : iterable of int
        Rows whose adjoints somebody else writes: they do not move.
    """

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
        """The first result of the instruction that a row is a result of; -1: it does not move."""
        self._counts = {i.dst: i.count for i in program.instructions}
        self._moved: dict[int, int] = {}
        self._free: dict[int, list[int]] = {}

    def __call__(self, row: int) -> int:
        """Row of the workspace that holds the adjoint of program row `row`."""
        owner = self._owner[row]
        if owner < 0:
            return self._height + row
        if owner not in self._moved:
            free = self._free.get(self._counts[owner])
            self._moved[owner] = free.pop() if free else self._height + owner
        return self._moved[owner] + row - owner

    def done(self, instruction: Instruction) -> None:
        """Nobody reads the adjoints of an instruction's results any more."""
        if instruction.dst in self._moved:
            self._free.setdefault(instruction.count, []).append(self._moved[instruction.dst])
