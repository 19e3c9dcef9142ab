"""The inputs of a module: a number, a row of numbers, or nested lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, SupportsFloat

import numpy as np

from ..errors import TypeMismatchError, shown
from ..scalar import Value
from ..scalar.array import Values
from ..scalar.nested import DEEPEST, too_deep
from ..scalar.value import as_value
from ._elementwise import Elementwise


def as_input(x: Any, module: object, level: int = 0) -> Any:
    """Return a number as a Value, a sequence or an array as a list of Values, a nested one as nested lists.

    A user's module gets an array of Values as it is; layers get lists. A TypeMismatchError names the module.
    """
    if isinstance(x, Value):
        return x
    if isinstance(x, Elementwise):
        x = x.as_values()
    if isinstance(x, Values) and not _is_ours(module):
        return x
    if getattr(x, "ndim", 0) > 0 and hasattr(x, "tolist"):  # arrays of NumPy, PyTorch or JAX
        x = x.tolist()
    if isinstance(x, list | tuple):
        if x and isinstance(x[0], list | tuple | np.ndarray | Elementwise):
            if level >= DEEPEST:
                raise too_deep(f"{type(module).__name__}: the input")
            return [as_input(part, module, level + 1) for part in x]
        return [v if isinstance(v, Value) else Value(v) for v in x]
    if isinstance(x, str) or not isinstance(x, SupportsFloat):
        if isinstance(x, Sequence) and not isinstance(x, str):
            return [as_value(v) for v in x]
        raise TypeMismatchError(
            f"{type(module).__name__}: an input must be a number or a sequence of numbers, got {shown(x)}"
        )
    return Value(x)


def titled(module: Any, text: str) -> str:
    """Return `text` followed by the module's path in its network, for messages: ``Conv2d(1, 4) '0'``."""
    name = module.full_name()
    return f"{text} {name!r}" if name else text


def _is_ours(module: Any) -> bool:
    """Return whether the module's forward is defined in this package; a view of a perceptron has none."""
    called = getattr(type(module), "forward", type(module))
    return str(getattr(called, "__module__", "")).startswith(f"{__package__}.")
