"""`ComparisonParts`: two recordings side by side, and their difference beside them.

In a standing picture the three are below each other. All three columns share one layout and one camera, so a cube has
the same place in each; pointing at it in one column points at it in all. The two recordings share a range, so a colour
means the same number; the difference has its own.
:mod:`scalarviz.run.sources.recorded_pair` says which numbers are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import floor
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..run.core.frame import Frame, Past
from ..run.core.tensors import Stage
from ..run.questions.ranges import Range, extent, settled
from ..run.sources.recorded_pair import NAMES, Compared, RecordedPair
from ..run.travel import WeightRecord
from .cube_view import CubeView
from .cubes.scale import ActivationScale, Float, LegendScale, Quantity
from .ink.boxes import LABEL, MARGIN, STRIP, TITLE, Places
from .ink.sketch import Box, Cached, Point, Sketch
from .ink.text import figure, loss_text, measure, rate_text
from .ink.theme import Theme, get_map
from .panels.drawer import cut
from .screen.hud import fitted
from .screen.inspector import DASH, InspectorColumn, Moved, draw_heading, draw_moved
from .screen.strip import LEGEND, marks_line, marks_on
from .shown.names import Names, who

if TYPE_CHECKING:
    from .workbench import Workbench


MAP = "difference"
"""The colour map of every difference."""
_GAP = 20.0  # between two legends
_LINE, _SAMPLE = 20.0, 22.0  # of a head: height of a line, length of the curve before a name
_PARTS = {"weight": ("value", "values"), "gradient": ("gradient", "gradient"), "update": ("last update", "update")}
_ROW, _HEAD, _PAD, _STEP = 16.0, 17.0, 12.0, 88.0  # of a card
_CURVE_FROM = 70.0


class ComparisonParts:
    """The columns, heads, legends and card of a workbench that compares two recordings."""

    columns: Columns

    def __init__(self, bench: Workbench, pair: RecordedPair) -> None:
        self._bench, self._pair = bench, pair
        self._records = Cached[tuple[WeightRecord | None, ...]]()
        self._whole: tuple[Sequence[Float | None], Float] | None = None
        self._past: Past | None = None
        self._around: Sequence[Sketch] = ()  # the numbers around the cubes of the last column
        self._flat: tuple[list[Sketch], list[Sketch]] = [], []  # heads and legends of the two, and of the difference
        bench.bar.names = NAMES

    def views(self, quantity: str | Quantity) -> list[CubeView]:
        """Return the views of a, b and their difference.

        a and b share a range. The pointer's label has the numbers of all three.
        """
        bench = self._bench
        found = [CubeView(bench.subject, bench.theme, quantity, bench.cmap_name) for _ in NAMES]
        for view in found:
            view.colouring.scope = "both"
        rows = DifferenceScale(bench.subject.stages, bench.theme, self._pair.of)
        last = CubeView(bench.subject, bench.theme, quantity, "", fixed=MAP, activations=rows)
        last.colouring.of, last.colouring.scope = self._pair.of, "the difference"
        bench.interaction.hover_words = self._pair_words
        return [*found, last]

    def place(self, places: Places, shown: bool) -> Places:
        """Place the columns; return the places of the last one, the difference. `shown` False: the cubes alone."""
        self.columns, found = columns_of(places, shown)
        x, y, *_ = self.columns.boxes[-1]
        for view, box in zip(self._bench.views, self.columns.boxes, strict=True):
            view.aside = box[0] - x, box[1] - y
        return found

    def in_layout(self, point: Point) -> Point:
        """Return the point (logical pixels) of the last column that matches a point of any column."""
        (x, y, *_), boxes = self.columns.boxes[-1], self.columns.boxes
        own = max((box for box in boxes if box[0] <= point[0] and box[1] <= point[1]), default=boxes[0])
        return point[0] + x - own[0], point[1] + y - own[1]

    # ---- frames

    def shown(self, frame: Frame) -> list[tuple[Frame, Float | None, Frame]]:
        """Return for each view its frame, the numbers that set its range, and the frame for its rows' range."""
        assert isinstance(frame, Compared)  # from a pair's source
        if self._past is not frame.past:  # a file has grown
            self._past, self._bench.bar.other = frame.past, self._pair.other_curve
            self._records = Cached()
        whole, rows = self._larger(frame.frames), both_rows(*frame.frames)
        return [*((one, whole, rows) for one in frame.frames), (frame, None, frame)]

    def _larger(self, both: tuple[Frame, Frame]) -> Float:
        """Return the larger absolute value of each number of the two; cached while the numbers stay."""
        parts, kept = [self._bench.colouring.shows.numbers(one) for one in both], self._whole
        if kept is not None and all(now is then and settled(now) for now, then in zip(parts, kept[0], strict=True)):
            return kept[1]
        with np.errstate(invalid="ignore"):
            sizes = [np.where(np.isfinite(part), np.abs(part), 0.0) for part in parts if part is not None]
        whole: Float = np.maximum(*sizes)
        whole.setflags(write=False)
        self._whole = parts, whole
        return whole

    def mark(self, frame: Frame) -> list[Sketch]:
        """Write on the columns of a and b; return the outline of the selected cube in the last one."""
        assert isinstance(frame, Compared)
        scenery, interaction, outline = self._bench.scenery, self._bench.interaction, Sketch()
        for part in interaction.outline(interaction.selection) if interaction.selection is not None else ():
            outline.polyline(part, self._bench.theme.selection, 2.6)
        marks = [outline] if interaction.hovered is None else [outline, interaction.brackets(interaction.hovered)]
        for view, one in zip(self._bench.views, frame.frames, strict=False):
            view.sketches = [*scenery.static, *scenery.cubes(one, view.colouring, view.activations),
                             *scenery.around(one, view.colouring, None), *marks]  # fmt: skip
        return [outline]

    def texts(self, frame: Frame, pace_text: str) -> list[Sketch]:
        """Return heads and legends, the card of the selected cube or the legends of rows, and whether it plays."""
        assert isinstance(frame, Compared)
        bench, columns, sketch = self._bench, self.columns, Sketch()
        x, top, wide, high = columns.scene
        for left, up, *_ in columns.boxes[1:] if bench.panels_shown else ():
            ends = ((left, 12.0), (left, top + high)) if left else ((12.0, up), (wide - 12.0, up))
            sketch.line(*ends, bench.theme.border, 1.0)
        self._heads(sketch, frame)
        self._around = bench.scenery.around(frame, bench.colouring, None)
        self._flat = [sketch], list[Sketch]()
        box = card_box(columns.legends)
        if columns.legends:
            self._legends(frame)
        if box is not None and bench.selected is not None:
            self._card(sketch, box, frame, bench.selected)
        elif box is not None and bench.views[-1].rows:
            own, y, tall = (box[2] - 2 * _GAP) / 2, columns.legends[0][1], columns.legends[0][3]
            for k, view in enumerate(bench.views[1:]):
                self._flat[k].append(view.strip.rows((box[0] + 8 + k * (own + _GAP), y, own, tall)))
        keys = bench.places.keys
        if keys is not None and not bench.theme.presenter:
            taken = sum(measure(f"{key} {does}", LABEL) + 24 for key, does in bench.keys)
            words = fitted(pace_text, bench.places.size[0] - 2 * MARGIN - taken)
            sketch.text(x + wide - MARGIN, keys, words, LABEL, bench.theme.text3, anchor="right")
        return [*self._around, *self._flat[0], *self._flat[1]]

    @property
    def sections(self) -> list[Sequence[Sketch]]:
        """The picture by the numbers that its lists show.

        First the labels of each column, all in the last one's place; then heads and legends of the two, and of the
        difference.
        """
        bench = self._bench
        last = [*bench.scenery.static, *bench.parts["cubes"], *self._around]
        return [*(view.sketches for view in bench.views[:-1]), last, *self._flat]

    def _legends(self, frame: Compared) -> None:
        """Write the legend of the two and that of the difference, each with the marks of its cubes."""
        bench = self._bench
        for found, box, views, one, most in zip(self._flat, self.columns.legends, (bench.views[:2], bench.views[2:]),
                                                (frame.frames[0], frame), (LEGEND, np.inf), strict=True):  # fmt: skip
            x, y, wide, high = box
            own, of = min(wide, most), views[0].colouring
            marks = {name: 0 for view in views for name in marks_on(view.slab, of, bench.camera, bench.density)}
            found.append(views[0].strip.legend((x, y, own, high), one))
            found.append(marks_line((x, y + high + 3.0, own, 0.0), bench.theme, tuple(marks)))

    # ---- heads: name and step of each column, size of the difference

    def _heads(self, sketch: Sketch, frame: Compared) -> None:
        """Draw the three heads for one moment; low boxes have only a letter."""
        pair, theme = self._pair, self._bench.theme
        for k, (box, name) in enumerate(zip(self.columns.heads, (*NAMES, pair.of), strict=True)):
            x, low = box[0], box[3] <= LETTER
            y = box[1] + (24.0 if low else 20.0 if box[3] < 60 else 28.0)
            sketch.text(x, y, name, TITLE, theme.text1, bold=True)
            if low:
                continue
            at = x + measure(name, TITLE, True) + (10 if k < 2 else 12)
            if k == 2:
                self._difference(sketch, box, (at, y), frame)
                continue
            if not pair.heads:  # its line style in the time bar
                colour, dash = ((theme.text1, None), (theme.text3, DASH))[k]
                sketch.polyline([(at, y - 5.0), (at + _SAMPLE, y - 5.0)], colour, 2.0, dash=dash)
                at += _SAMPLE + 8
            if pair.names[k] != name:
                sketch.text(at, y, cut(pair.names[k], x + box[2] - at), LABEL, theme.text2)
            if pair.heads:
                sketch.text(x, y + _LINE + 4, fitted(pair.heads[k], box[2]), LABEL, theme.text2)
            else:
                self._moment(sketch, box, y + _LINE + 4, frame.step, frame.frames[k])

    def _moment(self, sketch: Sketch, box: Box, y: float, step: int, frame: Frame) -> None:
        """Draw a column's step and loss; a step other than the requested one is emphasised."""
        theme, x, right = self._bench.theme, box[0], box[0] + box[2]
        for word, value in (("step", f"{frame.step:,}"), ("loss", loss_text(frame.display_loss))):
            if x + measure(word, LABEL) + 6 + measure(value, TITLE, True) > right:
                return
            x = sketch.text(x, y, word, LABEL, theme.text3) + 6
            x = sketch.text(x, y, value, TITLE, theme.text1, bold=True) + 16
        rate = f"lr {rate_text(frame.lr)}"
        ways = [f"its last before {step:,}", "another step"] if frame.step < step else []
        ways = ways or ([f"its first, after {step:,}"] if frame.step > step else [rate])
        if line := next((way for way in ways if x + measure(way, LABEL) <= right), ""):
            sketch.text(x, y, line, LABEL, theme.text2)
        elif ways[0] != rate and box[3] > 2 * _LINE + 24:
            sketch.text(box[0], y + _LINE, cut(ways[0], box[2]), LABEL, theme.text2)

    def _difference(self, sketch: Sketch, box: Box, after: Point, frame: Compared) -> None:
        """Draw what the difference is of, where it is largest, and what could not be compared."""
        bench, left_out, (x, _, wide, high), (at, y) = self._bench, self._pair.left_out, box, after
        theme, shows = bench.theme, bench.colouring.shows
        sketch.text(at, y, cut(f"difference of {shows.words}s", x + wide - at), LABEL, theme.text2)
        numbers = shows.numbers(frame)
        assert numbers is not None  # every frame has the compared quantities
        said = largest_words(numbers, frame.known(shows.name), lambda index: who(bench.subject, index).name)
        line = fitted(said, wide) or fitted(said.partition(":")[0], wide)
        sketch.text(x, y + _LINE + 4, line, LABEL, theme.text2)
        if left_out and high > 2 * _LINE + 24:
            more = f"  ·  {len(left_out) - 1} more" if len(left_out) > 1 else ""
            line = cut(f"left out: {Names(bench.subject).plain(left_out[0])}{more}", wide)
            sketch.text(x, y + 2 * _LINE + 4, line, LABEL, theme.weight[1])

    # ---- the selected cube: its numbers, their difference, and how both moved

    def _pair_words(self, index: int, frame: Frame) -> tuple[str, list[str]]:
        """Return both numbers of a cube and their difference, for the quantity that is shown."""
        assert isinstance(frame, Compared)
        colouring = self._bench.colouring

        def number(one: Frame) -> str:
            numbers = colouring.shows.numbers(one)
            there = bool(one.known(colouring.quantity)[index])
            return figure(float(numbers[index])) if numbers is not None and there else "not computed yet"

        when = [f"  at step {one.step:,}" * (not self._pair.heads) for one in frame.frames]
        lines = [f"{name}: {number(one)}{at}" for name, one, at in zip(NAMES, frame.frames, when, strict=True)]
        return "", [*lines, f"{self._pair.of}: {number(frame)}"]

    def _card(self, sketch: Sketch, box: Box, frame: Compared, index: int) -> None:
        """Draw the card; a step that differs from the frame's is written beside the letter."""
        (x, y, wide, high), pair, theme = box, self._pair, self._bench.theme
        sketch.rect(x, y, wide, high, fill=theme.panel, stroke=theme.border, radius=6)
        page = InspectorColumn(x + _PAD, y, wide - 2 * _PAD, theme, sketch=sketch)
        known = [part for name, part in _PARTS.items() if not pair.lacks(name)]
        names = [name if one.step == frame.step else f"{name} at {one.step:,}"
                 for name, one in zip(NAMES, frame.frames, strict=True)]  # fmt: skip
        first = page.x + max(measure(word, LABEL) for word in (*names, pair.of)) + 16
        used = first - x + _STEP * len(known)
        curve = wide - used - _PAD >= _CURVE_FROM and self.records(index) != (None, None)
        known_as, end = who(self._bench.subject, index), x + used - _PAD if curve else page.right
        draw_heading(page, y + _HEAD, end, known_as.name, known_as.code_words)
        for k, (word, _) in enumerate(known):
            sketch.text(first + _STEP * k, y + _HEAD + _ROW, word, LABEL, theme.text3)
        for line, (name, of) in enumerate(zip((*names, pair.of), (*frame.frames, frame), strict=True)):
            down = y + _HEAD + (line + 2) * _ROW
            sketch.text(page.x, down, name, LABEL, theme.text2, bold=line < 2)
            for k, (_, part) in enumerate(known):
                there = of.known("weight" if part == "values" else part)[index]
                text = figure(float(getattr(of, part)[index])) if there else "none yet"
                sketch.text(first + _STEP * k, down, text, LABEL, theme.text1)
        if curve:
            self._curves(page, (x + used, y, wide - used - _PAD, high), frame, index)

    def records(self, index: int) -> tuple[WeightRecord | None, ...]:
        """Return how a weight moved, in a and in b; computed once per selected weight."""
        return self._records.get(index, lambda: self._pair.weight_records(index))

    def _curves(self, page: InspectorColumn, box: Box, frame: Compared, index: int) -> None:
        """Draw how both weights moved up to the last step that is shown."""
        (x, y, wide, high), (first, last), ways = box, self._pair.span, list[Moved]()
        for record, one in zip(self.records(index), frame.frames, strict=True):
            steps: Float = np.zeros(0) if record is None else np.minimum(record.steps, last).astype(float)
            there = steps >= first
            values: Float = np.zeros(0) if record is None else record.values[there]
            now = min(max(one.step, first), last), float(one.values[index])
            ways.append(Moved(steps[there], values, *now))
        title = f"value since step {first:,}"
        title = title if measure(title, LABEL) <= wide else "value"
        page.sketch.text(x + wide, y + _HEAD, title, LABEL, page.theme.text3, anchor="right")
        draw_moved(page, (x, y + _HEAD + 12, wide, high - _HEAD - 26), *ways)


def largest_words(values: NDArray[np.floating], known: NDArray[np.bool_], name_of: Callable[[int], str] = str) -> str:
    """Say where a difference (P,) is largest, or that there is none. `known` marks the places with two numbers."""
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


# ---- The places of the three views, in logical pixels.

HEAD, SMALL_HEAD, LETTER = 78.0, 54.0, 34.0
"""Height of a head: normal, in a low picture, and with only a letter."""
_SMALL = 500.0  # logical pixels of a picture that is low


@dataclass(frozen=True, slots=True)
class Columns:
    """The places of a comparison."""

    boxes: tuple[Box, ...]  # of the columns, all of one size: the last ends with the picture, another below the next
    heads: tuple[Box, ...]  # of the heads
    legends: tuple[Box, ...]  # of the two and of the difference; empty without room
    scene: Box  # of the difference, which is the last


def columns_of(places: Places, shown: bool) -> tuple[Columns, Places]:
    """Return the columns of a picture, and its places with the last column as the scene.

    `shown` False: the cubes alone.
    """
    (width, height), strip = places.size, places.strip
    standing, bottom = height > width, places.scene[1] + places.scene[3]
    if standing and strip is not None:  # no words are below the legends: the cubes have their room
        strip = (strip[0], strip[1] + strip[3] - STRIP, strip[2], STRIP)
        bottom = strip[1] - 8.0
    along = floor((bottom if standing else width) * places.scale / 3) / places.scale  # whole pixels: drawn alike
    across, down = (0.0, along) if standing else (along, 0.0)
    boxes = tuple((k * across, k * down, width - 2 * across, height - 2 * down) for k in range(3))
    wide = across or width
    head = (SMALL_HEAD if standing or height < _SMALL else HEAD) if shown else LETTER
    x, y, *_ = boxes[-1]
    scene = (x, y + head, wide, max((down or bottom) - head, 1.0))
    pad = min(float(MARGIN), 0.05 * wide)  # left and right of the text in a column
    heads = tuple((x + pad, y, wide - 2 * pad, head) for x, y, *_ in boxes)
    legends: tuple[Box, ...] = ()
    if strip is not None:
        _, y, _, tall = strip
        own = (wide - 2 * pad - _GAP) / 2 if standing else wide - 2 * pad
        x = width - pad - own if standing else 2 * wide + pad
        legends = ((pad, y, x - _GAP - pad - (0.0 if standing else pad), tall), (x, y, own, tall))
    return Columns(boxes, heads, legends, scene), replace(places, scene=scene)


LEAST = 330.0
"""Least width of a card."""


def card_box(legends: Sequence[Box]) -> Box | None:
    """Return the box of the card, right of the legend of the two, or None without room."""
    if not legends:
        return None
    x, y, wide, high = legends[0]
    room = wide - LEGEND - _GAP
    return (x + LEGEND + _GAP, y - 11.0, room, high + 15.0) if room >= LEAST else None


# ---- `DifferenceScale`: the range and the colours of differences between rows of activations.


class DifferenceScale(ActivationScale):
    """One range for the differences of all rows, symmetric about 0; `of` is the name of the difference."""

    def __init__(self, stages: Sequence[Stage], theme: Theme, of: str) -> None:
        super().__init__(stages, theme)
        self.cmap, self._of = get_map(MAP, theme), of

    def legend(self) -> LegendScale:
        """Return the words of the legend."""
        return replace(super().legend(), title=f"activation, {self._of}", note="")

    def change(self, theme: Theme) -> None:
        """Change the theme."""
        self.cmap = get_map(MAP, theme)

    def update(self, frame: Frame, seconds: float | None) -> None:
        """Take over a frame of differences."""
        rows = [np.ravel(np.asarray(row, float)) for name, row in frame.activations.items() if name in self._rows]
        (v,) = self._tracker.follow([extent(np.concatenate([*rows, np.zeros(0)]))], seconds)
        self.growing, self.range = self._tracker.growing, Range(-v, v)


def both_rows(a: Frame, b: Frame) -> Frame:
    """Return the first frame with the rows of both, one after the other; they set the range that both share."""
    rows = {name: np.concatenate([np.ravel(row), np.ravel(b.activations[name])])
            for name, row in a.activations.items() if name in b.activations}  # fmt: skip
    return replace(a, activations=rows)
