"""Digits that are true as printed: who computes with the printed numbers gets the printed result.

Rounding each number by itself prints ``0.0142 × 0.00 = 5.0e−5`` for a correct product. These functions choose the
fewest digits for which the printed numbers give the printed result, in its last digit. Without room for them, ``≈``
replaces ``=``. Captions, equations, columns, the inspector, panels and films have their digits from here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import numpy as np

MINUS = "\N{MINUS SIGN}"
DIGITS = 6
"""Significant digits of a number in a formula."""


SURE = 7
"""Significant digits of float32, the default dtype: the next digit would be noise."""
EXACT = Context(prec=800, Emin=-5000, Emax=5000, traps=[])
"""Context for sums and products of printed numbers without rounding."""


# ---- One number.


def number(value: float, digits: int = 2, *, signed: bool = False) -> str:
    """Return a number as on screen: fixed `digits`, U+2212 for minus, ``+`` if `signed`, no ``-0.00``.

    NaN and the infinities are written "NaN", "+∞" and "−∞".
    """
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "+∞" if value > 0 else f"{MINUS}∞"
    body = f"{abs(value):.{digits}f}"
    zero = not float(body)
    sign = MINUS if value < 0 and not zero else ("+" if signed and not zero else "")
    return sign + body


def exponent(value: float, digits: int = 1, *, signed: bool = False) -> str:
    """Return ``−4.2e−4`` with `digits` decimals; zero is ``0``, and NaN and infinities are as in :func:`number`."""
    if value == 0 or not np.isfinite(value):
        return "0" if value == 0 else number(value, signed=signed)
    mantissa, power = f"{abs(value):.{digits}e}".split("e")
    sign = MINUS if value < 0 else ("+" if signed else "")
    return f"{sign}{mantissa}e{MINUS if int(power) < 0 else ''}{abs(int(power))}"


def chip_digits(value: float, digits: int = 2) -> int:
    """Return the decimals of a number on a chip: `digits`, one fewer from 10 on, two fewer from 100 on."""
    size = abs(value)
    return digits if size < 9.995 else max(0, digits - (1 if size < 99.95 else 2))


def digits_of(number: float, digits: int = DIGITS, *, zeros: bool = False) -> str:
    """Return `number` with so many significant digits and a typographic minus; a negative 0 becomes 0.

    With `zeros`, trailing zeros stay: beside 0.5484 a result of 0.5500 would look rounded as 0.55.
    """
    return f"{number + 0.0:{'#' if zeros and number else ''}.{digits}g}".replace("-", MINUS)


def rounded(number: float, digits: int) -> float:
    """Return `number` rounded to so many significant digits."""
    return float(f"{number:.{digits}g}")


class Printed(NamedTuple):
    """A number as printed."""

    text: str
    value: Decimal  # value of the text
    place: Decimal  # the worth of its last digit; 0 for a zero without decimals


def significant(value: float, digits: int) -> Printed:
    """Return `value` with `digits` significant digits: plain between 0.001 and 10,000, else ``5.0e−5``.

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
    """Return `value` with `digits` decimals."""
    value = float(value)
    if not math.isfinite(value):
        return Printed(number(value), Decimal(value), Decimal(0))
    text = number(value, digits)
    return Printed(text, Decimal(text.replace(MINUS, "-")), Decimal(1).scaleb(-digits))


def factor(text: str) -> str:
    """Return a number for the place after a multiplication sign: in brackets if it has a sign."""
    return text if text[0].isdigit() or text == "NaN" else f"({text})"


def signed(text: str) -> str:
    """Return the text of a number with its sign."""
    return text if text[0] == MINUS or text in ("0", "NaN") else f"+{text}"


# ---- Digits that are enough.


def rounds_to(found: Decimal, shown: Printed) -> bool:
    """Return whether `found`, computed from printed numbers, rounds to `shown` in its last digit."""
    if not (found.is_finite() and shown.value.is_finite()):
        return (found.is_nan() and shown.value.is_nan()) or found == shown.value
    return abs(EXACT.subtract(found, shown.value)) * 2 <= shown.place


def digits_that_give(again: Callable[[int], float], result: float, digits: int, of_result: int = 0) -> int | None:
    """Return how many digits, at least `digits`, numbers need to give `result` as printed; None above 16.

    `of_result` is the number of digits of the result, if it differs from `digits`.
    """
    shown = of_result or digits
    wanted = digits_of(result, shown)
    return next((k for k in range(digits, 17) if digits_of(again(k), shown) == wanted), None)


def digits_apart(before: float, after: float, digits: int = 4) -> int:
    """Return how many digits, at least `digits`, tell two numbers apart; `digits` if `SURE` are not enough."""
    ways = range(digits, SURE + 1)
    return next((k for k in ways if digits_of(before, k) != digits_of(after, k)), digits)


def agreeing(found: float, number: float) -> int:
    """Return the most digits, 3 to `DIGITS`, with which both numbers print alike; else `DIGITS`."""
    return next((k for k in range(DIGITS, 2, -1) if digits_of(found, k) == digits_of(number, k)), DIGITS)


# ---- Equations.


_FACTORS = sorted(
    ((a, b, c) for a in range(2, 9) for b in range(2, 9) for c in (3, 2)),
    key=lambda digits: (digits[0] + digits[1] + (2 if digits[2] == 2 else 0), digits),
)
"""Significant digits of two factors and their product, in the order of tries."""


_DECIMALS = (3, 4, 5, 2)
"""Decimals of the terms of a sum in the order of tries: three are mostly enough, so lines seldom change."""


Term = tuple[float, float | None]
"""A weight and its factor; None for a bias."""


Activation = tuple[str, float | None, Callable[[float], float] | None]
"""Symbol, output and function of an activation, as far as known."""


def read(text: str) -> Printed:
    """Return a printed number, such as ``+0.0342`` or ``−4.0e−6``."""
    value = Decimal(text.replace(MINUS, "-").replace("\N{INFINITY}", "Infinity"))
    exponent = value.as_tuple().exponent
    return Printed(text, value, Decimal(1).scaleb(exponent) if isinstance(exponent, int) else Decimal(0))


_WAYS = (*(partial(decimals, digits=k) for k in (4, 5, 6)), *(partial(significant, digits=k) for k in (4, 5, 6, SURE)))
"""Decimals as on chips, then significant digits, for small numbers."""


def delta_column(
    output: float, target: float | None, times: Fraction, difference: float, slope: float, delta: str
) -> tuple[str, str, str, str]:
    """Return the texts of output, target, their difference `times` a factor, and slope, as they give a printed `delta`.

    Without a `target` the difference is no difference. The numbers have the fewest digits that are enough.
    """
    shown, wanted = read(delta), 0.0 if target is None else target
    for way in _WAYS:
        d, s = way(difference), way(slope)
        if not rounds_to(EXACT.multiply(d.value, s.value), shown):
            continue
        least = max(4, -d.place.adjusted() if d.place else 4)
        for k in range(least, least + 4):
            y, t = decimals(output, k), decimals(wanted, k)
            apart = EXACT.divide(EXACT.multiply(EXACT.subtract(y.value, t.value), times.numerator), times.denominator)
            if target is None or rounds_to(apart, d):
                return y.text, t.text, signed(d.text), s.text
    return number(output, 4), number(wanted, 4), signed(number(difference, 4)), number(slope, 4)


def sides_of(equation: str) -> tuple[str, str, str]:
    """Return the text left of an equation's last sign, the sign, and the text right of it."""
    return equation.rpartition(" = " if " = " in equation else " ≈ ")


def product(a: float, b: float, result: float) -> str:
    """Return ``−0.0455 × 0.92 = −0.0419``, true as printed; with ``≈`` if the numbers do not give `result`."""
    for of_a, of_b, of_result in _FACTORS:
        left, right, made = significant(a, of_a), significant(b, of_b), significant(result, of_result)
        if rounds_to(EXACT.multiply(left.value, right.value), made):
            return f"{left.text} × {factor(right.text)} = {made.text}"
    left, right, made = (significant(x, 3) for x in (a, b, result))
    return f"{left.text} × {factor(right.text)} ≈ {made.text}"


def factors(delta: float, x: float, shown: Printed, power: int) -> tuple[str, str]:
    """Return ``δ``, in units of ten to the `power`, and ``x``, with the fewest digits whose product is the `shown` one.

    They have three digits if none are enough.
    """
    scaled = delta * 10.0**-power
    for of_delta in (3, 4, 5):
        left = significant(scaled, of_delta)
        for of_x in (2, 3, 4):
            right = decimals(x, of_x) if abs(x) < 100 else significant(x, 4)
            finite = left.value.is_finite() and right.value.is_finite()
            if finite and rounds_to(EXACT.multiply(left.value, right.value), shown):
                return signed(left.text), factor(right.text)
    return signed(significant(scaled, 3).text), factor(significant(x, 3).text)


def descent(before: float, lr: float, gradient: float, after: float, least: int = 2) -> str:
    """Return one step of plain gradient descent of a weight, true as printed: ``0.2369 − 0.5 × 0.0048 = 0.2345``.

    The weights get the fewest decimals that show the change, the gradient at least `least` significant digits. The sign
    is ``≈`` if eight decimals, or those that float32 guarantees, are not enough.
    """
    rate = Printed(f"{lr:g}".replace("-", MINUS), Decimal(f"{lr:g}"), Decimal(0))
    fallback = ""
    sure = 8 if abs(before) < 0.1 or not math.isfinite(before) else SURE - 1 - math.floor(math.log10(abs(before)))
    for digits in range(4, max(sure, 4) + 1):
        old, new = decimals(before, digits), decimals(after, digits)
        for of_gradient in range(least, 7):
            slope = significant(gradient, of_gradient)
            found = EXACT.add(old.value, -EXACT.multiply(rate.value, slope.value))
            line = f"{old.text} {MINUS} {rate.text} × {factor(slope.text)}"
            if rounds_to(found, new):
                if old.text != new.text or before == after:
                    return f"{line} = {new.text}"
                fallback = fallback or f"{line} = {new.text}"
                break
    return fallback or f"{line} ≈ {new.text}"


def neuron(
    name: str, terms: Sequence[Term], total: float, *, symbol: str = "", output: float | None = None,
    function: Callable[[float], float] | None = None,
) -> Iterator[str]:  # fmt: skip
    """Yield the formula of a neuron, the best first: ``r = σ(−1.991·0.92 + 0.692) = σ(−1.14) = 0.24``.

    Every line is true as printed; the last has two decimals, and ``≈`` if they do not give the result. `symbol` and
    `function` are the activation; without the function its output follows ``≈``.
    """
    for digits in _DECIMALS:
        for of_total in range(2, digits + 1):
            line = one_line(name, terms, total, (symbol, output, function), (digits, of_total))
            if "≈" not in line:
                yield line
                break
    yield one_line(name, terms, total, (symbol, output, function), (2, 2))


def one_line(name: str, terms: Sequence[Term], total: float, activation: Activation, digits: tuple[int, int]) -> str:
    """Return the formula with the given decimals in the terms and in the sum."""
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
    """Return the printed terms, and their exact sum."""
    text, found = "", Decimal(0)
    digits = digits if all(chip_digits(weight, 2) for weight, _ in terms) else 0  # the same for the whole row
    inputs = [_trimmed(x, max(digits, 2)) for _, x in terms if x is not None]  # the same in every frame
    places = max((len(x.text.partition(".")[2]) for x in inputs), default=0)  # so their length may vary
    for weight, given in terms:
        left = decimals(weight, digits)
        right = None if given is None else decimals(given, places)
        found = EXACT.add(found, left.value if right is None else EXACT.multiply(left.value, right.value))
        rest = "" if right is None else f"·{factor(right.text)}"
        if not text:
            text = left.text.lstrip("+") + rest
        else:
            sign = MINUS if left.text.startswith(MINUS) else "+"
            text += f" {sign} {left.text.lstrip('+' + MINUS)}{rest}"
    return text, found


def _trimmed(value: float, digits: int) -> Printed:
    """Return a number with the decimals of a chip, and up to `digits` while they are not zero."""
    at_least = chip_digits(value, 2)
    shown = decimals(value, chip_digits(value, digits))
    while shown.place and "." in shown.text and shown.text.endswith("0") and shown.place < Decimal(1).scaleb(-at_least):
        shown = Printed(shown.text[:-1], shown.value, shown.place.scaleb(1))
    return shown


# ---- Columns that add up.


COUNTING = 5
"""Significant digits of the largest number in a column; some more or fewer if the column then adds up."""


_TRIED = (0, 1, -1, 2, 3, 4)
WHOLE = 9
"""Numbers below ten to this power have all digits before the point."""


@dataclass(frozen=True, slots=True)
class Column:
    """The texts of a column: its `rows`, the `rest`, and the `total`, which is the number `whole`.

    `places` is the number of decimals; None if a number is not finite.
    """

    rows: tuple[str, ...]
    rest: str
    total: str
    whole: float
    places: int | None

    def factors(self, a: float, b: float, product: float, digits: int = 4) -> tuple[str, str]:
        """Return two numbers with as many digits as they need to give `product` as the column has it."""
        if self.places is None:
            return digits_of(a, digits), digits_of(b, digits)
        unit = 10.0 ** min(self.places, 300)
        wanted = round(product * unit)
        enough = digits_that_give(lambda k: round(rounded(a, k) * rounded(b, k) * unit), wanted, digits, 17)
        return digits_of(a, enough or digits), digits_of(b, enough or digits)


def column(numbers: Sequence[float], others: float, total: float, *, more: bool, digits: int = COUNTING) -> Column:
    """Return the column of `numbers`, the sum of the `others` (if there are `more`), and the `total`.

    The largest number has about so many `digits`.
    """
    if not all(math.isfinite(x) for x in (*numbers, others, total)):
        *texts, left, joined = (significant(x, DIGITS).text for x in (*numbers, others, total))
        return Column(tuple(texts), left, joined, total, None)
    largest = max((abs(x) for x in (*numbers, total)), default=0.0)
    order = math.floor(math.log10(largest)) if largest > 0 else 0
    usual, least = digits - 1 - order, min(0, WHOLE - order)
    for places in (*(max(usual + extra, least) for extra in _TRIED), max(usual, least)):
        rows = [_fixed(x, places) for x in numbers]
        rest, whole = _fixed(others if more else 0.0, places), _fixed(total, places)
        if sum(rows, rest) == whole:
            break
    else:  # rounding leaves a unit over: the others take it, or the sum
        rest, whole = (whole - sum(rows), whole) if more else (rest, sum(rows, rest))
    return Column(tuple(map(_text, rows)), _text(rest), _text(whole), float(whole), places)


def _fixed(number: float, places: int) -> Decimal:
    return Decimal(number).quantize(Decimal(1).scaleb(-places), context=EXACT) + Decimal(0)


def _text(number: Decimal) -> str:
    exponent = number.as_tuple().exponent
    plain = isinstance(exponent, int) and -10 <= exponent <= 0
    return (f"{number:f}" if plain else f"{number:e}").replace("-", MINUS)
