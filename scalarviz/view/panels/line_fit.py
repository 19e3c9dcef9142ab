"""The drawer of points on a line: samples of one number, and what the network makes of every number between."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...run.moment import Moment
from ...run.panels import LineFit
from ..draw.places import LABEL, Box
from ..draw.sketch import Sketch
from ..draw.text import number
from .drawer import Drawer, Ground, Point, sentence, title_of
from .loss import tick_text
from .overlay import pointer_label
from .slope import LEFT

Floats = NDArray[np.float64]
_TOP, _FOOT = 21.0, 20.0
_PLACES, _NEAR = 65, 9.0
DRAWN, FEW = 2000, 200
"""The most points that are drawn, evenly out of all; and up to how many their errors are, and they are large."""


class LineFitDrawer(Drawer[LineFit]):
    """Between each point and the line stands its error."""

    name = "points"
    height, most = 150.0, 300.0
    needs = ("predict",)
    choices = (("Click", "a point: show its way"),)

    def __init__(self, panel: LineFit, ground: Ground) -> None:
        super().__init__(panel, ground)
        self._samples: tuple[Floats, Floats] = (np.zeros(0), np.zeros(0))
        self._spots: Floats = np.zeros((0, 2))
        self._over: int | None = None

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        """Points, errors and line."""
        sketch, theme = Sketch(), self.ground.theme
        inputs, targets = (np.asarray(part, np.float64) for part in moment.samples())
        if inputs.shape[1:] != (1,) or targets.shape[1:] != (1,):
            return [sentence(box, theme, f"{self.panel.title}: samples of one number each are wanted")]
        spans = _wide(inputs), _wide(targets)
        some = np.linspace(0, len(inputs) - 1, min(len(inputs), DRAWN)).round().astype(int)
        self._samples = x, t = inputs[some, 0], targets[some, 0]
        said = f"{self.panel.names[1]} over {self.panel.names[0]}"
        title_of(
            sketch, box, theme, self.panel.title, said if len(x) == len(inputs) else f"{len(x):,} of {len(inputs):,}"
        )
        plot = (box[0] + LEFT, box[1] + _TOP + 4, box[2] - LEFT, box[3] - _TOP - 4 - _FOOT)
        across = np.linspace(*spans[0], _PLACES)
        found = np.asarray(moment.predict(np.append(across, x)[:, None]), np.float64)[:, 0]
        sketch.rect(*plot, fill=theme.panel, stroke=theme.border)
        if spans[1][0] < 0 < spans[1][1]:
            zero = _pixels(np.array([spans[0][0], spans[0][1]]), np.zeros(2), spans, plot)
            sketch.line(zero[0], zero[1], theme.grid, 1.0)
        self._spots = _pixels(x, t, spans, plot)
        ends = _pixels(x, np.clip(found[_PLACES:], *spans[1]), spans, plot)
        known = np.isfinite(found[_PLACES:])
        few = len(x) <= FEW
        if few:  # else they would be one grey plane
            sketch.lines(self._spots[known], ends[known], theme.flow, 1.6)
        line = found[:_PLACES]
        pieces = _inside(across, line, spans[1])
        starts, stops = (_pixels(part[:, 0], part[:, 1], spans, plot) for part in pieces)
        chosen = self._chosen()
        if few:
            sketch.lines(starts, stops, theme.text1, 2.0, round_ends=True)
        for k, (px, py) in enumerate(self._spots.tolist()):
            sketch.disc(px, py, 5.0 if few else 2.5, theme.weight[3], border=1.6 if few else 0.8,
                        stroke=theme.selection if k == chosen else theme.background)  # fmt: skip
        if not few:  # over what would cover it
            sketch.lines(starts, stops, theme.text1, 2.0, round_ends=True)
        for at, value, anchor in ((plot[0], spans[0][0], "left"), (plot[0] + plot[2], spans[0][1], "right")):
            text = tick_text(round(value, 2))
            sketch.text(at, plot[1] + plot[3] + 16, text, LABEL, theme.text3, anchor=anchor)  # type: ignore[arg-type]
        for at, value in ((plot[1] + 10, spans[1][1]), (plot[1] + plot[3], spans[1][0])):
            sketch.text(plot[0] - 7, at, tick_text(round(value, 2)), LABEL, theme.text3, anchor="right")
        return [sketch]

    def _chosen(self) -> int | None:
        """The point whose way is drawn."""
        probe = self.ground.subject.probe
        if probe is None or probe.size != 1:
            return None
        same = np.flatnonzero(np.isclose(self._samples[0], float(np.ravel(probe)[0])))
        return int(same[0]) if len(same) else None

    # ---- hands

    def _point(self, at: Point | None) -> int | None:
        if at is None or not len(self._spots):
            return None
        away = np.hypot(*(self._spots - at).T)
        return int(away.argmin()) if away.min() <= _NEAR else None

    def hover(self, at: Point | None) -> bool:
        """A point under the pointer says what it is."""
        before, self._over = self._over, self._point(at)
        return before != self._over

    def label(self, moment: Moment, size: tuple[float, float]) -> Sequence[Sketch]:
        """What a point is, what the network says there, and what a click would do."""
        if self._over is None or self._over >= len(self._spots):
            return ()
        x, t = (float(part[self._over]) for part in self._samples)
        found = float(moment.predict(np.array([[x]]))[0, 0])
        more = [f"wanted {number(t, 2)}, error {number(found - t, 2)}"]
        more += ["click: show its way"] if self.ground.chooses(1) else []
        at = float(self._spots[self._over, 0]), float(self._spots[self._over, 1])
        names = self.panel.names
        return [pointer_label(at, size, f"{names[0]} {number(x, 2)}", f"is now {number(found, 2)}", more,
                              self.ground.theme)]  # fmt: skip

    def click(self, at: Point) -> bool:
        """The way of a point is drawn."""
        point = self._point(at)
        if point is None or not self.ground.chooses(1):
            return False
        x, t = (np.array([[part[point]]]) for part in self._samples)
        self.ground.choose_by(lambda: (x, self.ground.wanted(x, t)))
        self.stale = True
        return True


def _wide(values: Floats) -> tuple[float, float]:
    """From the least to the largest, and some air."""
    low, high = float(values.min(initial=0.0)), float(values.max(initial=0.0))
    air = 0.12 * (high - low) or 1.0
    return low - air, high + air


def _pixels(x: Floats, y: Floats, spans: tuple[tuple[float, float], tuple[float, float]], plot: Box) -> Floats:
    (left, right), (low, high) = spans
    across = plot[0] + plot[2] * (x - left) / (right - left)
    return np.stack([across, plot[1] + plot[3] * (1 - (y - low) / (high - low))], axis=-1)


def _inside(x: Floats, y: Floats, span: tuple[float, float]) -> tuple[Floats, Floats]:
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
