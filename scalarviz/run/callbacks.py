"""Callbacks between steps, recorders, and conditions that stop a run or are searched in its past."""

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
    """Called at every moment at which a run, or what another library trains, stands still."""

    @property
    def every(self) -> int:
        """Calls of the engine end at the steps that this divides, which changes no bit."""

    @property
    def news(self) -> str:
        """News for the user, such as an error; empty for none."""

    def say(self) -> None:
        """Print the news on the terminal, each once."""

    def look(self, run: Any, *, last: bool = False) -> None:
        """Take copies between two calls of the engine, in the thread that trains; `last`: the run gives them away."""


class StepCallback:
    """A function that a run calls; ``run.on_step`` returns one.

    Attributes
    ----------
    function : callable
    every : int
        The function is called after the steps whose number this divides.
    """

    def __init__(self, owner: Run, function: Callable[[Run], object], every: int) -> None:
        self._owner: weakref.ref[Run] | None = weakref.ref(owner)  # otherwise only the garbage collector frees a run
        self.function, self.every = function, every

    @property
    def name(self) -> str:
        """Name of the function."""
        return str(getattr(self.function, "__qualname__", type(self.function).__qualname__))

    @property
    def active(self) -> bool:
        """True while the callback is still called."""
        return self._owner is not None and self._owner() is not None

    def remove(self) -> None:
        """Stop calling it. A second call does nothing."""
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
    every = integer("on_step: 'every'", every, 1)
    run._check_live()
    callback = StepCallback(run, fn, every)
    run._callbacks.append(callback)
    return callback


@exclusive
def advance_to_callback(run: Run, most: int) -> int:
    """Call the engine once, for at most `most` steps and at most to the next callback; call that; return the steps."""
    if run._recorders:
        most = min(most, *(each.every - run._training.steps % each.every for each in run._recorders))
    if not run._callbacks:
        return advance_to_break(run, most)
    if run._calling is not None:
        raise StateError(
            f"run.step: {run._calling.name} is a callback of this training (step {run._training.steps:,}) and cannot "
            "step the run; it may change the run, and training continues by itself"
        )
    steps, again = run._training.steps, run.timeline.is_behind
    done = advance_to_break(run, min([most, *(each.every - steps % each.every for each in run._callbacks)]))
    if not again:
        _call_back(run)
    return done


def _call_back(run: Run) -> None:
    """Call the callbacks of the current step; unannounced writes become edits."""
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
                "done; run.step() goes on. To end the callback, call .remove() of the handle"
            ) from error
        finally:
            run._calling = None
            run.timeline.enter()


@in_turn
def record(run: Run, recorder: Recorder) -> None:
    """Show the recorder every moment of the run from now on, the current one first."""
    run._check_live()
    run.timeline.enter()
    run.timeline.begin()
    run._recorders = (*run._recorders, recorder)
    recorder.look(run)


@in_turn
def stop_recording(run: Run, recorder: Recorder) -> None:
    """Show the recorder the current moment as its last one."""
    if recorder in run._recorders:
        if not run.timeline.destination:
            run.timeline.enter()
            recorder.look(run, last=True)
        run._recorders = tuple(each for each in run._recorders if each is not recorder)


def end_callbacks(run: Run) -> None:
    """Remove all callbacks and recorders."""
    for callback in list(run._callbacks):
        callback.remove()
    for recorder in run._recorders:
        stop_recording(run, recorder)


# ---- Breakpoints and searches


def break_on(run: Run, condition: str, once: bool) -> Breakpoint:
    """Stop training after the step by which a condition becomes true."""
    once = flag(once, "break_on: once")
    return run.breakpoints.set(Condition.read(condition, names_now(run), "break_on:"), once)


def condition_name(run: Run, index: int) -> str:
    """Return the name of the weight at flat `index` in a condition, in quotes if needed."""
    return names_now(run).weight(position(index, len(run._store.value), "weights"))


def names_now(run: Run) -> Named:
    """Return the current names; after a change of the model, breakpoints are parsed again."""
    named = run._names
    if named is None or named.tensors is not run.tensors or named.stages is not run.stages:
        run._names = named = Named(run.tensors, run.stages, run._losses)
        for point in run.breakpoints:
            point.reread(named)
    return named


def _numbers(run: Run) -> Numbers:
    return Numbers(names_now(run), run._training, run._forward, lambda: float(run.optimizer.lr))


def advance_to_break(run: Run, most: int) -> int:
    """Call the engine once, at most to the first step at which a breakpoint stops; return the number of steps."""
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
    """Return whether a condition is true now; for a whole tensor, for at least one element."""
    read = Condition.read(condition, names_now(run), "holds:")
    back = next((load for load in read.expression.loads if load.before), None)
    if back is not None:
        said = "'before', 'changes' and 'crosses' compare two steps, 'holds' sees one; use break_on or find"
        raise fault(condition, back.start, said, "holds:")
    return bool(read.evaluate(_numbers(run).read).any())


@in_turn
def find(run: Run, condition: str, before: int | None, progress: Progress | None) -> int | None:
    """Return the last step before `before` at which a condition became true, or None."""
    run._check_live()
    if progress is not None:
        function(progress, "run.find: progress")
    found = Condition.read(condition, names_now(run), "find:")
    run.timeline.enter()
    first, newest = run.timeline.span
    end = run._training.steps if before is None else integer("run.find: before", before, 0)
    if not first <= end <= newest + 1:
        raise InputError(f"run.find: no step before {end:,} on this branch of steps {first:,} to {newest:,}")
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
