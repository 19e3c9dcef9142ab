"""Each operation of the table as ONNX has it; those that it has not are written by their formulas."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...scalar import ops
from .formulas import formula
from .sheet import Operand, Shape, Sheet, Tensor

SAME = {
    "add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "neg": "Neg", "pow": "Pow", "exp": "Exp", "log": "Log",
    "sqrt": "Sqrt", "sin": "Sin", "cos": "Cos", "tanh": "Tanh", "sigmoid": "Sigmoid", "softplus": "Softplus",
    "relu": "Relu", "abs": "Abs", "minimum": "Min", "maximum": "Max", "first_max": "Max", "held_max": "Max",
    "erf": "Erf",
}  # fmt: skip
"""Operations that are one node; where two names are the same here, their gradients differ."""


def operation(sheet: Sheet, name: str, operands: Sequence[Operand], shape: Shape) -> Tensor:
    """An operation of the table with each number.

    Parameters
    ----------
    sheet : Sheet
    name : str
    operands : sequence of Operand
        At least one is a tensor of the `shape`; the others too, or numbers.
    shape : tuple of int
    """
    if name in SAME:
        return sheet.node(SAME[name], *operands, shape=shape)
    found: Tensor | None = WRITTEN[name](sheet, shape, *operands) if name in WRITTEN else None
    if found is not None:
        return found
    entry = ops.get(name)
    return formula(sheet, entry.value, dict(zip(entry.args, operands, strict=True)), shape)


def _square(sheet: Sheet, shape: Shape, a: Operand) -> Tensor:
    return sheet.node("Mul", a, a, shape=shape)


def _leaky(sheet: Sheet, shape: Shape, a: Operand, slope: Operand) -> Tensor | None:
    if isinstance(slope, float) and isinstance(a, Tensor):
        return sheet.node("LeakyRelu", a, shape=shape, alpha=slope)
    return None


def _elu(sheet: Sheet, shape: Shape, a: Operand, alpha: Operand) -> Tensor | None:
    if isinstance(alpha, float) and isinstance(a, Tensor):
        return sheet.node("Elu", a, shape=shape, alpha=alpha)
    return None


def _softplus(sheet: Sheet, shape: Shape, a: Operand, beta: Operand, threshold: Operand) -> Tensor | None:
    """Above 20 the curve is its asymptote to 2e-9."""
    if beta == 1.0 and isinstance(threshold, float) and threshold >= 20.0:
        return sheet.node("Softplus", a, shape=shape)
    return None


def _silu(sheet: Sheet, shape: Shape, a: Operand) -> Tensor:
    return sheet.node("Mul", a, sheet.node("Sigmoid", a, shape=shape), shape=shape)


def _log_sigmoid(sheet: Sheet, shape: Shape, a: Operand) -> Tensor:
    turned = sheet.node("Neg", a, shape=shape)
    return sheet.node("Neg", sheet.node("Softplus", turned, shape=shape), shape=shape)


def _relu6(sheet: Sheet, shape: Shape, a: Operand) -> Tensor:
    return sheet.node("Clip", a, 0.0, 6.0, shape=shape)


def _gelu(sheet: Sheet, shape: Shape, a: Operand) -> Tensor:
    part = sheet.node("Erf", sheet.node("Div", a, math.sqrt(2.0), shape=shape), shape=shape)
    return _half(sheet, shape, a, part)


def _gelu_tanh(sheet: Sheet, shape: Shape, a: Operand) -> Tensor:
    cube = sheet.node("Mul", sheet.node("Mul", a, a, shape=shape), a, shape=shape)
    bent = sheet.node("Add", a, sheet.node("Mul", cube, 0.044715, shape=shape), shape=shape)
    part = sheet.node("Tanh", sheet.node("Mul", bent, math.sqrt(2.0 / math.pi), shape=shape), shape=shape)
    return _half(sheet, shape, a, part)


def _half(sheet: Sheet, shape: Shape, a: Operand, part: Tensor) -> Tensor:
    """``a * (1 + part) * 0.5``."""
    product = sheet.node("Mul", a, sheet.node("Add", part, 1.0, shape=shape), shape=shape)
    return sheet.node("Mul", product, 0.5, shape=shape)


WRITTEN: dict[str, Callable[..., Any]] = {
    "square": _square, "leaky_relu": _leaky, "elu": _elu, "softplus_up_to": _softplus, "silu": _silu,
    "log_sigmoid": _log_sigmoid, "relu6": _relu6, "gelu": _gelu, "gelu_tanh": _gelu_tanh,
}  # fmt: skip
"""Operations of a few nodes; None where the formula is needed after all."""
