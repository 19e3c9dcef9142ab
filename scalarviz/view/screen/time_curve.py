"""What stands where on the time bar: steps, the rails of branches that were left, and the losses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...run.core.frame import Branch, Curve, Past
from ..ink.axes import Axes, Scale, tick_text, tight
from ..ink.places import LABEL
from ..ink.sketch import Box, Sketch
from ..ink.theme import Theme, mixed
from ..shown.ahead import Ahead

Array = NDArray[np.float64]
LONG = 20_000
"""Steps from which on the bar is logarithmic: the first hundred would be one pixel."""
ROWS = 2
"""Rails beside the straight one; older ones fold into the last."""
_KNEE = 10.0  # steps of a logarithmic bar that are as wide as each other
_PITCH = 90.0  # logical pixels between two steps that are written
_COLUMN = 2.0  # logical pixels of the area below a curve that are one rectangle


@dataclass(frozen=True, slots=True)
class StepScale:
    """Steps from `first` to `last` between two places (logical pixels), counted from the first where logarithmic."""

    first: int
    last: int
    left: float
    right: float

    @property
    def log(self) -> bool:
        """Whether it is logarithmic."""
        return self.last - self.first >= LONG

    def place(self, steps: ArrayLike) -> Array:
        """Logical pixels of steps; beyond the ends at them."""
        span = float(self.last - self.first)
        done = np.clip(np.asarray(steps, float) - self.first, 0.0, span)
        part = np.log1p(done / _KNEE) / math.log1p(span / _KNEE) if self.log else done / span
        x = self.left + part * (self.right - self.left)
        return np.asarray(np.clip(x, self.left, self.right))  # rounding leads beyond the ends

    def at(self, step: int) -> float:
        """Logical pixels of one step."""
        return float(self.place(step))

    def step(self, x: float) -> int:
        """The step nearest to a place."""
        return int(self.steps(x))

    def steps(self, x: ArrayLike) -> NDArray[np.int64]:
        """The steps nearest to places."""
        part = np.clip((np.asarray(x, float) - self.left) / (self.right - self.left), 0.0, 1.0)
        span = float(self.last - self.first)
        done = _KNEE * np.expm1(part * math.log1p(span / _KNEE)) if self.log else part * span
        return self.first + np.minimum(np.rint(done).astype(np.int64), self.last - self.first)

    def ticks(self) -> list[int]:
        """Steps that are written below the rail: the ends, and round ones between."""
        if self.log:
            inner = [self.first + 10**power for power in range(1, 19) if 10**power < self.last - self.first]
        else:
            least = max((self.last - self.first) * _PITCH / max(self.right - self.left, 1.0), 1.0)
            size = 10 ** math.floor(math.log10(least))
            every = next(size * k for k in (1, 2, 5, 10) if size * k >= least)
            inner = list(range((self.first // every + 1) * every, self.last, every))
        return [self.first, *inner, self.last]


# ---- `Rail`: a line of steps that was left. The one of now is always the straight one.


@dataclass(frozen=True, slots=True)
class Rail:
    """One row above the straight rail."""

    row: int  # 1 is next to the straight one
    source: int  # the row that it leaves: 0 is the straight one
    leaves: int  # the step at which it begins
    newest: int
    branches: tuple[Branch, ...]  # what it stands for: one, or all that are folded

    @property
    def folded(self) -> bool:
        """Whether it stands for several."""
        return len(self.branches) > 1


def rails(past: Past, rows: int = ROWS) -> tuple[Rail, ...]:
    """What was left, the latest first and next to the straight rail; if there are too few `rows`, the oldest fold."""
    straight = _trunk(past.branches)
    others = [b for b in past.branches if b.number not in straight or b.newest > straight[b.number]]
    others.sort(key=lambda b: -_left(b, straight, past.branches))
    shown = others if len(others) <= rows else others[: rows - 1]
    taken: dict[int, int] = {}
    found = []
    for row, branch in enumerate(shown, 1):
        leaves = straight.get(branch.number, branch.first)
        source = 0 if branch.parent is None else taken.get(branch.parent, 0)
        found.append(Rail(row, source if branch.number not in straight else 0, leaves, branch.newest, (branch,)))
        taken[branch.number] = row
    if folded := others[len(shown) :]:
        leaves = min(straight.get(b.number, b.first) for b in folded)
        found.append(Rail(len(shown) + 1, 0, leaves, max(b.newest for b in folded), tuple(folded)))
    return tuple(found)


def _trunk(branches: Sequence[Branch]) -> dict[int, int]:
    """The branch of now and those that it came from, by number: the step up to which each is the straight rail."""
    known = {branch.number: branch for branch in branches}
    branch = next((b for b in branches if b.current), None)
    found: dict[int, int] = {}
    until = 0 if branch is None else branch.newest
    while branch is not None and branch.number not in found:
        found[branch.number] = until
        until = branch.first
        branch = None if branch.parent is None else known.get(branch.parent)
    return found


def _left(branch: Branch, straight: dict[int, int], branches: Sequence[Branch]) -> float:
    """When it was left: what took its place was begun then. Of what nothing took the place of, when it was begun."""
    child = next((b for b in branches if b.parent == branch.number and b.number in straight), None)
    return branch.number if branch.number not in straight or child is None else child.number - 0.5


def next_of(rail: Rail, now: int) -> int:
    """Which branch a click on a rail means: of several each in turn, the next after the one of `now`."""
    numbers = sorted(branch.number for branch in rail.branches)
    return next((number for number in numbers if number > now), numbers[0])


# ---- The losses: bright as far as the cursor, dim after it, dashed where a branch was left.


class Losses(NamedTuple):
    """The curves at one size, before they are coloured: of the straight rail, and of the branches that are shown."""

    axes: Axes  # logical pixels across
    path: Array
    left: tuple[Array, ...]


def losses_of(
    plot: Box, scale: StepScale, curve: Curve, rails: Sequence[Rail], ahead: Ahead | None, other: Curve | None
) -> Losses | None:
    """The curves of the straight rail and of the branches that stand alone on theirs; None where there is no loss yet.

    There is room for those `ahead`, the steps to come. An `other` curve is drawn as those of branches are.
    """
    own = reduced(curve, scale)
    others = [reduced(_from(rail), scale) for rail in rails if not rail.folded]
    others += [] if other is None else [reduced(other, scale)]
    every = np.concatenate([own[1], *(losses for _, losses in others)])
    if not every.size:
        return None
    up = tight(every if ahead is None else np.append(every, (ahead.low, ahead.high)))
    axes = Axes(plot, Scale(plot[0], plot[0] + plot[2]), up)
    left = tuple(axes.points(*one, within=True) for one in others if len(one[0]))
    return Losses(axes, axes.points(*own, within=True), left)


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
        edges = scale.steps(np.linspace(scale.left, scale.right, columns + 1)[:-1])
        begin = np.unique(np.searchsorted(steps, edges))
        begin = begin[begin < len(steps)]
        sizes = np.diff(np.append(begin, len(steps)))
        mean = np.add.reduceat(losses, begin) / sizes
        middle = np.asarray(steps[begin + sizes // 2], float)
        mean[0], middle[0], middle[-1] = losses[0], steps[0], steps[-1]
        steps, losses = middle, mean
    return scale.place(steps), losses


def _from(rail: Rail) -> Curve:
    """The steps of a rail after those that it shares with the straight one."""
    curve = rail.branches[0].curve
    own = np.searchsorted(curve.step, rail.leaves, side="right")
    return Curve(curve.step[own:], curve.loss[own:], curve.lr[own:])


def draw_losses(sketch: Sketch, losses: Losses, theme: Theme, cursor: float) -> None:
    """Everything in the plot; `cursor` is its place in pixels."""
    axes, path, _ = losses
    x, y, _, height = axes.box
    bottom = y + height
    if not len(path):
        return
    free = bottom + LABEL
    for value in axes.up.ticks:  # from the lowest up, those that have room
        _, height = axes.point(x, value)
        if height <= free - LABEL - 2:
            sketch.text(x - 8, min(height + 4, bottom), tick_text(value), LABEL, theme.text3, anchor="right")
            free = height
    columns = np.arange(np.floor(path[0, 0]), np.ceil(path[-1, 0]), _COLUMN)
    tops = np.interp(columns + _COLUMN / 2, path[:, 0], path[:, 1])
    for part, share in ((columns >= cursor, 0.11), (columns < cursor, 0.30)):
        at, top = columns[part] + _COLUMN / 2, tops[part]
        sketch.lines(np.stack([at, top], 1), np.stack([at, np.full_like(at, bottom)], 1),
                     mixed(theme.text3, theme.panel, share), _COLUMN)  # fmt: skip
    for dashed in losses.left:
        sketch.polyline(dashed, theme.text3, 1.6, dash=(6, 4))
    before, after = _cut_at(path, cursor)
    sketch.polyline(after, theme.text3, 1.4)
    sketch.polyline(before, theme.text1, 2.0)


def _cut_at(path: Array, x: float) -> tuple[Array, Array]:
    """A path (N, 2) that goes to the right, as far as `x` and from there; both hold the point between."""
    if x <= path[0, 0]:
        return path[:0], path
    if x >= path[-1, 0]:
        return path, path[:0]
    place = int(np.searchsorted(path[:, 0], x))
    here = np.array([[x, float(np.interp(x, path[:, 0], path[:, 1]))]])
    return np.concatenate([path[:place], here]), np.concatenate([here, path[place:]])
