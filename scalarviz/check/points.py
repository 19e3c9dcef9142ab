"""Random points at which a function is finite and has no kink nearby."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import integer, text
from ..errors import InputError, TypeMismatchError, shown
from ..scalar.gradcheck import by_differences, slopes_at
from ..scalar.single import as_number
from ..scalar.value import Value

COUNT = 50
"""Points that every check tries."""
TRIES = 40
"""Draws a point before it is said that there is none."""
KINK = 1e-4
"""Two widths of a difference that differ by more see a kink."""
LARGE = 1e6

Floats = NDArray[np.float64]


def checked_options(title: str, hint: Any, tolerance: Any, seed: Any = 0) -> tuple[str, float]:
    """The hint and the largest accepted error of a check; InputError where one of the three is wrong."""
    integer(f"{title}: seed", seed, 0)
    width = as_number(tolerance, f"{title}: tolerance")
    if not (math.isfinite(width) and width > 0):
        raise InputError(f"{title}: tolerance must be a finite number > 0, got {shown(tolerance)}; try 1e-5")
    return text(hint, f"{title}: hint"), width


def near(got: Any, expected: Any, tolerance: float) -> Any:
    """Where numbers are as expected but for an error relative to ``max(1, |expected|)``; NaN never is."""
    with np.errstate(all="ignore"):
        return np.abs(np.subtract(got, expected)) <= tolerance * np.maximum(1.0, np.abs(expected))


@dataclass(frozen=True, slots=True)
class SamplePoints:
    """Where a function was tried."""

    numbers: Floats  # the inputs, shape (points, inputs)
    slopes: Floats  # the derivatives there by finite differences, likewise
    values: Floats  # the function's values, shape (points,)


def bounds_of(between: Any, title: str) -> tuple[float, float]:
    """The ends between which points are drawn; InputError unless two finite numbers in order."""
    try:
        low, high = between
    except (TypeError, ValueError):
        raise InputError(f"{title}: between= is two numbers, such as (-2, 2), got {shown(between)}") from None
    ends = as_number(low, f"{title}: between[0]"), as_number(high, f"{title}: between[1]")
    if not (math.isfinite(ends[0]) and math.isfinite(ends[1]) and ends[0] < ends[1]):
        raise InputError(f"{title}: between= needs finite low < high, got {shown(between)}")
    return ends


def sample_points(
    fn: Callable[..., Any], inputs: int, between: tuple[float, float], seed: int, title: str
) -> SamplePoints:
    """`COUNT` points away from kinks, with the values and slopes there of a function of `inputs` Values.

    InputError where there are hardly any such points, or no input; TypeMismatchError if `fn` gives no Value.
    """
    if inputs < 1:
        raise InputError(f"{title}: the function takes no input; it needs one at least")
    draw = np.random.default_rng(seed)
    numbers: list[list[float]] = []
    slopes: list[tuple[float, ...]] = []
    values: list[float] = []
    left = COUNT * TRIES
    last: Exception | None = None
    while len(numbers) < COUNT and left > 0:
        left -= 1
        point = draw.uniform(*between, inputs).tolist()
        try:
            found = _value_and_slopes(fn, point, title)
        except (ArithmeticError, ValueError) as error:  # outside of where it is defined
            last = error
            continue
        if found is not None:
            numbers.append(point)
            values.append(found[0])
            slopes.append(found[1])
    if len(numbers) < COUNT:
        why = f"; the last time it raised {type(last).__name__}: {last}" if last is not None else ""
        raise InputError(
            f"{title}: of {COUNT * TRIES} points in between={between} only {len(numbers)} lie where the function is "
            f"finite and has a slope{why}; give another between=(low, high)"
        )
    return SamplePoints(np.array(numbers), np.array(slopes), np.array(values))


def _value_and_slopes(
    fn: Callable[..., Any], point: Sequence[float], title: str
) -> tuple[float, tuple[float, ...]] | None:
    """Value and slopes at a point; None where it is of no use."""
    result = fn(*(Value(p) for p in point))
    if not isinstance(getattr(result, "data", None), float):
        raise TypeMismatchError(
            f"{title}: the function that is differentiated must give one Value, got {type(result).__name__}"
        )
    if not abs(result.data) < LARGE:
        return None
    for k in range(len(point)):
        wide, narrow = slopes_at(fn, point, k, 1e-3)
        if not abs(wide - narrow) <= KINK * max(1.0, abs(narrow)) or not abs(narrow) < LARGE:  # NaN too
            return None
    return result.data, by_differences(fn, point)
