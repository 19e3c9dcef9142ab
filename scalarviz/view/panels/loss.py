"""The loss curve: batch loss as a line, another data set's as dashes, on a log axis where the numbers allow it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..draw.axes import Axes, Scale, can_be_log, scale_of
from ..draw.places import LABEL
from ..draw.sketch import Box, Float, Sketch, dashes
from ..draw.text import measure
from ..draw.theme import Theme
from ..shown.ahead import Ahead
from .toggle import END, AxisSwitch, StepAxis

Array = NDArray[np.floating]
DASHES = 6.0, 4.0
"""Logical pixels on and off, of a curve of another data set."""
_AXIS = 40  # room for the numbers on the left


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """One curve.

    Attributes
    ----------
    label : str
    steps, losses : ndarray
        Of the same length; what is not finite is left out.
    dashed : bool
        Whether it is that of another data set: over the others, apart from them.
    noisy : bool
        Whether each loss is of a few samples only: the line is their mean then, their own are thin and grey.
    """

    label: str
    steps: NDArray[np.integer] | Array
    losses: Array
    dashed: bool = False
    noisy: bool = False


def loss_panel(
    box: Box,
    theme: Theme,
    curves: Sequence[Line],
    note: str = "",
    before: str = "",
    *,
    note_old: bool = False,
    until: float | None = None,
    switch: AxisSwitch | None = None,
    ahead: Ahead | None = None,
    steps: StepAxis | None = None,
) -> Sketch:
    """Title with a note beside it, gridlines, curves, their names and the end point of the first.

    `before` says of which moment that end is, where it is not that of the picture: then it is a dim ring. A note that
    is old is dim too. `until` is the step that the axis says at its end, where words lag behind the curve. `switch` is
    the word that says how the axis is divided; with `ahead` the axes hold the steps to come. `steps` is told where each
    step stands.
    """
    sketch, switch = Sketch(), switch or AxisSwitch()
    x, y, width, height = box
    plot = (x + _AXIS, y + 30.0, width - _AXIS, height - 30.0 - 22)
    reduced = [_reduced(c, int(plot[2])) for c in curves]
    coming = [] if ahead is None else [ahead.low, ahead.high]
    every = np.concatenate([coming, *(part for r in reduced for part in r[1:])])
    sketch.text(x, y + 14, "loss", LABEL, theme.text1, bold=True)
    reach = measure(note, LABEL) / 2 + 12  # over the middle of the curve, but clear of the title and of the switch
    middle = min(x + _AXIS + plot[2] / 2, x + width - measure("linear", LABEL) - 14 * switch.touched - reach)
    middle = max(middle, x + measure("loss", LABEL, True) + reach)
    sketch.text(middle, y + 14, note, LABEL, theme.text3 if note_old else theme.text1, anchor="middle")
    if not np.isfinite(every).any():
        sketch.text(x + width / 2, y + height / 2, "no step yet", LABEL, theme.text3, anchor="middle")
        return sketch
    scale = scale_of(every, max(3, min(7, int(plot[3] // 42) + 1)), linear=switch.linear, height=plot[3])
    last = max((float(r[0][-1]) for r in reduced if len(r[0])), default=0.0)
    first = min((float(r[0][0]) for r in reduced if len(r[0])), default=0.0)
    said = last if until is None else min(last, until)
    if ahead is not None:
        first, last, said = (min(first, ahead.step), max(last, ahead.last), max(said, ahead.last))
    if steps is not None:
        steps.plot, steps.first, steps.last = plot, first, last
    switch.draw(sketch, x + width, y + 14, theme, log=scale.log, free=can_be_log(every))
    across = Scale(first, max(last, first + 1.0))
    axes = Axes((plot[0], plot[1], plot[2] - END, plot[3]), across, scale)
    Axes(plot, across, scale).rule(sketch, theme)
    foot = plot[1] + plot[3] + 18
    sketch.text(plot[0], foot, f"{first:,.0f}", LABEL, theme.text3, anchor="middle")
    if said > first:
        sketch.text(plot[0] + plot[2], foot, f"{said:,.0f}", LABEL, theme.text3, anchor="right")
    paths, ends = list[Float](), list[tuple[Line, Float]]()
    for curve, data in sorted(zip(curves, reduced, strict=True), key=lambda pair: pair[0].dashed):
        if drawn := _draw_curve(sketch, axes, theme, curve, data):
            paths += drawn
            ends.append((curve, drawn[0][-1]))
    for curve, end in reversed(ends):
        _draw_end(sketch, theme, curve, end, older=bool(before))
    ending = f"end: {before}"
    if before and measure(ending, LABEL) + 90 <= plot[2]:  # between the numbers of the steps
        sketch.text(plot[0] + plot[2] / 2, plot[1] + plot[3] + 18, ending, LABEL, theme.text2, anchor="middle")
    _names(sketch, plot, theme, curves, paths)
    return sketch


def _reduced(curve: Line, columns: int) -> Reduced:
    steps, losses = np.asarray(curve.steps), np.asarray(curve.losses, float)
    finite = np.isfinite(losses)
    if not finite.all():  # a million steps are copied only if they must be
        steps, losses = steps[finite], losses[finite]
    found = thin_out(steps, losses, columns)
    return averaged(found) if curve.noisy else found


def _draw_curve(sketch: Sketch, axes: Axes, theme: Theme, curve: Line, data: Reduced) -> list[Float]:
    """Returns the points (N, 2) of its line, and of the ends of its spread where that is drawn."""
    if not len(data.steps):
        return []

    def points(losses: Array) -> Float:
        return axes.points(data.steps, losses, within=True).astype(np.float32)

    path = points(data.line)
    if curve.dashed:  # over the other curve, which shows between the dashes: each has a little ground around it
        sketch.lines(*dashes(path, *DASHES), theme.background, 5.0)
        sketch.polyline(path, theme.text2, 1.8, dash=DASHES)
        return [path]
    beside: list[Float] = []
    if data.low is not data.high:  # the spread that the mean hides
        beside = [points(data.low), points(data.high)]
        sketch.lines(beside[0], beside[1], theme.flow, 1.0)
    elif data.spread:  # every step has a place of its own
        beside = [points(data.low)]
        sketch.polyline(beside[0], theme.flow, 1.0)
    sketch.polyline(path, theme.text1, 2.0)
    return [path, *beside]


def _draw_end(sketch: Sketch, theme: Theme, curve: Line, end: Float, *, older: bool) -> None:
    """The disc at the end of a line; a ring around it for a dashed one, so that both are seen."""
    x, y = end.tolist()
    if curve.dashed:
        sketch.disc(x, y, 7.6, stroke=theme.background, border=3.4)
        sketch.disc(x, y, 6.6, stroke=theme.text2, border=1.8)
    elif older:
        sketch.disc(x, y, 4.5, theme.background, stroke=theme.text3, border=1.6)
    else:
        sketch.disc(x, y, 4.5, theme.text1)


def _names(sketch: Sketch, plot: Box, theme: Theme, curves: Sequence[Line], paths: Sequence[Float]) -> None:
    """In the corner through which no curve goes: top right, where a falling curve leaves room, if that is one."""
    x, y, width, height = plot
    if height < 90 or not curves:
        return
    wide = 32.0 + max(measure(c.label, LABEL) for c in curves)
    high = 19.0 * len(curves)
    if wide + 8 > width:
        return
    left, right, top, bottom = x + 8, x + width - 8 - wide, y + 6.0, y + height - high - 6
    corners = [(right, top), (left, bottom), (left, top), (right, bottom)]
    inside = [sum(_points_in((a - 5, b - 5, wide + 10, high + 10), path) for path in paths) for a, b in corners]
    at, first = corners[int(np.argmin(inside))]
    sketch.rect(at - 4, first - 2, wide + 8, high + 4, fill=theme.background)  # no gridline strikes a name out
    for row, curve in enumerate(curves):
        middle = first + 9.0 + 19 * row
        colour = theme.text2 if curve.dashed else theme.text1
        dash = DASHES if curve.dashed else None
        sketch.polyline([(at, middle), (at + 24, middle)], colour, 1.8 if curve.dashed else 2.0, dash=dash)
        sketch.text(at + 32, middle + 4.5, curve.label, LABEL, colour)


def _points_in(box: Box, path: Float) -> int:
    """How many pixels of a curve (N, 2), counted along x, lie in a box."""
    if len(path) == 0:
        return 0
    x, y, width, height = box
    across = np.arange(max(x, float(path[0, 0])), min(x + width, float(path[-1, 0])) + 0.5)
    up = np.interp(across, path[:, 0], path[:, 1])
    own = (path[:, 0] >= x) & (path[:, 0] <= x + width) & (path[:, 1] >= y) & (path[:, 1] <= y + height)
    return int(((up >= y) & (up <= y + height)).sum() + own.sum())


# ---- What a noisy curve says: the mean of neighbouring steps, and how far the steps' own losses lie from it.

SHARE = 1 / 50
"""Of the steps that are drawn, so many are averaged on either side."""


class Reduced(NamedTuple):
    """A curve as it is drawn: steps, its line, the least and the largest loss of the steps around each point."""

    steps: Array
    line: Array
    low: Array
    high: Array

    @property
    def spread(self) -> bool:
        """Whether there is something beside the line."""
        return self.low is not self.line


def thin_out(steps: Array, losses: Array, columns: int) -> Reduced:
    """Mean, least and largest loss of at most `columns` groups of neighbouring steps."""
    count = len(steps)
    if count <= columns:
        return Reduced(steps.astype(float), losses, losses, losses)
    begin = np.linspace(0, count, columns + 1).astype(np.intp)[:-1]
    sizes = np.diff(np.append(begin, count))
    mean = np.add.reduceat(losses, begin) / sizes
    middle = np.add.reduceat(steps, begin) / sizes
    # It begins with the first step's own loss. It ends at the last step, but with a mean as everywhere: the loss of one
    # batch would be a cliff at its end.
    mean[0], middle[0], middle[-1] = losses[0], steps[0], steps[-1]
    return Reduced(middle, mean, np.minimum.reduceat(losses, begin), np.maximum.reduceat(losses, begin))


def averaged(curve: Reduced) -> Reduced:
    """The same with a line through the middle of the noise.

    Towards the first step fewer are averaged, to its own loss; at the last one the line ends at the mean of the last.
    """
    half, losses = int(len(curve.line) * SHARE), curve.line
    if not half:
        return curve
    place = np.arange(len(losses))
    left = np.minimum(half, place)
    right = np.minimum(np.minimum(half, place), place[::-1])
    total, count = np.zeros(len(losses)), np.zeros(len(losses))
    for away in range(-half, half + 1):  # no running sum: after a loss of 1e30 it would forget the small ones
        some = (-left <= away) & (away <= right)
        total[some] += losses[place[some] + away]
        count[some] += 1
    return curve._replace(line=total / count)
