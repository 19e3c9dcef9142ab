"""`Pace`: the current learning rates of an optimiser, and the schedule that they follow."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ScalarvizError

if TYPE_CHECKING:
    from ._scheduler import LRScheduler

Floats = NDArray[np.float64]


class PaceMoment(NamedTuple):
    """An immutable copy of a pace at one moment."""

    rates: tuple[float, ...]
    schedule: LRScheduler | None
    standing: Any
    momenta: tuple[float, ...] = ()
    initial: tuple[float, ...] = ()


class Pace:
    """The rates, one for each parameter group, and the position of their schedule.

    `momenta`: one for each parameter group, once a schedule moves them. `initial`: the rates at the start of the last
    schedule.
    """

    def __init__(self, rates: Sequence[float] = ()) -> None:
        self.rates = tuple(rates)
        self.schedule: LRScheduler | None = None
        self.standing: Any = None
        self.momenta: tuple[float, ...] = ()
        self.initial: tuple[float, ...] = ()

    def moment(self) -> PaceMoment:
        """Return a copy of the current state."""
        return PaceMoment(self.rates, self.schedule, self.standing, self.momenta, self.initial)

    def restore(self, moment: PaceMoment) -> None:
        self.rates, self.schedule, self.standing, self.momenta, self.initial = moment

    def twin(self) -> Pace:
        """Return an independent copy."""
        return copy.copy(self)

    def follow(self, schedule: LRScheduler | None) -> None:
        """Follow a schedule from its start; None keeps the current rates."""
        if schedule is None:
            self.schedule = self.standing = None
        else:
            self.restore(schedule.pace_at(schedule.begin(), self.momenta))

    def restarted(self) -> PaceMoment:
        """Return the moment at which the schedule restarts; manual factors of the rates stay."""
        if self.schedule is None:
            return self.moment()
        return self.schedule.pace_at(self.schedule.begun(self.standing), self.momenta)

    def set(self, rates: Sequence[float]) -> None:
        """Set other rates for the next step. The schedule is scaled, or ends if its own rate is 0."""
        new = tuple(rates)
        if new == self.rates:
            return
        if self.schedule is not None:
            self.standing = self.schedule.scaled(self.standing, self.rates, new)
            self.schedule = None if self.standing is None else self.schedule
        self.rates = new

    def regroup(self, sources: Sequence[int]) -> None:
        """Replace the parameter groups; each new group has the rate of its old group in `sources`."""
        self.rates = tuple(self.rates[j] for j in sources)
        self.momenta, self.initial = (
            tuple(own[j] for j in sources) if own else () for own in (self.momenta, self.initial)
        )
        if self.schedule is not None:
            self.standing = self.schedule.regrouped_standing(self.standing, sources)
            self.schedule = self.schedule.regrouped(sources)

    # ---- for a Run

    def steps_until_change(self, epoch: int) -> int | None:
        """Return the number of steps after which a Run must ask again at the latest; an epoch has `epoch` steps."""
        return None if self.schedule is None else self.schedule.most(self.standing, epoch)

    def table(self, count: int, epoch: int) -> float | NDArray[np.float64]:
        """Return the rates of the next `count` steps: one number if all are equal, else shape (count, groups).

        If momenta are moved, they follow the rates.
        """
        schedule, standing = self.schedule, self.standing
        if schedule is None:
            own = (*self.rates, *self.momenta)
            return self.rates[0] if len(own) == 1 else np.tile(np.array(own), (count, 1))
        rates = schedule.table(standing, self.rates, count, epoch)
        if not self.momenta:
            return rates
        moved = schedule.momenta(standing, count, epoch) if schedule.moving else np.tile(self.momenta, (count, 1))
        moved[0] = self.momenta  # may have been set by hand
        return np.concatenate([rates, moved], axis=1)

    def advance(self, losses: NDArray[np.float64], epoch: int) -> None:
        """Advance by the steps of `losses`.

        If the schedule has no next rate, `rates` stay and :meth:`table` reports it.
        """
        if self.schedule is not None:
            self.standing = self.schedule.after(self.standing, self.rates, losses, epoch)
            with suppress(ScalarvizError):
                self.restore(self.schedule.pace_at(self.standing, self.momenta)._replace(initial=self.initial))
