"""The loss over one weight: a curve, the tangent where the gradient was taken, the step from there, and the ball."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..draw.axes import Axes, Scale, scale_of, tick_text
from ..draw.places import LABEL
from ..draw.sketch import Box, Sketch
from ..draw.text import measure
from ..draw.theme import Theme
from .descent import Place

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
    up = scale_of(np.append(found[shown], 0.0) if found[shown].min() >= 0 else found[shown], most=5, linear=True)
    left = max([LEFT, *(measure(tick_text(tick), LABEL) + 8 for tick in up.ticks)])
    plot = (box[0] + left, box[1] + 8, box[2] - left, box[3] - 8 - _FOOT)
    axes = Axes(plot, Scale(float(weights[0]), float(weights[-1])), up)
    _grid(sketch, axes, theme, name)
    sketch.polyline(axes.points(weights[shown], found[shown], within=True), theme.text2, 2.0)
    marks = np.array([*trail[:, :1].ravel()]) if trail.size else np.zeros(0)
    marks = marks[np.isfinite(marks) & (marks >= weights[0]) & (marks <= weights[-1])]
    for at in axes.points(marks, np.interp(marks, weights, found), within=True):
        sketch.disc(float(at[0]), float(at[1]), 2.5, theme.text3)
    if place.gradient is not None:
        _tangent(sketch, axes, theme, place, losses_at)
    if np.isfinite(ball).all():
        height = losses_at(ball[None])
        if np.isfinite(height).all():
            x, y = axes.points(ball, height, within=True)[0].tolist()
            sketch.disc(x, y, BALL, theme.text1, stroke=theme.background, border=1.5)


def _grid(sketch: Sketch, axes: Axes, theme: Theme, name: str) -> None:
    x, y, width, height = axes.box
    axes.rule(sketch, theme)
    low, high = axes.across.low, axes.across.high
    ticks = [t for t in scale_of(np.array([low, high]), most=7, linear=True).ticks if low <= t <= high]
    end = x + width - measure(name, LABEL, True) - 6
    for tick in ticks:
        at, text = x + width * (tick - low) / (high - low), tick_text(tick)
        half = measure(text, LABEL) / 2
        sketch.line((at, y + height), (at, y + height + 4), theme.flow, 1.0)
        if at + half <= end:
            sketch.text(at, y + height + 18, text, LABEL, theme.text3, anchor="middle")
    sketch.text(x + width, y + height + 18, name, LABEL, theme.text2, bold=True, anchor="right")


def _tangent(sketch: Sketch, axes: Axes, theme: Theme, place: Place, losses_at: Callable[[Floats], Floats]) -> None:
    """The straight line that the gradient is, and the step that was taken along it."""
    at = place.here if place.before is None else place.before
    assert place.gradient is not None
    loss, slope = losses_at(at[None]), float(place.gradient[0])
    if not np.isfinite([*at, *loss, slope]).all():
        return
    reach = _TANGENT * (axes.across.high - axes.across.low)
    sketch.polyline(axes.slope(float(at[0]), float(loss[0]), slope, reach), theme.pulse, 2.0)
    if place.before is None:
        return
    start = axes.points(place.before, loss, within=True)[0]
    landed = losses_at(place.here[None])
    end = axes.points(place.here, landed if np.isfinite(landed).all() else np.array([axes.up.high]), within=True)[0]
    if abs(end[0] - start[0]) > 8:
        sketch.arrow(start, (end[0], start[1]), theme.flow, 1.6)
    sketch.polyline([(end[0], start[1]), end], theme.flow, 1.4, dash=(3, 3))
    sketch.disc(float(start[0]), float(start[1]), 5.0, theme.background, stroke=theme.pulse, border=1.8)
