"""`RMSNorm`: numbers divided by the root of the mean of their squares."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from ..checks import flag
from ..errors import InputError
from ..onnx.export.sheet import Sheet, Tensor
from ..scalar import Value, dot, functions
from ..scalar.dot import Dot, Row
from ..scalar.nested import flatten, nest, shape_of
from ._inputs import titled
from ._linear import count
from ._norm import Norm, epsilon
from ._parameter import Parameter

SMALLEST = float(np.finfo(np.float64).eps)
"""PyTorch's `eps` where none is given: that of the numbers that come in, which are float64 in Values."""


class RMSNorm(Norm):
    """``x / sqrt(mean(x**2) + eps) * weight``: numbers of one sample whose squares have the mean 1.

    Parameters
    ----------
    normalized_shape : int or tuple of int
        The last dimensions of the input, over which the mean is taken.
    eps : float, optional
        Keeps the root away from 0. Default: 2.2e-16, that of float64.
    elementwise_affine : bool
        Whether there is a `weight`.

    Attributes
    ----------
    weight : Parameter of shape `normalized_shape`, or None

    Raises
    ------
    InputError
        No shape, or a negative or infinite `eps`; when called: an input that does not end in `normalized_shape`.

    Examples
    --------
    >>> [round(v.data, 3) for v in RMSNorm(2)([3.0, 4.0])]
    [0.849, 1.131]
    """

    stage: ClassVar[str] = "rms_norm"
    onnx_stacks: ClassVar[bool] = True
    bias = None
    normalized_shape: tuple[int, ...]
    eps: float

    def __init__(
        self, normalized_shape: int | tuple[int, ...], eps: float | None = None, elementwise_affine: bool = True
    ) -> None:
        sides = tuple(normalized_shape) if isinstance(normalized_shape, tuple | list) else (normalized_shape,)
        if not sides:
            raise InputError("RMSNorm: normalized_shape must have at least one side, got ()")
        self.normalized_shape = tuple(count(side, "RMSNorm: a side of normalized_shape") for side in sides)
        self.eps = SMALLEST if eps is None else epsilon(eps, "RMSNorm")
        affine = flag(elementwise_affine, "RMSNorm: elementwise_affine")
        self.weight = (
            Parameter.filled(1.0, self.normalized_shape, f"RMSNorm({self.normalized_shape})") if affine else None
        )

    def forward(self, x: Any) -> Any:
        """The normalised numbers, in the shape of `x`."""
        title = titled(self, f"RMSNorm({self.normalized_shape})")
        shape = shape_of(x, f"{title}: the input")
        if shape[-len(self.normalized_shape) :] != self.normalized_shape:
            raise InputError(f"{title} takes inputs whose shape ends in {self.normalized_shape}, got {shape}")
        row, size = flatten(x), math.prod(self.normalized_shape)
        return nest([v for k in range(0, len(row), size) for v in self._normalised(row[k : k + size])], shape)

    def _normalised(self, row: list[Value]) -> list[Value]:
        factor = 1.0 / functions.sqrt(dot(row, row) * (1.0 / len(row)) + self.eps)
        normal = [x * factor for x in row]
        if self.weight is None:
            return normal
        return [Dot.of(Row(self.weight, i, 1), (v,), None) for i, v in enumerate(normal)]

    def write_onnx(self, sheet: Sheet, x: Tensor) -> Tensor:
        """Its formula, as the standard has no such node before opset 23."""
        last = tuple(range(-len(self.normalized_shape), 0))
        one = (*x.shape[: -len(last)], *(1 for _ in last))
        squares = sheet.node("Mul", x, x, shape=x.shape)
        mean = sheet.node("ReduceMean", squares, shape=one, axes=last, keepdims=1)
        root = sheet.node("Sqrt", sheet.node("Add", mean, self.eps, shape=one), shape=one)
        normal = sheet.node("Div", x, root, shape=x.shape)
        return normal if self.weight is None else sheet.node("Mul", normal, sheet.weight(self.weight), shape=x.shape)

    def extra_repr(self) -> str:
        """PyTorch's text."""
        return f"{self.normalized_shape}, eps={self.eps:g}, elementwise_affine={self.weight is not None}"
