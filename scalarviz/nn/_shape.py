"""`Flatten` and `Unflatten`: between rows of numbers and nested lists. They compute nothing."""

from __future__ import annotations

from math import prod
from typing import Any

from ..errors import InputError
from ..scalar import Value
from ..scalar.nested import flatten, nest, shape_of
from ._inputs import titled
from ._linear import count
from ._module import Module


class Flatten(Module):
    """All numbers of a sample as one row, the last dimension fastest (C order). A row stays as it is.

    Raises
    ------
    InputError
        When called: the nested lists are ragged.
    """

    def forward(self, x: Any) -> list[Value]:
        """The row of a nested list."""
        shape_of(x, f"{titled(self, 'Flatten()')}: the input")
        return flatten(x)


class Unflatten(Module):
    """A row of numbers as nested lists of the shape `unflattened_size`, such as (C, H, W).

    Parameters
    ----------
    unflattened_size : tuple of int
        Of one sample: there is no ``dim`` as in PyTorch, where dimension 0 is the batch.

    Raises
    ------
    InputError
        No shape; when called: not a row of that many numbers.

    Examples
    --------
    >>> from scalarviz import nn
    >>> out = nn.Unflatten((1, 2, 2))([1.0, 2.0, 3.0, 4.0])
    >>> out[0][1][0].data
    3.0
    """

    def __init__(self, unflattened_size: tuple[int, ...]) -> None:
        given: Any = unflattened_size
        if not isinstance(given, tuple | list) or len(given) == 0:
            raise InputError(
                f"Unflatten needs the shape of one sample, such as nn.Unflatten((1, 28, 28)); got {unflattened_size!r}"
            )
        self.unflattened_size = tuple(count(side, "Unflatten: a side") for side in unflattened_size)

    def forward(self, x: Any) -> Any:
        """The nested lists of a row."""
        title = titled(self, f"Unflatten({self.unflattened_size})")
        shape = shape_of(x, f"{title}: the input")
        if shape != (prod(self.unflattened_size),):
            raise InputError(f"{title} takes a row of {prod(self.unflattened_size)} numbers, got the shape {shape}")
        return nest(x, self.unflattened_size)

    def extra_repr(self) -> str:
        """The shape."""
        return f"unflattened_size={self.unflattened_size}"
