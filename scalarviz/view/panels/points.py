"""Plots of samples, which a hand chooses, adds and takes away; and the curve of a network of one input over them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...run.panels import Axis, CurveFit, PlaneMap, Points
from ...run.source import Moment
from ..ink.axes import Axes, Floats, Scale, end_texts, evenly, gutter
from ..ink.boxes import ABOUT, LABEL
from ..ink.maps import signed_shades
from ..ink.sketch import Box, Kept, Sketch
from ..ink.text import measure, number
from ..ink.theme import Theme
from ..shown.subject import number_of
from .drawer import Drawer, Ground, Point, Tip, cut, sentence, title_of

Plot = TypeVar("Plot", bound=CurveFit | PlaneMap)
DRAWN = 2000
"""The most points that are drawn, evenly out of all."""
_BETWEEN = 14.0
_JOINING = ("over", "of", "and", "at", "in")


class PointsDrawer(Drawer[Plot]):
    """What a hand does with the points of a plot."""

    plot = ""
    """What it is called in the list of gestures."""
    reach = 6.0
    """Logical pixels from its middle within which a point is meant."""
    _points: Points | None = None
    _pressed = False
    _removes: int | None = None

    def __init__(self, panel: Plot, ground: Ground) -> None:
        super().__init__(panel, ground)
        if panel.edits is not None:
            self.lessons = (
                ("Click", f"an empty place of the {self.plot}: add a point"),
                ("Right click", f"a point of the {self.plot}: take it away"),
            )
        self.axes: Axes | None = None  # as it was drawn last
        self.spots: Floats = np.zeros((0, 2))  # where each point is drawn; infinite where it is not
        self.seen: NDArray[np.bool_] = np.zeros(0, bool)  # of very many some of those inside
        self._ringed = Kept[int | None]()

    def numbers(self, at: Point) -> Point | None:
        """The two numbers at a place of the picture; None beside the plot."""
        return None if self.axes is None else self.axes.numbers(at)

    def put(self, points: Points) -> None:
        """Where points are drawn, of very many some of those that are inside."""
        assert self.axes is not None
        x, y = np.asarray(points.x, np.float64)[:, 0], self.heights(points)
        inside = np.flatnonzero(self.axes.holds(x, y))
        self.seen = np.zeros(len(x), bool)
        self.seen[inside[evenly(len(inside), DRAWN)]] = True
        self.spots = np.where(self.seen[:, None], self.axes.points(x, y), np.inf)

    def discs(self, sketch: Sketch, points: Points, inks: Floats, sizes: Point, *, back: bool = True) -> None:
        """Those that are seen, in colours (N, 3); above them hollow ones, of what is held `back`."""
        spots, held = self.spots[self.seen], points.back[self.seen]
        for some, size, hollow in ((~held, sizes[0], False), (held & back, sizes[1], True)):
            sketch.discs(spots[some], size, inks[some], rim=self.ground.theme.ink, hollow=hollow)

    def heights(self, points: Points) -> Floats:
        """The second number of each point."""
        return np.asarray(points.x, np.float64)[:, 1]

    def samples(self, points: Points) -> NDArray[np.floating]:
        """What the network gets for points, (N, n_inputs)."""
        raise NotImplementedError

    @property
    def teaches(self) -> bool:
        """Whether a hand can add points and take them away."""
        return self.panel.edits is not None and self.ground.teaches

    @property
    def drawn_way(self) -> int | None:
        """Which point that is drawn is the sample whose way is drawn."""
        probe, points = self.ground.subject.probe, self._points
        if probe is None or points is None or not len(points.x):
            return None
        index = self._ringed.of((points, probe.tobytes()), lambda: number_of(self.samples(points), probe))
        return None if index is None or not np.isfinite(self.spots[index]).all() else index

    def under(self, at: Point) -> int | None:
        """The number of the point that is drawn there."""
        if not len(self.spots):
            return None
        away = np.hypot(*(self.spots - at).T)
        return int(away.argmin()) if away.min() <= self.reach else None

    def says(self, index: int | None, kind: str = "") -> list[str]:
        """What clicks would do with a point, or with an empty place, where one of a kind would be added."""
        if index is None or self._points is None:
            return [f"click: add {kind}"] if self.teaches else []
        found = self.ground.offers()
        away = "held back: it stays" if self._points.back[index] else "right click: take it away"
        return [*found, away] if self.teaches else found

    # ---- hands

    def press(self, at: Point, button: str) -> bool:
        """The right button on a point takes it away when it is let go there."""
        self._pressed = self.numbers(at) is not None
        mine = self._pressed and button == "right"  # a click of the left one means other things
        self._removes = self.under(at) if mine and self.teaches else None
        return mine

    def drag(self, at: Point, by: Point, button: str) -> bool:
        """The plot does not turn, nor does anything behind it."""
        return self._pressed

    def release(self, at: Point) -> None:
        """Without the point that the right button was pressed on."""
        index, self._removes = self._removes, None
        if index is not None and self.under(at) == index and self.panel.edits is not None:
            self.ground.edit(self.panel.edits.remove(index))

    def click(self, at: Point) -> bool:
        """The way of a point is drawn; an empty place gets one more."""
        place, index, points = self.numbers(at), self.under(at), self._points
        if index is not None and points is not None:
            if not self.ground.chooses():
                return False
            wanted, own = self.ground.subject.sample.target, np.asarray(points.target[index : index + 1], float)
            self.ground.choose(self.samples(points)[index], own if wanted is not None and wanted.size == 1 else None)
            self.stale = True
            return True
        if place is None or not self.teaches or self.panel.edits is None:
            return False
        self.ground.edit(self.panel.edits.add(place))
        return True

    def hover(self, at: Point | None) -> bool:
        """A point under the pointer says what it is, an empty place what a click would do."""
        before = self.pointer
        there = at is not None and (self.under(at) is not None or (self.teaches and self.numbers(at) is not None))
        self.pointer = at if there else None
        return before != self.pointer


def axes_over(box: Box, across: Axis, up: Axis) -> Axes:
    """A plot whose directions are those of a panel."""
    return Axes(box, Scale(across.least, across.most), Scale(up.least, up.most))


# ---- The title: what is shown, and of which kinds the points are: filled to learn from, hollow to test.


def kind_of_points(
    sketch: Sketch, right: float, base: float, word: str, theme: Theme, *, hollow: bool = False, dim: bool = False
) -> float:
    """A kind of points, ending at `right`; returns where what is left of it may end."""
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
    """A bold title as far as it fits: up to a word that joins something to it, else with an ellipsis."""
    words = title.split()
    ends = [len(words), *(k for k in range(len(words) - 1, 0, -1) if words[k] in _JOINING)]
    found = (" ".join(words[:end]) for end in ends)
    return next((part for part in found if measure(part, LABEL, True) <= width), cut(title, width, bold=True))


# ---- The drawer of a network of one input: its curve over the points that it learns from.

ERRORS = 4.0
"""Logical pixels from one point to the next, on average, from which on their errors are drawn: nearer ones would be one
grey plane."""
APART = 12.0
"""And those from which on points are large, and above the curve: nearer ones would cover it."""
_PLACES = 129
_LARGE, _SMALL, _MANY = 10.0, 6.4, 5.0  # diameters of points: apart, near to each other, and more than 200
_TOP = 25.0
_FAINTEST = 0.5  # share of the range from which on a colour can be told from the ground


class CurveFitDrawer(PointsDrawer[CurveFit]):
    """Curve, points and their errors, axes."""

    name = plot = "curve"
    reach = 9.0
    height, most = 150.0, 364.0
    worth = ABOUT
    needs = ("predict",)
    choices = (("Click", "a point of the curve: show its way"),)

    def __init__(self, panel: CurveFit, ground: Ground) -> None:
        super().__init__(panel, ground)
        self._learnt: tuple[object, Points] | None = None  # data and its points
        self._named: tuple[Axis, Axis] | None = None
        across, up = (axis if isinstance(axis, str) else axis.name for axis in (panel.across, panel.up))
        self._over = f"{up} over {across}"
        self._title = panel.title or self._over

    # ---- what it looks like

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        """The curve of this moment, or what is wrong with the scene's own functions."""
        try:
            points = self._points_of(moment)
            across, up = self._named = self._directions(points)
            left = gutter(end_texts(up.ends))
            plot = (box[0] + left, box[1] + _TOP, box[2] - left, box[3] - _TOP - 20)
            axes = self.axes = axes_over(plot, across, up)
            self.put(points)
            places = np.linspace(across.least, across.most, _PLACES)
            asked = np.append(places, np.asarray(points.x, np.float64)[self.seen, 0])
            found = np.asarray(moment.predict(self.panel.inputs(asked)), np.float64)[:, 0]
        except Exception as error:  # the scene's own: its place says so, and the picture goes on
            self._points, self.axes, self.spots = None, None, np.zeros((0, 2))
            return [sentence(box, self.ground.theme, self.ground.failed(f"panel {self._title!r}", error))]
        self._points, sketch = points, Sketch()
        self._say(sketch, box, points)
        axes.ground(sketch, self.ground.theme)
        low, high = up.ends  # in the units that are printed
        if low < 0 < high:
            level = axes.box[1] + axes.box[3] * high / (high - low)
            sketch.line((axes.box[0], level), (axes.box[0] + axes.box[2], level), self.ground.theme.grid, 1.0)
        axes.ends(sketch, self.ground.theme, end_texts(across.ends), end_texts(up.ends))
        return [sketch, self._draw(sketch, axes, places, found)]

    def _draw(self, sketch: Sketch, axes: Axes, places: Floats, found: Floats) -> Sketch:
        """Errors, curve, points; returns what lies over these: the ring, and the curve where they are near."""
        assert self._points is not None
        theme, points, up, seen = self.ground.theme, self._points, axes.up, self.seen
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
        if (index := self.drawn_way) is not None:  # a ring around the point whose way is drawn
            x, y = self.spots[index].tolist()
            over.disc(x, y, size / 2 + 3.6, stroke=theme.background, border=4.4)
            over.disc(x, y, size / 2 + 2.6, stroke=theme.selection, border=2.2)
        return over

    def _inks(self, targets: Floats, up: Scale) -> Floats:
        """Colours (N, 3) of the signed map, strong enough for a dot to be seen."""
        most = max(abs(up.low), abs(up.high))
        share = np.sign(targets) * np.maximum(np.abs(targets) / most, _FAINTEST)
        return np.asarray(signed_shades(share[:, None], (-1.0, 1.0), self.ground.theme)[:, 0] / 255.0, np.float64)

    def _say(self, sketch: Sketch, box: Box, points: Points) -> None:
        """The title, names of the axes, and what is hollow; or how many there are of which these are some."""
        x, y, width, height = box
        right = x + width
        if points.back.any():
            right = kind_of_points(sketch, right, y + 14, "test", self.ground.theme, hollow=True)
            right = kind_of_points(sketch, right, y + 14, "train", self.ground.theme)
        note = self._over if self.panel.title else ""
        note = f"{DRAWN:,} of {len(points.x):,}" if len(points.x) > DRAWN else note
        title_of(sketch, (x, y, right - x, height), self.ground.theme, shortened(self._title, right - x), note)

    # ---- numbers

    def _points_of(self, moment: Moment) -> Points:
        if self.panel.points is not None:
            return self.panel.points(moment)
        data = moment.frame.data
        if self._learnt is None or data is None or self._learnt[0] is not data:
            inputs, targets = (np.asarray(part) for part in moment.samples())
            if inputs.shape[1:] != (1,) or targets.shape[1:] != (1,):
                raise InputError(f"{self._title}: wanted are samples of one number")
            self._learnt = data, Points(np.repeat(inputs, 2, axis=1), targets[:, 0])
        return self._learnt[1]

    def heights(self, points: Points) -> Floats:
        """What is wanted of it."""
        return np.asarray(points.target, np.float64)

    def samples(self, points: Points) -> NDArray[np.floating]:
        """Of one number each."""
        return np.asarray(self.panel.inputs(np.asarray(points.x, np.float64)[:, 0]), np.float64)

    def _directions(self, points: Points) -> tuple[Axis, Axis]:
        """Those of the panel, or as long as the points need."""
        given = self.panel.across, self.panel.up
        needs = np.asarray(points.x)[:, 0], np.asarray(points.target)
        across, up = (around(one, own) if isinstance(one, str) else one for one, own in zip(given, needs, strict=True))
        return across, up

    def _tip(self, moment: Moment, at: Point) -> Tip | None:
        """What a point is, what the network says there in the axes' units, and what a click would do."""
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
            more = [f"wanted {number(wanted, 2)}{kind}, error {number(said - wanted, 2)}", *more]
        return f"{across.name} {number(across.units(x), 2)}", f"is now {number(said, 2)}", more


# ---- How long its axes are, and the line between them

AIR = 0.12
"""Share of the reach of the points by which an axis that they make goes beyond them."""


def around(name: str, numbers: NDArray[np.number]) -> Axis:
    """An axis that holds some numbers, and 0 where that is not far from them; an error where no axis can."""
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
    """A line through points, cut where it leaves `span` upwards or downwards: starts and ends, (N, 2) each."""
    (x0, x1), (y0, y1) = ((part[:-1], part[1:]) for part in (x, y))
    heights = np.clip([y0, y1], *span)  # where it leaves, exactly there, however steep it is
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.where(y1 == y0, [[0.0], [1.0]], np.clip((heights - y0) / (y1 - y0), 0.0, 1.0))
    crosses = np.isfinite(y0) & np.isfinite(y1) & (np.maximum(y0, y1) >= span[0]) & (np.minimum(y0, y1) <= span[1])
    starts, ends = np.stack([x0 + shares * (x1 - x0), heights], axis=-1)[:, crosses]
    return starts, ends
