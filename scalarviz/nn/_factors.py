"""The weights that losses take: a factor for each class, or for each output."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..errors import InputError, shown

Numbers = tuple[float, ...]


def loss_weights(given: Any, what: str) -> Numbers | None:
    """The numbers of a row, as floats; None for None.

    Raises
    ------
    InputError
        No row of finite numbers.
    """
    if given is None:
        return None
    array = np.asarray(given.tolist() if hasattr(given, "tolist") else given, dtype=object)
    row = np.atleast_1d(array)
    if isinstance(given, str | bytes) or row.ndim != 1 or row.size == 0 or not all(map(_finite, row)):
        raise InputError(f"{what} must be a row of finite numbers, as [1.0, 2.0]; got {shown(given)}")
    return tuple(float(number) for number in row)


def _finite(number: Any) -> bool:
    real = isinstance(number, int | float | np.integer | np.floating) and not isinstance(number, bool)
    try:
        return real and math.isfinite(number)
    except OverflowError:  # a whole number that no float holds
        return False
