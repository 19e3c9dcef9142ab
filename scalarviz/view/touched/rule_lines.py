"""The optimiser's rule with the numbers of one weight, in lines as wide as the page."""

from __future__ import annotations

import math

from ..draw.equation import descent
from ..draw.places import LABEL, TITLE
from ..draw.text import MINUS, figure, measure, number
from .account import Account, RuleLine, Sign
from .page import Page

LINE = 18.0
_PLAIN = f"w {MINUS} lr · g"
Run = tuple[str, bool]
"""A piece of text, and whether it is a gradient."""


def formula(line: RuleLine) -> str:
    """With names: ``"w − lr · g"``."""
    return "".join(sign.name for sign in line.signs)


def is_plain(account: Account) -> bool:
    """Whether the rule is plain gradient descent, whose line can be printed so that it is true."""
    return len(account.lines) == 1 and formula(account.lines[0]) == _PLAIN


def height_of(account: Account, width: float, *, formulas: bool = True) -> float:
    """Logical pixels that the section takes, with or without the formulas of a rule of several lines."""
    rounded = LINE if account.rounded and not account.follows else 0.0
    if not account.lines:
        return 22.0 + LINE + rounded
    if is_plain(account):
        return 22.0 + 24.0 + rounded
    return 22.0 + rounded + LINE * sum(len(rows) for rows in written(account, width, formulas=formulas)) + 4.0


def draw_rule(page: Page, account: Account, *, formulas: bool = True) -> None:
    """The section: the optimiser's name, every line of its rule with numbers, and what of it float16 holds."""
    _draw_lines(page, account, formulas)
    if account.rounded and not account.follows:
        page.sketch.text(page.x, page.y + 13, account.rounded, LABEL, page.theme.text2)
        page.y += LINE


def _draw_lines(page: Page, account: Account, formulas: bool) -> None:
    theme, sketch = page.theme, page.sketch
    if account.follows:
        page.heading(f"step {account.step + 1:,}", "no optimiser moves it")
        text = f"follows the batch: becomes {figure(account.new)}"
        sketch.text(page.x, page.y + 13, text, LABEL, theme.text2)
        page.y += LINE
        return
    if not account.lines:
        page.heading(account.optimizer)
        sketch.text(page.x, page.y + 13, "frozen: it stays" if account.frozen else "it stays", LABEL, theme.text2)
        page.y += LINE
        return
    if is_plain(account):
        page.heading(account.optimizer, f"{_PLAIN} = w'")
        lr = next(sign.value for sign in account.lines[0].signs if sign.name == "lr")
        text = descent(account.value, lr or 0.0, account.gradient, account.new, least=3)
        body, sign, result = text.rpartition("=" if "=" in text else "≈")
        size = TITLE if measure(text, TITLE) <= page.width else LABEL
        sketch.text(page.x, page.y + 17, f"{body}{sign} ", size, theme.text2)
        at = page.x + measure(f"{body}{sign} ", size)
        sketch.text(at, page.y + 17, result.strip(), size, theme.text1, bold=True)
        page.y += 24
        return
    page.heading(account.optimizer, "this weight's numbers")
    for rows in written(account, page.width, formulas=formulas):
        for colour, row in rows:
            sketch.text(page.x, page.y + 13, row, LABEL, getattr(theme, colour))
            page.y += LINE
    page.y += 4


def written(account: Account, width: float, *, formulas: bool) -> list[list[tuple[str, str]]]:
    """By line of the rule the rows of text, each with the name of its colour."""
    found = []
    for line in account.lines:
        rows: list[tuple[str, str]] = []
        numbers = _pieces(line.signs, numbers=True)
        result = f" ≈ {_plain_digits(line.result)}"
        if formulas:
            rows += [("text3", row) for row in _wrapped([f"{line.name} = ", *_pieces(line.signs)], width)]
            rows += [("text1", row) for row in _wrapped([*numbers, result], width)]
        else:
            rows += [("text1", row) for row in _wrapped([f"{line.name} = ", *numbers, result], width)]
        found.append(rows)
    return found


def _pieces(signs: tuple[Sign, ...], *, numbers: bool = False) -> list[str]:
    """The formula in pieces that are not torn apart, by names or by numbers; a number with a sign has brackets."""
    pieces: list[str] = []
    for sign in signs:
        text = sign.name
        if numbers and sign.value is not None:
            text = _plain_digits(sign.value)
            before = pieces[-1].rstrip() if pieces else ""
            if text.startswith(MINUS) and before and not before.endswith("("):
                text = f"({text})"
        if not pieces or (sign.value is None and text.startswith(" ")):  # a row may end before an operator
            pieces.append(text)
        else:
            pieces[-1] += text
    return pieces


def _plain_digits(value: float) -> str:
    """Four digits that count, without zeros behind them: ``0.01``, ``413``, ``−4.183e−6``."""
    text = f"{value:.4g}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")
    return text.replace("-", MINUS) if math.isfinite(value) else number(value)


def _wrapped(pieces: list[str], width: float) -> list[str]:
    """The pieces in as few rows as hold them."""
    rows = [""]
    for piece in pieces:
        if rows[-1] and measure(rows[-1] + piece, LABEL) > width:
            rows.append("   " + piece.lstrip())
        else:
            rows[-1] += piece
    return rows
