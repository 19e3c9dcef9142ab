"""`Journeys`: the part of a worker that goes to steps that were done, while somebody watches and changes their mind."""

from __future__ import annotations

import threading
import time
from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..checks import integer
from .conditions.watch import Stop

if TYPE_CHECKING:
    from .run import Run

LATE = 0.3
"""Seconds on the way to one step after which another step that was asked for meanwhile is gone to instead."""
FAR = 1 << 62
"""Beyond every step."""


class Journeys:
    """One journey at a time; whoever asks last is obeyed."""

    run: Run
    _target: int
    _closing: bool
    _error: Exception | None
    _stopped: Stop | None
    _called: Callable[[], bool]

    def _stays(self) -> None:
        """It goes nowhere yet."""
        self._condition = threading.Condition()
        self._goal: tuple[int, bool] | None = None  # the step to go to; whether a place near it will do
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
        step = integer("travel: step", step, -FAR)
        with self._condition:
            self._target, self._error, self._stopped = 0, None, None
            self._goal, self._given_up = (step, nearest), False
            self._condition.notify_all()

    @property
    def journey(self) -> float | None:
        """How much of the way of :meth:`travel` is done, 0 to 1; None where it goes nowhere."""
        return self._journey

    def give_up(self) -> None:
        """Let the run stay where it set out."""
        self._given_up, self._goal = True, None

    @property
    def moving(self) -> bool:
        """Whether there is somewhere to go, by steps or by :meth:`travel`."""
        return self.busy or self._goal is not None or self._journey is not None

    @property
    def remark(self) -> str:
        """What is to be said of how the past is kept, such as that a replay takes long; empty for nothing."""
        return self.run.timeline.remark

    def _prepare(self) -> None:
        """While nothing is asked for: make the way back short."""
        while not self._called() and self.run.timeline.prepare():
            pass

    def _go(self) -> None:
        with self._condition:
            goal, self._journey, self._goal = self._goal, 0.0, None  # in this order: it is moving all the time
        if goal is None:
            return
        (step, nearest), (first, newest) = goal, self.run.span
        step = min(max(step, first), newest)
        self._set_out = time.monotonic()
        try:
            self.run.to(self.run.timeline.near(step) if nearest else step, progress=self._on_the_way)
        finally:
            try:
                self._publish()  # before it is said that it has arrived
            finally:
                self._journey = None

    def _on_the_way(self, done: float) -> bool:
        """A goal that is new is gone to at once, but not so often that one never arrives."""
        self._journey = done
        late = time.monotonic() - self._set_out > LATE
        return not (self._given_up or self._closing or (late and self._goal is not None))
