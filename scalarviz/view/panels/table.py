"""Numbers in rows and in bars: a table of words, one of the layers, and a histogram."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...run.core.frame import Frame
from ...run.core.graph import FLAT
from ...run.opened.digits import MINUS
from ...run.panels import Histogram, SampleRows, Table, as_rows
from ...run.panels.base import NUMBERS
from ...run.questions.diagnosis import LayerRow, layer_rows
from ...run.questions.ranges import extent
from ...run.source import Moment
from ..ink.axes import Axes, Scale
from ..ink.boxes import LABEL, TITLE, Places
from ..ink.sketch import Box, Point, Sketch
from ..ink.text import loss_text, measure, short
from ..ink.theme import Theme
from ..ink.widgets import wrapped
from ..shown.names import Names
from ..shown.subject import Subject
from .drawer import Drawer, SharedState, Slot, cut, gradient_words, title_of
from .image import TITLE as ABOVE
from .image import MadeDrawer

LINE = 19.0
_GAP = 14.0
_USUAL = f"{MINUS}0.0000"  # a number of a sample, by its width
KEPT = 3
"""Columns that stay, cut if necessary; of more, the last ones are left out where all have no room."""


class TableDrawer(MadeDrawer[Table, list[tuple[str, ...]]]):
    """Columns as wide as their words; the last line counts the rows that do not fit.

    Numbers of samples have equal columns at every moment. They are the last texts: a page writes others there.
    """

    name = "table"
    worth = 2
    beside = (132.0, 84.0)

    def __init__(self, panel: Table, shared: SharedState) -> None:
        super().__init__(panel, shared)
        rows, self._cells = panel.rows, (0, 0)
        lines = panel.lines if callable(rows) else len(rows.words if isinstance(rows, SampleRows) else rows)
        self.height = ABOVE + LINE * (min(lines, 12) + bool(panel.heads)) + 4

    def _show(self, made: list[tuple[str, ...]], room: Box) -> Sketch:
        sketch, theme, (x, y, width, height) = Sketch(), self.shared.theme, room
        heads, numbers = ((self.panel.heads,) if self.panel.heads else ()), isinstance(self.panel.rows, SampleRows)
        if not self.shared.answered and (numbers or callable(self.panel.rows)):
            made = []  # a cell may have a long answer
        fit = int(height // LINE) - len(heads)
        shown = made if len(made) <= fit else made[: max(fit - 1, 0)]
        first = len(shown[0]) - NUMBERS * numbers if shown else 0
        usual = measure(_USUAL, LABEL)  # a longer number takes some of the gap
        wanted = [*heads, *((*row[:first], *[_USUAL] * (len(row) - first)) for row in shown)]
        while wanted and len(wanted[0]) > KEPT and _needed(wanted) > width:
            wanted = [row[:-1] for row in wanted]  # a number that is cut looks like another one
        columns, cells = _columns(wanted, width), list[tuple[float, float, str]]()
        for number, row in enumerate((*heads, *shown)):
            colour, base = theme.text3 if number < len(heads) else theme.text2, y + LINE * number + 14
            for k, ((left, wide), word) in enumerate(zip(columns, row, strict=False)):
                if number < len(heads) or k < first:
                    sketch.text(x + left, base, cut(word, wide), LABEL, colour)
                else:
                    cells.append((x + left, base, word if wide >= usual else cut(word, wide)))
        if more := len(made) - len(shown):
            sketch.text(x, y + LINE * (len(heads) + len(shown)) + 14, f"and {more:,} more", LABEL, theme.text3)
        for cell in cells:
            sketch.text(*cell, LABEL, theme.text2)
        self._cells = len(shown), len(cells) if all(wide >= usual for _, wide in columns[first:]) else 0
        return sketch

    def slot(self) -> Slot | None:
        rows, (count, cells) = self.panel.rows, self._cells
        if not isinstance(rows, SampleRows) or not cells:
            return None
        return Slot("text", -cells, np.column_stack([rows.inputs, rows.targets])[:count])

    def _call_function(self, moment: Moment) -> list[tuple[str, ...]]:
        rows = self.panel.rows
        if isinstance(rows, SampleRows):
            numbers = (map(loss_text, own) for own in rows.numbers(moment))
            return [(*words, *own) for words, own in zip(rows.words, numbers, strict=True)]
        return as_rows(rows(moment) if callable(rows) else rows, len(self.panel.heads))


def _needed(rows: Sequence[Sequence[str]]) -> float:
    """Return the width of all columns uncut."""
    return sum(max(measure(row[k], LABEL) for row in rows) + _GAP for k in range(len(rows[0]))) - _GAP


def _columns(rows: Sequence[Sequence[str]], width: float) -> list[tuple[float, float]]:
    """Return left edge and width of every column: as wide as its words; if they do not fit, the widest are cut."""
    if not rows:
        return []
    wanted = [max(measure(row[k], LABEL) for row in rows) for k in range(len(rows[0]))]
    room = max(width - _GAP * (len(wanted) - 1), 0.0)
    most = room
    for left, wide in enumerate(sorted(wanted)):  # narrow ones get their width, the others equal parts
        most = room / (len(wanted) - left)
        if wide > most:
            break
        room -= wide
    ends, at = [], 0.0
    for wide in wanted:
        own = min(wide, max(most, 0.0))
        ends.append((at, own + 0.01))
        at += own + _GAP
    return ends


# ---- A table of the layers over the picture: gradient, update beside weights, dead units, all of one frame.

_PAD, _APART = 14.0, 18.0
_HEADS = ("layer", "weights", "|weights|", "|gradient|", "|update|", "update / weights", "units at rest")
_ORDER = (0, 3, 5, 6, 1, 2, 4)  # columns by importance


class LayerTable:
    """The table of one picture; after `shown` is set, it is written with the next texts."""

    def __init__(self) -> None:
        self.shown = False
        self.sketches: list[Sketch] = []

    def close(self) -> bool:
        """Hide the table on Escape; return whether it was shown."""
        there, self.shown, self.sketches = self.shown, False, []
        return there

    def write(self, subject: Subject, frame: Frame, theme: Theme, places: Places) -> None:
        """Write the numbers of a frame, if the table is shown."""
        self.sketches = []
        if not self.shown:
            return
        x, _, width, _ = places.scene
        left, top = x + min(24.0, 0.04 * places.size[0]), (8.0 if places.hud is None else places.hud[1] + 60.0)
        room = (min(width, places.size[0]) - 2 * (left - x), places.size[1] - top - 8.0)
        rows, names = layer_rows(frame, subject.tensors, subject.stages), Names(subject).tensors
        rows = [replace(r, name=names.get(f"{r.name}.weight", names.get(r.name, r.name))) for r in rows]
        self.sketches = [_drawn(rows, _footnotes(rows, frame, subject), (left, top), room, frame.step, theme)]


def _drawn(rows: Sequence[LayerRow], said: Sequence[str], at: Point, room: Point, step: int, theme: Theme) -> Sketch:
    lines = [_HEADS, *(_texts(row) for row in rows)]
    wide = [max(measure(line[k], LABEL, k == 0) for line in lines) + _APART for k in range(len(_HEADS))]
    columns = [0]
    for k in _ORDER[1:]:
        empty = all(line[k] in ("", "\N{EN DASH}") for line in lines[1:])
        if not empty and sum(wide[c] for c in (*columns, k)) - _APART + 2 * _PAD <= room[0]:
            columns.append(k)
    columns.sort()
    inner = max(sum(wide[k] for k in columns) - _APART, measure("layers at step 1,000,000", TITLE, True))
    notes = [line for text in said for line in wrapped(text, inner)]
    high = room[1] - 2 * _PAD - 28
    most = max(1, int((high - LINE * (1 + len(notes))) / LINE))
    more = len(rows) > most
    if more:
        most = max(1, int(high / LINE) - 2)
        notes = [f"and {len(rows) - most:,} more"] if len(rows) > most else []
    shown = lines[: most + 1]
    sketch, (x, y) = Sketch(), at
    tall = 2 * _PAD + 24 + LINE * (len(shown) + len(notes))
    sketch.rect(x, y, inner + 2 * _PAD, tall, radius=6, fill=theme.panel, stroke=theme.flow)
    x, y = x + _PAD, y + _PAD + 13
    sketch.text(x, y, f"layers at step {step:,}", TITLE, theme.text1, bold=True)
    for number, line in enumerate(shown):
        left, base, ink = x, y + 24 + LINE * number, theme.text1 if number else theme.text3
        for k in columns:
            end = left if k == 0 else left + wide[k] - _APART
            sketch.text(end, base, line[k], LABEL, ink, anchor="right" if k else "left")
            left += wide[k]
    for number, text in enumerate(notes, len(shown)):
        base = y + 24 + LINE * number
        sketch.text(x, base + (0 if more else 4), text, LABEL, theme.text3 if more else theme.text2)
    return sketch


def _texts(row: LayerRow) -> tuple[str, ...]:
    numbers = (row.weight, row.gradient, row.update, row.ratio)
    weight, gradient, update, ratio = ("\N{EN DASH}" if n is None else short(n) for n in numbers)
    rests = ""
    if row.dead is not None:
        rests = f"{row.dead:,} of {row.units:,} dead"
    elif row.flat is not None:
        rests = f"{100 * row.flat:.0f} % flat"
    return row.name, f"{row.count:,}", weight, gradient, update, ratio, rests


def _footnotes(rows: Sequence[LayerRow], frame: Frame, subject: Subject) -> list[str]:
    """Return the samples and the moment of the numbers."""
    words = gradient_words(subject, frame)
    said = [f"gradient and update: {words}"] if words else []
    samples = 0 if frame.units is None else frame.units.samples
    when = "" if frame.units_step in (None, frame.step) else f", as of step {frame.units_step:,}"
    of = f"the first {samples:,} samples{when}" if samples else "the samples"
    if any(row.dead is not None for row in rows):
        said.append(f"dead: 0 for all of {of}")
    if any(row.flat is not None for row in rows):
        said.append(f"flat: slope below {FLAT:g} of its largest, mean over units and {of}")
    return said


# ---- Numbers as bars, of one tensor or of all, and their statistics.

BINS = 40
_ABOVE, _BELOW = 26.0, 20.0


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """The counts of one tensor's numbers."""

    counts: NDArray[np.int64]  # (BINS,) from `-reach` to `reach`; numbers beyond are in the outermost bins
    reach: float
    beyond: int  # count of numbers beyond
    lines: tuple[str, ...]  # mean and spread, least and most, zeros, NaN and infinities


def counted(numbers: NDArray[np.floating]) -> Counted:
    """Return the counts of numbers (N,), N at least 1."""
    finite = np.isfinite(numbers)
    whole = bool(finite.all())
    real = numbers if whole else numbers[finite]
    reach = extent(real)
    clipped = np.clip(real, -reach, reach)
    counts, _ = np.histogram(clipped / clipped.dtype.type(reach), BINS, (-1.0, 1.0))  # 2 * reach may be infinite
    beyond = int(np.count_nonzero(clipped != real))
    lines = []
    if real.size:
        with np.errstate(over="ignore", invalid="ignore"):  # squares of 1e300
            mean, spread = float(real.mean(dtype=np.float64)), float(real.std(dtype=np.float64))
        lines.append(f"mean {short(mean, signed=True)}  ·  deviation {short(spread)}")
        lines.append(f"least {short(float(real.min()), signed=True)}  ·  most {short(float(real.max()), signed=True)}")
    zeros = int(np.count_nonzero(real == 0.0))
    if zeros:
        lines.append(f"{zeros:,} zero{'' if zeros == 1 else 's'} ({_share(zeros, numbers.size)})")
    if not whole:
        lines.append(f"{numbers.size - real.size:,} NaN or infinite")
    return Counted(counts, reach, beyond, tuple(lines))


def _share(part: int, whole: int) -> str:
    percent = 100 * part / whole
    return f"{percent:.0f} %" if percent >= 10 or part == whole else f"{percent:.2g} %"


class HistogramDrawer(Drawer[Histogram]):
    """The histogram of the hovered tensor; it changes at once with the pointer."""

    name = "histogram"
    height, most, least = 220.0, 300.0, 140.0
    worth = 0

    def __init__(self, panel: Histogram, shared: SharedState) -> None:
        super().__init__(panel, shared)
        self._counted: Counted | None = None
        self._values: object = None
        self._shown: str | None = None

    @property
    def moving(self) -> bool:
        """True if the pointer is on another tensor than the one drawn."""
        return self._pointed[0] != self._shown

    @property
    def _pointed(self) -> tuple[str, slice]:
        """The name and slice of the hovered tensor; without one, an empty name and all numbers."""
        at, tensors = self.shared.pointed, self.shared.subject.tensors
        there = (t for t in tensors if at is not None and t.start <= at < t.start + t.size)
        return next(((tensor.name, tensor.span) for tensor in there), ("", slice(None)))

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        """Return the histogram of the hovered tensor."""
        (name, span), values, found = self._pointed, moment.frame.values, self._counted
        numbers = values[span]
        if found is None or values is not self._values or name != self._shown:
            found = counted(numbers)
        self._counted, self._values, self._shown = found, values, name
        title = Names(self.shared.subject).tensors.get(name, self.panel.label)
        return [histogram(box, self.shared.theme, title, numbers.size, found)]


def histogram(box: Box, theme: Theme, title: str, count: int, of: Counted) -> Sketch:
    """Return bars, negative and positive in the colours of weights, with ends, and as many lines below as fit."""
    sketch, (x, y, width, height) = Sketch(), box
    title_of(sketch, box, theme, title, f"{count:,} number{'' if count == 1 else 's'}")
    room = int(max(0.0, height - _ABOVE - _BELOW - 60.0) / LINE)
    lines = of.lines[:room]
    high, step, middle = height - _ABOVE - _BELOW - LINE * len(lines), width / BINS, x + width / 2
    base, largest = y + _ABOVE + high, max(float(of.counts.max()), 1.0)
    axes = Axes((x, y + _ABOVE, width, high), Scale(0.0, BINS), Scale(0.0, largest))
    for k, (left, top) in enumerate(axes.points(np.arange(float(BINS)), of.counts.astype(float)).tolist()):
        if of.counts[k]:
            tall = max(1.0, base - top)
            fill = theme.weight[1] if k < BINS // 2 else theme.weight[3]
            sketch.rect(left, base - tall, step - 1.0, tall, fill=fill)
    sketch.line((x, base), (x + width, base), theme.flow, 1.0)
    sketch.line((middle, base), (middle, base + 4), theme.flow, 1.0)
    axes.ends(sketch, theme, (MINUS + short(of.reach), "+" + short(of.reach)), drop=16.0)
    sketch.text(middle, base + 16, "0", LABEL, theme.text3, anchor="middle")
    if of.beyond:
        sketch.text(x + width, y + _ABOVE + 4, f"{of.beyond:,} beyond", LABEL, theme.text3, anchor="right")
    for k, line in enumerate(lines):
        sketch.text(x, base + _BELOW + 14 + LINE * k, cut(line, width), LABEL, theme.text2)
    return sketch
