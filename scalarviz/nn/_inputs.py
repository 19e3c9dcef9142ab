"""What a module may be called with: a number, a row of numbers, or nested lists of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, SupportsFloat

import numpy as np

from ..errors import TypeMismatchError, shown
from ..scalar import Value
from ..scalar.nested import DEEPEST, too_deep
from ..scalar.value import as_value
from ._array import Values
from ._elementwise import Elementwise


def as_input(x: Any, module: object, level: int = 0) -> Any:
    """A number as a Value; a sequence or an array as a list of Values, a nested one as nested lists.

    An array of Values stays one for a module that a user wrote; layers take lists. TypeMismatchError names the module.
    """
    if isinstance(x, Value):
        return x
    if isinstance(x, Elementwise):
        x = x.as_values()
    if isinstance(x, Values) and not _is_ours(module):
        return x
    if getattr(x, "ndim", 0) > 0 and hasattr(x, "tolist"):  # NumPy's, PyTorch's, JAX's
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
    """`text` and the module's path in its network, for messages: ``Conv2d(1, 4) '0'``."""
    name = module.full_name()
    return f"{text} {name!r}" if name else text


def _is_ours(module: Any) -> bool:
    """Whether its forward is one of this folder; a view of a perceptron has none."""
    called = getattr(type(module), "forward", type(module))
    return str(getattr(called, "__module__", "")).startswith(f"{__package__}.")
