"""The gradient of a function of Values by backward and by finite differences: what every check compares."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import InputError
from .value import Value

Function = Callable[..., Any]


def by_backward(fn: Function, point: Sequence[float], title: str = "gradcheck") -> tuple[float, ...]:
    """The derivatives of ``fn(*point)`` by each number, by one call of backward.

    Raises
    ------
    InputError
        `fn` returns no Value.
    """
    leaves = [Value(p) for p in point]
    result = fn(*leaves)
    if not isinstance(result, Value):
        raise InputError(f"{title}: the function must return a Value, got {type(result).__name__}")
    result.backward()
    return tuple(leaf.grad for leaf in leaves)


def by_differences(fn: Function, point: Sequence[float], step: float = 1e-3) -> tuple[float, ...]:
    """The same by central differences of that relative half width, each extrapolated once: the error is O(step**4)."""
    return tuple(_extrapolated(*slopes_at(fn, point, k, step)) for k in range(len(point)))


def slopes_at(fn: Function, point: Sequence[float], k: int, step: float) -> tuple[float, float]:
    """Central differences by the `k`-th number with the half width `step` (relative above 1), and with half of it.

    Where the two differ much there is a kink nearby, or a pole.
    """
    width = step * max(1.0, abs(point[k]))

    def slope(h: float) -> float:
        high, low = (fn(*(Value(p + s * h if i == k else p) for i, p in enumerate(point))).data for s in (1, -1))
        return float(high - low) / (2 * h)

    return slope(width), slope(width / 2)


def _extrapolated(wide: float, narrow: float) -> float:
    """Richardson: of two widths whose errors are as 4 to 1."""
    return (4 * narrow - wide) / 3


def largest_error(found: Sequence[float], expected: Sequence[float]) -> float:
    """The largest difference, relative to ``max(1, |expected|)``; NaN where one is NaN."""
    errors = [abs(a - n) / max(1.0, abs(n)) for a, n in zip(found, expected, strict=True)]
    return math.nan if any(math.isnan(error) for error in errors) else max(errors)
