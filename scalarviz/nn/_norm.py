"""Normalisation: `LayerNorm` over one sample, `BatchNorm1d` and `BatchNorm2d` by running statistics."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..checks import flag
from ..errors import InputError, StateError, shown
from ..scalar import Value, Weight, dot, functions
from ..scalar.dot import Dot, Row
from ..scalar.nested import flatten, nest, shape_of
from ..scalar.numbers import as_number
from ._inputs import titled
from ._linear import count
from ._module import Module
from ._parameter import Parameter, fits


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

    def extra_repr(self) -> str:
        """PyTorch's text."""
        return f"{self.normalized_shape}, eps={self.eps:g}, elementwise_affine={self.weight is not None}"


class BatchNorm(Norm):
    """``(x - running_mean) / sqrt(running_var + eps) * weight + bias``, each channel by its own numbers.

    Only the evaluation mode: in training mode PyTorch normalises by the mean and variance of the batch, which makes
    a sample's output depend on the others; a model here is the graph of one sample. Call ``net.eval()``; `weight`
    and `bias` can still be trained then, and the running statistics come from a PyTorch state_dict.

    Parameters
    ----------
    num_features : int
        Channels C.
    eps : float
        Keeps the root away from 0.
    affine : bool
        Whether there are `weight` and `bias`.

    Attributes
    ----------
    weight, bias : Parameter, shape (num_features,), or None
    running_mean, running_var : ndarray, shape (num_features,)
        Buffers: in the state_dict, not trained. A Run records their values when it is made.
    num_batches_tracked : ndarray of int64, shape ()
        Buffer, kept for PyTorch.

    Raises
    ------
    InputError
        A size below 1, or a bad `eps`; when called: an input of another shape.
    StateError
        Called in training mode.
    """

    layouts: ClassVar[dict[int, str]] = {}
    num_features: int
    eps: float
    running_mean: NDArray[Any]
    running_var: NDArray[Any]
    num_batches_tracked: NDArray[Any]

    def __init__(self, num_features: int, eps: float = 1e-5, *, affine: bool = True) -> None:
        name = type(self).__name__
        self.num_features = count(num_features, f"{name}: num_features")
        self.eps = epsilon(eps, name)
        shape, title = (self.num_features,), f"{name}({self.num_features})"
        fits(shape, title)
        self.weight, self.bias = None, None
        if flag(affine, f"{name}: affine"):
            self.weight, self.bias = Parameter.filled(1.0, shape, title), Parameter.filled(0.0, shape, title)
        self.register_buffer("running_mean", np.zeros(shape))
        self.register_buffer("running_var", np.ones(shape))
        self.register_buffer("num_batches_tracked", np.array(0, np.int64))

    def forward(self, x: Any) -> Any:
        """The normalised numbers, in the shape of `x`."""
        title = titled(self, f"{type(self).__name__}({self.num_features})")
        if self.training:
            raise StateError(
                f"{title} is in training mode: it would normalise each sample by the mean and variance of its batch, "
                "but a graph here is that of one sample. Call net.eval() before: running_mean and running_var are "
                "used then, and weight and bias can still be trained"
            )
        shape = shape_of(x, f"{title}: the input")
        if len(shape) not in self.layouts or shape[0] != self.num_features or 0 in shape:
            wanted = " or ".join(f"({self.num_features}{sides})" for sides in self.layouts.values())
            raise InputError(f"{title} takes a sample of shape {wanted}, got {shape}")
        with np.errstate(all="ignore"):
            factors = 1.0 / np.sqrt(self.running_var + self.eps)
        scaled = []
        for c, (channel, factor, mean) in enumerate(zip(x, factors.tolist(), self.running_mean.tolist(), strict=True)):
            scale, shift = self._affine(c, factor, mean)
            normal = [dot((scale,), (v,), shift) for v in flatten(channel)]
            scaled.append(normal[0] if len(shape) == 1 else nest(normal, shape[1:]))
        return scaled

    def _affine(self, c: int, factor: float, mean: float) -> tuple[Value, Value]:
        """Factor and summand of channel `c`: computed once a step, not once a number."""
        if self.weight is None or self.bias is None:
            return Value(factor), Value(-mean * factor)
        scale = self.weight.weight(c) * factor
        return scale, self.bias.weight(c) - scale * mean

    def extra_repr(self) -> str:
        """PyTorch's text."""
        return f"{self.num_features}, eps={self.eps:g}, affine={self.weight is not None}"


class BatchNorm1d(BatchNorm):
    """Batch normalisation of C numbers, or of C x L. See :class:`BatchNorm`."""

    stage: ClassVar[str] = "batch_norm1d"
    layouts: ClassVar[dict[int, str]] = {1: ",", 2: ", L"}


class BatchNorm2d(BatchNorm):
    """Batch normalisation of a picture C x H x W. See :class:`BatchNorm`."""

    stage: ClassVar[str] = "batch_norm2d"
    layouts: ClassVar[dict[int, str]] = {3: ", H, W"}


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
