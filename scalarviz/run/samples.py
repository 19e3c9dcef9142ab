"""Checking the data of a run: two arrays with one row, or one picture, a sample."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import real_array
from ..engine.data import pieces
from ..engine.outside import Source, as_source
from ..errors import InputError, shown
from ..scalar.nested import nest
from ..scalar.single import usable

Shape = tuple[int, ...]


def as_samples(array: ArrayLike, what: str) -> NDArray[Any]:
    """`array` as (N, n): one-dimensional data has one number a sample, pictures become rows in C order.

    Raises
    ------
    TypeMismatchError
        No real numbers, or a masked array.
    InputError
        Empty, or not finite (naming the first bad sample).
    """
    found = real_array(array, what)
    if found.ndim == 0 or 0 in found.shape:
        raise InputError(f"{what} must have the shape (samples, numbers a sample), none of them 0; got {found.shape}")
    if found.ndim == 1:
        found = found[:, None]
    if not all_finite(found):
        bad = ~np.isfinite(found)
        place = tuple(int(i) for i in np.argwhere(bad)[0])
        wrong = int(bad.reshape(len(bad), -1).any(axis=1).sum())
        raise InputError(
            f"{what}[{', '.join(map(str, place))}] is {found[place]}; {wrong} of {len(found)} samples "
            "are not finite: clean the data first"
        )
    return found.reshape(len(found), -1)


def all_finite(array: NDArray[Any]) -> bool:
    """Whether no number is a NaN or an infinity; looked at piece by piece, so that little memory is needed."""
    if array.dtype.kind != "f":
        return True
    numbers = array.size // len(array)
    return all(bool(np.isfinite(array[part]).all()) for part in pieces(len(array), numbers))


def _as_given(given: Any, what: str) -> NDArray[Any] | Source:
    source = as_source(given, what)
    return as_samples(given, what) if source is None else source


def sample_shape(samples: Any, given: Any) -> Shape:
    """The shape of one of the checked `samples`: ``(n,)`` of a row, ``(C, H, W)`` of a picture."""
    return tuple(np.shape(given)[1:] if isinstance(samples, np.ndarray) else samples.sample_shape) or (1,)


def fitting_source(array: Any, shape: Shape, what: str) -> NDArray[Any] | Source:
    """As :func:`fitting`; what is not copied is given back as a source."""
    source = as_source(array, what)
    if source is None:
        return fitting(array, shape, what)
    _check_shape(source.sample_shape, shape, what)
    return source


def _check_shape(given: Shape, shape: Shape, what: str) -> None:
    if given not in (shape, (prod(shape),)):
        numbers = f"{prod(shape)} numbers a sample" + (f" or samples of shape {shape}" if len(shape) > 1 else "")
        raise InputError(f"{what} must have {numbers}, got {given[0] if len(given) == 1 else f'the shape {given}'}")


def fitting(array: ArrayLike, shape: Shape, what: str) -> NDArray[Any]:
    """`array` as rows (N, n) of samples of that shape; rows may be given for pictures.

    Raises
    ------
    InputError
        Samples of another shape; see :func:`as_samples` as well.
    """
    samples = as_samples(array, what)
    _check_shape(sample_shape(samples, array), shape, what)
    return samples


def on_rows(model: Callable[..., Any], shape: Shape) -> Callable[[list[Any]], Any]:
    """`model` as a function of a flat row: it sees samples of that shape."""
    return lambda row: model(nest(row, shape))


def on_target_rows(loss: Callable[..., Any], shape: Shape) -> Callable[..., Any]:
    """`loss` as a function of what the model returned and a flat row of targets: it sees targets of that shape."""
    return lambda outputs, row: loss(outputs, usable(nest(row, shape)))


def as_pair(data: Any) -> tuple[NDArray[Any] | Source, NDArray[Any] | Source]:
    """The inputs and targets of ``data=(X, Y)``: arrays (N, n), or sources where they are not copied.

    Raises
    ------
    InputError
        Not a pair, or of different lengths.
    """
    listed = isinstance(data, list | tuple) or (isinstance(data, np.ndarray) and data.ndim > 0)
    if not listed or len(data) != 2:
        raise InputError(
            f"data must be a pair (X, Y): inputs and targets, one row a sample; got {type(data).__name__} {shown(data)}"
        )
    x, y = data
    inputs, targets = (
        _as_given(given, what) for given, what in ((x, "data[0] (the inputs)"), (y, "data[1] (the targets)"))
    )
    if len(inputs) != len(targets):
        raise InputError(f"data: {len(inputs)} inputs but {len(targets)} targets; they must pair up")
    return inputs, targets
