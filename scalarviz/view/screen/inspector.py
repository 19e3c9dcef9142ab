"""`Inspector`: the selected weights and their numbers, as a column beside the cubes or a low panel below them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ...run.core.frame import Frame
from ...run.opened.digits import Printed, factor, factors, signed, significant
from ...run.opened.equations import DIGITS
from ...run.opened.opened import Along
from ...run.opened.rule import PLAIN
from ...run.opened.why import TermRow
from ...run.source import Abilities
from ...run.travel import WeightRecord
from ..ink.axes import Axes, Scale
from ..ink.boxes import LABEL, TITLE
from ..ink.sketch import COVERS, Box, Cached, Click, Sketch
from ..ink.text import CAP_HEIGHT, figure, loss_text, measure, short
from ..ink.theme import Theme
from ..ink.widgets import Entry, button, wrapped
from ..panels.drawer import batch_of, coming_words, loss_words, update_names
from ..shown.names import Selection, parts_of, tensor_of, who
from ..shown.subject import Subject
from .account import Account, Explanation, Lines, Seen, ledger_of

# ---- The sections of the inspector, drawn from top to bottom; each clickable place keeps its meaning.


@dataclass(slots=True, eq=False)
class InspectorColumn:
    """A column (logical pixels) and what has been drawn so far."""

    x: float
    y: float  # top of the next section
    width: float
    theme: Theme
    hovered_click: Click | None = None  # the click that the pointer would make; its place is highlighted
    sketch: Sketch = field(default_factory=Sketch)

    @property
    def right(self) -> float:
        """The right edge."""
        return self.x + self.width

    def spot(self, box: Box, name: str, value: str | int = "") -> bool:
        """Make `box` clickable; return whether the pointer is there."""
        self.sketch.spot(box, name, value)
        return self.hovered_click == (name, value)

    def rule(self, gap: float = 12.0) -> None:
        """Draw a thin line in the middle of `gap` between two sections."""
        y = round(self.y + gap / 2)
        self.sketch.line((self.x, y), (self.right, y), self.theme.border, 1.0)
        self.y += gap

    def head(self, name: str, note: str) -> None:
        """Draw the name of the selection in one line, or in two if it is too long."""
        self.y += 17
        size = TITLE if measure(name, TITLE, True) <= self.width else LABEL
        self.sketch.text(self.x, self.y, name, size, self.theme.text1, bold=True)
        if note and measure(note, LABEL) > self.width - measure(name, TITLE, True) - 12:
            self.y += 18
            self.sketch.text(self.x, self.y, note, LABEL, self.theme.text2)
        elif note:
            self.sketch.text(self.right, self.y, note, LABEL, self.theme.text2, anchor="right")
        self.y += 6

    def title(self, x: float, baseline: float, width: float, title: str, note: str) -> None:
        """Draw a bold title, and a note at the right if it fits."""
        self.sketch.text(x, baseline, title, LABEL, self.theme.text1, bold=True)
        if measure(title, LABEL, True) + 8 + measure(note, LABEL) <= width:
            self.sketch.text(x + width, baseline, note, LABEL, self.theme.text3, anchor="right")

    def heading(self, title: str, note: str = "") -> None:
        """Draw the title of a section."""
        self.title(self.x, self.y + 16, self.width, title, note)
        self.y += 22

    def line(self, text: str, drop: float = 13.0, colour: str = "") -> None:
        """Draw a line of text `drop` below the current position."""
        self.sketch.text(self.x, self.y + drop, text, LABEL, colour or self.theme.text2)
        self.y += 18

    def buttons(self, labels: list[tuple[str, str, str]]) -> None:
        """Draw buttons side by side: label, key, and the action of a click."""
        gap, high = 6.0, 24.0
        wide = [measure(label, LABEL) + measure(key, LABEL, True) + 6 for label, key, _ in labels]
        air = (self.width - gap * (len(labels) - 1) - sum(wide)) / len(labels)
        if air < 6:  # without the keys, which the list of keys shows
            labels = [(label, "", name) for label, _, name in labels]
            wide = [measure(label, LABEL) for label, _, _ in labels]
            air = max(4.0, (self.width - gap * (len(labels) - 1) - sum(wide)) / len(labels))
        air, x = min(air, 24.0), self.x
        for (label, key, name), own in zip(labels, wide, strict=True):
            box = (x, self.y, own + air, high)
            button(self.sketch, box, self.theme, label, key, lit=self.spot(box, name), bold=False)
            x += own + air + gap
        self.y += high


# ---- The parts around a weight: network, layer, tensor, neuron, row, column, weight. A click selects one.

CRUMBS = 20.0
_SHORTER = (("row", "row"), ("column", "column"), ("neuron", "neuron"), ("weight", "one"), ("network", "all"),
            ("layer", "layer"))  # fmt: skip
_BETWEEN = {"neuron": " › ", "row": " · ", "column": " · "}


def draw_crumbs(page: InspectorColumn, parts: Sequence[Selection], selected: str) -> None:
    """Draw the parts in one line; if it is too long, parts lose their numbers, then the first ones are left out.

    The name of a selected single weight is already above.
    """
    parts = [part for part in parts if part.kind != "weight" or selected != "weight"]
    if not parts:
        return
    names = [part.short for part in parts]
    for kind, shorter in _SHORTER:
        if _width(parts, names) <= page.width:
            break
        names = [shorter if p.kind == kind else n for p, n in zip(parts, names, strict=True)]
    first = 0
    while first < len(parts) - 1 and _width(parts[first:], names[first:]) > page.width:
        first += 1
    x, base = page.x, page.y + 14
    for number, (part, name) in enumerate(zip(parts[first:], names[first:], strict=True)):
        if number:
            between = _BETWEEN.get(part.kind, " › ")
            x = page.sketch.text(x, base, between, LABEL, page.theme.flow)
        chosen = part.kind == selected
        wide = measure(name, LABEL, chosen)
        over = page.spot((x - 2, page.y, wide + 4, CRUMBS), "part", part.kind)
        colour = page.theme.text1 if chosen or over else page.theme.text3
        page.sketch.text(x, base, name, LABEL, colour, bold=chosen)
        if over:
            page.sketch.line((x, base + 3), (x + wide, base + 3), page.theme.text1, 1.0)
        x += wide
    page.y += CRUMBS


def _width(parts: Sequence[Selection], names: Sequence[str]) -> float:
    signs = sum(measure(_BETWEEN.get(part.kind, " › "), LABEL) for part in parts[1:])
    return sum(measure(name, LABEL, True) for name in names) + signs


# ---- The numbers of one weight in columns: value, gradient, last update, optimiser state.


def draw_figures(
    page: InspectorColumn, width: float, below: float, frame: Frame, subject: Subject, index: int, entry: Entry | None,
    account: Account | None = None, *, ratio: bool = False,
) -> None:  # fmt: skip
    """Draw value, gradient and last update of the weight `index` in columns, each number `below` its word.

    An `entry` replaces the value. With an `account` the gradient is that of the next step. `ratio` adds a column with
    update / value.
    """
    x, y, sketch, theme = page.x, page.y, page.sketch, page.theme
    first, step = (0.22 * width, 0.295 * width) if ratio else (min(width / 3, 98.0),) * 2
    shown = _columns(frame, subject, index, step, account)
    wide = max(measure(shown[0][1], TITLE), 44.0)
    if entry is not None:
        wide = max(min(step * 2, width) - 4, entry.width)
        shown = [shown[0], *shown[3:]]
    box = (x - 5, y + below - 16, wide + 10, 22)
    page.spot(box, "type")
    if entry is not None:
        entry.draw(sketch, box, theme)
    for k, (words, value, older, size) in enumerate(shown):
        word = next((w for w in words if measure(w, LABEL) <= step - 4), words[0] if k == 0 else "")
        if word:
            colour = theme.text3 if older or size == LABEL else theme.text1
            left = x + (first + (k - 1) * step if k else 0.0)
            sketch.text(left, y, word, LABEL, theme.text3)
            if k or entry is None:
                sketch.text(left, y + below, value, size, colour)
    share = _ratio(frame, index) if ratio else ""
    if share:
        sketch.text(x + width, y, "of value", LABEL, theme.text3, anchor="right")
        sketch.text(x + width, y + below, share, TITLE, theme.text3 if frame.edited else theme.text1, anchor="right")


def _ratio(frame: Frame, index: int) -> str:
    """Return the last update as a percentage of the value; '' if there was none."""
    value, update = float(frame.values[index]), float(frame.update[index])
    if not frame.known("update")[index] or frame.frozen[index] or not value or not np.isfinite(update / value):
        return ""
    share = 100 * abs(update / value)
    return f"{share:.2g} %" if share < 100 else f"{share:,.0f} %"


def _columns(
    frame: Frame, subject: Subject, index: int, step: float, account: Account | None
) -> list[tuple[tuple[str, ...], str, bool, int]]:
    """Return words (longest first), number, whether it is older than the value, and type size of each column."""
    coming = None if account is None or account.follows else account.update.gradient
    computed = coming is not None or bool(frame.computed[index])
    gradient = float(frame.gradient[index]) if coming is None else coming
    batch = batch_of(subject)
    mean = batch is not None and batch.count > 1 and batch.kind == "mean"
    names: tuple[str, ...] = ("mean gradient", "gradient") if mean else ("gradient",)
    if coming is not None:
        names = "next gradient", "next"
    size = TITLE if computed else LABEL
    found: list[tuple[tuple[str, ...], str, bool, int]] = []
    found.append((("value",), figure(float(frame.values[index])), False, TITLE))
    moved = bool(frame.known("update")[index])
    if subject.source.facts is None and not (frame.computed.any() or moved):
        return found
    words = "none" if tensor_of(subject, index).buffer else "not computed yet"
    words = "not recorded" if subject.source.lacks("gradient") else words
    missing = words if step * 2 > measure(words, LABEL) + 8 else "\N{EN DASH}"
    if computed or subject.source.facts is not None or frame.computed.any():
        found.append((names, figure(gradient) if computed else missing, frame.edited and coming is None, size))
    if frame.frozen[index]:
        found.append((("last update",), "frozen", False, size))
    elif moved or (tensor_of(subject, index).buffer and frame.computed.any()):
        found.append((update_names(frame), figure(float(frame.update[index])), frame.edited, size))
    return found


# ---- The terms of the gradient: each row has a sample, its factors, a bar and the product.

ROW = 20.0
_DELTA, _BAR, _BAR_WIDE = 180.0, 190.0, 46.0  # right edge of "δ × x", left edge and width of the bars


def draw_ledger(page: InspectorColumn, account: Account, subject: Subject, listed: int) -> None:
    """Draw the section with `listed` terms."""
    reason = account.why
    listed = min(listed, len(reason.rows))
    book, theme, sketch = ledger_of(reason, listed), page.theme, page.sketch
    what = "δ" if all(row.x == 1.0 for row in reason.rows) else "δ × x"
    title = f"{listed} largest of {reason.count:,} terms" if reason.count > listed else f"{reason.count:,} terms"
    if reason.count == 1:
        title = "one term"
    page.heading(f"step {reason.step:,}: {title}", what + (f", in {book.unit}" if book.unit else ""))
    sizes = [abs(row.product) for row in reason.rows if math.isfinite(row.product)]
    most = max(sizes, default=0.0) or 1.0
    for row, shown in zip(reason.rows, book.terms, strict=False):
        _row(page, row, account.samples.get(row.sample), shown, book.power, most, subject)
    if book.rest is not None:
        _sum_row(page, f"{reason.count - listed:,} more", signed(book.rest.text), theme.text3)
    line = round(page.y + 3)
    sketch.line((page.x + _BAR, line), (page.right, line), theme.flow, 1.0)
    page.y += 4
    left, equal = "sum", "=" if book.exact else "≈"
    if reason.divisor != 1:
        unit = f"  (in {book.unit})" if book.unit else ""
        _sum_row(page, f"sum{unit}", signed(book.total.text), theme.text2)
        left = f"÷ {reason.divisor:,.10g}"
    _sum_row(page, f"{left} {equal} gradient", signed(book.gradient.text), theme.pulse, bold=True)
    page.y += 4


def _row(
    page: InspectorColumn, term: TermRow, seen: Seen | None, shown: Printed, power: int, most: float, subject: Subject
) -> None:
    sketch, theme = page.sketch, page.theme
    top, base = page.y, page.y + 15
    known, place = seen is not None, (page.x, top, page.width, ROW)
    if known and page.spot(place, "sample", term.sample):
        sketch.rect(page.x - 4, top + 0.5, page.width + 8, ROW - 1, radius=4, fill=theme.tray, stroke=theme.border)
    draw_sample(page, (page.x, top + 2), term.sample, seen, subject)
    delta, x = factors(term.delta, term.x, shown, power)
    line = delta if term.x == 1.0 else f"{delta} × {x}"
    if measure(line, LABEL) > _DELTA - SAMPLE - 4 and term.x != 1.0:
        line = f"{signed(significant(term.delta * 10.0**-power, 3).text)} × {factor(significant(term.x, 3).text)}"
    sketch.text(page.x + _DELTA, base, line, LABEL, theme.text2, anchor="right")
    if math.isfinite(term.product):
        wide = max(1.0, _BAR_WIDE * min(abs(term.product) / most, 1.0))
        colour = theme.gradient[3] if term.product >= 0 else theme.gradient[1]
        sketch.rect(page.x + _BAR, top + 4, wide, 12, radius=2, fill=colour)
    sketch.text(page.right, base, signed(shown.text), LABEL, theme.text1, anchor="right")
    page.y += ROW


def _sum_row(page: InspectorColumn, words: str, text: str, colour: str, *, bold: bool = False) -> None:
    page.sketch.text(page.x, page.y + 15, words, LABEL, page.theme.text2)
    page.sketch.text(page.right, page.y + 15, text, LABEL, colour, bold=bold, anchor="right")
    page.y += ROW


# ---- A sample in a row: its colour and the network's output, its small picture, or its number.

SAMPLE = 68.0
"""Logical pixels of its width."""
_WIDE, _HIGH, _NEXT = 24.0, 14.0, 40.0


def draw_sample(
    page: InspectorColumn, at: tuple[float, float], number: int, seen: Seen | None, subject: Subject
) -> None:
    """Draw sample `number`, 16 pixels high, with its upper left corner `at`."""
    x, y = at
    sketch, theme = page.sketch, page.theme
    inputs, outputs = (None, None) if seen is None else seen
    if inputs is not None and subject.sample.colours and len(inputs) == 3:
        sketch.rect(x, y + 1, _WIDE, _HIGH, radius=3, fill=_colour(inputs), stroke=theme.border)
        if outputs is not None and len(outputs) == 3:
            sketch.arrow((x + _WIDE + 3, y + 8), (x + _NEXT - 3, y + 8), theme.flow, 1.2, head=5.0)
            sketch.rect(x + _NEXT, y + 1, _WIDE, _HIGH, radius=3, fill=_colour(outputs), stroke=theme.border)
        return
    side = 0 if inputs is None else math.isqrt(len(inputs))
    if inputs is not None and subject.sample.sheet and side * side == len(inputs) and side > 1:
        numbers = np.ascontiguousarray(inputs, np.float64).tobytes()
        sketch.image((x, y - 1, 18, 18), _picture(numbers, side, theme.name))
        x += 24
    name = "all" if number < 0 else f"{number:,}"
    sketch.text(x, y + 8 + CAP_HEIGHT * LABEL / 2, name, LABEL, theme.text3)


def _colour(numbers: NDArray[np.floating]) -> NDArray[np.float64]:
    return np.clip(np.nan_to_num(np.asarray(numbers, np.float64)), 0.0, 1.0)


@lru_cache(maxsize=64)
def _picture(numbers: bytes, side: int, theme: str) -> NDArray[np.uint8]:
    """Return an image of ink 0..1 on the theme's ground; equal numbers give the same array, uploaded once."""
    shade = np.clip(np.nan_to_num(np.frombuffer(numbers).reshape(side, side)), 0.0, 1.0)
    grey = np.round(255 * (shade if theme == "dark" else 1.0 - shade)).astype(np.uint8)
    return np.repeat(grey[:, :, None], 3, axis=2)


# ---- The optimiser's rule with the numbers of one weight.


def draw_rule(page: InspectorColumn, account: Account, *, formulas: bool = True) -> None:
    """Draw the optimiser's name, each line of its rule with numbers, and the float16 result."""
    if account.follows:
        page.heading(f"step {account.step + 1:,}", "not trained")
        page.line(f"becomes {figure(account.update.after)}, from the batch")
        return
    if not account.update.lines:
        page.heading(account.optimizer)
        page.line("frozen: no update" if account.frozen else "no update")
    elif account.descent:
        page.heading(account.optimizer, f"{PLAIN} = w'")
        text = account.descent
        body, sign, result = text.rpartition("=" if "=" in text else "≈")
        size, x, y = TITLE if measure(text, TITLE) <= page.width else LABEL, page.x, page.y + 17
        x = page.sketch.text(x, y, f"{body}{sign} ", size, page.theme.text2)
        page.sketch.text(x, y, result.strip(), size, page.theme.text1, bold=True)
        page.y += 24
    else:
        page.heading(account.optimizer, "this weight's numbers")
        for line in account.update.lines:
            letters, numbers = f"{line.name} = {line.formula}", line.equation(DIGITS).replace("e−0", "e−")
            said = [(letters, page.theme.text3)] if formulas else []
            for text, colour in (*said, (numbers if said else f"{line.name} = {numbers}", page.theme.text1)):
                for number, row in enumerate(wrapped(text, page.width - 12.0)):
                    page.line("   " * (number > 0) + row, colour=colour)
        page.y += 4
    if account.rounded:
        page.line(account.rounded)


# ---- Two small plots: how a weight moved, and the loss for other values of it.


DASH = 6.0, 4.0
"""Dash and gap of the second curve, in logical pixels."""


@dataclass(frozen=True, slots=True, eq=False)
class Moved:
    """The past values of a weight, and its current one."""

    steps: NDArray[np.floating]
    values: NDArray[np.floating]
    step: float
    value: float

    @property
    def since(self) -> str:
        """The first step, in words."""
        return f"since step {int(self.steps[0]):,}" if len(self.steps) else ""


def draw_plots(
    page: InspectorColumn, moved: Moved, along: Along | None, height: float, *, opened: bool, of: tuple[str, str]
) -> None:
    """Draw the past values; if the next step is `opened`, also the loss for other values."""
    wide = (page.width - 16.0) / 2 if opened else page.width
    if moved.since:
        page.title(page.x, page.y + 14, wide, "value", moved.since)
    draw_moved(page, (page.x, page.y + 26, wide, height - 36), moved)
    if opened:
        _draw_along(page, (page.x + wide + 16.0, page.y, wide, height), along, of)
    page.y += height


def axes_of(box: Box, across: NDArray[np.floating], up: NDArray[np.floating]) -> Axes:
    """Return axes without numbers that contain all points."""
    low, high = float(up.min()), float(up.max())
    middle, span = (low + high) / 2, max(high - low, 1e-3 * max(abs(low), abs(high)), 1e-12)
    left, right = float(across.min()), float(across.max())
    return Axes(box, Scale(left, right if right > left else left + 1.0), Scale(middle - span / 2, middle + span / 2))


def draw_moved(page: InspectorColumn, box: Box, *ways: Moved) -> None:
    """Draw the value by step with its range at the right and its current point; a second curve is dashed."""
    sketch, theme = page.sketch, page.theme
    steps, values = (np.concatenate([getattr(way, name) for way in ways]) for name in ("steps", "values"))
    known = np.isfinite(values)
    if not known.any():
        return
    low, high = short(float(values[known].min())), short(float(values[known].max()))
    x, y, width, height = box
    margin = max(measure(low, LABEL), measure(high, LABEL)) + 6
    axes = axes_of((x, y, width - margin - 4, height), steps[known], values[known])
    left, top, wide, tall = axes.box
    for text, level in ((high, top), (low, top + tall)):
        sketch.line((x, level), (x + width - margin, level), theme.grid, 1.0)
        if low != high or level == top:
            sketch.text(x + width, level + 4, text, LABEL, theme.text3, anchor="right")
    for way, (colour, dash) in zip(ways, ((theme.text1, None), (theme.text2, DASH)), strict=False):
        known = np.isfinite(way.values)
        steps, path = way.steps[known], axes.points(way.steps[known], way.values[known])
        before = steps <= way.step
        if len(path) > 1 and len(ways) == 1:
            page.spot((left, top - 4, wide, tall + 8), "moment", f"{steps[0]:.0f} {steps[-1]:.0f}")
        if (~before).any() and before.any():  # later steps of this branch
            sketch.polyline(path[np.count_nonzero(before) - 1 :], theme.flow, 1.6)
        if before.sum() > 1:
            sketch.polyline(path[before], colour, 2.0, dash=dash)
        if np.isfinite(way.value) and len(path):
            at = axes.point(way.step, way.value)
            if (~before).any():
                sketch.line((at[0], top - 6), (at[0], top + tall + 8), theme.text2, 1.0)
            sketch.disc(*at, 4.0, theme.text1)


def _draw_along(page: InspectorColumn, box: Box, along: Along | None, of: tuple[str, str]) -> None:
    """Draw the loss of the next batch by this weight alone; the gradient is the slope of the violet line.

    `of` holds the samples of this loss, if they differ from those of the loss shown elsewhere; and the samples of that
    one. Weights are below the axis, the loss at the current weight is above.
    """
    sketch, theme, (x, y, width, height) = page.sketch, page.theme, box
    said = "" if along is None else f"loss {loss_text(along.loss)}"
    words, room = of[0] or of[1], along is not None and height > 80.0
    room = room and 0 < measure(words, LABEL) <= width
    said = said if room or not of[0] else words  # a loss of other samples is never shown without naming them
    fits = measure("what if", LABEL, True) + 8 + measure(said, LABEL) <= width
    page.title(x, y + 14, width, "what if", said if fits else "loss")
    if room:
        sketch.text(x + width, y + 31, words, LABEL, theme.text3, anchor="right")
        y, height = y + 15.0, height - 15.0
    known = () if along is None else np.flatnonzero(np.isfinite(along.losses))
    if along is None or len(known) < 2:
        sketch.text(x, y + 34, "pause to see it" if along is None else "not finite", LABEL, theme.text3)
        return
    values, losses = along.weights[known], along.losses[known]
    axes = axes_of((x + 2, y + 24, width - 4, height - 42), values, np.append(losses, along.loss))
    base = axes.box[1] + axes.box[3]
    sketch.line((x, base), (x + width, base), theme.grid, 1.0)
    low, high = short(axes.across.low, signed=True), short(axes.across.high, signed=True)
    sketch.text(x, y + height - 3, low, LABEL, theme.text3)
    sketch.text(x + width, y + height - 3, high, LABEL, theme.text3, anchor="right")
    sketch.polyline(axes.points(values, losses), theme.text1, 2.0)
    if np.isfinite([along.value, along.loss, along.slope]).all():
        reach = 0.3 * (axes.across.high - axes.across.low)
        if along.slope:
            reach = min(reach, 0.4 * (axes.up.high - axes.up.low) / abs(along.slope))
        ends = axes.slope(along.value, along.loss, along.slope, reach)
        sketch.lines(ends[:1], ends[1:], theme.pulse, 1.6)
        sketch.disc(*axes.point(along.value, along.loss), 4.0, theme.pulse)
        text = short(along.value, signed=True)
        if measure(low, LABEL) + measure(text, LABEL) + measure(high, LABEL) + 16 <= width:
            sketch.text(x + width / 2, y + height - 3, text, LABEL, theme.text2, anchor="middle")


POINTS = 400
"""Most values kept of one weight."""


class ValueHistory:
    """Values of one weight since its selection, thinned to a fixed length."""

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.values: list[float] = []
        self._every = 1

    def add(self, step: int, value: float) -> None:
        """Add the value after `step`; the same step replaces a value, an earlier step cuts later ones."""
        while self.steps and self.steps[-1] > step:
            self.steps.pop()
            self.values.pop()
        if len(self.steps) > 1 and (step == self.steps[-1] or step - self.steps[-2] < self._every):
            self.steps[-1], self.values[-1] = step, value  # the last point is the current step
        elif not self.steps or self.steps[-1] != step or self.values[-1] != value:
            self.steps.append(step)
            self.values.append(value)
        if len(self.steps) > POINTS:
            self.steps, self.values = self.steps[:-1:2] + self.steps[-1:], self.values[:-1:2] + self.values[-1:]
            self._every = max(self._every * 2, (self.steps[-1] - self.steps[0]) // POINTS)


RecordKey = tuple[int, int, int]
"""Identifies a past: branch, newest step, number of edits."""


def record_key(frame: Frame) -> RecordKey | None:
    """Return the key of a frame's past; None if no past is kept."""
    past = frame.past
    if past is None:
        return None
    branch = next((branch.number for branch in past.branches if branch.current), 0)
    return branch, past.newest, len(past.edits)


# ---- The panel of one weight or of several, as a column or low.

WIDE, HIGH, LOW = 524.0, 106.0, 84.0
"""Logical pixels of the low panel: width, and heights with and without explaining lines."""
_LOOSE, _TIGHT = (26.0, 24.0, 21.0, 23.0, 20.0), (21.0, 19.0, 19.0, 20.0, 17.0)
"""Baselines: heading; then distances to the words, the numbers, the first line, the next. Two lines are tight."""
_CURVE_FROM = 440.0
_SEVERAL = 212.0  # height of the column for several weights
_SUMS = ("mean", "largest", "norm")
_BUTTONS = (("zero", "X", "zero"), ("× ½", "/", "halve"), ("× 2", "*", "double"), ("re-init", "I", "redraw"))
_GAP = 12.0
_UNDER_TEXT = 18.0  # between a line of text, with its descenders, and the plots


@dataclass(frozen=True, slots=True)
class _Plan:
    """The amount to draw: number of terms, height of plots, formulas with numbers, optimiser state, rule."""

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
"""From most to least content."""


class Inspector:
    """The panel of one selected weight, or of several.

    Others set `account` (why the weight will move, as far as known), `record` (how it moved, and in which past), and
    `entry` (a number being typed).
    """

    def __init__(self, subject: Subject, selection: Selection | int) -> None:
        self.parts = parts_of(subject, selection if isinstance(selection, int) else selection.main)
        self.selection = self.parts[-1] if isinstance(selection, int) else selection
        self.index, self.single = self.selection.main, self.selection.single
        self.who = who(subject, self.index)
        self.account: Account | None = None
        self.of_now = True  # whether the account is of the moment shown
        self.record: tuple[RecordKey, WeightRecord] | None = None
        self.entry: Entry | None = None
        self._subject = subject
        self._explanation = Explanation(subject, self.index, tensor_of(subject, self.index))
        self._history = ValueHistory()
        self._plan, self._planned = 0, Cached[int]()
        self.box: Box | None = None  # where it is drawn

    def follow(self, frame: Frame) -> None:
        """Store the value of a frame, unless the numbers never change, as those of a file."""
        if self._subject.source.can != Abilities():
            self._history.add(frame.step, float(frame.values[self.index]))

    def explanation(self, frame: Frame) -> Lines:
        """Return where the gradient comes from and what the last step did with it; () for several weights."""
        return self._explanation.lines(frame) if self.single else ()

    @property
    def wanted_height(self) -> float:
        """The height in the column that it would fill (logical pixels)."""
        if not self.single:
            return _SEVERAL
        return 4000.0 if self._subject.source.can.open else 290.0

    def moved(self, frame: Frame) -> Moved:
        """Return all recorded values of this past, and those seen since."""
        history = self._history
        steps, values = np.array(history.steps, np.float64), np.array(history.values, np.float64)
        if self.record is not None:
            key, record = self.record
            if key == record_key(frame):  # it has one value a step; the one before edits of its first step was seen
                first = steps == record.steps[0]
                steps, values = np.append(steps[first], record.steps), np.append(values[first], record.values)
            else:  # the run went on since, perhaps on another branch
                whole = slice(0, int(np.searchsorted(record.steps, steps[0]))) if len(steps) else slice(None)
                steps, values = np.append(record.steps[whole], steps), np.append(record.values[whole], values)
        return Moved(steps, values, frame.step, float(frame.values[self.index]))

    def sketch(
        self, box: Box, theme: Theme, frame: Frame, explanation: Lines = (), over: Click | None = None,
        *, low: bool = False, opened: bool = False,
    ) -> Sketch:  # fmt: skip
        """Draw the panel in `box`, as a column or `low`; `opened` says that it gets accounts of the next step."""
        x, y, width, height = box
        air = 0.0 if not low else 16.0 if width >= 300 else 10.0
        page = InspectorColumn(x + air, y, width - 2 * air, theme, over)
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
        """Return rows of buttons: edits, and journeys in time."""
        if not self._subject.source.can.edit:
            return []
        frozen = bool(self.selection.numbers_of(frame.frozen).all())
        rows = [[("free" if frozen else "freeze", "K", "freeze"), *_BUTTONS]]
        if opened and frame.past is not None:
            rows.append([("last change of sign", "V", "find_sign"), ("stop when ...", "F9", "break_on")])
        return rows

    # ---- one weight

    def _draw(self, page: InspectorColumn, frame: Frame, explanation: Lines, bottom: float, *, opened: bool) -> None:
        """Draw as much as there is room for."""
        page.head(self.who.name, self.who.code_words)
        draw_crumbs(page, self.parts, self.selection.kind)
        page.y += 20
        now = self.account if self.of_now else None
        draw_figures(page, page.width, 21.0, frame, self._subject, self.index, self.entry, now, ratio=opened)
        page.y += 29
        rows = self._buttons(frame, opened=opened)
        lines = tuple(row for ways in explanation for row in wrapped(ways[0], page.width))
        end = bottom - 32.0 * len(rows)

        def fits(plan: _Plan) -> bool:
            tried = InspectorColumn(page.x, page.y, page.width, page.theme)
            self._draw_parts(tried, frame, lines, plan)
            return tried.y + (8.0 if plan.plots else 0.0) <= end

        def first(at: int) -> int:
            """Return the first plan that fits, searching from the last one used."""
            while at and fits(_PLANS[at - 1]):
                at -= 1
            while at < len(_PLANS) - 1 and not fits(_PLANS[at]):
                at += 1
            return at

        known = self.account, self.of_now, lines, page.width, end - page.y
        self._plan = self._planned.get(known, lambda: first(self._plan))
        self._draw_parts(page, frame, lines, _PLANS[self._plan])
        for row in rows:
            page.y += 8
            if page.y + 24.0 <= bottom:
                page.buttons(row)

    def _draw_parts(self, page: InspectorColumn, frame: Frame, lines: Sequence[str], plan: _Plan) -> None:
        """Draw what is below the numbers, as much as the plan allows."""
        account = self.account if self.of_now else None
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
            draw_plots(page, self.moved(frame), along, plan.plots, opened=account is not None,
                       of=(coming_words(self._subject, frame), loss_words(self._subject, frame)))  # fmt: skip

    def _draw_low(self, page: InspectorColumn, frame: Frame, explanation: Lines, box: Box) -> None:
        """Draw the low panel; what does not fit is left out."""
        (x, y, width, height), moved, theme = box, self.moved(frame), page.theme
        curve = width >= _CURVE_FROM and height >= LOW
        title = f"value {moved.since}" if curve and moved.since else ""
        first, words, numbers, below, line = _TIGHT if len(explanation) > 1 and height >= HIGH else _LOOSE
        page.sketch.text(page.right, y + first, title, LABEL, theme.text3, anchor="right")
        draw_heading(page, y + first, page.right - measure(title, LABEL) - 12, self.who.name, self.who.code_words)
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

    # ---- several weights: their number, and sums of values and gradients

    def _sums(self, frame: Frame) -> list[tuple[str, tuple[float, float, float], bool]]:
        """Return each quantity: name, three numbers, and whether they are older than the values."""
        of = self.selection.numbers_of
        found = [("value", summary(of(frame.values)), False)]
        if of(frame.computed).any():
            found.append(("gradient", summary(of(frame.gradient)), frame.edited))
        if of(frame.known("update")).any():
            found.append((update_names(frame)[-1], summary(of(frame.update)), frame.edited))
        return found

    @property
    def _count(self) -> str:
        """The number of weights, unless their name says it."""
        count = f"{self.selection.count:,} weights"
        return "" if count == self.selection.words else count

    def _draw_several(self, page: InspectorColumn, frame: Frame) -> None:
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
        frozen = int(selection.numbers_of(frame.frozen).sum())
        said = f"{frozen:,} of {selection.count:,} frozen" if frozen else "none frozen"
        sketch.text(page.x, page.y, "all frozen" if frozen == selection.count else said, LABEL, theme.text3)
        if self.entry is not None:
            self.entry.draw(sketch, (page.right - 140, page.y - 16, 140, 22), theme)
        page.y += 14
        for row_of in self._buttons(frame):
            page.buttons(row_of)

    def _draw_several_low(self, page: InspectorColumn, frame: Frame, _: Lines, box: Box) -> None:
        """Draw a line each for values and gradients."""
        draw_heading(page, page.y + 26, page.right, self.selection.words, self._count)
        page.y += 48
        for name, numbers, older in self._sums(frame)[: 3 if box[3] >= HIGH else 2]:
            head, parts = f"{name}:", [f"{word} {figure(n)}" for word, n in zip(_SUMS, numbers, strict=True)]
            ways = "   ".join([head, *parts]), "   ".join([head, *parts[::2]]), f"{head} {parts[0]}"
            _fitting(page, ways, page.theme.text3 if older else page.theme.text1)
            page.y += 20
        if self.entry is not None:
            self.entry.draw(page.sketch, (box[0] + box[2] - 156, box[1] + 8, 140, 22), page.theme)


def draw_heading(page: InspectorColumn, y: float, right: float, name: str, meaning: str) -> None:
    """Draw name and meaning on one line, as far as they fit."""
    x = page.x + measure(name, TITLE, True)
    if x <= right:
        page.sketch.text(page.x, y, name, TITLE, page.theme.text1, bold=True)
        if x + 15 + measure(meaning, LABEL) <= right:
            page.sketch.text(x + 15, y, meaning, LABEL, page.theme.text2)


def _fitting(page: InspectorColumn, ways: tuple[str, ...], colour: str) -> None:
    """Draw the longest version that is no wider than the page."""
    text = next((way for way in ways if measure(way, LABEL) <= page.width), "")
    page.sketch.text(page.x, page.y, text, LABEL, colour)


def summary(numbers: NDArray[np.floating]) -> tuple[float, float, float]:
    """Return mean, largest by magnitude (signed) and Euclidean norm, computed in float64."""
    exact = np.asarray(numbers, np.float64)
    with np.errstate(all="ignore"):
        top = exact[int(np.argmax(np.where(np.isnan(exact), np.inf, np.abs(exact))))]
        return float(exact.mean()), float(top), float(np.sqrt((exact * exact).sum()))
