"""`Paper`: the part of a figure on which one plot of losses is drawn: title, gridlines, numbers, a lane on top."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..draw.axes import Axes, Scale, scale_of
from ..draw.places import LABEL
from ..draw.sketch import Anchor, Box, Sketch
from ..draw.text import measure
from ..draw.theme import Theme
from ..panels.drawer import cut
from .runs import DIVERGED

AXIS, WIDER = 46.0, 64.0
"""Room for the numbers on the left, and for the name of the lane."""
HEAD, NAMES, FOOT, LANE = 32.0, 20.0, 40.0, 22.0
"""Heights of the title, of the names below it, of what stands below the plot, and of the lane of diverged runs."""
LARGEST = 1e120
"""What is larger is drawn like it; what is nearer to zero than its inverse, like that."""

Floats = NDArray[np.float64]


class Paper:
    """A place for a plot, its vertical axis a loss.

    Parameters
    ----------
    box : Box
    theme : Theme
    title : str
    values : ndarray
        What has to have room; infinite ones get a lane above.
    named : sequence of (str, str)
        What stands below the title, each in its colour.

    Attributes
    ----------
    plot : Box
        Where values stand.
    ink : Sketch
        What is drawn.
    """

    def __init__(
        self, box: Box, theme: Theme, title: str, values: Floats, named: Sequence[tuple[str, str]] = ()
    ) -> None:
        x, y, wide, high = box
        self.theme, self.ink = theme, Sketch()
        self.lane = bool(np.isposinf(values).any())
        top, left = HEAD + NAMES * bool(named) + LANE * self.lane, WIDER if self.lane else AXIS
        self.plot: Box = (x + left, y + top, wide - left, high - top - FOOT)
        finite = _within(values[np.isfinite(values)])
        self._scale = scale_of(finite, max(3, min(7, int(self.plot[3] // 42) + 1)), height=self.plot[3])
        self.text(x, y + 14, cut(title, wide, bold=True), theme.text1, bold=True)
        self._names(x, y + 34, wide, named)
        self._grid()

    def _names(self, x: float, baseline: float, wide: float, named: Sequence[tuple[str, str]]) -> None:
        end = x + wide
        for words, colour in named:
            if x + 14 + measure(words, LABEL) > end:
                return
            self.ink.disc(x + 4.5, baseline - 4.5, 4.5, colour)
            self.text(x + 14, baseline, words, self.theme.text2)
            x += 14 + measure(words, LABEL) + 16

    def _grid(self) -> None:
        x, y, wide, _ = self.plot
        Axes(self.plot, Scale(0.0, 1.0), self._scale).rule(self.ink, self.theme)
        if self.lane:
            self.ink.rect(x, y - LANE, wide, LANE - 4, fill=self.theme.panel)
            self.text(x - 7, y - LANE / 2 + 2, DIVERGED, self.theme.text3, "right")

    @property
    def log(self) -> bool:
        """Whether equal ratios are equally far apart."""
        return self._scale.log

    def up(self, values: Floats) -> Floats:
        """Heights of values in the figure; those of infinite ones are in the lane."""
        _, y, _, high = self.plot
        share = np.clip(self._scale.place(_within(np.where(np.isfinite(values), values, 1.0))), 0.0, 1.0)
        return np.where(np.isfinite(values), y + high * (1 - share), y - LANE / 2 - 2)

    def at(self, value: float) -> float:
        """The height of one value."""
        return float(self.up(np.array([value]))[0])

    def line(self, points: Sequence[tuple[float, float]], colour: str, width: float) -> None:
        """A line through points of the figure."""
        self.ink.polyline(points, colour, width)

    def disc(self, x: float, y: float, radius: float, colour: str) -> None:
        """A disc."""
        self.ink.disc(x, y, radius, colour)

    def text(self, x: float, y: float, words: str, colour: str, anchor: Anchor = "left", *, bold: bool = False) -> None:
        """Words in the type of labels."""
        self.ink.text(x, y, words, LABEL, colour, bold=bold, anchor=anchor)


def _within(values: Floats) -> Floats:
    """Numbers whose ratios are numbers too."""
    return np.where(values > 0, np.clip(values, 1 / LARGEST, LARGEST), np.clip(values, -LARGEST, 0.0))


def finite_pieces(values: Floats) -> list[slice]:
    """The stretches of numbers that are finite, of at least two."""
    there = np.isfinite(values)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], there, [False]]).astype(np.int8)))
    return [slice(a, b) for a, b in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True) if b - a > 1]
