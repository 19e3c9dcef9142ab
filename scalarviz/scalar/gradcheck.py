"""`gradcheck`: compare the gradients of a function of Values with finite differences."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import InputError, TypeMismatchError, typed
from . import mask
from .number import Many, as_number, positive
from .value import Value

Function = Callable[..., Any]


def by_backward(fn: Function, point: Sequence[float], title: str = "gradcheck") -> tuple[float, ...]:
    """Return the derivatives of ``fn(*point)`` by one backward pass; InputError if `fn` returns no Value."""
    leaves = [Value(p) for p in point]
    result = fn(*leaves)
    if not isinstance(result, Value):
        raise InputError(f"{title}: the function must return a Value, got {typed(result)}")
    result.backward()
    return tuple(leaf.grad for leaf in leaves)


def repeatable(fn: Function) -> Function:
    """Return `fn` with the same dropout masks at every call; for an array of one Value it returns this Value."""
    same = mask.with_same_masks(fn)

    def call(*xs: Any) -> Any:
        found = same(*xs)
        return found.item_value() if isinstance(found, Many) and found.as_values().size == 1 else found

    return call


def by_differences(fn: Function, point: Sequence[float], step: float = 1e-3) -> tuple[float, ...]:
    """Return the derivatives by central differences, each extrapolated once: the error is O(step**4)."""
    slopes = [slopes_at(fn, point, k, step) for k in range(len(point))]
    return tuple((4 * narrow - wide) / 3 for wide, narrow in slopes)  # Richardson: their errors are as 4 to 1


def slopes_at(fn: Function, point: Sequence[float], k: int, step: float) -> tuple[float, float]:
    """Return two central differences by the `k`-th number: with half width `step` (relative above 1), and with half.

    If the two differ much, there is a kink or a pole nearby.
    """
    width = step * max(1.0, abs(point[k]))

    def slope(h: float) -> float:
        high, low = (fn(*(Value(p + s * h if i == k else p) for i, p in enumerate(point))).data for s in (1, -1))
        return float(high - low) / (2 * h)

    return slope(width), slope(width / 2)


def largest_error(found: Sequence[float], expected: Sequence[float]) -> float:
    """Return the largest difference, relative to ``max(1, |expected|)``; NaN if one is NaN."""
    errors = [abs(a - n) / max(1.0, abs(n)) for a, n in zip(found, expected, strict=True)]
    return math.nan if any(math.isnan(error) for error in errors) else max(errors)


@dataclass(frozen=True, slots=True)
class GradCheck:
    """The result of `gradcheck`; true if all gradients agree.

    Attributes
    ----------
    point, analytic, numeric : tuple of float
        The point, the gradient by backward, and the gradient by central differences.
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
    """Compare the gradient of ``fn(*points)`` with central differences.

    Parameters
    ----------
    fn : callable
        Takes one Value for each of the `points` and returns one Value.
    *points : float
        The point to check. Avoid kinks: there is no derivative.
    step : float
        Relative half width of the central difference. Its error is O(step**2) plus rounding / step; one Richardson
        extrapolation leaves O(step**4).
    tolerance : float
        Largest accepted error, relative to ``max(1, |numeric|)``.

    Returns
    -------
    GradCheck
        Counts as True if the gradients agree, as in ``if`` or ``assert``.

    Raises
    ------
    InputError
        There are no points, `step` is not positive and finite, or `fn` does not return a Value.
    TypeMismatchError
        `fn` is no function, or a point is no number.
    """
    if not callable(fn):
        raise TypeMismatchError(f"gradcheck: fn must be a function of Values, got {type(fn).__name__}")
    if not points:
        raise InputError("gradcheck needs at least one point: gradcheck(fn, 0.5)")
    numbers = tuple(as_number(p, "gradcheck: a point") for p in points)
    width = positive(step, "gradcheck: step", "; try 1e-5")
    fn = repeatable(fn)
    analytic, numeric = by_backward(fn, numbers), by_differences(fn, numbers, 100 * width)
    return GradCheck(numbers, analytic, numeric, largest_error(analytic, numeric), tolerance)
