"""Two recordings side by side, with their difference beside them: what such a picture has that one of a run has not.

All three columns have one layout and one camera, so a cube stands in the same place of each: what is pointed at in one
is pointed at in all. The two share a range, in which a colour means the same number; the difference has its own. What
is compared, number by number, is said in :mod:`scalarviz.run.sources.recorded_pair`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import floor
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..run.core.frame import Frame, Past, Stage
from ..run.questions.ranges import Range, extent, settled
from ..run.sources.recorded_pair import NAMES, Compared, RecordedPair
from ..run.travel import WeightRecord
from .cube_view import CubeView
from .cubes.scale import ActivationScale, LegendScale, Quantity, grown
from .ink.axes import Axes, Scale
from .ink.maps import get_map
from .ink.places import LABEL, MARGIN, TITLE, Places
from .ink.sketch import Box, Sketch
from .ink.text import figure, loss_text, measure, rate_text, short
from .ink.theme import Theme
from .panels.drawer import cut
from .screen.hud import fitted
from .screen.inspector import draw_heading
from .screen.inspector_page import Page
from .screen.selection import Selection, parts_of, who
from .screen.strip import LEGEND, marks_line, marks_on
from .screen.touch import View, bracketed, outline_of
from .shown.subject import Subject

if TYPE_CHECKING:
    from .workbench import Workbench

Float = NDArray[np.floating]
Point = tuple[float, float]
MAP = "difference"
"""The colour map of a difference, whatever it is of."""
_DASH = 6.0, 4.0
_GAP = 20.0  # between two legends


class Comparison:
    """The columns, heads, legends and the card of one workbench of a pair."""

    columns: Columns

    def __init__(self, bench: Workbench, pair: RecordedPair) -> None:
        self._bench, self._pair = bench, pair
        self.chosen: Chosen | None = None
        self._whole: tuple[Sequence[Float | None], Float] | None = None
        self._past: Past | None = None
        bench.bar.names = NAMES

    def views(self, quantity: str | Quantity) -> list[CubeView]:
        """Those of a and b, which share a range, and that of the difference; the pointer says the numbers of all."""
        bench = self._bench
        found = [CubeView(bench.subject, bench.theme, quantity, bench.cmap_name) for _ in NAMES]
        for view in found:
            view.colouring.scope = "both"
        rows = DifferenceScale(bench.subject.stages, bench.theme, self._pair.of)
        last = CubeView(bench.subject, bench.theme, quantity, "", fixed=MAP, activations=rows)
        last.colouring.of, last.colouring.scope = self._pair.of, "the difference"
        bench.touch.says = self._said
        return [*found, last]

    def place(self, places: Places, shown: bool) -> Places:
        """The places of the last column, the difference; not `shown`: the cubes alone."""
        self.columns, found = columns_of(places, shown)
        for k, view in enumerate(self._bench.views):
            view.left = (2 - k) * self.columns.wide
        return found

    def in_layout(self, point: Point) -> Point:
        """A point (logical pixels) as the same of the last column."""
        return point[0] + (2 - self.columns.column(point[0])) * self.columns.wide, point[1]

    # ---- frames

    def shown(self, frame: Frame) -> list[tuple[Frame, Float | None, Frame]]:
        """By view the frame, numbers whose range its own have, and a frame whose rows' range its own rows have."""
        assert isinstance(frame, Compared)  # what the source of a pair makes
        if self._past is not frame.past:  # a file has grown
            self._past, self._bench.bar.other = frame.past, self._pair.other_curve
            if self.chosen is not None:
                self.chosen = Chosen(self.chosen.selection, self._pair.weight_records(self.chosen.index))
        whole, rows = self._larger(frame.both), both_rows(*frame.both)
        return [*((one, whole, rows) for one in frame.both), (frame, None, frame)]

    def _larger(self, both: tuple[Frame, Frame]) -> Float:
        """The larger size of each number in the two; kept of numbers that stay."""
        parts, kept = [self._bench.colouring.shows.numbers(one) for one in both], self._whole
        if kept is not None and all(now is then and settled(now) for now, then in zip(parts, kept[0], strict=True)):
            return kept[1]
        with np.errstate(invalid="ignore"):
            sizes = [np.where(np.isfinite(part), np.abs(part), 0.0) for part in parts if part is not None]
        whole: Float = np.maximum(*sizes)
        whole.setflags(write=False)
        self._whole = parts, whole
        return whole

    def mark(self, frame: Frame, seen: View) -> list[Sketch]:
        """Write on the columns of a and b; returns the outline of the chosen cube in the last one."""
        assert isinstance(frame, Compared)
        scenery, hovered, outline = self._bench.scenery, self._bench.touch.hovered, Sketch()
        for part in outline_of(self.chosen.selection, seen) if self.chosen is not None else ():
            outline.polyline(part, seen.theme.selection, 2.6)
        marks = [outline] if hovered is None else [outline, bracketed(hovered, seen)]
        for view, one in zip(self._bench.views, frame.both, strict=False):
            view.sketches = [*scenery.static, *scenery.cubes(one, view.colouring, view.activations),
                             *scenery.around(one, view.colouring, None), *marks]  # fmt: skip
        return [outline]

    def texts(self, frame: Frame, pace_text: str) -> list[Sketch]:
        """Heads and legends, and the card of the chosen cube or else the legends of rows."""
        assert isinstance(frame, Compared)
        bench, theme, columns = self._bench, self._bench.theme, self.columns
        sketches = bench.scenery.around(frame, bench.colouring, None)
        _, top, wide, high = columns.scene
        lines = Sketch()
        for x in (wide, 2 * wide) if bench.panels_shown else ():
            lines.line((x, 12.0), (x, top + high), theme.border, 1.0)
        sketches += [lines, heads(columns.heads, theme, self._pair, frame, bench.subject, bench.colouring.shows)]
        box = card_box(columns.legends)
        if columns.legends:
            sketches += self._legends(frame)
        if box is not None and self.chosen is not None:
            sketches.append(card(box, theme, self._pair, frame, bench.subject, self.chosen))
        elif box is not None and bench.views[-1].rows:
            own, y, tall = (box[2] - 2 * _GAP) / 2, columns.legends[0][1], columns.legends[0][3]
            for k, view in enumerate(bench.views[1:]):
                sketches.append(view.strip.rows((box[0] + 8 + k * (own + _GAP), y, own, tall)))
        return [*sketches, self._pace_words(pace_text)]

    def _pace_words(self, words: str) -> Sketch:
        """Whether it plays, at the right of the line of keys, as far as that leaves room."""
        sketch, bench = Sketch(), self._bench
        wide, y = bench.places.size[0], bench.places.keys
        if y is not None and not bench.theme.presenter:
            taken = sum(measure(f"{key} {does}", LABEL) + 24 for key, does in bench.keys)
            right = self.columns.scene[0] + self.columns.scene[2] - MARGIN
            sketch.text(right, y, fitted(words, wide - 2 * MARGIN - taken), LABEL, bench.theme.text3, anchor="right")
        return sketch

    def _legends(self, frame: Compared) -> list[Sketch]:
        """That of the two, and that of the difference, each with the marks that its cubes have."""
        bench, found = self._bench, list[Sketch]()
        for box, views, one, most in zip(self.columns.legends, (bench.views[:2], bench.views[2:]),
                                         (frame.both[0], frame), (LEGEND, np.inf), strict=True):  # fmt: skip
            x, y, wide, high = box
            own, of = min(wide, most), views[0].colouring
            marks = {name: 0 for view in views for name in marks_on(view.slab, of, bench.camera, bench.density)}
            found.append(views[0].strip.legend((x, y, own, high), one))
            found.append(marks_line((x, y + high + 3.0, own, 0.0), bench.theme, tuple(marks)))
        return found

    # ---- the cube that is looked into

    @property
    def selected(self) -> int | None:
        """Flat index of the cube whose card is shown."""
        return None if self.chosen is None else self.chosen.index

    def select(self, selection: Selection | int | None, frame: Frame | None) -> bool:
        """Look into a cube by its flat index, of several into the first, or none; returns whether it is another."""
        index = selection.main if isinstance(selection, Selection) else selection
        if index == self.selected:
            return False
        self.chosen = None
        if index is not None:
            one = parts_of(self._bench.subject, index)[-1]
            self.chosen = Chosen(one, self._pair.weight_records(index))
        return True

    def _said(self, index: int, frame: Frame) -> tuple[str, list[str]]:
        """Both numbers of a cube and their difference, of what is shown."""
        assert isinstance(frame, Compared)
        colouring = self._bench.colouring

        def number(one: Frame) -> str:
            numbers = colouring.shows.numbers(one)
            there = bool(one.known(colouring.quantity)[index])
            return figure(float(numbers[index])) if numbers is not None and there else "not computed yet"

        when = [f"  at step {one.step:,}" * (not self._pair.heads) for one in frame.both]
        lines = [f"{name}: {number(one)}{at}" for name, one, at in zip(NAMES, frame.both, when, strict=True)]
        return "", [*lines, f"{self._pair.of}: {number(frame)}"]


# ---- What stands above each view: whose it is, at which step, and how large the difference is.

_LINE = 20.0
_SAMPLE = 22.0  # of a curve, before the name of whose it is


def heads(
    boxes: tuple[Box, ...], theme: Theme, pair: RecordedPair, frame: Compared, subject: Subject, shows: Quantity
) -> Sketch:
    """The three heads for one moment; `shows` is what the cubes show. Low boxes have a letter each."""
    sketch = Sketch()
    if boxes[0][3] <= LETTER:
        for box, letter in zip(boxes, (*NAMES, pair.of), strict=True):
            sketch.text(box[0], box[1] + 24, letter, TITLE, theme.text1, bold=True)
        return sketch
    for k, (box, one) in enumerate(zip(boxes, frame.both, strict=False)):
        _whose(sketch, box, theme, NAMES[k], pair.names[k], dashed=k == 1, curve=not pair.heads)
        if pair.heads:
            sketch.text(box[0], _first(box) + _LINE + 4, fitted(pair.heads[k], box[2]), LABEL, theme.text2)
        else:
            _moment(sketch, box, theme, frame.step, one)
    _difference(sketch, boxes[2], theme, pair, frame, subject, shows)
    return sketch


def _whose(sketch: Sketch, box: Box, theme: Theme, letter: str, name: str, *, dashed: bool, curve: bool) -> None:
    """The letter, the name, and how its `curve` is drawn in the time bar, if it has one."""
    x, y = box[0], _first(box)
    sketch.text(x, y, letter, TITLE, theme.text1, bold=True)
    at = x + measure(letter, TITLE, True) + 10
    middle = y - 5.0
    dash = _DASH if dashed else None
    if curve:
        sketch.polyline([(at, middle), (at + _SAMPLE, middle)], theme.text3 if dashed else theme.text1, 2.0, dash=dash)
        at += _SAMPLE + 8
    sketch.text(at, y, cut(name, x + box[2] - at), LABEL, theme.text2)


def _moment(sketch: Sketch, box: Box, theme: Theme, step: int, frame: Frame) -> None:
    """Its true step, said loudly where it is not the one that is asked for, and its loss."""
    x, y, right = box[0], _first(box) + _LINE + 4, box[0] + box[2]
    parts = [("step", f"{frame.step:,}"), ("loss", loss_text(frame.told_loss))]
    for word, value in parts:
        if x + measure(word, LABEL) + 6 + measure(value, TITLE, True) > right:
            return
        sketch.text(x, y, word, LABEL, theme.text3)
        x += measure(word, LABEL) + 6
        sketch.text(x, y, value, TITLE, theme.text1, bold=True)
        x += measure(value, TITLE, True) + 16
    rate = f"lr {rate_text(frame.lr)}"
    ways = [f"its last before {step:,}", "not the step asked for"] if frame.step < step else []
    ways = ways or ([f"its first, after {step:,}"] if frame.step > step else [rate])
    if line := next((way for way in ways if x + measure(way, LABEL) <= right), ""):
        sketch.text(x, y, line, LABEL, theme.text2)
    elif ways[0] != rate and box[3] > 2 * _LINE + 24:
        sketch.text(box[0], y + _LINE, cut(ways[0], box[2]), LABEL, theme.text2)


def _difference(
    sketch: Sketch, box: Box, theme: Theme, pair: RecordedPair, frame: Compared, subject: Subject, shows: Quantity
) -> None:
    x, _, wide, high = box
    name = pair.of
    sketch.text(x, _first(box), name, TITLE, theme.text1, bold=True)
    at = x + measure(name, TITLE, True) + 12
    sketch.text(at, _first(box), cut(f"difference of {shows.words}s", x + wide - at), LABEL, theme.text2)
    numbers = shows.numbers(frame)
    assert numbers is not None  # of two recordings values, gradients and updates are compared, which each frame has
    said = largest_words(numbers, frame.known(shows.name), lambda index: who(subject, index).name)
    sketch.text(
        x, _first(box) + _LINE + 4, fitted(said, wide) or fitted(said.partition(":")[0], wide), LABEL, theme.text2
    )
    if pair.left_out and high > 2 * _LINE + 24:
        more = f"  ·  {len(pair.left_out) - 1} more" if len(pair.left_out) > 1 else ""
        sketch.text(x, _first(box) + 2 * _LINE + 4, cut(f"left out: {pair.left_out[0]}{more}", wide), LABEL,
                    theme.weight[1])  # fmt: skip


def largest_words(values: NDArray[np.floating], known: NDArray[np.bool_], name_of: Callable[[int], str] = str) -> str:
    """Where a difference (P,) is largest, or that there is none; `known`: where there are two numbers at all.

    `js/heads.js` says the same.
    """
    finite = known & np.isfinite(values)
    if not known.any():
        return "not computed yet"
    odd = int(np.count_nonzero(known & ~finite))
    beside = f"{odd:,} NaN or infinite" if odd else ""
    if not finite.any():
        return f"no number to compare: {beside}"
    size = np.where(finite, np.abs(np.where(finite, values, 0.0)), -1.0)
    index = int(np.argmax(size))
    if size[index] == 0:
        return f"no difference between numbers; {beside}" if odd else "no difference: every number is the same"
    return "  ·  ".join(filter(None, (f"largest {figure(float(values[index]))}", name_of(index), beside)))


def _first(box: Box) -> float:
    """Baseline of the first line."""
    return box[1] + (20.0 if box[3] < 60 else 28.0)


# ---- Where the three views of a comparison stand: pure numbers in logical pixels.

HEAD, SMALL_HEAD, LETTER = 78.0, 54.0, 34.0
"""Height of what is written above each, in a low picture, and where only a letter is."""
_SMALL = 500.0  # logical pixels of a picture that is low


@dataclass(frozen=True, slots=True)
class Columns:
    """The places of one picture."""

    wide: float  # of each column
    heads: tuple[Box, ...]  # what is written above each
    legends: tuple[Box, ...]  # that of the two and that of the difference; empty where there is no room
    scene: Box  # of the difference, which is the last

    def column(self, x: float) -> int:
        """Which column a place from left to right is in."""
        return min(max(int(x / self.wide), 0), 2)


def columns_of(places: Places, shown: bool) -> tuple[Columns, Places]:
    """The columns of a picture, and its places with the last of them for its cubes; not `shown`: the cubes alone."""
    width, height = places.size
    wide = floor(width * places.scale / 3) / places.scale  # whole pixels: the three are drawn alike
    head = (SMALL_HEAD if height < _SMALL else HEAD) if shown else LETTER
    bottom = places.scene[1] + places.scene[3]
    scene = (2 * wide, head, wide, max(bottom - head, 1.0))
    heads = tuple((k * wide + _pad(wide), 0.0, wide - 2 * _pad(wide), head) for k in range(3))
    legends: tuple[Box, ...] = ()
    if places.strip is not None:
        _, y, _, high = places.strip
        legends = ((_pad(wide), y, 2 * wide - _pad(wide) - _GAP, high),
                   (2 * wide + _pad(wide), y, wide - 2 * _pad(wide), high))  # fmt: skip
    return Columns(wide, heads, legends, scene), replace(places, scene=scene)


def _pad(wide: float) -> float:
    """Left and right of what is written in a column."""
    return min(float(MARGIN), 0.05 * wide)


# ---- `DifferenceScale`: the range and the colours of differences between rows of activations.


class DifferenceScale(ActivationScale):
    """One range for the differences of all rows, alike on both sides of 0; `of`: what the difference is called."""

    def __init__(self, stages: Sequence[Stage], theme: Theme, of: str) -> None:
        super().__init__(stages, theme)
        self.cmap, self._of = get_map(MAP, theme), of

    def legend(self) -> LegendScale:
        """What the legend says of it."""
        return replace(super().legend(), title=f"activation, {self._of}", note="")

    def change(self, theme: Theme) -> None:
        """Another look."""
        self.cmap = get_map(MAP, theme)

    def update(self, frame: Frame, seconds: float | None) -> None:
        """Take over a frame of differences."""
        rows = [np.ravel(np.asarray(row, float)) for name, row in frame.activations.items() if name in self._rows]
        wanted = extent(np.concatenate([*rows, np.zeros(0)]))
        v = grown(self._tracker, {"": wanted}, seconds)[""]
        self.growing, self.range = wanted > v, Range(-v, v)


def both_rows(a: Frame, b: Frame) -> Frame:
    """The first of two frames with the rows of both, one after the other: what makes the range that they share."""
    rows = {name: np.concatenate([np.ravel(row), np.ravel(b.activations[name])])
            for name, row in a.activations.items() if name in b.activations}  # fmt: skip
    return replace(a, activations=rows)


# ---- The card of one cube of a comparison: its numbers in a, in b, how far they are apart, and how both came there.

LEAST = 330.0
"""Width from which on there is room for one."""
_PARTS = {"weight": ("value", "values"), "gradient": ("gradient", "gradient"), "update": ("last update", "update")}
_ROW, _FIRST, _PAD, _STEP = 16.0, 17.0, 12.0, 88.0
_CURVE_FROM = 70.0


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """A cube that is looked into."""

    selection: Selection
    records: tuple[WeightRecord | None, ...]  # how it moved, in a and in b

    @property
    def index(self) -> int:
        """Flat, of the comparison."""
        return self.selection.main


def card(box: Box, theme: Theme, pair: RecordedPair, frame: Compared, subject: Subject, chosen: Chosen) -> Sketch:
    """The card in a box; the words of the steps that are not those of the frame stand beside the letters."""
    x, y, wide, high = box
    page, index = Page(x + _PAD, y, wide - 2 * _PAD, theme), chosen.index
    sketch, known = page.sketch, [part for name, part in _PARTS.items() if not pair.lacks(name)]
    sketch.rect(x, y, wide, high, fill=theme.panel, stroke=theme.border, radius=6)
    names = [name if one.step == frame.step else f"{name} at {one.step:,}"
             for name, one in zip(NAMES, frame.both, strict=True)]  # fmt: skip
    first = page.x + max(measure(word, LABEL) for word in (*names, pair.of)) + 16
    used = first - x + _STEP * len(known)
    curve = wide - used - _PAD >= _CURVE_FROM and any(record is not None for record in chosen.records)
    one = who(subject, index)
    draw_heading(page, y + _FIRST, x + used - _PAD if curve else page.right, one.name, one.meaning)
    for k, (word, _) in enumerate(known):
        sketch.text(first + _STEP * k, y + _FIRST + _ROW, word, LABEL, theme.text3)
    for line, (name, of) in enumerate(zip((*names, pair.of), (*frame.both, frame), strict=True)):
        down = y + _FIRST + (line + 2) * _ROW
        sketch.text(page.x, down, name, LABEL, theme.text2, bold=line < 2)
        for k, (_, part) in enumerate(known):
            numbers: Float = getattr(of, part)
            there = of.known("weight" if part == "values" else part)[index]
            text = figure(float(numbers[index])) if there else "none yet"
            sketch.text(first + _STEP * k, down, text, LABEL, theme.text1)
    if curve:
        _curves(sketch, (x + used, y, wide - used - _PAD, high), theme, pair, frame, chosen)
    return sketch


def _curves(sketch: Sketch, box: Box, theme: Theme, pair: RecordedPair, frame: Compared, chosen: Chosen) -> None:
    """Both values over the steps, a as a line and b dashed, with a disc where each stands."""
    (x, y, wide, high), (first, last), ways = box, pair.span, list[tuple[Float, Float]]()
    for record in chosen.records:
        at: Float = np.zeros(0) if record is None else np.minimum(record.steps, last).astype(float)
        moved: Float = np.zeros(0) if record is None else record.values
        there = (at >= first) & np.isfinite(moved)
        ways.append((at[there], moved[there]))
    every = np.concatenate([values for _, values in ways])
    if not len(every):
        return
    low, top = float(every.min()), float(every.max())
    low, top = (low, top) if top > low else (low - 0.5, top + 0.5)
    ends = [short(end, signed=True) for end in (top, low)]
    left = x + max(measure(end, LABEL) for end in ends) + 8
    up, down = y + _FIRST + 8, y + high - 12
    title = f"value since step {first:,}"
    sketch.text(x + wide, y + _FIRST, title if measure(title, LABEL) <= wide else "value", LABEL, theme.text3,
                anchor="right")  # fmt: skip
    for end, level in zip(ends, (up + 5, down + 5), strict=True):
        sketch.text(left - 8, level, end, LABEL, theme.text3, anchor="right")
    axes = Axes((left, up, x + wide - left, down - up), Scale(first, max(last, first + 1)), Scale(low, top))
    looks = (theme.text1, None), (theme.text2, _DASH)
    for (steps, values), one, (colour, dash) in zip(ways, frame.both, looks, strict=True):
        if len(steps) > 1:
            sketch.polyline(axes.points(steps, values), colour, 1.6, dash=dash)
        now = float(one.values[chosen.index])
        if low <= now <= top:
            sketch.disc(*axes.point(min(max(one.step, first), last), now), 3.5, fill=colour)


def card_box(legends: Sequence[Box]) -> Box | None:
    """Where it stands: right of the legend of the two; None where there is no room."""
    if not legends:
        return None
    x, y, wide, high = legends[0]
    room = wide - LEGEND - _GAP
    return (x + LEGEND + _GAP, y - 11.0, room, high + 15.0) if room >= LEAST else None
