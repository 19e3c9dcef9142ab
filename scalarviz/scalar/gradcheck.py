"""`gradcheck`: compare the gradients of any function of Values with finite differences."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..errors import InputError, TypeMismatchError, shown
from . import mask
from .numbers import as_number
from .value import Value


@dataclass(frozen=True, slots=True)
class GradCheck:
    """What was compared; true if everything agrees.

    Attributes
    ----------
    point, analytic, numeric : tuple of float
        Where, the gradient by backward, the gradient by central differences.
    error : float
        Largest difference, relative to ``max(1, |numeric|)``.
    tolerance : float
    """

    point: tuple[float, ...]
    analytic: tuple[float, ...]
    numeric: tuple[float, ...]
    error: float
    tolerance: float

    def __bool__(self) -> bool:
        return self.error <= self.tolerance  # False for NaN


def gradcheck(fn: Callable[..., Value], *points: float, step: float = 1e-5, tolerance: float = 1e-7) -> GradCheck:
    """Check the gradient of ``fn(*points)``.

    Parameters
    ----------
    fn : callable
        Takes as many Values as there are `points`, returns one Value.
    *points : float
        Where to check. Not at a kink: there is no derivative.
    step : float
        Relative half width of the central difference, whose error is O(step**2) plus rounding / step; the
        result is extrapolated once (Richardson), which leaves O(step**4).
    tolerance : float
        Largest accepted error, relative to ``max(1, |numeric|)``.

    Returns
    -------
    GradCheck
        True in an ``if`` or ``assert`` when the gradients agree.

    Raises
    ------
    InputError
        No points, a step that is not positive and finite, or `fn` does not return a Value.
    TypeMismatchError
        `fn` is no function, or a point no number.
    """
    if not callable(fn):
        raise TypeMismatchError(f"gradcheck: fn must be a function of Values, got {type(fn).__name__}")
    if not points:
        raise InputError("gradcheck needs at least one point: gradcheck(fn, 0.5)")
    numbers = tuple(as_number(p, "gradcheck: a point") for p in points)
    width = as_number(step, "gradcheck: step")
    if not (math.isfinite(width) and width > 0):
        raise InputError(f"gradcheck: step must be a finite number > 0, got {shown(step)}; try 1e-5")
    leaves = [Value(p) for p in numbers]
    fn = mask.held(fn)  # a function of its masks too
    result: Any = fn(*leaves)
    if not isinstance(result, Value):
        raise InputError(f"gradcheck: the function must return a Value, got {type(result).__name__}")
    result.backward()
    analytic = tuple(leaf.grad for leaf in leaves)
    numeric = tuple(_difference(fn, numbers, k, 100 * width) for k in range(len(numbers)))
    errors = [abs(a - n) / max(1.0, abs(n)) for a, n in zip(analytic, numeric, strict=True)]
    worst = math.nan if any(math.isnan(e) for e in errors) else max(errors)
    return GradCheck(numbers, analytic, numeric, worst, tolerance)


def _difference(fn: Callable[..., Value], point: tuple[float, ...], k: int, step: float) -> float:
    """Central difference by the `k`-th number, Richardson-extrapolated from `step` and its half."""
    h = step * max(1.0, abs(point[k]))

    def slope(h: float) -> float:
        ends = [fn(*(Value(p + s * h if i == k else p) for i, p in enumerate(point))).data for s in (1, -1)]
        return (ends[0] - ends[1]) / (2 * h)

    return (4 * slope(h / 2) - slope(h)) / 3
