"""The drawer of a map over a plane: its picture, what lies over it, and what a hand does with its points."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...run.panels import PlaneMap, Points
from ...run.source import Moment
from ..ink.axes import Axes, Scale
from ..ink.maps import class_colours, signed_shades
from ..ink.overlay import pointer_label
from ..ink.places import COLUMN
from ..ink.sketch import Box, Kept, Sketch, rgba
from ..ink.text import number, short
from ..ink.widgets import Toggle
from .drawer import Drawer, Ground, Point, sentence
from .plane_picture import Parts, answers, around, boundary, boundary_sketch, finer, parts_of, shades, words
from .plane_work import PlaneWork
from .points import PointsDrawer

_ROOM = (0.0, 0.0, float(COLUMN), 0.0)
_LEAST = 232.0  # side of the smallest map in the column
_SMALL = 140.0  # and beside the controls
TEST, HARD = 0, 1  # places of the switches
LEARNT, BACK = 7.6, 8.6
"""Diameters with their rims: of points that are learnt from, and of hollow ones that are held back."""
RING, _RINGED = 19.5, 1.45
"""Diameter, with its edges, of the ring around the point whose way is drawn, and the width of an edge."""


class PlaneDrawer(PointsDrawer[PlaneMap]):
    """Map, line, points, words.

    Attributes
    ----------
    toggles : tuple of Toggle
        Whether points that are held back are shown, and whether every answer is drawn as if it were certain.
    work : PlaneWork
        The numbers.
    """

    name = "plane"
    plot = "map"
    worth = 3
    needs = ("predict",)

    def __init__(self, panel: PlaneMap, ground: Ground) -> None:
        super().__init__(panel, ground)
        high = around(panel, _ROOM, hands=ground.hints)
        self.height, self.most, self.overlay = _LEAST + high, COLUMN + high, (220.0, 220.0 + high)
        self.least = _SMALL + high
        self.work = PlaneWork(panel.across, panel.up, panel.inputs, panel.cells, ground.hints)
        self.toggles = Toggle("", on=True), Toggle("discretise")
        self.choices = (("Click", "a point of the map: show its way"),) if panel.points else ()
        self._parts: Parts | None = None
        self._pixels: NDArray[np.uint8] | None = None
        self._line: Sketch | None = None
        self._moment: Moment | None = None
        self._said = Kept[Sketch]()
        self._dots: Sketch | None = None
        self._error = ""

    def keep(self, other: Drawer[Any]) -> None:
        """The switches, and where the pointer is."""
        if isinstance(other, PlaneDrawer):
            self.toggles, self.pointer = other.toggles, other.pointer

    @property
    def moving(self) -> bool:
        """Whether the picture is of a frame before."""
        return not self._error and self._moment is not None and self.work.late(self._moment)

    # ---- what it looks like

    def lay_out(self, box: Box) -> None:
        """Map and words in their places."""
        self._parts = parts_of(self.panel, box, hands=self.ground.hints)
        self._points = self._pixels = None
        across, up = (Scale(axis.least, axis.most) for axis in (self.panel.across, self.panel.up))
        self.axes = Axes(self._parts.map, across, up)

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        """The network's answers at this moment, or what is wrong with the scene's own functions."""
        self._moment = moment
        try:
            changed = self._work_on(moment)
            points = None if self.panel.points is None else self.panel.points(moment)
        except Exception as error:  # the scene's own: its place says so, and the picture goes on
            self._error = self.ground.failed(f"panel {self.panel.title!r}", error)
            return [sentence(box, self.ground.theme, self._error)]
        self._error = ""
        parts = self._parts or parts_of(self.panel, box, hands=self.ground.hints)
        start = time.perf_counter()
        if changed or self._pixels is None or self._line is None:
            self._paint(parts)
        if changed:
            self.work.spent(time.perf_counter() - start)
        self._place(points)
        return self._sketches(parts)

    def _work_on(self, moment: Moment) -> bool:
        """Work out what there is time for, the first picture as a whole; returns whether the numbers are others."""
        changed = False
        while not changed:
            changed = self.work.update(moment, lambda m, samples: answers(self.panel, m, m.predict(samples)))
            if self.work.rows is not None:
                break
        return changed

    def _paint(self, parts: Parts) -> None:
        rows, theme = self.work.rows, self.ground.theme
        assert rows is not None
        hard = self.toggles[HARD].on
        if hard and self.panel.cells is None:  # its edge is the line, not that of a cell
            self._pixels = shades(self.panel, finer(rows, -(-COLUMN // len(rows))), theme, hard=True)
        else:
            self._pixels = shades(self.panel, rows, theme, hard=hard)
        self._line = boundary_sketch(parts.map, boundary(self.panel, rows), theme)

    def _place(self, points: Points | None) -> None:
        """Where the points are drawn, hollow ones above; kept while they are the same."""
        if points is None or (self._points is not None and _same(self._points, points)):
            self._points = points if points is None else self._points
            return
        self._points, self._dots = points, Sketch()
        self.put(points)
        inks = self._inks(np.asarray(points.target))
        back = points.back
        for some, hollow in ((~back, False), (back & self.toggles[TEST].on, True)):
            those, size = some & self.seen, BACK if hollow else LEARNT
            self._dots.discs(self.spots[those], size, inks[those], rim=self.ground.theme.ink, hollow=hollow)
        if not self.toggles[TEST].on:
            self.spots[back] = np.inf

    def _inks(self, targets: NDArray[np.number]) -> NDArray[np.float64]:
        """Colours (N, 3) in 0..1: the whole range of the map, or the classes' own."""
        if not self.panel.classes:
            shades = signed_shades(targets[:, None], self.panel.span, self.ground.theme)
            return np.asarray(shades[:, 0] / 255.0, np.float64)
        numbers = np.nan_to_num(targets.astype(float)).astype(int)
        count = len(self.panel.classes)
        return np.asarray(class_colours(count)[np.clip(numbers, 0, count - 1)])

    def _sketches(self, parts: Parts) -> Sequence[Sketch]:
        picture = Sketch()
        assert self._pixels is not None
        assert self._line is not None
        picture.image(parts.map, self._pixels, linear=self.panel.cells is None and not self.toggles[HARD].on)
        shown = [] if self._points is None or self._dots is None else [self._dots, *self._ring()]
        return [picture, self._line, *shown, self._words(parts)]

    def _words(self, parts: Parts) -> Sketch:
        """Kept while they are the same."""
        late, points, of = self.moving, self._points, self.work.moment
        age = f"step {of.step:,}" if late and of is not None else ""
        back = np.ones(0, bool) if points is None else points.back[self.seen]
        train, test = not back.all(), bool(back.any())
        key = (parts, self.ground.theme, age, train, test, *((toggle.on, toggle.over) for toggle in self.toggles))
        hands = self.toggles if self.ground.hints else ()
        look = self.panel, parts, self.ground.theme
        return self._said.of(key, lambda: words(*look, train=train, test=test, age=age, toggles=hands))

    def _ring(self) -> Sequence[Sketch]:
        """The point whose way is drawn once more, above all others and in a ring."""
        index, points, theme = self.drawn_way, self._points, self.ground.theme
        if index is None or points is None or not np.isfinite(self.spots[index]).all():
            return ()
        sketch, at, held = Sketch(), self.spots[index : index + 1], bool(points.back[index])
        sketch.discs(at, RING, [rgba(theme.selection)[:3]], rim=theme.background, border=_RINGED, hollow=True)
        ink = self._inks(np.asarray(points.target)[index : index + 1])
        sketch.discs(at, BACK if held else LEARNT, ink, rim=theme.ink, hollow=held)
        return [sketch]

    # ---- hands

    def samples(self, points: Points) -> NDArray[np.floating]:
        """Of the plane's own points."""
        return np.asarray(self.panel.inputs(np.asarray(points.x, float)), float)

    def click(self, at: Point) -> bool:
        """A switch; a point whose way is to be drawn; or an empty place for one more point."""
        for toggle in self.toggles if self.ground.hints else ():
            if toggle.at(at):
                toggle.on, self.stale, self._pixels, self._points = not toggle.on, True, None, None
                return True
        return super().click(at)

    def hover(self, at: Point | None) -> bool:
        """A place of the map says what the network makes of it; a switch lights up."""
        before = self.pointer, [toggle.over for toggle in self.toggles]
        self.pointer = None if at is None or self.numbers(at) is None else at
        for toggle in self.toggles:
            toggle.over = at is not None and self.ground.hints and toggle.at(at)
        lit = [toggle.over for toggle in self.toggles]
        self.stale |= lit != before[1]
        return before != (self.pointer, lit)

    def label(self, moment: Moment, size: tuple[float, float]) -> Sequence[Sketch]:
        """Where the pointer is, what the network says there, and what a click would do."""
        at = self.pointer
        place, index = (None, None) if at is None else (self.numbers(at), self.under(at))
        if at is None or place is None or self._error:
            return ()
        across, up = self.panel.across, self.panel.up
        where = f"{across.name} {short(across.units(place[0]))}, {up.name} {short(up.units(place[1]))}"
        wanted = [] if index is None or self._points is None else [self._wanted(self._points, index)]
        adds = None if self.panel.edits is None else self.panel.edits.adds
        kind = f"a point ({adds()})" if adds is not None and adds() else "a point"
        more = [*wanted, *self.says(index, kind)]
        return [pointer_label(at, size, where.strip(), self._says(moment, place), more, self.ground.theme)]

    def _says(self, moment: Moment, place: Point) -> str:
        """What the network makes of a place."""
        made = moment.predict(self.panel.inputs(np.array([place])))
        found = answers(self.panel, moment, made)[0]
        if not self.panel.classes:
            return number(float(found[0]), 3, signed=self.panel.span[0] < 0)
        if not np.isfinite(found).all():
            return "NaN"
        best = int(np.argmax(found))
        return f"{self.panel.classes[best]} {100 * found[best]:.0f} %"

    def _wanted(self, points: Points, index: int) -> str:
        """What a point should become, and of which kind it is."""
        kind, target = "test" if points.back[index] else "train", float(points.target[index])
        names, says, span = self.panel.classes, self.panel.says, self.panel.span
        if names and target.is_integer() and 0 <= target < len(names):
            word = names[int(target)]
        else:
            word = says[span.index(target)] if target in span else short(target)
        return f"wanted: {word} ({kind})"


def _same(one: Points, other: Points) -> bool:
    """Whether two sets of points are the same."""
    return one is other or (
        np.array_equal(one.x, other.x)
        and np.array_equal(one.target, other.target)
        and np.array_equal(one.back, other.back)
    )
