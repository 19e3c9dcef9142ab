"""Normalisation over one sample: `LayerNorm`; and what all normalisations share."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from ..checks import flag
from ..errors import InputError, shown
from ..onnx.export.sheet import Sheet, Tensor
from ..scalar import Value, Weight, dot, functions
from ..scalar.dot import Dot, Row
from ..scalar.nested import flatten, nest, shape_of
from ..scalar.numbers import as_number
from ._inputs import titled
from ._linear import count
from ._module import Module
from ._parameter import Parameter


class Norm(Module):
    """What the normalisations share: a `weight` that starts as ones and a `bias` that starts as zeros."""

    weight: Parameter | None
    bias: Parameter | None

    def constant_start(self, part: Parameter | Weight) -> float | None:
        """1 for the weights, 0 for the biases, whatever the initialiser."""
        return 1.0 if part is self.weight else 0.0


class LayerNorm(Norm):
    """Numbers of one sample with mean 0 and variance 1: ``(x - mean) / sqrt(var + eps) * weight + bias``.

    Parameters
    ----------
    normalized_shape : int or tuple of int
        The last dimensions of the input, over which mean and variance (divided by n) are taken.
    eps : float
        Keeps the root away from 0.
    elementwise_affine : bool
        Whether there is a `weight`.
    bias : bool
        Whether there is a `bias` beside the `weight`.

    Attributes
    ----------
    weight, bias : Parameter of shape `normalized_shape`, or None

    Raises
    ------
    InputError
        No shape, or a negative or infinite `eps`; when called: an input that does not end in `normalized_shape`.
    """

    stage: ClassVar[str] = "layer_norm"
    onnx_stacks: ClassVar[bool] = True
    normalized_shape: tuple[int, ...]
    eps: float

    def __init__(
        self,
        normalized_shape: int | tuple[int, ...],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
    ) -> None:
        sides = tuple(normalized_shape) if isinstance(normalized_shape, tuple | list) else (normalized_shape,)
        if not sides:
            raise InputError("LayerNorm: normalized_shape must have at least one side, got ()")
        self.normalized_shape = tuple(count(side, "LayerNorm: a side of normalized_shape") for side in sides)
        self.eps = epsilon(eps, "LayerNorm")
        title = f"LayerNorm({self.normalized_shape})"
        affine = flag(elementwise_affine, "LayerNorm: elementwise_affine")
        biased = flag(bias, "LayerNorm: bias") and affine
        self.weight = Parameter.filled(1.0, self.normalized_shape, title) if affine else None
        self.bias = Parameter.filled(0.0, self.normalized_shape, title) if biased else None

    def forward(self, x: Any) -> Any:
        """The normalised numbers, in the shape of `x`."""
        title = titled(self, f"LayerNorm({self.normalized_shape})")
        shape = shape_of(x, f"{title}: the input")
        if shape[-len(self.normalized_shape) :] != self.normalized_shape:
            raise InputError(f"{title} takes inputs whose shape ends in {self.normalized_shape}, got {shape}")
        row, size = flatten(x), math.prod(self.normalized_shape)
        normal = [v for start in range(0, len(row), size) for v in normalised(row[start : start + size], self.eps)]
        if self.weight is not None:
            normal = [scaled(v, self.weight, self.bias, i % size) for i, v in enumerate(normal)]
        return nest(normal, shape)

    def write_onnx(self, sheet: Sheet, x: Tensor) -> Tensor:
        """A LayerNormalization."""
        affine = onnx_affine(sheet, self.weight, self.bias, self.normalized_shape)
        axis = -len(self.normalized_shape)
        return sheet.node("LayerNormalization", x, *affine, shape=x.shape, axis=axis, epsilon=self.eps)

    def extra_repr(self) -> str:
        """PyTorch's text."""
        return f"{self.normalized_shape}, eps={self.eps:g}, elementwise_affine={self.weight is not None}"


def normalised(row: list[Value], eps: float) -> list[Value]:
    """The numbers with mean 0 and variance 1."""
    shares = (Value(1.0 / len(row)),) * len(row)
    mean = dot(shares, row)
    centred = [x - mean for x in row]
    variance = dot(shares, [functions.square(c) for c in centred])
    factor = 1.0 / functions.sqrt(variance + eps)
    return [c * factor for c in centred]


def scaled(x: Value, weight: Parameter, bias: Parameter | None, index: int) -> Value:
    """``x * weight[index] + bias[index]``."""
    return Dot.of(Row(weight, index, 1), (x,), None if bias is None else Row(bias, index, 1))


def onnx_affine(
    sheet: Sheet, weight: Parameter | None, bias: Parameter | None, shape: tuple[int, ...]
) -> tuple[str, str]:  # fmt: skip
    """The names of a norm's weight and bias; ones and zeros where it has none, which ONNX wants."""
    factor = sheet.numbers(np.ones(shape)) if weight is None else sheet.weight(weight)
    return factor, sheet.numbers(np.zeros(shape)) if bias is None else sheet.weight(bias)


def epsilon(eps: float, name: str) -> float:
    """`eps` as a float.

    Raises
    ------
    InputError
        It is negative or not finite.
    """
    number = as_number(eps, f"{name}: eps")
    if not (math.isfinite(number) and number >= 0.0):
        raise InputError(f"{name}: eps must be a finite number >= 0, got {shown(eps)}; try 1e-5")
    return number
