"""`Wires`: how numbers run through the cubes of one layer. The cube is the wire.

x comes down its column of cubes, products run along their row into the sum; backwards δ comes into the row, and what
goes on runs up the column.

A link runs at the height of the main faces and in the gaps between cubes alone, so that it crosses no number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..ink.maps import Colormap
from ..ink.sketch import Colour, Sketch
from ..ink.theme import Theme, mixed
from ..space.arrangement import Project
from ..space.plate import Plate

Floats = NDArray[np.float64]
MOST = 400
"""Cubes of a layer up to which its links are drawn."""
_HEAD, _WIDE = 8.0, 2.6
_DIM = 0.3
"""Share of the light that the link of a number near 0 has."""


class Running(NamedTuple):
    """The numbers of one layer that run, (rows, columns); the last column is that of the biases. NaN: not there yet."""

    numbers: Floats
    x: Floats  # (columns,), what comes down the columns; NaN where nothing does
    up: bool  # whether the columns' numbers run up, to the layer before
    back: bool  # whether the rows' numbers run from the sums into the cubes
    most: float  # the largest of the numbers: the brightest link


@dataclass(frozen=True, slots=True, eq=False)
class Wires:
    """Where links run, in logical pixels; `sources` (columns, 2) and `sums` (rows, 2) are NaN where nothing stands.

    Rows and columns are in the order in which the links meet them: `rows` and `columns` say which those are.
    """

    far: Floats  # (rows, columns, 2), middles of the edges of the main faces at which a column's link comes in
    near: Floats  # at which it goes out
    left: Floats  # the same for a row
    right: Floats
    sources: Floats
    sums: Floats
    rows: NDArray[np.intp]
    columns: NDArray[np.intp]

    def sketch(self, running: Running, theme: Theme, cmap: Colormap) -> Sketch:
        """All links of what runs."""
        sketch, numbers = Sketch(), running.numbers[self.rows][:, self.columns]
        for j, column in enumerate(self.columns.tolist()):
            there = np.flatnonzero(~np.isnan(numbers[:, j]))
            if not len(there) or column >= len(self.sources) or (np.isnan(running.x[column]) and not running.up):
                continue
            if running.up:
                colour = _hue(float(np.nansum(numbers[:, j])), running.most, cmap)
            else:
                share = abs(running.x[column]) / max(float(np.nanmax(np.abs(running.x))), 1e-12)
                colour = mixed(theme.text1, theme.background, _DIM + (1 - _DIM) * float(share))
            _link(sketch, self.sources[column], self.far[0, j], colour, back=running.up)
            last = len(numbers) - 1 if running.up else int(there[-1])
            sketch.lines(self.near[:last, j], self.far[1 : last + 1, j], colour, _WIDE)
        for i, row in enumerate(self.rows.tolist()):
            there = np.flatnonzero(~np.isnan(numbers[i]))
            if not len(there):
                continue
            sums = np.cumsum(np.nan_to_num(numbers[i]))
            for j in range(int(there[0]) if running.back else 0, numbers.shape[1] - 1):
                value = numbers[i, j] if running.back else sums[j]
                if running.back or not np.isnan(numbers[i, j]):
                    sketch.line(self.right[i, j], self.left[i, j + 1], _hue(float(value), running.most, cmap), _WIDE)
            if running.back or there[-1] == numbers.shape[1] - 1:
                value = numbers[i, there[-1]] if running.back else sums[-1]
                _link(sketch, self.right[i, -1], self.sums[row], _hue(float(value), running.most, cmap),
                      back=running.back)  # fmt: skip
        return sketch


def _hue(value: float, most: float, cmap: Colormap) -> Colour:
    """Sign as hue, size as light."""
    share = min(1.0, 0.45 + 0.55 * abs(value) / most) if most > 0 else 0.45
    return cmap(share if value >= 0 else -share)


def _link(sketch: Sketch, start: Floats, end: Floats, colour: Colour, *, back: bool) -> None:
    """An arrow to or from cubes, where there is something at its other end, and room for it."""
    start, end = (end, start) if back else (start, end)
    if np.isfinite([*start, *end]).all() and float(np.hypot(*(end - start))) > _HEAD:
        sketch.arrow(start, end, colour, _WIDE, head=_HEAD)


def wires_of(plate: Plate, bias: Plate | None, project: Project, sources: Floats | None, sums: Floats | None) -> Wires:
    """The links of a layer; its plates are seen by one camera, sources and sums are in logical pixels."""
    rows, columns = plate.shape

    def edge(axis: int, side: int) -> Floats:
        found = project(plate.tops + side * plate.half * plate.axes[axis]).reshape(rows, columns, 2)
        if bias is None:
            return found
        own = project(bias.tops + side * bias.half * plate.axes[axis]).reshape(rows, 1, 2)
        return np.concatenate([found, own], axis=1)

    left, right, far, near = edge(0, -1), edge(0, 1), edge(1, -1), edge(1, 1)
    down, along = np.arange(rows), np.arange(left.shape[1])
    from_ = np.full((columns, 2), np.nan) if sources is None else sources
    to = np.full((rows, 2), np.nan) if sums is None else sums
    if sources is not None and _nearer(from_, near[-1, :columns], far[0, :columns]):
        down, far, near = down[::-1], near, far
    if sums is not None and _nearer(to, left[:, 0], right[:, -1]):
        along, left, right = along[::-1], right, left
    turned = [edges[down][:, along] for edges in (far, near, left, right)]
    return Wires(*turned, from_, to, down, along)


def _nearer(points: Floats, a: Floats, b: Floats) -> bool:
    """Whether points are nearer to others than to a second choice of them."""
    return bool(np.hypot(*(points - a).T).mean() < np.hypot(*(points - b).T).mean())
