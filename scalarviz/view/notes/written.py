"""`Notes`: what stands around cubes as records, each in its place. They are painted in any theme, for any frame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..ink.boxes import CHANNEL, LABEL
from ..ink.maps import displayed
from ..ink.sketch import Anchor, Bound, Box, Sketch, Stand
from ..ink.text import CAP_HEIGHT, measure
from ..ink.theme import Theme

Marks = NDArray[np.bool_]
HIGH = 28.0
"""Of a chip."""
UNKNOWN = "\N{EN DASH}"


@dataclass(frozen=True, slots=True)
class Name:
    """A text and where it stands, as :meth:`Sketch.text` takes it; `tone` is 1 for what is read first, to 3."""

    text: str
    x: float
    y: float
    size: float = LABEL
    anchor: Anchor = "left"
    bold: bool = False
    tone: int = 2
    at: Stand = None  # what it belongs to

    @property
    def box(self) -> Box:
        """Left, top, width and height of its capitals."""
        wide, high = measure(self.text, self.size, self.bold), CAP_HEIGHT * self.size
        return self.x - {"left": 0.0, "middle": 0.5, "right": 1.0}[self.anchor] * wide, self.y - high, wide, high


class Number(NamedTuple):
    """A number of the moment: where it stands, which it is, and what stands there while nobody knows it."""

    x: float
    y: float
    bound: Bound  # of the form "range": that of a tensor
    size: float = CHANNEL
    anchor: Anchor = "middle"
    bold: bool = True
    tone: int = 1
    at: Stand = None
    without: str = UNKNOWN


class Chip(NamedTuple):
    """The box around a number, by its middle; what is not `strong` is dim."""

    x: float
    y: float
    wide: float
    strong: bool = True
    at: Stand = None


class Swatch(NamedTuple):
    """The colour of a row of three numbers."""

    box: Box
    name: str  # of the row
    at: Stand = None


class Line(NamedTuple):
    """A line through points (N, 2), with a head of so many pixels at its end, or none."""

    points: ArrayLike
    width: float = 1.4
    head: float = 0.0
    at: Stand = None


class Notes:
    """Words, numbers, chips, swatches and lines."""

    def __init__(self) -> None:
        self.names: list[Name] = []
        self.numbers: list[Number] = []
        self.chips: list[Chip] = []
        self.swatches: list[Swatch] = []
        self.lines: list[Line] = []

    def still(self, theme: Theme) -> Sketch:
        """What stays from frame to frame."""
        sketch, tones = Sketch(), (theme.text1, theme.text2, theme.text3)
        for points, width, head, at in self.lines:
            sketch.stand(at)
            path = np.asarray(points)
            sketch.polyline(path[:-1] if head else path, theme.flow, width)
            if head:
                sketch.arrow(path[-2], path[-1], theme.flow, width, head=head)
        for x, y, wide, strong, at in self.chips:
            sketch.stand(at)
            edge = theme.flow if strong else theme.border
            place = round(x - wide / 2), round(y - HIGH / 2)
            sketch.rect(*place, wide, HIGH, radius=6, fill=theme.panel, stroke=edge)
        for name in self.names:
            sketch.stand(name.at)
            sketch.text(name.x, name.y, name.text, name.size, tones[name.tone - 1], bold=name.bold, anchor=name.anchor)
        return sketch

    def moving(
        self,
        theme: Theme,
        rows: Mapping[str, NDArray[np.floating]],
        extents: Mapping[str, float],
        *,
        sign: str = "±",
        reached: Mapping[str, Marks] | None = None,
    ) -> Sketch:
        """The numbers of one frame, by their `rows`, and the ranges of tensors: their `extents` behind a `sign`.

        `reached` says of each row which of its numbers are there already; None: all.
        """
        sketch, tones = Sketch(), (theme.text1, theme.text2, theme.text3)
        for box, name, at in self.swatches:
            if name in rows:
                sketch.stand(at)
                known = bool(np.isfinite(rows[name]).all())
                sketch.rect(
                    *box, radius=5, fill=displayed(rows[name]) if known else None, stroke=theme.flow, bound=name
                )
                if not known and name == "target":
                    x, y = box[0] + box[2] / 2, box[1] + box[3] / 2 + 6
                    sketch.text(x, y, "?", CHANNEL, theme.text2, anchor="middle")
        for number in self.numbers:
            x, y, bound, size, anchor, bold, tone, at, without = number
            sketch.stand(at)
            ranged = bound.form == "range"
            bound = replace(bound, form=f"range {sign}") if ranged else bound
            if bound.name not in (extents if ranged else rows):
                colour = theme.text3 if without == UNKNOWN else tones[tone - 1]
                sketch.text(x, y, without, size, colour, anchor=anchor)
            elif ranged or reached is None or bound.name not in reached or reached[bound.name][bound.index]:
                value = extents[bound.name] if ranged else float(rows[bound.name][bound.index])
                sketch.number(x, y, value, bound, size, tones[tone - 1], bold=bold, anchor=anchor)
        return sketch
