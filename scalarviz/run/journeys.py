"""`Journeys`: the part of a worker that goes to steps that were done, while somebody watches and changes their mind.

A journey waits for its turn as an edit does: what was asked for before it is done before, what comes after it happens
where it has arrived. Of several in a row only the last is gone on.
"""

from __future__ import annotations

import threading
import time
from abc import abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..checks import integer
from .conditions.watch import Stop
from .requests import FrameRequest

if TYPE_CHECKING:
    from .run import Run

LATE = 0.3
"""Seconds on the way to one step after which another step that was asked for meanwhile is gone to instead."""
FAR = 1 << 62
"""Beyond every step."""


@dataclass(frozen=True, slots=True)
class Journey:
    """Somewhere to go.

    Attributes
    ----------
    step : int
        Beyond the first or newest step, that one is meant.
    nearest : bool
        Whether a step near it will do, if one can stand there at once.
    """

    step: int
    nearest: bool = False


class Journeys:
    """One journey at a time; whoever asks last is obeyed."""

    run: Run
    _waiting: deque[Any]
    _target: int
    _closing: bool
    _error: Exception | None
    _stopped: Stop | None
    _called: Callable[[], bool]

    def _stays(self) -> None:
        """It goes nowhere yet."""
        self._condition = threading.Condition()
        self._set_out = 0.0
        self._given_up = False
        self._journey: float | None = None
        self._stopped = None

    @property
    @abstractmethod
    def busy(self) -> bool:
        """Whether there are steps left to do."""

    @abstractmethod
    def _publish(self) -> None:
        """Let others see where the run stands."""

    @abstractmethod
    def _queue(self, item: Any) -> bool:
        """Let it wait for its turn; False if there is no turn any more."""

    def travel(self, step: int, *, nearest: bool = False) -> None:
        """Let the run go to a step that was done, without waiting for it; training stops. Who asks last is obeyed.

        Parameters
        ----------
        step : int
            Beyond the first or newest step, that one is meant.
        nearest : bool
            Whether a step near it will do, if one can stand there at once: for a hand that is still moving.

        Raises
        ------
        InputError
            Not a whole number.
        """
        journey = Journey(integer("travel: step", step, -FAR), nearest)
        with self._condition:
            self._target, self._error, self._stopped, self._given_up = 0, None, None, False
        if not self._queue(journey):
            self._go(journey)

    @property
    def journey(self) -> float | None:
        """How much of the way of :meth:`travel` is done, 0 to 1; None where it goes nowhere."""
        return self._journey

    @property
    def moving(self) -> bool:
        """Whether there is somewhere to go, by steps or by :meth:`travel`."""
        return self.busy or self._journey is not None or self._next() is not None

    @property
    def remark(self) -> str:
        """What is to be said of how the past is kept, such as that a replay takes long; empty for nothing."""
        return self.run.timeline.remark

    def give_up(self) -> None:
        """Let the run stay where it set out."""
        self._given_up = True

    def _next(self) -> Journey | None:
        """The journey that waits, if there is one."""
        return next((item for item in list(self._waiting) if isinstance(item, Journey)), None)

    def _superseded(self, served: int) -> bool:
        """Whether of those that wait, the first so many left out, a journey comes before anything is changed."""
        items = (item for item in list(self._waiting)[served:] if not isinstance(item, FrameRequest))
        return isinstance(next(items, None), Journey)

    def _prepare(self) -> None:
        """While nothing is asked for: make the way back short."""
        while not self._called() and self.run.timeline.prepare():
            pass

    def _go(self, journey: Journey, served: int = 0) -> None:
        """Go where one can stand nearest to where it was asked for."""
        if self._superseded(served) or self._given_up:
            return
        first, newest = self.run.span
        step = min(max(journey.step, first), newest)
        self._journey, self._set_out = 0.0, time.monotonic()

        def on_the_way(done: float) -> bool:
            self._journey = done
            late = time.monotonic() - self._set_out > LATE  # not so often that one never arrives
            return not (self._given_up or self._closing or (late and self._superseded(served)))

        try:
            self.run.to(self.run.timeline.near(step) if journey.nearest else step, progress=on_the_way)
        finally:
            try:
                self._publish()  # before it is said that it has arrived
            finally:
                self._journey = None
