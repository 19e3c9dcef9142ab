"""`Watch`: the breakpoints of a run, looked at while it does steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...engine.problem import Rates
from .breakpoints import Breakpoint
from .faults import brief
from .numbers import SPEED_ONLY, Numbers
from .telling import Told, told

TOLD = 2
"""The most breakpoints that one line speaks of."""

Steps = dict[str, NDArray[np.float64]]
"""By name, a number a step."""


@dataclass(frozen=True, slots=True, eq=False)
class Stop:
    """Why a run stands where it stands.

    Attributes
    ----------
    step : int
        The step that made it true; the run stands after it.
    breakpoints : tuple of Breakpoint
        Those whose conditions became true by it.
    numbers : tuple of str
        What was in each condition.
    weights : tuple of int
        Flat indices of the weights in question, those of the first condition first.
    """

    step: int
    breakpoints: tuple[Breakpoint, ...]
    numbers: tuple[str, ...]
    weights: tuple[int, ...] = ()

    def __str__(self) -> str:
        """One line, as ``breakpoint 1 at step 57: grad > 10 (grad 12.3 in 0.weight[2][1])``."""
        said = [
            f"breakpoint {point.number} at step {self.step:,}: {brief(point.text)}{numbers and f' ({numbers})'}"
            for point, numbers in zip(self.breakpoints[:TOLD], self.numbers[:TOLD], strict=True)
        ]
        more = len(self.breakpoints) - TOLD
        return "; ".join([*said, f"and {more} more"] if more > 0 else said)

    def __repr__(self) -> str:
        return f"Stop({self})"


class Watch:
    """Looks at some breakpoints before and after one call of the engine: an `Onlooker` of a training.

    Parameters
    ----------
    points : sequence of Breakpoint
        At least one.
    read : callable
        Gives the numbers of the run as it stands.

    Attributes
    ----------
    single : bool
        Whether the call may do one step only: a condition asks for more than losses.
    stop : Stop or None
        What stops the run where it stands after the call.
    """

    def __init__(self, points: Sequence[Breakpoint], read: Callable[[], Numbers]) -> None:
        self._points, self._read = tuple(points), read
        self.single = not all(point.condition.of_losses for point in points)
        numbers = read()
        self._former = {name: numbers[name] for name in SPEED_ONLY}
        self._before = [point.condition.stands(numbers) for point in points] if self.single else []
        self._risen: tuple[Breakpoint, ...] = ()
        self._at = 0  # the step by which these became true
        self.stop: Stop | None = None

    def until(self, first: int, losses: NDArray[np.float64], lr: Rates) -> int | None:
        """How many steps of the call to keep, where a condition became true among them: to the first such step.

        Parameters
        ----------
        first : int
            Steps done before the call.
        losses : ndarray, shape (count,)
        lr : float or ndarray, shape (count, 1)
        """
        if self.single:
            return None
        now, before = self._of_call(first, losses, lr)
        rises = [point.condition.rises(now, before) for point in self._points]
        found = np.any(np.broadcast_arrays(*rises, losses)[:-1], axis=0)
        if not found.any():
            return None
        at = int(found.argmax())
        self._risen = tuple(
            point for point, rise in zip(self._points, rises, strict=True) if rise[at if rise.ndim else ()]
        )
        self._former = {name: array[at] for name, array in before.items()}
        self._at = first + at + 1
        return at + 1

    def _of_call(self, first: int, losses: NDArray[np.float64], lr: Rates) -> tuple[Steps, Steps]:
        """The numbers of each step of a call, and those of the step before each."""
        count = len(losses)
        rates = lr[:count, 0] if isinstance(lr, np.ndarray) else np.full(count, lr)
        now = {"loss": losses, "lr": rates, "step": np.arange(first + 1.0, first + count + 1.0)}
        return now, {name: np.concatenate([[self._former[name]], array[:-1]]) for name, array in now.items()}

    def after(self) -> None:
        """Find out what stops the run where it stands now, after the call; hits are counted."""
        numbers = self._read()
        step = int(numbers["step"])
        found = self._found(numbers) if self.single else self._found_of_losses(numbers)
        for point, _ in found:
            point.hit(step)
        if found:
            weights = dict.fromkeys(index for _, why in found for index in why.weights)
            points, numbers_told = tuple(point for point, _ in found), tuple(why.text for _, why in found)
            self.stop = Stop(step, points, numbers_told, tuple(weights))

    def _found(self, numbers: Numbers) -> list[tuple[Breakpoint, Told]]:
        found = []
        for point, before in zip(self._points, self._before, strict=True):
            where = point.condition.becomes(numbers, before)
            if where.any():
                found.append((point, told(point.condition.expression, numbers, where, before)))
        return found

    def _found_of_losses(self, numbers: Numbers) -> list[tuple[Breakpoint, Told]]:
        if int(numbers["step"]) != self._at:  # it diverged before
            return []
        there = np.asarray(True)
        return [
            (point, told(point.condition.expression, numbers, there, point.condition.stands(self._former)))
            for point in self._risen
        ]
