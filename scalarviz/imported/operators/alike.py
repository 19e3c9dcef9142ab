"""What operators are written with: functions that take arrays of numbers and arrays of Values alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engine.arrays.rows import numpy_form
from ...errors import InputError, shown
from ...nn import _array
from ...scalar import Value
from ...scalar.value import as_value

Array = NDArray[Any]
Lane = list[Any]
OBJECT = np.dtype(object)
values = _array.values


LARGEST, MOST_VALUES = 1 << 27, 2_000_000
"""Numbers, and Values, of one result: what a file asks for may be more than any memory holds."""


DEEPEST = 32
"""Dimensions: as many as NumPy's functions take."""


def room(shape: Sequence[int], computed: bool = False) -> None:
    """Make sure that a result of that shape may be made.

    Raises
    ------
    InputError
        It is too large, or a side is negative.
    """
    most = MOST_VALUES if computed else LARGEST
    if min(shape, default=0) < 0 or prod(shape) > most or len(shape) > DEEPEST:
        what = f"{'Values' if computed else 'numbers'} in {DEEPEST} dimensions"
        raise InputError(f"its result would have the shape {shown(tuple(shape))}; at most {most:,} {what}")


def _broadcast(operands: Sequence[Any]) -> None:
    """Make sure that there is room for operands that are broadcast."""
    room(np.broadcast_shapes(*[np.shape(x) for x in operands]), made(*operands))


def made(*operands: Any) -> bool:
    """Whether one of them is being computed: an array of Values."""
    return any(isinstance(x, np.ndarray) and x.dtype == OBJECT for x in operands)


def each(name: str, *operands: Any) -> Array:
    """An operation of the table with each of the numbers, broadcast; of numbers in the dtype that NumPy gives them."""
    _broadcast(operands)
    if made(*operands):
        found = _array.each(name, *operands)
        return found if isinstance(found, np.ndarray) else values([found], ())
    arrays = [x for x in operands if isinstance(x, np.ndarray | np.generic)]
    kind = np.result_type(*arrays) if arrays else np.dtype(np.float64)
    dtype = kind if kind.kind == "f" else np.dtype(np.float64)
    return np.asarray(numpy_form(name, dtype)[0](*[np.asarray(x, dtype) for x in operands]), dtype)


def both(name: str, function: Callable[..., Any], *operands: Any) -> Array:
    """NumPy's function of numbers, else an operation of the table."""
    if made(*operands):
        return each(name, *operands)
    _broadcast(operands)
    return np.asarray(function(*operands))


def bare(x: Any) -> Array:
    """An array as NumPy's own, whose functions of shapes it takes."""
    return np.ndarray.view(np.asarray(x), np.ndarray)


def dressed(x: Array) -> Array:
    """Objects as Values; numbers as they are."""
    if x.dtype != object:
        return x
    found: Array = np.ndarray.view(x, _array.Values)
    return found


def objects(x: Array) -> Array:
    """As Values: numbers become constants, each one of its own."""
    if x.dtype == object:
        return dressed(x)
    room(x.shape, computed=True)
    return values([as_value(number) for number in x.astype(np.float64).ravel().tolist()], x.shape)


def alike(*arrays: Array) -> list[Array]:
    """All as Values if one is."""
    return [objects(x) for x in arrays] if made(*arrays) else list(arrays)


def lanes(x: Array, axis: int) -> Iterator[tuple[Any, Lane]]:
    """The rows of objects along an axis, each with its index in what is left of the shape."""
    moved = bare(np.moveaxis(bare(x), axis, -1))
    for index in np.ndindex(*moved.shape[:-1]):
        yield index, moved[index].tolist()


def over_lanes(x: Array, axis: int, function: Callable[[Lane], Lane], length: int | None = None) -> Array:
    """Rows of Values along an axis, each replaced by as many others, or by `length`."""
    others = np.moveaxis(bare(x), axis, -1).shape
    moved = np.empty((*others[:-1], others[-1] if length is None else length), object)
    for index, lane in lanes(x, axis):
        moved[index] = function(lane)
    return dressed(np.moveaxis(moved, -1, axis))


def reduced(x: Array, axes: tuple[int, ...], keep: bool, function: Callable[[Lane], Value]) -> Array:
    """Rows of Values over some axes, each replaced by one."""
    others = [a for a in range(x.ndim) if a not in axes]
    shape = tuple(x.shape[a] for a in others)
    flat = bare(x).transpose(*others, *axes).reshape(*shape, prod(x.shape[a] for a in axes))
    found = values([function(flat[index].tolist()) for index in np.ndindex(*shape)], shape)
    return found.reshape(*(1 if a in axes else side for a, side in enumerate(x.shape))) if keep else found


def over_last(rows: Array, function: Callable[[Lane], Value]) -> Array:
    """Rows of Values along the last axis, each replaced by one."""
    shape, flat = rows.shape[:-1], bare(rows)
    return values([function(flat[index].tolist()) for index in np.ndindex(*shape)], shape)


def mean_of(x: Array, axis: int | tuple[int, ...], keepdims: bool = False) -> Array:
    """The mean of numbers; of none NaN, without a warning."""
    total = x.sum(axis, keepdims=keepdims, dtype=np.float64)
    return np.asarray(total / np.float64(x.size / total.size if total.size else 1))


def axis_of(axis: int, ndim: int) -> int:
    """An axis counted from the front."""
    return int(axis) + ndim if axis < 0 else int(axis)
