"""`Inspector`: what is selected and what is known of it, as a column beside the cubes or as a low panel below them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...run.core.frame import Frame
from ...run.source import Can
from ...run.travel import WeightRecord
from ..ink.boxes import LABEL, TITLE
from ..ink.overlay import wrapped
from ..ink.sketch import COVERS, Box, Does, Kept, Sketch
from ..ink.text import figure, measure
from ..ink.theme import Theme
from ..ink.widgets import Entry
from ..panels.wording import update_names
from ..shown.subject import Subject
from .account import Account, Explanation, Lines
from .inspector_page import (
    Moved,
    Page,
    draw_crumbs,
    draw_figures,
    draw_ledger,
    draw_moved,
    draw_plots,
    draw_rule,
)
from .selection import Selection, parts_of, tensor_of, who

POINTS = 400
"""Values of one weight that are kept at most."""


class ValueHistory:
    """Values of one weight since it was selected, thinned so that any length fits."""

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.values: list[float] = []
        self._every = 1

    def add(self, step: int, value: float) -> None:
        """The value after `step`; an edit at the same step replaces, a step back cuts."""
        while self.steps and self.steps[-1] > step:
            self.steps.pop()
            self.values.pop()
        if len(self.steps) > 1 and (step == self.steps[-1] or step - self.steps[-2] < self._every):
            self.steps[-1], self.values[-1] = step, value  # the end always stands at the present step
        elif not self.steps or self.steps[-1] != step or self.values[-1] != value:
            self.steps.append(step)
            self.values.append(value)
        if len(self.steps) > POINTS:
            self.steps, self.values = self.steps[:-1:2] + self.steps[-1:], self.values[:-1:2] + self.values[-1:]
            self._every = max(self._every * 2, (self.steps[-1] - self.steps[0]) // POINTS)


RecordKey = tuple[int, int, int]
"""Of a past: its branch, its newest step, and how many edits it has."""


def record_key(frame: Frame) -> RecordKey | None:
    """Which past a frame has; None where nothing keeps one."""
    past = frame.past
    if past is None:
        return None
    branch = next((branch.number for branch in past.branches if branch.current), 0)
    return branch, past.newest, len(past.edits)


# ---- The panel: of one weight or of several, as a column or low.

WIDE, HIGH, LOW = 524.0, 106.0, 84.0
"""Of the low panel: its width, and its heights with and without lines that explain."""
_LOOSE, _TIGHT = (26.0, 24.0, 21.0, 23.0, 20.0), (21.0, 19.0, 19.0, 20.0, 17.0)
"""Its baselines: of the heading; from there to the words, their numbers, the first line, the next. Two are tight."""
_CURVE_FROM = 440.0
_SEVERAL = 212.0  # height of the column of several weights
_SUMS = ("mean", "largest", "norm")
_BUTTONS = (("zero", "X", "zero"), ("× ½", "/", "halve"), ("× 2", "*", "double"), ("anew", "I", "redraw"))
_GAP = 12.0
_UNDER_TEXT = 18.0  # between a line of words, whose letters reach below it, and the plots


@dataclass(frozen=True, slots=True)
class _Plan:
    """How much is shown: terms, plots so high, formulas beside their numbers, the optimiser's state, its rule."""

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
"""From the highest to the lowest."""


class Inspector:
    """The panel of one selected weight, or of several.

    Somebody else sets `account`, why the weight will move, as far as it is known; `record`, how it moved over all that
    is recorded, and of which past that is; and `entry`, a number that is being typed.
    """

    def __init__(self, subject: Subject, selection: Selection | int) -> None:
        self.parts = parts_of(subject, selection if isinstance(selection, int) else selection.main)
        self.selection = self.parts[-1] if isinstance(selection, int) else selection
        self.index, self.single = self.selection.main, self.selection.single
        self.who = who(subject, self.index)
        self.account: Account | None = None
        self.record: tuple[RecordKey, WeightRecord] | None = None
        self.entry: Entry | None = None
        self._subject = subject
        self._explanation = Explanation(subject, self.index, tensor_of(subject, self.index))
        self._history = ValueHistory()
        self._plan, self._planned = 0, Kept[int]()
        self.box: Box | None = None  # where it is drawn

    def follow(self, frame: Frame) -> None:
        """Take over the value of a frame; what stands still, as the numbers of a file do, has no course."""
        if self._subject.source.can != Can():
            self._history.add(frame.step, float(frame.values[self.index]))

    def explanation(self, frame: Frame) -> Lines:
        """Where its gradient comes from and what the last step did with it; as much as is true."""
        return self._explanation.lines(frame) if self.single else ()

    @property
    def wanted(self) -> float:
        """Height that it would fill in the column (logical pixels)."""
        if not self.single:
            return _SEVERAL
        return 4000.0 if self._subject.source.can.open else 290.0

    def moved(self, frame: Frame) -> Moved:
        """All that is recorded, as far as it is of this past, and what was seen since."""
        history = self._history
        steps, values = np.array(history.steps, np.float64), np.array(history.values, np.float64)
        if self.record is not None:
            (key, record), whole = self.record, slice(None)
            if key == record_key(frame):
                steps, values = steps[:0], values[:0]
            elif len(steps):  # since then the run went on, perhaps on another branch
                whole = slice(0, int(np.searchsorted(record.steps, steps[0])))
            steps = np.concatenate([record.steps[whole], steps])
            values = np.concatenate([record.values[whole], values])
        return Moved(steps, values, frame.step, float(frame.values[self.index]))

    def sketch(
        self, box: Box, theme: Theme, frame: Frame, explanation: Lines = (), over: Does | None = None,
        *, low: bool = False, opened: bool = False,
    ) -> Sketch:  # fmt: skip
        """The panel in `box`, a column or `low`; `opened`: somebody gives it the account of the coming step."""
        x, y, width, height = box
        air = 0.0 if not low else 16.0 if width >= 300 else 10.0
        page = Page(x + air, y, width - 2 * air, theme, over)
        page.sketch.spot(box, COVERS)
        if low:
            page.sketch.rect(*box, radius=6, fill=theme.panel, stroke=theme.border)
            draw = self._draw_low if self.single else self._draw_several_low
            draw(page, frame, explanation, box)
        elif self.single:
            self._draw(page, frame, explanation, y + height, opened=opened)
        else:
            self._draw_several(page, frame)
        return page.sketch

    def _buttons(self, frame: Frame, *, opened: bool = False) -> list[list[tuple[str, str, str]]]:
        """Rows of buttons: deeds, and where in time to go."""
        if not self._subject.source.can.edit:
            return []
        frozen = bool(self.selection.of(frame.frozen).all())
        rows = [[("free" if frozen else "freeze", "K", "freeze"), *_BUTTONS]]
        if opened and frame.past is not None:
            rows.append([("last change of sign", "V", "find_sign"), ("stop when ...", "F9", "break_on")])
        return rows

    # ---- one weight

    def _draw(self, page: Page, frame: Frame, explanation: Lines, bottom: float, *, opened: bool) -> None:
        """As much of everything as there is room for."""
        page.head(self.who.name, self.who.meaning)
        draw_crumbs(page, self.parts, self.selection.kind)
        page.y += 20
        draw_figures(page, page.width, 21.0, frame, self._subject, self.index, self.entry, self.account,
                     ratio=opened)  # fmt: skip
        page.y += 29
        rows = self._buttons(frame, opened=opened)
        lines = tuple(row for ways in explanation for row in wrapped(ways[0], page.width))
        end = bottom - 32.0 * len(rows)

        def fits(plan: _Plan) -> bool:
            tried = Page(page.x, page.y, page.width, page.theme)
            self._draw_parts(tried, frame, lines, plan)
            return tried.y + (8.0 if plan.plots else 0.0) <= end

        def first(at: int) -> int:
            """The highest plan that fits, sought from the last one on: most of the time it still is that."""
            while at and fits(_PLANS[at - 1]):
                at -= 1
            while at < len(_PLANS) - 1 and not fits(_PLANS[at]):
                at += 1
            return at

        known = self.account, lines, page.width, end - page.y
        self._plan = self._planned.of(known, lambda: first(self._plan))
        self._draw_parts(page, frame, lines, _PLANS[self._plan])
        for row in rows:
            page.y += 8
            if page.y + 24.0 <= bottom:
                page.buttons(row)

    def _draw_parts(self, page: Page, frame: Frame, lines: Sequence[str], plan: _Plan) -> None:
        """What stands below the numbers, as much of it as a plan says."""
        account = self.account
        if account is None:
            for line in lines:
                page.line(line, 18.0)
        else:
            if plan.state and account.pairs and not account.follows:
                step = max(98.0, max(measure(word, LABEL) for word, _ in account.pairs) + 12)
                for k, (word, value) in enumerate(account.pairs[: int(page.width // step)]):
                    page.sketch.text(page.x + k * step, page.y + 15, word, LABEL, page.theme.text3)
                    page.sketch.text(page.x + k * step, page.y + 34, value, LABEL, page.theme.text1)
                page.y += 42
            if plan.terms and not account.follows:
                page.rule(_GAP)
                draw_ledger(page, account, self._subject, plan.terms)
            if plan.rule:
                page.rule(_GAP)
                draw_rule(page, account, formulas=plan.formulas)
        if plan.plots:
            page.rule(_UNDER_TEXT if account is None else _GAP)
            along = None if account is None else account.along
            draw_plots(page, self.moved(frame), along, plan.plots, opened=account is not None)

    def _draw_low(self, page: Page, frame: Frame, explanation: Lines, box: Box) -> None:
        """What does not fit is left out."""
        (x, y, width, height), moved, theme = box, self.moved(frame), page.theme
        curve = width >= _CURVE_FROM and height >= LOW
        title = f"value {moved.since}" if curve and moved.since else ""
        first, words, numbers, below, line = _TIGHT if len(explanation) > 1 and height >= HIGH else _LOOSE
        page.sketch.text(page.right, y + first, title, LABEL, theme.text3, anchor="right")
        draw_heading(page, y + first, page.right - measure(title, LABEL) - 12, self.who.name, self.who.meaning)
        page.y = y + first + words
        if height >= LOW:
            wide = (x + 330 if curve else page.right) - page.x
            draw_figures(page, wide, numbers, frame, self._subject, self.index, self.entry)
        if curve:
            high = 28.0 if line == _TIGHT[-1] else 38.0
            draw_moved(page, (x + 346, y + first + 12, page.right - x - 346, high), moved)
        page.y += numbers + below
        for ways in explanation if height >= HIGH else ():
            _fitting(page, ways, theme.text2)
            page.y += line

    # ---- several: how many, and what their values and gradients come to

    def _sums(self, frame: Frame) -> list[tuple[str, tuple[float, float, float], bool]]:
        """What is summed up: its name, its three numbers, and whether they are older."""
        of = self.selection.of
        found = [("value", summary(of(frame.values)), False)]
        if of(frame.computed).any():
            found.append(("gradient", summary(of(frame.gradient)), frame.edited))
        if of(frame.known("update")).any():
            found.append((update_names(frame)[-1], summary(of(frame.update)), frame.edited))
        return found

    @property
    def _count(self) -> str:
        """How many, where its name does not say so."""
        count = f"{self.selection.count:,} weights"
        return "" if count == self.selection.words else count

    def _draw_several(self, page: Page, frame: Frame) -> None:
        theme, sketch, selection = page.theme, page.sketch, self.selection
        page.head(selection.words, self._count)
        draw_crumbs(page, self.parts, selection.kind)
        page.y += 20
        step = (page.width - 56.0) / 3
        for k, (name, numbers, older) in enumerate(self._sums(frame)):
            right, colour = page.x + 56 + (k + 1) * step, theme.text3 if older else theme.text1
            sketch.text(right, page.y, name, LABEL, theme.text3, anchor="right")
            for row, value in enumerate(numbers):
                sketch.text(right, page.y + 21.0 * (row + 1), figure(value), LABEL, colour, anchor="right")
        for row, word in enumerate(_SUMS):
            sketch.text(page.x, page.y + 21.0 * (row + 1), word, LABEL, theme.text3)
        page.y += 21.0 * 3 + 22
        frozen = int(selection.of(frame.frozen).sum())
        said = f"{frozen:,} of {selection.count:,} frozen" if frozen else "none frozen"
        sketch.text(page.x, page.y, "all frozen" if frozen == selection.count else said, LABEL, theme.text3)
        if self.entry is not None:
            self.entry.draw(sketch, (page.right - 140, page.y - 16, 140, 22), theme)
        page.y += 14
        for row_of in self._buttons(frame):
            page.buttons(row_of)

    def _draw_several_low(self, page: Page, frame: Frame, _: Lines, box: Box) -> None:
        """A line each for values and gradients."""
        draw_heading(page, page.y + 26, page.right, self.selection.words, self._count)
        page.y += 48
        for name, numbers, older in self._sums(frame)[: 3 if box[3] >= HIGH else 2]:
            parts = [f"{word} {figure(n)}" for word, n in zip(_SUMS, numbers, strict=True)]
            ways = (
                "   ".join([f"{name}:", *parts]),
                "   ".join([f"{name}:", parts[0], parts[2]]),
                f"{name}: {parts[0]}",
            )
            _fitting(page, ways, page.theme.text3 if older else page.theme.text1)
            page.y += 20
        if self.entry is not None:
            self.entry.draw(page.sketch, (box[0] + box[2] - 156, box[1] + 8, 140, 22), page.theme)


def draw_heading(page: Page, y: float, right: float, name: str, meaning: str) -> None:
    """Name and meaning on one line, as far as they fit."""
    x = page.x + measure(name, TITLE, True)
    if x <= right:
        page.sketch.text(page.x, y, name, TITLE, page.theme.text1, bold=True)
        if x + 15 + measure(meaning, LABEL) <= right:
            page.sketch.text(x + 15, y, meaning, LABEL, page.theme.text2)


def _fitting(page: Page, ways: tuple[str, ...], colour: str) -> None:
    """The longest of the ways to say a line that is no wider than the page."""
    text = next((way for way in ways if measure(way, LABEL) <= page.width), "")
    page.sketch.text(page.x, page.y, text, LABEL, colour)


def summary(numbers: NDArray[np.floating]) -> tuple[float, float, float]:
    """Mean, the largest by size with its sign, and the Euclidean norm, in float64."""
    exact = np.asarray(numbers, np.float64)
    with np.errstate(all="ignore"):
        top = exact[int(np.argmax(np.where(np.isnan(exact), np.inf, np.abs(exact))))]
        return float(exact.mean()), float(top), float(np.sqrt((exact * exact).sum()))
