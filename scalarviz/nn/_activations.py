"""Activations: one operation of the table, applied to every element."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from ..checks import one_of
from ..errors import InputError
from ..scalar import Value, Weight
from ..scalar.array import like
from ..scalar.kernel import kernel
from ..scalar.nested import shape_of
from ..scalar.number import checked_number, positive
from ..scalar.outputs import Outputs
from ..scalar.value import apply, apply_each
from ._inputs import titled
from ._linear import count
from ._module import Module
from ._parameter import Parameter


class Activation(Module):
    """Base of the activations: apply one operation of the table to each element.

    Attributes
    ----------
    op : str or None
        Name of the operation; None for the identity.
    """

    op: ClassVar[str | None] = None
    _elementwise: ClassVar[bool] = True
    keeps_shape: ClassVar[bool] = True
    _numbers: ClassVar[tuple[str, ...]] = ()
    """Names of its arguments, which are the further operands of the operation."""

    def forward(self, x: Any) -> Any:
        """Return a Value for a Value, an array for an array."""
        if self.op is None:
            return x
        op, rest = kernel(self.operation), self.constants()
        if isinstance(x, Value):
            return apply(op, x, *rest)
        if isinstance(x, Outputs):
            return x.each(self.operation, x, *rest)
        return like(x, apply_each(op, x.ravel().tolist(), *rest), shape_of(x))

    @property
    def operation(self) -> str:
        """The applied operation; subclasses override it if it is not `op`."""
        return self.op or ""

    def constants(self) -> tuple[float, ...]:
        return tuple([getattr(self, name) for name in self._numbers]) if self._numbers else ()  # read at every call

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={getattr(self, name):g}" for name in self._numbers)


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
    _numbers = ("negative_slope",)

    def __init__(self, negative_slope: float = 0.01) -> None:
        self.negative_slope = _finite(negative_slope, "LeakyReLU: negative_slope", "; try 0.01")


class Softplus(Activation):
    """``log(1 + exp(beta * x)) / beta``, without overflow; ``x`` where ``beta * x`` is above `threshold`.

    Parameters
    ----------
    beta : float
        Sharpness of the bend at 0; > 0.
    threshold : float
        Above it the function is taken as linear, as in PyTorch. ``math.inf``: exact for every ``x``.

    Raises
    ------
    InputError
        `beta` is not positive and finite, or `threshold` is NaN.
    """

    op = "softplus"
    stage: ClassVar[str] = "softplus"
    _numbers = ("beta", "threshold")

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        self.beta = positive(beta, "Softplus: beta", "; try 1")
        what = "Softplus: threshold"
        self.threshold = checked_number(threshold, what, lambda most: not math.isnan(most), "be a number", "; try 20")

    operation = "softplus_up_to"


class GELU(Activation):
    """``x`` times the probability that a normal number is below it.

    Parameters
    ----------
    approximate : {"none", "tanh"}
        ``"tanh"``: ``0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))``.

    Raises
    ------
    InputError
        `approximate` is something else.
    """

    op = "gelu"
    stage: ClassVar[str] = "gelu"

    def __init__(self, approximate: str = "none") -> None:
        self.approximate = one_of(approximate, ("none", "tanh"), "GELU: approximate")

    @property
    def operation(self) -> str:
        return "gelu_tanh" if self.approximate == "tanh" else "gelu"

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class SiLU(Activation):
    """``x * sigmoid(x)``."""

    op = "silu"


class ELU(Activation):
    """``x`` where positive, else ``alpha * (exp(x) - 1)``.

    Raises
    ------
    InputError
        `alpha` is not finite.
    """

    op = "elu"
    _numbers = ("alpha",)

    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha = _finite(alpha, "ELU: alpha", "; try 1")


class LogSigmoid(Activation):
    """``log(sigmoid(x))``, without overflow."""

    op = "log_sigmoid"


class ReLU6(Activation):
    """``min(max(0, x), 6)``; derivative 0 at both bounds."""

    op = "relu6"


class Identity(Activation):
    """Return the inputs unchanged."""


class PReLU(Module):
    """``x`` where positive, else a learnt slope times ``x``; derivative the slope at 0.

    Parameters
    ----------
    num_parameters : int
        1: one slope for all numbers; else one for each channel, the first dimension of a sample.
    init : float
        Initial value of the slopes; finite.

    Attributes
    ----------
    weight : Parameter, shape (num_parameters,)

    Raises
    ------
    InputError
        A number is out of its range; when called: the sample has another number of channels.
    """

    stage: ClassVar[str] = "prelu"
    keeps_shape: ClassVar[bool] = True

    def __init__(self, num_parameters: int = 1, init: float = 0.25) -> None:
        self.num_parameters = count(num_parameters, "PReLU: num_parameters")
        self.init = _finite(init, "PReLU: init", "; try 0.25")
        self.weight = Parameter.filled(self.init, (self.num_parameters,), f"PReLU({self.num_parameters})")

    def forward(self, x: Any) -> Any:
        shape = shape_of(x)
        if self.num_parameters > 1 and shape[:1] != (self.num_parameters,):
            title = titled(self, f"PReLU({self.num_parameters})")
            raise InputError(f"{title} takes a sample of shape ({self.num_parameters}, ...), got {shape}")
        if isinstance(x, Value):
            return apply(kernel("leaky_relu"), x, self.weight.weight(0))
        places = int(x.size) // self.num_parameters or 1
        slopes = (self.weight.weight(k // places) for k in range(int(x.size)))
        return like(x, [apply(kernel("leaky_relu"), v, slope) for v, slope in zip(x.flat, slopes, strict=True)], shape)

    def constant_start(self, part: Parameter | Weight) -> float | None:
        return self.init

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


def _finite(given: float, what: str, advice: str) -> float:
    return checked_number(given, what, math.isfinite, "be finite", advice)
