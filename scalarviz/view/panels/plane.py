"""The drawer of a map over a plane: its picture, what lies over it, and what a hand does with its points."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...run.panels import PlaneMap, Points
from ...run.source import Moment
from ..draw.maps import class_colours, signed_shades
from ..draw.places import COLUMN
from ..draw.sketch import Box, Sketch, rgba
from ..draw.text import number, short
from ..draw.theme import Theme
from ..shown.probed import number_of
from .drawer import Drawer, Ground, Point, sentence
from .image import words_of
from .overlay import pointer_label
from .plane_picture import Parts, answers, around, boundary, boundary_sketch, finer, parts_of, shades, words
from .plane_work import PlaneWork
from .toggle import Toggle

_ROOM = (0.0, 0.0, float(COLUMN), 0.0)
_LEAST = 232.0  # side of the smallest map in the column
_SMALL = 140.0  # and beside the controls
TEST, HARD = 0, 1  # places of the switches


class PlaneDrawer(Drawer[PlaneMap]):
    """Map, line, points, words.

    Attributes
    ----------
    toggles : tuple of Toggle
        Whether points that are held back are shown, and whether every answer is drawn as if it were certain.
    work : PlaneWork
        The numbers.
    """

    name = "plane"
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
        self.lessons = _LESSONS if panel.edits else ()
        self._points: PlanePoints | None = None
        self._parts: Parts | None = None
        self._pixels: NDArray[np.uint8] | None = None
        self._line: Sketch | None = None
        self._moment: Moment | None = None
        self._said: tuple[tuple[object, ...], Sketch] | None = None
        self._ringed: tuple[PlanePoints, NDArray[np.floating], int | None] | None = None
        self._error = ""
        self._pointer: Point | None = None
        self._pressed = False
        self._removes: int | None = None

    def keep(self, other: Drawer[Any]) -> None:
        """The switches, and where the pointer is."""
        if isinstance(other, PlaneDrawer):
            self.toggles, self._pointer = other.toggles, other._pointer

    @property
    def moving(self) -> bool:
        """Whether the picture is of a frame before."""
        return not self._error and self._moment is not None and self.work.late(self._moment)

    # ---- what it looks like

    def lay_out(self, box: Box) -> None:
        """Map and words in their places."""
        self._parts = parts_of(self.panel, box, hands=self.ground.hints)
        self._points = self._pixels = None

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        """The network's answers at this moment, or what is wrong with the scene's own functions."""
        self._moment = moment
        try:
            changed = self._work_on(moment)
            points = None if self.panel.points is None else self.panel.points(moment)
        except Exception as error:  # the scene's own: its place says so, and the picture goes on
            return [self._wrong(box, error)]
        self._error = ""
        parts = self._parts or parts_of(self.panel, box, hands=self.ground.hints)
        start = time.perf_counter()
        if changed or self._pixels is None or self._line is None:
            self._paint(parts)
        if changed:
            self.work.spent(time.perf_counter() - start)
        self._place(points, parts)
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

    def _place(self, points: Points | None, parts: Parts) -> None:
        """Where the points are drawn; kept while they are the same."""
        if points is None:
            self._points = None
        elif self._points is None or not _same(self._points.points, points):
            self._points = PlanePoints(self.panel, points, parts.map, self.ground.theme)

    def _sketches(self, parts: Parts) -> Sequence[Sketch]:
        picture, over = Sketch(), self._points
        assert self._pixels is not None
        assert self._line is not None
        picture.image(parts.map, self._pixels, linear=self.panel.cells is None and not self.toggles[HARD].on)
        shown = over.sketches(back=self.toggles[TEST].on) if over is not None else ()
        return [picture, self._line, *shown, *self._ring(), self._words(parts)]

    def _words(self, parts: Parts) -> Sketch:
        """Kept while they are the same."""
        late, over, of = self.moving, self._points, self.work.moment
        age = f"step {of.step:,}" if late and of is not None else ""
        train, test = over is not None and over.shows_train, over is not None and over.shows_back
        key = (parts, self.ground.theme, age, train, test, *((toggle.on, toggle.over) for toggle in self.toggles))
        if self._said is None or self._said[0] != key:
            toggles = self.toggles if self.ground.hints else ()
            sketch = words(self.panel, parts, self.ground.theme, train=train, test=test, age=age, toggles=toggles)
            self._said = key, sketch
        return self._said[1]

    def _ring(self) -> Sequence[Sketch]:
        """Around the point whose way is drawn."""
        probe, over = self.ground.subject.probe, self._points
        if probe is None or over is None or not len(over.kept):
            return ()
        if self._ringed is None or self._ringed[0] is not over or not np.array_equal(self._ringed[1], probe):
            samples = np.asarray(self.panel.inputs(np.asarray(over.points.x, float)), float)
            self._ringed = over, probe.copy(), number_of(samples, probe)
        index = self._ringed[2]
        if index is None or (over.points.back[index] and not self.toggles[TEST].on):
            return ()
        ring = over.ringed(index)
        return () if ring is None else [ring]

    def _wrong(self, box: Box, error: Exception) -> Sketch:
        said = words_of(error)
        if said != self._error:
            self.ground.notes.append(f"panel {self.panel.title!r}: {said}")
        self._error = said
        return sentence(box, self.ground.theme, said)

    # ---- hands

    def place(self, at: Point) -> Point | None:
        """A point of the picture as one of the plane; None beside the map."""
        if self._parts is None or self.box is None:
            return None
        x, y, wide, high = self._parts.map
        across, up = (at[0] - x) / wide, (y + high - at[1]) / high
        if not (0 <= across <= 1 and 0 <= up <= 1):
            return None
        one, other = self.panel.across, self.panel.up
        return one.least + across * (one.most - one.least), other.least + up * (other.most - other.least)

    def _under(self, at: Point) -> int | None:
        """Number of the point at a place of the picture."""
        return None if self._points is None else self._points.at(at, back=self.toggles[TEST].on)

    @property
    def _edits(self) -> bool:
        return self.panel.edits is not None and self.ground.teaches

    def press(self, at: Point, button: str) -> bool:
        """The right button on a point takes it away when it is let go there."""
        self._pressed = self.place(at) is not None
        mine = self._pressed and button == "right"  # a click of the left one means other things
        self._removes = self._under(at) if mine and self._edits else None
        return mine

    def drag(self, at: Point, by: Point, button: str) -> bool:
        """The map does not turn, nor does anything behind it."""
        return self._pressed

    def release(self, at: Point) -> None:
        """Without the point that the right button was pressed on."""
        index, self._removes = self._removes, None
        if index is not None and self._under(at) == index and self.panel.edits is not None:
            edit = self.panel.edits.remove(index)
            if edit is not None:
                self.ground.subject.source.edit(edit)

    def click(self, at: Point) -> bool:
        """A switch; a point whose way is to be drawn; or an empty place for one more point."""
        for toggle in self.toggles if self.ground.hints else ():
            if toggle.at(at):
                toggle.on, self.stale, self._pixels = not toggle.on, True, None
                return True
        place, index, over = self.place(at), self._under(at), self._points
        if place is None:
            return False
        if index is not None and over is not None:
            return self._choose(over.points, index)
        if not self._edits or self.panel.edits is None:
            return False
        edit = self.panel.edits.add(place)
        if edit is not None:
            self.ground.subject.source.edit(edit)
        return True

    def _choose(self, points: Points, index: int) -> bool:
        """The way of a point is drawn."""
        if not self.ground.chooses():
            return False
        sample = np.asarray(self.panel.inputs(np.asarray(points.x, float)[index : index + 1]), float)[0]
        wanted = self.ground.subject.sample.target
        one = wanted is not None and wanted.size == 1
        target = np.asarray(points.target[index : index + 1], float) if one else None
        self.ground.choose(sample, target)
        self.stale = True
        return True

    def hover(self, at: Point | None) -> bool:
        """A place of the map says what the network makes of it; a switch lights up."""
        before = self._pointer, [toggle.over for toggle in self.toggles]
        self._pointer = None if at is None or self.place(at) is None else at
        for toggle in self.toggles:
            toggle.over = at is not None and self.ground.hints and toggle.at(at)
        lit = [toggle.over for toggle in self.toggles]
        self.stale |= lit != before[1]
        return before != (self._pointer, lit)

    def label(self, moment: Moment, size: tuple[float, float]) -> Sequence[Sketch]:
        """Where the pointer is, what the network says there, and what a click would do."""
        at = self._pointer
        place, index = (None, None) if at is None else (self.place(at), self._under(at))
        if at is None or place is None or self._error:
            return ()
        across, up = self.panel.across, self.panel.up
        where = f"{across.name} {short(across.units(place[0]))}, {up.name} {short(up.units(place[1]))}"
        more = []
        if index is not None and self._points is not None:
            more.append(self._wanted(self._points.points, index))
            more += ["click: show its way"] if self.ground.chooses() else []
            away = "held back: it stays" if self._points.points.back[index] else "right click: take it away"
            more += [away] if self._edits else []
        elif self._edits:
            more.append(f"click: add a point{self._kind()}")
        return [pointer_label(at, size, where.strip(), self._says(moment, place), more, self.ground.theme)]

    def _kind(self) -> str:
        """What a new point will be."""
        adds = None if self.panel.edits is None else self.panel.edits.adds
        word = "" if adds is None else adds()
        return f" ({word})" if word else ""

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


_LESSONS = (
    ("Click", "an empty place of the map: add a point"),
    ("Right click", "a point of the map: take it away"),
)


def _same(one: Points, other: Points) -> bool:
    """Whether two sets of points are the same."""
    return one is other or (
        np.array_equal(one.x, other.x)
        and np.array_equal(one.target, other.target)
        and np.array_equal(one.back, other.back)
    )


# ---- The points over a plane: where they are drawn, in which colours, and which one is under the pointer.

MOST = 2000
"""Points that are drawn at most."""
LEARNT, BACK = 7.6, 8.6
"""Diameters with their rims: of points that are learnt from, and of hollow ones that are held back."""
RING = 19.5
"""Diameter, with its edges, of the ring around the point whose way is drawn."""
_RINGED = 1.45
_REACH = 6.0  # from the middle of a point, in which it is under the pointer
_RIM = 1.0

Float = NDArray[np.floating]


class PlanePoints:
    """What is drawn of some points in a box.

    Parameters
    ----------
    panel : PlaneMap
    points : Points
    box : Box
        Of the map.
    theme : Theme

    Attributes
    ----------
    points : Points
    kept : ndarray of int
        Numbers of those that are drawn: inside of the plane, at most `MOST` of them, spread over all.
    centres : ndarray, shape (len(kept), 2)
        Logical pixels.
    """

    def __init__(self, panel: PlaneMap, points: Points, box: Box, theme: Theme) -> None:
        self.points = points
        places = np.asarray(points.x, float)
        low = np.array([panel.across.least, panel.up.least])
        size = np.array([panel.across.most, panel.up.most]) - low
        with np.errstate(invalid="ignore"):
            part = (places - low) / size
            inside = np.flatnonzero(((part >= 0) & (part <= 1)).all(axis=1))
        if len(inside) > MOST:
            inside = inside[np.linspace(0, len(inside) - 1, MOST).astype(int)]
        self.kept = inside
        x, y, wide, high = box
        part = part[inside] * [1, -1] + [0, 1]
        self.centres: Float = (np.array([x, y]) + part * [wide, high]).astype(np.float32)
        self._back = points.back[inside]
        self._colours = _colours(panel, np.asarray(points.target)[inside], theme)
        self._theme = theme

    @property
    def shows_train(self) -> bool:
        """Whether some of those that are drawn are learnt from."""
        return not self._back.all()

    @property
    def shows_back(self) -> bool:
        """Whether some of those that are drawn are held back."""
        return bool(self._back.any())

    def sketches(self, *, back: bool) -> Sequence[Sketch]:
        """The points, hollow ones above, or without those that are held `back`."""
        sketch, ink = Sketch(), self._theme.ink
        plain, hollow = ~self._back, self._back
        sketch.discs(self.centres[plain], LEARNT, self._colours[plain], rim=ink, border=_RIM)
        if back and hollow.any():
            sketch.discs(self.centres[hollow], BACK, self._colours[hollow], rim=ink, border=_RIM, hollow=True)
        return [sketch]

    def ringed(self, number: int) -> Sketch | None:
        """One of those that are drawn once more, above all others and in a ring; None where it is not drawn."""
        sketch, theme = Sketch(), self._theme
        found = np.flatnonzero(self.kept == number)
        if not len(found):
            return None
        held, size = bool(self._back[found[0]]), BACK if self._back[found[0]] else LEARNT
        ring = np.array([rgba(theme.selection)[:3]], np.float32)
        sketch.discs(self.centres[found], RING, ring, rim=theme.background, border=_RINGED, hollow=True)
        sketch.discs(self.centres[found], size, self._colours[found], rim=theme.ink, border=_RIM, hollow=held)
        return sketch

    def at(self, point: tuple[float, float], *, back: bool) -> int | None:
        """Number of the point that is seen there, those that are held `back` or without them; None beside all."""
        away = np.hypot(self.centres[:, 0] - point[0], self.centres[:, 1] - point[1])
        away = np.where(self._back & (not back), np.inf, away)
        if not len(away) or away.min() > _REACH:
            return None
        return int(self.kept[int(np.argmin(away))])


def _colours(panel: PlaneMap, targets: NDArray[np.number], theme: Theme) -> Float:
    """Colours (N, 3) in 0..1: the whole range of the map, or the classes' own."""
    if not panel.classes:
        return np.asarray(signed_shades(targets[:, None], panel.span, theme)[:, 0] / 255.0)
    numbers = np.nan_to_num(targets.astype(float)).astype(int)
    found: Float = class_colours(len(panel.classes))[np.clip(numbers, 0, len(panel.classes) - 1)]
    return found
