"""Activations: an operation of the table on every element."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from ..errors import InputError, shown
from ..scalar import Value
from ..scalar.kernel import kernel
from ..scalar.numbers import as_number
from ..scalar.value import apply, apply_each
from ._module import Module


class Activation(Module):
    """Applies one operation of the table to each input.

    Attributes
    ----------
    op : str or None
        Name of the operation; None for the identity.
    """

    op: ClassVar[str | None] = None

    def forward(self, x: Any) -> Any:
        """One Value for one Value, a list for a list, nested lists for nested lists."""
        if self.op is None:
            return x
        if isinstance(x, list) and x and isinstance(x[0], list):
            return [self.forward(part) for part in x]
        op, rest = kernel(self.op), self.constants()
        return apply(op, x, *rest) if isinstance(x, Value) else apply_each(op, x, *rest)

    def constants(self) -> tuple[float, ...]:
        """Further operands of the operation."""
        return ()


class Sigmoid(Activation):
    """``1 / (1 + exp(-x))``, without overflow."""

    op = "sigmoid"


class Tanh(Activation):
    """The hyperbolic tangent."""

    op = "tanh"


class ReLU(Activation):
    """``max(0, x)``; derivative 0 at 0."""

    op = "relu"


class LeakyReLU(Activation):
    """``x`` where positive, else ``negative_slope * x``; derivative `negative_slope` at 0.

    Raises
    ------
    InputError
        `negative_slope` is not finite.
    """

    op = "leaky_relu"
    negative_slope: float

    def __init__(self, negative_slope: float = 0.01) -> None:
        self.negative_slope = as_number(negative_slope, "LeakyReLU: negative_slope")
        if not math.isfinite(self.negative_slope):
            raise InputError(f"LeakyReLU: negative_slope must be finite, got {shown(negative_slope)}; try 0.01")

    def constants(self) -> tuple[float, ...]:
        """The slope."""
        return (self.negative_slope,)

    def extra_repr(self) -> str:
        """PyTorch's text."""
        return f"negative_slope={self.negative_slope:g}"


class Softplus(Activation):
    """``log(1 + exp(beta * x)) / beta``, without overflow.

    Parameters
    ----------
    beta : float
        How sharply it bends at 0; > 0.

    Raises
    ------
    InputError
        `beta` is not positive and finite.

    Notes
    -----
    PyTorch's `threshold`, above which it returns ``x``, is not needed: the operation is exact for every ``x``.
    """

    op = "softplus"
    beta: float

    def __init__(self, beta: float = 1.0) -> None:
        self.beta = as_number(beta, "Softplus: beta")
        if not (math.isfinite(self.beta) and self.beta > 0):
            raise InputError(f"Softplus: beta must be a finite number > 0, got {shown(beta)}; try 1")

    @property
    def stage(self) -> str | None:
        """What a picture calls it where it is more than one operation; see :class:`scalarviz.run.frame.Stage`."""
        return None if self.beta == 1.0 else self.op

    def forward(self, x: Any) -> Any:
        """One Value for one Value, a list for a list, nested lists for nested lists."""
        if self.beta == 1.0:
            return super().forward(x)
        if isinstance(x, list):
            return [self.forward(part) for part in x]
        return super().forward(x * self.beta) * (1.0 / self.beta)

    def extra_repr(self) -> str:
        """The sharpness, where it is not 1."""
        return "" if self.beta == 1.0 else f"beta={self.beta:g}"


class Identity(Activation):
    """Hands its inputs on."""
