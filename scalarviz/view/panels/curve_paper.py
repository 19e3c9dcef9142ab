"""`Paper`: where points over one number and a curve between them are drawn, its frame, and how long its axes are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...run.panels import Axis
from ..draw.places import LABEL, Box
from ..draw.sketch import Colour, Sketch, rgba
from ..draw.text import measure
from ..draw.theme import Theme

Floats = NDArray[np.float64]
AIR = 0.12
"""Share of the reach of the points by which an axis that they make goes beyond them."""


@dataclass(frozen=True, slots=True)
class Paper:
    """A plot.

    Attributes
    ----------
    plot : Box
    across, up : Axis
    """

    plot: Box
    across: Axis
    up: Axis

    def places(self, x: Floats, y: Floats) -> Floats:
        """Where numbers stand, (N, 2) in logical pixels."""
        left, top, width, height = self.plot
        along = left + width * (x - self.across.least) / (self.across.most - self.across.least)
        return np.stack([along, top + height * (1 - (y - self.up.least) / (self.up.most - self.up.least))], axis=-1)

    def number(self, at: tuple[float, float]) -> tuple[float, float] | None:
        """The input and the height at a point of the picture; None beside the plot."""
        left, top, width, height = self.plot
        along, up = (at[0] - left) / width, 1 - (at[1] - top) / height
        if not (0 <= along <= 1 and 0 <= up <= 1):
            return None
        across, over = self.across, self.up
        return across.least + along * (across.most - across.least), over.least + up * (over.most - over.least)

    def holds(self, x: Floats, y: Floats) -> NDArray[np.bool_]:
        """Which of them are inside, shape (N,)."""
        across, up = self.across, self.up
        return (x >= across.least) & (x <= across.most) & (y >= up.least) & (y <= up.most)

    def frame(self, sketch: Sketch, theme: Theme) -> None:
        """The plot's ground, where 0 is in the units that are printed, and the ends of both axes."""
        x, y, width, height = self.plot
        sketch.rect(*self.plot, fill=theme.panel, stroke=theme.border)
        low, high = self.up.ends
        if low < 0 < high:
            level = y + height * high / (high - low)
            sketch.line((x, level), (x + width, level), theme.grid, 1.0)
        left, right = (end_of(self.across, k) for k in (0, 1))
        sketch.text(x, y + height + 15, left, LABEL, theme.text3)
        sketch.text(x + width, y + height + 15, right, LABEL, theme.text3, anchor="right")
        sketch.text(x - 7, y + 10, end_of(self.up, 1), LABEL, theme.text3, anchor="right")
        sketch.text(x - 7, y + height, end_of(self.up, 0), LABEL, theme.text3, anchor="right")


def paper_in(box: Box, across: Axis, up: Axis) -> Paper:
    """A plot in a box, which has to hold the numbers at its axes' ends as well."""
    x, y, width, height = box
    gutter = max(measure(end_of(up, k), LABEL) for k in (0, 1)) + 8
    return Paper((x + gutter, y, width - gutter, height - 20.0), across, up)


def end_of(axis: Axis, end: int) -> str:
    """The number at an end of an axis (0, 1): as many digits as its length needs."""
    low, high = axis.ends
    digits = max(0, 2 - int(np.floor(np.log10(max(high - low, 1e-300)))))
    return f"{axis.ends[end]:,.{min(digits, 6)}f}".replace("-", "\N{MINUS SIGN}")


def around(name: str, numbers: NDArray[np.number]) -> Axis:
    """An axis that holds some numbers, and 0 where that is not far from them.

    Raises
    ------
    InputError
        They reach farther than an axis can.
    """
    low, high = float(numbers.min(initial=np.inf)), float(numbers.max(initial=-np.inf))
    if not len(numbers):
        low = high = 0.0
    reach = high - low
    if 0 < low <= reach / 2:
        low = 0.0
    elif -reach / 2 <= high < 0:
        high = 0.0
    air = AIR * (high - low) or max(1.0, AIR * abs(low))
    return Axis(name, low - air, high + air)


def dots(
    sketch: Sketch, places: Floats, diameter: float, inks: Floats, rim: Colour, hole: Colour | None = None
) -> None:
    """Discs (N, 2) in colours of their own (N, 3) with a rim, or rings around a `hole`; lines may lie over them."""
    if hole is not None:
        diameter += 1.2  # as much of its colour is to be seen
    layers = [(diameter, np.tile(rgba(rim)[:3], (len(places), 1))), (diameter - 2.0, inks)]
    if hole is not None:
        layers.append((diameter - 5.0, np.tile(rgba(hole)[:3], (len(places), 1))))
    boxes = [np.concatenate([places - wide / 2, np.full((len(places), 2), wide)], axis=1) for wide, _ in layers]
    fills = [ink for _, ink in layers]
    sketch.cells(np.stack(boxes, 1), np.stack(fills, 1), np.inf)  # each with its own parts, one after the other


def inside(x: Floats, y: Floats, span: tuple[float, float]) -> tuple[Floats, Floats]:
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
