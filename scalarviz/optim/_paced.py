"""`Paced`: the part of an optimiser that has learning rates, and a schedule that they follow."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from ..errors import TypeMismatchError
from ._pace import Pace, Schedule


class Paced:
    """Rates and schedule."""

    _scheduled: weakref.WeakMethod[Callable[[Schedule | None], None]] | None = None
    """Who is told of another schedule, while a Run trains with the optimiser."""

    @property
    def lr_pace(self) -> Pace:
        """The rates of now and where their schedule stands: what a Run asks."""
        pace: Pace = vars(self).setdefault("_pace", Pace())
        return pace

    @property
    def lr(self) -> float:
        """Learning rate of the next step."""
        rates = self.lr_pace.rates
        if not rates:
            raise AttributeError("lr")  # not set yet
        return rates[0]

    @lr.setter
    def lr(self, lr: float) -> None:
        self._put_rate(lr, None)

    def _put_rate(self, rate: float, group: int | None) -> None:
        self.lr_pace.set((rate,))

    @property
    def lr_schedule(self) -> Schedule | None:
        """What the rates follow."""
        return self.lr_pace.schedule

    @lr_schedule.setter
    def lr_schedule(self, schedule: Schedule | None) -> None:
        edit = None if self._scheduled is None else self._scheduled()
        if edit is None:
            self.put_schedule(schedule)
        else:
            edit(schedule)

    def put_schedule(self, schedule: Any) -> None:
        """Let the rates follow a schedule, whoever trains with the optimiser."""
        if not (schedule is None or isinstance(schedule, Schedule)):
            title = type(self).__name__
            raise TypeMismatchError(f"{title}: a schedule is an LRScheduler or None, got {type(schedule).__name__}")
        self.lr_pace.follow(None if schedule is None else schedule.bound(self))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._pace = self.lr_pace.twin()
        if self._pace.schedule is not None:
            self._pace.schedule = self._pace.schedule.rebound(self)
