"""Conversion of arguments to numbers, and `Many`, the base of operands with many of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar, SupportsFloat

import numpy as np

from ..errors import InputError, TypeMismatchError, shown, typed


def as_number(x: SupportsFloat, what: str) -> float:
    """Return `x` as a float; TypeMismatchError if it is no number, InputError if a whole number is too large."""
    kind = type(x)
    if kind is float:
        return x  # type: ignore[return-value]
    try:
        if kind is int:  # the checks below would cost more than the conversion
            return float(x)
        if isinstance(x, str | bytes | bytearray):  # float("1") is 1.0, but text is no number here
            raise TypeError
        # float() would accept an array of one, the real part of a complex one, and a masked one
        if isinstance(x, np.ndarray | np.generic) and not (x.ndim == 0 and x.dtype.kind in "biuf"):
            raise TypeError
        if isinstance(x, np.ma.MaskedArray):
            raise TypeError
        return float(x)
    except (TypeError, ValueError):
        raise TypeMismatchError(f"{what} must be a number, got {typed(x)}") from None
    except OverflowError:
        raise InputError(f"{what} must be a float64 number, at most about 1.8e308; got a larger whole number") from None


def checked_number(x: SupportsFloat, what: str, fits: Callable[[float], bool], must: str, advice: str = "") -> float:
    """Return `x` as a float that `fits`; else raise InputError: `what` must `must`, followed by `advice`."""
    number = as_number(x, what)
    if not fits(number):
        raise InputError(f"{what} must {must}, got {shown(x)}{advice}")
    return number


def positive(x: SupportsFloat, what: str, advice: str = "") -> float:
    """Return `x` as a finite float above 0; InputError if it is none."""
    return checked_number(x, what, lambda number: 0 < number < math.inf, "be a finite number > 0", advice)


def at_least_zero(x: SupportsFloat, what: str, advice: str = "") -> float:
    """Return `x` as a finite float of at least 0; InputError if it is none."""
    return checked_number(x, what, lambda number: 0 <= number < math.inf, "be a finite number >= 0", advice)


class Many:
    """Base of operands with many numbers: ``value * many``, and the functions, leave the work to them."""

    __slots__ = ()

    taped: ClassVar[bool] = False
    """Whether it is a batch: numbers with a tape of whole arrays, instead of objects."""

    def each(self, name: str, *operands: Any) -> Any:
        """Apply the operation `name` of the table elementwise to its operands; this object is one of them."""
        raise NotImplementedError

    def as_values(self) -> Any:
        """Return the array of the objects."""
        raise NotImplementedError

    def item_value(self) -> Any:
        """Return the Value of an array with one element."""
        raise NotImplementedError
