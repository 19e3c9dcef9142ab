"""Between the steps of a run: functions of the user, recorders, and conditions that stop it or once did."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Protocol

from ..checks import flag, function, integer, position
from ..errors import InputError, StateError
from .core.training import exclusive, in_turn
from .questions.breakpoints import Breakpoint, Progress, Watch, in_losses, search
from .questions.conditions import Condition, Named, Numbers
from .questions.expression import fault

if TYPE_CHECKING:
    from .run import Run


class Recorder(Protocol):
    """Told of every place at which a run, or what another library trains, comes to stand."""

    @property
    def every(self) -> int:
        """Calls of the engine end at the steps that this divides, which changes no bit."""

    @property
    def news(self) -> str:
        """What has happened to it that somebody should know; empty where nothing has."""

    def say(self) -> None:
        """Say the news on the terminal, each once, whoever asks for it first."""

    def look(self, run: Any) -> None:
        """The run stands, between two calls of the engine, in the thread that trains; copies are taken, no more."""

    def ended(self, run: Any) -> None:
        """The run is closed, or gives its weights away: this is its last place."""


class StepCallback:
    """A function that a run calls; ``run.on_step`` gives one.

    Attributes
    ----------
    function : callable
    every : int
        It is called after the steps whose number this divides.
    """

    def __init__(self, owner: Run, function: Callable[[Run], object], every: int) -> None:
        self._owner: weakref.ref[Run] | None = weakref.ref(owner)  # else nobody but the collector frees a run
        self.function, self.every = function, every

    @property
    def name(self) -> str:
        """What the function is called."""
        return str(getattr(self.function, "__qualname__", type(self.function).__qualname__))

    @property
    def active(self) -> bool:
        """Whether it is still called."""
        return self._owner is not None and self._owner() is not None

    def remove(self) -> None:
        """Call it no longer. What is removed already stays so."""
        owner, self._owner = None if self._owner is None else self._owner(), None
        if owner is not None:
            owner._callbacks.remove(self)

    def __repr__(self) -> str:
        when = f"every {self.every:,} steps" if self.active else "removed"
        return f"StepCallback({self.name}, {when})"


@in_turn
def on_step(run: Run, fn: Callable[[Run], object], every: int) -> StepCallback:
    """Call ``fn(run)`` after the steps whose number `every` divides."""
    function(fn, "on_step: fn")
    every = integer("on_step: every", every, 1)
    run._check_live()
    callback = StepCallback(run, fn, every)
    run._callbacks.append(callback)
    return callback


@exclusive
def advance_to_callback(run: Run, most: int) -> int:
    """One call of the engine, of at most so many steps and to the next callback; new steps are told of."""
    if run._recorders:
        most = min(most, *(each.every - run._training.steps % each.every for each in run._recorders))
    if not run._callbacks:
        return advance_to_break(run, most)
    if run._calling is not None:
        raise StateError(
            f"step: {run._calling.name} is a callback of this training (step {run._training.steps:,}) and cannot step "
            "the run; it may change the run, and training continues by itself"
        )
    steps, again = run._training.steps, run.timeline.is_behind
    done = advance_to_break(run, min([most, *(each.every - steps % each.every for each in run._callbacks)]))
    if not again:
        _call_back(run)
    return done


def _call_back(run: Run) -> None:
    """Call who wants to know of the step of now; what was written and not announced becomes edits."""
    steps = run._training.steps
    for callback in [each for each in run._callbacks if steps % each.every == 0]:
        if not callback.active:
            continue
        run._calling = callback
        try:
            callback.function(run)
        except Exception as error:
            raise StateError(
                f"on_step: {callback.name} raised {type(error).__name__} after step {steps:,}: {error}. The step is "
                "done; run.step() continues after it. To end the callback, call .remove() of its handle"
            ) from error
        finally:
            run._calling = None
            run.timeline.enter()


@in_turn
def record(run: Run, recorder: Recorder) -> None:
    """From now on a recorder is told of every place at which the run stands, of this one first."""
    run._check_live()
    run.timeline.enter()
    run.timeline.begin()
    run._recorders = (*run._recorders, recorder)
    recorder.look(run)


@in_turn
def stop_recording(run: Run, recorder: Recorder) -> None:
    """It is told of this place, and of no other."""
    if recorder in run._recorders:
        if not run.timeline.destination:
            run.timeline.enter()
            recorder.ended(run)
        run._recorders = tuple(each for each in run._recorders if each is not recorder)


def end_callbacks(run: Run) -> None:
    """Nobody is called any more."""
    for callback in list(run._callbacks):
        callback.remove()
    for recorder in run._recorders:
        stop_recording(run, recorder)


# ---- A run stops where a condition becomes true, and finds where one last did.


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
        for point in run.breakpoints:
            point.reread(named)
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
    """Whether a condition is true where the run stands; of a whole tensor, for one element at least."""
    read = Condition.read(condition, names_now(run), "holds:")
    back = next((load for load in read.expression.loads if load.before), None)
    if back is not None:
        said = "it compares a step with the one before; use break_on or find"
        raise fault(condition, back.start, said, "holds:")
    return bool(read.evaluate(_numbers(run).read).any())


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

    @cache
    def there(named: Named) -> Condition | None:
        try:
            return Condition.read(condition, named, "find:")
        except InputError:
            return None  # no such weight: it is not true there

    return search(run.timeline, lambda: (there(names_now(run)), _numbers(run)), progress, end)
