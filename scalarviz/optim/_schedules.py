"""Schedules that a formula says: StepLR, MultiStepLR, ExponentialLR, CosineAnnealingLR, LinearLR."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, TypeMismatchError, shown
from ._given import finite, steps_of
from ._optimizer import Optimizer
from ._pace import Floats
from ._scheduler import LRScheduler

Counts = NDArray[np.int64]


class StepLR(LRScheduler):
    """The rates times `gamma` every `step_size` steps.

    Parameters
    ----------
    optimizer : Optimizer
    step_size : int
        At least 1.
    gamma : float
        At least 0.
    last_epoch, unit
        See :class:`LRScheduler`.

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
        """``base_lr * gamma ** (count // step_size)``."""
        return _times(self, _powers(self.gamma, counts // self.step_size))


class MultiStepLR(LRScheduler):
    """The rates times `gamma` at each milestone.

    Parameters
    ----------
    optimizer : Optimizer
    milestones : list of int
        Counts of steps, each at least 0; one that is listed twice counts twice.
    gamma : float
        At least 0.
    last_epoch, unit
        See :class:`LRScheduler`.

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
        """``base_lr * gamma ** (milestones passed)``."""
        return _times(self, _powers(self.gamma, np.searchsorted(self.milestones, counts, "right")))


class ExponentialLR(LRScheduler):
    """The rates times `gamma` at every step.

    Parameters
    ----------
    optimizer : Optimizer
    gamma : float
        At least 0.
    last_epoch, unit
        See :class:`LRScheduler`.

    Raises
    ------
    InputError
        `gamma` is out of its range.
    """

    _shown = ("gamma",)

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1, *, unit: str = "step") -> None:
        self.gamma = finite(gamma, "ExponentialLR: gamma", 0.0)
        super().__init__(optimizer, last_epoch, unit=unit)

    def at(self, counts: Counts) -> Floats:
        """``base_lr * gamma ** count``."""
        return _times(self, _powers(self.gamma, counts))


class CosineAnnealingLR(LRScheduler):
    """Half a cosine down to `eta_min` in `T_max` steps; then up again, and so on.

    Parameters
    ----------
    optimizer : Optimizer
    T_max : int
        At least 1.
    eta_min : float
        The lowest rate, at least 0.
    last_epoch, unit
        See :class:`LRScheduler`.

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
        """``eta_min + (base_lr - eta_min) * (1 + cos(pi * count / T_max)) / 2``."""
        wave = (1 + np.cos(np.pi * (counts % (2 * self.T_max)) / self.T_max)) / 2
        return self.eta_min + np.outer(wave, np.array(self.base_lrs) - self.eta_min)


class LinearLR(LRScheduler):
    """From `start_factor` times the rates to `end_factor` times them, in `total_iters` steps.

    Parameters
    ----------
    optimizer : Optimizer
    start_factor, end_factor : float
        ``0 < start_factor <= 1`` and ``0 <= end_factor <= 1``.
    total_iters : int
        At least 1.
    last_epoch, unit
        See :class:`LRScheduler`.

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
        self.start_factor = finite(start_factor, "LinearLR: start_factor", 0.0)
        self.end_factor = finite(end_factor, "LinearLR: end_factor", 0.0)
        if not 0 < self.start_factor <= 1:
            raise InputError(f"LinearLR: start_factor must lie in 0 < x <= 1, got {shown(start_factor)}")
        if self.end_factor > 1:
            raise InputError(f"LinearLR: end_factor must lie in 0 <= x <= 1, got {shown(end_factor)}")
        self.total_iters = steps_of("LinearLR: total_iters", total_iters, 1)
        super().__init__(optimizer, last_epoch, unit=unit)

    def at(self, counts: Counts) -> Floats:
        """``base_lr * (start_factor + (end_factor - start_factor) * min(count, total_iters) / total_iters)``."""
        share = np.minimum(counts, self.total_iters) / self.total_iters
        return _times(self, self.start_factor + (self.end_factor - self.start_factor) * share)


def whole_numbers(given: object, what: str) -> list[int]:
    """A list of whole numbers that are at least 0.

    Raises
    ------
    TypeMismatchError
        `given` is no list.
    InputError
        One of them is none.
    """
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeMismatchError(f"{what} is a list of whole numbers, got {type(given).__name__} {shown(given)}")
    return [steps_of(f"{what}[{i}]", one, 0) for i, one in enumerate(given)]


def _powers(gamma: float, exponents: NDArray[np.int64]) -> Floats:
    """``gamma ** exponents``; in Python's arithmetic, which is the same for one number and for many."""
    distinct, places = np.unique(exponents, return_inverse=True)
    return np.array([_power(gamma, k) for k in distinct.tolist()])[places]


def _power(gamma: float, exponent: int) -> float:
    try:
        return float(gamma**exponent)
    except OverflowError:
        return float("inf")


def _times(schedule: LRScheduler, factors: Floats) -> Floats:
    return np.outer(factors, np.array(schedule.base_lrs))
