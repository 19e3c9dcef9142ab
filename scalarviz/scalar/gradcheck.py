"""`gradcheck`: compare the gradients of any function of Values with finite differences."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from ..errors import InputError, TypeMismatchError, shown
from . import mask
from .differences import by_backward, by_differences, largest_error
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
    fn = mask.held(fn)  # a function of its masks too
    analytic, numeric = by_backward(fn, numbers), by_differences(fn, numbers, 100 * width)
    return GradCheck(numbers, analytic, numeric, largest_error(analytic, numeric), tolerance)
