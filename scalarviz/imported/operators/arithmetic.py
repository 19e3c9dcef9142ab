"""Operators that compute number by number: arithmetic, comparisons and choice, activations, softmax, dropout.

Of Values a truth is 0 or 1, and no gradient goes through it. Dropout does nothing but in training.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from math import prod
from typing import Any

import numpy as np

from ...scalar import tracing
from ...scalar.erf import erf
from ...scalar.functions import log_softmax
from ...scalar.functions import softmax as shares
from ...scalar.mask import factors
from .table import Array, Call, axis_of, bare, both, dressed, each, objects, operator, over_lanes, values

COMPARED: dict[str, tuple[str, Callable[..., Any]]] = {
    "Greater": ("gt", np.greater),
    "GreaterOrEqual": ("ge", np.greater_equal),
    "Less": ("lt", np.less),
    "LessOrEqual": ("le", np.less_equal),
}


def truth(x: Array) -> Array:
    """1 where a Value is not 0."""
    return each("where", x, 1.0, 0.0)


def _not(x: Array) -> Array:
    return each("where", x, 0.0, 1.0)


JOINED: dict[str, tuple[Callable[..., Array], Callable[..., Any]]] = {
    "And": (lambda a, b: each("mul", truth(a), truth(b)), np.logical_and),
    "Equal": (lambda a, b: each("mul", each("le", a, b), each("ge", a, b)), np.equal),
    "Or": (lambda a, b: each("where", a, 1.0, truth(b)), np.logical_or),
    "Xor": (lambda a, b: each("where", a, _not(b), truth(b)), np.logical_xor),
}
"""What is made of two truths or numbers, of Values and of numbers."""


@operator(*COMPARED)
def compared(call: Call) -> list[Array]:
    """Which of two numbers is larger."""
    name, function = COMPARED[call.node.operator]
    a, b = call.input(0), call.input(1)
    return [np.asarray(function(a, b)) if call.known else each(name, a, b)]


@operator(*JOINED)
def joined(call: Call) -> list[Array]:
    """What two truths, or two numbers, are together."""
    of_values, of_numbers = JOINED[call.node.operator]
    a, b = call.input(0), call.input(1)
    return [np.asarray(of_numbers(a, b)) if call.known else of_values(a, b)]


@operator("Not")
def negation(call: Call) -> list[Array]:
    """The opposite."""
    x = call.input(0)
    return [np.logical_not(x) if call.known else _not(x)]


@operator("IsNaN")
def is_nan(call: Call) -> list[Array]:
    """Where a number is none."""
    x = call.input(0)
    return [np.isnan(x) if call.known else _not(each("le", x, x))]


@operator("IsInf")
def is_infinite(call: Call) -> list[Array]:
    """Where a number is infinite, on the sides that count."""
    x = call.input(0)
    above, below = call.attribute("detect_positive", 1), call.attribute("detect_negative", 1)
    if call.known:
        return [(x == np.inf) & bool(above) | (x == -np.inf) & bool(below)]
    far = each("mul", each("ge", x, np.inf), float(above))
    return [each("add", far, each("mul", each("le", x, -np.inf), float(below)))]


@operator("Where")
def where(call: Call) -> list[Array]:
    """The second operand where the first is true, else the third."""
    condition, a, b = call.input(0), call.input(1), call.input(2)
    if call.known:
        return [np.where(condition, a, b)]
    if condition.dtype != object:  # which of them is known now: no node is needed
        return [dressed(np.where(condition, bare(objects(a)), bare(objects(b))))]
    return [each("where", condition, a, b)]


UNARY: dict[str, tuple[str, Callable[..., Any]]] = {
    "Abs": ("abs", np.abs),
    "Cos": ("cos", np.cos),
    "Erf": ("erf", erf),
    "Exp": ("exp", np.exp),
    "Log": ("log", np.log),
    "Neg": ("neg", np.negative),
    "Sin": ("sin", np.sin),
    "Sqrt": ("sqrt", np.sqrt),
    "Tanh": ("tanh", np.tanh),
}
"""Operators of one number: the operation of the table, and NumPy's function."""
STEPS: dict[str, Callable[..., Any]] = {"Ceil": np.ceil, "Floor": np.floor, "Round": np.round}
"""Those whose derivative is 0 everywhere: of numbers that are known alone."""


def _divide(a: Array, b: Array) -> Array:
    """Of whole numbers the quotient cut off at the point, as C has it."""
    if np.result_type(a, b).kind not in "iu":
        return np.asarray(a / b)
    quotient = np.abs(a) // np.abs(b)
    return np.asarray(np.where((a < 0) != (b < 0), -quotient, quotient))


BINARY: dict[str, tuple[str, Callable[..., Any]]] = {
    "Add": ("add", np.add),
    "Div": ("div", _divide),
    "Mul": ("mul", np.multiply),
    "Sub": ("sub", np.subtract),
}
FOLDED: dict[str, tuple[str, Callable[..., Any]]] = {
    "Max": ("maximum", np.maximum),
    "Min": ("minimum", np.minimum),
    "Sum": ("add", np.add),
}
"""Operators of any number of operands, taken two by two."""


@operator(*UNARY)
def unary(call: Call) -> list[Array]:
    """One operand."""
    name, function = UNARY[call.node.operator]
    return [both(name, function, call.input(0))]


@operator(*STEPS)
def steps(call: Call) -> list[Array]:
    """Whole numbers near a number."""
    return [np.asarray(STEPS[call.node.operator](call.only_numbers()[0]))]


@operator(*BINARY)
def binary(call: Call) -> list[Array]:
    """Two operands, broadcast."""
    name, function = BINARY[call.node.operator]
    return [both(name, function, call.input(0), call.input(1))]


@operator(*FOLDED)
def folded(call: Call) -> list[Array]:
    """One operand or more."""
    return [_fold(call, *FOLDED[call.node.operator])]


def _fold(call: Call, name: str, function: Callable[..., Any]) -> Array:
    operands = [call.input(k) for k in range(max(len(call.inputs), 1))]
    return reduce(lambda a, b: both(name, function, a, b), operands)


@operator("Mean")
def mean(call: Call) -> list[Array]:
    """The mean of the operands, number by number."""
    total, count = _fold(call, *FOLDED["Sum"]), len(call.inputs)
    return [np.asarray(total / count, total.dtype) if call.known else each("div", total, float(count))]


@operator("Reciprocal")
def reciprocal(call: Call) -> list[Array]:
    """One by each number."""
    return [both("div", np.divide, call.input(0).dtype.type(1) if call.known else 1.0, call.input(0))]


@operator("Tan")
def tangent(call: Call) -> list[Array]:
    """The tangent."""
    x = call.input(0)
    return [np.asarray(np.tan(x)) if call.known else each("div", each("sin", x), each("cos", x))]


@operator("Sign")
def sign(call: Call) -> list[Array]:
    """-1, 0 or 1; its derivative is 0."""
    x = call.input(0)
    return [np.sign(x) if call.known else each("sub", each("gt", x, 0.0), each("lt", x, 0.0))]


@operator("Pow")
def power(call: Call) -> list[Array]:
    """The first to the power of the second, in the first one's dtype."""
    base, exponent = call.input(0), call.input(1)
    if call.known:
        return [np.power(base, exponent).astype(base.dtype)]
    known = exponent.dtype != object and exponent.size == 1
    short = {2.0: "square", 0.5: "sqrt"}.get(float(exponent.item())) if known else None
    if short is not None and exponent.ndim <= base.ndim:
        found = each(short, base)
        return [found]
    return [each("pow", base, exponent)]


@operator("Mod")
def remainder(call: Call) -> list[Array]:
    """What is left of a division: with the sign of the divisor, or (fmod) of what is divided."""
    a, b = call.only_numbers()
    return [np.asarray(np.fmod(a, b) if call.attribute("fmod", 0) else np.mod(a, b))]


@operator("Clip")
def clip(call: Call) -> list[Array]:
    """Numbers kept between two bounds, each of which may be missing."""
    x = call.input(0)
    if call.version < 11:
        bounds = [call.attribute(name) for name in ("min", "max")]
    else:
        bounds = [call.inputs[k] if call.given(k) else None for k in (1, 2)]
    low, high = (None if b is None else np.asarray(b, x.dtype if x.dtype != object else None) for b in bounds)
    if call.known:
        return [np.asarray(np.clip(x, low, high)) if (low, high) != (None, None) else x]
    return [each("clip", x, -np.inf if low is None else low, np.inf if high is None else high)]


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


FLAT = 13
"""Before this version the axes from `axis` on are one."""


@operator("Softmax", "LogSoftmax", "Hardmax")
def softmax(call: Call) -> list[Array]:
    """Along one axis, or (old versions) along all from one on."""
    x = call.input(0)
    if call.version >= FLAT:
        return [_along(call, x, axis_of(call.attribute("axis", -1), x.ndim))]
    axis = axis_of(call.attribute("axis", 1), x.ndim)
    flat = x.reshape(prod(x.shape[:axis]), prod(x.shape[axis:]))
    return [_along(call, flat, 1).reshape(*x.shape)]


def _along(call: Call, x: Array, axis: int) -> Array:
    if x.size == 0:
        return x
    if call.node.operator == "Hardmax":
        call.only_numbers()
        places = np.expand_dims(np.argmax(x, axis), axis)
        found = np.zeros_like(x)
        np.put_along_axis(found, places, 1, axis)
        return found
    logarithm = call.node.operator == "LogSoftmax"
    if not call.known:
        return over_lanes(x, axis, log_softmax if logarithm else shares)
    shifted = x - x.max(axis, keepdims=True)
    total = np.exp(shifted).sum(axis, keepdims=True)
    return np.asarray(shifted - np.log(total) if logarithm else np.exp(shifted) / total)


@operator("Dropout")
def dropout(call: Call) -> list[Array]:
    """In training each number is 0 with the probability `ratio`, else larger, so that the mean is kept.

    A graph that is recorded draws its masks anew at every step, as `nn.Dropout` does; by hand the mask is that of the
    node's seed, as NumPy draws it.
    """
    x = call.input(0)
    ratio = float(call.numbers(1, "the ratio").item()) if call.given(1) else 0.5
    training = bool(call.numbers(2, "whether it is in training").item()) if call.given(2) else False
    if not 0.0 <= ratio < 1.0:
        raise call.wrong(f"the ratio is {ratio:g}; it must be in 0 .. 1, below 1")
    if not training or ratio == 0.0:
        return _with_mask(call, x, np.ones(x.shape, bool))
    if tracing.active() is not None:
        return [both("mul", np.multiply, x, values(factors(x.size, ratio), x.shape))]
    kept = np.random.RandomState(int(call.attribute("seed", 0))).uniform(0.0, 1.0, x.shape) >= ratio
    share = np.asarray(kept / (1.0 - ratio), None if x.dtype == object else x.dtype)
    return _with_mask(call, both("mul", np.multiply, x, share), kept)


def _with_mask(call: Call, x: Array, kept: Array) -> list[Array]:
    return [x, kept][: len(call.node.outputs)]
