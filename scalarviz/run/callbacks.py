"""Functions of the user between the steps of a run (``run.on_step``), and recorders, which are told of every place."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from ..checks import function, integer
from ..errors import StateError
from .breaking import advance_to_break
from .core.training import alone, in_turn

if TYPE_CHECKING:
    from .run import Run


class Recorder(Protocol):
    """Told of every place at which a run, or what another library trains, comes to stand.

    That is after a call of the engine, an edit, a way back, a load.
    """

    @property
    def every(self) -> int:
        """Calls of the engine end at the steps that this divides, which changes no bit."""
        ...

    @property
    def news(self) -> str:
        """What has happened to it that somebody should know; empty where nothing has."""
        ...

    def say(self) -> None:
        """Say the news on the terminal, each once, whoever asks for it first."""
        ...

    def look(self, run: Any) -> None:
        """The run stands, between two calls of the engine, in the thread that trains; copies are taken, no more.

        It raises nothing: whoever looks on stops no training.
        """
        ...

    def ended(self, run: Any) -> None:
        """The run is closed, or gives its weights away: this is its last place."""
        ...


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


@alone
def advance_to_callback(run: Run, most: int) -> int:
    """One call of the engine, of at most so many steps and to the next callback; new steps are told of."""
    if run._recorders:
        most = min(most, *(each.every - run._training.steps % each.every for each in run._recorders))
    if not run._callbacks:
        return advance_to_break(run, most)
    if run._calling is not None:
        raise StateError(
            f"step: {run._calling.name} was called after step {run._training.steps:,} by this very training; "
            "it must not step the run: let it change the run, the steps go on by themselves"
        )
    steps, again = run._training.steps, run.timeline.behind
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
                f"on_step: {callback.name} raised {type(error).__name__} after step {steps:,}: {error}; the step "
                "is done, and run.step() goes on after it (the handle's .remove() ends the callback)"
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
def record_no_more(run: Run, recorder: Recorder) -> None:
    """It is told of this place, and of no other."""
    if recorder in run._recorders:
        if not run.timeline.away:
            run.timeline.enter()
            recorder.ended(run)
        run._recorders = tuple(each for each in run._recorders if each is not recorder)


def end_callbacks(run: Run) -> None:
    """Nobody is called any more."""
    for callback in list(run._callbacks):
        callback.remove()
    for recorder in run._recorders:
        record_no_more(run, recorder)
