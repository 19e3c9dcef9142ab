"""Layers without weights: `Flatten` and `Unflatten` change the shape, `Dropout` sets numbers to 0 at random."""

from __future__ import annotations

from math import prod
from typing import Any, ClassVar

import numpy as np

from ..errors import InputError, shown
from ..scalar import Value
from ..scalar.array import like
from ..scalar.mask import factors
from ..scalar.nested import Shape, shape_of
from ..scalar.number import checked_number
from ._inputs import titled
from ._linear import count
from ._module import Module


class Flatten(Module):
    """Neighbouring dimensions of a sample become one, in C order; by default all dimensions.

    Parameters
    ----------
    start_dim, end_dim : int
        The first and the last of them, counted as in PyTorch. Dimension 0 is the batch, which a sample here lacks. So a
        picture C x H x W has the dimensions 1, 2, 3; negative ones count from the end.

    Raises
    ------
    InputError
        A dimension is no whole number, or is 0; when called: the input lacks such a dimension.

    Examples
    --------
    >>> from scalarviz import nn
    >>> nn.Flatten()([[1.0, 2.0], [3.0, 4.0]]).shape, nn.Flatten(2)([[[1.0], [2.0]]]).shape
    ((4,), (1, 2))
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        self.start_dim = _dimension(start_dim, "Flatten: start_dim")
        self.end_dim = _dimension(end_dim, "Flatten: end_dim")

    def forward(self, x: Any) -> Any:
        """Return the numbers as a row, or as an array with fewer dimensions."""
        shape = self.flat_shape(shape_of(x))
        return like(x, [x], shape) if isinstance(x, Value) else x.reshape(shape)

    def flat_shape(self, shape: Shape) -> Shape:
        """Return the output shape for a sample of this shape; InputError if it lacks such a dimension."""
        sides = shape or (1,)
        first, last = (d - 1 if d > 0 else d + len(sides) for d in (self.start_dim, self.end_dim))
        if not 0 <= first <= last < len(sides):
            raise InputError(
                f"{titled(self, repr(self))} cannot flatten a sample of shape {shape}: its dimensions are 1 .. "
                f"{len(sides)} (0 is the batch), and start_dim must be <= end_dim"
            )
        return (*sides[:first], prod(sides[first : last + 1]), *sides[last + 1 :])

    def extra_repr(self) -> str:
        default = (self.start_dim, self.end_dim) == (1, -1)
        return "" if default else f"start_dim={self.start_dim}, end_dim={self.end_dim}"


def _dimension(given: object, what: str) -> int:
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given == 0:
        raise InputError(
            f"{what} must be a whole number other than 0 (the batch dimension, which a sample lacks); got "
            f"{shown(given)}"
        )
    return int(given)


class Unflatten(Module):
    """A row of numbers becomes an array of the shape `unflattened_size`, such as (C, H, W).

    Parameters
    ----------
    unflattened_size : tuple of int
        The shape of one sample. PyTorch's ``dim`` does not exist here.

    Raises
    ------
    InputError
        `unflattened_size` is no shape; when called: the input is not a row of that many numbers.

    Examples
    --------
    >>> from scalarviz import nn
    >>> out = nn.Unflatten((1, 2, 2))([1.0, 2.0, 3.0, 4.0])
    >>> out.shape, out[0, 1, 0].data
    ((1, 2, 2), 3.0)
    """

    def __init__(self, unflattened_size: tuple[int, ...]) -> None:
        given: Any = unflattened_size
        if not isinstance(given, tuple | list) or len(given) == 0:
            raise InputError(
                f"Unflatten needs the shape of one sample, such as nn.Unflatten((1, 28, 28)); got {shown(given)}"
            )
        self.unflattened_size = tuple(count(side, "Unflatten: a side") for side in unflattened_size)

    def forward(self, x: Any) -> Any:
        shape = shape_of(x)
        if (shape or (1,)) != (prod(self.unflattened_size),):
            title = titled(self, f"Unflatten({self.unflattened_size})")
            raise InputError(f"{title} takes a row of {prod(self.unflattened_size)} numbers, got the shape {shape}")
        return like(x, [x] if isinstance(x, Value) else x.tolist(), self.unflattened_size)

    def extra_repr(self) -> str:
        return f"unflattened_size={self.unflattened_size}"


class Dropout(Module):
    """In training, set each number to 0 with probability `p` and multiply the others by ``1 / (1 - p)``.

    Parameters
    ----------
    p : float
        Probability of a zero, in ``0 .. 1``.

    Raises
    ------
    InputError
        `p` is no number in ``0 .. 1``.

    Notes
    -----
    In evaluation numbers stay as they are. The rule is PyTorch's (N. Srivastava et al., "Dropout", JMLR 15, 2014);
    the masks are not. In a :class:`~scalarviz.Run` a mask depends only on the run's seed, the call of the module, the
    step, the sample's position in the batch and the unit. So every engine can repeat any step with the same bits. In a
    loop by hand each call draws the next mask of this process; :func:`scalarviz.nn.init.manual_seed` restarts them.
    ``predict``, ``evaluate`` and the pictures of a Run use no masks; ``net.eval()`` removes them everywhere.
    """

    stage: ClassVar[str] = "dropout"
    keeps_shape: ClassVar[bool] = True

    def __init__(self, p: float = 0.5) -> None:
        self.p = p

    @property
    def p(self) -> float:
        """The probability of a zero.

        A Run keeps the value from when it was made; ``run.change(model=net)`` reads it again.
        """
        return float(vars(self)["p"])

    @p.setter
    def p(self, p: float) -> None:
        what = "Dropout: 'p' (the probability of a zero)"
        vars(self)["p"] = checked_number(p, what, lambda share: 0 <= share <= 1, "be in 0 .. 1", "; try 0.5")

    def forward(self, x: Any) -> Any:
        if not self.training or self.p == 0.0:
            return x
        if isinstance(x, Value):
            return x * factors(1, self.p)[0]
        return x * like(x, factors(int(x.size), self.p), shape_of(x))

    def extra_repr(self) -> str:
        return f"p={self.p:g}, inplace=False"
