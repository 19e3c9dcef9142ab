"""The losses in the time bar: bright as far as the cursor, dim after it, dashed where a branch was left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...run.core.frame import Curve
from ..draw.axes import Scale, tick_text, tight
from ..draw.places import LABEL
from ..draw.sketch import Box, Sketch
from ..draw.theme import Theme, rgb
from ..shown.ahead import Ahead
from .scale import Rail, StepScale

Array = NDArray[np.float64]
TICK = LABEL
"""Size of the type of ticks."""

_COLUMN = 2.0  # logical pixels of the area below a curve that are one rectangle


def mixed(one: str, other: str, share: float) -> tuple[float, float, float]:
    """`one` with a share of `other`, opaque: neighbours that touch leave no seam."""
    first, second = np.array(rgb(one)), np.array(rgb(other))
    red, green, blue = (float(part) for part in (1 - share) * first + share * second)
    return red, green, blue


@dataclass(frozen=True, slots=True, eq=False)
class Losses:
    """The curves at one size, before they are coloured.

    Attributes
    ----------
    plot : Box
    scale : Scale or None
        None where there is no loss yet.
    path : ndarray, shape (N, 2)
        Of the straight rail, logical pixels.
    left : tuple of ndarray, shape (M, 2) each
        Of the branches that are shown.
    """

    plot: Box
    scale: Scale | None
    path: Array
    left: tuple[Array, ...]


def reduced(curve: Curve, scale: StepScale) -> tuple[Array, Array]:
    """Places and mean losses (N,), one for each pixel at most; the first is that step's own."""
    steps, losses = np.asarray(curve.step), np.asarray(curve.loss, float)
    finite = np.isfinite(losses)
    if not finite.all():
        steps, losses = steps[finite], losses[finite]
    if not len(steps):
        return np.zeros(0), np.zeros(0)
    columns = max(2, int(scale.right - scale.left))
    if len(steps) > columns:
        edges = [scale.step(x) for x in np.linspace(scale.left, scale.right, columns + 1)[:-1]]
        begin = np.unique(np.searchsorted(steps, edges))
        begin = begin[begin < len(steps)]
        sizes = np.diff(np.append(begin, len(steps)))
        mean = np.add.reduceat(losses, begin) / sizes
        middle = np.asarray(steps[begin + sizes // 2], float)
        mean[0], middle[0], middle[-1] = losses[0], steps[0], steps[-1]
        steps, losses = middle, mean
    return scale.place(steps), losses


def losses_of(
    plot: Box,
    scale: StepScale,
    curve: Curve,
    rails: Sequence[Rail],
    ahead: Ahead | None = None,
    other: Curve | None = None,
) -> Losses:
    """The curves of the straight rail and of the branches that stand alone on theirs; `ahead`, those of steps to come.

    For them there is room, which nothing is drawn in. An `other` curve is drawn as those of branches are.
    """
    own = reduced(curve, scale)
    others = [reduced(_from(rail), scale) for rail in rails if not rail.folded]
    others += [] if other is None else [reduced(other, scale)]
    every = np.concatenate([own[1], *(losses for _, losses in others)])
    if not every.size:
        return Losses(plot, None, np.zeros((0, 2)), ())
    up = tight(every if ahead is None else np.append(every, (ahead.low, ahead.high)))

    def path(places: Array, losses: Array) -> Array:
        part = np.clip(up.place(losses), 0.0, 1.0)
        return np.stack([places, plot[1] + plot[3] * (1 - part)], axis=1)

    return Losses(plot, up, path(*own), tuple(path(*other) for other in others if len(other[0])))


def _from(rail: Rail) -> Curve:
    """The steps of a rail after those that it shares with the straight one."""
    curve = rail.branches[0].curve
    own = np.searchsorted(curve.step, rail.leaves, side="right")
    return Curve(curve.step[own:], curve.loss[own:], curve.lr[own:])


def draw_losses(sketch: Sketch, losses: Losses, theme: Theme, cursor: float) -> None:
    """Everything in the plot; `cursor` is its place in pixels."""
    _, y, _, height = losses.plot
    if losses.scale is None or not len(losses.path):
        return
    _axis(sketch, losses.plot, losses.scale, theme)
    path, bottom = losses.path, y + height
    columns = np.arange(np.floor(path[0, 0]), np.ceil(path[-1, 0]), _COLUMN)
    tops = np.interp(columns + _COLUMN / 2, path[:, 0], path[:, 1])
    for part, share in ((columns >= cursor, 0.11), (columns < cursor, 0.30)):
        at, top = columns[part] + _COLUMN / 2, tops[part]
        sketch.lines(np.stack([at, top], 1), np.stack([at, np.full_like(at, bottom)], 1),
                     mixed(theme.panel, theme.text3, share), _COLUMN)  # fmt: skip
    for dashed in losses.left:
        sketch.polyline(dashed, theme.text3, 1.6, dash=(6, 4))
    before, after = cut_at(path, cursor)
    sketch.polyline(after, theme.text3, 1.4)
    sketch.polyline(before, theme.text1, 2.0)


def _axis(sketch: Sketch, plot: Box, scale: Scale, theme: Theme) -> None:
    x, y, _, height = plot
    free = y + height + TICK
    for value in scale.ticks:  # from the lowest up, those that have room
        at = y + height * (1 - float(scale.place(np.array(value))))
        if at <= free - TICK - 2:
            sketch.text(x - 8, min(at + 4, y + height), tick_text(value), TICK, theme.text3, anchor="right")
            free = at


def cut_at(path: Array, x: float) -> tuple[Array, Array]:
    """A path (N, 2) that goes to the right, as far as `x` and from there; both hold the point between."""
    if not len(path) or x <= path[0, 0]:
        return path[:0], path
    if x >= path[-1, 0]:
        return path, path[:0]
    place = int(np.searchsorted(path[:, 0], x))
    here = np.array([[x, float(np.interp(x, path[:, 0], path[:, 1]))]])
    return np.concatenate([path[:place], here]), np.concatenate([here, path[place:]])
