"""A program as a table of numbers that a kernel walks along: a line a call of a kernel of the plain form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....tape import Program
from ..encode import Call, Encoded
from .text import whole_numbers

WIDTH = 12
"""Numbers of a line: which kind, whether it waits until all threads are through the lines before, and what the kernel
is given."""


TABLE_WIDTH = 7
"""Numbers of a line of the tables that are read by number: those of ``calls.Scatter``."""


@dataclass(frozen=True)
class Line:
    """A call, and the rows that it reads and writes: of values forward, of adjoints backward."""

    call: Call
    reads: frozenset[int]
    writes: frozenset[int]


def plain_lines(program: Program, encoded: Encoded) -> tuple[list[Line], list[Line]]:
    """The calls of a program that is encoded in the plain form, forward and backward."""
    by_row = {i.dst: i for i in program.instructions}
    forward, backward = [], []
    for call in encoded.forward:
        i = by_row[given(call)["dst"]]
        forward.append(Line(call, _rows(i.args.ravel()), _rows(range(i.dst, i.dst + i.count))))
    for call in encoded.backward:
        numbers = given(call)
        i, at = by_row[numbers["dst"]], numbers["at"]
        targets = (-1 - row if row < 0 else row for row in encoded.pool[at : at + numbers["targets"]])
        backward.append(Line(call, _rows(range(i.dst, i.dst + i.count)), _rows(targets)))
    return forward, backward


def given(call: Call) -> dict[str, int]:
    """The whole numbers of a call by the names of the kernel's parameters."""
    found = [int(number) for number in call.arguments if not isinstance(number, str)]
    return dict(zip(whole_numbers(call.kernel), found, strict=True))


def _rows(rows: Iterable[int]) -> frozenset[int]:
    return frozenset(int(row) for row in rows)


def kinds_of(*ways: Sequence[Line]) -> tuple[str, ...]:
    """Names of the kernels that occur; a line names one by its place here."""
    return tuple(sorted({line.call.kernel for lines in ways for line in lines}))


def numbered(
    lines: Sequence[Line], kinds: tuple[str, ...], written: Iterable[int] = ()
) -> NDArray[np.int32]:  # fmt: skip
    """The lines, shape (lines, WIDTH); some rows are `written` and the threads have not met since."""
    found = np.zeros((len(lines), WIDTH), np.int32)
    for row, line, waits in zip(found, lines, _waits(lines, written), strict=True):
        numbers = [number for number in line.call.arguments if not isinstance(number, str)]
        row[0], row[1] = kinds.index(line.call.kernel), waits
        row[2 : 2 + len(numbers)] = numbers
    return found


def _waits(lines: Sequence[Line], before: Iterable[int]) -> list[bool]:
    """Whether a line uses what was written, or writes what was read, since all threads met last."""
    read, written = set[int](), {int(row) for row in before}
    found = []
    for line in lines:
        waits = not written.isdisjoint(line.reads | line.writes) or not read.isdisjoint(line.writes)
        if waits:
            read, written = set(), set()
        read |= line.reads
        written |= line.writes
        found.append(waits)
    return found
