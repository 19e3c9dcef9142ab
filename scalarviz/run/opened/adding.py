"""A column of numbers that adds up as it is printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from math import floor, isfinite, log10

from .writing import DIGITS, MINUS, digits_of, digits_that_give, rounded

COUNTING = 5
"""Digits that count of the largest number in the column; some more or less where it then adds up."""
_EXACT = Context(prec=400)
_TRIED = (0, 1, -1, 2, 3, 4)


@dataclass(frozen=True, slots=True)
class Column:
    """The texts of a column.

    Attributes
    ----------
    rows : tuple of str
    rest, total : str
        What the others give, and all.
    whole : float
        The total as it is printed.
    places : int or None
        Decimals; None where a number is not finite.
    """

    rows: tuple[str, ...]
    rest: str
    total: str
    whole: float
    places: int | None

    def factors(self, a: float, b: float, product: float, digits: int = 4) -> tuple[str, str]:
        """Two numbers with as many digits as it takes that they give `product` as it stands in the column."""
        if self.places is None:
            return digits_of(a, digits), digits_of(b, digits)
        unit = 10.0**self.places
        wanted = round(product * unit)
        enough = digits_that_give(lambda k: round(rounded(a, k) * rounded(b, k) * unit), wanted, digits, 17)
        return digits_of(a, enough or digits), digits_of(b, enough or digits)


def column(numbers: Sequence[float], others: float, total: float, *, more: bool) -> Column:
    """`numbers`, what the `others` (where there are `more`) sum up to, and the `total` of all."""
    if not all(isfinite(x) for x in (*numbers, others, total)):
        return Column(tuple(map(digits_of, numbers)), digits_of(others), digits_of(total), total, None)
    largest = max((abs(x) for x in (*numbers, total)), default=0.0)
    usual = COUNTING - 1 - (floor(log10(largest)) if largest > 0 else 0)
    for places in (*(usual + extra for extra in _TRIED), usual):
        rows = [_fixed(x, places) for x in numbers]
        rest, whole = _fixed(others if more else 0.0, places), _fixed(total, places)
        if sum(rows, rest) == whole:
            break
    else:  # rounding leaves a unit over: the others take it, or the sum
        rest, whole = (whole - sum(rows), whole) if more else (rest, sum(rows, rest))
    return Column(tuple(map(_text, rows)), _text(rest), _text(whole), float(whole), places)


def agreeing(found: float, number: float) -> int:
    """Digits with which both are printed alike."""
    return next((k for k in range(DIGITS, 2, -1) if digits_of(found, k) == digits_of(number, k)), DIGITS)


def columns(lines: Sequence[Sequence[str]], left: int) -> list[str]:
    """Lines of one width: so many columns stand to the left, the others to the right; an empty one is none."""
    used = [k for k in range(len(lines[0])) if any(line[k] for line in lines[1:])]
    widths = {k: max(len(line[k]) for line in lines) for k in used}
    return [
        "  ".join(line[k].ljust(widths[k]) if k < left else line[k].rjust(widths[k]) for k in used).rstrip()
        for line in lines
    ]


def _fixed(number: float, places: int) -> Decimal:
    """`number` with so many decimals, exactly as printed."""
    return Decimal(number).quantize(Decimal(1).scaleb(-places), context=_EXACT) + Decimal(0)


def _text(number: Decimal) -> str:
    exponent = number.as_tuple().exponent
    plain = isinstance(exponent, int) and -10 <= exponent <= 0
    return (f"{number:f}" if plain else f"{number:e}").replace("-", MINUS)
