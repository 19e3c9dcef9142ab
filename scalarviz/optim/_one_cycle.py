"""OneCycleLR: up to a rate and down again, once (Smith and Topin, 2018)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import flag, one_of
from ..errors import InputError, shown
from ._given import below_one, finite, steps_of
from ._optimizer import Optimizer
from ._pace import Floats, PaceMoment
from ._scheduler import LRScheduler, groups_of, numbers

STRATEGIES = ("cos", "linear")


class OneCycleLR(LRScheduler):
    """From ``max_lr / div_factor`` up to `max_lr` and down to ``max_lr / div_factor / final_div_factor``.

    Parameters
    ----------
    optimizer : Optimizer
    max_lr : float or list of float
        The highest rate, of all groups or one for each.
    total_steps : int, optional
        Of the whole cycle; else ``epochs * steps_per_epoch``.
    epochs, steps_per_epoch : int, optional
    pct_start : float
        The share of the cycle that goes up, ``0 <= pct_start <= 1``.
    anneal_strategy : {"cos", "linear"}
    cycle_momentum : bool
        Momentum, of Adam the first of its betas, goes the other way: from `max_momentum` down to `base_momentum` and up
        again. A number that is set by hand meanwhile is that of one step.
    base_momentum, max_momentum : float or list of float
        Of all groups or one for each, ``0 <= x < 1``.
    div_factor, final_div_factor : float
        Above 0.
    three_phase : bool
        Up, down to the first rate again as long, then down to the last.
    last_epoch, unit
        See :class:`LRScheduler`.

    Raises
    ------
    InputError
        A number is out of its range, no length is given, or `cycle_momentum` is asked for of an optimiser without one.

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
                f"OneCycleLR: {type(optimizer).__name__} has neither momentum nor betas that cycle_momentum=True could "
                "move; give cycle_momentum=False"
            )
        self.total_steps = _total(total_steps, epochs, steps_per_epoch)
        self.pct_start = finite(pct_start, "OneCycleLR: pct_start", 0.0)
        if self.pct_start > 1:
            raise InputError(f"OneCycleLR: pct_start must lie in 0 <= x <= 1, got {shown(pct_start)}")
        self.anneal_strategy = one_of(anneal_strategy, STRATEGIES, "OneCycleLR: anneal_strategy")
        self.div_factor = _above(div_factor, "OneCycleLR: div_factor")
        self.final_div_factor = _above(final_div_factor, "OneCycleLR: final_div_factor")
        self.three_phase = flag(three_phase, "OneCycleLR: three_phase")
        groups = groups_of(optimizer)
        self.max_lr = numbers(max_lr, "OneCycleLR: max_lr", groups)
        self.base_momentum, self.max_momentum = (
            _momenta(given, f"OneCycleLR: {name}", groups)
            for given, name in ((base_momentum, "base_momentum"), (max_momentum, "max_momentum"))
        )
        super().__init__(optimizer, last_epoch, unit=unit)

    def _base(self, moment: PaceMoment) -> tuple[float, ...]:
        return tuple(most / self.div_factor for most in self.max_lr)

    def _resumed(self, optimizer: Optimizer) -> tuple[float, ...]:
        return self._base(optimizer.lr_pace.moment())

    def _ends(self) -> list[float]:
        """Where the phases end."""
        up = float(self.pct_start * self.total_steps)
        return [up - 1, *([2 * up - 2] if self.three_phase else []), self.total_steps - 1.0]

    def at(self, counts: NDArray[np.int64]) -> Floats:
        """Between the ends of each phase by half a cosine, or straight."""
        low, high = np.array(self.base_lrs), np.array(self.max_lr)
        last = low / self.final_div_factor
        return self._between(counts, [low, high, low, last] if self.three_phase else [low, high, last])

    def momenta_at(self, counts: NDArray[np.int64]) -> Floats:
        """Likewise, the other way."""
        low, high = np.array(self.base_momentum), np.array(self.max_momentum)
        return self._between(counts, [high, low, high, high] if self.three_phase else [high, low, high])

    def _between(self, counts: NDArray[np.int64], levels: list[Floats]) -> Floats:
        """At so many steps; `levels` are those at the beginning and at the end of each phase, shape (groups,)."""
        ends = self._ends()
        steps = np.minimum(counts, self.total_steps)
        found = np.empty((len(counts), len(levels[0])))
        within = steps[:, np.newaxis] <= np.array([*ends[:-1], np.inf])
        phase = within.argmax(axis=1)  # the first that they lie in: phases may overlap
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
        """Go on by one, in a hand-written loop; InputError after the last step."""
        if self.last_epoch >= self.total_steps:
            raise InputError(f"OneCycleLR: the cycle has {self.total_steps:,} steps, and all are done")
        super().step()


def _total(total_steps: Any, epochs: Any, steps_per_epoch: Any) -> int:
    if total_steps is not None:
        return steps_of("OneCycleLR: total_steps", total_steps, 1)
    if epochs is None or steps_per_epoch is None:
        raise InputError("OneCycleLR: give total_steps, or both epochs and steps_per_epoch")
    total = steps_of("OneCycleLR: epochs", epochs, 1) * steps_of("OneCycleLR: steps_per_epoch", steps_per_epoch, 1)
    return steps_of("OneCycleLR: epochs * steps_per_epoch", total, 1)


def _above(given: Any, what: str) -> float:
    value = finite(given, what, 0.0)
    if value == 0:
        raise InputError(f"{what} must be above 0, got {shown(given)}")
    return value


def _momenta(given: Any, what: str, groups: int) -> tuple[float, ...]:
    found = numbers(given, what, groups)
    for one in found:
        below_one(one, what)
    return found
