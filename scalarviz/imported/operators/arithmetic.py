"""Operators that compute number by number: sums, products, powers, roots, and what has no derivative."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from ...scalar.erf import erf
from .alike import Array, both, each
from .table import Call, operator

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
