"""Widgets: what a hand presses, switches or types into, wherever in the picture it stands."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .axes import Axes
from .places import LABEL, TITLE
from .sketch import Box, Sketch, holds
from .text import MINUS, measure
from .theme import Theme, mixed


def button(
    sketch: Sketch,
    box: Box,
    theme: Theme,
    words: str = "",
    key: str = "",
    *,
    lit: bool = False,
    down: bool = False,
    bold: bool = True,
) -> None:
    """A button with its words, or empty for a sign; `lit` under the pointer, `down` while it is pressed."""
    x, y, width, high = box
    fill = mixed(theme.text3, theme.panel, 0.45 if down else 0.30 if lit else 0.14)
    sketch.rect(*box, radius=5, fill=fill, stroke=theme.flow if lit else theme.border)
    if key:
        air = (width - measure(words, LABEL) - measure(key, LABEL, True)) / 2
        sketch.text(x + air - 3, y + high / 2 + 5, words, LABEL, theme.text1)
        sketch.text(x + width - air + 3, y + high / 2 + 5, key, LABEL, theme.text3, bold=True, anchor="right")
    else:
        sketch.text(x + width / 2, y + high / 2 + 5, words, LABEL, theme.text1, bold=bold, anchor="middle")


def plus(sketch: Sketch, box: Box, colour: str, *, more: bool = True) -> None:
    """A plus in the middle of a box, or a minus."""
    at, middle, half = box[0] + box[2] / 2, box[1] + box[3] / 2, min(4.0, box[2] / 2 - 0.5)
    sketch.line((at - half, middle), (at + half, middle), colour, 1.6)
    if more:
        sketch.line((at, middle - half), (at, middle + half), colour, 1.6)


def draw_sign(sketch: Sketch, action: str, box: Box, colour: str, *, running: bool = False) -> None:
    """The sign of an action in the middle of a box; in the middle one a pause, while time goes on."""
    x, y, wide, high = box
    at, middle = x + wide / 2, y + high / 2
    way = -1.0 if action in ("first", "back") else 1.0
    if action == "restart":
        _round(sketch, at, middle, colour)
    elif action == "micro_next":
        for k in range(3):
            sketch.disc(at - 11 + 7 * k, middle, 2.0, colour)
        sketch.arrow((at + 4, middle), (at + 14, middle), colour, 2.0, head=8.0)
    elif action == "toggle_run" and running:
        for side in (-5.0, 1.5):
            sketch.rect(at + side, middle - 6, 3.5, 12, fill=colour)
    elif action == "toggle_run":
        _triangle(sketch, at - 4, middle, 10, 7, colour)
    elif action in ("back", "step"):
        _triangle(sketch, at - 2 * way, middle, 8 * way, 6, colour)
        sketch.rect(at - 6 * way - 1, middle - 6, 2.0, 12, fill=colour)
    else:
        for shift in (-7, 0):
            _triangle(sketch, at + shift * way, middle, 7 * way, 6, colour)
        sketch.rect(at + 8 * way - 1, middle - 6, 2.0, 12, fill=colour)


def _triangle(sketch: Sketch, x: float, y: float, long: float, half: float, colour: str) -> None:
    """One whose point is `long` to the right of its base."""
    sketch.polygon([(x, y - half), (x + long, y), (x, y + half)], colour)


def _round(sketch: Sketch, at: float, middle: float, colour: str) -> None:
    """An arrow that goes round and comes back."""
    turn = np.linspace(-0.25 * np.pi, 1.45 * np.pi, 22)
    ring = np.stack([at + 7.5 * np.cos(turn), middle + 1 + 7.5 * np.sin(turn)], 1)
    sketch.polyline(ring, colour, 2.2)
    x, y = (float(part) for part in ring[0])
    sketch.polygon([(x + 3.5, y - 5.5), (x + 3.0, y + 3.5), (x - 5.0, y - 0.5)], colour)


# ---- Switches

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

_PAD, END = 7.0, 6.0
"""Beside the word, and what a curve leaves at its right for the disc at its end."""


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
    axes : Axes or None
        The plot as it was drawn last: steps across.
    """

    touched: bool = False
    linear: bool = False
    over: bool = False
    box: Box | None = None
    axes: Axes | None = None

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

    def step(self, point: tuple[float, float]) -> int | None:
        """The step under a point; None beside the plot."""
        if self.axes is None:
            return None
        x, y, width, height = self.axes.box
        if not holds((x - END, y, width + 2 * END, height + 20), point):
            return None
        share = min(max((point[0] - x) / width, 0.0), 1.0)
        return round(self.axes.across.low + share * (self.axes.across.high - self.axes.across.low))


# ---- A number that is being typed

LONGEST = 24
ALLOWED = "0123456789.-+eE"


class Entry:
    """Digits, minus, point and e; what else is typed is not taken.

    Attributes
    ----------
    text : str
        What was typed so far.
    """

    def __init__(self, what: str = "") -> None:
        self.what, self.text = what, ""

    def type(self, text: str) -> bool:
        """One more character; whether it is one of a number. A comma is a point."""
        character = {",": ".", MINUS: "-"}.get(text, text)
        if len(character) != 1 or character not in ALLOWED:
            return False
        self.text = (self.text + character)[:LONGEST]
        return True

    def erase(self) -> None:
        """Without the last character."""
        self.text = self.text[:-1]

    @property
    def number(self) -> float | None:
        """What stands there; None where it is no finite number."""
        try:
            found = float(self.text)
        except ValueError:
            return None
        return found if math.isfinite(found) else None

    @property
    def width(self) -> float:
        """Logical pixels of what stands there."""
        return measure(self._shown, TITLE) + measure(self.what, LABEL) + 14

    @property
    def _shown(self) -> str:
        return self.text.replace("-", MINUS)

    def draw(self, sketch: Sketch, box: Box, theme: Theme) -> None:
        """In a frame, with a caret behind it."""
        x, y, _, height = box
        sketch.rect(*box, radius=4, fill=theme.background, stroke=theme.selection)
        at = x + 5
        if self.what:
            sketch.text(at, y + 16, self.what, LABEL, theme.text3)
            at += measure(self.what, LABEL) + 6
        good = self.number is not None or not self.text
        sketch.text(at, y + 16, self._shown, TITLE, theme.text1 if good else theme.weight[1])
        at += measure(self._shown, TITLE) + 1
        sketch.line((at, y + 4), (at, y + height - 4), theme.text1, 1.4)
