"""`Places`: of which stage a row of a lowered model is, and which of its outputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...tape import Instruction, Program

Rows = NDArray[np.int64]
INPUT, LOSS = "input", "loss"
INSIDE = -1
"""In the place of a unit: a row on the way to the stage's outputs."""


@dataclass(frozen=True, slots=True)
class Place:
    """Rows of one stage.

    Attributes
    ----------
    stage : str
        Its name, ``"input"`` for the sample (and what is made of it alone), ``"loss"`` for what follows the outputs.
    units : tuple of int
        Which of its outputs each row is, -1 for a row inside the stage.
    """

    stage: str
    units: tuple[int, ...]


class Places:
    """Looks rows up.

    Parameters
    ----------
    program : Program
    stages : mapping of str to ndarray
        The rows that each stage is, in the order of the tape.
    """

    def __init__(self, program: Program, stages: Mapping[str, Rows]) -> None:
        self._names = [*stages, INPUT, LOSS]
        owner = np.full(program.n_rows, len(stages) + 1)
        unit = np.full(program.n_rows, INSIDE)
        known = np.zeros(program.n_rows, bool)
        owner[program.input_rows], unit[program.input_rows] = len(stages), program.input_index
        known[program.input_rows] = True
        reader = _Reader(program.instructions)
        for number, rows in enumerate(stages.values()):
            new = rows[~known[rows]]
            owner[new], unit[new] = number, np.flatnonzero(~known[rows])
            known[new] = True
            inside = reader.below(new.tolist(), known)
            owner[inside] = number
        self._owner, self._unit = owner, unit

    def of(self, rows: Iterable[int]) -> Place:
        """The place of `rows`: the stage that the first of them with a unit is of; others may be a border's zeros."""
        found = np.fromiter(rows, np.int64)
        units = np.flatnonzero(self._unit[found] != INSIDE)
        owner = self._owner[found]
        stage = int(owner[units[0] if len(units) else 0])
        return Place(self._names[stage], tuple(np.where(owner == stage, self._unit[found], INSIDE).tolist()))


class _Reader:
    """Which rows a row is made of."""

    def __init__(self, instructions: Sequence[Instruction]) -> None:
        self.instructions = instructions
        self.first = np.array([i.dst for i in instructions])

    def below(self, rows: list[int], known: NDArray[np.bool_]) -> list[int]:
        """The rows that `rows` are made of and that are not known yet; from now on they are."""
        found: list[int] = []
        seen: set[tuple[int, int]] = set()  # the rows of a layer share their operands
        stack = list(rows)
        while stack:
            row = stack.pop()
            number = int(np.searchsorted(self.first, row, "right")) - 1
            i = self.instructions[number] if number >= 0 else None
            if i is None or row >= i.dst + i.count:
                continue  # a constant or an input
            part, operands = _operands(i, row - i.dst)
            if (number, part) in seen:
                continue
            seen.add((number, part))
            fresh = np.unique(operands[~known[operands]])
            known[fresh] = True
            found += fresh.tolist()
            stack += fresh.tolist()
        return found


def _operands(i: Instruction, offset: int) -> tuple[int, Rows]:
    """What a result row of an instruction is made of, and which part of the instruction's operands that is."""
    if i.kind in ("op", "batch_mean"):
        return offset, i.args[:, offset]
    if i.kind in ("max", "dot", "weighted"):
        return offset, i.args[offset]
    if i.kind == "product":
        return offset, i.args[:, offset * i.terms : (offset + 1) * i.terms].ravel()
    if i.kind == "gather":
        number = offset // len(i.weights)
        return number, i.args[0, number : number + 1]
    if i.kind == "conv":
        position = offset % len(i.args)
        return position, i.args[position]
    return 0, i.args.ravel()
