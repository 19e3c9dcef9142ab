"""Widgets to press, switch or type into, anywhere in the picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .axes import spaced
from .boxes import LABEL, TITLE
from .overlay import beside_pointer, pointer_label
from .sketch import Box, Colour, Point, Sketch, contains, meet
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
    """Draw a button with its words, or empty for a sign; `lit` under the pointer, `down` while pressed."""
    x, y, width, high = box
    fill = shade(theme, 0.45 if down else 0.30 if lit else 0.14)
    sketch.rect(*box, radius=5, fill=fill, stroke=theme.flow if lit else theme.border)
    if key:
        air = (width - measure(words, LABEL) - measure(key, LABEL, True)) / 2
        sketch.text(x + air - 3, y + high / 2 + 5, words, LABEL, theme.text1)
        sketch.text(x + width - air + 3, y + high / 2 + 5, key, LABEL, theme.text3, bold=True, anchor="right")
    else:
        sketch.text(x + width / 2, y + high / 2 + 5, words, LABEL, theme.text1, bold=bold, anchor="middle")


def plus(sketch: Sketch, box: Box, colour: str, *, more: bool = True) -> None:
    """Draw a plus in the middle of a box, or a minus."""
    at, middle, half = box[0] + box[2] / 2, box[1] + box[3] / 2, min(4.0, box[2] / 2 - 0.5)
    sketch.line((at - half, middle), (at + half, middle), colour, 1.6)
    if more:
        sketch.line((at, middle - half), (at, middle + half), colour, 1.6)


def draw_sign(sketch: Sketch, action: str, box: Box, colour: str, *, running: bool = False) -> None:
    """Draw the sign of an action in the middle of a box; while time is `running`, play becomes pause."""
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
    """Draw a triangle whose point is `long` to the right of its base."""
    sketch.polygon([(x, y - half), (x + long, y), (x, y + half)], colour)


def _round(sketch: Sketch, at: float, middle: float, colour: str) -> None:
    """Draw a circular arrow."""
    turn = np.linspace(-0.25 * np.pi, 1.45 * np.pi, 22)
    ring = np.stack([at + 7.5 * np.cos(turn), middle + 1 + 7.5 * np.sin(turn)], 1)
    sketch.polyline(ring, colour, 2.2)
    x, y = (float(part) for part in ring[0])
    sketch.polygon([(x + 3.5, y - 5.5), (x + 3.0, y + 3.5), (x - 5.0, y - 0.5)], colour)


# ---- Switches

WIDE, HIGH = 26.0, 16.0
_AIR = 6.0  # between word and switch


def knob(sketch: Sketch, x: float, y: float, theme: Theme, *, on: bool, over: bool = False) -> None:
    """Draw the switch alone, its upper left corner at (x, y)."""
    track = theme.weight[3] if on else mixed(theme.flow, theme.background, 0.55)
    sketch.rect(x, y, WIDE, HIGH, radius=HIGH / 2, fill=track, stroke=theme.text1 if over else None)
    middle = x + (WIDE - HIGH / 2 if on else HIGH / 2)
    sketch.disc(middle, y + HIGH / 2, HIGH / 2 - 2.5, "#ffffff" if on else theme.text2)


def switch(sketch: Sketch, box: Box, theme: Theme, word: str, *, on: bool, over: bool) -> None:
    """Draw a word at the left of a box and its switch at the right."""
    x, y, width, high = box
    middle, colour = y + high / 2, theme.text1 if on or over else theme.text2
    sketch.text(x, middle + 4.5, word, LABEL, colour)
    knob(sketch, x + width - WIDE, middle - HIGH / 2, theme, on=on, over=over)


@dataclass(slots=True)
class Toggle:
    """A switch of a panel: its word (may be empty), and its last box."""

    word: str
    on: bool = False
    over: bool = False
    box: Box | None = None

    @property
    def width(self) -> float:
        """Width with its word."""
        return WIDE + (measure(self.word, LABEL) + _AIR if self.word else 0.0)

    def draw(self, sketch: Sketch, right: float, baseline: float, theme: Theme) -> None:
        """Draw it so that it ends at `right`, its word on a baseline."""
        self.box = (right - self.width, baseline - 13.5, self.width, 18.0)
        switch(sketch, self.box, theme, self.word, on=self.on, over=self.over)

    def contains(self, point: tuple[float, float]) -> bool:
        """Return whether a point is on it."""
        return contains(self.box, point)


# ---- Sliders and choices

LINE = 28.0
"""Height of a line of choices, and of a button in a row."""
SMALL = 12
"""Size of type below a track and below a button."""
KNOB, TRACK = 8.0, 4.0
OFF = 8.0
"""Pixels between an object and its label at the pointer."""


def shade(theme: Theme, share: float) -> tuple[float, float, float]:
    """Return the background of words that can be pressed."""
    return mixed(theme.text3, theme.panel, share)


def track_of(box: Box) -> tuple[float, float, float]:
    """Return left end, right end and height of a slider's track in a box."""
    return box[0] + 1, box[0] + box[2] - 1, box[1] + 14.0


def slider(
    sketch: Sketch,
    box: Box,
    theme: Theme,
    share: float,
    usual: float | None = None,
    ticks: Sequence[tuple[float, str]] = (),
    *,
    near: bool = False,
) -> None:
    """Draw a knob at a `share` of its track, with a mark at the `usual` one, and the words below that fit."""
    left, right, y = track_of(box)
    first = [*ticks[:1], *ticks[:0:-1][:1], *ticks[1:-1]]  # both ends before those between
    places = [left + (right - left) * place for place, _ in first]
    widths = (measure(words, SMALL) for _, words in first)
    begins = spaced(zip(places, widths, strict=True), (left, right), 4.0)
    for (_, words), tick, begin in zip(first, places, begins, strict=True):
        sketch.line((tick, y + 9), (tick, y + 13), theme.text3)
        if begin is not None:
            sketch.text(begin, y + 25, words, SMALL, theme.text3)
    at = left + (right - left) * share
    sketch.lines([(left, y)], [(right, y)], theme.border, TRACK, round_ends=True)
    sketch.lines([(left, y)], [(at, y)], theme.text2, TRACK, round_ends=True)
    if usual is not None:
        middle = left + (right - left) * usual
        sketch.disc(middle, y, TRACK / 2, theme.text1 if middle > at else theme.panel)
    sketch.disc(min(max(at, left + KNOB - 2), right - KNOB + 2), y, KNOB + near, theme.text1)


def choice_lines(words: Sequence[str], width: float) -> list[Sequence[str]]:
    """Split words into as many lines as needed so that none is cut."""
    for count in range(1, len(words) + 1):
        per = -(-len(words) // count)
        lines = [words[k : k + per] for k in range(0, len(words), per)]
        if all(sum(measure(word, LABEL, True) + 10 for word in line) <= width for line in lines):
            break
    return lines


def choices(
    sketch: Sketch, box: Box, theme: Theme, words: Sequence[str], chosen: int = -1, over: int | str = -1
) -> list[Box]:
    """Draw choices side by side, each as wide as its word and an equal part of the rest; return their boxes."""
    x, top, width, _ = box
    sketch.rect(*box, radius=5, fill=theme.panel, stroke=theme.border)
    cells: list[Box] = []
    for number, line in enumerate(choice_lines(words, width)):
        wide = [measure(word, LABEL, True) for word in line]
        left, y, air = x, top + number * LINE, (width - sum(wide)) / len(line)
        for word, own in zip(line, wide, strict=True):
            now, lit = len(cells) == chosen, len(cells) == over
            cells.append((left, y, own + air, LINE))
            if now or lit:
                fill = shade(theme, 0.5 if now else 0.16)
                sketch.rect(left + 2, y + 2, own + air - 4, LINE - 4, radius=4, fill=fill)
            colour = theme.text1 if now or lit else theme.text2
            sketch.text(left + (own + air) / 2, y + 19, word, LABEL, colour, bold=now, anchor="middle")
            left += own + air
    return cells


def dashed(sketch: Sketch, box: Box, colour: Colour) -> None:
    """Draw the outline of something that can be inserted here, or was just removed."""
    x, y, width, high = box
    ring = [(x, y), (x + width, y), (x + width, y + high), (x, y + high), (x, y)]
    sketch.polyline(ring, colour, 1.2, dash=(5, 3))


def focus_ring(sketch: Sketch, box: Box, theme: Theme) -> None:
    """Draw a ring around the widget with the keyboard focus."""
    x, y, width, high = box
    sketch.rect(x - 3, y - 3, width + 6, high + 6, stroke=theme.selection, border=2.0, radius=8)


def drag_handle(box: Box, theme: Theme) -> Sketch:
    """Return a frame with two arrow heads around a number that can be dragged."""
    sketch, (x, y, width, height) = Sketch(), box
    sketch.rect(*box, radius=4, stroke=theme.selection)
    middle = y + height / 2
    for end, way in ((x - 8, 4.0), (x + width + 8, -4.0)):
        path = [(end + way, middle - 4), (end, middle), (end + way, middle + 4)]
        sketch.polyline(path, theme.selection, 1.6)
    return sketch


def tip(
    at: Point, size: Point, name: str, value: str, more: Sequence[str], theme: Theme, off: Sequence[Box] = ()
) -> Sketch:
    """Return a label beside a pointer, in a picture of `size`; it covers none of the boxes `off`."""
    x, y, wide, high = beside_pointer(at, size, name, value, more)
    ways = [(x, y)]
    for left, top, across, down in off:
        beside, over = (left + across + OFF, left - OFF - wide), (top - OFF - high, top + down + OFF)
        ways += [*((end, at[1] - high / 2) for end in beside), *((x, end) for end in over)]
    inside = ((x, y) for x, y in ways if 4 <= x <= size[0] - wide - 4 and 4 <= y <= size[1] - high - 4)
    free = (way for way in inside if not any(meet((*way, wide, high), box) for box in off))
    x, y = next(free, (x, y))
    return pointer_label((x - 16, y - 18), size, name, value, more, theme)


LONGEST = 24
ALLOWED = "0123456789.-+eE"


class Entry:
    """A number that is being typed: digits, minus, point and e; other characters are ignored."""

    def __init__(self, what: str = "") -> None:
        self.what, self.text = what, ""

    def type(self, text: str) -> bool:
        """Add a character; return whether it belongs to a number. A comma becomes a point."""
        character = {",": ".", MINUS: "-"}.get(text, text)
        if len(character) != 1 or character not in ALLOWED:
            return False
        self.text = (self.text + character)[:LONGEST]
        return True

    def erase(self) -> None:
        """Delete the last character."""
        self.text = self.text[:-1]

    @property
    def number(self) -> float | None:
        """The typed number, or None if it is not finite."""
        try:
            found = float(self.text)
        except ValueError:
            return None
        return found if math.isfinite(found) else None

    @property
    def width(self) -> float:
        """Logical pixels of the text."""
        return measure(self._shown, TITLE) + measure(self.what, LABEL) + 14

    @property
    def _shown(self) -> str:
        return self.text.replace("-", MINUS)

    def draw(self, sketch: Sketch, box: Box, theme: Theme) -> None:
        """Draw it in a frame, with a caret."""
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
