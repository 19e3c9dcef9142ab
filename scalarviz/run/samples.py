"""Checking the data of a run: two arrays with one row a sample."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError


def as_samples(array: ArrayLike, what: str) -> NDArray[Any]:
    """`array` as (N, n); one-dimensional data has one number a sample.

    Raises
    ------
    InputError
        Not numbers, not one or two dimensions, empty, or not finite (naming the first bad sample).
    """
    try:
        found = np.asarray(array)
        if found.dtype.kind not in "fiub":
            found = found.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{what} must be an array of numbers, got {type(array).__name__}") from None
    if found.ndim == 1:
        found = found[:, None]
    if found.ndim != 2 or 0 in found.shape:
        raise InputError(f"{what} must have the shape (samples, numbers a sample), none of them 0; got {found.shape}")
    bad = ~np.isfinite(found)
    if bad.any():
        row, column = (int(i) for i in np.argwhere(bad)[0])
        raise InputError(
            f"{what}[{row}, {column}] is {found[row, column]}; {int(bad.any(axis=1).sum())} of {len(found)} samples "
            "are not finite: clean the data first"
        )
    return found


def as_pair(data: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """The inputs and targets of ``data=(X, Y)``.

    Raises
    ------
    InputError
        Not a pair, or of different lengths.
    """
    try:
        x, y = data
    except (TypeError, ValueError):
        raise InputError("data must be a pair (X, Y): inputs and targets, one row a sample") from None
    inputs, targets = as_samples(x, "data[0] (the inputs)"), as_samples(y, "data[1] (the targets)")
    if len(inputs) != len(targets):
        raise InputError(f"data: {len(inputs)} inputs but {len(targets)} targets; they must pair up")
    return inputs, targets
