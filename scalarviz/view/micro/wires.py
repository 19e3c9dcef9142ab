"""`Wires`: links on which numbers run through the cubes of one layer. The cube is the wire.

x comes down its column of cubes; products run along their row into the sum. On the way back, δ comes into the
row, and terms for the layer before run up the column.

Links run at the height of the main faces, in the gaps between cubes, and so cross no number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..ink.sketch import Colour, Sketch
from ..ink.theme import Colormap, Theme, mixed
from ..space.arrangement import Plate, Project

Floats = NDArray[np.float64]
Points = NDArray[np.floating] | None
MOST = 400
"""Up to this many cubes of a layer, its links are drawn."""
_HEAD, _WIDE = 8.0, 2.6
_FACE = 18.0  # pixels of a face from which on the gaps beside it show links
_DENSE = 4.0  # pixels of a face, below which the links of its columns would be a grey area
_DIM = 0.3
"""Brightness of the link of a number near 0, as a share."""


class Running(NamedTuple):
    """Numbers that run through one layer, (rows, columns); the last column has the biases. NaN: not there yet."""

    numbers: Floats
    x: Floats  # (columns,), the inputs that come down the columns; NaN for none
    up: bool  # whether the columns' numbers run up, to the layer before
    delta: Points  # (rows,), deltas that run from the sums into their rows; None: products run to the sums
    most: float  # the largest number, which has the brightest link


@dataclass(frozen=True, slots=True, eq=False)
class Wires:
    """The course of links, in logical pixels.

    Rows and columns are in the order in which the links meet them; `rows` and `columns` are their indices. `sources`
    (columns, 2) and `sums` (rows, 2) are NaN if nothing stands there.
    """

    far: Floats  # (rows, columns, 2), middles of the edges of main faces at which a column's link enters
    near: Floats  # the same where it leaves
    left: Floats  # left and right: the same for a row's link
    right: Floats
    sources: Floats
    sums: Floats
    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    air: float  # pixels that a link keeps off sources and sums
    gaps: bool  # whether the gaps between cubes are wide enough to show links

    def sketch(self, running: Running, theme: Theme, cmap: Colormap) -> Sketch:
        """Return the links of all numbers that run."""
        sketch, numbers, most = Sketch(passing=True), running.numbers[self.rows][:, self.columns], running.most
        for j, column in enumerate(self.columns.tolist()):
            there = np.flatnonzero(~np.isnan(numbers[:, j]))
            if not len(there) or column >= len(self.sources) or (np.isnan(running.x[column]) and not running.up):
                continue
            if running.up:
                colour = _hue(float(np.nansum(numbers[:, j])), running.most, cmap)
            else:
                share = abs(running.x[column]) / max(float(np.nanmax(np.abs(running.x))), 1e-12)
                colour = mixed(theme.text1, theme.background, _DIM + (1 - _DIM) * float(share))
            _link(sketch, self.far[0, j], self.sources[column], self.air, colour, away=running.up)
            last = len(numbers) - 1 if running.up else int(there[-1])
            if self.gaps:
                sketch.lines(self.near[:last, j], self.far[1 : last + 1, j], colour, _WIDE)
        for i, row in enumerate(self.rows.tolist()):
            there = np.flatnonzero(~np.isnan(numbers[i]))
            if not len(there):
                continue
            sums, back = np.cumsum(np.nan_to_num(numbers[i])), running.delta is not None
            if running.delta is not None:
                sums, most = np.full(len(sums), running.delta[row]), float(np.nanmax(np.abs(running.delta)))
            for j in range(int(there[0]) if back else 0, numbers.shape[1] - 1 if self.gaps else 0):
                if back or not np.isnan(numbers[i, j]):
                    sketch.line(self.right[i, j], self.left[i, j + 1], _hue(float(sums[j]), most, cmap), _WIDE)
            if back or there[-1] == numbers.shape[1] - 1:
                colour = _hue(float(sums[-1]), most, cmap)
                _link(sketch, self.right[i, -1], self.sums[row], self.air, colour, away=not back)
        return sketch

    def path(self, kind: str, row: int, column: int) -> Floats | None:
        """Return the path (N, 2) of one number: a product, sum, gradient or delta; None if it has none."""
        i, j = (int(np.flatnonzero(order == k)[0]) if k in order else 0
                for order, k in ((self.rows, row), (self.columns, column)))  # fmt: skip
        down = [point for k in range(i) for point in (self.far[k, j], self.near[k, j])]
        back = [point for k in range(len(self.columns) - 1, j, -1) for point in (self.right[i, k], self.left[i, k])]
        source = self.sources[column] if column < len(self.sources) else np.full(2, np.nan)
        ways = {
            "product": [source, *down, self.far[i, j]],
            "sum": [self.right[i, -1], self.sums[row] if row < len(self.sums) else source],
            "gradient": [self.sums[row] if row < len(self.sums) else source, *back, self.right[i, j]],
            "delta": [self.near[-1, j], self.far[0, j], source],
        }
        path = np.array(ways.get(kind, [source]))
        return path if len(path) > 1 and np.isfinite(path).all() else None


def _hue(value: float, most: float, cmap: Colormap) -> Colour:
    """Return a colour whose hue is the sign and whose brightness is the size of a number."""
    share = min(1.0, 0.45 + 0.55 * abs(value) / most) if most > 0 else 0.45
    share *= value != 0
    return cmap.shade(share if value >= 0 else -share)


def _link(sketch: Sketch, cube: Floats, end: Floats, air: float, colour: Colour, *, away: bool) -> None:
    """Draw an arrow between a cube and `end`, if there is room; it points `away` from the cube or to it."""
    way = end - cube
    length = float(np.hypot(*way))
    if not np.isfinite(length) or length - air < _HEAD:
        return
    end = cube + way * (1 - air / length)
    start, tip = (cube, end) if away else (end, cube)
    sketch.arrow(start.tolist(), tip.tolist(), colour, _WIDE, head=_HEAD)


def wires_of(plate: Plate, bias: Plate | None, project: Project, sources: Points, sums: Points, air: float) -> Wires:
    """Return the links of a layer whose plates one camera sees; lengths are in logical pixels."""
    rows, columns = plate.shape

    def edge(axis: int, side: int) -> Floats:
        found = project(plate.tops + side * plate.half * plate.axes[axis]).reshape(rows, columns, 2)
        if bias is None:
            return found
        own = project(bias.tops + side * bias.half * plate.axes[axis]).reshape(rows, 1, 2)
        return np.concatenate([found, own], axis=1)

    left, right, far, near = edge(0, -1), edge(0, 1), edge(1, -1), edge(1, 1)
    down = np.arange(rows)
    from_ = np.full((columns, 2), np.nan) if sources is None else np.asarray(sources, np.float64)
    to = np.full((rows, 2), np.nan) if sums is None else np.asarray(sums, np.float64)
    if sources is not None and _nearer(from_, near[-1, :columns], far[0, :columns]):
        down, far, near = down[::-1], near, far
    middles = (left + right) / 2
    ends = middles[:, -1] if sums is None else to  # where each row ends; biases may stand at either end of it
    along = np.argsort(-np.hypot(*(middles - ends[:, None]).T).mean(axis=1), kind="stable")
    if _nearer(ends, left[:, along[0]], right[:, along[0]]):
        left, right = right, left
    far, near, left, right = (edges[down][:, along] for edges in (far, near, left, right))
    step = float(np.hypot(*(left - right).reshape(-1, 2).T).mean())
    from_ = from_ if step >= _DENSE else np.full_like(from_, np.nan)
    return Wires(far, near, left, right, from_, to, down, along, air, step >= _FACE)


def _nearer(points: Floats, a: Floats, b: Floats) -> bool:
    """Return whether `points` are on average nearer to `a` than to `b`."""
    return bool(np.hypot(*(points - a).T).mean() < np.hypot(*(points - b).T).mean())


# ---- Pulses of a micro-step: grey on the way forward, in the colour of gradients on the way back.

SECONDS, STOP, STANDS = 0.4, 1 / 6, 4
"""Seconds of a micro-step; of one window position, so that nothing flashes over three times a second; and for
how many positions the window stays at its end."""
_RADIUS = 5.0


def pulse(path: ArrayLike, share: float, theme: Theme, *, back: bool) -> Sketch:
    """Return a disc at `share` (0 to 1) of its time along a path, and the line behind it."""
    sketch, points = Sketch(), np.asarray(path, np.float64)
    colour = theme.pulse if back else theme.text2
    gone = cut(points, share * share * (3.0 - 2.0 * share))  # slow at both ends
    sketch.polyline(gone, theme.background, 4.4)
    sketch.polyline(gone, colour, 2.2)
    x, y = (float(c) for c in gone[-1])
    sketch.disc(x, y, _RADIUS + 2.5, mixed(colour, theme.background, 0.55))
    sketch.disc(x, y, _RADIUS, theme.selection)
    return sketch


def cut(path: Floats, share: float) -> Floats:
    """Return the first `share` of a path, by its length."""
    along = np.cumsum([0.0, *np.hypot(*np.diff(path, axis=0).T)])
    reach = float(np.clip(share, 0.0, 1.0)) * along[-1]
    end = [np.interp(reach, along, numbers) for numbers in path.T]
    return np.array([path[0], *path[1:][along[1:] < reach], end])
