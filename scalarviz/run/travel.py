"""`Travel`: the part of a run that goes back to any step, and from there on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..checks import function, integer, text
from ..errors import InputError, TypeMismatchError
from ..scalar.store import Gate
from . import state
from .core.frame import Branch
from .core.signals import Whole
from .core.training import Training, in_turn
from .edits import Applied
from .past.timeline import Progress, Timeline
from .run_traveller import redrawn, restarted, seeded, seeded_as_before


class Travel:
    """Going back, and what there is to go to."""

    gate: Gate | None
    timeline: Timeline
    _training: Training
    _check_live: Callable[[], None]

    @property
    def log(self) -> list[Applied]:
        """The edits on the way to where the run stands, the oldest first."""
        return self._entered().log

    @property
    def span(self) -> tuple[int, int]:
        """First and newest step at which the run can stand, on the branch of now."""
        return self._entered().span

    @property
    def branches(self) -> tuple[Branch, ...]:
        """All lines of steps that are kept, the oldest first; :meth:`switch` goes to another one."""
        return self._entered().branches()

    def _entered(self) -> Timeline:
        """The timeline, which has seen what was written without a word; beside a training thread as it is."""
        gate = self.gate
        if gate is None or gate.mine():
            self.timeline.enter()
        return self.timeline

    @in_turn
    def to(self, step: int, branch: Branch | int | None = None, *, progress: Progress | None = None) -> bool:
        """Stand at a step that was done: with the bits of then, and the next steps are those that followed.

        Parameters
        ----------
        step : int
            In :attr:`span`. One stands after all edits that were made at it.
        branch : Branch or int, optional
            One of :attr:`branches`; default: that of now.
        progress : callable, optional
            Told how much of the way is done (0 to 1), about every `call_seconds`; returning False gives it up.

        Returns
        -------
        bool
            False if it was given up: the run stands where it stood.

        Raises
        ------
        InputError
            There is no such step or branch.
        StateError
            The run is closed, another Run took its weights, or an engine that computed the steps is lost.
        """
        self._check_live()
        step = integer("to: step", step, 0)
        if progress is not None:
            function(progress, "to: progress")
        self.timeline.enter()
        line = None if branch is None else self.timeline.find(_branch(branch))
        return self.timeline.to(step, line, progress)

    @in_turn
    def back(self, n: int = 1) -> None:
        """Go `n` steps back; see :meth:`to`.

        Raises
        ------
        InputError
            There are not so many before this one.
        """
        n = integer("back: n", n, 0)
        self._check_live()
        self.timeline.enter()
        first, _ = self.span
        here = self._training.steps
        if here - n < first:
            raise InputError(f"back: there is nothing {n:,} steps before step {here:,}; the first is {first:,}")
        self.timeline.to(here - n)

    @in_turn
    def switch(self, branch: Branch | int) -> None:
        """Go to the newest step of another branch; that of now stays.

        Raises
        ------
        InputError
            It is not kept (any more).
        """
        self._check_live()
        self.timeline.enter()
        line = self.timeline.find(_branch(branch))
        self.timeline.to(line.newest, line)

    @in_turn
    def restart(self, seed: int | None = None) -> None:
        """Begin anew on a branch of its own: the first weights with the rate, batch, data and freezes of now.

        What was trained stays as a branch, and :meth:`undo` returns to it. Of a model that was changed since, weights
        that were there at first begin as they began, the others as the run's seed draws them.

        Parameters
        ----------
        seed : int, optional
            Other weights instead, which this seed draws: each module's as its initialiser (``net.initialize(...)``,
            else that of its constructor) drew them last. The order of the samples stays that of the run's own seed.

        Raises
        ------
        InputError
            No seed, or some weights were made by hand, so that nobody can draw them anew; they are named.
        StateError
            Without a seed: the model was changed since to one with weights that were made by hand.
        """
        self._check_live()
        self.timeline.enter()
        run: Any = self
        drawn = None if seed is None else seeded(run, seed)
        here, today = self._training.steps, state.give(run, state.MOVED)
        self.timeline.to(self.span[0])
        home, place = state.give(run, state.MOVED), self.timeline.place()
        self.timeline.to(here)
        if drawn is None and home.parts["graph"].blocks != today.parts["graph"].blocks:
            drawn = seeded_as_before(run, home)
        again = restarted(home, today) if drawn is None else redrawn(drawn, home, today)
        why = "restart" if seed is None else f"restart with seed {seed}"
        with Whole(), self.timeline.jump(why, place, self.timeline.line.seed if seed is None else seed):
            state.put(run, again)

    @in_turn
    def undo(self) -> str:
        """Go to the moment before the last edit; steps that were made since stay as a branch. Returns its words.

        Of an edit that was made in the past, the future that it left is there again.

        Raises
        ------
        StateError
            Nothing was changed.
        """
        self._check_live()
        return self.timeline.undo()

    @in_turn
    def redo(self) -> str:
        """Go back to where :meth:`undo` came from. Returns the words of the edit.

        Raises
        ------
        StateError
            Nothing was undone since the last edit.
        """
        self._check_live()
        return self.timeline.redo()

    @in_turn
    def name(self, label: str, step: int | None = None) -> None:
        """Give a step (default: that of now) a name, which the time bar shows; an empty one takes it away.

        Raises
        ------
        InputError
            The step is not in :attr:`span`.
        StateError
            The run is closed, or another Run took its weights.
        """
        text(label, "name: the label")
        self._check_live()
        step = self._training.steps if step is None else integer("name: step", step, 0)
        first, newest = self.span
        if not first <= step <= newest:
            raise InputError(f"name: there is no step {step:,}; allowed: {first:,} to {newest:,}")
        self.timeline.name(step, label)


def _branch(branch: Any) -> Branch | int:
    if isinstance(branch, Branch):
        return branch
    if isinstance(branch, bool) or not isinstance(branch, int):
        raise TypeMismatchError(f"a branch is one of run.branches, or its number; got {type(branch).__name__}")
    return branch
