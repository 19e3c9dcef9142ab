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
from .drawer import Ground, Point, sentence, title_of
from .loss import tick_text
from .overlay import pointer_label
from .slope import LEFT
from .spots import SpotsDrawer, inside

Floats = NDArray[np.float64]
_TOP, _FOOT = 21.0, 20.0
_PLACES = 65
DRAWN, FEW = 2000, 200
"""The most points that are drawn, evenly out of all; and up to how many their errors are, and they are large."""


class LineFitDrawer(SpotsDrawer[LineFit]):
    """Between each point and the line stands its error."""

    name = "points"
    height, most = 150.0, 300.0
    needs = ("predict",)
    choices = (("Click", "a point: show its way"),)

    def __init__(self, panel: LineFit, ground: Ground) -> None:
        super().__init__(panel, ground)
        self._samples: tuple[Floats, Floats] = (np.zeros(0), np.zeros(0))

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
        pieces = inside(across, line, spans[1])
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
