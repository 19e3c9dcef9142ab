"""SequentialLR: schedules one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, TypeMismatchError, shown
from ._optimizer import Optimizer
from ._pace import Floats, PaceMoment
from ._plateau import ReduceLROnPlateau
from ._scheduler import LRScheduler
from ._schedules import whole_numbers


class SequentialLR(LRScheduler):
    """The first schedule up to the first milestone, the second one from there on, which begins then, and so on.

    Parameters
    ----------
    optimizer : Optimizer
    schedulers : list of LRScheduler
        Made for this optimiser, not stepped yet.
    milestones : list of int
        One fewer than there are schedules, rising, each above 0.
    last_epoch, unit
        See :class:`LRScheduler`; those of the parts do not count.

    Raises
    ------
    TypeMismatchError
        Something in `schedulers` is no schedule.
    InputError
        Milestones that do not fit, a schedule of another optimiser, or a ReduceLROnPlateau, which no count says.
    """

    _shown = ("schedulers", "milestones")

    def __init__(
        self, optimizer: Optimizer, schedulers: Sequence[LRScheduler], milestones: Sequence[int],
        last_epoch: int = -1, *, unit: str = "step",
    ) -> None:  # fmt: skip
        given: Any = schedulers
        if not isinstance(given, list | tuple) or not all(isinstance(one, LRScheduler) for one in given):
            raise TypeMismatchError(f"SequentialLR: schedulers is a list of schedules, got {shown(schedulers)}")
        if any(isinstance(one, ReduceLROnPlateau) for one in given):
            raise InputError("SequentialLR: a ReduceLROnPlateau looks at losses; it cannot be one of several in a row")
        if any(one._optimizer() is not optimizer for one in given):
            raise InputError("SequentialLR: all schedules are made for the optimiser that it is made for")
        self.schedulers = list(given)
        self.milestones = whole_numbers(milestones, "SequentialLR: milestones")
        if len(self.milestones) != len(self.schedulers) - 1:
            raise InputError(
                f"SequentialLR: {len(self.schedulers)} schedules need {max(0, len(self.schedulers) - 1)} milestones, "
                f"got {len(self.milestones)}"
            )
        if any(a >= b for a, b in pairwise([0, *self.milestones])):
            raise InputError(f"SequentialLR: milestones rise, each above 0; got {shown(milestones)}")
        if any(one.moving for one in self.schedulers):
            raise InputError("SequentialLR: a part cannot move the momentum; give OneCycleLR cycle_momentum=False")
        given_epoch: Any = last_epoch
        if not isinstance(given_epoch, int | np.integer) or given_epoch != -1:
            raise InputError(
                f"SequentialLR: last_epoch must be -1, got {shown(last_epoch)}; load_state_dict() goes on elsewhere"
            )
        super().__init__(optimizer, last_epoch, unit=unit)

    def _base(self, moment: PaceMoment) -> tuple[float, ...]:
        first: LRScheduler = self.schedulers[0]
        return first.base_lrs

    def rebound(self, optimizer: Optimizer) -> LRScheduler:
        """A copy, told whose it is; its parts too."""
        twin = super().rebound(optimizer)
        assert isinstance(twin, SequentialLR)
        twin.schedulers = [one.rebound(optimizer) for one in self.schedulers]
        return twin

    def regrouped(self, sources: Sequence[int]) -> LRScheduler:
        """The same for other parameter groups; its parts too."""
        twin = super().regrouped(sources)
        assert isinstance(twin, SequentialLR)
        twin.schedulers = [one.regrouped(sources) for one in self.schedulers]
        return twin

    def at(self, counts: NDArray[np.int64]) -> Floats:
        """Those of the schedule whose turn it is, counted from where that began."""
        turn = np.searchsorted(self.milestones, counts, "right")
        starts = np.array([0, *self.milestones])
        found = np.empty((len(counts), len(self.base_lrs)))
        for i in np.unique(turn).tolist():
            here = turn == i
            found[here] = self.schedulers[i].at(counts[here] - starts[i])
        return found
