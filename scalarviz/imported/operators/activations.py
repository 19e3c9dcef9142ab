"""Activations: curves that each number goes through."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .alike import Array, each
from .table import Call, operator

Curve = Callable[[Array, Call], Array]


def _selu(x: Array, call: Call) -> Array:
    alpha, gamma = (
        call.attribute("alpha", 1.67326319217681884765625),
        call.attribute("gamma", 1.05070102214813232421875),
    )
    return each("mul", each("elu", x, alpha), gamma)


def _celu(x: Array, call: Call) -> Array:
    alpha = call.attribute("alpha", 1.0)
    return each("mul", each("elu", each("div", x, alpha), 1.0), alpha)


def _hard_sigmoid(x: Array, call: Call) -> Array:
    return _bent(x, call.attribute("alpha", 0.2), call.attribute("beta", 0.5))


def _bent(x: Array, slope: float, shift: float) -> Array:
    return each("clip", each("add", each("mul", x, slope), shift), 0.0, 1.0)


def _shrink(x: Array, call: Call) -> Array:
    bias, bound = call.attribute("bias", 0.0), call.attribute("lambd", 0.5)
    inner = each("where", each("gt", x, bound), each("sub", x, bias), 0.0)
    return each("where", each("lt", x, -bound), each("add", x, bias), inner)


def _swish(x: Array, call: Call) -> Array:
    alpha = call.attribute("alpha", 1.0)
    return each("silu", x) if alpha == 1.0 else each("mul", x, each("sigmoid", each("mul", x, alpha)))


CURVES: dict[str, Curve] = {
    "Celu": _celu,
    "Elu": lambda x, call: each("elu", x, call.attribute("alpha", 1.0)),
    "Gelu": lambda x, call: each("gelu_tanh" if call.attribute("approximate", "none") == "tanh" else "gelu", x),
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": lambda x, call: each("mul", x, _bent(x, 1.0 / 6.0, 0.5)),
    "LeakyRelu": lambda x, call: each("leaky_relu", x, call.attribute("alpha", 0.01)),
    "Mish": lambda x, call: each("mul", x, each("tanh", each("softplus", x))),
    "Relu": lambda x, call: each("relu", x),
    "Selu": _selu,
    "Shrink": _shrink,
    "Sigmoid": lambda x, call: each("sigmoid", x),
    "Softplus": lambda x, call: each("softplus", x),
    "Softsign": lambda x, call: each("div", x, each("add", each("abs", x), 1.0)),
    "Swish": _swish,
    "ThresholdedRelu": lambda x, call: each("where", each("gt", x, call.attribute("alpha", 1.0)), x, 0.0),
}
"""By the operator's name, of numbers and Values alike."""


@operator(*CURVES)
def activation(call: Call) -> list[Array]:
    """One curve of the table above."""
    x = call.input(0)
    return [_typed(CURVES[call.node.operator](x, call), x)]


@operator("PRelu")
def prelu(call: Call) -> list[Array]:
    """A slope of its own below 0, broadcast to the numbers."""
    x = call.input(0)
    return [_typed(each("leaky_relu", x, call.input(1)), x)]


def _typed(found: Array, x: Array) -> Array:
    """Whole numbers stay whole."""
    return found if found.dtype == object or x.dtype == object else np.asarray(found, x.dtype)
