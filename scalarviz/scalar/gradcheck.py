"""`gradcheck`: gradients of any function of Values by backward, compared with finite differences."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import InputError, TypeMismatchError
from . import mask
from .single import as_number, positive
from .value import Value

Function = Callable[..., Any]


def by_backward(fn: Function, point: Sequence[float], title: str = "gradcheck") -> tuple[float, ...]:
    """The derivatives of ``fn(*point)`` by each number, by one backward; InputError if `fn` returns no Value."""
    leaves = [Value(p) for p in point]
    result = fn(*leaves)
    if not isinstance(result, Value):
        raise InputError(f"{title}: the function must return a Value, got {type(result).__name__}")
    result.backward()
    return tuple(leaf.grad for leaf in leaves)


def by_differences(fn: Function, point: Sequence[float], step: float = 1e-3) -> tuple[float, ...]:
    """The same by central differences of that relative half width, each extrapolated once: the error is O(step**4)."""
    slopes = [slopes_at(fn, point, k, step) for k in range(len(point))]
    return tuple((4 * narrow - wide) / 3 for wide, narrow in slopes)  # Richardson: their errors are as 4 to 1


def slopes_at(fn: Function, point: Sequence[float], k: int, step: float) -> tuple[float, float]:
    """Central differences by the `k`-th number with the half width `step` (relative above 1), and with half of it.

    Where the two differ much there is a kink nearby, or a pole.
    """
    width = step * max(1.0, abs(point[k]))

    def slope(h: float) -> float:
        high, low = (fn(*(Value(p + s * h if i == k else p) for i, p in enumerate(point))).data for s in (1, -1))
        return float(high - low) / (2 * h)

    return slope(width), slope(width / 2)


def largest_error(found: Sequence[float], expected: Sequence[float]) -> float:
    """The largest difference, relative to ``max(1, |expected|)``; NaN where one is NaN."""
    errors = [abs(a - n) / max(1.0, abs(n)) for a, n in zip(found, expected, strict=True)]
    return math.nan if any(math.isnan(error) for error in errors) else max(errors)


@dataclass(frozen=True, slots=True)
class GradCheck:
    """The compared gradients; true if all agree.

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
    width = positive(step, "gradcheck: step", "; try 1e-5")
    fn = mask.with_same_masks(fn)  # a function of its masks too
    analytic, numeric = by_backward(fn, numbers), by_differences(fn, numbers, 100 * width)
    return GradCheck(numbers, analytic, numeric, largest_error(analytic, numeric), tolerance)
