"""The inspector as a column: everything of one weight, as much of it as there is room for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ...run.core.frame import Frame
from ..ink.equation import descent
from ..ink.overlay import wrapped
from ..ink.places import LABEL, TITLE
from ..ink.text import MINUS, figure, measure, number
from ..ink.widgets import Entry
from ..shown.subject import Subject
from . import ledger
from .account import Account, RuleLine, Sign
from .explanation import Lines
from .inspector_page import Page, draw_crumbs, draw_figures, draw_row, state_pairs
from .inspector_plots import Moved, draw_plots
from .selection import Identity, Part

# ---- The optimiser's rule with the numbers of one weight, in lines as wide as the page.

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


BUTTONS = (("zero", "X", "zero"), ("× ½", "/", "halve"), ("× 2", "*", "double"), ("anew", "I", "redraw"))
_GAP = 12.0
_UNDER_TEXT = 18.0
"""Between a line of words, whose letters reach below it, and the plots."""


@dataclass(frozen=True, slots=True)
class Told:
    """What is to be said of one weight.

    Attributes
    ----------
    subject, frame, who
        Whose, at which moment, and who it is.
    parts : sequence of Part
        The outline that it stands in.
    kind : str
        Which part is selected.
    account : Account or None
        The coming step; None where it is not opened, or not yet.
    moved : Moved
    explanation : Lines
        What is said of the last step where the coming one is not opened.
    entry : Entry or None
        A value that is being typed.
    edits : bool
        Whether it can be changed by hand.
    opened : bool
        Whether somebody opens the coming step: the account is there, or will be.
    """

    subject: Subject
    frame: Frame
    who: Identity
    parts: Sequence[Part]
    kind: str
    account: Account | None
    moved: Moved
    explanation: Lines
    entry: Entry | None
    edits: bool
    opened: bool = False


@dataclass(frozen=True, slots=True)
class _Plan:
    """How much of it is shown: terms, plots so high, formulas beside their numbers, the optimiser's state, its rule."""

    terms: int
    plots: float
    formulas: bool = False
    state: bool = True
    rule: bool = True


_PLANS = (
    *(_Plan(8, high, formulas=True) for high in (160.0, 132.0, 104.0)),
    *(_Plan(8, high) for high in (104.0, 84.0, 74.0)),
    _Plan(7, 74.0), _Plan(6, 84.0), _Plan(5, 76.0), _Plan(5, 76.0, state=False), _Plan(4, 70.0, state=False),
    _Plan(3, 70.0, state=False), *(_Plan(terms, 0.0, state=False) for terms in (3, 1, 0)),
    _Plan(0, 0.0, state=False, rule=False),
)  # fmt: skip


def draw_column(page: Page, told: Told, height: float) -> Page:
    """Write everything into a page of at most that `height`; the value's box comes first among its spots."""
    bottom = page.y + height
    head(page, told.who.name, told.who.meaning)
    draw_crumbs(page, told.parts, told.kind)
    page.y += 20
    box = draw_figures(page.sketch, (page.x, page.y), page.width, 21.0, page.theme, told.frame, told.subject,
                       told.parts[-1].spans[0][0], told.entry, ratio=told.opened)  # fmt: skip
    page.spot(box, "type")
    page.y += 29
    buttons = _buttons(told)
    below = 32.0 * len(buttons)
    room = bottom - page.y - below
    plan = next((plan for plan in _PLANS if _height(plan, told, page.width) <= room), _PLANS[-1])
    _write(page, told, plan)
    for row in buttons:
        page.y += 8
        if page.y + 24.0 <= bottom:
            page.buttons(row)
    return page


def _buttons(told: Told) -> list[list[tuple[str, str, str]]]:
    """Rows of buttons: deeds, and where in time to go."""
    if not told.edits:
        return []
    frozen = bool(told.frame.frozen[told.parts[-1].spans[0][0]])
    rows = [[("free" if frozen else "freeze", "K", "freeze"), *BUTTONS]]
    if told.opened and told.frame.past is not None:
        rows.append([("last change of sign", "V", "find_sign"), ("stop when ...", "F9", "break_on")])
    return rows


def head(page: Page, name: str, note: str) -> None:
    """Who it is in one line, in two where that is too long."""
    page.y += 17
    room = page.width - measure(name, TITLE, True) - 12
    size = TITLE if measure(name, TITLE, True) <= page.width else LABEL
    page.sketch.text(page.x, page.y, name, size, page.theme.text1, bold=True)
    if note and measure(note, LABEL) > room:
        page.y += 18
        page.sketch.text(page.x, page.y, note, LABEL, page.theme.text2)
    elif note:
        page.sketch.text(page.right, page.y, note, LABEL, page.theme.text2, anchor="right")
    page.y += 6


def _height(plan: _Plan, told: Told, width: float) -> float:
    """What a plan takes below the numbers."""
    account = told.account
    total = plan.plots + 8 if plan.plots else 0.0
    if account is None:
        return total + (_UNDER_TEXT if plan.plots else 0.0) + 18.0 * len(_explained(told, width))
    if plan.state and state_pairs(account) and not account.follows:
        total += 42.0
    if plan.terms and not account.follows:
        total += _GAP + ledger.height_of(account, plan.terms)
    if plan.rule:
        total += _GAP + height_of(account, width, formulas=plan.formulas)
    return total + (_GAP if plan.plots else 0.0)


def _explained(told: Told, width: float) -> list[str]:
    """The lines that explain, as wide as the page."""
    return [row for ways in told.explanation for row in wrapped(ways[0], width)]


def _write(page: Page, told: Told, plan: _Plan) -> None:
    account = told.account
    if account is None:
        for line in _explained(told, page.width):
            page.y += 18
            page.sketch.text(page.x, page.y, line, LABEL, page.theme.text2)
    else:
        pairs = state_pairs(account) if plan.state and not account.follows else []
        if pairs:
            step = max(98.0, max(measure(word, LABEL) for word, _ in pairs) + 12)
            page.y += 15
            draw_row(page.sketch, (page.x, page.y), step, pairs[: int(page.width // step)], page.theme)
            page.y += 27
        if plan.terms and not account.follows:
            page.rule(_GAP)
            ledger.draw_ledger(page, account, told.subject, plan.terms)
        if plan.rule:
            page.rule(_GAP)
            draw_rule(page, account, formulas=plan.formulas)
    if plan.plots:
        page.rule(_UNDER_TEXT if account is None else _GAP)
        along = None if account is None else account.along
        draw_plots(page, told.moved, along, plan.plots, opened=account is not None)
