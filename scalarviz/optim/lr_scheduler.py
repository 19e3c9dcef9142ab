"""Schedules of the learning rate, with PyTorch's names and arguments.

Read `_scheduler` first: a schedule gives the rates after a number of its steps. Those with one formula stand before
those that depend on more. `_pace` stores the rates of an optimiser.

Examples
--------
>>> from scalarviz import nn, optim
>>> optimizer = optim.SGD(nn.Linear(2, 1).parameters(), lr=0.1)
>>> schedule = optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
>>> for _ in range(3):
...     optimizer.step(); schedule.step()
>>> optimizer.lr
0.05
"""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..arguments import explain, module_names
from ..checks import flag, function, mapping, one_of, text
from ..errors import InputError, ScalarvizError, TypeMismatchError, listing, shown
from ..scalar.number import as_number, checked_number, positive
from ._checked import below_one, finite, steps_of, whole_numbers
from ._optimizer import Optimizer
from ._pace import BY_ITSELF, Floats, LRScheduler, Pace, PaceMoment, Standing, groups_of, numbers

__all__ = [
    "CosineAnnealingLR", "ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "OneCycleLR",
    "ReduceLROnPlateau", "SequentialLR", "Standing", "StepLR",
]  # fmt: skip


Counts = NDArray[np.int64]


class StepLR(LRScheduler):
    """Multiply the rates by `gamma` every `step_size` steps.

    Parameters
    ----------
    optimizer, last_epoch, unit
        See :class:`LRScheduler`.
    step_size : int
        At least 1.
    gamma : float
        At least 0.

    Raises
    ------
    InputError
        A number is out of its range.
    """

    _shown = ("step_size", "gamma")

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1, *, unit: str = "step"
    ) -> None:
        self.step_size = steps_of("StepLR: step_size", step_size, 1)
        self.gamma = finite(gamma, "StepLR: gamma", 0.0)
        super().__init__(optimizer, last_epoch, unit=unit)

    def at(self, counts: Counts) -> Floats:
        """Return ``base_lr * gamma ** (count // step_size)``."""
        return _times(self, _powers(self.gamma, counts // self.step_size))


class MultiStepLR(LRScheduler):
    """Multiply the rates by `gamma` at each milestone.

    Parameters
    ----------
    optimizer, last_epoch, unit
        See :class:`LRScheduler`.
    milestones : list of int
        Numbers of steps, each at least 0; one that is listed twice counts twice.
    gamma : float
        At least 0.

    Raises
    ------
    InputError, TypeMismatchError
        A number is out of its range, or `milestones` is no list.
    """

    _shown = ("milestones", "gamma")

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1, *,
        unit: str = "step",
    ) -> None:  # fmt: skip
        self.milestones = sorted(whole_numbers(milestones, "MultiStepLR: milestones"))
        self.gamma = finite(gamma, "MultiStepLR: gamma", 0.0)
        super().__init__(optimizer, last_epoch, unit=unit)

    def at(self, counts: Counts) -> Floats:
        """Return ``base_lr * gamma ** (milestones passed)``."""
        return _times(self, _powers(self.gamma, np.searchsorted(self.milestones, counts, "right")))


class ExponentialLR(LRScheduler):
    """Multiply the rates by `gamma` at every step.

    Parameters
    ----------
    optimizer, last_epoch, unit
        See :class:`LRScheduler`.
    gamma : float
        At least 0.

    Raises
    ------
    InputError
        A number is out of its range.
    """

    _shown = ("gamma",)

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1, *, unit: str = "step") -> None:
        self.gamma = finite(gamma, "ExponentialLR: gamma", 0.0)
        super().__init__(optimizer, last_epoch, unit=unit)

    def at(self, counts: Counts) -> Floats:
        """Return ``base_lr * gamma ** count``."""
        return _times(self, _powers(self.gamma, counts))


class CosineAnnealingLR(LRScheduler):
    """Lower the rates along half a cosine to `eta_min` in `T_max` steps; then raise them again, and so on.

    Parameters
    ----------
    optimizer, last_epoch, unit
        See :class:`LRScheduler`.
    T_max : int
        At least 1.
    eta_min : float
        The lowest rate, at least 0.

    Raises
    ------
    InputError
        A number is out of its range.
    """

    _shown = ("T_max", "eta_min")

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1, *,
        unit: str = "step",
    ) -> None:  # fmt: skip
        self.T_max = steps_of("CosineAnnealingLR: T_max", T_max, 1)
        self.eta_min = finite(eta_min, "CosineAnnealingLR: eta_min", 0.0)
        super().__init__(optimizer, last_epoch, unit=unit)

    def at(self, counts: Counts) -> Floats:
        """Return ``eta_min + (base_lr - eta_min) * (1 + cos(pi * count / T_max)) / 2``."""
        wave = (1 + np.cos(np.pi * (counts % (2 * self.T_max)) / self.T_max)) / 2
        return self.eta_min + np.outer(wave, np.array(self.base_lrs) - self.eta_min)


class LinearLR(LRScheduler):
    """Change the rates linearly from `start_factor` to `end_factor` times the base rates in `total_iters` steps.

    Parameters
    ----------
    optimizer, last_epoch, unit
        See :class:`LRScheduler`.
    start_factor, end_factor : float
        ``0 < start_factor <= 1`` and ``0 <= end_factor <= 1``.
    total_iters : int
        At least 1.

    Raises
    ------
    InputError
        A number is out of its range.
    """

    _shown = ("start_factor", "end_factor", "total_iters")

    def __init__(
        self, optimizer: Optimizer, start_factor: float = 1.0 / 3, end_factor: float = 1.0, total_iters: int = 5,
        last_epoch: int = -1, *, unit: str = "step",
    ) -> None:  # fmt: skip
        first, last = "LinearLR: start_factor", "LinearLR: end_factor"
        self.start_factor = checked_number(start_factor, first, lambda x: 0 < x <= 1, "be > 0 and <= 1")
        self.end_factor = checked_number(end_factor, last, lambda x: 0 <= x <= 1, "be >= 0 and <= 1")
        self.total_iters = steps_of("LinearLR: total_iters", total_iters, 1)
        super().__init__(optimizer, last_epoch, unit=unit)

    def at(self, counts: Counts) -> Floats:
        """Return ``base_lr * (start_factor + (end_factor - start_factor) * min(count, total_iters) / total_iters)``."""
        share = np.minimum(counts, self.total_iters) / self.total_iters
        return _times(self, self.start_factor + (self.end_factor - self.start_factor) * share)


def _powers(gamma: float, exponents: NDArray[np.int64]) -> Floats:
    """Return ``gamma ** exponents``, in Python's arithmetic: one number and many give the same bits."""
    distinct, places = np.unique(exponents, return_inverse=True)
    return np.array([_power(gamma, k) for k in distinct.tolist()])[places]


def _power(gamma: float, exponent: int) -> float:
    try:
        return float(gamma**exponent)
    except OverflowError:
        return float("inf")


def _times(schedule: LRScheduler, factors: Floats) -> Floats:
    return np.outer(factors, np.array(schedule.base_lrs))


STRATEGIES = ("cos", "linear")


class OneCycleLR(LRScheduler):
    """Raise rates from ``max_lr / div_factor`` to `max_lr`; lower them to ``max_lr / div_factor / final_div_factor``.

    Parameters
    ----------
    optimizer, last_epoch, unit
        See :class:`LRScheduler`.
    max_lr : float or list of float
        The highest rate: one for all groups, or one for each.
    total_steps : int, optional
        Length of the whole cycle; default: ``epochs * steps_per_epoch``.
    pct_start : float
        The share of the cycle in which rates rise, ``0 <= pct_start <= 1``.
    anneal_strategy : {"cos", "linear"}
    cycle_momentum : bool
        Move the momentum (Adam: the first beta) the other way, from `max_momentum` to `base_momentum` and back. A
        number set by hand meanwhile holds for one step.
    base_momentum, max_momentum : float or list of float
        One for all groups, or one for each, ``0 <= x < 1``.
    div_factor, final_div_factor : float
        Above 0.
    three_phase : bool
        Rise, fall back to the first rate in the same time, then fall to the last rate.

    Raises
    ------
    InputError
        A number is out of its range, no length is given, or `cycle_momentum` is set for an optimiser without momentum.

    Notes
    -----
    After the cycle a Run keeps the last rate; a step by hand raises InputError, as PyTorch does.
    """

    _shown = ("max_lr", "total_steps", "pct_start", "anneal_strategy", "three_phase")
    _of_groups = ("base_lrs", "max_lr", "base_momentum", "max_momentum")

    def __init__(
        self, optimizer: Optimizer, max_lr: float | Sequence[float], total_steps: int | None = None,
        epochs: int | None = None, steps_per_epoch: int | None = None, pct_start: float = 0.3,
        anneal_strategy: str = "cos", cycle_momentum: bool = True, base_momentum: float | Sequence[float] = 0.85,
        max_momentum: float | Sequence[float] = 0.95, div_factor: float = 25.0, final_div_factor: float = 1e4,
        three_phase: bool = False, last_epoch: int = -1, *, unit: str = "step",
    ) -> None:  # fmt: skip
        self.cycle_momentum = self.moving = flag(cycle_momentum, "OneCycleLR: cycle_momentum")
        if self.moving and getattr(optimizer, "momentum_name", "") is None:
            raise InputError(
                f"OneCycleLR: {type(optimizer).__name__} has neither momentum nor betas for cycle_momentum=True; "
                "pass cycle_momentum=False"
            )
        self.total_steps = _total(total_steps, epochs, steps_per_epoch)
        self.pct_start = checked_number(pct_start, "OneCycleLR: pct_start", lambda x: 0 <= x <= 1, "be >= 0 and <= 1")
        self.anneal_strategy = one_of(anneal_strategy, STRATEGIES, "OneCycleLR: anneal_strategy")
        self.div_factor = positive(div_factor, "OneCycleLR: div_factor")
        self.final_div_factor = positive(final_div_factor, "OneCycleLR: final_div_factor")
        self.three_phase = flag(three_phase, "OneCycleLR: three_phase")
        groups = groups_of(optimizer)
        self.max_lr = numbers(max_lr, "OneCycleLR: max_lr", groups)
        self.base_momentum, self.max_momentum = (
            tuple(below_one(one, f"OneCycleLR: {name}") for one in numbers(given, f"OneCycleLR: {name}", groups))
            for given, name in ((base_momentum, "base_momentum"), (max_momentum, "max_momentum"))
        )
        super().__init__(optimizer, last_epoch, unit=unit)

    def _base(self, moment: PaceMoment) -> tuple[float, ...]:
        return tuple(most / self.div_factor for most in self.max_lr)

    def _resumed(self, optimizer: Optimizer) -> tuple[float, ...]:
        return self._base(optimizer.lr_pace.moment())

    def _ends(self) -> list[float]:
        """Return the ends of the phases."""
        up = float(self.pct_start * self.total_steps)
        return [up - 1, *([2 * up - 2] if self.three_phase else []), self.total_steps - 1.0]

    def at(self, counts: NDArray[np.int64]) -> Floats:
        """Interpolate between the ends of each phase, by half a cosine or linearly."""
        low, high = np.array(self.base_lrs), np.array(self.max_lr)
        last = low / self.final_div_factor
        return self._between(counts, [low, high, low, last] if self.three_phase else [low, high, last])

    def momenta_at(self, counts: NDArray[np.int64]) -> Floats:
        """Interpolate the momenta, which move the other way."""
        low, high = np.array(self.base_momentum), np.array(self.max_momentum)
        return self._between(counts, [high, low, high, high] if self.three_phase else [high, low, high])

    def _between(self, counts: NDArray[np.int64], levels: list[Floats]) -> Floats:
        """Interpolate `levels`, the values at the start and end of each phase, shape (groups,)."""
        ends = self._ends()
        steps = np.minimum(counts, self.total_steps)
        found = np.empty((len(counts), len(levels[0])))
        within = steps[:, np.newaxis] <= np.array([*ends[:-1], np.inf])
        phase = within.argmax(axis=1)  # the first phase that contains them: phases may overlap
        for i, (end, before, after) in enumerate(zip(ends, levels, levels[1:], strict=False)):
            start, here = ends[i - 1] if i else 0.0, phase == i
            share = (steps[here] - start) / (end - start) if end != start else np.ones(int(here.sum()))
            if self.anneal_strategy == "cos":
                found[here] = after + np.outer(1 + np.cos(np.pi * share), (before - after) / 2)
            else:
                found[here] = before + np.outer(share, after - before)
        found[counts > self.total_steps] = levels[-1]  # PyTorch raises here
        return np.maximum(found, 0.0) if self.anneal_strategy == "linear" else found

    def step(self) -> None:
        """Advance by one step in a hand-written loop; InputError after the last step."""
        if self.last_epoch >= self.total_steps:
            raise InputError(f"OneCycleLR: the cycle of {self.total_steps:,} steps has ended")
        super().step()


def _total(total_steps: Any, epochs: Any, steps_per_epoch: Any) -> int:
    if total_steps is not None:
        return steps_of("OneCycleLR: total_steps", total_steps, 1)
    if epochs is None or steps_per_epoch is None:
        raise InputError("OneCycleLR: give total_steps, or both epochs and steps_per_epoch")
    total = steps_of("OneCycleLR: epochs", epochs, 1) * steps_of("OneCycleLR: steps_per_epoch", steps_per_epoch, 1)
    return steps_of("OneCycleLR: epochs * steps_per_epoch", total, 1)


Factor = Callable[[int], Any]
_TRIED = (0, 1, 2, 7, 100)
"""Counts at which a function of an array must give the results of single calls."""


class LambdaLR(LRScheduler):
    """Multiply the rates by ``lr_lambda(count)``.

    Parameters
    ----------
    optimizer, last_epoch, unit
        See :class:`LRScheduler`.
    lr_lambda : callable or list of callable
        One for all groups, or one for each. It takes the number of schedule steps and returns a factor >= 0, always the
        same for the same count. It is called with an array of counts if that gives the results of single calls.

    Raises
    ------
    TypeMismatchError
        `lr_lambda` is no function, or it returns no number.
    InputError
        The number of functions differs from the number of groups, or the first rate is negative or not finite.
    """

    _of_groups = ("base_lrs", "lr_lambdas", "_many")

    def __init__(
        self, optimizer: Optimizer, lr_lambda: Factor | Sequence[Factor], last_epoch: int = -1, *, unit: str = "step"
    ) -> None:
        groups = groups_of(optimizer)
        given: Any = lr_lambda
        listed = list(given) if isinstance(given, list | tuple) else [given] * groups
        if len(listed) != groups:
            raise InputError(f"LambdaLR: give one function per parameter group ({groups}), got {len(listed)}")
        self.lr_lambdas = [function(one, "LambdaLR: lr_lambda") for one in listed]
        self._many = [_takes_arrays(one) for one in self.lr_lambdas]
        super().__init__(optimizer, last_epoch, unit=unit)

    def at(self, counts: NDArray[np.int64]) -> Floats:
        """Return ``base_lr * lr_lambda(count)``."""
        pairs = zip(self._many, self.lr_lambdas, strict=True)
        factors = [_computed(one, counts) if many else _called(one, counts) for many, one in pairs]
        found: Floats = np.stack(factors, axis=1) * np.array(self.base_lrs)
        return found

    def __repr__(self) -> str:
        names = [str(getattr(one, "__name__", type(one).__name__)) for one in dict.fromkeys(self.lr_lambdas)]
        return f"LambdaLR({', '.join(names)}{'' if self.unit == 'step' else ', unit=' + repr(self.unit)})"


def _called(one: Factor, counts: NDArray[np.int64]) -> Floats:
    found = []
    for count in counts.tolist():
        try:
            found.append(as_number(one(count), "LambdaLR: the result of lr_lambda"))
        except ScalarvizError:
            raise
        except Exception as error:  # a user's function may raise anything
            raise InputError(f"LambdaLR: lr_lambda({count}) raised {type(error).__name__}: {error!s:.200}") from error
    return np.array(found, np.float64)


def _computed(one: Factor, counts: NDArray[np.int64]) -> Floats:
    given: Any = counts.astype(np.float64)
    return np.broadcast_to(np.asarray(one(given), np.float64), counts.shape)


def _takes_arrays(one: Factor) -> bool:
    """Return whether the function computes an array of counts, with the results of single calls."""
    try:
        called = _called(one, np.array(_TRIED))  # the function may index a list that ends earlier
        return np.allclose(_computed(one, np.array(_TRIED)), called, rtol=1e-13, atol=0, equal_nan=True)
    except Exception:  # the function takes a number only
        return False


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
        self.every = None if every is None else steps_of(f"{title}: 'every'", every, 1)
        super().__init__(optimizer, unit="step")

    @property
    def min_lr(self) -> list[float]:
        """The lower bound of the rate of each parameter group."""
        return list(self.min_lrs)

    def begin(self) -> PlateauStanding:
        return PlateauStanding(0, 0, 0.0, math.inf if self.mode == "min" else -math.inf, 0, 0, self.base_lrs)

    def begun(self, standing: PlateauStanding) -> PlateauStanding:
        return self.begin()

    def now(self, standing: PlateauStanding) -> tuple[float, ...]:
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
        self.schedulers: list[LRScheduler] = list(given)
        self.milestones = whole_numbers(milestones, "SequentialLR: milestones")
        if len(self.milestones) != len(self.schedulers) - 1:
            raise InputError(
                "SequentialLR: give one schedule and one milestone for each further schedule; got schedules: "
                f"{len(self.schedulers)}, milestones: {len(self.milestones)}"
            )
        if any(a >= b for a, b in pairwise([0, *self.milestones])):
            raise InputError(f"SequentialLR: milestones must rise and be above 0; got {shown(milestones)}")
        if any(one.moving for one in self.schedulers):
            raise InputError("SequentialLR: no schedule may change momentum; pass cycle_momentum=False to OneCycleLR")
        given_epoch: Any = last_epoch
        if not isinstance(given_epoch, int | np.integer) or given_epoch != -1:
            raise InputError(
                f"SequentialLR: last_epoch must be -1, got {shown(last_epoch)}; to resume use load_state_dict()"
            )
        super().__init__(optimizer, last_epoch, unit=unit)

    def _base(self, moment: PaceMoment) -> tuple[float, ...]:
        return self.schedulers[0].base_lrs

    def rebound(self, optimizer: Optimizer) -> Self:
        twin = super().rebound(optimizer)
        twin.schedulers = [one.rebound(optimizer) for one in self.schedulers]
        return twin

    def regrouped(self, sources: Sequence[int]) -> Self:
        twin = super().regrouped(sources)
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


# ---- All schedules by name


_ABSENT = {"verbose": "run.lr and get_last_lr() give the rates"}

KINDS: dict[str, type[LRScheduler]] = {
    name: globals()[name] for name in __all__ if name not in ("LRScheduler", "LambdaLR", "Standing")
}
"""The schedules that numbers describe; a LambdaLR has functions."""

explain(LambdaLR, _ABSENT)
for _kind in KINDS.values():  # Python checks users' schedules itself
    explain(_kind, _ABSENT)

_OWN = "use LambdaLR for any function of the count, SequentialLR to chain schedules"
_SCHEDULES = dict.fromkeys(
    ("ChainedScheduler", "ConstantLR", "CosineAnnealingWarmRestarts", "CyclicLR", "MultiplicativeLR", "PolynomialLR"),
    _OWN,
)
"""PyTorch's schedules that are missing here, with advice."""

if not TYPE_CHECKING:
    __dir__, __getattr__ = module_names(__name__, __all__, _SCHEDULES)


# ---- Schedules as plain data: describe one, and make it again.


_APART = ("self", "optimizer", "last_epoch", "epochs", "steps_per_epoch", "schedulers")


def described(schedule: Any) -> dict[str, Any]:
    """Return the ``"kind"``, ``"base_lrs"`` and, if they are numbers, the ``"arguments"``, as plain data."""
    found: dict[str, Any] = {"kind": type(schedule).__name__, "base_lrs": list(schedule.base_lrs)}
    parts = schedule.schedulers if type(schedule) is SequentialLR else []
    if KINDS.get(found["kind"]) is not type(schedule) or any(type(part) is LambdaLR for part in parts):
        return found
    if schedule._first:
        found["first"] = schedule._first
    names = [name for name in inspect.signature(type(schedule).__init__).parameters if name not in _APART]
    numbered = ((name, getattr(schedule, name)) for name in names)
    found["arguments"] = {name: list(part) if isinstance(part, tuple) else part for name, part in numbered}
    if parts:
        found["arguments"]["schedulers"] = [described(part) for part in parts]
    return found


def remade(said: Any, optimizer: Optimizer, groups: int) -> LRScheduler:
    """Make the schedule from the result of :func:`described`, for an optimiser with this many `groups`.

    The optimiser is not changed. A schedule with functions is copied from it, with the described initial rates.
    """
    given = mapping(said, "the schedule")
    kind, own = text(given.get("kind"), "the schedule: its kind"), optimizer.lr_schedule
    base = numbers(given.get("base_lrs"), f"the schedule {kind:.60}: base_lrs", groups)
    if own is not None and described(own) == dict(given):
        return own
    if "arguments" in given and kind in KINDS:
        return _made(given, optimizer, base)
    if own is None or type(own).__name__ != kind:
        raise InputError(f"a {kind:.60} cannot be rebuilt from its numbers; create one for the optimiser first")
    if own.base_lrs == base:
        return own
    if len(own.base_lrs) != len(base):
        raise InputError(f"parameter groups differ: {kind} {len(base)}, run {len(own.base_lrs)}")
    twin = own.rebound(optimizer)
    twin.base_lrs = base
    return twin


def _made(said: Mapping[str, Any], optimizer: Optimizer, base: tuple[float, ...]) -> LRScheduler:
    kind, title = KINDS[said["kind"]], f"the schedule {said['kind']}"
    arguments = dict(mapping(said["arguments"], f"{title}: the arguments"))
    bare = copy.copy(optimizer)
    bare._pace, bare._rules = Pace(base), ()  # the rules belong to the optimiser
    if kind is SequentialLR:
        parts = arguments.get("schedulers")
        if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
            raise InputError(f"{title}: schedulers must be a list of schedules, got {shown(parts)}")
        known = [isinstance(part.get("kind"), str) and part["kind"] in KINDS and "arguments" in part for part in parts]
        if not all(known):
            raise InputError(f"{title}: its parts must be among {listing(KINDS)}")
        arguments["schedulers"] = [
            _made(part, bare, numbers(part.get("base_lrs"), f"{title}: base_lrs", len(base))) for part in parts
        ]
        bare.lr_pace.restore(Pace(base).moment())
    try:
        made = kind(bare, **arguments)
    except TypeError as error:
        raise InputError(f"{title}: {error}") from None
    made.base_lrs, made._first = base, steps_of(f"{title}: first", said.get("first", 0))
    return made.rebound(optimizer)
