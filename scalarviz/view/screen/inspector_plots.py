"""The two small plots of the inspector: how a weight moved, and what the loss would be if it were another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..ink.axes import Axes, Scale
from ..ink.places import LABEL
from ..ink.sketch import Box
from ..ink.text import loss_text, measure, short
from .account import Along
from .inspector_page import Page

HEIGHT = 104.0
_TICK = LABEL


@dataclass(frozen=True, slots=True, eq=False)
class Moved:
    """How a weight moved.

    Attributes
    ----------
    steps, values : ndarray of float64
    since : str
        From where on, in words.
    step, value : float
        Where it stands now.
    """

    steps: NDArray[np.float64]
    values: NDArray[np.float64]
    since: str
    step: float
    value: float


def draw_plots(page: Page, moved: Moved, along: Along | None, height: float, *, opened: bool) -> None:
    """How it moved; where the coming step is `opened` beside it what if, for which there is no time while it runs."""
    wide = (page.width - 16.0) / 2 if opened else page.width
    _draw_moved(page, (page.x, page.y, wide, height), moved)
    if opened:
        box = (page.x + wide + 16.0, page.y, wide, height)
        if along is None:
            _title(page, box, "what if", "")
            page.sketch.text(box[0], box[1] + 34, "shown at rest", LABEL, page.theme.text3)
        else:
            _draw_along(page, box, along)
    page.y += height


def _title(page: Page, box: Box, title: str, note: str) -> None:
    x, y, width, _ = box
    page.sketch.text(x, y + 14, title, LABEL, page.theme.text1, bold=True)
    if measure(title, LABEL, True) + 8 + measure(note, LABEL) <= width:
        page.sketch.text(x + width, y + 14, note, LABEL, page.theme.text3, anchor="right")


def axes_of(box: Box, across: NDArray[np.floating], up: NDArray[np.floating]) -> Axes:
    """Axes without numbers that hold all of these."""
    low, high = float(up.min()), float(up.max())
    middle, span = (low + high) / 2, max(high - low, 1e-3 * max(abs(low), abs(high)), 1e-12)
    left, right = float(across.min()), float(across.max())
    return Axes(box, Scale(left, right if right > left else left + 1.0), Scale(middle - span / 2, middle + span / 2))


def _draw_moved(page: Page, box: Box, moved: Moved) -> None:
    """The value by step, its range at the right, and where it stands now."""
    sketch, theme = page.sketch, page.theme
    if moved.since:
        _title(page, box, "value", moved.since)
    known = np.isfinite(moved.values)
    steps, values = moved.steps[known], moved.values[known]
    if not len(steps):
        return
    low, high = short(float(values.min())), short(float(values.max()))
    x, y, width, height = box
    margin = max(measure(low, _TICK), measure(high, _TICK)) + 6
    axes = axes_of((x, y + 26, width - margin - 4, height - 36), steps, values)
    for text, level in ((high, axes.box[1]), (low, axes.box[1] + axes.box[3])):
        sketch.line((x, level), (x + width - margin, level), theme.grid, 1.0)
        if low != high or level == axes.box[1]:
            sketch.text(x + width, level + 4, text, _TICK, theme.text3, anchor="right")
    left, top, wide, tall = axes.box
    if steps[-1] > steps[0]:
        page.spot((left, top - 4, wide, tall + 8), "moment", f"{steps[0]:.0f} {steps[-1]:.0f}")
    path = axes.points(steps, values)
    before = steps <= moved.step
    if (~before).any() and before.any():  # what is still to come on this branch
        sketch.polyline(path[np.count_nonzero(before) - 1 :], theme.flow, 1.6)
    if before.sum() > 1:
        sketch.polyline(path[before], theme.text1, 2.0)
    if np.isfinite(moved.value):
        at = axes.point(moved.step, moved.value)
        if (~before).any():
            sketch.line((at[0], top - 6), (at[0], top + tall + 8), theme.text2, 1.0)
        sketch.disc(*at, 4.0, theme.text1)


def _draw_along(page: Page, box: Box, along: Along) -> None:
    """The loss of the batch by this weight alone; the gradient is the slope of the violet line.

    Below the axis stand weights, the loss of the one that it has stands above.
    """
    sketch, theme = page.sketch, page.theme
    said = f"loss {loss_text(along.loss)}"
    fits = measure("what if", LABEL, True) + 8 + measure(said, LABEL) <= box[2]
    _title(page, box, "what if", said if fits else "loss")
    known = np.isfinite(along.losses)
    values, losses = along.values[known], along.losses[known]
    x, y, width, height = box
    if len(values) < 2:
        sketch.text(x, y + 34, "not finite", LABEL, theme.text3)
        return
    axes = axes_of((x + 2, y + 24, width - 4, height - 42), values, np.append(losses, along.loss))
    base = axes.box[1] + axes.box[3]
    sketch.line((x, base), (x + width, base), theme.grid, 1.0)
    low, high = short(axes.across.low, signed=True), short(axes.across.high, signed=True)
    sketch.text(x, y + height - 3, low, _TICK, theme.text3)
    sketch.text(x + width, y + height - 3, high, _TICK, theme.text3, anchor="right")
    sketch.polyline(axes.points(values, losses), theme.text1, 2.0)
    if np.isfinite([along.value, along.loss, along.slope]).all():
        reach = 0.3 * (axes.across.high - axes.across.low)
        if along.slope:
            reach = min(reach, 0.4 * (axes.up.high - axes.up.low) / abs(along.slope))
        ends = axes.slope(along.value, along.loss, along.slope, reach)
        sketch.lines(ends[:1], ends[1:], theme.pulse, 1.6)
        sketch.disc(*axes.point(along.value, along.loss), 4.0, theme.pulse)
        text = short(along.value, signed=True)
        if measure(low, _TICK) + measure(text, _TICK) + measure(high, _TICK) + 16 <= width:
            sketch.text(x + width / 2, y + height - 3, text, _TICK, theme.text2, anchor="middle")
