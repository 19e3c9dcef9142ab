"""`Timeline`: the past of a run, and the way from its current place to any other.

A run is a tree of lines. It stands at the end of one, where steps are new, or before the end, where steps repeat the
recorded ones, edits included. An edit before the end begins a new line, and the later steps are kept as a branch. To
go back, the nearest keyframe before the place is restored. The same engine then repeats the steps and edits from
there, so that every bit equals that of the first time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ...checks import function, integer, text
from ...errors import InputError, StateError, TypeMismatchError, shown, typed
from ..core.frame import Branch, Past
from ..core.interrupts import DelayedInterrupt
from ..core.training import Training
from ..edits import Applied
from ..state import keyframe
from ..travel import Traveller
from .line import Key, KeyframeMaker, Keyframes, Line, StepOfLine

Progress = Callable[[float], bool | None]
"""Called with the finished share of a way, 0 to 1; returning False cancels."""


FRAME = 0.016
"""Seconds that a user does not notice as waiting."""


class Timeline:
    """The past of one run: all kept lines, the oldest first, and the current one.

    `revision` changes whenever the past does, except by new steps. `destination` says where the run is going at this
    moment; empty while it stands. It is one concept: each way back ends
    in a line, a place on it, and a replay to there.
    """

    def __init__(self, traveller: Traveller, training: Training) -> None:
        self._run, self._training = traveller, training
        self.line = Line(0, None, 0, 0, history=training.history)
        self.lines = [self.line]
        self.keyframes = Keyframes()
        self._keyframe_maker = KeyframeMaker(traveller, training, self.keyframes)
        self.revision, self.destination = 0, ""
        self._count = 1
        self._begun = self._closed = False
        self.redoable: list[tuple[Line, int, str]] = []
        self._seen: tuple[tuple[int, int, str], Past] | None = None

    # ---- queries

    @property
    def is_behind(self) -> bool:
        """True if the run stands before the end of its line."""
        return self._training.steps < self.line.newest

    @contextmanager
    def travelling(self, where: str) -> Iterator[None]:
        """Mark the run as travelling during the block; functions that are called on the way may not change it."""
        former, self.destination = self.destination, where
        try:
            yield
        finally:
            self.destination = former

    @property
    def span(self) -> tuple[int, int]:
        """First and last step of the line at which the run can stand."""
        return self.line.begins, max(self.line.newest, self._training.steps)

    @property
    def log(self) -> list[Applied]:
        """The edits before the current place of the run."""
        return self.line.edits[: self.line.count_edits(self._training.steps)]

    @property
    def budget(self) -> int:
        """Most bytes of keyframes; a smaller budget drops some at once."""
        return self.keyframes.budget

    @budget.setter
    def budget(self, budget: int) -> None:
        most = integer("timeline.budget (bytes)", budget, 0)
        self._run.run._in_turn(lambda: self._keep_within(most))

    def _keep_within(self, budget: int) -> None:
        self.keyframes.budget = budget
        self._fit()

    @property
    def nbytes(self) -> int:
        """Bytes of all kept moments."""
        return self.keyframes.nbytes

    @property
    def remark(self) -> str:
        """A remark for the user about the kept moments, one clause; empty for none."""
        held, budget = self.nbytes, self.budget
        if held > budget:
            return f"start and newest step take {_mb(held)}, above the budget of {_mb(budget)}"
        if self.keyframes.spacing > 0.4:
            return f"going back replays up to {self.keyframes.spacing:.1f} s of training; a larger budget is quicker"
        return ""

    def __repr__(self) -> str:
        first, newest = self.span
        said = f"; {self.remark}" if self.remark else ""
        return (
            f"Timeline(steps {first:,} to {newest:,}, {len(self.branches())} branches, "
            f"{_mb(self.nbytes)} of {_mb(self.budget)}{said})"
        )

    def branches(self) -> tuple[Branch, ...]:
        """Return every line with steps, and the current one."""
        kept = (one for one in self.lines if one is self.line or (one.newest > one.first and not one.cut))
        return tuple(one.branch(one.history.curve(first=one.first), one.own_edits, one is self.line) for one in kept)

    def past(self) -> Past | None:
        """Return the past as pictures need it; None after `close`."""
        if self._closed:
            return None
        line, newest = self.line, max(self.line.newest, self._training.steps)
        now = self.revision, newest, self.undone  # which depends on the current place
        if self._seen is None or self._seen[0] != now:
            first, _ = self.span
            flags = line.flags_to(line.newest)
            undo, redo = now[2], self.redoable[-1][2] if self.redoable else ""
            found = Past(first, newest, line.history.curve(), tuple(line.edits), self.branches(), flags, undo, redo,
                         seed=line.seed)  # fmt: skip
            self._seen = now, found
        return self._seen[1]

    def name(self, label: str, step: int | None = None) -> None:
        """Name a moment of this line (default: the current one); an empty text removes the name."""
        text(label, "run.name: the label")
        step = self._training.steps if step is None else integer("run.name: step", step, 0)
        first, newest = self.span
        if not first <= step <= newest:
            raise InputError(f"run.name: there is no step {step:,}; allowed: {first:,} to {newest:,}")
        owner = self.line.owner(step, self.line.count_edits(step))
        if label:
            owner.flags[step] = label
        else:
            owner.flags.pop(step, None)
        self.revision += 1

    def place(self) -> StepOfLine:
        """Return the current place of the run."""
        steps = self._training.steps
        return StepOfLine(self.line, steps, self.line.count_edits(steps))

    def _undoable(self) -> tuple[Line | None, int]:
        """Return the line that began by a jump to undo, or None and the index of the last edit."""
        line: Line | None = self.line
        done = self.line.count_edits(self._training.steps)
        while line is not None and done <= line.before:
            if line.jumped_from is not None:
                return line, 0
            line = line.parent
        return None, done - 1

    def _left_by(self, edits: int) -> StepOfLine | None:
        """Return the place at which an edit left a line with later steps, which return without the edit; or None."""
        line = next((line for line, _, _ in self.line.path() if line.before <= edits), None)
        if line is None or line.parent is None or line.jumped_from is not None or line.jumped or line.before != edits:
            return None
        parent, first = line.parent, line.first
        there = line.edits[edits].step == first and parent.count_edits(first) == edits and parent.newest > first
        return StepOfLine(parent, first, edits) if there and parent in self.lines and not parent.cut else None

    @property
    def undone(self) -> str:
        """The edit that :meth:`undo` would take back, in words; empty for none."""
        line, edits = self._undoable()
        if line is not None:
            return line.why
        return self.line.edits[edits].what if edits >= 0 else ""

    # ---- entries: each one first looks for changes since the last

    def enter(self) -> None:
        """Log unannounced changes; the first call keeps the start of the run."""
        if self._closed or self.destination:
            return
        self.begin()
        found = self._run.find_changes()
        if found:
            with DelayedInterrupt():
                for change in found:
                    self.note(change)

    def begin(self) -> None:
        """Keep the moment at which the run begins, before a change; later calls do nothing."""
        if self._begun or self._closed:
            return
        with DelayedInterrupt():
            self._begun = True
            steps = self._training.steps
            self.line.first = self.line.newest = steps
            self.keyframes.add(self.line, Key(steps, 0, self._run.whole(), whole=True))

    def note(self, done: Applied) -> None:
        """Log an edit at the current place; before the end of its line it begins another one.

        It replaces the last edit of the same gesture, step and line if it continues that.
        """
        if self._closed:
            return
        if self.is_behind:
            self._fork(self.place(), done.what)
        last = self.line.open_edit if done.gesture else None
        same = last is not None and (last.gesture, last.step) == (done.gesture, done.step)
        if same and last is not None and done.edit.continues(last.edit):
            self.line.edits[-1] = done
        else:
            self.line.edits.append(done)
        self._nothing_to_redo()
        self._run.announce()

    # ---- steps

    def advance(self, most: int) -> int:
        """Do at most `most` steps in one call of the engine: new ones, or recorded ones before the line's end."""
        self.enter()
        if self._closed:
            return self._run.advance(most)
        with DelayedInterrupt():  # the steps are done and logged, or neither
            return self._follow(most) if self.is_behind else self._go_on(most)

    def _go_on(self, most: int) -> int:
        self._keep_changed()
        start = time.perf_counter()
        try:
            done = self._run.advance(most)
        finally:
            self.line.newest = self._training.steps
            self.keyframes.pass_time(time.perf_counter() - start)
            self._run.announce()
        if self.keyframes.due:
            self._keep(self.line, self.line.count_edits(self._training.steps))
            self._fit()
        return done

    def _keep(self, line: Line, edits: int, fine: bool = False) -> None:
        """Keep the current place: on a line, after `edits` of its edits."""
        steps = self._training.steps
        key = Key(steps, edits, keyframe(self._run.run), self.keyframes.clock, fine=fine)
        self.keyframes.add(line.owner(steps, edits), key)

    def _keep_changed(self) -> None:
        """Keep this place again if external data changed: later steps can be repeated from here."""
        steps, line = self._training.steps, self.line
        here = steps, line.count_edits(steps)
        key = line.last_key(*here)
        if key is None or self._run.same_data(key.state):
            return
        owner, whole = line.owner(*here), key.whole and (key.step, key.edits) == here
        self.keyframes.drop(owner, lambda other: (other.step, other.edits) == here)
        if whole:
            self.keyframes.add(owner, Key(*here, self._run.whole(), self.keyframes.clock, whole=True))
        else:
            self._keep(line, here[1])
            self._fit()

    def _follow(self, most: int) -> int:
        """Repeat recorded steps in one call of the engine, at most to the next edit, which is applied too."""
        line, run = self.line, self._run
        done = line.count_edits(self._training.steps)
        self._check_data(line, self._training.steps + 1, line.last_key(self._training.steps, done))
        upcoming = line.edits[done].step if done < len(line.edits) else line.newest
        most = min(self._training.steps + most, line.newest, upcoming) - self._training.steps
        before = run.whole() if done < len(line.edits) and self._training.steps + most == upcoming else None
        count = self._replay(most)
        if self._training.steps == upcoming:
            try:
                self._edits(line, done, line.count_edits(self._training.steps))
            except BaseException:
                if before is not None:  # a step without its edits is no valid place
                    run.put(before)
                    run.announce()
                raise
        if self._training.steps == line.newest:
            self.keyframes.keep_tip(line, None)
        run.announce()
        return count

    def _replay(self, most: int) -> int:
        start = time.perf_counter()
        count = self._training.advance(most, again=True)
        self.keyframes.pass_time(time.perf_counter() - start)
        return count

    def _edits(self, line: Line, first: int, last: int) -> None:
        """Repeat edits; if one fails, the caller restores the run."""
        with DelayedInterrupt():
            for done in line.edits[first:last]:
                for edit in (done.edit,) if done.does is None else done.does:
                    self._run.redo_edit(edit)

    # ---- travel

    def prepare(self) -> bool:
        """Prepare the way back for some milliseconds; False if nothing is left to do."""
        if self._closed or not self._begun:
            return False
        more = self._keyframe_maker.prepare(self.place(), self.revision)
        self._fit()
        return more

    def to(self, step: int, branch: Branch | int | None = None, progress: Progress | None = None) -> bool:
        """Go to a step of a branch, after all edits there. InputError: there is no such step.

        Return False if it was cancelled; the run then stays at its place.
        """
        step = integer("run.to: step", step, 0)
        if progress is not None:
            function(progress, "run.to: progress")
        self.enter()
        line = self.line if branch is None else self.find(branch)
        first = line.begins
        if not first <= step <= line.newest:
            raise InputError(f"run.to: step {step:,} is not on this branch; allowed: {first:,} to {line.newest:,}")
        return self._go(line, step, line.count_edits(step), progress)

    def back(self, n: int) -> None:
        """Go `n` steps back."""
        n, here, first = integer("back: n", n, 0), self._training.steps, self.span[0]
        if here - n < first:
            raise InputError(f"back: cannot go {n:,} steps back from step {here:,}; the first step is {first:,}")
        self.to(here - n)

    def switch(self, branch: Branch | int) -> None:
        """Go to the newest step of another branch."""
        self.to(self.find(branch).newest, branch)

    def _go(self, line: Line, step: int, edits: int, progress: Progress | None = None, why: str | None = None) -> bool:
        """Go to a place; `why` begins a new line there."""
        run = self._run
        if why is None and StepOfLine(line, step, edits) == self.place():
            return True
        with DelayedInterrupt() as whole:
            before, ended, arrived = run.whole(), not self.is_behind, False
            if ended:
                self.keyframes.keep_tip(self.line, before)
            try:
                whole.waits = False  # the way may be long
                with self.travelling(f"to step {step:,}"):
                    arrived = self._travel(line, step, edits, progress)
            finally:
                whole.waits = True
                if not arrived:  # stay
                    run.put(before)
                    run.announce()
                    if ended:
                        self.keyframes.keep_tip(self.line, None)
            if arrived:
                self._arrive(StepOfLine(line, step, edits), why)
        return arrived

    def _arrive(self, place: StepOfLine, why: str | None) -> None:
        line = place.line
        if why is not None:
            self._fork(place, why)
        elif line is not self.line:
            self._to_line(line)
        if why is None and place == StepOfLine(line, line.newest, len(line.edits)):
            self.keyframes.keep_tip(line, None)
        self._run.announce()
        self._fit()

    def _travel(self, line: Line, step: int, edits: int, progress: Progress | None) -> bool:
        """Go from the nearest kept moment to a place; False if it was cancelled."""
        run = self._run
        if line.tip is not None and (step, edits) == (line.newest, len(line.edits)):
            run.put(line.tip)
            return True
        key, here = line.nearest(step, edits), self._training.steps
        onwards = line is self.line and here < step and (key is None or key.step <= here)
        if onwards:
            done = line.count_edits(here)
            self._check_data(line, step, line.last_key(here, done))
        elif key is None:
            raise StateError(f"step {step:,} is no longer kept; a larger run.timeline.budget keeps more of its branch")
        else:
            bare = step > key.step and not run.same_data(key.state)
            if bare:  # its data has changed since: no step can be repeated
                key = self._bare_key(line, step, edits, key)
            run.put(key.state)
            done = key.edits
            if bare:
                run.forget_step()
        self.keyframes.begin()
        start = self._training.steps
        while True:
            last = min(line.count_edits(self._training.steps), edits)
            self._edits(line, done, last)
            done = last
            if self._training.steps >= step:
                return True
            upcoming = line.edits[done].step if done < edits else step
            self._replay(min(step, upcoming) - self._training.steps)
            if progress is not None and progress((self._training.steps - start) / (step - start)) is False:
                return False
            if self.keyframes.due_fine and self._training.steps < step:  # for short ways back and forth around there
                self._keep(line, done, fine=True)

    def _bare_key(self, line: Line, step: int, edits: int, nearest: Key) -> Key:
        """Return the keyframe of the step itself, which has no trace of the step before it."""
        key = line.last_key(step, edits)
        if key is None or key.step != step:
            self._check_data(line, step, key or nearest)
            raise StateError(f"step {step:,} cannot be restored: its data was changed from outside")
        return key

    def _check_data(self, line: Line, step: int, key: Key | None) -> None:
        """Raise StateError if steps after a kept moment would differ because their data changed."""
        if key is None or self._run.same_data(key.state):
            return
        after = [other.step for other in line.keys if other.step >= step]
        others = f" or {min(after):,}" if after else f" or {line.newest:,}" if step <= line.newest else ""
        raise StateError(
            f"step {step:,} cannot be recomputed: its data was changed from outside. You can go to the stored "
            f"step {key.step:,}{others}"
        )

    def nearest_quick_step(self, step: int) -> int:
        """Return the step nearest to `step` on this line that takes no time, or one step, to reach."""
        first, newest = self.span
        if step >= newest:
            return newest
        key = self.line.nearest(max(step, first), self.line.count_edits(step))
        if key is not None and not self._run.same_data(key.state):
            kept = self.line.last_key(step, self.line.count_edits(step))
            return key.step if kept is None else max(kept.step, first)
        if key is not None and (step - key.step) * self._training.seconds_a_step < FRAME:
            return max(step, first)
        return first if key is None else min(max(step, first), key.step if key.whole else key.step + 1)

    # ---- undo and redo

    def undo(self) -> str:
        """Go to before the last edit and return its words; StateError if there is none."""
        here, (jumped, edits), redo = self.place(), self._undoable(), self.redoable
        if jumped is None and edits < 0:
            raise StateError("undo: there is no edit before this step")
        what = self.undone
        with DelayedInterrupt():
            self.redoable = [*redo, (here.line, here.step, what)]
            try:
                if jumped is not None and jumped.jumped_from is not None:
                    line, step = jumped.jumped_from
                    self._go(line, step, line.count_edits(step))
                elif (left := self._left_by(edits)) is not None:
                    self._go(*left)
                else:
                    self._go(here.line, here.line.edits[edits].step, edits, why=f"without {what}")
            except BaseException:
                self.redoable = redo
                raise
            self.revision += 1
        return what

    def redo(self) -> str:
        """Go back to where :meth:`undo` came from and return the edit's words; StateError if there is nothing."""
        if not self.redoable:
            raise StateError("redo: nothing to redo since the last edit")
        line, step, what = self.redoable[-1]
        with DelayedInterrupt():
            self._go(line, step, line.count_edits(step))
            self.redoable = self.redoable[:-1]
            self.revision += 1
        return what

    @contextmanager
    def jump(self, why: str, place: StepOfLine | None = None, seed: int | None = None) -> Iterator[None]:
        """Begin a new line around a change to other numbers, which `seed` may have drawn; it may start at `place`."""
        self.enter()
        if self._closed:
            yield
            return
        came, ended = (self.line, self._training.steps), not self.is_behind
        before = self._run.whole() if ended else None
        yield
        if before is not None:
            self.keyframes.keep_tip(self.line, before)
        place = None if place is None else self._kept_place(place)
        if place is not None:
            line = self._fork(place, why, came)
        else:
            steps = self._training.steps
            history = self.line.history.fork(None)
            line = Line(self._count, None, steps, 0, why, steps, history=history, jumped_from=came)
            self._to_line(line)
        line.jumped, line.seed = True, line.seed if seed is None else seed
        start = Key(self._training.steps, line.before, self._run.whole(), self.keyframes.clock, whole=True)
        self.keyframes.add(line, start)
        self._nothing_to_redo()
        self._run.announce()
        self._fit()

    # ---- lines

    def _fork(self, place: StepOfLine, why: str, came: tuple[Line, int] | None = None) -> Line:
        """Begin a line at a place of another one; the run stands there."""
        way, step, edits = place
        parent, history = way.owner(step, edits), way.history.fork(step)
        way.settle(edits)
        line = Line(
            self._count, parent, step, edits, why, step, history=history, edits=way.edits[:edits], jumped_from=came,
            seed=parent.seed,
        )  # fmt: skip
        self._to_line(line)
        return line

    def _kept_place(self, place: StepOfLine) -> StepOfLine | None:
        """Return the same place on a kept line; None if there is none."""
        line, step, edits = place
        while line not in self.lines:
            if line.parent is None or step > line.first or edits > line.before:
                return None
            line = line.parent
        gone = line.cut and (step > line.newest or edits > len(line.edits))
        return None if gone else StepOfLine(line, step, edits)

    def _to_line(self, line: Line) -> None:
        if line not in self.lines:
            self.lines = [*self.lines, line]
            self._count += 1
        left, self.line = self.line, line
        if left.empty and left is not line and left.parent is not None and not self._needed(left):
            self._forget(left)
        if left is not line:
            left.history.rest()
            self.keyframes.keep_rest(left, left.held if left in self.lines else 0)
        line.history.wake()
        self.keyframes.keep_rest(line, 0)
        self._training.history = line.history
        self.revision += 1

    def _needed(self, line: Line) -> bool:
        """Return whether another line comes from it, or undo and redo can return to it."""
        others = any(line in (other.parent, other.jumped_from and other.jumped_from[0]) for other in self.lines)
        return others or any(line is entry[0] for entry in self.redoable)

    def _forget(self, line: Line) -> None:
        self.keyframes.drop(line, lambda key: True)
        self.keyframes.keep_tip(line, None)
        self.keyframes.keep_rest(line, 0)
        self.lines = [other for other in self.lines if other is not line]
        line.history.forget()
        self.revision += 1

    def _nothing_to_redo(self) -> None:
        """Forget the undone moments, and lines that were kept only for them."""
        if self.redoable:
            self.redoable = []
            for line in [line for line in self.lines if line.empty and line.parent is not None]:
                if line is not self.line and not self._needed(line):
                    self._forget(line)
        self.revision += 1

    def _fit(self) -> None:
        """Keep the budget; if nothing else helps, left branches are dropped, the oldest first."""
        while not self.keyframes.fit(self.lines, self.line, self._training.steps):
            left = [line for line in self.lines if line is not self.line and not (line.cut and self._leavers(line))]
            if not left:
                return
            self._cut(left[0])

    def _leavers(self, line: Line) -> list[StepOfLine]:
        return [StepOfLine(line, other.first, other.before) for other in self.lines if other.parent is line]

    def _cut(self, line: Line) -> None:
        """Drop a left branch, except for the part that others come from."""
        self.redoable = [entry for entry in self.redoable if entry[0] is not line]
        for other in self.lines:
            if other.jumped_from is not None and other.jumped_from[0] is line:
                other.jumped_from = None
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
        """Return the line of a branch; InputError if it is no longer kept, or never was."""
        number = branch.number if isinstance(branch, Branch) else branch
        if isinstance(number, bool) or not isinstance(number, int):
            raise TypeMismatchError(f"branch must be one of run.branches or a branch's number, got {typed(branch)}")
        for line in self.lines:
            if line.number == number and (line is self.line or not line.cut):
                return line
        kept = ", ".join(str(branch.number) for branch in self.branches())
        raise InputError(
            f"there is no branch {shown(number)}; allowed: {kept} (a larger run.timeline.budget keeps more)"
        )

    def close(self) -> None:
        """Drop the past; the log stays."""
        self.line.edits[:] = self.log
        for line in self.lines:
            self.keyframes.drop(line, lambda key: True)
            self.keyframes.keep_tip(line, None)
            self.keyframes.keep_rest(line, 0)
        self.line.parent = self.line.jumped_from = None
        self.line.newest = self._training.steps
        self.lines = [self.line]
        self.redoable = []
        self._seen = None
        self._closed = True
        self.revision += 1


def _mb(nbytes: int) -> str:
    return f"{nbytes / 2**20:,.1f} MB" if nbytes < 10 << 20 else f"{nbytes / 2**20:,.0f} MB"
