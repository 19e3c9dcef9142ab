"""`Toggle`: a small switch with its word, on or off by a click."""

from __future__ import annotations

from dataclasses import dataclass

from ..draw.places import LABEL
from ..draw.sketch import Box, Sketch, holds
from ..draw.text import measure
from ..draw.theme import Theme, mixed

WIDE, HIGH = 26.0, 16.0
_AIR = 6.0  # between word and switch


def knob(sketch: Sketch, x: float, y: float, theme: Theme, *, on: bool, over: bool = False) -> None:
    """The switch alone, its upper left corner at (x, y)."""
    track = theme.weight[3] if on else mixed(theme.flow, theme.background, 0.55)
    sketch.rect(x, y, WIDE, HIGH, radius=HIGH / 2, fill=track, stroke=theme.text1 if over else None)
    middle = x + (WIDE - HIGH / 2 if on else HIGH / 2)
    sketch.disc(middle, y + HIGH / 2, HIGH / 2 - 2.5, "#ffffff" if on else theme.text2)


@dataclass(slots=True)
class Toggle:
    """One of them.

    Attributes
    ----------
    word : str
        Left of the switch; empty where something else says what it is.
    on : bool
    over : bool
        Whether the pointer is on it.
    box : Box or None
        Where it stands, its word included; None: nowhere.
    """

    word: str
    on: bool = False
    over: bool = False
    box: Box | None = None

    @property
    def width(self) -> float:
        """Logical pixels."""
        return WIDE + (measure(self.word, LABEL) + _AIR if self.word else 0.0)

    def draw(self, sketch: Sketch, right: float, baseline: float, theme: Theme) -> None:
        """Ending at `right`, its word on a baseline."""
        self.box = (right - self.width, baseline - 13.0, self.width, 18.0)
        if self.word:
            sketch.text(self.box[0], baseline, self.word, LABEL, theme.text1 if self.over else theme.text2)
        knob(sketch, right - WIDE, baseline - 12.5, theme, on=self.on, over=self.over)

    def at(self, point: tuple[float, float]) -> bool:
        """Whether a point is on it."""
        return holds(self.box, point)


# ---- `AxisSwitch`: the word beside a curve that says how its axis is divided, and by a click divides it otherwise.

_PAD = 7.0


@dataclass(slots=True)
class AxisSwitch:
    """Logarithmic or linear.

    Attributes
    ----------
    touched : bool
        Whether there is a hand: without one it does not look like a switch.
    linear : bool
        Whether linear is wished; without the wish it is logarithmic where the numbers allow it.
    over : bool
        Whether the pointer is on it.
    box : Box or None
        Where it stands; None where a click would change nothing.
    """

    touched: bool = False
    linear: bool = False
    over: bool = False
    box: Box | None = None

    def draw(self, sketch: Sketch, right: float, baseline: float, theme: Theme, *, log: bool, free: bool) -> None:
        """The word, ending at `right`: what the axis is; `free` says whether it could be the other."""
        word = "log" if log else "linear"
        if not (self.touched and free):
            self.box = None
            sketch.text(right, baseline, word, LABEL, theme.text3, anchor="right")
            return
        width = measure(word, LABEL) + 2 * _PAD
        self.box = (right - width, baseline - 14.0, width, 20.0)
        edge = theme.text2 if self.over else theme.flow
        sketch.rect(*self.box, radius=5, fill=theme.panel, stroke=edge)
        sketch.text(right - _PAD, baseline, word, LABEL, theme.text1 if self.over else theme.text2, anchor="right")

    def at(self, point: tuple[float, float]) -> bool:
        """Whether a point is on it."""
        return holds(self.box, point)


# ---- `StepAxis`: which step stands where under a curve, for a hand that points there.

END = 6.0
"""Logical pixels that a curve leaves at its right for the disc at its end."""


@dataclass(slots=True)
class StepAxis:
    """The steps of a curve as they were drawn last.

    Attributes
    ----------
    plot : Box or None
        Where; None where nothing is drawn.
    first, last : float
        Steps at its ends.
    """

    plot: Box | None = None
    first: float = 0.0
    last: float = 0.0

    def step(self, point: tuple[float, float]) -> int | None:
        """The step under a point; None beside the plot."""
        if self.plot is None:
            return None
        x, y, width, height = self.plot
        if not (x - END <= point[0] <= x + width and y <= point[1] <= y + height + 20):
            return None
        part = min(max((point[0] - x) / (width - END), 0.0), 1.0)
        return round(self.first + part * max(self.last - self.first, 1.0))
