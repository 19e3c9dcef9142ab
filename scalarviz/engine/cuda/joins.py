"""Operations that the kernel of a neighbour does: that of the layer they follow, or of the one that they feed.

An operation on the results of a layer costs a launch, and its numbers two or three ways through memory; a tile has them
in registers. It can be joined where each of its results is made of one row, the other operands being numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...scalar import ops
from ...tape import Instruction, Program
from .source.joined import derivative_names, tells_by_result

MANY = -2


@dataclass(frozen=True)
class Join:
    """An operation that can be joined.

    Attributes
    ----------
    index : int
        Of the operation in the program.
    op : str
    operand : int
        Which of its operands is no number.
    numbers : (float, float)
        The other operands; 0 where there is none.
    """

    index: int
    op: str
    operand: int
    numbers: tuple[float, float]

    @property
    def name(self) -> str:
        """In the name of a kernel."""
        return f"{self.op}.{self.operand}"

    @property
    def by_result(self) -> bool:
        """Whether the derivative can do without the operand, for the result."""
        return tells_by_result(ops.get(self.op), self.operand, self.numbers)


@dataclass
class Joins:
    """Who does what for whom; all are places in the program.

    Attributes
    ----------
    behind : dict of int to Join
        The operation on all results of an instruction, which nothing else reads.
    kept : dict of int to bool
        Whether the results of an instruction with one behind it have to be stored: the derivative is made of them.
    before : dict of int to Join
        The operation that makes all those operands of an instruction that get a gradient, for nothing else.
    """

    behind: dict[int, Join] = field(default_factory=dict)
    kept: dict[int, bool] = field(default_factory=dict)
    before: dict[int, Join] = field(default_factory=dict)


def find_joins(program: Program, seeds: tuple[int, ...]) -> Joins:
    """What can be joined to the layers and convolutions of a program.

    Parameters
    ----------
    program : Program
    seeds : tuple of int
        Rows whose adjoints are given; empty for forward only.
    """
    found, needs, reader = Joins(), program.needs_gradient, _readers(program)
    reader[[*program.outputs, *seeds, *(track.row for track in program.tracks if track.row >= 0)]] = MANY
    numbers = dict(zip(program.constant_rows.tolist(), program.constants.tolist(), strict=True))
    joins = {o: join for o, i in enumerate(program.instructions) if (join := _join(o, i, numbers)) is not None}
    maker = np.full(program.n_rows, -1, np.int64)
    for o in joins:
        made = program.instructions[o]
        maker[made.dst : made.dst + made.count] = o
    for index, i in enumerate(program.instructions):
        if i.kind not in ("layer", "conv"):
            continue
        rows = np.arange(i.dst, i.dst + i.count)
        join = joins.get(_same(reader[rows]))
        if join is not None and np.array_equal(program.instructions[join.index].args[join.operand], rows):
            found.behind[index] = join
            name = ops.get(join.op).args[join.operand]
            used = name in derivative_names(ops.get(join.op), join.operand)
            found.kept[index] = used and bool(seeds) and bool(needs[i.dst])
        wanted = i.args[needs[i.args]]
        join = joins.get(_same(maker[wanted]))
        if join is not None and (reader[wanted] == index).all():
            operands = program.instructions[join.index].args[join.operand]
            if len(np.unique(operands)) == len(operands):
                found.before[index] = join
    return found


def _same(numbers: NDArray[np.int64]) -> int:
    """The number that they all are; -1 if they are not one."""
    return int(numbers[0]) if len(numbers) and (numbers == numbers[0]).all() else -1


def _readers(program: Program) -> NDArray[np.int64]:
    """The only instruction that reads a row; -1 for none."""
    reader = np.full(program.n_rows, -1, np.int64)
    for index, i in enumerate(program.instructions):
        rows = np.unique(i.args)
        reader[rows] = np.where(reader[rows] == -1, index, MANY)
    return reader


def _join(index: int, i: Instruction, numbers: dict[int, float]) -> Join | None:
    """An operation of which one operand is no number; None if it is none."""
    if i.kind != "op":
        return None
    fixed = [{numbers.get(row) for row in rows.tolist()} for rows in i.args]
    rest = [k for k, found in enumerate(fixed) if len(found) > 1 or None in found]
    if len(rest) != 1 or ops.get(i.op).partials[rest[0]] is None:
        return None
    others = [number for k, (number, *_) in enumerate(fixed) if k != rest[0] and number is not None]
    one, two = [*others, 0.0, 0.0][:2]
    return Join(index, i.op, rest[0], (one, two))
