"""`Pace`: the learning rates of an optimiser as they are now, and the schedule that they follow."""

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
    """All that a pace is at one moment; nothing of it is ever changed."""

    rates: tuple[float, ...]
    schedule: LRScheduler | None
    standing: Any
    momenta: tuple[float, ...] = ()
    initial: tuple[float, ...] = ()


class Pace:
    """Rates, one a parameter group, and where their schedule stands.

    `momenta`: one a parameter group since a schedule moved them. `initial`: the rates that its last schedule began
    with.
    """

    def __init__(self, rates: Sequence[float] = ()) -> None:
        self.rates = tuple(rates)
        self.schedule: LRScheduler | None = None
        self.standing: Any = None
        self.momenta: tuple[float, ...] = ()
        self.initial: tuple[float, ...] = ()

    def moment(self) -> PaceMoment:
        """It as it is now."""
        return PaceMoment(self.rates, self.schedule, self.standing, self.momenta, self.initial)

    def restore(self, moment: PaceMoment) -> None:
        self.rates, self.schedule, self.standing, self.momenta, self.initial = moment

    def twin(self) -> Pace:
        """Another one that goes on from here by itself."""
        return copy.copy(self)

    def follow(self, schedule: LRScheduler | None) -> None:
        """From here on the rates are those of a schedule, which begins; None: they stay as they are."""
        self.schedule = schedule
        self.standing = None if schedule is None else schedule.begin()
        if schedule is not None:
            self.rates, self.initial = schedule.now(self.standing, self.rates), schedule.base_lrs
            self.momenta = momenta_now(schedule, self.standing, self.momenta)

    def restarted(self) -> PaceMoment:
        """The moment at which its schedule begins anew; what was made of the rates by hand stays."""
        schedule = self.schedule
        if schedule is None:
            return self.moment()
        first = schedule.begun(self.standing)
        moved = momenta_now(schedule, first, self.momenta)
        return PaceMoment(schedule.now(first, schedule.base_lrs), schedule, first, moved, schedule.base_lrs)

    def set(self, rates: Sequence[float]) -> None:
        """Other rates from the next step on: the schedule is scaled, or ends where it makes nothing of a rate."""
        new = tuple(rates)
        if new == self.rates:
            return
        if self.schedule is not None:
            self.standing = self.schedule.scaled(self.standing, self.rates, new)
            self.schedule = None if self.standing is None else self.schedule
        self.rates = new

    def regroup(self, sources: Sequence[int]) -> None:
        """There are other parameter groups from here on; each has the rate of the one that it was a part of."""
        self.rates = tuple(self.rates[j] for j in sources)
        self.momenta, self.initial = (
            tuple(own[j] for j in sources) if own else () for own in (self.momenta, self.initial)
        )
        if self.schedule is not None:
            self.standing = self.schedule.regrouped_standing(self.standing, sources)
            self.schedule = self.schedule.regrouped(sources)

    # ---- what a run asks

    @property
    def remark(self) -> str:
        return "" if self.schedule is None else self.schedule.remark

    def steps_until_change(self, epoch: int) -> int | None:
        """After how many steps the rates must be asked anew at the latest; `epoch` is how many an epoch has."""
        return None if self.schedule is None else self.schedule.most(self.standing, epoch)

    def table(self, count: int, epoch: int) -> float | NDArray[np.float64]:
        """The rates of the next `count` steps: one number if all are alike, else shape (count, groups).

        Where momenta are moved they stand behind the rates.
        """
        schedule, standing = self.schedule, self.standing
        if schedule is None:
            own = (*self.rates, *self.momenta)
            return self.rates[0] if len(own) == 1 else np.tile(np.array(own), (count, 1))
        rates = schedule.table(standing, self.rates, count, epoch)
        if not self.momenta:
            return rates
        moved = schedule.momenta(standing, count, epoch) if schedule.moving else np.tile(self.momenta, (count, 1))
        moved[0] = self.momenta  # which may have been set by hand
        return np.concatenate([rates, moved], axis=1)

    def advance(self, losses: NDArray[np.float64], epoch: int) -> None:
        """Steps were done. Where the schedule gives no rate for the next, `rates` stay and :meth:`table` says it."""
        if self.schedule is not None:
            self.standing = self.schedule.after(self.standing, self.rates, losses, epoch)
            with suppress(ScalarvizError):
                self.rates = self.schedule.now(self.standing, self.rates)
                self.momenta = momenta_now(self.schedule, self.standing, self.momenta)


def momenta_now(schedule: LRScheduler, standing: Any, kept: tuple[float, ...]) -> tuple[float, ...]:
    """The momenta where a schedule stands; those that are `kept` where it does not move them."""
    return tuple(schedule.momenta(standing, 1, 1)[0].tolist()) if schedule.moving else kept
