"""What counts as a number where one is asked for."""

from __future__ import annotations

from typing import SupportsFloat

import numpy as np

from ..errors import InputError, TypeMismatchError, shown


def as_number(x: SupportsFloat, what: str) -> float:
    """`x` as a float.

    Raises
    ------
    TypeMismatchError
        It is no number.
    InputError
        A whole number too large for a float.
    """
    kind = type(x)
    if kind is float:
        return x  # type: ignore[return-value]
    try:
        if kind is int:  # the questions below cost more than the answer
            return float(x)
        if isinstance(x, str | bytes | bytearray):  # float("1") is 1.0, but text among numbers is a mistake
            raise TypeError
        # NumPy makes a number of any array of one, of the real part of a complex one, of a masked one
        if isinstance(x, np.ndarray | np.generic) and not (x.ndim == 0 and x.dtype.kind in "biuf"):
            raise TypeError
        if isinstance(x, np.ma.MaskedArray):
            raise TypeError
        return float(x)
    except (TypeError, ValueError):
        raise TypeMismatchError(f"{what} must be a number, got {type(x).__name__} {shown(x)}") from None
    except OverflowError:
        raise InputError(f"{what} must be a float64 number, at most about 1.8e308; got a larger whole number") from None
