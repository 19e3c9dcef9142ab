"""`Flatten` and `Unflatten`: between rows of numbers and nested lists. They compute nothing."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..errors import InputError, shown
from ..scalar.nested import Shape, flatten, nest, shape_of
from ._inputs import titled
from ._linear import count
from ._module import Module


class Flatten(Module):
    """Some neighbouring dimensions of a sample as one, the last fastest (C order); all of them by default.

    Parameters
    ----------
    start_dim, end_dim : int
        The first and the last of them, counted as PyTorch does: dimension 0 is the batch, which a sample here has
        not, so a picture C x H x W has the dimensions 1, 2, 3; negative ones count from the end.

    Raises
    ------
    InputError
        A dimension is no whole number, or the batch; when called: the nested lists are ragged, or have no such
        dimensions.

    Examples
    --------
    >>> from scalarviz import nn
    >>> len(nn.Flatten()([[1.0, 2.0], [3.0, 4.0]])), len(nn.Flatten(2)([[[1.0], [2.0]]])[0])
    (4, 2)
    """

    start_dim: int
    end_dim: int

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        self.start_dim = _dimension(start_dim, "Flatten: start_dim")
        self.end_dim = _dimension(end_dim, "Flatten: end_dim")

    def forward(self, x: Any) -> Any:
        """The row of nested lists, or nested lists with fewer levels."""
        shape = shape_of(x, f"{titled(self, 'Flatten()')}: the input")
        return nest(flatten(x), self.flat_shape(shape))

    def flat_shape(self, shape: Shape) -> Shape:
        """What becomes of a sample of that shape.

        Raises
        ------
        InputError
            It has no such dimensions.
        """
        sides = shape or (1,)
        first, last = (d - 1 if d > 0 else d + len(sides) for d in (self.start_dim, self.end_dim))
        if not 0 <= first <= last < len(sides):
            raise InputError(
                f"{titled(self, repr(self))} has no dimensions to join in a sample of shape {shape}: it has "
                f"1 .. {len(sides)} (0 is the batch), and start_dim must not be above end_dim"
            )
        return (*sides[:first], prod(sides[first : last + 1]), *sides[last + 1 :])

    def extra_repr(self) -> str:
        """PyTorch's text, where it is not the default."""
        default = (self.start_dim, self.end_dim) == (1, -1)
        return "" if default else f"start_dim={self.start_dim}, end_dim={self.end_dim}"


def _dimension(given: object, what: str) -> int:
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given == 0:
        raise InputError(
            f"{what} must be a whole number other than 0, the batch, which a sample here has not; got {shown(given)}"
        )
    return int(given)


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

    unflattened_size: Shape

    def __init__(self, unflattened_size: tuple[int, ...]) -> None:
        given: Any = unflattened_size
        if not isinstance(given, tuple | list) or len(given) == 0:
            raise InputError(
                f"Unflatten needs the shape of one sample, such as nn.Unflatten((1, 28, 28)); got {shown(given)}"
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
