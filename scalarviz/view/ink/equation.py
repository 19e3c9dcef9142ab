"""Equations that are true as printed: what the printed numbers give, rounded, is the printed result.

Rounding each number by itself makes ``0.0142 × 0.00 = 5.0e−5`` of a product that was right. Here the digits are chosen:
the fewest with which a reader who multiplies and adds the printed numbers finds the printed result, in its last digit.
Where no room is left for them, ``≈`` stands in place of ``=``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from decimal import Context, Decimal
from typing import NamedTuple

from ...run.opened.rule import SURE
from .text import MINUS, chip_digits, number

EXACT = Context(prec=800, Emin=-5000, Emax=5000)
"""Sums and products of printed numbers are found without rounding."""
_FACTORS = sorted(
    ((a, b, c) for a in range(2, 9) for b in range(2, 9) for c in (3, 2)),
    key=lambda digits: (digits[0] + digits[1] + (2 if digits[2] == 2 else 0), digits),
)
"""Significant digits of two factors and their product, in the order in which they are tried."""
_DECIMALS = (3, 4, 5, 2)
"""Of the terms of a sum, in the order in which they are tried: three are mostly enough, so lines seldom change."""
Term = tuple[float, float | None]
"""A weight and what it is multiplied with; None for a bias."""
Activation = tuple[str, float | None, Callable[[float], float] | None]
"""Its symbol, what comes out of it, and the function, as far as they are known."""


class Printed(NamedTuple):
    """A number as it stands there."""

    text: str
    value: Decimal  # what the text says
    place: Decimal  # the worth of its last digit; 0 for a zero without decimals


def significant(value: float, digits: int) -> Printed:
    """`value` with so many significant digits: plain between 0.001 and 10,000, else ``5.0e−5``.

    Zero is ``0``; digits before the point are never left out.
    """
    value = float(value)
    if not math.isfinite(value):
        return Printed(number(value), Decimal(value), Decimal(0))
    exact = Decimal(value)
    if not exact:
        return Printed("0", Decimal(0), Decimal(0))
    place = Decimal(1).scaleb(exact.adjusted() - digits + 1)
    rounded = exact.quantize(place, context=EXACT)
    if rounded.adjusted() > exact.adjusted():  # 9.99 became 10.0
        place = place.scaleb(1)
        rounded = exact.quantize(place, context=EXACT)
    size = rounded.adjusted()
    if -3 <= size < 4:
        if place > 1:
            place = Decimal(1)
            rounded = exact.quantize(place, context=EXACT)
        text = f"{abs(rounded):f}"
    else:
        mantissa = abs(rounded).scaleb(-size, context=EXACT)
        text = f"{mantissa:f}e{MINUS if size < 0 else ''}{abs(size)}"
    return Printed((MINUS if rounded < 0 else "") + text, rounded, place)


def decimals(value: float, digits: int) -> Printed:
    """`value` with so many decimals."""
    value = float(value)
    if not math.isfinite(value):
        return Printed(number(value), Decimal(value), Decimal(0))
    text = number(value, digits)
    return Printed(text, Decimal(text.replace(MINUS, "-")), Decimal(1).scaleb(-digits))


def rounds_to(found: Decimal, shown: Printed) -> bool:
    """Whether `found`, what the printed numbers give, is `shown` when it is rounded to the same digit."""
    if not (found.is_finite() and shown.value.is_finite()):
        return (found.is_nan() and shown.value.is_nan()) or found == shown.value
    return abs(EXACT.subtract(found, shown.value)) * 2 <= shown.place


def sides_of(equation: str) -> tuple[str, str, str]:
    """What stands left of the last sign of an equation, the sign, and what stands right of it."""
    return equation.rpartition(" = " if " = " in equation else " ≈ ")


def factor(text: str) -> str:
    """A number after a sign of multiplication: in brackets if it brings a sign with it."""
    return text if text[0].isdigit() or text == "NaN" else f"({text})"


# a product


def product(a: float, b: float, result: float) -> str:
    """``−0.0455 × 0.92 = −0.0419``, true as printed; with ``≈`` if `result` is not what the numbers give."""
    for of_a, of_b, of_result in _FACTORS:
        left, right, made = significant(a, of_a), significant(b, of_b), significant(result, of_result)
        if rounds_to(_times(left.value, right.value), made):
            return f"{left.text} × {factor(right.text)} = {made.text}"
    left, right, made = (significant(x, 3) for x in (a, b, result))
    return f"{left.text} × {factor(right.text)} ≈ {made.text}"


def _times(a: Decimal, b: Decimal) -> Decimal:
    if not (a.is_finite() and b.is_finite()):
        return Decimal(float(a) * float(b))
    return EXACT.multiply(a, b)


# a step of gradient descent


def descent(before: float, lr: float, gradient: float, after: float, least: int = 2) -> str:
    """``0.2369 − 0.5 × 0.0048 = 0.2345``: what plain gradient descent did to one weight, true as printed.

    The weights get the fewest decimals that show the change, the gradient at least so many digits that count; with
    ``≈`` where eight decimals, or those that float32 is sure of, do not do.
    """
    rate = Printed(f"{lr:g}".replace("-", MINUS), Decimal(f"{lr:g}"), Decimal(0))
    fallback = ""
    sure = 8 if abs(before) < 0.1 or not math.isfinite(before) else SURE - 1 - math.floor(math.log10(abs(before)))
    for digits in range(4, max(sure, 4) + 1):
        old, new = decimals(before, digits), decimals(after, digits)
        for of_gradient in range(least, 7):
            slope = significant(gradient, of_gradient)
            found = _plus(old.value, -_times(rate.value, slope.value))
            line = f"{old.text} {MINUS} {rate.text} × {factor(slope.text)}"
            if rounds_to(found, new):
                if old.text != new.text or before == after:
                    return f"{line} = {new.text}"
                fallback = fallback or f"{line} = {new.text}"
                break
    return fallback or f"{line} ≈ {new.text}"


def _plus(a: Decimal, b: Decimal) -> Decimal:
    if not (a.is_finite() and b.is_finite()):
        return Decimal(float(a) + float(b))
    return EXACT.add(a, b)


# a neuron


def neuron(
    name: str, terms: Sequence[Term], total: float, *, symbol: str = "", output: float | None = None,
    function: Callable[[float], float] | None = None,
) -> Iterator[str]:  # fmt: skip
    """Ways to write the formula of one neuron, the best first: ``r = σ(−1.991·0.92 + 0.692) = σ(−1.14) = 0.24``.

    Every line is true as printed; the last has numbers of two decimals and ``≈`` where they do not give the result.
    `symbol` and `function` are the activation; without the function its output is written with ``≈``.
    """
    for digits in _DECIMALS:
        for of_total in range(2, digits + 1):
            line = one_line(name, terms, total, (symbol, output, function), (digits, of_total))
            if "≈" not in line:
                yield line
                break
    yield one_line(name, terms, total, (symbol, output, function), (2, 2))


def one_line(name: str, terms: Sequence[Term], total: float, activation: Activation, digits: tuple[int, int]) -> str:
    """The formula with so many decimals in the terms and in the sum."""
    symbol, output, function = activation
    written, found = _added(terms, digits[0])
    made = decimals(total, chip_digits(total, digits[1]))
    equal = "=" if rounds_to(found, made) else "≈"
    if output is None:
        return f"{name} = {written} {equal} {made.text}"
    for of_output in (2, 3, 4):
        shown = decimals(output, chip_digits(output, of_output))
        true = function is not None and rounds_to(Decimal(function(float(made.value))), shown)
        if true:
            break
    else:
        shown = decimals(output, chip_digits(output, 2))
    return f"{name} = {symbol}({written}) {equal} {symbol}({made.text}) {'=' if true else '≈'} {shown.text}"


def _added(terms: Sequence[Term], digits: int) -> tuple[str, Decimal]:
    """The terms as they are printed, and what they give."""
    text, found = "", Decimal(0)
    digits = digits if all(chip_digits(weight, 2) for weight, _ in terms) else 0  # all of a row have as many
    inputs = [_trimmed(x, max(digits, 2)) for _, x in terms if x is not None]  # the same in every frame
    places = max((len(x.text.partition(".")[2]) for x in inputs), default=0)  # so that their length may vary
    for weight, given in terms:
        left = decimals(weight, digits)
        right = None if given is None else decimals(given, places)
        found = _plus(found, left.value if right is None else _times(left.value, right.value))
        rest = "" if right is None else f"·{factor(right.text)}"
        if not text:
            text = left.text.lstrip("+") + rest
        else:
            sign = MINUS if left.text.startswith(MINUS) else "+"
            text += f" {sign} {left.text.lstrip('+' + MINUS)}{rest}"
    return text, found


def _trimmed(value: float, digits: int) -> Printed:
    """With as many decimals as on a chip, and more up to `digits` while they are not zero."""
    at_least = chip_digits(value, 2)
    shown = decimals(value, chip_digits(value, digits))
    while shown.place and "." in shown.text and shown.text.endswith("0") and shown.place < Decimal(1).scaleb(-at_least):
        shown = Printed(shown.text[:-1], shown.value, shown.place.scaleb(1))
    return shown
