"""What a module gets and returns: numbers, lists and arrays become Values and arrays of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ..errors import InputError, TypeMismatchError, shown
from ..scalar import Value
from ..scalar.array import Sample, Values, row_of
from ..scalar.nested import DEEPEST, too_deep
from ..scalar.number import Many

_NUMBERS = (Value, float, int, np.floating, np.integer)
ONE_INPUT = "A Run and a batch give forward one input. Join several as np.hstack([a, b]), and split the row in forward."


def as_input(x: Any, module: object) -> Any:
    """Return an input of a layer: a Value for a number, else an array of Values. Errors name the module."""
    kind = type(x)
    if kind is Values or kind is Sample or isinstance(x, Value):
        return x
    if isinstance(x, Many):
        return x.as_values()
    if hasattr(x, "detach"):  # PyTorch's tensors may need gradients
        x = x.detach().cpu().numpy()
    try:
        found = row_of(x)
    except InputError as error:  # ragged, or nested too deeply
        raise InputError(f"{type(module).__name__}: {error}") from None
    except TypeMismatchError:
        raise TypeMismatchError(
            f"{type(module).__name__}: an input must be a number, an array or a sequence of numbers, got {shown(x)}"
        ) from None
    return found if found.ndim else found.item_value()


def as_argument(x: Any, module: object, level: int = 0) -> Any:
    """Return an argument of a user's forward: numbers become Values; None, flags and other objects stay."""
    if isinstance(x, list | tuple):
        if not _plain(x):
            return x
        try:
            return as_input(x, module)
        except InputError:
            if level >= DEEPEST:
                raise too_deep(f"{type(module).__name__}: the input") from None
            return [as_argument(part, module, level + 1) for part in x]  # ragged
    number = isinstance(x, _NUMBERS) and not isinstance(x, bool)
    array = getattr(getattr(x, "dtype", None), "kind", "") in "biufO" or hasattr(x, "detach")
    return as_input(x, module) if number or (array and hasattr(x, "shape")) or isinstance(x, Many) else x


def _plain(x: Any, level: int = 0) -> bool:
    """Return whether lists hold numbers and Values only."""
    return level <= DEEPEST and all(
        _plain(v, level + 1) if isinstance(v, list | tuple) else isinstance(v, _NUMBERS) for v in x
    )


def marked(x: Any, kind: type[Values]) -> Any:
    """Return an argument or a result with its arrays as `kind`: `Sample` inside forward, `Values` outside."""
    return mapped(x, lambda array: array if type(array) is kind else np.ndarray.view(array, kind))


def mapped(x: Any, change: Callable[[Values], Any]) -> Any:
    """Return `x` with ``change(array)`` for each array of Values in its lists, tuples and dicts."""
    if isinstance(x, Values):
        return change(x)
    return rebuilt(x, lambda part: mapped(part, change)) if _holds_arrays(x) else x


def rebuilt(x: Any, change: Callable[[Any], Any]) -> Any:
    """Return a list, tuple or dict with ``change(part)`` for each part."""
    if isinstance(x, dict):
        return {key: change(part) for key, part in x.items()}
    parts = [change(part) for part in x]
    return parts if isinstance(x, list) else type(x)(*parts) if hasattr(x, "_fields") else tuple(parts)


def _holds_arrays(x: Any) -> bool:
    """Return whether a list, tuple or dict holds more than numbers; others stay the same object."""
    parts = x.values() if isinstance(x, dict) else x if isinstance(x, list | tuple) else ()
    return any(isinstance(part, np.ndarray | list | tuple | dict | Many) for part in parts)


def from_sample(x: Any) -> bool:
    """Return whether an argument is, or holds, an array that comes from a sample inside forward."""
    if isinstance(x, list | tuple | dict):
        return any(map(from_sample, x.values() if isinstance(x, dict) else x))
    return isinstance(x, Sample)


def as_result(x: Any) -> Any:
    """Return the result of a user's forward: lists of numbers and Values as an array, others part by part."""
    if isinstance(x, Value | Values):
        return x
    if isinstance(x, Many):
        return x.as_values()
    if isinstance(x, np.ndarray):
        return row_of(x) if x.ndim else x
    if type(x) is list and x and _plain(x):
        try:
            return row_of(x)
        except InputError:  # ragged
            return [as_result(v) for v in x]
    return rebuilt(x, as_result) if _holds_arrays(x) else x


def titled(module: Any, text: str) -> str:
    """Return `text` followed by the module's path in its network, for messages: ``Conv2d(1, 4) '0'``."""
    name = module.full_name()
    return f"{text} {name!r}" if name else text


@lru_cache(maxsize=1024)
def is_ours(kind: type) -> bool:
    """Return whether the forward of this class is defined in this package; a view of a perceptron has none."""
    called = getattr(kind, "forward", kind)
    return str(getattr(called, "__module__", "")).startswith(f"{__package__}.")
