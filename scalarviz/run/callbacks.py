"""Functions of the user between a run's steps (``run.on_step``), and who takes down where it stands."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from ..checks import function, integer
from ..errors import StateError
from ..scalar.store import Gate
from .core.training import Training, alone, in_turn
from .past.timeline import Timeline

if TYPE_CHECKING:
    from .run import Run


class Recorder(Protocol):
    """Told of every place at which a run comes to stand: after a call of the engine, an edit, a way back, a load."""

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

    def look(self, run: Run) -> None:
        """The run stands, between two calls of the engine, in the thread that trains; copies are taken, no more.

        It raises nothing: whoever looks on stops no training.
        """
        ...

    def ended(self, run: Run) -> None:
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

    def __init__(self, owner: CallingBack, function: Callable[[Run], object], every: int) -> None:
        self._owner: weakref.ref[CallingBack] | None = weakref.ref(owner)  # else nobody but the collector frees a run
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


class CallingBack:
    """Functions that are called after steps."""

    gate: Gate | None
    timeline: Timeline
    _callbacks: list[StepCallback]
    _calling: StepCallback | None = None
    _recorders: tuple[Recorder, ...] = ()
    _advance_to_break: Callable[[int], int]
    _check_live: Callable[[], None]
    _training: Training

    @in_turn
    def on_step(self, fn: Callable[[Run], object], every: int = 1) -> StepCallback:
        """Call ``fn(run)`` after the steps whose number `every` divides, in the thread that trains.

        What it changes by edits (``run.lr = ...``, ``run.change``, ``w.data = ...``) is recorded as edits at that
        step. Steps that are done again (:meth:`to`, :meth:`back`, following the record) do the edits again and call
        nobody. It must not call :meth:`step`. A closed run calls nobody.

        Parameters
        ----------
        fn : callable
        every : int
            At least 1. Calls of the engine end at its multiples, which changes no bit; 1 makes every call one step.

        Returns
        -------
        StepCallback
            ``.remove()`` ends it.

        Raises
        ------
        TypeMismatchError
            `fn` is no function.
        InputError
            `every` is no whole number of at least 1.
        StateError
            The run is closed, or another Run took its weights. And from :meth:`step`: `fn` has raised; the step is
            done and booked, what `fn` changed before is recorded, and the next call of :meth:`step` goes on.

        Examples
        --------
        ``run.on_step(lambda run: print(run.steps, run.loss), every=100)``
        """
        function(fn, "on_step: fn")
        every = integer("on_step: every", every, 1)
        self._check_live()
        callback = StepCallback(self, fn, every)
        self._callbacks.append(callback)
        return callback

    @alone
    def _advance_to_callback(self, most: int) -> int:
        """One call of the engine, of at most so many steps and to the next callback; new steps are told of."""
        if self._recorders:
            most = min(most, *(each.every - self._training.steps % each.every for each in self._recorders))
        if not self._callbacks:
            return self._advance_to_break(most)
        if self._calling is not None:
            raise StateError(
                f"step: {self._calling.name} was called after step {self._training.steps:,} by this very training; "
                "it must not step the run: let it change the run, the steps go on by themselves"
            )
        steps, again = self._training.steps, self.timeline.behind
        done = self._advance_to_break(min([most, *(each.every - steps % each.every for each in self._callbacks)]))
        if not again:
            self._call_back()
        return done

    def _call_back(self) -> None:
        """Call who wants to know of the step of now; what was written and not announced becomes edits."""
        steps = self._training.steps
        for callback in [each for each in self._callbacks if steps % each.every == 0]:
            if not callback.active:
                continue
            self._calling = callback
            run: Any = self
            try:
                callback.function(run)
            except Exception as error:
                raise StateError(
                    f"on_step: {callback.name} raised {type(error).__name__} after step {steps:,}: {error}; the step "
                    "is done, and run.step() goes on after it (the handle's .remove() ends the callback)"
                ) from error
            finally:
                self._calling = None
                self.timeline.enter()

    @in_turn
    def _record(self, recorder: Recorder) -> None:
        """From now on a recorder is told of every place at which the run stands, of this one first."""
        self._check_live()
        self.timeline.enter()
        self.timeline.begin()
        self._recorders = (*self._recorders, recorder)
        run: Any = self
        recorder.look(run)

    @in_turn
    def _record_no_more(self, recorder: Recorder) -> None:
        """It is told of this place, and of no other."""
        if recorder in self._recorders:
            run: Any = self
            if not self.timeline.away:
                self.timeline.enter()
                recorder.ended(run)
            self._recorders = tuple(each for each in self._recorders if each is not recorder)

    def _end_callbacks(self) -> None:
        """Nobody is called any more."""
        for callback in list(self._callbacks):
            callback.remove()
        for recorder in self._recorders:
            self._record_no_more(recorder)
