"""Random points at which a function is finite and has no kink nearby."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import integer, text
from ..errors import InputError, TypeMismatchError, shown, typed
from ..scalar.gradcheck import by_differences, slopes_at
from ..scalar.number import as_number
from ..scalar.value import Value

COUNT = 50
"""Points that every check tries."""
TRIES = 40
"""Draws for each point before an error."""
KINK = 1e-4
"""If two widths of a difference differ by more, there is a kink."""
LARGE = 1e6

Floats = NDArray[np.float64]


def checked_options(title: str, hint: Any, tolerance: Any, seed: Any = 0) -> tuple[str, float]:
    """Return the hint and the largest accepted error of a check; InputError if one of the three is invalid."""
    integer(f"{title}: seed", seed, 0)
    width = as_number(tolerance, f"{title}: tolerance")
    if not (math.isfinite(width) and width > 0):
        raise InputError(f"{title}: tolerance must be a finite number > 0, got {shown(tolerance)}; try 1e-5")
    return text(hint, f"{title}: hint"), width


def near(got: Any, expected: Any, tolerance: float) -> Any:
    """Return where numbers are as expected within an error relative to ``max(1, |expected|)``; NaN never is."""
    with np.errstate(all="ignore"):
        return np.abs(np.subtract(got, expected)) <= tolerance * np.maximum(1.0, np.abs(expected))


@dataclass(frozen=True, slots=True)
class SamplePoints:
    """Points at which a function was tried."""

    numbers: Floats  # the inputs, shape (points, inputs)
    slopes: Floats  # derivatives there by finite differences, same shape
    values: Floats  # values of the function, shape (points,)


def bounds_of(between: Any, title: str) -> tuple[float, float]:
    """Return the ends of the range; InputError unless they are two finite numbers in order."""
    try:
        low, high = between
    except (TypeError, ValueError):
        raise InputError(f"{title}: between= must be two numbers, such as (-2, 2), got {shown(between)}") from None
    ends = as_number(low, f"{title}: between[0]"), as_number(high, f"{title}: between[1]")
    if not (math.isfinite(ends[0]) and math.isfinite(ends[1]) and ends[0] < ends[1]):
        raise InputError(f"{title}: between= needs finite low < high, got {shown(between)}")
    return ends


def sample_points(
    fn: Callable[..., Any], inputs: int, between: tuple[float, float], seed: int, title: str
) -> SamplePoints:
    """Return `COUNT` points away from kinks, with the values and slopes of a function of `inputs` Values.

    InputError if there are hardly any such points, or no input; TypeMismatchError if `fn` returns no Value.
    """
    if inputs < 1:
        raise InputError(f"{title}: the function takes no input; it needs at least one")
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
        except (ArithmeticError, ValueError) as error:  # outside its domain
            last = error
            continue
        if found is not None:
            numbers.append(point)
            values.append(found[0])
            slopes.append(found[1])
    if len(numbers) < COUNT:
        why = f"; the last time it raised {type(last).__name__}: {last}" if last is not None else ""
        raise InputError(
            f"{title}: the function is finite and has a slope at only {len(numbers)} of {COUNT * TRIES} points in "
            f"between={between}{why}; give another between=(low, high)"
        )
    return SamplePoints(np.array(numbers), np.array(slopes), np.array(values))


def _value_and_slopes(
    fn: Callable[..., Any], point: Sequence[float], title: str
) -> tuple[float, tuple[float, ...]] | None:
    """Return the value and slopes at a point, or None if it is not usable."""
    result = fn(*(Value(p) for p in point))
    if not isinstance(getattr(result, "data", None), float):
        raise TypeMismatchError(f"{title}: the function must return one Value, got {typed(result)}")
    if not abs(result.data) < LARGE:
        return None
    for k in range(len(point)):
        wide, narrow = slopes_at(fn, point, k, 1e-3)
        if not abs(wide - narrow) <= KINK * max(1.0, abs(narrow)) or not abs(narrow) < LARGE:  # NaN too
            return None
    return result.data, by_differences(fn, point)
