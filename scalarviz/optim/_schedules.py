"""Schedules given by a formula, from `StepLR` to `OneCycleLR` (Smith and Topin, 2018), and `LambdaLR` by a function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import flag, function, one_of
from ..errors import InputError, ScalarvizError
from ..scalar.number import as_number, checked_number, positive
from ._checked import below_one, finite, steps_of, whole_numbers
from ._optimizer import Optimizer
from ._pace import Floats, PaceMoment
from ._scheduler import LRScheduler, groups_of, numbers

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
