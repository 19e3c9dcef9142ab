"""The drawer of a network of one input: its curve over the points that it learns from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...run.panels import Axis, CurveFit, Points
from ...run.source import Moment
from ..draw.axes import Axes, Scale
from ..draw.maps import signed_shades
from ..draw.places import ABOUT, LABEL
from ..draw.sketch import Box, Colour, Sketch, rgba
from ..draw.text import measure, number
from ..draw.theme import Theme
from .drawer import Drawer, Ground, Point, sentence, title_of
from .image import words_of
from .overlay import pointer_label
from .plane_picture import kind_of_points, shortened

Floats = NDArray[np.float64]
DRAWN = 2000
"""The most points that are drawn, evenly out of all."""
ERRORS = 4.0
"""Logical pixels from one point to the next, on average, from which on their errors are drawn: nearer ones would be one
grey plane."""
APART = 12.0
"""And those from which on points are large, and above the curve: nearer ones would cover it."""
_PLACES = 129
_LARGE, _SMALL, _MANY = 10.0, 6.4, 5.0  # diameters of points: apart, near to each other, and more than 200
_TOP = 25.0
_NEAR = 9.0  # logical pixels within which a point is meant
_LESSONS = (
    ("Click", "an empty place of the curve: add a point"),
    ("Right click", "a point of the curve: take it away"),
)
_FAINTEST = 0.5  # share of the range from which on a colour can be told from the ground


class CurveFitDrawer(Drawer[CurveFit]):
    """Curve, points and their errors, axes."""

    name = "curve"
    height, most = 150.0, 364.0
    worth = ABOUT
    needs = ("predict",)
    choices = (("Click", "a point of the curve: show its way"),)

    def __init__(self, panel: CurveFit, ground: Ground) -> None:
        super().__init__(panel, ground)
        self._learnt: tuple[object, Points, int] | None = None  # data, its points, how many there are in all
        self._points: Points | None = None
        self._spots: Floats = np.zeros((0, 2))
        self._over: int | None = None
        self._axes: Axes | None = None
        self._named: tuple[Axis, Axis] | None = None
        self._pointer: tuple[float, float] | None = None  # over an empty place, as numbers
        self._pressed = False
        self._removes: int | None = None
        self.lessons = _LESSONS if panel.edits else ()

    # ---- what it looks like

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        """The curve of this moment, or what is wrong with the scene's own functions."""
        try:
            points, count = self._points_of(moment)
            across, up = self._named = self._directions(points)
            places = np.linspace(across.least, across.most, _PLACES)
            asked = np.append(places, np.asarray(points.x, np.float64)[:, 0])
            found = np.asarray(moment.predict(self.panel.inputs(asked)), np.float64)[:, 0]
        except Exception as error:  # the scene's own: its place says so, and the picture goes on
            self._points, self._axes, self._spots = None, None, np.zeros((0, 2))
            self.ground.notes.append(f"panel {self._title!r}: {words_of(error)}")
            return [sentence(box, self.ground.theme, words_of(error))]
        self._points, sketch = points, Sketch()
        axes = self._axes = axes_in((box[0], box[1] + _TOP, box[2], box[3] - _TOP), across, up)
        self._say(sketch, box, points, count)
        frame(sketch, self.ground.theme, axes, across, up)
        self._draw(sketch, axes, places, found)
        return [sketch]

    def _draw(self, sketch: Sketch, axes: Axes, places: Floats, found: Floats) -> None:
        """Errors, curve and points; where points are near to each other the curve is above them."""
        assert self._points is not None
        theme, points, up = self.ground.theme, self._points, axes.up
        x, t = np.asarray(points.x, np.float64)[:, 0], np.asarray(points.target, np.float64)
        seen = axes.holds(x, t)
        self._spots = np.where(seen[:, None], axes.points(x, t), np.inf)
        apart = axes.box[2] / max(len(x), 1)
        size = _LARGE if apart >= APART else _SMALL if len(x) <= 200 else _MANY
        if apart >= ERRORS:
            said = np.clip(found[len(places) :], up.low, up.high)
            known = seen & np.isfinite(said)
            sketch.lines(self._spots[known], axes.points(x, said)[known], theme.flow, 1.6)
        pieces = [axes.points(*part.T) for part in inside(places, found[: len(places)], (up.low, up.high))]
        if apart >= APART:
            sketch.lines(pieces[0], pieces[1], theme.text1, 2.2, round_ends=True)
        inks = self._inks(t, up)
        for some, hole in ((seen & ~points.back, None), (seen & points.back, theme.panel)):
            dots(sketch, self._spots[some], size, inks[some], theme.ink, hole)
        if apart < APART:
            sketch.lines(pieces[0], pieces[1], theme.text1, 2.2, round_ends=True)
        self._ring(sketch, size)

    def _inks(self, targets: Floats, up: Scale) -> Floats:
        """Colours (N, 3) of the signed map, strong enough for a dot to be seen."""
        most = max(abs(up.low), abs(up.high))
        share = np.sign(targets) * np.maximum(np.abs(targets) / most, _FAINTEST)
        return np.asarray(signed_shades(share[:, None], (-1.0, 1.0), self.ground.theme)[:, 0] / 255.0, np.float64)

    def _ring(self, sketch: Sketch, size: float) -> None:
        """Around the point whose way is drawn."""
        probe, points = self.ground.subject.probe, self._points
        if probe is None or points is None or not len(points.x):
            return
        samples = np.asarray(self.panel.inputs(np.asarray(points.x, np.float64)[:, 0]))
        if samples.shape[1:] != probe.shape:
            return
        same = np.flatnonzero(np.isclose(samples, probe).all(axis=1))
        if not len(same) or not np.isfinite(self._spots[same[0]]).all():
            return
        x, y = self._spots[same[0]].tolist()
        sketch.disc(x, y, size / 2 + 3.6, stroke=self.ground.theme.background, border=4.4)
        sketch.disc(x, y, size / 2 + 2.6, stroke=self.ground.theme.selection, border=2.2)

    @property
    def _names(self) -> tuple[str, str]:
        across, up = (axis if isinstance(axis, str) else axis.name for axis in (self.panel.across, self.panel.up))
        return across, up

    @property
    def _title(self) -> str:
        across, up = self._names
        return self.panel.title or f"{up} over {across}"

    def _say(self, sketch: Sketch, box: Box, points: Points, count: int) -> None:
        """The title, the names of the axes, and what is hollow; or how many there are of which these are some."""
        x, y, width, height = box
        across, up = self._names
        right = x + width
        if points.back.any():
            right = kind_of_points(sketch, right, y + 14, "test", self.ground.theme, hollow=True)
            right = kind_of_points(sketch, right, y + 14, "train", self.ground.theme)
        note = f"{up} over {across}" if self.panel.title else ""
        note = f"{len(points.x):,} of {count:,}" if count > len(points.x) else note
        title_of(sketch, (x, y, right - x, height), self.ground.theme, shortened(self._title, right - x), note)

    # ---- numbers

    def _points_of(self, moment: Moment) -> tuple[Points, int]:
        """What is drawn of a moment, and out of how many."""
        if self.panel.points is not None:
            return _some(self.panel.points(moment))
        data = moment.frame.data
        if self._learnt is None or data is None or self._learnt[0] is not data:
            inputs, targets = (np.asarray(part) for part in moment.samples())
            if inputs.shape[1:] != (1,) or targets.shape[1:] != (1,):
                raise InputError(f"{self._title}: wanted are samples of one number")
            points, count = _some(Points(np.repeat(inputs, 2, axis=1), targets[:, 0]))
            self._learnt = data, points, count
        return self._learnt[1:]

    def _directions(self, points: Points) -> tuple[Axis, Axis]:
        """Those of the panel, or as long as the points need."""
        given = self.panel.across, self.panel.up
        needs = np.asarray(points.x)[:, 0], np.asarray(points.target)
        across, up = (around(one, own) if isinstance(one, str) else one for one, own in zip(given, needs, strict=True))
        return across, up

    # ---- hands

    def _point(self, at: Point | None) -> int | None:
        if at is None or not len(self._spots):
            return None
        away = np.hypot(*(self._spots - at).T)
        return int(away.argmin()) if away.min() <= _NEAR else None

    @property
    def _edits(self) -> bool:
        return self.panel.edits is not None and self.ground.teaches

    def _number(self, at: Point | None) -> tuple[float, float] | None:
        return None if at is None or self._axes is None else self._axes.numbers(at)

    def hover(self, at: Point | None) -> bool:
        """A point under the pointer says what it is, an empty place what a click would do."""
        before = self._over, self._pointer
        self._over = self._point(at)
        self._pointer = self._number(at) if self._over is None and self._edits else None
        return before != (self._over, self._pointer)

    def label(self, moment: Moment, size: tuple[float, float]) -> Sequence[Sketch]:
        """What a point is, what the network says there, in the units at the axes, and what a click would do."""
        points, axes, named, index = self._points, self._axes, self._named, self._over
        if points is None or axes is None or named is None or (index is None and self._pointer is None):
            return ()
        if index is not None and index < len(self._spots):
            x, t = float(points.x[index][0]), float(points.target[index])
        elif self._pointer is not None:
            index, (x, t) = None, self._pointer
        else:
            return ()
        across, up = named
        wanted = up.units(t)
        said = up.units(float(moment.predict(self.panel.inputs(np.array([x])))[0, 0]))
        if index is None:
            more = [f"click: add {up.name} {number(wanted, 2)}"]
        else:
            kind = f" ({'test' if points.back[index] else 'train'})" if points.back.any() else ""
            more = [f"wanted {number(wanted, 2)}{kind}, error {number(said - wanted, 2)}"]
            more += ["click: show its way"] if self.ground.chooses() else []
            away = "held back: it stays" if points.back[index] else "right click: take it away"
            more += [away] if self._edits else []
        head = f"{across.name} {number(across.units(x), 2)}"
        return [pointer_label(axes.point(x, t), size, head, f"is now {number(said, 2)}", more, self.ground.theme)]

    def press(self, at: Point, button: str) -> bool:
        """The right button on a point takes it away when it is let go there."""
        self._pressed = self._number(at) is not None
        mine = self._pressed and button == "right"  # a click of the left one means other things
        self._removes = self._point(at) if mine and self._edits else None
        return mine

    def drag(self, at: Point, by: Point, button: str) -> bool:
        """Nothing behind it turns."""
        return self._pressed

    def release(self, at: Point) -> None:
        """Without the point that the right button was pressed on."""
        index, self._removes = self._removes, None
        if index is not None and self._point(at) == index and self.panel.edits is not None:
            edit = self.panel.edits.remove(index)
            if edit is not None:
                self.ground.subject.source.edit(edit)

    def click(self, at: Point) -> bool:
        """The way of a point is drawn; an empty place gets one more."""
        index, points = self._point(at), self._points
        if index is None:
            return self._add(self._number(at))
        if points is None or not self.ground.chooses():
            return False
        sample = np.asarray(self.panel.inputs(np.asarray(points.x, np.float64)[index : index + 1, 0]), np.float64)[0]
        self.ground.choose(sample, np.asarray(points.target[index : index + 1], np.float64))
        self.stale = True
        return True

    def _add(self, place: tuple[float, float] | None) -> bool:
        """One more point there."""
        if place is None or not self._edits or self.panel.edits is None:
            return False
        edit = self.panel.edits.add(place)
        if edit is not None:
            self.ground.subject.source.edit(edit)
        return True


def _some(points: Points) -> tuple[Points, int]:
    """At most so many as are drawn, evenly out of all."""
    count = len(points.x)
    if count <= DRAWN:
        return points, count
    some = np.linspace(0, count - 1, DRAWN).round().astype(int)
    return Points(points.x[some], points.target[some], points.back[some]), count


# ---- The frame of the plot, and how long its axes are

AIR = 0.12
"""Share of the reach of the points by which an axis that they make goes beyond them."""


def frame(sketch: Sketch, theme: Theme, axes: Axes, across: Axis, up: Axis) -> None:
    """The plot's ground, where 0 is in the units that are printed, and the ends of both axes."""
    x, y, width, height = axes.box
    sketch.rect(*axes.box, fill=theme.panel, stroke=theme.border)
    low, high = up.ends
    if low < 0 < high:
        level = y + height * high / (high - low)
        sketch.line((x, level), (x + width, level), theme.grid, 1.0)
    left, right = (end_of(across, k) for k in (0, 1))
    sketch.text(x, y + height + 15, left, LABEL, theme.text3)
    sketch.text(x + width, y + height + 15, right, LABEL, theme.text3, anchor="right")
    sketch.text(x - 7, y + 10, end_of(up, 1), LABEL, theme.text3, anchor="right")
    sketch.text(x - 7, y + height, end_of(up, 0), LABEL, theme.text3, anchor="right")


def axes_in(box: Box, across: Axis, up: Axis) -> Axes:
    """A plot in a box, which has to hold the numbers at its axes' ends as well."""
    x, y, width, height = box
    gutter = max(measure(end_of(up, k), LABEL) for k in (0, 1)) + 8
    plot = (x + gutter, y, width - gutter, height - 20.0)
    return Axes(plot, Scale(across.least, across.most), Scale(up.least, up.most))


def end_of(axis: Axis, end: int) -> str:
    """The number at an end of an axis (0, 1): as many digits as its length needs."""
    low, high = axis.ends
    digits = max(0, 2 - int(np.floor(np.log10(max(high - low, 1e-300)))))
    return f"{axis.ends[end]:,.{min(digits, 6)}f}".replace("-", "\N{MINUS SIGN}")


def around(name: str, numbers: NDArray[np.number]) -> Axis:
    """An axis that holds some numbers, and 0 where that is not far from them.

    Raises
    ------
    InputError
        They reach farther than an axis can.
    """
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


def dots(
    sketch: Sketch, places: Floats, diameter: float, inks: Floats, rim: Colour, hole: Colour | None = None
) -> None:
    """Discs (N, 2) in colours of their own (N, 3) with a rim, or rings around a `hole`; lines may lie over them."""
    if hole is not None:
        diameter += 1.2  # as much of its colour is to be seen
    layers = [(diameter, np.tile(rgba(rim)[:3], (len(places), 1))), (diameter - 2.0, inks)]
    if hole is not None:
        layers.append((diameter - 5.0, np.tile(rgba(hole)[:3], (len(places), 1))))
    boxes = [np.concatenate([places - wide / 2, np.full((len(places), 2), wide)], axis=1) for wide, _ in layers]
    fills = [ink for _, ink in layers]
    sketch.cells(np.stack(boxes, 1), np.stack(fills, 1), np.inf)  # each with its own parts, one after the other


def inside(x: Floats, y: Floats, span: tuple[float, float]) -> tuple[Floats, Floats]:
    """A line through points, cut where it leaves `span` upwards or downwards: starts and ends, (N, 2) each."""
    ends = np.stack([np.stack([x[:-1], y[:-1]], 1), np.stack([x[1:], y[1:]], 1)])
    known = np.isfinite(ends).all(axis=(0, 2))
    crosses = known & (ends[:, :, 1].max(axis=0) >= span[0]) & (ends[:, :, 1].min(axis=0) <= span[1])
    ends = ends[:, crosses]
    (x0, y0), (x1, y1) = ends[0].T, ends[1].T
    rise = np.where(y1 == y0, 1.0, y1 - y0)
    found = []
    for here in (y0, y1):
        height = np.clip(here, *span)  # where it leaves, exactly there, however steep it is
        share = np.where(y1 == y0, 0.0 if here is y0 else 1.0, (height - y0) / rise)
        found.append(np.stack([x0 + np.clip(share, 0.0, 1.0) * (x1 - x0), height], axis=1))
    return found[0], found[1]
