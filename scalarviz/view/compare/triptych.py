"""`Triptych`: a workbench of a difference, which draws left of it, with the same camera, what it is the difference of.

All three have one layout, so a cube stands in the same place of each column: what is pointed at in one is pointed at in
all. The two share a range, in which a colour means the same number; the difference has a range and a map of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...run.core.frame import Frame, Past
from ...run.questions.ranges import settled
from ...run.sources.recorded_pair import NAMES, Compared, RecordedPair
from ..cubes.outline import brackets, seen_outline
from ..cubes.quantity import Quantity
from ..cubes.scale import ActivationScale, Coloring
from ..cubes.sizes import Sizing
from ..cubes.slab import SlabVisual
from ..draw.gl import Viewport, gloo
from ..draw.painter import Painter, clipped
from ..draw.places import LABEL, MARGIN, Box
from ..draw.sketch import Sketch
from ..draw.text import figure, measure
from ..draw.theme import Theme
from ..panels.hud import fitted
from ..panels.marks import marks_line, marks_on
from ..panels.strip import LEGEND, Strip
from ..touched.selection import Selection
from ..touched.touch import plate_of
from ..workbench import Workbench
from .card import Chosen, box_of, card
from .columns import GAP, Columns, columns_of
from .heads import heads
from .rows import MAP, DifferenceScale, both_rows
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
