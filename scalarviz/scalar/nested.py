"""Shapes of arrays and of nested lists of Values, and all their Values in C order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import InputError, typed
from .number import Many
from .value import Value

Shape = tuple[int, ...]

DEEPEST = 32
"""The most levels of nested lists; a list that holds itself would have no end."""


def too_deep(what: str) -> InputError:
    """Return the error for lists that are nested too deeply."""
    return InputError(f"{what} is nested more than {DEEPEST} levels deep; a sample has one level per dimension")


def shape_of(x: Any, what: str = "the input", level: int = 0) -> Shape:
    """Return the shape of an array or of nested lists, ``()`` for a single Value.

    InputError for ragged or too deep lists.
    """
    if isinstance(x, np.ndarray):
        return tuple(x.shape)
    if not isinstance(x, list | tuple):
        return ()
    if level >= DEEPEST:
        raise too_deep(what)
    if not any(isinstance(item, list | tuple | np.ndarray) for item in x):
        return (len(x),)
    shapes = [shape_of(item, what, level + 1) for item in x]
    for place, shape in enumerate(shapes):
        if shape != shapes[0]:
            raise InputError(f"{what} is ragged: part 0 has shape {shapes[0]}, part {place} has shape {shape}")
    return (len(x), *shapes[0])


def flatten(x: Any, level: int = 0) -> list[Value]:
    """Return the Values in `x`: itself, or those in a list, tuple, array or dict, nested too. Skip everything else.

    `level` is the number of lists around `x`; InputError if it is nested too deeply.
    """
    if isinstance(x, Value):
        return [x]
    if not isinstance(x, NESTED):
        return []
    if level >= DEEPEST:
        raise too_deep("a list")
    return [v for item in _opened(x) for v in ((item,) if isinstance(item, Value) else flatten(item, level + 1))]


def _opened(x: Any) -> Any:
    """Return the items of an array or a dict as a list; anything else unchanged."""
    if isinstance(x, Many):
        x = x.as_values()
    if isinstance(x, np.ndarray):
        return x.ravel().tolist()
    return list(x.values()) if isinstance(x, dict) else x


NESTED = (list, tuple, np.ndarray, Many, dict)


def every(result: Any, what: str, level: int = 0) -> list[Value]:
    """Return a function's result as a flat list: Values and numbers in lists, tuples, arrays and dicts, nested too.

    None beside arrays counts as nothing. InputError if it is something else or nested too deeply, TypeMismatchError if
    an item is no number.
    """
    if isinstance(result, Value):
        return [result]
    if level > DEEPEST:
        raise too_deep(f"{what}: a list")
    alone = isinstance(result, np.ndarray) and result.ndim == 0
    result = result if alone else _opened(result)
    if not isinstance(result, Sequence) or isinstance(result, str):
        raise InputError(f"{what} must return a Value or a list of Values, got {typed(result)}")
    if any(isinstance(v, NESTED) for v in result):
        parts = [part if isinstance(part, NESTED) else [part] for part in result if part is not None]
        return [v for part in parts for v in every(part, what, level + 1)]
    return [v if isinstance(v, Value) else Value(v) for v in result]
