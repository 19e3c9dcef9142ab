"""Pictures and volumes of Values: nested lists, the last dimension innermost (C order)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import InputError
from .value import Value

Shape = tuple[int, ...]


def shape_of(x: Any, what: str = "the input") -> Shape:
    """The shape of nested lists; ``()`` for a single Value.

    Raises
    ------
    InputError
        The lists are ragged: neighbours have different shapes.
    """
    if not isinstance(x, list | tuple):
        return ()
    if not any(isinstance(item, list | tuple) for item in x):
        return (len(x),)
    shapes = [shape_of(item, what) for item in x]
    for place, shape in enumerate(shapes):
        if shape != shapes[0]:
            raise InputError(f"{what} is ragged: part 0 has shape {shapes[0]}, part {place} has shape {shape}")
    return (len(x), *shapes[0])


def flatten(x: Any) -> list[Value]:
    """The Values in `x`: itself, or those of a list or tuple, nested or not; other things are left out."""
    if isinstance(x, Value):
        return [x]
    if isinstance(x, list | tuple):
        return [v for item in x for v in ((item,) if isinstance(item, Value) else flatten(item))]
    return []


def nest(row: Sequence[Any], shape: Shape) -> Any:
    """The flat `row` (as many items as `shape` has places) as nested lists."""
    parts: list[Any] = list(row)
    for side in reversed(shape[1:]):
        parts = [parts[start : start + side] for start in range(0, len(parts), side)]
    return parts
