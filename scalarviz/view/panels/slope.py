"""The loss over one weight: a curve, the tangent where the gradient was taken, the step from there, and the ball."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..draw.places import LABEL, Box
from ..draw.sketch import Sketch
from ..draw.text import measure
from ..draw.theme import Theme
from .descent import Place
from .loss import Axis, axis, tick_text

Floats = NDArray[np.float64]
LEFT, _FOOT = 40.0, 20.0
_TANGENT = 0.22  # of the width, to either side
BALL = 6.5


def draw_slope(
    sketch: Sketch,
    box: Box,
    theme: Theme,
    name: str,
    curve: tuple[Floats, Floats],
    place: Place,
    ball: Floats,
    trail: Floats,
    losses_at: Callable[[Floats], Floats],
) -> None:
    """Draw it into `box`.

    Parameters
    ----------
    curve : tuple of ndarray
        Weights, rising, and the loss at each.
    place : Place
    ball : ndarray, shape (1,)
        Where the ball is drawn: on its way to ``place.here``.
    trail : ndarray, shape (N, 1)
        Where it was.
    losses_at : callable
        The loss at places (N, 1).
    """
    weights, found = curve
    shown = np.isfinite(found)
    if shown.sum() < 2:
        sketch.text(box[0], box[1] + 30, "the loss is beyond all numbers here", LABEL, theme.text2)
        return
    up = axis(np.append(found[shown], 0.0) if found[shown].min() >= 0 else found[shown], most=5, linear=True)
    left = max([LEFT, *(measure(tick_text(tick), LABEL) + 8 for tick in up.ticks)])
    plot = (box[0] + left, box[1] + 8, box[2] - left, box[3] - 8 - _FOOT)
    paper = _Paper(plot, (float(weights[0]), float(weights[-1])), up)
    _grid(sketch, paper, theme, name)
    sketch.polyline(paper.points(weights[shown], found[shown]), theme.text2, 2.0)
    marks = np.array([*trail[:, :1].ravel()]) if trail.size else np.zeros(0)
    marks = marks[np.isfinite(marks) & (marks >= weights[0]) & (marks <= weights[-1])]
    for at in paper.points(marks, np.interp(marks, weights, found)):
        sketch.disc(float(at[0]), float(at[1]), 2.5, theme.text3)
    if place.gradient is not None:
        _tangent(sketch, paper, theme, place, losses_at)
    if np.isfinite(ball).all():
        height = losses_at(ball[None])
        if np.isfinite(height).all():
            x, y = paper.points(ball, height)[0].tolist()
            sketch.disc(x, y, BALL, theme.text1, stroke=theme.background, border=1.5)


class _Paper:
    """Where a weight and a loss stand."""

    def __init__(self, plot: Box, span: tuple[float, float], up: Axis) -> None:
        self.plot, self.span, self.up = plot, span, up

    def points(self, weights: Floats, losses: Floats) -> Floats:
        """Pixels (N, 2), within the plot."""
        x, y, width, height = self.plot
        across = x + width * (weights - self.span[0]) / (self.span[1] - self.span[0])
        return np.stack([across, y + height * (1 - np.clip(self.up.place(losses), 0.0, 1.0))], axis=1)


def _grid(sketch: Sketch, paper: _Paper, theme: Theme, name: str) -> None:
    x, y, width, height = paper.plot
    for tick in paper.up.ticks:
        at = round(y + height * (1 - float(paper.up.place(np.array([tick]))[0]))) + 0.5
        sketch.line((x, at), (x + width, at), theme.grid, 1.0)
        sketch.text(x - 7, at + 4, tick_text(tick), LABEL, theme.text3, anchor="right")
    low, high = paper.span
    ticks = [t for t in axis(np.array(paper.span), most=7, linear=True).ticks if low <= t <= high]
    end = x + width - measure(name, LABEL, True) - 6
    for tick in ticks:
        at, text = x + width * (tick - low) / (high - low), tick_text(tick)
        half = measure(text, LABEL) / 2
        sketch.line((at, y + height), (at, y + height + 4), theme.flow, 1.0)
        if at + half <= end:
            sketch.text(at, y + height + 18, text, LABEL, theme.text3, anchor="middle")
    sketch.text(x + width, y + height + 18, name, LABEL, theme.text2, bold=True, anchor="right")


def _tangent(sketch: Sketch, paper: _Paper, theme: Theme, place: Place, losses_at: Callable[[Floats], Floats]) -> None:
    """The straight line that the gradient is, and the step that was taken along it."""
    at = place.here if place.before is None else place.before
    assert place.gradient is not None
    loss, slope = losses_at(at[None]), float(place.gradient[0])
    if not np.isfinite([*at, *loss, slope]).all():
        return
    low, high = paper.up.low, paper.up.high
    reach = _TANGENT * (paper.span[1] - paper.span[0])
    ends = []
    for way in (-1.0, 1.0):
        room = min(reach, max(0.0, (paper.span[1] - float(at[0])) if way > 0 else (float(at[0]) - paper.span[0])))
        if slope:
            edge = high if way * slope > 0 else low
            room = min(room, max(0.0, (edge - float(loss[0])) / (way * slope)))
        ends.append((float(at[0]) + way * room, float(loss[0]) + way * room * slope))
    across, up = np.array(ends).T
    sketch.polyline(paper.points(across, up), theme.pulse, 2.0)
    if place.before is None:
        return
    start = paper.points(place.before, loss)[0]
    landed = losses_at(place.here[None])
    end = paper.points(place.here, landed if np.isfinite(landed).all() else np.array([high]))[0]
    if abs(end[0] - start[0]) > 8:
        sketch.arrow(start, (end[0], start[1]), theme.flow, 1.6)
    sketch.polyline([(end[0], start[1]), end], theme.flow, 1.4, dash=(3, 3))
    sketch.disc(float(start[0]), float(start[1]), 5.0, theme.background, stroke=theme.pulse, border=1.8)
