"""Elementwise operators: arithmetic, comparisons, selection, activations; also softmax and dropout.

For Values a truth value is 0 or 1, without a gradient. Dropout acts only in training.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from math import prod
from typing import Any

import numpy as np

from ...scalar import tracing
from ...scalar.erf import erf
from ...scalar.functions import log_shares, shares
from ...scalar.mask import factors
from .arrays import Array, any_values, axis_of, bare, broadcast, by_lane, dressed, each, objects, values
from .table import OperatorCall, operator


def truth(x: Array) -> Array:
    """Return 1 where a Value is not 0."""
    return each("where", x, 1.0, 0.0)


def _not(x: Array) -> Array:
    return each("where", x, 0.0, 1.0)


def _divide(a: Array, b: Array) -> Array:
    """Return the quotient; for whole numbers it is truncated, as in C."""
    if np.result_type(a, b).kind not in "iu":
        return np.asarray(a / b)
    quotient = np.abs(a) // np.abs(b)
    return np.asarray(np.where((a < 0) != (b < 0), -quotient, quotient))


def _power(base: Array, exponent: Array) -> Array:
    known = exponent.dtype != object and exponent.size == 1 and exponent.ndim <= base.ndim
    short = {2.0: "square", 0.5: "sqrt"}.get(float(exponent.item())) if known else None
    return each(short, base) if short is not None else each("pow", base, exponent)


def _where(condition: Array, a: Array, b: Array) -> Array:
    if condition.dtype != object:  # the condition is known: no node is needed
        return dressed(np.where(condition, bare(objects(a)), bare(objects(b))))
    return each("where", condition, a, b)


FORMS: dict[str, tuple[Callable[..., Any], str | Callable[..., Array] | None]] = {
    "Abs": (np.abs, "abs"), "Add": (np.add, "add"), "Cos": (np.cos, "cos"), "Div": (_divide, "div"),
    "Erf": (erf, "erf"), "Exp": (np.exp, "exp"), "Log": (np.log, "log"), "Max": (np.maximum, "maximum"),
    "Min": (np.minimum, "minimum"), "Mul": (np.multiply, "mul"), "Neg": (np.negative, "neg"), "Sin": (np.sin, "sin"),
    "Sqrt": (np.sqrt, "sqrt"), "Sub": (np.subtract, "sub"), "Sum": (np.add, "add"), "Tanh": (np.tanh, "tanh"),
    "Ceil": (np.ceil, None), "Floor": (np.floor, None), "Round": (np.round, None),
    "Pow": (lambda a, b: np.power(a, b).astype(a.dtype), _power),
    "Reciprocal": (lambda x: np.divide(x.dtype.type(1), x), lambda x: each("div", 1.0, x)),
    "Sign": (np.sign, lambda x: each("sub", each("gt", x, 0.0), each("lt", x, 0.0))),
    "Tan": (np.tan, lambda x: each("div", each("sin", x), each("cos", x))),
    "Greater": (np.greater, "gt"), "GreaterOrEqual": (np.greater_equal, "ge"),
    "Less": (np.less, "lt"), "LessOrEqual": (np.less_equal, "le"),
    "And": (np.logical_and, lambda a, b: each("mul", truth(a), truth(b))),
    "Equal": (np.equal, lambda a, b: each("mul", each("le", a, b), each("ge", a, b))),
    "IsNaN": (np.isnan, lambda x: _not(each("le", x, x))),
    "Not": (np.logical_not, _not),
    "Or": (np.logical_or, lambda a, b: each("where", a, 1.0, truth(b))),
    "Where": (np.where, _where),
    "Xor": (np.logical_xor, lambda a, b: each("where", a, _not(b), truth(b))),
}  # fmt: skip
"""The function of numbers, and the operation or function of Values; None: there is no derivative."""
FOLDED = ("Max", "Min", "Sum")
"""Operators of any number of operands, applied two at a time."""


@operator(*FORMS)
def by_number(call: OperatorCall) -> list[Array]:
    """Apply one elementwise operation, with broadcasting."""
    operands = call.only_numbers() if FORMS[call.node.operator][1] is None else call.all()
    if call.node.operator in FOLDED:
        return [reduce(lambda a, b: _formed(call.node.operator, a, b), operands)]
    return [_formed(call.node.operator, *operands)]


def _formed(name: str, *operands: Array) -> Array:
    of_numbers, of_values = FORMS[name]
    broadcast(operands)
    if not any_values(*operands):
        return np.asarray(of_numbers(*operands))
    return each(of_values, *operands) if isinstance(of_values, str) else of_values(*operands)  # type: ignore[misc]


@operator("Mean")
def mean(call: OperatorCall) -> list[Array]:
    """Return the elementwise mean of the operands."""
    total, count = reduce(lambda a, b: _formed("Sum", a, b), call.all()), len(call.inputs)
    return [np.asarray(total / count, total.dtype) if call.known else each("div", total, float(count))]


@operator("IsInf")
def is_infinite(call: OperatorCall) -> list[Array]:
    """Return where numbers are infinite, with the signs that count."""
    x, above, below = call.input(0), call.attribute("detect_positive", 1), call.attribute("detect_negative", 1)
    if call.known:
        return [(x == np.inf) & bool(above) | (x == -np.inf) & bool(below)]
    far = each("mul", each("ge", x, np.inf), float(above))
    return [each("add", far, each("mul", each("le", x, -np.inf), float(below)))]


@operator("Mod")
def remainder(call: OperatorCall) -> list[Array]:
    """Return the remainder of a division: with the sign of the divisor, or (fmod) of the dividend."""
    operands = call.only_numbers()
    broadcast(operands)
    return [np.asarray((np.fmod if call.attribute("fmod", 0) else np.mod)(*operands))]


@operator("Clip")
def clip(call: OperatorCall) -> list[Array]:
    """Clip numbers to two bounds, each of which may be missing."""
    x = call.input(0)
    bounds = [call.attribute("min"), call.attribute("max")] if call.version < 11 else map(call.optional, (1, 2))
    low, high = (None if b is None else np.asarray(b, x.dtype if x.dtype != object else None) for b in bounds)
    if call.known:
        return [np.asarray(np.clip(x, low, high)) if (low, high) != (None, None) else x]
    return [each("clip", x, -np.inf if low is None else low, np.inf if high is None else high)]


def _bent(x: Array, slope: float, shift: float) -> Array:
    return each("clip", each("add", each("mul", x, slope), shift), 0.0, 1.0)


def _swish(x: Array, alpha: float) -> Array:
    return each("silu", x) if alpha == 1.0 else each("mul", x, each("sigmoid", each("mul", x, alpha)))


CURVES: dict[str, Callable[..., Array]] = {
    "Celu": lambda x, alpha=1.0: each("mul", each("elu", each("div", x, alpha), 1.0), alpha),
    "Elu": lambda x, alpha=1.0: each("elu", x, alpha),
    "Gelu": lambda x, approximate="none": each("gelu_tanh" if approximate == "tanh" else "gelu", x),
    "HardSigmoid": lambda x, alpha=0.2, beta=0.5: _bent(x, alpha, beta),
    "HardSwish": lambda x: each("mul", x, _bent(x, 1.0 / 6.0, 0.5)),
    "LeakyRelu": lambda x, alpha=0.01: each("leaky_relu", x, alpha),
    "Mish": lambda x: each("mul", x, each("tanh", each("softplus", x))),
    "PRelu": lambda x, slope: each("leaky_relu", x, slope),
    "Relu": lambda x: each("relu", x),
    "Selu": lambda x, alpha=1.67326319217681884765625, gamma=1.05070102214813232421875: each(
        "mul", each("elu", x, alpha), gamma
    ),
    "Sigmoid": lambda x: each("sigmoid", x),
    "Softplus": lambda x: each("softplus", x),
    "Softsign": lambda x: each("div", x, each("add", each("abs", x), 1.0)),
    "Swish": lambda x, alpha=1.0: _swish(x, alpha),
    "ThresholdedRelu": lambda x, alpha=1.0: each("where", each("gt", x, alpha), x, 0.0),
}
"""Curves of numbers and Values alike, with the operator's attributes; whole numbers stay whole."""


@operator(*CURVES)
def activation(call: OperatorCall) -> list[Array]:
    """Apply one of `CURVES`."""
    x, found = call.input(0), CURVES[call.node.operator](*call.all(), **call.node.attributes)
    return [found if any_values(found, x) else np.asarray(found, x.dtype)]


@operator("Softmax", "LogSoftmax")
def softmax(call: OperatorCall) -> list[Array]:
    """Apply softmax along one axis, or (before version 13) over all axes from one on."""
    x = call.input(0)
    axis = axis_of(call.attribute("axis", -1 if call.version >= 13 else 1), x.ndim)
    rows, axis = (x, axis) if call.version >= 13 else (x.reshape(prod(x.shape[:axis]), prod(x.shape[axis:])), 1)
    if x.size == 0:
        return [x]
    logarithm = call.node.operator == "LogSoftmax"
    if not call.known:
        return [by_lane(rows, axis, log_shares if logarithm else shares).reshape(*x.shape)]
    shifted = rows - rows.max(axis, keepdims=True)
    total = np.exp(shifted).sum(axis, keepdims=True)
    return [np.asarray(shifted - np.log(total) if logarithm else np.exp(shifted) / total).reshape(x.shape)]


@operator("Dropout")
def dropout(call: OperatorCall) -> list[Array]:
    """Set each number in training to 0 with probability `ratio`, else scale it up, so that the mean is kept.

    A recorded graph draws its masks at every step; in a graph by hand the node's seed gives the mask, as in NumPy.
    """
    x, given = call.input(0), (call.optional(1), call.optional(2))
    ratio = 0.5 if given[0] is None else float(call.numbers(1, "the ratio").item())
    training = given[1] is not None and bool(call.numbers(2, "whether it is in training").item())
    if not 0.0 <= ratio < 1.0:
        raise call.wrong(f"the ratio must be at least 0 and below 1, got {ratio:g}")
    kept = np.ones(x.shape, bool)
    if training and ratio > 0.0 and tracing.active() is not None:
        return [_formed("Mul", x, values(factors(x.size, ratio), x.shape))]
    if training and ratio > 0.0:
        kept = np.random.RandomState(int(call.attribute("seed", 0))).uniform(0.0, 1.0, x.shape) >= ratio
        x = _formed("Mul", x, np.asarray(kept / (1.0 - ratio), None if x.dtype == object else x.dtype))
    return [x, kept][: len(call.node.outputs)]
