"""What the operators do with arrays of numbers and with arrays of Values alike: apply, pad, reduce, limit the size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError, shown
from ...scalar import Value
from ...scalar import array as of_values
from ...scalar.kernel import numpy_form

Array = NDArray[Any]
"""Numbers of any known dtype, or objects: Values of a graph."""
Tensors = dict[str, Array]


def as_array(x: Any) -> Array:
    """Return the result as an array: NumPy and Values give single numbers for results without dimensions."""
    if isinstance(x, np.ndarray):
        return x
    return values([x], ()) if isinstance(x, Value) else np.asarray(x)


Lane = list[Any]
OBJECT = np.dtype(object)
values = of_values.values
LARGEST, MOST_VALUES = 1 << 27, 2_000_000
"""The most numbers, and Values, of one result: a file may ask for more than any memory holds."""
DEEPEST = 32
"""The most dimensions, as in NumPy's functions."""


def check_size(shape: Sequence[int], computed: bool = False) -> None:
    """Refuse a result of numbers or Values whose shape is too large or negative."""
    most = MOST_VALUES if computed else LARGEST
    if min(shape, default=0) < 0 or prod(shape) > most or len(shape) > DEEPEST:
        what = f"{'Values' if computed else 'numbers'} in {DEEPEST} dimensions"
        raise InputError(f"the result would have the shape {shown(tuple(shape))}; allowed: at most {most:,} {what}")


def broadcast(operands: Sequence[Any]) -> None:
    """Check that broadcast operands are not too large."""
    check_size(np.broadcast_shapes(*[np.shape(x) for x in operands]), any_values(*operands))


def any_values(*operands: Any) -> bool:
    """Return whether an operand is computed: an array of Values."""
    return any(isinstance(x, np.ndarray) and x.dtype == OBJECT for x in operands)


def each(name: str, *operands: Any) -> Array:
    """Apply an operation of the table elementwise, with broadcasting; numbers keep NumPy's result dtype."""
    broadcast(operands)
    if any_values(*operands):
        return as_array(of_values.each(name, *operands))
    arrays = [x for x in operands if isinstance(x, np.ndarray | np.generic)]
    kind = np.result_type(*arrays) if arrays else np.dtype(np.float64)
    dtype = kind if kind.kind == "f" else np.dtype(np.float64)
    return np.asarray(numpy_form(name, dtype)[0](*[np.asarray(x, dtype) for x in operands]), dtype)


def either(name: str, function: Callable[..., Any], *operands: Any) -> Array:
    """Apply NumPy's function to numbers, or an operation of the table to Values."""
    if any_values(*operands):
        return each(name, *operands)
    broadcast(operands)
    return np.asarray(function(*operands))


def bare(x: Any) -> Array:
    """Return an array as a plain NumPy array, for NumPy's shape functions."""
    return np.ndarray.view(np.asarray(x), np.ndarray)


def dressed(x: Array) -> Array:
    """Return objects as `Values`; numbers unchanged."""
    return x if x.dtype != object else np.ndarray.view(x, of_values.Values)


def objects(x: Array) -> Array:
    """Return an array as Values; each number becomes its own constant."""
    if x.dtype == object:
        return dressed(x)
    check_size(x.shape, computed=True)
    return of_values.row_of(x)


def alike(*arrays: Array) -> list[Array]:
    """Return all arrays as Values if one of them is."""
    return [objects(x) for x in arrays] if any_values(*arrays) else list(arrays)


def padded(x: Array, widths: Sequence[tuple[int, int]], **how: Any) -> Array:
    """Pad as NumPy does, if it is not too large; negative widths cut off."""
    inside: list[Any] = [slice(max(0, -a), side - max(0, -b)) for (a, b), side in zip(widths, x.shape, strict=True)]
    inner, outer = bare(x)[(*inside, ...)], [(max(0, a), max(0, b)) for a, b in widths]
    check_size([side + a + b for side, (a, b) in zip(inner.shape, outer, strict=True)])
    return np.pad(inner, outer, **how)


def by_lane(x: Array, axis: int, function: Callable[[Lane], Lane]) -> Array:
    """Replace each row of Values along an axis by others."""
    return np.asanyarray(of_values.each_lane(x.view(of_values.Values), function, "by_lane", axis))


def reduced(x: Array, axes: tuple[int, ...], keep: bool, function: Callable[[Lane], Value]) -> Array:
    """Replace each row of Values over some axes by one Value."""
    return as_array(of_values.along(x.view(of_values.Values), function, "reduce", axes, keep, {}))


def mean_of(x: Array, axis: int | tuple[int, ...], keepdims: bool = False) -> Array:
    """Return the mean of numbers; NaN for none, without a warning."""
    total = x.sum(axis, keepdims=keepdims, dtype=np.float64)
    return np.asarray(total / np.float64(x.size / total.size if total.size else 1))


def axis_of(axis: int, ndim: int) -> int:
    """Return an axis counted from the front."""
    return int(axis) + ndim if axis < 0 else int(axis)
