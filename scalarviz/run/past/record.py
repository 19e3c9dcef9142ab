"""`Record`: the lines of a run: which there are, where one leaves another; keyframes are made ahead of need.

Keyframes stand far apart; whoever goes back step by step past one of them would wait for a whole replay
there. So the gaps before the run's place are replayed beforehand, beside the run, and get finer keyframes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ...checks import integer
from ...errors import InputError, shown
from ..core.frame import Branch, Past
from ..core.history import History
from ..edits import Applied
from .line import FINE, Key, Keyframes, Line, Place

if TYPE_CHECKING:
    from ..run_traveller import RunTraveller, RunTwin

REACH = 0.25
"""Seconds of the engine's work before the run's place that are prepared."""
SLICE = 0.005
"""Seconds that one part of the work takes."""
_HOPS = 256


class Ahead:
    """Prepares the way back."""

    def __init__(self, traveller: RunTraveller, keyframes: Keyframes) -> None:
        self._run, self._keyframes = traveller, keyframes
        self._twin: RunTwin | None = None
        self._gap: tuple[Line, int, int] | None = None  # the line, the step that it ends at, and what the past was then
        self._refused: Key | None = None

    def prepare(self, place: Place, revision: int) -> bool:
        """A part of the work for a run that stands at a place; False if nothing is left to do.

        Where `revision` differs from the last time, what was begun is of no use any more.
        """
        gap = self._next(place)
        if gap is None:
            self._twin = self._gap = None
            return False
        key, end = gap
        here = (place.line, end, revision)
        if self._twin is None or self._gap != here or not key.step <= self._twin.steps < end:
            self._twin, self._gap = self._run.twin(key.kept), here
            if self._twin is None:
                self._refused = key
                return True
        self._go_on(self._twin, place, key.edits, end)
        return True

    def _next(self, place: Place) -> tuple[Key, int] | None:
        """The first gap on the way back that takes too long, unless edits lie in it."""
        line, end, edits = place
        second, reached = self._run.seconds_a_step, 0.0
        reach = min(REACH, FINE * (self._keyframes.fine_room // 2))
        for _ in range(_HOPS):
            key = line.nearest(end, edits)
            if key is None or key is self._refused or reached >= reach:
                return None
            length = (end - key.step) * second
            if length > 2 * FINE and end - key.step > 2 and key.edits == line.done(end - 1):
                return key, end
            reached += length
            end, edits = key.step, key.edits
        return None

    def _go_on(self, twin: RunTwin, place: Place, edits: int, end: int) -> None:
        start = time.perf_counter()
        while twin.steps < end - 1 and time.perf_counter() - start < SLICE:
            twin.replay(min(end - 1 - twin.steps, max(1, int(FINE / self._run.seconds_a_step))))
        owner = place.line.owner(twin.steps, edits)
        self._keyframes.add(owner, Key(twin.steps, edits, twin.keyframe(), self._keyframes.clock, fine=True))


class Record:
    """All lines that are kept, the oldest first, and the one on which a run stands.

    `revision` changes whenever the past does, new steps left out. `away` says where the run is going at this
    very moment; empty where it stands.
    """

    def __init__(self, traveller: RunTraveller, history: History) -> None:
        self._run = traveller
        self.line = Line(0, None, 0, 0, history=history)
        self.lines = [self.line]
        self.keyframes = Keyframes(self.lines)
        self._ahead = Ahead(traveller, self.keyframes)
        self.revision, self.away = 0, ""
        self._count = 1
        self._begun = self._closed = False
        self._redo: list[tuple[Line, int, str]] = []
        self._seen: tuple[tuple[int, int, str], Past] | None = None

    # ---- what there is

    @property
    def behind(self) -> bool:
        """Whether the run stands before the end of its line."""
        return self._run.steps < self.line.newest

    @contextmanager
    def going(self, where: str) -> Iterator[None]:
        """While the block runs the run stands nowhere: whoever is told of the way may not change it."""
        former, self.away = self.away, where
        try:
            yield
        finally:
            self.away = former

    @property
    def span(self) -> tuple[int, int]:
        """First and last step of the line at which the run can stand."""
        return self.line.begins, max(self.line.newest, self._run.steps)

    @property
    def log(self) -> list[Applied]:
        """The edits on the way to where the run stands."""
        return self.line.edits[: self.line.done(self._run.steps)]

    @property
    def budget(self) -> int:
        """Bytes that keyframes may fill; setting a smaller one lets go of some at once."""
        return self.keyframes.budget

    @budget.setter
    def budget(self, budget: int) -> None:
        most = integer("timeline.budget (bytes)", budget, 0)
        self._run.in_turn(lambda: self._keep_within(most))

    def _keep_within(self, budget: int) -> None:
        self.keyframes.budget = budget
        self._fit()

    @property
    def nbytes(self) -> int:
        """What is held."""
        return self.keyframes.nbytes

    @property
    def remark(self) -> str:
        """What a user should know of what is kept, one clause; empty where nothing is to be said."""
        held, budget = self.nbytes, self.budget
        if held > budget:
            return f"start and newest step take {_mb(held)}, above the budget of {_mb(budget)}"
        if self.keyframes.spacing > 0.4:
            return f"going back replays up to {self.keyframes.spacing:.1f} s of training; more budget makes it quicker"
        return ""

    def __repr__(self) -> str:
        first, newest = self.span
        said = f"; {self.remark}" if self.remark else ""
        return (
            f"Timeline(steps {first:,} to {newest:,}, {len(self.branches())} branches, "
            f"{_mb(self.nbytes)} of {_mb(self.budget)}{said})"
        )

    def branches(self) -> tuple[Branch, ...]:
        """Every line that steps were done on, and that of now."""
        return tuple(self._branch(line) for line in self.lines if self._shown(line))

    def _shown(self, line: Line) -> bool:
        return line is self.line or (line.newest > line.first and not line.cut)

    def _branch(self, line: Line) -> Branch:
        parent = None if line.parent is None else line.parent.number
        curve = line.history.curve(first=line.first)
        now, newest = line is self.line, line.newest
        return Branch(line.number, parent, line.first, newest, curve, tuple(line.own), now, line.why)

    def past(self) -> Past | None:
        """What a picture shows; None where nothing is kept any more."""
        if self._closed:
            return None
        line, newest = self.line, max(self.line.newest, self._run.steps)
        now = self.revision, newest, self.undone  # which depends on where one stands
        if self._seen is None or self._seen[0] != now:
            first, _ = self.span
            flags = line.flags_to(line.newest)
            undo, redo = now[2], self._redo[-1][2] if self._redo else ""
            found = Past(first, newest, line.history.curve(), tuple(line.edits), self.branches(), flags, undo, redo,
                         seed=line.seed)  # fmt: skip
            self._seen = now, found
        return self._seen[1]

    def name(self, step: int, text: str) -> None:
        """Give a moment of this line a name; an empty one takes it away."""
        owner = self.line.owner(step, self.line.done(step))
        if text:
            owner.flags[step] = text
        else:
            owner.flags.pop(step, None)
        self.revision += 1

    def place(self) -> Place:
        """Where the run stands."""
        steps = self._run.steps
        return Place(self.line, steps, self.line.done(steps))

    def settled_place(self) -> Place:
        """Likewise, for somebody who may come back: what is done there stays as it is."""
        place = self.place()
        place.line.settle(place.edits)
        return place

    def _undoable(self) -> tuple[Line | None, int]:
        """The line that began by a jump which is to be undone, or None and how many edits were done before the last."""
        line: Line | None = self.line
        done = self.line.done(self._run.steps)
        while line is not None and done <= line.before:
            if line.came is not None:
                return line, 0
            line = line.parent
        return None, done - 1

    def _left_by(self, edits: int) -> Place | None:
        """Where the edit of this number left a line with a future of its own, which is there again without it."""
        line = next((line for line, _, _ in self.line.path() if line.before <= edits), None)
        if line is None or line.parent is None or line.came is not None or line.jumped or line.before != edits:
            return None
        parent, first = line.parent, line.first
        there = line.edits[edits].step == first and parent.done(first) == edits and parent.newest > first
        return Place(parent, first, edits) if there and parent in self.lines and not parent.cut else None

    @property
    def undone(self) -> str:
        """What :meth:`undo` would take back, in words; empty for nothing."""
        line, edits = self._undoable()
        if line is not None:
            return line.why
        return self.line.edits[edits].what if edits >= 0 else ""

    # ---- lines

    def _fork(self, place: Place, why: str, came: tuple[Line, int] | None = None) -> Line:
        """Another line leaves one at a place; the run stands there."""
        way, step, edits = place
        parent, history = way.owner(step, edits), way.history.fork(step)
        way.settle(edits)
        line = Line(
            self._count, parent, step, edits, why, step, history=history, edits=way.edits[:edits], came=came,
            seed=parent.seed,
        )  # fmt: skip
        self._to_line(line)
        return line

    def _kept(self, place: Place) -> Place | None:
        """The same place on a line that is kept; None if there is none."""
        line, step, edits = place
        while line not in self.lines:
            if line.parent is None or step > line.first or edits > line.before:
                return None
            line = line.parent
        gone = line.cut and (step > line.newest or edits > len(line.edits))
        return None if gone else Place(line, step, edits)

    def _to_line(self, line: Line) -> None:
        if line not in self.lines:
            self.lines.append(line)
            self._count += 1
        left, self.line = self.line, line
        if left.empty and left is not line and left.parent is not None and not self._needed(left):
            self._forget(left)
        if left is not line:
            left.history.rest()
            self.keyframes.keep_rest(left, left.held if left in self.lines else 0)
        line.history.wake()
        self.keyframes.keep_rest(line, 0)
        self._run.write(line.history)
        self.revision += 1

    def _needed(self, line: Line) -> bool:
        """Whether another line comes from it, or one can return to it."""
        others = any(line in (other.parent, other.came and other.came[0]) for other in self.lines)
        return others or any(line is entry[0] for entry in self._redo)

    def _forget(self, line: Line) -> None:
        self.keyframes.drop(line, lambda key: True)
        self.keyframes.keep_tip(line, None)
        self.keyframes.keep_rest(line, 0)
        self.lines.remove(line)
        line.history.forget()
        self.revision += 1

    def _nothing_to_redo(self) -> None:
        """Lines that were only there to return to are not kept."""
        if self._redo:
            self._redo.clear()
            for line in [line for line in self.lines if line.empty and line.parent is not None]:
                if line is not self.line and not self._needed(line):
                    self._forget(line)
        self.revision += 1

    def _fit(self) -> None:
        """Keep the budget: left branches are let go of where nothing else helps, the oldest first."""
        while not self.keyframes.fit(self.line, self._run.steps):
            left = [line for line in self.lines if line is not self.line and not (line.cut and self._leavers(line))]
            if not left:
                return
            self._cut(left[0])

    def _leavers(self, line: Line) -> list[Place]:
        return [Place(line, other.first, other.before) for other in self.lines if other.parent is line]

    def _cut(self, line: Line) -> None:
        """Let go of a left branch, but for what others come from."""
        self._redo = [entry for entry in self._redo if entry[0] is not line]
        for other in self.lines:
            if other.came is not None and other.came[0] is line:
                other.came = None
        leavers = self._leavers(line)
        if not leavers:
            self._forget(line)
            return
        line.cut, (line.newest, edits) = True, max(leaver[1:] for leaver in leavers)
        del line.edits[edits:]
        self.keyframes.drop(line, lambda key: (key.step, key.edits) > (line.newest, edits))
        self.keyframes.keep_tip(line, None)
        line.history.cut(line.newest)
        self.keyframes.keep_rest(line, line.held)
        self.revision += 1

    def find(self, branch: Branch | int) -> Line:
        """The line of a branch; InputError if it is kept no longer, or never was."""
        number = branch.number if isinstance(branch, Branch) else branch
        for line in self.lines:
            if line.number == number and (line is self.line or not line.cut):
                return line
        kept = ", ".join(str(branch.number) for branch in self.branches())
        raise InputError(
            f"there is no branch {shown(number)}; there are {kept} (others made room: run.timeline.budget)"
        )

    def close(self) -> None:
        """Let go of the past; the log stays."""
        self.line.edits[:] = self.log
        for line in self.lines:
            self.keyframes.drop(line, lambda key: True)
            self.keyframes.keep_tip(line, None)
            self.keyframes.keep_rest(line, 0)
        self.line.parent = self.line.came = None
        self.line.newest = self._run.steps
        self.lines[:] = [self.line]
        self._redo.clear()
        self._seen = None
        self._closed = True
        self.revision += 1


def _mb(nbytes: int) -> str:
    return f"{nbytes / 2**20:,.1f} MB" if nbytes < 10 << 20 else f"{nbytes / 2**20:,.0f} MB"
