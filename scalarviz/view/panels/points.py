"""Plots of samples, which the user chooses, adds and removes: a curve of one input, a map over a plane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...run.opened.digits import number
from ...run.panels import Axis, CurveFit, PlaneMap, Points
from ...run.source import Moment
from ..ink.axes import Axes, Floats, Scale, end_texts, evenly, gutter, zero_lines
from ..ink.boxes import COLUMN, LABEL
from ..ink.listed import Listed
from ..ink.sketch import Box, Cached, Sketch, rgba
from ..ink.text import measure, short
from ..ink.theme import THEMES, Theme, class_colours, class_shades, signed_shades
from ..ink.widgets import Toggle
from ..shown.subject import number_of
from .drawer import Drawer, Ground, Point, SharedState, Slot, Tip, cut, ring_around, sentence, title_of
from .pace import Float, Grid, fractions, places

Plot = TypeVar("Plot", bound=CurveFit | PlaneMap)
DRAWN = 2000
"""Most points that are drawn, evenly chosen."""
_BETWEEN = 14.0
_JOINING = ("over", "of", "and", "at", "in")


class PointsDrawer(Drawer[Plot]):
    """Input handling for the points of a plot."""

    plot = ""
    """Name of the plot in the list of gestures."""
    reach = 6.0
    """Logical pixels around a point's middle that count as the point."""
    _points: Points | None = None
    _pressed = False
    _removes: int | None = None

    def __init__(self, panel: Plot, shared: SharedState) -> None:
        super().__init__(panel, shared)
        if panel.edits is not None:
            self.lessons = (
                ("Click", f"on an empty place of the {self.plot}: add a point"),
                ("Right click", f"on a point of the {self.plot}: remove it"),
            )
        self.axes: Axes | None = None  # the last plot
        self.spots: Floats = np.zeros((0, 2))  # place of each point; infinite if it is not drawn
        self.seen: NDArray[np.bool_] = np.zeros(0, bool)  # which points are drawn
        self._ringed = Cached[int | None]()

    def numbers(self, at: Point) -> Point | None:
        """Return the two numbers at a place of the picture; None beside the plot."""
        return None if self.axes is None else self.axes.numbers(at)

    def place_points(self, points: Points) -> None:
        """Compute the places of the points inside the plot, or of some of very many."""
        assert self.axes is not None
        x, y = np.asarray(points.x, np.float64)[:, 0], self.heights(points)
        inside = np.flatnonzero(self.axes.contains(x, y))
        self.seen = np.zeros(len(x), bool)
        self.seen[inside[evenly(len(inside), DRAWN)]] = True
        self.spots = np.where(self.seen[:, None], self.axes.points(x, y), np.inf)

    def discs(self, sketch: Sketch, points: Points, inks: Floats, sizes: Point, *, back: bool = True) -> None:
        """Draw the visible points in colours (N, 3); with `back` also the held-out ones, hollow and on top."""
        spots, held = self.spots[self.seen], points.back[self.seen]
        for some, size, hollow in ((~held, sizes[0], False), (held & back, sizes[1], True)):
            sketch.discs(spots[some], size, inks[some], rim=self.shared.theme.ink, hollow=hollow)

    def heights(self, points: Points) -> Floats:
        """Return the second number of each point."""
        return np.asarray(points.x, np.float64)[:, 1]

    def samples(self, points: Points) -> NDArray[np.floating]:
        """Return the network's inputs for points, (N, n_inputs)."""
        raise NotImplementedError

    @property
    def can_teach(self) -> bool:
        """True if the user can add and remove points."""
        return self.panel.edits is not None and self.shared.can_teach

    @property
    def drawn_way(self) -> int | None:
        """The index of the drawn point that is the probe sample, or None."""
        probe, points = self.shared.sample, self._points
        if probe is None or points is None or not len(points.x):
            return None
        index = self._ringed.get((points, probe.tobytes()), lambda: number_of(self.samples(points), probe))
        return None if index is None or not np.isfinite(self.spots[index]).all() else index

    def under(self, at: Point) -> int | None:
        """Return the index of the point drawn there, or None."""
        if not len(self.spots):
            return None
        away = np.hypot(*(self.spots - at).T)
        return int(away.argmin()) if away.min() <= self.reach else None

    def says(self, index: int | None, kind: str = "") -> list[str]:
        """Return the actions of clicks on a point, or on an empty place, where a point of a kind would be added."""
        if index is None or self._points is None:
            return [f"click: add {kind}"] if self.can_teach else []
        found = self.shared.choose_tips()
        away = "held-out: it stays" if self._points.back[index] else "right click: remove it"
        return [*found, away] if self.can_teach else found

    # ---- input

    def press(self, at: Point, button: str) -> bool:
        """Take the right button on the plot; its release on the same point removes the point."""
        self._pressed = self.numbers(at) is not None
        mine = self._pressed and button == "right"  # the left button has other actions
        self._removes = self.under(at) if mine and self.can_teach else None
        return mine

    def drag(self, at: Point, by: Point, button: str) -> bool:
        """Take the drag, so that nothing turns."""
        return self._pressed

    def release(self, at: Point) -> None:
        """Remove the point that the right button was pressed on."""
        index, self._removes = self._removes, None
        if index is not None and self.under(at) == index and self.panel.edits is not None:
            self.shared.edit(self.panel.edits.remove(index))

    def click(self, at: Point) -> bool:
        """Make a point the probe sample, or add a point at an empty place."""
        place, index, points = self.numbers(at), self.under(at), self._points
        if index is not None and points is not None:
            if not self.shared.can_choose():
                return False
            wanted, own = self.shared.subject.sample.target, np.asarray(points.target[index : index + 1], float)
            self.shared.choose(self.samples(points)[index], own if wanted is not None and wanted.size == 1 else None)
            self.stale = True
            return True
        if place is None or not self.can_teach or self.panel.edits is None:
            return False
        self.shared.edit(self.panel.edits.add(place))
        return True

    def hover(self, at: Point | None) -> bool:
        """Put the pointer over a point, or over an empty place."""
        before = self.pointer
        there = at is not None and (self.under(at) is not None or (self.can_teach and self.numbers(at) is not None))
        self.pointer = at if there else None
        return before != self.pointer


def axes_over(box: Box, across: Axis, up: Axis) -> Axes:
    """Return a plot with the axes of a panel."""
    return Axes(box, Scale(across.least, across.most), Scale(up.least, up.most))


# ---- The title and the kinds of points: training points filled, held-out points hollow.


def kind_of_points(
    sketch: Sketch, right: float, base: float, word: str, theme: Theme, *, hollow: bool = False, dim: bool = False
) -> float:
    """Draw the legend of a kind of points, ending at `right`; return the right end of the remaining room."""
    ink = theme.text3 if dim else theme.text2
    left = right - measure(word, LABEL)
    sketch.text(left, base, word, LABEL, ink)
    middle = left - 9
    if hollow:
        sketch.disc(middle, base - 4.5, 4.3, stroke=ink, border=1.6)
    else:
        sketch.disc(middle, base - 4.5, 4.0, ink)
    return middle - 4.3 - _BETWEEN


def shortened(title: str, width: float) -> str:
    """Return a bold title that fits: cut before a joining word, else with an ellipsis."""
    words = title.split()
    ends = [len(words), *(k for k in range(len(words) - 1, 0, -1) if words[k] in _JOINING)]
    found = (" ".join(words[:end]) for end in ends)
    return next((part for part in found if measure(part, LABEL, True) <= width), cut(title, width, bold=True))


# ---- The drawer of a network of one input: its curve over the training points.

ERRORS = 4.0
"""Least average distance of points, in logical pixels, for drawn errors; nearer ones would be one grey area."""
APART = 12.0
"""Least average distance for large points above the curve; nearer ones would cover it."""
_PLACES = 129
_LARGE, _SMALL, _MANY = 10.0, 6.4, 5.0  # diameters of points: apart, near to each other, and more than 200
_TOP = 25.0
_FAINTEST = 0.5  # least share of the range whose colour differs visibly from the background


class CurveFitDrawer(PointsDrawer[CurveFit]):
    """Curve, points and their errors, axes."""

    name = plot = "curve"
    reach = 9.0
    height, most = 150.0, 364.0
    needs = ("predict",)
    choices = (("Click", "on a point of the curve: choose this sample"),)

    def __init__(self, panel: CurveFit, shared: SharedState) -> None:
        super().__init__(panel, shared)
        self._learnt: tuple[object, Points] | None = None  # data and their points
        self._named: tuple[Axis, Axis] | None = None
        across, up = (axis if isinstance(axis, str) else axis.name for axis in (panel.across, panel.up))
        self._over = f"{up} over {across}"
        self._title = panel.title or self._over

    # ---- what it looks like

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        """Return the curve of this moment, or the error of the scene's own functions."""
        try:
            points = self._points_of(moment)
            across, up = self._named = self._directions(points)
            left = gutter(end_texts(up.ends))
            plot = (box[0] + left, box[1] + _TOP, box[2] - left, box[3] - _TOP - 20)
            axes = self.axes = axes_over(plot, across, up)
            self.place_points(points)
            places = np.linspace(across.least, across.most, _PLACES)
            asked = np.append(places, np.asarray(points.x, np.float64)[self.seen, 0])
            found = np.asarray(moment.predict(self.panel.inputs(asked)), np.float64)[:, 0]
        except Exception as error:  # the scene's own code: show the error and continue
            self._points, self.axes, self.spots = None, None, np.zeros((0, 2))
            return [sentence(box, self.shared.theme, self.shared.report_failure(f"panel {self._title!r}", error))]
        self._points, sketch = points, Sketch()
        self._say(sketch, box, points)
        axes.ground(sketch, self.shared.theme)
        low, high = up.ends  # in the units that are printed
        if low < 0 < high:
            level = axes.box[1] + axes.box[3] * high / (high - low)
            sketch.line((axes.box[0], level), (axes.box[0] + axes.box[2], level), self.shared.theme.grid, 1.0)
        axes.ends(sketch, self.shared.theme, end_texts(across.ends), end_texts(up.ends))
        return [sketch, *self._draw(sketch, axes, places, found)]

    def _draw(self, sketch: Sketch, axes: Axes, places: Floats, found: Floats) -> Sequence[Sketch]:
        """Draw errors, curve, points; return sketches above these: the ring, and the curve if points are close."""
        assert self._points is not None
        theme, points, up, seen = self.shared.theme, self._points, axes.up, self.seen
        x, apart = np.asarray(points.x, np.float64)[seen, 0], axes.box[2] / max(len(seen), 1)
        size = _LARGE if apart >= APART else _SMALL if len(x) <= 200 else _MANY
        if apart >= ERRORS:
            said = np.clip(found[len(places) :], up.low, up.high)
            known = np.isfinite(said)
            sketch.lines(self.spots[seen][known], axes.points(x, said)[known], theme.flow, 1.6)
        starts, ends = (axes.points(*part.T) for part in inside(places, found[: len(places)], (up.low, up.high)))
        over = Sketch(over=True)
        (sketch if apart >= APART else over).lines(starts, ends, theme.text1, 2.2, round_ends=True)
        self.discs(sketch, points, self._inks(self.heights(points)[seen], up), (size, size + 1.2))
        index = self.drawn_way
        return [over, *([] if index is None else [ring_around(self.spots[index].tolist(), size / 2 + 2.6, theme)])]

    def slot(self) -> Slot | None:
        if self.axes is None or self._points is None:
            return None
        across, up, box = self.axes.across, self.axes.up, self.axes.box
        x = np.asarray(self._points.x, np.float64)[self.seen, 0]
        lined = box[2] / max(len(x), 1) >= ERRORS
        places = np.linspace(across.low, across.high, _PLACES)
        asked = self.panel.inputs(np.append(places, x) if lined else places)
        spots = np.round(self.spots[self.seen], 1).ravel().tolist() if lined else []
        return Slot("curve", 0, asked, output=0, span=(up.low, up.high), box=box, spots=spots)

    def _inks(self, targets: Floats, up: Scale) -> Floats:
        """Return colours (N, 3) of the signed map, strong enough for a dot."""
        most = max(abs(up.low), abs(up.high))
        share = np.sign(targets) * np.maximum(np.abs(targets) / most, _FAINTEST)
        return np.asarray(signed_shades(share[:, None], (-1.0, 1.0), self.shared.theme)[:, 0] / 255.0, np.float64)

    def _say(self, sketch: Sketch, box: Box, points: Points) -> None:
        """Draw the title, the names of the axes, and the legend of hollow points, or how many points are drawn."""
        x, y, width, height = box
        right = x + width
        if points.back.any():
            right = kind_of_points(sketch, right, y + 14, "test", self.shared.theme, hollow=True)
            right = kind_of_points(sketch, right, y + 14, "train", self.shared.theme)
        note = self._over if self.panel.title else ""
        note = f"{DRAWN:,} of {len(points.x):,}" if len(points.x) > DRAWN else note
        title_of(sketch, (x, y, right - x, height), self.shared.theme, shortened(self._title, right - x), note)

    # ---- numbers

    def _points_of(self, moment: Moment) -> Points:
        if self.panel.points is not None:
            return self.panel.points(moment)
        data = moment.frame.data
        if self._learnt is None or data is None or self._learnt[0] is not data:
            inputs, targets = (np.asarray(part) for part in moment.samples())
            if inputs.shape[1:] != (1,) or targets.shape[1:] != (1,):
                raise InputError(f"{self._title}: needs one input, one target")
            self._learnt = data, Points(np.repeat(inputs, 2, axis=1), targets[:, 0])
        return self._learnt[1]

    def heights(self, points: Points) -> Floats:
        """Return the targets."""
        return np.asarray(points.target, np.float64)

    def samples(self, points: Points) -> NDArray[np.floating]:
        """Return the network's inputs for points of one number."""
        return np.asarray(self.panel.inputs(np.asarray(points.x, np.float64)[:, 0]), np.float64)

    def _directions(self, points: Points) -> tuple[Axis, Axis]:
        """Return the axes of the panel, or axes around the points."""
        given = self.panel.across, self.panel.up
        needs = np.asarray(points.x)[:, 0], np.asarray(points.target)
        across, up = (around(one, own) if isinstance(one, str) else one for one, own in zip(given, needs, strict=True))
        return across, up

    def _tip(self, moment: Moment, at: Point) -> Tip | None:
        """Return a point's numbers, the network's output there in the axes' units, and the action of a click."""
        points, named, place = self._points, self._named, self.numbers(at)
        if points is None or named is None or place is None:
            return None
        (across, up), index = named, self.under(at)
        x, t = place if index is None else (float(points.x[index][0]), float(points.target[index]))
        wanted = up.units(t)
        said = up.units(float(moment.predict(self.panel.inputs(np.array([x])))[0, 0]))
        more = self.says(index, f"{up.name} {number(wanted, 2)}")
        if index is not None:
            kind = f" ({'test' if points.back[index] else 'train'})" if points.back.any() else ""
            more = [f"target {number(wanted, 2)}{kind}, error {number(said - wanted, 2)}", *more]
        return f"{across.name} {number(across.units(x), 2)}", f"is now {number(said, 2)}", more


# ---- Axes and the line between them

AIR = 0.12
"""Share of the points' span by which an automatic axis extends beyond them."""


def around(name: str, numbers: NDArray[np.number]) -> Axis:
    """Return an axis that holds some numbers, and 0 if that is near; raises an error if no axis can."""
    low, high = float(numbers.min(initial=np.inf)), float(numbers.max(initial=-np.inf))
    if not len(numbers):
        low = high = 0.0
    reach = high - low
    if 0 < low <= reach / 2:
        low = 0.0
    elif -reach / 2 <= high < 0:
        high = 0.0
    air = AIR * (high - low) or max(1.0, AIR * abs(low))
    return Axis(name, low - air, high + air)


def inside(x: Floats, y: Floats, span: tuple[float, float]) -> tuple[Floats, Floats]:
    """Return a line through points, cut where it leaves `span`: starts and ends, (N, 2) each."""
    (x0, x1), (y0, y1) = ((part[:-1], part[1:]) for part in (x, y))
    heights = np.clip([y0, y1], *span)  # cut exactly at the edge, however steep it is
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.where(y1 == y0, [[0.0], [1.0]], np.clip((heights - y0) / (y1 - y0), 0.0, 1.0))
    crosses = np.isfinite(y0) & np.isfinite(y1) & (np.maximum(y0, y1) >= span[0]) & (np.minimum(y0, y1) <= span[1])
    starts, ends = np.stack([x0 + shares * (x1 - x0), heights], axis=-1)[:, crosses]
    return starts, ends


# ---- The drawer of a map over a plane: its colours, the line where the answer changes, its points and words.

SLOT_CELLS = 40  # of a side of the map, in a page that trains
LADDER = (20, 28, 40, 56, 80, 112)
"""Cells in each direction, from coarse to fine; each grid has about twice as many cells as the one before."""
BUDGET = 0.05 / 30
"""Seconds per frame to compute and draw a map: a twentieth of a frame at 30 per second."""
_LEAST = 232.0  # side of the smallest map in the column
_SMALL_MAP = 140.0  # and beside the controls
TEST, HARD = 0, 1  # indices of the switches: show held-out points; draw answers as if certain
LEARNT, BACK = 7.6, 8.6
"""Diameters with their rims: of training points, and of held-out points, which are hollow."""
RING = 8.4
"""Radius of the ring around the probe sample."""
_MAP_TOP, _AXIS, _LINE = 21.0, 19.0, 20.0  # heights of the title, the axes' ends, and a line of the legend
_SWATCH, _AIR = 10.0, 6.0


class PlaneDrawer(PointsDrawer[PlaneMap]):
    """Map, decision line, points, words."""

    name = "plane"
    plot = "map"
    needs = ("predict",)

    def __init__(self, panel: PlaneMap, shared: SharedState) -> None:
        super().__init__(panel, shared)
        high = _MAP_TOP + _AXIS + _LINE * len(self._rows(COLUMN))
        self.frame = _MAP_TOP + 5.0, high - _MAP_TOP
        self.height, self.most, self.overlay = _LEAST + high, COLUMN + high, (220.0, 220.0 + high)
        self.least = _SMALL_MAP + high
        self.grid = Grid(shared.hints, LADDER if panel.cells is None else (panel.cells,), BUDGET)
        self.toggles = Toggle("", on=True), Toggle("discretise")
        self.choices = (("Click", "on a point of the map: choose it"),) if panel.points else ()
        self._map: Box = (0.0, 0.0, 8.0, 8.0)
        self._pixels: NDArray[np.uint8] | None = None
        self._line: Sketch | None = None
        self._said = Cached[Sketch]()
        self._dots = Sketch()
        self._error = ""

    def keep(self, other: Drawer[Any]) -> None:
        """Take over the switches and the pointer."""
        if isinstance(other, PlaneDrawer):
            self.toggles, self.pointer = other.toggles, other.pointer

    @property
    def moving(self) -> bool:
        """True while the map gets finer."""
        return not self._error and self.grid.unfinished

    @property
    def _hands(self) -> tuple[Toggle, ...]:
        return self.toggles if self.shared.hints else ()

    # ---- what it looks like

    def lay_out(self, box: Box) -> None:
        """Place the map, a square, and its words."""
        x, y, width, height = box
        up = self.panel.up
        left = 0.0 if self._alike else gutter([*(_end(end, up) for end in up.ends), up.name])
        side = round(max(min(width - left, height - _MAP_TOP - _AXIS - _LINE * len(self._rows(width))), 8.0))
        self._map = (round(x + left), y + _MAP_TOP, side, side)
        self._points = self._pixels = None
        self.axes = axes_over(self._map, self.panel.across, up)

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        """Return the network's answers at this moment, or the error of the scene's own functions."""
        panel, cells = self.panel, self.panel.cells or LADDER[-1]

        def ask(down: Float, across: Float) -> Float:
            samples = panel.inputs(places(panel.across, panel.up, down, across))
            return answers(panel, moment, moment.predict(samples))

        try:
            changed = self.grid.update(moment.frame, seconds, (cells, cells), ask)
            points = None if panel.points is None else panel.points(moment)
        except Exception as error:  # the scene's own code: show the error and continue
            self._error = self.shared.report_failure(f"panel {self.panel.title!r}", error)
            return [sentence(box, self.shared.theme, self._error)]
        self._error = ""
        if changed or self._pixels is None or self._line is None:
            self.grid.paint(self._paint)
        assert self._pixels is not None
        assert self._line is not None
        self._place(points)
        picture = Sketch()
        picture.image(self._map, self._pixels, linear=self.panel.cells is None and not self.toggles[HARD].on)
        shown = [] if self._points is None else [self._dots, *self._ring(self._points)]
        return [picture, self._line, *shown, self._words(box)]

    def slot(self) -> Slot | None:
        panel = self.panel
        if panel.classes:
            return None
        cells = panel.cells or SLOT_CELLS
        plane = places(panel.across, panel.up, fractions(cells), fractions(cells))
        asked = np.asarray(panel.inputs(plane))
        low, high = panel.span
        ends = np.linspace(low, high, 256)
        tables = {name: signed_shades(ends, panel.span, name, SHARE) for name in THEMES}
        ground = self._ground(plane, asked)
        somewhere = boundary_sketch(self._map, (np.zeros((1, 2)), np.ones((1, 2))), self.shared.theme)
        line = [look for _, _, *look in Listed(self.shared.theme).records([somewhere])]
        return Slot(
            "image", 0, asked, (cells, cells), panel.output, (low, high), tables, line=line, whole=False, ground=ground
        )

    def _ground(self, plane: Float, asked: NDArray[Any]) -> Ground | None:
        """Return where samples can be added; None if no one is drawn, or inputs are not the place and constants."""
        panel, rest = self.panel, asked[0, 2:]
        learnt = self._points is not None and bool((self.seen & ~self._points.back).any())
        if not learnt or not np.array_equal(asked, np.column_stack([plane, np.tile(rest, (len(plane), 1))])):
            return None
        across, up = ((axis.least, axis.most) for axis in (panel.across, panel.up))
        inks = {name: [f"{r:02x}{g:02x}{b:02x}" for r, g, b in signed_shades(panel.span, panel.span, name).tolist()]
                for name in THEMES}  # fmt: skip
        return Ground(across, up, panel.says, inks, rest.tolist())

    def _paint(self) -> None:
        rows, theme, hard = self.grid.numbers, self.shared.theme, self.toggles[HARD].on
        assert rows is not None
        fine = hard and self.panel.cells is None  # the edge of the areas is the line, not a cell's edge
        self._pixels = shades(self.panel, finer(rows, -(-COLUMN // len(rows))) if fine else rows, theme, hard=hard)
        self._line = boundary_sketch(self._map, boundary(self.panel, rows), theme)

    def _place(self, points: Points | None) -> None:
        """Place the points, hollow ones on top; cached while they are the same."""
        if points is None or (self._points is not None and _same(self._points, points)):
            self._points = points if points is None else self._points
            return
        self._points, self._dots = points, Sketch()
        self.place_points(points)
        shown = self.toggles[TEST].on
        inks = self._inks(np.asarray(points.target)[self.seen])
        self.discs(self._dots, points, inks, (LEARNT, BACK), back=shown)
        if not shown:
            self.spots[points.back] = np.inf

    def _inks(self, targets: NDArray[np.number]) -> Floats:
        """Return colours (N, 3) in 0..1: the full range of the map, or the classes' own."""
        count = len(self.panel.classes)
        if not count:
            return np.asarray(signed_shades(targets[:, None], self.panel.span, self.shared.theme)[:, 0] / 255.0)
        numbers = np.nan_to_num(targets.astype(float)).astype(int)
        return np.asarray(class_colours(count)[np.clip(numbers, 0, count - 1)])

    def _ring(self, points: Points) -> Sequence[Sketch]:
        """Return the point of the probe sample again, above all others and in a ring."""
        index, theme = self.drawn_way, self.shared.theme
        if index is None:
            return ()
        sketch, at, held = Sketch(), self.spots[index : index + 1], bool(points.back[index])
        ink = self._inks(np.asarray(points.target)[index : index + 1])
        sketch.discs(at, BACK if held else LEARNT, ink, rim=theme.ink, hollow=held)
        return [sketch, ring_around(at[0].tolist(), RING, theme)]

    # ---- words: title, ends of the axes, legend

    @property
    def _alike(self) -> bool:
        """True if both axes have the same numbers at their ends."""
        return self.panel.across.ends == self.panel.up.ends

    def _rows(self, width: float) -> list[list[str]]:
        """Return the names of colours in lines; the first one leaves room for a switch."""
        rows, room = list[list[str]]([[]]), width
        room -= Toggle("discretise").width + _BETWEEN if self.shared.hints else 0.0
        for word in self.panel.classes or self.panel.says:
            if rows[-1] and sum(_entry(w) + _BETWEEN for w in rows[-1]) + _entry(word) > room:
                rows.append([])
                room = width
            rows[-1].append(word)
        return rows

    def _words(self, box: Box) -> Sketch:
        """Return the words; cached while they are the same."""
        points = self._points
        back = np.ones(0, bool) if points is None else points.back[self.seen]
        train, test = not back.all(), bool(back.any())
        key = (box, self.shared.theme, train, test, *((toggle.on, toggle.over) for toggle in self.toggles))
        return self._said.get(key, lambda: self._written(box, train=train, test=test))

    def _written(self, box: Box, *, train: bool, test: bool) -> Sketch:
        """Write all words."""
        sketch, theme, (x, y, wide, high) = Sketch(), self.shared.theme, self._map
        self._title(sketch, box, train=train, test=test)
        self._ends(sketch)
        self._legend(sketch, box)
        sketch.rect(x - 1, y - 1, wide + 2, high + 2, stroke=theme.border, radius=3)
        return sketch

    def _title(self, sketch: Sketch, box: Box, *, train: bool, test: bool) -> None:
        """Draw the title at the left, the kinds of points at the right, and the switch of held-out points."""
        theme, toggle = self.shared.theme, self.toggles[TEST]
        toggle.box = None
        right, base = box[0] + box[2], box[1] + 14
        if test:
            if self._hands:
                toggle.draw(sketch, right, base, theme)
                right -= toggle.width + _AIR
            right = kind_of_points(sketch, right, base, "test", theme, hollow=True, dim=not toggle.on)
        if train:
            right = kind_of_points(sketch, right, base, "train", theme)
        sketch.text(box[0], base, shortened(self.panel.title, right - box[0]), LABEL, theme.text1, bold=True)

    def _ends(self, sketch: Sketch) -> None:
        """Draw the ends of x below, those of y at the left, or below too if they are the same."""
        assert self.axes is not None
        (x, y, _, _), theme, across, up = self._map, self.shared.theme, self.panel.across, self.panel.up
        (low, most), ends = ([_end(end, axis) for end in axis.ends] for axis in (across, up))
        name = f"{across.name}, {up.name}" if self._alike and across.name and up.name else across.name
        right = f"{name}  {most}" if name else most
        self.axes.ends(sketch, theme, (low, right), ("", "") if self._alike else ends, drop=14.0)
        if not self._alike:
            sketch.text(x - 7, y + 27, up.name, LABEL, theme.text3, anchor="right")

    def _legend(self, sketch: Sketch, box: Box) -> None:
        """Draw a swatch and a name for each colour."""
        (x, _, width, _), (_, y, _, high), panel = box, self._map, self.panel
        theme, base = self.shared.theme, y + high + _AXIS + 14
        inks = iter(self._inks(np.arange(len(panel.classes)) if panel.classes else np.array(panel.span)))
        for row, names in enumerate(self._rows(width)):
            at, room = x, width - (self.toggles[HARD].width + _BETWEEN if self._hands and not row else 0.0)
            for name in names:
                sketch.rect(at, base + _LINE * row - 9.5, _SWATCH, _SWATCH, fill=next(inks), radius=2)
                shown = cut(name, max(x + room - at - _SWATCH - _AIR, 0.0))
                sketch.text(at + _SWATCH + _AIR, base + _LINE * row, shown, LABEL, theme.text2)
                at += _entry(name) + _BETWEEN
        if self._hands:
            self.toggles[HARD].draw(sketch, x + width, base, theme)

    # ---- input

    def samples(self, points: Points) -> NDArray[np.floating]:
        """Return the network's inputs for points of the plane."""
        return np.asarray(self.panel.inputs(np.asarray(points.x, float)), float)

    def click(self, at: Point) -> bool:
        """Click a switch, make a point the probe sample, or add a point."""
        for toggle in self._hands:
            if toggle.contains(at):
                toggle.on, self.stale, self._pixels, self._points = not toggle.on, True, None, None
                return True
        return super().click(at)

    def hover(self, at: Point | None) -> bool:
        """Put the pointer over a place of the map, or over a switch."""
        before = self.pointer, [toggle.over for toggle in self.toggles]
        self.pointer = None if at is None or self.numbers(at) is None else at
        for toggle in self.toggles:
            toggle.over = at is not None and self.shared.hints and toggle.contains(at)
        lit = [toggle.over for toggle in self.toggles]
        self.stale |= lit != before[1]
        return before != (self.pointer, lit)

    def _tip(self, moment: Moment, at: Point) -> Tip | None:
        """Return the pointer's place, the network's answer there, and the action of a click."""
        place, index = self.numbers(at), self.under(at)
        if place is None or self._error:
            return None
        across, up = self.panel.across, self.panel.up
        where = f"{across.name} {short(across.units(place[0]))}, {up.name} {short(up.units(place[1]))}"
        wanted = [] if index is None or self._points is None else [self._target_words(self._points, index)]
        adds = None if self.panel.edits is None else self.panel.edits.adds
        kind = f"a point ({adds()})" if adds is not None and adds() else "a point"
        more = [*wanted, *self.says(index, kind)]
        return where.strip(), self._says(moment, place), more

    def _says(self, moment: Moment, place: Point) -> str:
        """Return the network's answer at a place."""
        found = answers(self.panel, moment, moment.predict(self.panel.inputs(np.array([place]))))[0]
        if not self.panel.classes:
            return number(float(found[0]), 3, signed=self.panel.span[0] < 0)
        if not np.isfinite(found).all():
            return "NaN"
        best = int(np.argmax(found))
        return f"{self.panel.classes[best]} {100 * found[best]:.0f} %"

    def _target_words(self, points: Points, index: int) -> str:
        """Return a point's target and kind."""
        kind, target = "test" if points.back[index] else "train", float(points.target[index])
        names, says, span = self.panel.classes, self.panel.says, self.panel.span
        if names and target.is_integer() and 0 <= target < len(names):
            word = names[int(target)]
        else:
            word = says[span.index(target)] if target in span else short(target)
        return f"target: {word} ({kind})"


def _same(one: Points, other: Points) -> bool:
    """Return whether two sets of points are equal."""
    pairs = (one.x, other.x), (one.target, other.target), (one.back, other.back)
    return one is other or all(np.array_equal(*pair) for pair in pairs)


def _entry(word: str) -> float:
    return _SWATCH + _AIR + measure(word, LABEL)


def _end(value: float, axis: Axis) -> str:
    """Return the number at the end of an axis, a whole one without decimals."""
    signed = min(axis.ends) < 0
    if float(value).is_integer() and abs(value) < 1e5:
        return number(value, 0, signed=signed)
    return short(value, signed=signed)


# ---- Numbers on a grid as colours, and the line where the answer changes

SHARE = 0.62
"""Share of the colour map's range for the background, so that points in the full range stand out."""
WIDTH = 1.6


def answers(panel: PlaneMap, moment: Moment, outputs: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return the drawn part of outputs (N, n_outputs): one of them, (N, 1), or the classes' probabilities, (N, n)."""
    if not panel.classes:
        return outputs[:, panel.output : panel.output + 1]
    stages = moment.source.stages
    numbers = np.asarray(outputs[:, : len(panel.classes)], float)
    if stages and stages[-1].kind == "softmax":
        return numbers
    with np.errstate(invalid="ignore", over="ignore"):
        raised = np.exp(numbers - numbers.max(axis=1, keepdims=True))
        return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def finer(rows: NDArray[np.floating], times: int) -> NDArray[np.floating]:
    """Return answers (H, W, k) on a grid `times` as fine in each direction, interpolated linearly."""
    found = rows
    for axis in (0, 1):
        count = found.shape[axis]
        at = np.clip((np.arange(count * times) + 0.5) / times - 0.5, 0, count - 1)
        low = np.minimum(at.astype(int), max(count - 2, 0))
        part = (at - low).reshape(-1, *[1] * (2 - axis))
        first, second = (np.take(found, np.minimum(low + k, count - 1), axis) for k in (0, 1))
        found = first + part * (second - first)
    return found


def shades(panel: PlaneMap, rows: NDArray[np.floating], theme: Theme, *, hard: bool = False) -> NDArray[np.uint8]:
    """Return colours (H, W, 3) of answers (H, W, k); `hard`: as if each answer were certain."""
    if panel.classes:
        return class_shades(rows, theme, SHARE, hard=hard)
    values, (low, high) = rows[..., 0], panel.span
    if hard:
        values = np.where(np.isnan(values), values, np.where(values > (low + high) / 2, high, low))
    return signed_shades(values, panel.span, theme, SHARE)


def boundary(panel: PlaneMap, rows: NDArray[np.floating]) -> tuple[Floats, Floats]:
    """Return where the answer changes, as segments over the unit square: starts and ends (K, 2), y downwards."""
    side = np.array([rows.shape[1], rows.shape[0]])
    if not panel.classes:
        grids = [rows[..., 0] - sum(panel.span) / 2]
    else:
        ordered = np.sort(rows, axis=-1)
        best = rows == ordered[..., -1:]
        others = np.where(best, ordered[..., -2:-1], ordered[..., -1:])
        grids = [rows[..., k] - others[..., k] for k in range(rows.shape[-1])]
    found = [zero_lines(grid) for grid in grids]
    starts, ends = (np.concatenate([pieces[k] for pieces in found]) for k in (0, 1))
    return (starts + 0.5) / side, (ends + 0.5) / side


def boundary_sketch(box: Box, pieces: tuple[Floats, Floats], theme: Theme) -> Sketch:
    """Return that line over a picture in `box`, with an edge that sets it off."""
    sketch = Sketch(over=True)
    corner, size = np.array(box[:2]), np.array(box[2:])
    starts, ends = (corner + part * size for part in pieces)
    sketch.lines(starts, ends, rgba(theme.background, 0.55), WIDTH + 1.6, round_ends=True)
    sketch.lines(starts, ends, theme.selection, WIDTH, round_ends=True)
    return sketch
