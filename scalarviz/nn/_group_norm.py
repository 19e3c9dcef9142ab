"""`GroupNorm`: normalisation over groups of the channels of one sample."""

from __future__ import annotations

from math import prod
from typing import Any, ClassVar

import numpy as np

from ..checks import flag
from ..errors import InputError
from ..onnx.export.sheet import Sheet, Tensor
from ..scalar.nested import flatten, nest, shape_of
from ._inputs import titled
from ._linear import count
from ._norm import Norm, epsilon, normalised, scaled
from ._parameter import Parameter


class GroupNorm(Norm):
    """Each group of neighbouring channels with mean 0 and variance 1, then a factor and a summand a channel.

    Parameters
    ----------
    num_groups, num_channels : int
        The channels C, the first dimension of a sample, make so many groups of the same size.
    eps : float
        Keeps the root away from 0.
    affine : bool
        Whether there are `weight` and `bias`.

    Attributes
    ----------
    weight, bias : Parameter, shape (num_channels,), or None

    Raises
    ------
    InputError
        A size below 1, channels that do not make such groups, or a bad `eps`; when called: an input of another shape.
    """

    stage: ClassVar[str] = "group_norm"
    num_groups: int
    num_channels: int
    eps: float

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True) -> None:
        self.num_groups = count(num_groups, "GroupNorm: num_groups")
        self.num_channels = count(num_channels, "GroupNorm: num_channels")
        if self.num_channels % self.num_groups:
            raise InputError(
                f"GroupNorm: {self.num_channels} channels do not make {self.num_groups} groups of the same size"
            )
        self.eps = epsilon(eps, "GroupNorm")
        title, shape = f"GroupNorm({self.num_groups}, {self.num_channels})", (self.num_channels,)
        self.weight, self.bias = None, None
        if flag(affine, "GroupNorm: affine"):
            self.weight, self.bias = Parameter.filled(1.0, shape, title), Parameter.filled(0.0, shape, title)

    def forward(self, x: Any) -> Any:
        """The normalised numbers, in the shape of `x`."""
        title = titled(self, f"GroupNorm({self.num_groups}, {self.num_channels})")
        shape = shape_of(x, f"{title}: the input")
        if not shape or shape[0] != self.num_channels or 0 in shape:
            raise InputError(f"{title} takes a sample of {self.num_channels} channels, got the shape {shape}")
        row = flatten(x)
        size, places = len(row) // self.num_groups, len(row) // self.num_channels
        normal = [v for start in range(0, len(row), size) for v in normalised(row[start : start + size], self.eps)]
        if self.weight is not None:
            normal = [scaled(v, self.weight, self.bias, k // places) for k, v in enumerate(normal)]
        return nest(normal, shape)

    def write_onnx(self, sheet: Sheet, x: Tensor) -> Tensor:
        """An InstanceNormalization of the groups, as the standard has no other before opset 18; then the channels."""
        groups, sides = self.num_groups, (-1,) + (1,) * (len(x.shape) - 1)
        apart = sheet.reshaped(x, (groups, prod(x.shape) // groups))
        ones, zeros = (sheet.numbers(np.full(groups, number)) for number in (1.0, 0.0))
        normal = sheet.node("InstanceNormalization", apart, ones, zeros, shape=apart.shape, epsilon=self.eps)
        made = sheet.reshaped(normal, x.shape)
        for operator, part in (("Mul", self.weight), ("Add", self.bias)):
            if part is not None:
                channels = sheet.fixed("Reshape", sheet.weight(part), sheet.integers(sides))
                made = sheet.node(operator, made, channels, shape=x.shape)
        return made

    def extra_repr(self) -> str:
        """PyTorch's text."""
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps:g}, affine={self.weight is not None}"
