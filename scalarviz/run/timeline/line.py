"""`Line`: one line of steps of a run, which may have left another one, with its edits and keyframes.

A *place* on a line is a step and a count of edits: those of the line that have been done, from its very beginning. A
run that stands somewhere has done all edits of its step; only where a line leaves another one may some be left out.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from ..edits import Applied
from ..history import History
from .traveller import Kept

OVERHEAD = 2048
"""Bytes of a keyframe beside its arrays."""


@dataclass(slots=True, eq=False)
class Key:
    """A kept moment.

    Attributes
    ----------
    step, edits : int
        Its place.
    kept : Kept
    at : float
        Seconds of the engine's work at which it was taken.
    whole : bool
        Whether one can stand at the place itself: where not, the next step shows all there is.
    fine : bool
        Whether it was taken for somebody who goes back and forth here.
    nbytes : int
        What it takes.
    """

    step: int
    edits: int
    kept: Kept
    at: float = 0.0
    whole: bool = False
    fine: bool = False
    nbytes: int = field(init=False)

    def __post_init__(self) -> None:
        self.nbytes = self.kept.nbytes + OVERHEAD


class Place(NamedTuple):
    """A step of a line, and how many of the line's edits are done there."""

    line: Line
    step: int
    edits: int


@dataclass(slots=True, eq=False)
class Line:
    """One line.

    Attributes
    ----------
    number : int
    parent : Line or None
    first, before : int
        The place where it left its parent, or at which it begins.
    history : History
        Of all its steps, its parent's before it left included.
    edits : list of Applied
        Likewise.
    newest : int
        Its last step.
    why : str
        What made it begin.
    came : (Line, int) or None
        Where the run stood before it began a line of its own by jumping.
    keys : list of Key
        Its own, by place.
    tip : Kept or None
        All of its last moment, while the run stands elsewhere.
    flags : dict of int to str
        Moments that were named, by step.
    cut : bool
        Whether only that is left of it which other lines come from.
    rest : int
        Bytes of its own steps and edits, while the run stands on another line.
    settled : int
        Edits that stay as they are, although the hand that made the last of them goes on: something refers to them.
    jumped : bool
        Whether it began by a change to other numbers altogether: where it begins is a place of its own.
    seed : int or None
        What drew its first weights, where a restart did.
    """

    number: int
    parent: Line | None
    first: int
    before: int
    history: History
    edits: list[Applied] = field(default_factory=list)
    newest: int = 0
    why: str = ""
    came: tuple[Line, int] | None = None
    keys: list[Key] = field(default_factory=list)
    tip: Kept | None = None
    flags: dict[int, str] = field(default_factory=dict)
    cut: bool = False
    rest: int = 0
    settled: int = 0
    jumped: bool = False
    seed: int | None = None

    @property
    def own(self) -> list[Applied]:
        """The edits since it left."""
        return self.edits[self.before :]

    @property
    def open(self) -> Applied | None:
        """Its last edit, where another one may still take its place."""
        return self.edits[-1] if len(self.edits) > max(self.before, self.settled) else None

    def settle(self, edits: int) -> None:
        """Somebody refers to a place after so many edits: they stay as they are."""
        self.settled = max(self.settled, edits)

    @property
    def held(self) -> int:
        """Bytes of its own steps and edits."""
        return self.history.nbytes + sum(done.nbytes for done in self.own) + OVERHEAD

    @property
    def empty(self) -> bool:
        """Whether nothing happened on it yet."""
        return self.newest == self.first and len(self.edits) == self.before

    def done(self, step: int) -> int:
        """How many edits are done where one stands at `step`."""
        return bisect_right(self.edits, step, key=lambda edit: edit.step)

    def path(self) -> Iterator[tuple[Line, int, int]]:
        """It and those that it comes from, each with the last place that belongs to the way here."""
        line: Line | None = self
        step, edits = self.newest, len(self.edits)
        while line is not None:
            yield line, step, edits
            step, edits = min(step, line.first), min(edits, line.before)
            line = line.parent

    def owner(self, step: int, edits: int) -> Line:
        """The line of the way here that a place belongs to."""
        found = self
        while found.parent is not None and not found.has(step, edits):
            found = found.parent
        return found

    def has(self, step: int, edits: int) -> bool:
        """Whether a place of the way here is its own, and not of a line that it comes from."""
        begins = self.first, self.before
        return step >= self.first and ((step, edits) > begins or (self.jumped and (step, edits) == begins))

    def nearest(self, step: int, edits: int) -> Key | None:
        """The last keyframe of the way here from which one gets to a place."""
        for line, last, most in self.path():
            index = bisect_right(line.keys, min(step, last), key=lambda key: key.step)
            while index > 0:
                index -= 1
                key = line.keys[index]
                if key.edits <= min(edits, most) and (key.step < step or key.whole):
                    return key
        return None

    def last_key(self, step: int, edits: int) -> Key | None:
        """The last keyframe of the way here that is not behind a place, of that place itself too."""
        for line, last, most in self.path():
            for key in reversed(line.keys):
                if key.step <= min(step, last) and key.edits <= min(edits, most):
                    return key
        return None

    def add(self, key: Key) -> bool:
        """Keep a moment; False if there is one at this place."""
        index = bisect_left(self.keys, (key.step, key.edits), key=lambda other: (other.step, other.edits))
        if index < len(self.keys) and (self.keys[index].step, self.keys[index].edits) == (key.step, key.edits):
            return False
        self.keys.insert(index, key)
        return True
