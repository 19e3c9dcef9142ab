"""Short-lived parts over the picture: the list of keys, a message, the label beside the pointer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from .boxes import LABEL, MARGIN, TITLE
from .sketch import Box, Colour, Sketch, rgba
from .text import measure
from .theme import Theme

_PAD = 12.0
_LINE = 19.0
_APART = 14.0  # a name and its value beside the pointer


def wrapped(text: str, width: float, size: float = LABEL, bold: bool = False) -> list[str]:
    """Return `text` in lines of at most `width`; longer words are broken."""
    lines = [""]
    for word in text.split():
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


class Page(NamedTuple):
    """Some lines of the table of keys, their number of columns, and the height of a line."""

    heading: str
    lines: list[tuple[str, str]]
    columns: int
    step: float


def help_pages(size: tuple[float, float], table: Sequence[tuple[str, str]]) -> list[Page]:
    """Return the table of keys as pages for a picture of `size`; each group of lines has its own page.

    A line without a key is the heading of the group after it.
    """
    groups: list[tuple[str, list[tuple[str, str]]]] = [] if table and not table[0][0] else [(KEYS, [])]
    for key, does in table:
        groups.append((does, [])) if not key else groups[-1][1].append((key, does))
    return [page for heading, lines in groups if lines for page in _pages(size, heading, lines)]


def _pages(size: tuple[float, float], heading: str, table: Sequence[tuple[str, str]]) -> list[Page]:
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
                    return [Page(heading, lines, columns, step)]
    for lines, columns in ((list(table), 2), (list(table), 1), (short, 2), (short, 1)):
        count = -(-len(lines) // max(columns, columns * int(room[1] / 18.0)))
        most = -(-len(lines) // count)
        pages = [Page(heading, lines[k : k + most], columns, 18.0) for k in range(0, len(lines), most)]
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
