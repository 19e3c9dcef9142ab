"""The drawer of a network of one input: its curve over the points that it learns from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...run.moment import Moment
from ...run.panels import Axis, CurveFit, Points
from ..draw.maps import signed_shades
from ..draw.places import LABEL, Box
from ..draw.sketch import Sketch
from ..draw.text import measure, number
from .drawer import Ground, Point, cut, sentence
from .image import words_of
from .overlay import pointer_label
from .spots import SpotsDrawer, inside

Floats = NDArray[np.float64]
_TOP, _FOOT = 25.0, 20.0
_PLACES = 129
LEARNT, BACK = 6.0, 6.4
"""Diameters of points, those that are held back hollow."""


class CurveFitDrawer(SpotsDrawer[CurveFit]):
    """Curve, points, axes with the numbers of before."""

    name = "curve"
    height, most = 220.0, 364.0
    worth = 3
    needs = ("predict",)
    near = 8.0
    choices = (("Click", "a point of the curve: show its way"),)

    def __init__(self, panel: CurveFit, ground: Ground) -> None:
        super().__init__(panel, ground)
        self._points: Points | None = None

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        """The curve of this moment, or what is wrong with the scene's own functions."""
        panel, theme = self.panel, self.ground.theme
        across = np.linspace(panel.across.least, panel.across.most, _PLACES)
        try:
            points = self._points = panel.points(moment)
            found = np.asarray(moment.predict(panel.inputs(across)), np.float64)[:, 0]
        except Exception as error:  # the scene's own: its place says so, and the picture goes on
            self.ground.notes.append(f"panel {panel.title!r}: {words_of(error)}")
            return [sentence(box, theme, words_of(error))]
        sketch = Sketch()
        plot = self._frame(sketch, box)
        span = panel.up.least, panel.up.most
        starts, stops = (self._pixels(part, plot) for part in inside(across, found, span))
        above = Sketch(over=True)
        above.lines(starts, stops, theme.text1, 2.2, round_ends=True)
        x, t, back = np.asarray(points.x)[:, 0], np.asarray(points.target, np.float64), points.back
        seen = (x >= across[0]) & (x <= across[-1]) & (t >= span[0]) & (t <= span[1])
        self._spots = np.where(seen[:, None], self._pixels(np.stack([x, t], 1), plot), np.inf)
        inks = np.asarray(signed_shades(t[:, None], span, theme)[:, 0] / 255.0)
        for some, size, hollow in ((seen & ~back, LEARNT, False), (seen & back, BACK, True)):
            if some.any():
                sketch.discs(self._spots[some], size, inks[some], rim=theme.ink, border=1.0, hollow=hollow)
        return [sketch, above, *self._ring()]

    def _frame(self, sketch: Sketch, box: Box) -> Box:
        """Title, axes and their ends; returns the box of the plot."""
        x, y, width, height = box
        theme, panel = self.ground.theme, self.panel
        low, high = (_end(value, panel.up) for value in panel.up.ends)
        gutter = max(measure(low, LABEL), measure(high, LABEL)) + 8
        plot = (x + gutter, y + _TOP, width - gutter, height - _TOP - _FOOT)
        sketch.text(x, y + 14, cut(f"{panel.up.name} over {panel.across.name}", width - 110, bold=True), LABEL,
                    theme.text1, bold=True)  # fmt: skip
        sketch.text(x + width, y + 14, "hollow: test", LABEL, theme.text3, anchor="right")
        sketch.rect(*plot, fill=theme.panel, stroke=theme.border)
        foot, left = plot[1] + plot[3], plot[0] - 7
        sketch.text(plot[0], foot + 15, _end(panel.across.ends[0], panel.across), LABEL, theme.text3)
        sketch.text(x + width, foot + 15, _end(panel.across.ends[1], panel.across), LABEL, theme.text3, anchor="right")
        sketch.text(left, plot[1] + 10, high, LABEL, theme.text3, anchor="right")
        sketch.text(left, foot, low, LABEL, theme.text3, anchor="right")
        return plot

    def _pixels(self, places: Floats, plot: Box) -> Floats:
        across, up = self.panel.across, self.panel.up
        x = plot[0] + plot[2] * (places[:, 0] - across.least) / (across.most - across.least)
        return np.stack([x, plot[1] + plot[3] * (1 - (places[:, 1] - up.least) / (up.most - up.least))], axis=1)

    def _ring(self) -> Sequence[Sketch]:
        """Around the point whose way is drawn."""
        probe, points = self.ground.subject.probe, self._points
        if probe is None or points is None:
            return ()
        samples = np.asarray(self.panel.inputs(np.asarray(points.x, np.float64)[:, 0]))
        if samples.shape[1:] != probe.shape:
            return ()
        same = np.flatnonzero(np.isclose(samples, probe).all(axis=1))
        if not len(same) or not np.isfinite(self._spots[same[0]]).all():
            return ()
        sketch, theme = Sketch(over=True), self.ground.theme
        x, y = self._spots[same[0]].tolist()
        sketch.disc(x, y, 7.6, stroke=theme.selection, border=2.2)
        return [sketch]

    # ---- hands

    def label(self, moment: Moment, size: tuple[float, float]) -> Sequence[Sketch]:
        """What a point is, and what the network says there, in the units of before."""
        points = self._points
        if self._over is None or points is None or self._over >= len(self._spots):
            return ()
        panel, x, t = self.panel, float(points.x[self._over][0]), float(points.target[self._over])
        found = float(moment.predict(panel.inputs(np.array([x])))[0, 0])
        said = f"is now {number(panel.up.units(found), 2)}"
        more = [f"{'held back' if points.back[self._over] else 'learnt from'}: {number(panel.up.units(t), 2)}"]
        at = float(self._spots[self._over, 0]), float(self._spots[self._over, 1])
        head = f"{panel.across.name} {number(panel.across.units(x), 2)}"
        return [pointer_label(at, size, head, said, more, self.ground.theme)]

    def click(self, at: Point) -> bool:
        """The way of a point is drawn."""
        index, points = self._point(at), self._points
        if index is None or points is None or not self.ground.chooses():
            return False
        sample = np.asarray(self.panel.inputs(np.asarray(points.x, np.float64)[index : index + 1, 0]), np.float64)[0]
        target = np.asarray(points.target[index : index + 1], np.float64)
        self.ground.choose_by(lambda: (sample, target))
        self.stale = True
        return True


def _end(value: float, axis: Axis) -> str:
    """A number at the end of an axis: as many digits as its length needs."""
    low, high = axis.ends
    digits = max(0, 2 - int(np.floor(np.log10(max(high - low, 1e-300)))))
    return f"{value:,.{min(digits, 6)}f}".replace("-", "\N{MINUS SIGN}")
