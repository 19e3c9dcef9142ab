"""`Triptych`: a workbench of a difference, which draws left of it, with the same camera, what it is the difference of.

All three have one layout, so a cube stands in the same place of each column: what is pointed at in one is pointed at in
all. The two share a range, in which a colour means the same number; the difference has a range and a map of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...run.core.frame import Frame, Past
from ...run.questions.ranges import settled
from ...run.sources.recorded_pair import NAMES, Compared, RecordedPair
from ...run.travel import WeightRecord
from ..cubes.atlas import Sizing
from ..cubes.outline import brackets, seen_outline
from ..cubes.scale import ActivationScale, Coloring, Quantity
from ..cubes.slab import SlabVisual
from ..ink.gl import Viewport, gloo
from ..ink.painter import Painter, clipped
from ..ink.places import LABEL, MARGIN, TITLE
from ..ink.sketch import Box, Sketch
from ..ink.text import figure, measure, short
from ..ink.theme import Theme
from ..screen.hud import fitted
from ..screen.selection import Selection, who
from ..screen.strip import LEGEND, Strip, marks_line, marks_on
from ..screen.touch import plate_of
from ..shown.subject import Subject
from ..workbench import Workbench
from .heads import GAP, MAP, Columns, DifferenceScale, both_rows, columns_of, heads
from .subject import pair_subject

Point = tuple[float, float]


class Triptych(Workbench):
    """Two recordings and their difference. Make it, and use it, with a GL context current.

    Parameters
    ----------
    pair : RecordedPair
    size, theme, cmap, quantity, **options
        See :class:`~scalarviz.view.workbench.Workbench`; `cmap` is the map of the two.
    """

    columns: Columns

    def __init__(
        self,
        pair: RecordedPair,
        size: tuple[int, int] = (1280, 720),
        theme: str | Theme = "dark",
        cmap: str | None = None,
        quantity: str = "weight",
        **options: Any,
    ) -> None:
        self.pair = pair
        self._beside: list[list[Sketch]] = [[], []]
        self._chosen: Chosen | None = None
        self._whole: tuple[Sequence[NDArray[np.floating] | None], NDArray[np.floating]] | None = None
        self._past: Past | None = None
        super().__init__(pair_subject(pair), size, theme, cmap, quantity, **options)
        self.bar.names = NAMES

    # ---- where everything stands

    def _lay_panels(self, shown: bool, opened: bool) -> Box | None:
        super()._lay_panels(shown, opened)
        self.columns, self.places = columns_of(self.places, shown)
        return None

    @property
    def _window(self) -> Box:
        """The column of the difference."""
        return self.columns.scene

    def _arrange(self) -> None:
        super()._arrange()
        self._painters = [Painter(self.places.size, self.scale) for _ in range(2)]

    def _stand(self) -> None:
        super()._stand()
        self._slabs = [SlabVisual(self.layout, self.theme, two.cmap, self._rows.cmap) for two in self._two]
        self._strips = [Strip(self.subject, self.theme, two, self._rows, rows=False, single=False,
                              density=self.scale) for two in self._two]  # fmt: skip
        for strip in self._strips:
            strip.sizing = self.sizing

    def _make(self, quantity: str | Quantity) -> None:
        super()._make(quantity)
        name = self.colouring.quantity
        self.colouring.change(self.theme, name, MAP)
        self.colouring.of, self.colouring.scope = self.pair.of, "the difference"
        self._two = [Coloring(self.subject.tensors, self.theme, name, self.cmap_name or None) for _ in range(2)]
        for two in self._two:
            two.scope = "both"
        self._rows = ActivationScale(self.subject.stages, self.theme, sheet=self.subject.sample.sheet)
        self.activations = DifferenceScale(self.subject.stages, self.theme, self.pair.of)
        self.touch.says = self._said

    def set_look(
        self,
        *,
        quantity: str | None = None,
        cmap: str | None = None,
        theme: str | Theme | None = None,
        sizing: Sizing | None = None,
    ) -> None:
        """See :meth:`Workbench.set_look`; the map is that of the two, a difference keeps its own."""
        super().set_look(quantity=quantity, cmap=cmap, theme=theme, sizing=sizing)
        shows = self.colouring.quantity
        self.colouring.change(self.theme, shows, MAP)
        self.slab.set_colours(self.colouring.cmap)
        for two, slab, strip in zip(self._two, self._slabs, self._strips, strict=True):
            two.change(self.theme, shows, self.cmap_name or None)
            slab.set_theme(self.theme)
            slab.set_colours(two.cmap)
            strip.change(self.theme)
            strip.sizing = self.sizing
        self._rows.change(self.theme)
        for slab in self._slabs:
            slab.set_colours(None, self._rows.cmap)
        self.strip.change(self.theme)

    def refit_range(self) -> None:
        """Fit the ranges of the colours to the next frame shown."""
        super().refit_range()
        for two in self._two:
            two.refit()

    # ---- what is shown

    def update(self, frame: Frame, pace_text: str = "", seconds: float | None = None) -> None:
        """Take over one frame: a :class:`~scalarviz.run.sources.recorded_pair.Compared`."""
        frame = self.taken(frame)  # what the rows are called may be known only now: then all is laid out anew
        assert isinstance(frame, Compared)  # what its subject makes
        gone = self._frame is None or self._frame.step != frame.step
        if self._past is not frame.past:  # a file has grown
            self._past, self.bar.other = frame.past, self.pair.other_curve
            if self._chosen is not None:
                self._chosen = Chosen(self._chosen.index, self.pair.weight_records(self._chosen.index))
        both = frame.both
        self._colour(both, None if gone else seconds)
        super().update(frame, pace_text, seconds)
        scenery, marked = self.scenery, [self._outlined(), self._marked()]
        self._touched.insert(0, marked[:1])
        self._beside = [
            [*scenery.static, *scenery.cubes(one, two, self._rows), *scenery.around(one, two, None),
             *marked]
            for one, two in zip(both, self._two, strict=True)
        ]  # fmt: skip

    def _colour(self, both: tuple[Frame, Frame], seconds: float | None) -> None:
        """Bring the numbers of the two onto their cubes, in one range."""
        shows = self._two[0].shows.numbers
        parts = [shows(one) for one in both]
        whole = self._larger(parts)
        for one, two, slab in zip(both, self._two, self._slabs, strict=True):
            two.update(one, seconds, whole)
            slab.sizing = self.sizing
            slab.set_flat(two.drawn)
            slab.set_range(two.range)
            slab.set_flags(frozen=one.frozen, not_computed=two.missing(one) if two.quantity != "weight" else None)
        if self._has_rows:
            self._colour_rows(both, seconds)

    def _larger(self, parts: Sequence[NDArray[np.floating] | None]) -> NDArray[np.floating]:
        """The larger size of each number in the two; kept of numbers that stay."""
        kept = self._whole
        if kept is not None and all(now is then and settled(now) for now, then in zip(parts, kept[0], strict=True)):
            return kept[1]
        with np.errstate(invalid="ignore"):
            sizes = [np.where(np.isfinite(p), np.abs(p), 0.0) for p in parts if p is not None]
        whole = np.maximum(*sizes)
        whole.setflags(write=False)
        self._whole = parts, whole
        return whole

    def _colour_rows(self, both: tuple[Frame, Frame], seconds: float | None) -> None:
        """Bring the rows of the sample onto their cubes, in one range."""
        self._rows.update(both_rows(*both), seconds)
        for one, slab in zip(both, self._slabs, strict=True):
            slab.set_activations(one.activations)
            slab.set_activation_range(self._rows.range.low, self._rows.range.high, self._rows.own)

    def _texts(self, frame: Frame, pace_text: str) -> list[Sketch]:
        assert isinstance(frame, Compared)
        columns, theme = self.columns, self.theme
        sketches = self.scenery.around(frame, self.colouring, None)
        sketches += [self._lines()] if self.panels_shown else []
        sketches.append(heads(columns.heads, theme, self.pair, frame, self.subject, self.colouring.shows.words))
        if columns.legends:
            sketches += self._legends(frame)
        box = self._card_box
        if self._chosen is not None and box is not None:
            sketches.append(card(box, theme, self.pair, frame, self.subject, self._chosen))
        elif self._has_rows and box is not None:
            sketches += self._row_legends(box)
        sketches.append(self._pace_words(pace_text))
        return sketches

    def _pace_words(self, words: str) -> Sketch:
        """Whether it plays, at the right of the line of keys, as far as that leaves room."""
        sketch, wide, y = Sketch(), self.places.size[0], self.places.keys
        if y is not None and not self.theme.presenter:
            taken = sum(measure(f"{key} {does}", LABEL) + 24 for key, does in self._keys)
            x, _, across, _ = self.columns.scene
            sketch.text(x + across - MARGIN, y, fitted(words, wide - 2 * MARGIN - taken), LABEL, self.theme.text3,
                        anchor="right")  # fmt: skip
        return sketch

    def _lines(self) -> Sketch:
        """Between the columns."""
        sketch, (_, top, wide, high) = Sketch(), self.columns.scene
        for x in (wide, 2 * wide):
            sketch.line((x, 12.0), (x, top + high), self.theme.border, 1.0)
        return sketch

    def _legends(self, frame: Compared) -> list[Sketch]:
        """That of the two, and that of the difference, each with the marks that its cubes have."""
        density = self.size[0] / self.camera.size[0]
        found = []
        for box, strip, slabs, colouring, one in (
            (self.columns.legends[0], self._strips[0], self._slabs, self._two[0], frame.both[0]),
            (self.columns.legends[1], self.strip, [self.slab], self.colouring, frame),
        ):
            x, y, wide, high = box
            own = min(wide, LEGEND) if slabs is self._slabs else wide
            names = [name for slab in slabs for name in marks_on(slab, colouring, self.camera, density)]
            found.append(strip.legend((x, y, own, high), one))
            found.append(marks_line((x, y + high + 3.0, own, 0.0), self.theme, list(dict.fromkeys(names))))
        return found

    def _row_legends(self, box: Box) -> list[Sketch]:
        """Those of the rows of activations, of the two and of the difference, where no card stands."""
        x, _, wide, _ = box
        _, y, _, high = self.columns.legends[0]
        own = (wide - 2 * GAP) / 2
        return [self._strips[0].rows((x + 8, y, own, high)), self.strip.rows((x + 8 + own + GAP, y, own, high))]

    # ---- pointer

    def _shift(self, at: Point) -> Point:
        """A point in device pixels as the same of the last column."""
        behind = 2 - self.columns.column(self.to_logical(at)[0])
        return at[0] + behind * self.columns.wide * self.scale, at[1]

    def pick(self, at: Point) -> int | None:
        """Flat index of the weight whose cube is under a point in device pixels, in any column."""
        return super().pick(self._shift(at))

    @property
    def _card_box(self) -> Box | None:
        return box_of(self.columns.legends, LEGEND, GAP)

    @property
    def selected(self) -> int | None:
        """Flat index of the cube whose card is shown."""
        return None if self._chosen is None else self._chosen.index

    def select(self, selection: Selection | int | None) -> None:
        """Look into a cube by its flat index, of several into the first; None closes its card."""
        index = selection.main if isinstance(selection, Selection) else selection
        if index != self.selected:
            self._chosen = None if index is None else Chosen(index, self.pair.weight_records(index))
            self.refresh()

    def zoom(self, factor: float, at: Point) -> None:
        """Enlarge all three around a point in device pixels."""
        super().zoom(factor, self._shift(at))

    def _said(self, index: int, frame: Frame) -> tuple[str, list[str]]:
        """Both numbers of a cube and their difference, of what is shown."""
        assert isinstance(frame, Compared)
        shows = self.colouring.shows.numbers

        def number(one: Frame) -> str:
            numbers = shows(one)
            there = bool(one.known(self.colouring.quantity)[index])
            return figure(float(numbers[index])) if numbers is not None and there else "not computed yet"

        when = [f"  at step {one.step:,}" * (not self.pair.heads) for one in frame.both]
        lines = [f"{name}: {number(one)}{at}" for name, one, at in zip(NAMES, frame.both, when, strict=True)]
        return "", [*lines, f"{self.pair.of}: {number(frame)}"]

    def _outlined(self) -> Sketch:
        """The cube that is looked into, in any column."""
        sketch, index = Sketch(), self.selected
        plate = None if index is None else plate_of(self.layout, index)
        if plate is not None and index is not None:
            number, share = self.layout.plates.index(plate), self.slab.shares
            size = (share(number, index - plate.start) if share else 1.0) or 1.0
            for part in seen_outline(
                self.layout, number, index - plate.start, self.camera, self.project, self._hit, size
            ):
                sketch.polyline(part, self.theme.selection, 2.6)
        return sketch

    def _marked(self) -> Sketch:
        """What is pointed at, in a column of the two."""
        sketch, touch, theme = Sketch(), self.touch, self.theme
        hovered = touch.hovered
        if hovered is not None and (plate := plate_of(self.layout, hovered)):
            paths = brackets(plate, hovered - plate.start, self.camera, self.project)
            if paths:
                starts, ends = (np.concatenate([path[k : k + 2] for path in paths]) for k in (0, 1))
                sketch.lines(starts, ends, theme.background, 4.6, round_ends=True)
                sketch.lines(starts, ends, theme.selection, 2.6, round_ends=True)
        return sketch

    # ---- drawing

    def _draw_beside(self, viewport: Viewport) -> None:
        """The two, each as the last column is drawn, further left."""
        x, y, wide, high = (0, 0, *viewport) if len(viewport) == 2 else viewport
        left, top, column, height = self.columns.scene
        for k, (slab, painter, sketches) in enumerate(zip(self._slabs, self._painters, self._beside, strict=True)):
            shift = round((2 - k) * self.columns.wide * wide / self.places.size[0])
            with clipped((left, top, column, height), self.places.size, (x - shift, y, wide, high)):
                slab.draw(self._view.camera, viewport=(x - shift, y, wide, high))
                gloo.set_state(scissor_test=True)
                painter.draw(sketches)
        gloo.set_viewport(x, y, wide, high)


# ---- The card of one cube of a comparison: its numbers in a, in b, how far they are apart, and how both came there.

LEAST = 330.0
"""Width from which on there is room for one."""
_WORDS = {"gradient": "gradient", "update": "last update"}
_PARTS = {"weight": "values", "gradient": "gradient", "update": "update"}
_LINE, _FIRST, _PAD, _STEP = 16.0, 17.0, 12.0, 88.0
_CURVE_FROM = 70.0
_DASH = 6.0, 4.0


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """A cube that is looked into.

    Attributes
    ----------
    index : int
        Flat, of the comparison.
    records : tuple of (WeightRecord or None)
        How it moved, in a and in b.
    """

    index: int
    records: tuple[WeightRecord | None, ...]


def card(
    box: Box, theme: Theme, pair: RecordedPair, frame: Compared, subject: Subject, chosen: Chosen
) -> Sketch:  # fmt: skip
    """The card in a box; the words of the steps that are not those of the frame stand beside the letters."""
    sketch, (x, y, wide, high) = Sketch(), box
    sketch.rect(x, y, wide, high, fill=theme.panel, stroke=theme.border, radius=6)
    known = [name for name in _PARTS if not pair.lacks(name)]
    rows = [*zip(_rows(pair, frame), (*frame.both, frame), strict=True)]
    letters = max(measure(word, LABEL) for word, _ in rows) + 16
    used = _PAD + letters + _STEP * len(known)
    curve = wide - used - _PAD >= _CURVE_FROM and any(record is not None for record in chosen.records)
    _title(sketch, (x + _PAD, y, (used if curve else wide) - 2 * _PAD, high), theme, subject, chosen.index)
    for k, name in enumerate(known):
        at = x + _PAD + letters + _STEP * k
        sketch.text(at, y + _FIRST + _LINE, _WORDS.get(name, "value"), LABEL, theme.text3)
        for line, (_, one) in enumerate(rows):
            sketch.text(at, y + _FIRST + (line + 2) * _LINE, _number(one, name, chosen.index), LABEL, theme.text1)
    for line, (word, _) in enumerate(rows):
        sketch.text(x + _PAD, y + _FIRST + (line + 2) * _LINE, word, LABEL, theme.text2, bold=line < 2)
    if curve:
        _curves(sketch, (x + used, y, wide - used - _PAD, high), theme, pair, frame, chosen)
    return sketch


def _rows(pair: RecordedPair, frame: Compared) -> list[str]:
    """What each line is of, with its step where that is not the one shown."""
    of = [name if one.step == frame.step else f"{name} at {one.step:,}" for name, one in zip(NAMES, frame.both,
                                                                                          strict=True)]  # fmt: skip
    return [*of, pair.of]


def _title(sketch: Sketch, box: Box, theme: Theme, subject: Subject, index: int) -> None:
    x, y, wide, _ = box
    known = who(subject, index)
    name = known.name
    while name and measure(name, TITLE, True) > wide:
        name = f"{name.rstrip('…')[:-1]}…" if len(name) > 1 else ""
    sketch.text(x, y + _FIRST, name, TITLE, theme.text1, bold=True)
    at = measure(name, TITLE, True) + 12
    if known.meaning and at + measure(known.meaning, LABEL) <= wide:
        sketch.text(x + at, y + _FIRST, known.meaning, LABEL, theme.text2)


def _number(frame: Frame, name: str, index: int) -> str:
    """A number in words; none where the frame has none yet."""
    if not frame.known(name)[index]:
        return "none yet"
    numbers: NDArray[np.floating] = getattr(frame, _PARTS[name])
    return figure(float(numbers[index]))


def _curves(sketch: Sketch, box: Box, theme: Theme, pair: RecordedPair, frame: Compared, chosen: Chosen) -> None:
    """Both values over the steps, a as a line and b dashed, with a disc where each stands."""
    x, y, wide, high = box
    first, last = pair.span
    ways = [_way(record, first) for record in chosen.records]
    every = np.concatenate([values[np.isfinite(values)] for _, values in ways])
    if not len(every):
        return
    low, top = float(every.min()), float(every.max())
    low, top = (low, top) if top > low else (low - 0.5, top + 0.5)
    ends = [short(top, signed=True), short(low, signed=True)]
    left = x + max(measure(end, LABEL) for end in ends) + 8
    up, down = y + _FIRST + 8, y + high - 12
    title = f"value since step {first:,}"
    sketch.text(x + wide, y + _FIRST, title if measure(title, LABEL) <= wide else "value", LABEL, theme.text3,
                anchor="right")  # fmt: skip
    for end, at in zip(ends, (up + 5, down + 5), strict=True):
        sketch.text(left - 8, at, end, LABEL, theme.text3, anchor="right")

    def placed(step: NDArray[np.int64], value: NDArray[np.float64]) -> NDArray[np.float64]:
        share = np.clip((step - first) / max(last - first, 1), 0.0, 1.0)
        return np.column_stack([left + share * (x + wide - left), down - (down - up) * (value - low) / (top - low)])

    for k, ((steps, values), one) in enumerate(zip(ways, frame.both, strict=True)):
        colour, there = (theme.text1, theme.text2)[k], np.isfinite(values)
        if there.sum() > 1:
            sketch.polyline(placed(steps[there], values[there]), colour, 1.6, dash=_DASH if k else None)
        now = np.array([float(one.values[chosen.index])])
        if np.isfinite(now).all() and low <= now[0] <= top:
            ((across, high_up),) = placed(np.array([one.step]), now)
            sketch.disc(float(across), float(high_up), 3.5, fill=colour)


def _way(record: WeightRecord | None, first: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Steps and values of a record from a step on."""
    if record is None:
        return np.zeros(0, np.int64), np.zeros(0)
    since = record.steps >= first
    return record.steps[since], record.values[since]


def box_of(legends: Sequence[Box], own: float, gap: float) -> Box | None:
    """Where it stands: right of the legend of the two, which is `own` wide; None where there is no room."""
    if not legends:
        return None
    x, y, wide, high = legends[0]
    room = wide - own - gap
    return (x + own + gap, y - 11.0, room, high + 15.0) if room >= LEAST else None
