"""Comparisons, truth and choice. Of Values a truth is 0 or 1, and no gradient goes through it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .alike import Array, bare, dressed, each, objects
from .table import Call, operator

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
