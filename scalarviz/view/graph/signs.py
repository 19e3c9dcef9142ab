"""How operations and numbers are written on nodes."""

from __future__ import annotations

import math

from ..ink.text import MINUS, chip_digits, number

SIGNS = {
    "add": "+", "sub": MINUS, "mul": "×", "div": "/", "neg": MINUS, "square": "**2", "lt": "<", "le": "≤", "gt": ">",
    "ge": "≥",
}  # fmt: skip
"""Operations that are not written by their names."""

TINY = 0.005
"""Up to this a number is written with an exponent: two decimals would say 0."""
HUGE = 9999.5
"""From here on as well."""


def figure_of(value: float, digits: int | None = None, *, signed: bool = True) -> str:
    """A number on a node: two decimals or fewer, ``−2e−3`` where they would say nothing, ``0``, ``NaN``, ``+∞``.

    With `digits` there are that many decimals.
    """
    if not math.isfinite(value):
        return number(value)
    size = abs(value)
    if size == 0.0:
        return "0"
    if size >= HUGE or (size <= TINY if digits is None else not float(f"{size:.{digits}f}")):
        mantissa, power = f"{size:.{max(0, (digits or 2) - 2)}e}".split("e")
        exponent = int(power)
        sign = MINUS if value < 0 else "+" if signed else ""
        return f"{sign}{mantissa}e{MINUS if exponent < 0 else ''}{abs(exponent)}"
    return number(value, chip_digits(value) if digits is None else digits, signed=signed)


def constant_text(value: float) -> str:
    """A constant as a person writes it: ``2``, ``0.5``, ``−1e−8``."""
    if not math.isfinite(value) or value == 0.0:
        return figure_of(value)
    text = f"{value:.4g}"
    mantissa, _, power = text.partition("e")
    return f"{mantissa}e{int(power)}".replace("-", MINUS) if power else text.replace("-", MINUS)


def power_text(exponent: float) -> str:
    """``**3``."""
    return f"**{constant_text(exponent)}"
