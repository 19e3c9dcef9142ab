"""A run stops where a condition becomes true, and finds where one last did."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from ..checks import flag, function, integer, position
from ..errors import InputError
from .core.training import in_turn
from .questions.breakpoints import Breakpoint, Here, Progress, Search, Watch, in_losses
from .questions.conditions import Condition, Named, Numbers
from .questions.expression import fault

if TYPE_CHECKING:
    from .run import Run


def break_on(run: Run, condition: str, once: bool) -> Breakpoint:
    """Let training stop after the step by which a condition becomes true."""
    once = flag(once, "break_on: once")
    return run.breakpoints.set(Condition.read(condition, names_now(run), "break_on:"), once)


def condition_name(run: Run, index: int) -> str:
    """How the weight at flat `index` is written in a condition: its name, in quotes where needed."""
    return names_now(run).weight(position(index, len(run._store.value), "the weights"))


def names_now(run: Run) -> Named:
    """The names of now; those of breakpoints are read anew where the model has become another one."""
    named = run._names
    if named is None or named.tensors is not run.tensors or named.stages is not run.stages:
        run._names = named = Named(run.tensors, run.stages)
        run.breakpoints.renamed(named)
    return named


def _numbers(run: Run) -> Numbers:
    return Numbers(names_now(run), run._training, run._forward, lambda: float(run.optimizer.lr))


def advance_to_break(run: Run, most: int) -> int:
    """One call of the engine, at most to the first step that a breakpoint stops at; returns how many were done."""
    run._stop = None
    names_now(run)
    points = run.breakpoints.enabled
    if not points:
        return run.timeline.advance(most)
    watch = Watch(points, partial(_numbers, run))
    training, training.onlooker = run._training, watch
    try:
        return run.timeline.advance(1 if watch.single else most)
    finally:
        training.onlooker = None
        run._stop = watch.stop


@in_turn
def holds(run: Run, condition: str) -> bool:
    """Whether a condition is true where the run stands; of a whole tensor, for one element at least.

    Raises ExpressionError: it cannot be read, as for :meth:`break_on`, or it compares a step with the one
    before.
    """
    read = Condition.read(condition, names_now(run), "holds:")
    back = next((load for load in read.expression.loads if load.before), None)
    if back is not None:
        said = "it compares a step with the one before: break_on and find know when it becomes true"
        raise fault(condition, back.start, said, "holds:")
    return bool(read.holds(_numbers(run)))


@in_turn
def find(run: Run, condition: str, before: int | None, progress: Progress | None) -> int | None:
    """The step before `before` at which a condition last became true; None if it never did."""
    run._check_live()
    if progress is not None:
        function(progress, "find: progress")
    found = Condition.read(condition, names_now(run), "find:")
    run.timeline.enter()
    first, newest = run.timeline.span
    end = run._training.steps if before is None else integer("find: before", before, 0)
    if not first <= end <= newest + 1:
        raise InputError(f"find: there is no step before {end:,} on this branch; it has {first:,} to {newest:,}")
    if found.of_losses:
        known, step = in_losses(found, run.timeline.line.history, first, end)
        if known:
            return step
    return Search(run.timeline, _reader(run, found), progress).before(end)


def _reader(run: Run, condition: Condition) -> Callable[[], Here]:
    """The condition and its numbers where the run stands; there may be another model there."""
    read: dict[Named, Condition | None] = {names_now(run): condition}

    def here() -> Here:
        named = names_now(run)
        if named not in read:
            try:
                read[named] = Condition.read(condition.text, named, "find:")
            except InputError:
                read[named] = None  # no such weight: it is not true there
        return read[named], _numbers(run)

    return here
