"""The terms of one gradient as a column of numbers that adds up as it is printed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..ink.equation import EXACT, Printed, decimals, factor, rounds_to, significant
from ..ink.places import LABEL
from ..ink.text import CAP_HEIGHT, MINUS, measure, number
from ..shown.subject import Subject
from .account import Account, Term
from .inspector_page import Page

ROW = 20.0
_DELTA, _BAR, _BAR_WIDE = 180.0, 190.0, 46.0  # right edge of "δ × x", left edge and width of the bars


@dataclass(frozen=True, slots=True)
class Ledger:
    """The numbers as they are printed.

    Attributes
    ----------
    power : int
        They are in units of ten to this power.
    terms : tuple of Printed
    rest : Printed or None
        Of all other terms; None where there are none.
    total, gradient : Printed
    exact : bool
        Whether the printed gradient is what the printed sum gives, rounded.
    """

    power: int
    terms: tuple[Printed, ...]
    rest: Printed | None
    total: Printed
    gradient: Printed
    exact: bool = True

    @property
    def unit(self) -> str:
        """``e−6``; empty for 1."""
        return "" if not self.power else f"e{MINUS if self.power < 0 else ''}{abs(self.power)}"


def ledger_of(account: Account, listed: int) -> Ledger:
    """The first `listed` terms, the rest, the sum and the gradient, so that printed numbers add up and divide.

    The rest takes what rounding leaves: some units of its last digit at most.
    """
    products = [term.product for term in account.terms[:listed]]
    power, digits = _scale(products, account.total)
    unit = 10.0**-power
    terms = tuple(decimals(p * unit, digits) for p in products)
    total = decimals(account.total * unit, digits)
    rest = None
    if account.count > listed:
        rest = decimals(account.rest(listed) * unit, digits)
        left = total.value
        for term in terms:
            left = left - term.value if term.value.is_finite() and left.is_finite() else Decimal("NaN")
        if left.is_finite():
            rest = Printed(number(float(left), digits), left, rest.place)
    return Ledger(power, terms, rest, total, *_divided(account, total, power))


def _divided(account: Account, total: Printed, power: int) -> tuple[Printed, bool]:
    """The gradient with so many digits that the printed sum gives it, and whether it does."""
    if not (total.value.is_finite() and math.isfinite(account.gradient)):
        return significant(account.gradient, 4), True
    exact = EXACT.divide(total.value.scaleb(power), Decimal(account.divisor))
    ways = [significant(account.gradient, digits) for digits in (3, 4, 2)]
    found = next((way for way in ways if rounds_to(exact, way)), None)
    return (ways[0], False) if found is None else (found, True)


def _scale(products: list[float], total: float) -> tuple[int, int]:
    """In which power of ten they are printed, and with how many decimals.

    The largest product has three digits and the sum, of which less may be left, three too as far as there is room.
    """
    sizes = [abs(n) for n in products if math.isfinite(n) and n] or [abs(total)]
    if not sizes[0] or not math.isfinite(sizes[0]):
        return 0, 4
    order = math.floor(math.log10(max(sizes)))
    power = 0 if -3 <= order < 5 else 3 * math.floor(order / 3)
    digits = 2 - (order - power)
    if total and math.isfinite(total):
        digits = max(digits, 2 - (math.floor(math.log10(abs(total))) - power))
    return power, min(max(digits, 0), 6)


def factors(term: Term, shown: Printed, power: int) -> tuple[str, str]:
    """``δ`` and ``x`` with the fewest digits whose product is the printed one; three where none do."""
    for of_delta in (3, 4, 5):
        delta = significant(term.delta * 10.0**-power, of_delta)
        for of_x in (2, 3, 4):
            x = decimals(term.x, of_x) if abs(term.x) < 100 else significant(term.x, 4)
            finite = delta.value.is_finite() and x.value.is_finite()
            if finite and rounds_to(EXACT.multiply(delta.value, x.value), shown):
                return _signed(delta.text), factor(x.text)
    return _signed(significant(term.delta * 10.0**-power, 3).text), factor(significant(term.x, 3).text)


def _signed(text: str) -> str:
    return text if text[0] == MINUS or text in ("0", "NaN") else f"+{text}"


def height_of(account: Account, listed: int) -> float:
    """Logical pixels that the section takes."""
    rows = min(listed, len(account.terms)) + (account.count > listed) + 1 + (account.divisor != 1)
    return 22 + ROW * rows + 8


def draw_ledger(page: Page, account: Account, subject: Subject, listed: int) -> None:
    """The section, `listed` terms long."""
    listed = min(listed, len(account.terms))
    book, theme, sketch = ledger_of(account, listed), page.theme, page.sketch
    what = "δ" if all(term.x == 1.0 for term in account.terms) else "δ × x"
    title = f"{listed} largest of {account.count:,} terms" if account.count > listed else f"{account.count:,} terms"
    if account.count == 1:
        title = "one term"
    page.heading(f"step {account.step + 1:,}: {title}", what + (f", in {book.unit}" if book.unit else ""))
    sizes = [abs(t.product) for t in account.terms if math.isfinite(t.product)]
    most = max(sizes, default=0.0) or 1.0
    for term, shown in zip(account.terms, book.terms, strict=False):
        _row(page, term, shown, book.power, most, subject)
    if book.rest is not None:
        _sum_row(page, f"{account.count - listed:,} more", _signed(book.rest.text), theme.text3)
    line = round(page.y + 3)
    sketch.line((page.x + _BAR, line), (page.right, line), theme.flow, 1.0)
    page.y += 4
    equal = "=" if book.exact else "≈"
    if account.divisor != 1:
        unit = f"  (in {book.unit})" if book.unit else ""
        _sum_row(page, f"sum{unit}", _signed(book.total.text), theme.text2)
        by = f"÷ {account.divisor:,.10g}"
        _sum_row(page, f"{by} {equal} gradient", _signed(book.gradient.text), theme.pulse, bold=True)
    else:
        _sum_row(page, f"sum {equal} gradient", _signed(book.gradient.text), theme.pulse, bold=True)
    page.y += 4


def _row(page: Page, term: Term, shown: Printed, power: int, most: float, subject: Subject) -> None:
    sketch, theme = page.sketch, page.theme
    top, base = page.y, page.y + 15
    if (
        term.sample >= 0
        and term.inputs is not None
        and page.spot((page.x, top, page.width, ROW), "sample", term.sample)
    ):
        sketch.rect(page.x - 4, top + 0.5, page.width + 8, ROW - 1, radius=4, fill=theme.tray, stroke=theme.border)
    draw_sample(page, (page.x, top + 2), term, subject)
    delta, x = factors(term, shown, power)
    line = delta if term.x == 1.0 else f"{delta} × {x}"
    if measure(line, LABEL) > _DELTA - SAMPLE - 4 and term.x != 1.0:
        line = f"{_signed(significant(term.delta * 10.0**-power, 3).text)} × {factor(significant(term.x, 3).text)}"
    sketch.text(page.x + _DELTA, base, line, LABEL, theme.text2, anchor="right")
    if math.isfinite(term.product):
        wide = max(1.0, _BAR_WIDE * min(abs(term.product) / most, 1.0))
        colour = theme.gradient[3] if term.product >= 0 else theme.gradient[1]
        sketch.rect(page.x + _BAR, top + 4, wide, 12, radius=2, fill=colour)
    sketch.text(page.right, base, _signed(shown.text), LABEL, theme.text1, anchor="right")
    page.y += ROW


def _sum_row(page: Page, words: str, text: str, colour: str, *, bold: bool = False) -> None:
    page.sketch.text(page.x, page.y + 15, words, LABEL, page.theme.text2)
    page.sketch.text(page.right, page.y + 15, text, LABEL, colour, bold=bold, anchor="right")
    page.y += ROW


# ---- A sample in a line of text: its colour and what becomes of it, its small picture, or its number.

SAMPLE = 68.0
"""Logical pixels that it takes across."""
_WIDE, _HIGH, _GAP = 24.0, 14.0, 40.0


def draw_sample(page: Page, at: tuple[float, float], term: Term, subject: Subject) -> None:
    """The sample of a term, 16 pixels high, from the upper left corner `at` on."""
    x, y = at
    sketch, theme = page.sketch, page.theme
    if term.inputs is not None and subject.sample.colours and len(term.inputs) == 3:
        sketch.rect(x, y + 1, _WIDE, _HIGH, radius=3, fill=_colour(term.inputs), stroke=theme.border)
        if term.outputs is not None and len(term.outputs) == 3:
            sketch.arrow((x + _WIDE + 3, y + 8), (x + _GAP - 3, y + 8), theme.flow, 1.2, head=5.0)
            sketch.rect(x + _GAP, y + 1, _WIDE, _HIGH, radius=3, fill=_colour(term.outputs), stroke=theme.border)
        return
    side = 0 if term.inputs is None else math.isqrt(len(term.inputs))
    if term.inputs is not None and subject.sample.sheet and side * side == len(term.inputs) and side > 1:
        sketch.image(
            (x, y - 1, 18, 18), _picture(np.ascontiguousarray(term.inputs, np.float64).tobytes(), side, theme.name)
        )
        x += 24
    name = "all" if term.sample < 0 else f"{term.sample:,}"
    sketch.text(x, y + 8 + CAP_HEIGHT * LABEL / 2, name, LABEL, theme.text3)


def _colour(numbers: NDArray[np.floating]) -> NDArray[np.float64]:
    return np.clip(np.nan_to_num(np.asarray(numbers, np.float64)), 0.0, 1.0)


@lru_cache(maxsize=64)
def _picture(numbers: bytes, side: int, theme: str) -> NDArray[np.uint8]:
    """Ink 0..1, float64, bright on a dark ground; the same array for the same numbers, so it is uploaded once."""
    ink = np.frombuffer(numbers).reshape(side, side)
    shade = np.clip(np.nan_to_num(ink), 0.0, 1.0)
    grey = np.round(255 * (shade if theme == "dark" else 1.0 - shade)).astype(np.uint8)
    return np.repeat(grey[:, :, None], 3, axis=2)
