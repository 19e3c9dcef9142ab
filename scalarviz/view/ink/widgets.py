"""Widgets to press, switch or type into, anywhere in the picture; and short-lived parts over it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ...run.opened.digits import MINUS
from .axes import spaced
from .boxes import LABEL, MARGIN, TITLE
from .sketch import Bound, Box, Colour, Point, Sketch, TextItem, contains, meet, rgba
from .text import measure
from .theme import Shade, Theme, mixed

# ---- Short-lived parts over the picture: the list of keys, a message, the label beside the pointer.

_PAD = 12.0
_LINE = 19.0
_APART = 14.0  # a name and its value beside the pointer


def wrapped(text: str, width: float, size: float = LABEL, bold: bool = False) -> list[str]:
    """Return `text` in lines of at most `width`; longer words are broken, and ``%`` stays beside its number."""
    lines = [""]
    for word in re.findall(r"\S+(?: %\S*)?", text):
        joined = f"{lines[-1]} {word}".strip()
        if measure(joined, size, bold) <= width:
            lines[-1] = joined
            continue
        if lines[-1]:
            lines.append("")
        for character in word:
            if lines[-1] and measure(lines[-1] + character, size, bold) > width:
                lines.append("")
            lines[-1] += character
    return lines if lines[0] else []


LEADING = 1.25
"""Line height of a caption, relative to its size."""


@lru_cache(maxsize=256)
def _caption(text: str, width: float, height: float, largest: int, bold: bool) -> tuple[int, list[str]]:
    """Return size and lines of a caption: the largest type that fits, in lines of about one length."""
    sizes = [size for size in (23, 22, 21, 20, 18, 17, 16, 15, 14, LABEL) if size <= largest]
    lines = list[str]()
    for size in sizes:
        lines = wrapped(text, width, size, bold)
        if LEADING * size * len(lines) <= height:
            break
    return size, balanced(text, width, size, bold)


def balanced(text: str, width: float, size: float, bold: bool = False) -> list[str]:
    """Return `text` in as few lines as `width` needs, of about one length."""
    lines = wrapped(text, width, size, bold)
    even = measure(text, size, bold) / len(lines) if lines else width
    narrower = (wrapped(text, wide, size, bold) for wide in np.arange(1.02 * even, width, 0.05 * width))
    return next((way for way in narrower if len(way) == len(lines)), lines)


def caption_lines(
    sketch: Sketch, box: Box, theme: Theme, text: str, largest: int = 20, *, bold: bool = False,
    passing: bool = False,
) -> float:  # fmt: skip
    """Write a caption in lines of about one length, in the largest type that fits; return the height used.

    A `passing` one says numbers of the moment.
    """
    x, y, width, height = box
    size, lines = _caption(text, round(width, 1), round(height, 1), largest, bold)
    for k, line in enumerate(lines):
        bound = Bound(None) if passing else None
        sketch.text(x, y + (k + 0.8) * LEADING * size, line, size, theme.text1, bold=bold, bound=bound)
    return LEADING * size * len(lines)


class BoundCaption(NamedTuple):
    """A caption that a browser writes again for other numbers."""

    ways: tuple[str, ...]  # to say it, the longest first
    usual: str  # as long as it usually is
    bound: Bound


def bound_caption(sketch: Sketch, box: Box, theme: Theme, said: BoundCaption, largest: int = 20) -> float:
    """Write a caption in lines of about one length, in the type that the usual one has; return the height used.

    There is an item for each line that has room, also for an empty one.
    """
    x, y, width, height = box
    width = round(width, 1)
    size, usual = _caption(said.usual, width, round(height, 1), largest, False)
    ways = [balanced(way, width, size) for way in said.ways]
    most = max(len(usual), int(height / (LEADING * size)))
    lines = next((lines for lines in ways if len(lines) <= most), ways[-1])
    for k in range(max(most, len(lines))):
        bound = replace(said.bound, form=f"caption {k} {most}", within=width)
        text = lines[k] if k < len(lines) else ""  # the browser's sentence may be longer
        down = y + (k + 0.8) * LEADING * size
        sketch.texts.append(TextItem(x, down, text, size, rgba(theme.text1), bound=bound))
    return LEADING * size * max(len(usual), len(lines))


def _panel(sketch: Sketch, box: Box, theme: Theme, stroke: Colour | None = None) -> None:
    sketch.rect(*box, radius=6, fill=theme.panel, stroke=stroke or theme.border)


def banner(
    text: str, size: tuple[float, float], top: float, right: float, theme: Theme, *, alarm: bool = True,
    low: bool = False,
) -> Sketch:  # fmt: skip
    """Return a whole message in as many lines as it needs; `right` is the scene's right edge.

    `alarm`: an error; else news in a bar as wide as the scene, which is thinner in a `low` picture, because a legend
    ends right above it.
    """
    sketch = Sketch()
    colour = theme.weight[1 if alarm else 3]
    tiny = size[0] < 300
    x, pad, mark, line = (4.0, 7.0, 0.0, 16.0) if tiny else (min(float(MARGIN), 0.04 * size[0]), _PAD, 30.0, _LINE)
    pad = 7.0 if low else pad
    lines = wrapped(text, right - 2 * x - 2 * pad - mark)
    if not lines:
        return sketch
    width = max(measure(words, LABEL) for words in lines) + 2 * pad + mark if alarm else right - 2 * x
    height = line * len(lines) + 2 * pad - 5
    top = max(4.0, min(top, size[1] - height - 4))
    _panel(sketch, (x, top, width, height), theme, colour)
    if alarm:
        sketch.spot((x, top, width, height), "rescue", words=text)
    if mark:
        middle = top + height / 2
        sketch.disc(x + pad + 9, middle, 9, colour)
        sketch.text(x + pad + 9, middle + 5.5, "!" if alarm else "i", TITLE, theme.panel, bold=True, anchor="middle")
    for row, words in enumerate(lines):
        sketch.text(x + pad + mark, top + pad + 11 + line * row, words, LABEL, theme.text1)
    return sketch


def pressed_key(key: str, does: str, box: Box, theme: Theme) -> Sketch:
    """Return a pressed key and its action in the lower left corner of a box, shortened to fit."""
    sketch = Sketch()
    x, y, width, height = box
    x, width = max(x, float(MARGIN)), width - MARGIN
    cap = measure(key, TITLE, True) + TITLE
    high, fits = 40.0, cap + 32 + measure(does, TITLE) <= width
    own = cap + 16 + (measure(does, TITLE) + 16 if fits else 0.0)
    top = y + height - high - 6
    _panel(sketch, (x, top, own, high), theme, theme.flow)
    sketch.rect(x + 8, top + 7, cap, high - 14, radius=5, fill=theme.background, stroke=theme.text1, border=1.2)
    sketch.text(x + 8 + cap / 2, top + high / 2 + 6, key, TITLE, theme.text1, bold=True, anchor="middle")
    if fits:
        sketch.text(x + cap + 20, top + high / 2 + 6, does, TITLE, theme.text1)
    return sketch


def beside_pointer(
    at: tuple[float, float], size: tuple[float, float], name: str, value: str, more: Sequence[str]
) -> Box:
    """Return the box for the name and the value of a cube, inside the picture."""
    first = measure(name, LABEL, True) + _APART + measure(value, LABEL)
    width = max([first, *(measure(line, LABEL) for line in more)]) + 20
    height = 12 + 18.0 * (1 + len(more))
    x, y = at[0] + 16, at[1] + 18
    if x + width > size[0] - 4:
        x = max(4.0, at[0] - 12 - width)
    if y + height > size[1] - 4:
        y = max(4.0, at[1] - 10 - height)
    return round(x), round(y), round(width), round(height)


def pointer_label(
    at: tuple[float, float], size: tuple[float, float], name: str, value: str, more: Sequence[str], theme: Theme
) -> Sketch:
    """Return the name and value of a cube beside the pointer."""
    sketch, box = Sketch(), beside_pointer(at, size, name, value, more)
    _panel(sketch, box, theme, theme.flow)
    x, y = box[0] + 10, box[1] + 19.0
    sketch.text(x, y, name, LABEL, theme.text1, bold=True)
    sketch.text(x + measure(name, LABEL, True) + _APART, y, value, LABEL, theme.text1)
    for row, line in enumerate(more, start=1):
        sketch.text(x, y + 18 * row, line, LABEL, theme.text2)
    return sketch


class KeysPage(NamedTuple):
    """Some lines of the table of keys, their number of columns, and the height of a line."""

    heading: str
    lines: list[tuple[str, str]]
    columns: int
    step: float


def help_pages(size: tuple[float, float], table: Sequence[tuple[str, str]]) -> list[KeysPage]:
    """Return the table of keys as pages for a picture of `size`; each group of lines has its own page.

    A line without a key is the heading of the group after it.
    """
    groups: list[tuple[str, list[tuple[str, str]]]] = [] if table and not table[0][0] else [(KEYS, [])]
    for key, does in table:
        groups.append((does, [])) if not key else groups[-1][1].append((key, does))
    return [page for heading, lines in groups if lines for page in _pages(size, heading, lines)]


def _pages(size: tuple[float, float], heading: str, table: Sequence[tuple[str, str]]) -> list[KeysPage]:
    """Return a group on one page, as whole sentences or their beginnings.

    If even those do not fit there are several pages; in a tiny picture each line ends with the last word that fits.
    """
    short = [(key.partition(" or ")[0], _beginning(does)) for key, does in table]
    room = size[0] - 8 - 2 * _SIDE, size[1] - 8 - _HEAD
    for lines in (list(table), short):
        for step in (24.0, 21.0, 18.0, 17.0, 16.0):
            for columns in (1, 2, 3):
                fits = -(-len(lines) // columns) * step <= room[1] and sum(_widths(lines, columns)) <= room[0]
                if fits:
                    return [KeysPage(heading, lines, columns, step)]
    for lines, columns in ((list(table), 2), (list(table), 1), (short, 2), (short, 1)):
        count = -(-len(lines) // max(columns, columns * int(room[1] / 18.0)))
        most = -(-len(lines) // count)
        pages = [KeysPage(heading, lines[k : k + most], columns, 18.0) for k in range(0, len(lines), most)]
        if all(sum(_widths(page.lines, columns)) <= room[0] for page in pages):
            break
    return pages


def help_panel(size: tuple[float, float], table: Sequence[tuple[str, str]], theme: Theme, page: int = 1) -> Sketch:
    """Return a page of the table of keys (the first is 1) in the middle, over the dimmed picture; see `help_pages`."""
    sketch = Sketch()
    sketch.rect(0, 0, *size, fill=rgba(theme.background, 0.72))
    pages = help_pages(size, table)
    page = min(page, len(pages))
    heading, lines, columns, step = pages[page - 1]
    turns = f"? turns to {pages[page].heading}" if page < len(pages) else "? closes" if page > 1 else ""
    widths = _widths(lines, columns)
    rows = -(-len(lines) // columns)
    head = measure(heading, TITLE, True), measure(turns, LABEL) + _BETWEEN * bool(turns)
    width, height = min(max(sum(widths), sum(head)) + 2 * _SIDE, size[0] - 8), rows * step + _HEAD
    left, top = round((size[0] - width) / 2), round((size[1] - height) / 2)
    _panel(sketch, (left, top, width, height), theme, theme.flow)
    if sum(head) <= width - 2 * _SIDE:
        sketch.text(left + _SIDE, top + 28, heading, TITLE, theme.text1, bold=True)
        sketch.text(left + width - _SIDE, top + 28, turns, LABEL, theme.text2, anchor="right")
    x = left + _SIDE
    for column, wide in enumerate(widths):
        part = lines[column * rows : (column + 1) * rows]
        keys = _key_width(part)
        for row, (key, does) in enumerate(part):
            y = top + 36 + step * (row + 0.5) + 5
            sketch.text(x, y, key, LABEL, theme.text1, bold=True)
            sketch.text(x + keys, y, _first_words(does, left + width - 4 - x - keys), LABEL, theme.text2)
        x += wide
    return sketch


KEYS = "keys and mouse"
"""Heading of lines without one."""
_SIDE, _HEAD, _BETWEEN = 20.0, 50.0, 26.0


def _first_words(text: str, width: float) -> str:
    while text and measure(text, LABEL) > width:
        text = text.rpartition(" ")[0]
    return text


def _beginning(does: str) -> str:
    """Return a sentence up to a bracket, comma or semicolon, without a bracket at its beginning."""
    return re.split(r" ?[(,;]", re.sub(r"^\([^)]*\) ", "", does))[0]


def _key_width(lines: Sequence[tuple[str, str]]) -> float:
    return max(measure(key, LABEL, True) for key, _ in lines) + 18


def _widths(lines: Sequence[tuple[str, str]], columns: int) -> list[float]:
    """Return the width of each column, the space after it included."""
    rows = -(-len(lines) // columns)
    parts = [lines[k * rows : (k + 1) * rows] for k in range(columns)]
    wide = [_key_width(part) + max(measure(does, LABEL) for _, does in part) + _BETWEEN for part in parts if part]
    wide[-1] -= _BETWEEN
    return wide


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


def shade(theme: Theme, share: float) -> Shade:
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


def choices(sketch: Sketch, box: Box, theme: Theme, words: Sequence[str], chosen: int, over: int | str) -> list[Box]:
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
        sketch.polyline([(end + way, middle - 4), (end, middle), (end + way, middle + 4)], theme.selection, 1.6)
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
            at = sketch.text(at, y + 16, self.what, LABEL, theme.text3) + 6
        good = self.number is not None or not self.text
        at = sketch.text(at, y + 16, self._shown, TITLE, theme.text1 if good else theme.weight[1]) + 1
        sketch.line((at, y + 4), (at, y + height - 4), theme.text1, 1.4)
