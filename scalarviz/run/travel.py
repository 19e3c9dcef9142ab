"""A run goes back to any step that was done, and on from there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..checks import function, integer, text
from ..errors import InputError, TypeMismatchError
from . import state
from .core.frame import Branch
from .core.interrupts import Whole
from .core.training import in_turn
from .former import all_or_nothing
from .past.timeline import Progress, Timeline
from .run_traveller import redrawn, restarted, seeded, seeded_as_before

if TYPE_CHECKING:
    from .run import Run


def span(run: Run) -> tuple[int, int]:
    """First and newest step at which the run can stand, on the branch of now."""
    return entered(run).span


def entered(run: Run) -> Timeline:
    """The timeline, which has seen what was written without a word; beside a training thread as it is."""
    if run._store.gate_here() is None:
        run.timeline.enter()
    return run.timeline


@in_turn
def to(run: Run, step: int, branch: Branch | int | None, progress: Progress | None) -> bool:
    """Stand at a step that was done; False where `progress` gave it up."""
    run._check_live()
    step = integer("to: step", step, 0)
    if progress is not None:
        function(progress, "to: progress")
    run.timeline.enter()
    line = None if branch is None else run.timeline.find(_branch(branch))
    return run.timeline.to(step, line, progress)


@in_turn
def back(run: Run, n: int) -> None:
    """Go so many steps back."""
    n = integer("back: n", n, 0)
    run._check_live()
    run.timeline.enter()
    first, _ = span(run)
    here = run._training.steps
    if here - n < first:
        raise InputError(f"back: there is nothing {n:,} steps before step {here:,}; the first is {first:,}")
    run.timeline.to(here - n)


@in_turn
def switch(run: Run, branch: Branch | int) -> None:
    """Go to the newest step of another branch."""
    run._check_live()
    run.timeline.enter()
    line = run.timeline.find(_branch(branch))
    run.timeline.to(line.newest, line)


@in_turn
def restart(run: Run, seed: int | None) -> None:
    """Begin anew on a branch of its own."""
    run._check_live()
    run.timeline.enter()
    drawn = None if seed is None else seeded(run, seed)
    here, today = run._training.steps, state.whole(run)
    run.timeline.to(span(run)[0])
    home, place = state.whole(run), run.timeline.place()
    run.timeline.to(here)
    if drawn is None and home.graph.blocks != today.graph.blocks:
        drawn = seeded_as_before(run, home)
    again = restarted(home, today) if drawn is None else redrawn(drawn, home, today)
    why = "restart" if seed is None else f"restart with seed {seed}"
    with (
        Whole(),
        all_or_nothing(run, lines=True),
        run.timeline.jump(why, place, run.timeline.line.seed if seed is None else seed),
    ):
        state.put(run, again)


@in_turn
def undo(run: Run) -> str:
    """Go to the moment before the last edit."""
    run._check_live()
    return run.timeline.undo()


@in_turn
def redo(run: Run) -> str:
    """Go back to where an undo came from."""
    run._check_live()
    return run.timeline.redo()


@in_turn
def name(run: Run, label: str, step: int | None) -> None:
    """Give a step a name."""
    text(label, "name: the label")
    run._check_live()
    step = run._training.steps if step is None else integer("name: step", step, 0)
    first, newest = span(run)
    if not first <= step <= newest:
        raise InputError(f"name: there is no step {step:,}; allowed: {first:,} to {newest:,}")
    run.timeline.name(step, label)


def _branch(branch: Any) -> Branch | int:
    if isinstance(branch, Branch):
        return branch
    if isinstance(branch, bool) or not isinstance(branch, int):
        raise TypeMismatchError(f"a branch is one of run.branches, or its number; got {type(branch).__name__}")
    return branch
