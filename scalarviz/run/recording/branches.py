"""The branches of a recording with their edits, named moments and curves, as a picture of the past shows them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import FileFormatError, ScalarvizError, StateError
from ..edits import Applied, Call, Edit, read_edit
from ..frame import NO_CURVE, Curve
from ..past import Branch, Flag, Past
from .schema import DAMAGED, LONGEST_EDIT, LONGEST_NAME, clean

MOST_BRANCHES = 100_000
MOST_EDITS = 1_000_000


@dataclass
class Twig:
    """One branch as the file has it.

    Attributes
    ----------
    number, parent, first, before, why
        See :class:`~scalarviz.run.timeline.line.Line`.
    edits : dict of int to Applied
        By their places among those of the way here.
    flags : dict of int to str
    curve : Curve
        Its own steps.
    """

    number: int
    parent: int | None
    first: int
    before: int
    why: str
    edits: dict[int, Applied] = field(default_factory=dict)
    flags: dict[int, str] = field(default_factory=dict)
    curve: Curve = NO_CURVE
    newest: int = 0


class Branches:
    """All of them.

    Parameters
    ----------
    database : sqlite3.Connection

    Attributes
    ----------
    twigs : dict of int to Twig
    broken : str
        Why not all could be read; empty where all could.
    """

    def __init__(self, database: sqlite3.Connection) -> None:
        self.twigs: dict[int, Twig] = {}
        self.broken = ""
        self._read_twigs(database)
        for read in (self._read_edits, self._read_flags, self._read_curves):
            try:
                read(database)
            except DAMAGED as error:
                self.broken = str(error)

    def _read_twigs(self, database: sqlite3.Connection) -> None:
        rows = database.execute(
            "SELECT number, parent, first, before, why FROM branch ORDER BY number LIMIT ?", (MOST_BRANCHES,)
        )
        for number, parent, first, before, why in rows:
            known = parent is None or parent in self.twigs  # which are older: no circle is possible
            if not known or not all(_whole(x) for x in (number, first, before)) or not isinstance(why, str):
                raise FileFormatError("a branch in it leaves one that there is not")
            self.twigs[number] = Twig(number, parent, first, before, clean(why), newest=first)

    def _read_edits(self, database: sqlite3.Connection) -> None:
        rows = database.execute(
            "SELECT branch, number, step, what, gesture, CASE WHEN length(written) <= ? THEN written END FROM edit "
            "WHERE length(what) <= ? ORDER BY branch, number LIMIT ?", (LONGEST_EDIT, LONGEST_EDIT, MOST_EDITS),
        )  # fmt: skip
        for branch, number, step, what, gesture, written in rows:
            if branch in self.twigs and _whole(number) and _whole(step) and isinstance(what, str):
                self.twigs[branch].edits[number] = _applied(step, clean(what), gesture, written)

    def _read_flags(self, database: sqlite3.Connection) -> None:
        for branch, step, name in database.execute("SELECT branch, step, name FROM flag LIMIT ?", (MOST_EDITS,)):
            if branch in self.twigs and _whole(step) and isinstance(name, str):
                self.twigs[branch].flags[step] = clean(name, LONGEST_NAME)

    def _read_curves(self, database: sqlite3.Connection) -> None:
        found: dict[int, list[Curve]] = {}
        try:
            for branch, count, *blobs in database.execute(
                "SELECT branch, count, step, loss, lr FROM curve ORDER BY id"
            ):
                if branch in self.twigs and all(isinstance(b, bytes) and len(b) == 8 * count for b in blobs):
                    step, loss, lr = blobs
                    found.setdefault(branch, []).append(
                        Curve(np.frombuffer(step, "<i8"), np.frombuffer(loss, "<f8"), np.frombuffer(lr, "<f8"))
                    )
        finally:
            for branch, pieces in found.items():
                self.twigs[branch].curve = curve = _rising(pieces)
                if len(curve.step):
                    self.twigs[branch].newest = max(self.twigs[branch].newest, int(curve.step[-1]))

    # ---- the way to a branch's end

    def way(self, number: int) -> Iterator[tuple[Twig, int, int]]:
        """A branch and those that it comes from, each with the last step and edits that belong to the way."""
        twig: Twig | None = self.twigs[number]
        step, edits = 1 << 53, 1 << 53
        while twig is not None:
            yield twig, step, edits
            step, edits = min(step, twig.first), min(edits, twig.before)
            twig = None if twig.parent is None else self.twigs[twig.parent]

    def curve(self, number: int) -> Curve:
        """All steps of the way."""
        pieces = []
        for twig, last, _ in self.way(number):
            pieces.append(up_to(twig.curve, last))
        return _rising(pieces[::-1])

    def edits(self, number: int) -> tuple[Applied, ...]:
        """All edits of the way, the oldest first."""
        found: dict[int, Applied] = {}
        for twig, _, most in self.way(number):
            found |= {place: applied for place, applied in twig.edits.items() if place < most}
        return tuple(found[place] for place in sorted(found))

    def past(self, number: int, current: int, newest: Mapping[int, int]) -> Past:
        """What a picture shows of the past on a branch; `newest` says the last steps of frames."""
        twig = self.twigs[number]
        first = min(other.first for other, _, _ in self.way(number))
        flags: dict[int, str] = {}
        for other, last, _ in self.way(number):
            flags |= {step: name for step, name in other.flags.items() if step <= last}
        end = max(twig.newest, newest.get(number, 0))
        named = tuple(Flag(step, name) for step, name in sorted(flags.items()))
        return Past(first, end, self.curve(number), self.edits(number), self.all(number, newest), named)

    def all(self, number: int, newest: Mapping[int, int]) -> tuple[Branch, ...]:
        """Every branch that steps were done on, and the one of a number, which is said to be that of now."""
        found = []
        for twig in self.twigs.values():
            end = max(twig.newest, newest.get(twig.number, 0))
            if twig.number == number or end > twig.first:
                own = tuple(twig.edits[place] for place in sorted(twig.edits))
                found.append(Branch(twig.number, twig.parent, twig.first, end, twig.curve, own,
                                    twig.number == number, twig.why))  # fmt: skip
        return tuple(found)


def up_to(curve: Curve, step: int) -> Curve:
    """The steps of a curve up to one of them."""
    end = int(np.searchsorted(curve.step, step, "right"))
    return Curve(curve.step[:end], curve.loss[:end], curve.lr[:end])


def _whole(given: Any) -> bool:
    return isinstance(given, int) and 0 <= given < 1 << 53


def _rising(pieces: list[Curve]) -> Curve:
    """Pieces one after the other; entries that do not rise are left out."""
    if not pieces:
        return NO_CURVE
    joined = Curve(*(np.concatenate(parts) for parts in zip(*pieces, strict=True)))
    steps = joined.step
    rising = np.append(True, steps[1:] > np.maximum.accumulate(steps)[:-1])[: len(steps)]
    rising &= steps >= 0
    return Curve(*(_fixed(part[rising]) for part in joined))


def _fixed(array: Any) -> Any:
    array.flags.writeable = False
    return array


def _gone(run: object) -> None:
    raise StateError("a recording knows only the words of this edit")


def _applied(step: int, what: str, gesture: Any, written: Any) -> Applied:
    """An edit, which is never done; where it cannot be read its words stay."""
    edit: Edit | None = None
    if isinstance(written, str):
        try:
            edit = read_edit(written)
        except (ScalarvizError, ValueError, TypeError, RecursionError, OverflowError, MemoryError):
            edit = None
    said = clean(gesture, LONGEST_NAME) if isinstance(gesture, str) else ""
    return Applied(step, Call(_gone, what or "an edit") if edit is None else edit, what, said)
