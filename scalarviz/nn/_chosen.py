"""What ``p[x]`` gives where x is a Value: the row of a table that a number chooses."""

from __future__ import annotations

import math
from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any

from ..checks import position
from ..errors import InputError, OutOfRangeError, shown
from ..scalar import Value, tracing
from ..scalar.gathered import Gathered

if TYPE_CHECKING:
    from ._parameter import Parameter


def chosen(parameter: Parameter, start: int, shape: tuple[int, ...], id: Value, rest: tuple[Any, ...]) -> Any:
    """What `id` and the indices `rest` behind it choose of the span of `parameter` that begins at `start`."""
    rows, *inner = shape
    offset, left, step = start, tuple(inner), prod(inner)
    for i in rest:
        if isinstance(i, Value):
            raise InputError(f"{parameter._title()}: one index may be a Value, got {shown(rest)} behind the first")
        side, *deeper = left
        left = tuple(deeper)
        offset += position(i, side, parameter._title()) * prod(left)
    if not _is_known(id):
        return _nested(left, offset, lambda at: Gathered(parameter, at, rows, step, id))
    number = id.data
    if 0 <= number < rows and number == int(number):
        return _nested(left, offset + int(number) * step, parameter.weight)
    if id._op is None:
        raise OutOfRangeError(
            f"{parameter._title()}: there is no row {shown(number)}; an id is a whole number from 0 to {rows - 1}"
        )
    return _nested(left, offset, lambda at: Value(math.nan))


def _is_known(id: Value) -> bool:
    """Whether the number is there now: it is none that a graph will have when it runs."""
    return tracing.active() is None or (id._op is None and type(id) is Value)


def _nested(shape: tuple[int, ...], at: int, make: Callable[[int], Value]) -> Any:
    """Values in lists of this shape, from flat index `at` on in C order."""
    if not shape:
        return make(at)
    side, *inner = shape
    step = prod(inner)
    return [_nested(tuple(inner), at + k * step, make) for k in range(side)]
