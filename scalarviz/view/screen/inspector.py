"""`Inspector`: what is selected, what is known of it, and where it was drawn last."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...run.core.frame import Frame
from ...run.source import Can
from ...run.travel import WeightRecord
from ..ink.places import LABEL, TITLE
from ..ink.sketch import Box, Does, Sketch, Spot, spot_at
from ..ink.text import figure, measure
from ..ink.theme import Theme
from ..ink.widgets import Entry
from ..panels.wording import BEFORE, update_names
from ..shown.subject import Subject
from .account import Account
from .explanation import Explanation, Lines
from .inspector_column import BUTTONS, Told, draw_column, head
from .inspector_page import Page, draw_crumbs, draw_figures
from .inspector_plots import Moved, axes_of
from .selection import Identity, Part, Selection, parts_of, tensor_of, who

# ---- `ValueHistory`: how one weight moved since it was selected.

POINTS = 400
"""Values that are kept at most."""


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
        if len(self.steps) > 1 and self.steps[-1] == step:
            self.values[-1] = value
        elif len(self.steps) > 1 and step - self.steps[-2] < self._every:
            self.steps[-1], self.values[-1] = step, value  # the end always stands at the present step
        elif not self.steps or self.steps[-1] != step or self.values[-1] != value:
            self.steps.append(step)
            self.values.append(value)
        if len(self.steps) > POINTS:
            self.steps, self.values = self.steps[:-1:2] + self.steps[-1:], self.values[:-1:2] + self.values[-1:]
            self._every = max(self._every * 2, (self.steps[-1] - self.steps[0]) // POINTS)


# ---- The inspector in its small form, below the cubes, where there is no column for it.

WIDE, HIGH, LOW = 524.0, 106.0, 84.0
"""Width, and the heights with and without lines that explain."""
_LOOSE, _TIGHT = (26.0, 24.0, 21.0, 23.0, 20.0), (21.0, 19.0, 19.0, 20.0, 17.0)
"""Baselines: of the heading; from there to the words, their numbers, the first line, the next. Two lines are tight."""
_CURVE_FROM = 440.0


def draw_small(
    box: Box,
    theme: Theme,
    frame: Frame,
    subject: Subject,
    index: int,
    who: Identity,
    history: ValueHistory,
    explanation: Lines,
    entry: Entry | None,
) -> tuple[Sketch, Box | None]:
    """The panel in `box`, and the box of the value; what does not fit is left out."""
    sketch, number = Sketch(), None
    x, y, width, height = box
    sketch.rect(*box, radius=6, fill=theme.panel, stroke=theme.border)
    pad = 16.0 if width >= 300 else 10.0
    curve = width >= _CURVE_FROM and height >= LOW
    right = x + width - pad
    title = f"value since step {history.steps[0]:,}" if curve and history.steps else ""
    tight = len(explanation) > 1 and height >= HIGH
    first, words, numbers, below, line = _TIGHT if tight else _LOOSE
    if title:
        sketch.text(right, y + first, title, LABEL, theme.text3, anchor="right")
    draw_heading(sketch, x + pad, y + first, right - measure(title, LABEL) - 12, who, theme)
    at = y + first + words
    if height >= LOW:
        wide = (x + 330 if curve else right) - x - pad
        number = draw_figures(sketch, (x + pad, at), wide, numbers, theme, frame, subject, index, entry)
    if curve:
        _curve(sketch, (x + 346, y + first + 12, right - x - 346 - 4, 28 if tight else 38), history, theme)
    for ways in explanation if height >= HIGH else ():
        text = next((way for way in ways if measure(way, LABEL) <= width - 2 * pad), "")
        sketch.text(x + pad, at + numbers + below, text, LABEL, theme.text2)
        at += line
    return sketch, number


def draw_heading(sketch: Sketch, x: float, y: float, right: float, who: Identity, theme: Theme) -> None:
    """Name and meaning on one line, as far as they fit."""
    if x + measure(who.name, TITLE, True) > right:
        return
    sketch.text(x, y, who.name, TITLE, theme.text1, bold=True)
    x += measure(who.name, TITLE, True) + 15
    if x + measure(who.meaning, LABEL) <= right:
        sketch.text(x, y, who.meaning, LABEL, theme.text2)


def _curve(sketch: Sketch, box: Box, history: ValueHistory, theme: Theme) -> None:
    """The value since it was selected: start as a thin line across, the end as a disc."""
    x, _, width, _ = box
    steps, values = np.array(history.steps, float), np.array(history.values)
    known = np.isfinite(values)
    steps, values = steps[known], values[known]
    if not len(steps):
        return
    axes = axes_of(box, steps, values)
    path = axes.points(steps, values)
    sketch.line((x, float(path[0, 1])), (x + width, float(path[0, 1])), theme.grid, 1.0)
    if len(steps) > 1:
        sketch.polyline(path, theme.text1, 2.0)
    at = path[-1].tolist()
    sketch.disc(at[0], at[1], 3.5, theme.text1)


class Inspector:
    """The panel of one selected weight, or of several.

    Attributes
    ----------
    selection : Selection
    box, number : Box or None
        Where the panel and its value were drawn last; None where they were not.
    spots : list of Spot
        What a click on it does.
    account : Account or None
        Why the weight will move, as far as it is known.
    record : (RecordKey, WeightRecord) or None
        How the weight moved over all that is recorded, and of which past that is.
    entry : Entry or None
        A number that is being typed.
    """

    def __init__(self, subject: Subject, selection: Selection | int) -> None:
        parts = parts_of(subject, selection if isinstance(selection, int) else selection.main)
        self.selection = parts[-1].selected(selection) if isinstance(selection, int) else selection
        self.index = self.selection.main
        self.box: Box | None = None
        self.number: Box | None = None
        self.spots: list[Spot] = []
        self.who = who(subject, self.index)
        self.account: Account | None = None
        self.record: tuple[RecordKey, WeightRecord] | None = None
        self.entry: Entry | None = None
        self.parts = parts
        self._subject = subject
        self._explanation = Explanation(subject, self.index, tensor_of(subject, self.index))
        self._history = ValueHistory()

    @property
    def single(self) -> bool:
        """Whether it is of one weight."""
        return self.selection.single

    def follow(self, frame: Frame) -> None:
        """Take over the value of a frame; what stands still, as the numbers of a file do, has no course."""
        if self._subject.source.can == Can():
            return
        self._history.add(frame.step, float(frame.values[self.index]))

    def explanation(self, frame: Frame) -> Lines:
        """Where its gradient comes from and what the last step did with it; as much as is true."""
        return self._explanation.lines(frame) if self.single else ()

    def spot_at(self, point: tuple[float, float]) -> Spot | None:
        """What a click at a point does."""
        return spot_at(self.spots, point)

    def hide(self) -> None:
        """It is drawn nowhere."""
        self.box = self.number = None
        self.spots = []

    @property
    def wanted(self) -> float:
        """Height that it would fill in the column (logical pixels)."""
        if not self.single:
            return HEIGHT
        return 4000.0 if self._subject.source.can.open else 290.0

    # the panel

    def sketch(self, box: Box, theme: Theme, frame: Frame, explanation: Lines) -> Sketch:
        """The small form in `box`; what does not fit is left out."""
        self.box, self.spots = box, []
        if not self.single:
            self.number = None
            return draw_several_small(box, theme, self.selection, frame, self.entry)
        sketch, self.number = draw_small(box, theme, frame, self._subject, self.index, self.who, self._history,
                                         explanation, self.entry)  # fmt: skip
        return sketch

    def column(
        self,
        box: Box,
        theme: Theme,
        frame: Frame,
        explanation: Lines = (),
        over: Does | None = None,
        *,
        opened: bool = False,
    ) -> Sketch:
        """The large form in `box`; `opened` says that somebody gives it the account of the coming step."""
        x, y, width, height = self.box = box
        page = Page(x, y, width, theme, over)
        edits = self._subject.source.can.edit
        if self.single:
            told = Told(self._subject, frame, self.who, self.parts, self.selection.kind, self.account,
                        self._moved(frame), explanation, self.entry, edits, opened)  # fmt: skip
            draw_column(page, told, height)
            self.number = next(spot.box for spot in page.sketch.spots if spot.name == "type")
        else:
            self.number = None
            draw_several(page, self.selection, self.parts, frame, self.entry, edits=edits)
        self.spots = page.sketch.spots
        return page.sketch

    def _moved(self, frame: Frame) -> Moved:
        """All that is recorded, as far as it is of this past, and what was seen since."""
        history, value = self._history, float(frame.values[self.index])
        steps, values = np.array(history.steps, np.float64), np.array(history.values, np.float64)
        if self.record is not None:
            (key, record), whole = self.record, slice(None)
            if key == record_key(frame):
                steps, values = steps[:0], values[:0]
            elif len(steps):  # since then the run went on, perhaps on another branch
                whole = slice(0, int(np.searchsorted(record.steps, steps[0])))
            steps = np.concatenate([record.steps[whole], steps])
            values = np.concatenate([record.values[whole], values])
        since = f"since step {int(steps[0]):,}" if len(steps) else ""
        return Moved(steps, values, since, frame.step, value)


RecordKey = tuple[int, int, int]
"""Of a past: its branch, its newest step, and how many edits it has."""


def record_key(frame: Frame) -> RecordKey | None:
    """Which past a frame has; None where nothing keeps one."""
    past = frame.past
    if past is None:
        return None
    branch = next((branch.number for branch in past.branches if branch.current), 0)
    return branch, past.newest, len(past.edits)


# ---- The inspector of several weights: how many, and what their values and gradients come to.

HEIGHT = 212.0
_ROWS = ("mean", "largest", "norm")


def summary(numbers: NDArray[np.floating]) -> tuple[float, float, float]:
    """Mean, the largest by size with its sign, and the Euclidean norm, in float64."""
    exact = np.asarray(numbers, np.float64)
    with np.errstate(all="ignore"):
        top = exact[int(np.argmax(np.where(np.isnan(exact), np.inf, np.abs(exact))))]
        return float(exact.mean()), float(top), float(np.sqrt((exact * exact).sum()))


def _columns(selection: Selection, frame: Frame) -> list[tuple[str, tuple[float, float, float], bool]]:
    """What is summed up: its name, its three numbers, and whether they are older."""
    found = [("value", summary(selection.of(frame.values)), False)]
    if selection.of(frame.computed).any():
        found.append(("gradient", summary(selection.of(frame.gradient)), frame.edited))
    if selection.of(frame.known("update")).any():
        found.append((update_names(frame)[-1], summary(selection.of(frame.update)), frame.edited))
    return found


def draw_several(
    page: Page,
    selection: Selection,
    parts: Sequence[Part],
    frame: Frame,
    entry: Entry | None,
    *,
    edits: bool,
) -> None:
    """The whole column of a selection."""
    theme, sketch = page.theme, page.sketch
    count = f"{selection.count:,} weights"
    head(page, selection.words, "" if count == selection.words else count)
    draw_crumbs(page, parts, selection.kind)
    columns = _columns(selection, frame)
    page.y += 20
    step = (page.width - 56.0) / 3
    for k, (name, _, older) in enumerate(columns):
        note = f"{name}, {BEFORE}" if older and len(columns) == 1 else name
        sketch.text(page.x + 56 + (k + 1) * step, page.y, note, LABEL, theme.text3, anchor="right")
    for row, word in enumerate(_ROWS):
        y = page.y + 21.0 * (row + 1)
        sketch.text(page.x, y, word, LABEL, theme.text3)
        for k, (_, numbers, older) in enumerate(columns):
            colour = theme.text3 if older else theme.text1
            sketch.text(page.x + 56 + (k + 1) * step, y, figure(numbers[row]), LABEL, colour, anchor="right")
    page.y += 21.0 * 3 + 22
    frozen = int(selection.of(frame.frozen).sum())
    said = f"{frozen:,} of {selection.count:,} frozen" if 0 < frozen < selection.count else ""
    said = "all frozen" if frozen == selection.count else said
    sketch.text(page.x, page.y, said or "none frozen", LABEL, theme.text3)
    if entry is not None:
        entry.draw(sketch, (page.right - 140, page.y - 16, 140, 22), theme)
    page.y += 14
    if edits:
        page.buttons([("free" if frozen == selection.count else "freeze", "K", "freeze"), *BUTTONS])


def draw_several_small(box: Box, theme: Theme, selection: Selection, frame: Frame, entry: Entry | None) -> Sketch:
    """The same below the cubes: a line each for values and gradients."""
    sketch = Sketch()
    x, y, width, height = box
    sketch.rect(*box, radius=6, fill=theme.panel, stroke=theme.border)
    count = f"{selection.count:,} weights"
    pad = 16.0 if width >= 300 else 10.0
    who = Identity(selection.words, "" if count == selection.words else count)
    draw_heading(sketch, x + pad, y + 26, x + width - pad, who, theme)
    for k, (name, numbers, older) in enumerate(_columns(selection, frame)[: 3 if height >= HIGH else 2]):
        parts = [f"{word} {figure(n)}" for word, n in zip(_ROWS, numbers, strict=True)]
        ways = ("   ".join([f"{name}:", *parts]), "   ".join([f"{name}:", parts[0], parts[2]]), f"{name}: {parts[0]}")
        text = next((way for way in ways if measure(way, LABEL) <= width - 2 * pad), "")
        sketch.text(x + pad, y + 48 + 20 * k, text, LABEL, theme.text3 if older else theme.text1)
    if entry is not None:
        entry.draw(sketch, (x + width - 156, y + 8, 140, 22), theme)
    return sketch
