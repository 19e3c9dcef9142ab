"""What lies over the picture for a moment: the list of keys, a message, the label beside the pointer."""

from __future__ import annotations

from collections.abc import Sequence

from .grid import LABEL, MARGIN, TITLE, Box
from .sketch import Colour, Sketch, rgba
from .text import measure
from .theme import Theme

_PAD = 12.0
_LINE = 19.0


def wrapped(text: str, width: float, size: float = LABEL, bold: bool = False) -> list[str]:
    """`text` in lines that are at most `width` wide; words that are wider are broken."""
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


def banner(text: str, size: tuple[float, float], top: float, right: float, theme: Theme) -> Sketch:
    """A message below the HUD, whole, in as many lines as it takes; `right` is where the scene ends."""
    sketch = Sketch()
    x = min(float(MARGIN), 0.04 * size[0])
    mark = 30.0 if size[0] >= 300 else 0.0
    most = right - 2 * x - 2 * _PAD - mark
    lines = wrapped(text, most)
    if not lines:
        return sketch
    width = max(measure(line, LABEL) for line in lines) + 2 * _PAD + mark
    height = _LINE * len(lines) + 2 * _PAD - 5
    top = max(4.0, min(top, size[1] - height - 4))
    _panel(sketch, (x, top, width, height), theme, theme.weight[1])
    if mark:
        middle = top + height / 2
        sketch.disc(x + _PAD + 9, middle, 9, theme.weight[1])
        sketch.text(x + _PAD + 9, middle + 5.5, "!", TITLE, theme.panel, bold=True, anchor="middle")
    for row, line in enumerate(lines):
        sketch.text(x + _PAD + mark, top + _PAD + 11 + _LINE * row, line, LABEL, theme.text1)
    return sketch


def pointer_label(at: tuple[float, float], size: tuple[float, float], name: str, value: str, more: Sequence[str],
                  theme: Theme) -> Sketch:
    """Name and value of a cube beside the pointer, inside the picture whatever corner it is in."""
    sketch = Sketch()
    gap = 14.0
    first = measure(name, LABEL, True) + gap + measure(value, LABEL)
    width = max([first, *(measure(line, LABEL) for line in more)]) + 20
    height = 12 + 18.0 * (1 + len(more))
    x, y = at[0] + 16, at[1] + 18
    if x + width > size[0] - 4:
        x = max(4.0, at[0] - 12 - width)
    if y + height > size[1] - 4:
        y = max(4.0, at[1] - 10 - height)
    _panel(sketch, (round(x), round(y), round(width), round(height)), theme, theme.flow)
    x, y = round(x) + 10, round(y) + 19.0
    sketch.text(x, y, name, LABEL, theme.text1, bold=True)
    sketch.text(x + measure(name, LABEL, True) + gap, y, value, LABEL, theme.text1)
    for row, line in enumerate(more, start=1):
        sketch.text(x, y + 18 * row, line, LABEL, theme.text2)
    return sketch


def help_panel(size: tuple[float, float], table: Sequence[tuple[str, str]], theme: Theme) -> Sketch:
    """The table of keys in the middle, over the dimmed picture, in as many columns as it needs."""
    sketch = Sketch()
    sketch.rect(0, 0, *size, fill=rgba(theme.background, 0.72))
    keys = max(measure(key, LABEL, True) for key, _ in table) + 18
    texts = max(measure(does, LABEL) for _, does in table)
    room = size[0] - 16 - 2 * 20, size[1] - 16 - 58
    columns, step = _arrangement(len(table), keys + texts + 28, room)
    rows = -(-len(table) // columns)
    shown = min(rows, max(1, int(room[1] / step)))
    wide = columns * (keys + texts + 28) - 28
    width, height = min(wide + 40, size[0] - 8), shown * step + 58
    left, top = round((size[0] - width) / 2), round((size[1] - height) / 2)
    _panel(sketch, (left, top, width, height), theme, theme.flow)
    sketch.text(left + 20, top + 30, "keys and mouse", TITLE, theme.text1, bold=True)
    for index, (key, does) in enumerate(table):
        column, row = divmod(index, rows)
        if row >= shown:
            continue
        x, y = left + 20 + column * (keys + texts + 28), top + 40 + step * (row + 0.5) + 5
        room_left = left + width - 8 - x
        if measure(key, LABEL, True) <= room_left:
            sketch.text(x, y, key, LABEL, theme.text1, bold=True)
        if keys + measure(does, LABEL) <= room_left:
            sketch.text(x + keys, y, does, LABEL, theme.text2)
    return sketch


def _arrangement(count: int, column: float, room: tuple[float, float]) -> tuple[int, float]:
    """Columns, and the height of a line: one column with air, else more, else tighter."""
    for step in (24.0, 21.0, 18.0):
        for columns in (1, 2, 3):
            if columns * column - 28 <= room[0] and -(-count // columns) * step <= room[1]:
                return columns, step
    fitting = max(1, min(3, int((room[0] + 28) // column)))
    return fitting, 18.0
