"""Schedules that depend on more than the step: `ReduceLROnPlateau` on the loss, `SequentialLR` on other schedules."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..checks import one_of
from ..errors import InputError, TypeMismatchError, shown
from ..scalar.single import as_number
from ._checked import below_one, finite, steps_of
from ._optimizer import Optimizer
from ._pace import Floats, PaceMoment
from ._scheduler import BY_ITSELF, LRScheduler, groups_of, numbers
from ._schedules import whole_numbers


class PlateauStanding(NamedTuple):
    """The position. `total` sums the losses of the `within` training steps since the last check.

    `bad` counts checks without an improvement; `cooldown` counts the checks still to skip.
    """

    stepped: int
    within: int
    total: float
    best: float
    bad: int
    cooldown: int
    rates: tuple[float, ...]


class ReduceLROnPlateau(LRScheduler):
    """Multiply the rates by `factor` after more than `patience` checks in a row without an improvement.

    In a hand-written loop call ``scheduler.step(loss)``. A Run checks the mean loss every `every` steps; a call of the
    engine ends there.

    Parameters
    ----------
    optimizer : Optimizer
    mode : {"min", "max"}
        The direction of improvement.
    factor : float
        Below 1.
    patience, cooldown : int
        Checks without an improvement that are accepted; checks that are skipped after a reduction.
    threshold, threshold_mode : float, {"rel", "abs"}
        The relative or absolute improvement that counts.
    min_lr : float or list of float
        Lower bound of the rates: one for all groups, or one for each.
    eps : float
        A change of at most this size is not made.
    every : int, optional
        Training steps of a Run between checks; default: an epoch.

    Raises
    ------
    InputError
        A number is out of its range.
    """

    _shown = ("mode", "factor", "patience")
    _of_groups = ("base_lrs", "min_lrs")

    def __init__(
        self, optimizer: Optimizer, mode: str = "min", factor: float = 0.1, patience: int = 10,
        threshold: float = 1e-4, threshold_mode: str = "rel", cooldown: int = 0, min_lr: float | Sequence[float] = 0.0,
        eps: float = 1e-8, *, every: int | None = None,
    ) -> None:  # fmt: skip
        title = type(self).__name__
        self.mode = one_of(mode, ("min", "max"), f"{title}: mode")
        self.threshold_mode = one_of(threshold_mode, ("rel", "abs"), f"{title}: threshold_mode")
        self.factor = below_one(factor, f"{title}: factor")
        self.patience = steps_of(f"{title}: patience", patience)
        self.cooldown = steps_of(f"{title}: cooldown", cooldown)
        self.threshold, self.eps = finite(threshold, f"{title}: threshold"), finite(eps, f"{title}: eps", 0.0)
        self.min_lrs = numbers(min_lr, f"{title}: min_lr", groups_of(optimizer))
        self.every = None if every is None else steps_of(f"{title}: every", every, 1)
        super().__init__(optimizer, unit="step")

    @property
    def min_lr(self) -> list[float]:
        """The lower bound of the rate of each parameter group."""
        return list(self.min_lrs)

    def begin(self) -> PlateauStanding:
        return PlateauStanding(0, 0, 0.0, math.inf if self.mode == "min" else -math.inf, 0, 0, self.base_lrs)

    def begun(self, standing: PlateauStanding) -> PlateauStanding:
        return self.begin()

    def now(self, standing: PlateauStanding, rates: tuple[float, ...]) -> tuple[float, ...]:
        return standing.rates

    def _look(self, epoch: int) -> int:
        return epoch if self.every is None else self.every

    def most(self, standing: PlateauStanding, epoch: int) -> int:
        """Return the steps until the next check."""
        return max(1, self._look(epoch) - standing.within)

    def table(self, standing: PlateauStanding, rates: tuple[float, ...], count: int, epoch: int) -> Floats:
        return np.tile(np.array(standing.rates), (count, 1))

    def after(self, standing: PlateauStanding, rates: tuple[float, ...], losses: Floats, epoch: int) -> PlateauStanding:
        total = standing.total
        for loss in losses.tolist():  # one by one, so splitting steps into calls changes no bit
            total += loss
        within = standing.within + len(losses)
        if within < self._look(epoch):
            return standing._replace(within=within, total=total)
        return self._seen(standing._replace(within=0, total=0.0), total / within)

    def scaled(self, standing: PlateauStanding, rates: tuple[float, ...], new: tuple[float, ...]) -> PlateauStanding:
        return standing._replace(rates=new)

    def _seen(self, standing: PlateauStanding, loss: float) -> PlateauStanding:
        better = self._better(loss, standing.best)
        best, bad = (loss, 0) if better else (standing.best, standing.bad + 1)
        cooldown, rates = standing.cooldown, standing.rates
        if cooldown > 0:
            cooldown, bad = cooldown - 1, 0
        if bad > self.patience:
            rates, cooldown, bad = self._reduced(rates), self.cooldown, 0
        return standing._replace(stepped=standing.stepped + 1, best=best, bad=bad, cooldown=cooldown, rates=rates)

    def _better(self, loss: float, best: float) -> bool:
        sign = 1 if self.mode == "min" else -1
        if self.threshold_mode == "rel":
            return sign * loss < sign * (best * (1 - sign * self.threshold))
        return sign * loss < sign * (best - sign * self.threshold)

    def _reduced(self, rates: tuple[float, ...]) -> tuple[float, ...]:
        lower = [max(rate * self.factor, least) for rate, least in zip(rates, self.min_lrs, strict=True)]
        return tuple(new if old - new > self.eps else old for old, new in zip(rates, lower, strict=True))

    def step(self, metrics: Any = None) -> None:
        """Check a loss, in a hand-written loop.

        Raises
        ------
        InputError
            No loss was passed.
        StateError
            As for :meth:`LRScheduler.step`.
        """
        standing, pace = self._standing("step()"), self.optimizer.lr_pace
        self.optimizer._check_free("step() of its schedule", BY_ITSELF)
        if metrics is None:
            raise InputError("ReduceLROnPlateau: step(loss) needs the loss to watch")
        schedule: Any = pace.schedule
        new = schedule._seen(standing, as_number(metrics, "ReduceLROnPlateau: the loss"))
        pace.rates, pace.standing = new.rates, new

    def state_dict(self) -> dict[str, Any]:
        """Return the position as numbers by name; ``best`` is None before the first check."""
        found = super().state_dict()
        return found if math.isfinite(found["best"]) else {**found, "best": None}

    def _read(self, title: str, given: Mapping[str, Any]) -> PlateauStanding:
        whole = {name: steps_of(f"{title}: {name}", given[name]) for name in ("stepped", "within", "bad", "cooldown")}
        best = self.begin().best if given["best"] is None else as_number(given["best"], f"{title}: best")
        total = as_number(given["total"], f"{title}: total")
        rates = numbers(given["rates"], f"{title}: rates", len(self.base_lrs))
        return PlateauStanding(**whole, total=total, best=best, rates=rates)


class SequentialLR(LRScheduler):
    """Use the first schedule up to the first milestone, then the second one from its start, and so on.

    Parameters
    ----------
    optimizer, last_epoch, unit
        See :class:`LRScheduler`; `last_epoch` and `unit` of the parts are ignored.
    schedulers : list of LRScheduler
        Schedules made for this optimiser and not stepped yet.
    milestones : list of int
        Rising step numbers above 0, one fewer than there are schedules.

    Raises
    ------
    TypeMismatchError
        Something in `schedulers` is no schedule.
    InputError
        The milestones do not fit, or a schedule belongs to another optimiser or is a ReduceLROnPlateau.
    """

    _shown = ("schedulers", "milestones")

    def __init__(
        self, optimizer: Optimizer, schedulers: Sequence[LRScheduler], milestones: Sequence[int],
        last_epoch: int = -1, *, unit: str = "step",
    ) -> None:  # fmt: skip
        given: Any = schedulers
        if not isinstance(given, list | tuple) or not all(isinstance(one, LRScheduler) for one in given):
            raise TypeMismatchError(f"SequentialLR: schedulers must be a list of schedules, got {shown(schedulers)}")
        if any(isinstance(one, ReduceLROnPlateau) for one in given):
            raise InputError("SequentialLR: a ReduceLROnPlateau cannot be part of a sequence, because it needs losses")
        if any(one._optimizer() is not optimizer for one in given):
            raise InputError("SequentialLR: all schedules must belong to the same optimiser as the sequence")
        self.schedulers = list(given)
        self.milestones = whole_numbers(milestones, "SequentialLR: milestones")
        if len(self.milestones) != len(self.schedulers) - 1:
            raise InputError(
                f"SequentialLR: {len(self.schedulers)} schedules need {max(0, len(self.schedulers) - 1)} milestones, "
                f"got {len(self.milestones)}"
            )
        if any(a >= b for a, b in pairwise([0, *self.milestones])):
            raise InputError(f"SequentialLR: milestones must rise and be above 0; got {shown(milestones)}")
        if any(one.moving for one in self.schedulers):
            raise InputError("SequentialLR: a part cannot change the momentum; pass cycle_momentum=False to OneCycleLR")
        given_epoch: Any = last_epoch
        if not isinstance(given_epoch, int | np.integer) or given_epoch != -1:
            raise InputError(
                f"SequentialLR: last_epoch must be -1, got {shown(last_epoch)}; to resume use load_state_dict()"
            )
        super().__init__(optimizer, last_epoch, unit=unit)

    def _base(self, moment: PaceMoment) -> tuple[float, ...]:
        first: LRScheduler = self.schedulers[0]
        return first.base_lrs

    def rebound(self, optimizer: Optimizer) -> LRScheduler:
        twin = super().rebound(optimizer)
        assert isinstance(twin, SequentialLR)
        twin.schedulers = [one.rebound(optimizer) for one in self.schedulers]
        return twin

    def regrouped(self, sources: Sequence[int]) -> LRScheduler:
        twin = super().regrouped(sources)
        assert isinstance(twin, SequentialLR)
        twin.schedulers = [one.regrouped(sources) for one in self.schedulers]
        return twin

    def at(self, counts: NDArray[np.int64]) -> Floats:
        """Return the rates of the active schedule, counted from its start."""
        turn = np.searchsorted(self.milestones, counts, "right")
        starts = np.array([0, *self.milestones])
        found = np.empty((len(counts), len(self.base_lrs)))
        for i in np.unique(turn).tolist():
            here = turn == i
            found[here] = self.schedulers[i].at(counts[here] - starts[i])
        return found
