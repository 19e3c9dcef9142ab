"""Small equations, each true as printed: a product, a sum, an activation; and derivatives in symbols."""

from __future__ import annotations

from ...scalar.kernel import kernel
from ...scalar.ops import TABLE
from .micro import SYMBOLS
from .writing import MINUS, digits_of, digits_that_give, rounded

DIGITS = 4
"""That count, of a result."""


DIFFERENCE = f"(y {MINUS} t)"
"""An output and its target, in the delta of a squared error."""


def slope(op: str) -> str:
    """The derivative of an operation, in symbols where they are short."""
    partial = TABLE[op].partials[0] or ""
    if "(" in partial.replace("(1 - y)", "") or not partial:
        return f"{SYMBOLS.get(op, op)}'"
    text = partial.replace("y * y", "y²").replace("*", "·").replace("-", MINUS)
    return f"({text})" if f" {MINUS} " in text.partition("(")[0] or "+" in text else text


def applied(op: str, given: float, result: float) -> str:
    """An activation of one number, true as printed where nothing else goes into it."""
    function, symbol = kernel(op), SYMBOLS.get(op, op)
    enough = None
    if function.arity == 1:
        enough = digits_that_give(lambda k: function.value(rounded(given, k)), result, DIGITS)
    sign = "≈" if enough is None and function.arity == 1 else "="
    return f"{symbol}({digits_of(given, enough or DIGITS)}) {sign} {digits_of(result, DIGITS)}"


def times(a: float, b: float, result: float) -> str:
    """A product, true as printed."""
    enough = digits_that_give(lambda k: rounded(a, k) * rounded(b, k), result, DIGITS)
    right = digits_of(b, enough or DIGITS)
    right = f"({right})" if right.startswith(MINUS) else right
    sign = "≈" if enough is None else "="
    return f"{digits_of(a, enough or DIGITS)} · {right} {sign} {digits_of(result, DIGITS)}"


def added(parts: list[float], result: float, most: int = 8) -> str:
    """A sum, true as printed."""
    if len(parts) > most:
        return f"{len(parts):,} terms = {digits_of(result, DIGITS)}"
    enough = digits_that_give(lambda k: sum(rounded(part, k) for part in parts), result, DIGITS)
    text = " + ".join(digits_of(part, enough or DIGITS) for part in parts).replace(f"+ {MINUS}", f"{MINUS} ")
    return f"{text} {'≈' if enough is None else '='} {digits_of(result, DIGITS)}"
