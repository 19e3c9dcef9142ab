"""What a module gets and returns: numbers, lists and arrays become Values and arrays of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from ..errors import InputError, TypeMismatchError, shown
from ..scalar import Value
from ..scalar.array import Values, row_of
from ..scalar.nested import DEEPEST, NESTED, too_deep
from ..scalar.number import Many
from ..scalar.outputs import Outputs
from ..scalar.sample import Sample

_NUMBERS = (Value, float, int, np.floating, np.integer)
ONE_INPUT = "A Run and a batch give forward one input. Join several as np.hstack([a, b]), and split the row in forward."

SEVERAL = (
    "Only a single array is split into samples, and here are several. For a batch, give their columns as one: x = "
    "np.hstack([a.reshape(len(a), -1), b.reshape(len(b), -1)]), and cut it in forward: x[..., :n], x[..., n:]. A loss "
    "is computed outside of forward: loss = criterion(net(x), y)."
)


def as_input(x: Any, module: object) -> Any:
    """Return an input of a layer: a Value for a number, else an array of Values. Errors name the module."""
    kind = type(x)
    if kind is Values or kind is Sample or isinstance(x, Value):
        return x
    if isinstance(x, Many):
        if not x.taped:
            return x.as_values()
        if isinstance(x, Outputs) and x.requires_grad:
            raise InputError(
                f"{type(module).__name__}: outputs of a batch are one of several inputs; join the modules in one "
                "forward, and call it with the batch"
            )
        x = np.asarray(x)
    if hasattr(x, "detach"):  # PyTorch's tensors may need gradients
        x = x.detach().cpu().numpy()
    try:
        found = row_of(x, f"{type(module).__name__}: the input")
    except TypeMismatchError:
        raise TypeMismatchError(
            f"{type(module).__name__}: an input must be a number, an array or a sequence of numbers, got {shown(x)}"
        ) from None
    return found if found.ndim else found.item_value()


def as_argument(x: Any, module: object, level: int = 0) -> Any:
    """Return an argument of a user's forward: numbers become Values; None, flags and other objects stay.

    An array is a `Sample` from here on.
    """
    if type(x) is Sample or isinstance(x, Value):
        return x
    if isinstance(x, list | tuple):
        if not x or not _plain(x):  # forward may fill an empty list
            return x
        try:
            return as_input(x, module).view(Sample)
        except InputError:
            if level >= DEEPEST:
                raise too_deep(f"{type(module).__name__}: the input") from None
            return [as_argument(part, module, level + 1) for part in x]  # ragged
    number = isinstance(x, _NUMBERS) and not isinstance(x, bool)
    array = hasattr(x, "detach") or getattr(getattr(x, "dtype", None), "kind", "") in ("b", "i", "u", "f", "O")
    if not (number or array or isinstance(x, Many)):
        return x
    found = as_input(x, module)
    return found if isinstance(found, Value) else np.ndarray.view(found, Sample)


def _plain(x: Any, level: int = 0) -> bool:
    """Return whether lists hold numbers and Values only."""
    parts = (isinstance(v, _NUMBERS) or (isinstance(v, list | tuple) and _plain(v, level + 1)) for v in x)
    return level <= DEEPEST and all(parts)


def from_sample(inputs: Iterable[Any]) -> bool:
    """Return whether an array that comes from a sample inside forward is among the inputs, or in their lists."""
    parts = (type(x) is Sample or (_holds_arrays(x) and from_sample(_parts(x))) for x in inputs)
    return any(parts)


def as_result(x: Any, kind: type[Values]) -> Any:
    """Return the result of a user's forward: lists of numbers and Values as an array, others part by part.

    Arrays are of a `kind`: `Sample` if the result goes back into another forward.
    """
    if isinstance(x, Value) or (type(x) is kind and x.ndim):
        return x
    if isinstance(x, np.ndarray | Many):
        found = x if isinstance(x, Values) else row_of(x)
        return np.ndarray.view(found, kind) if found.ndim else found.item_value()
    if type(x) is list and x and _plain(x):
        try:
            return row_of(x).view(kind)
        except InputError:  # ragged
            return [as_result(part, kind) for part in x]
    return rebuilt(x, lambda part: as_result(part, kind)) if _holds_arrays(x) else x


def as_lists(x: Any) -> Any:
    """Return arrays as nested lists, also those in lists, tuples and dicts."""
    if isinstance(x, Value):
        return x
    if isinstance(x, np.ndarray):
        return x.tolist()
    return rebuilt(x, as_lists) if _holds_arrays(x) else x


def rebuilt(x: Any, change: Callable[[Any], Any]) -> Any:
    """Return a list, tuple or dict with ``change(part)`` for each part."""
    if isinstance(x, dict):
        return {key: change(part) for key, part in x.items()}
    parts = [change(part) for part in x]
    return parts if isinstance(x, list) else type(x)(*parts) if hasattr(x, "_fields") else tuple(parts)


def _holds_arrays(x: Any) -> bool:
    """Return whether a list, tuple or dict holds more than numbers; others stay the same object."""
    return any(issubclass(kind, NESTED) for kind in set(map(type, _parts(x))))


def _parts(x: Any) -> Iterable[Any]:
    return x.values() if isinstance(x, dict) else x if isinstance(x, list | tuple) else ()


def titled(module: Any, text: str) -> str:
    """Return `text` followed by the module's path in its network, for messages: ``Conv2d(1, 4) '0'``."""
    name = module.full_name()
    return f"{text} {name!r}" if name else text


@lru_cache(maxsize=1024)
def is_ours(kind: type) -> bool:
    """Return whether the forward of this class is defined in this package; a view of a perceptron has none."""
    called = getattr(kind, "forward", kind)
    return str(getattr(called, "__module__", "")).startswith(f"{__package__}.")
