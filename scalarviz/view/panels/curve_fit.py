"""The drawer of a network of one input: its curve over the points that it learns from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...run.panels import Axis, CurveFit, Points
from ...run.source import Moment
from ..ink.axes import Axes, Scale
from ..ink.maps import signed_shades
from ..ink.overlay import pointer_label
from ..ink.places import ABOUT, LABEL
from ..ink.sketch import Box, Sketch
from ..ink.text import measure, number
from ..ink.theme import Theme
from .drawer import Ground, sentence, title_of
from .points import DRAWN, PointsDrawer, kind_of_points, shortened

Floats = NDArray[np.float64]
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

    # ---- what it looks like

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        """The curve of this moment, or what is wrong with the scene's own functions."""
        try:
            points = self._points_of(moment)
            across, up = self._named = self._directions(points)
            axes = self.axes = axes_in((box[0], box[1] + _TOP, box[2], box[3] - _TOP), across, up)
            self.put(points)
            places = np.linspace(across.least, across.most, _PLACES)
            asked = np.append(places, np.asarray(points.x, np.float64)[self.seen, 0])
            found = np.asarray(moment.predict(self.panel.inputs(asked)), np.float64)[:, 0]
        except Exception as error:  # the scene's own: its place says so, and the picture goes on
            self._points, self.axes, self.spots = None, None, np.zeros((0, 2))
            return [sentence(box, self.ground.theme, self.ground.failed(f"panel {self._title!r}", error))]
        self._points, sketch = points, Sketch()
        self._say(sketch, box, points)
        frame(sketch, self.ground.theme, axes, across, up)
        return [sketch, self._draw(sketch, axes, places, found)]

    def _draw(self, sketch: Sketch, axes: Axes, places: Floats, found: Floats) -> Sketch:
        """Errors, curve and points; returns what lies over these: the ring, and the curve where they are near."""
        assert self._points is not None
        theme, points, up, seen = self.ground.theme, self._points, axes.up, self.seen
        x, t, back = np.asarray(points.x, np.float64)[seen, 0], self.heights(points)[seen], points.back[seen]
        spots, apart = self.spots[seen], axes.box[2] / max(len(seen), 1)
        size = _LARGE if apart >= APART else _SMALL if len(x) <= 200 else _MANY
        if apart >= ERRORS:
            said = np.clip(found[len(places) :], up.low, up.high)
            known = np.isfinite(said)
            sketch.lines(spots[known], axes.points(x, said)[known], theme.flow, 1.6)
        pieces = [axes.points(*part.T) for part in inside(places, found[: len(places)], (up.low, up.high))]
        over = Sketch(over=True)
        (sketch if apart >= APART else over).lines(pieces[0], pieces[1], theme.text1, 2.2, round_ends=True)
        inks = self._inks(t, up)
        for some, hollow in ((~back, False), (back, True)):
            sketch.discs(spots[some], size + 1.2 * hollow, inks[some], rim=theme.ink, hollow=hollow)
        self._ring(over, size)
        return over

    def _inks(self, targets: Floats, up: Scale) -> Floats:
        """Colours (N, 3) of the signed map, strong enough for a dot to be seen."""
        most = max(abs(up.low), abs(up.high))
        share = np.sign(targets) * np.maximum(np.abs(targets) / most, _FAINTEST)
        return np.asarray(signed_shades(share[:, None], (-1.0, 1.0), self.ground.theme)[:, 0] / 255.0, np.float64)

    def _ring(self, sketch: Sketch, size: float) -> None:
        """Around the point whose way is drawn."""
        index = self.drawn_way
        if index is None or not np.isfinite(self.spots[index]).all():
            return
        x, y = self.spots[index].tolist()
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

    def _say(self, sketch: Sketch, box: Box, points: Points) -> None:
        """The title, the names of the axes, and what is hollow; or how many there are of which these are some."""
        x, y, width, height = box
        across, up = self._names
        right = x + width
        if points.back.any():
            right = kind_of_points(sketch, right, y + 14, "test", self.ground.theme, hollow=True)
            right = kind_of_points(sketch, right, y + 14, "train", self.ground.theme)
        note = f"{up} over {across}" if self.panel.title else ""
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

    def label(self, moment: Moment, size: tuple[float, float]) -> Sequence[Sketch]:
        """What a point is, what the network says there, in the units at the axes, and what a click would do."""
        at, points, axes, named = self.pointer, self._points, self.axes, self._named
        place = None if at is None else self.numbers(at)
        if at is None or points is None or axes is None or named is None or place is None:
            return ()
        (across, up), index = named, self.under(at)
        x, t = place if index is None else (float(points.x[index][0]), float(points.target[index]))
        wanted = up.units(t)
        said = up.units(float(moment.predict(self.panel.inputs(np.array([x])))[0, 0]))
        more = self.says(index, f"{up.name} {number(wanted, 2)}")
        if index is not None:
            kind = f" ({'test' if points.back[index] else 'train'})" if points.back.any() else ""
            more = [f"wanted {number(wanted, 2)}{kind}, error {number(said - wanted, 2)}", *more]
        head = f"{across.name} {number(across.units(x), 2)}"
        return [pointer_label(axes.point(x, t), size, head, f"is now {number(said, 2)}", more, self.ground.theme)]


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
