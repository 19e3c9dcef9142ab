"""The strip of a `WordBoard`: the word as a field, and what comes next after each of its letters."""

from __future__ import annotations

import numpy as np

from ..draw.places import LABEL
from ..draw.sketch import Box, Sketch
from ..draw.text import measure
from ..draw.theme import Theme
from .word_state import BEGINNING, Read, WordState

LIKELIEST = 5
_TOP, _LINE, _KEY = 22.0, 16.0, 30.0
_CELL, _WIDEST = 110.0, 150.0
"""Least and most pixels of one letter's bars."""


def strip(box: Box, theme: Theme, state: WordState, read: Read, *, age: str, hints: bool) -> Sketch:
    """All of it; remembers in `state` where letters and field stand."""
    sketch, (x, y, width, _) = Sketch(), box
    _title(sketch, box, theme, state, age, hints)
    tokens = (BEGINNING, *read.word)
    count = max(1, min(len(tokens), int(width / _CELL)))
    first = min(max(state.chosen - count // 2, 0), len(tokens) - count)
    pitch = min(width / count, _WIDEST)
    largest = float(read.reading.likely.max())
    for k in range(first, first + count):
        cell = (x + (k - first) * pitch, y + _TOP, pitch, LIKELIEST * _LINE)
        _cell(sketch, cell, theme, state, read, k, largest)
        state.places.append((cell, k))
    return sketch


def _title(sketch: Sketch, box: Box, theme: Theme, state: WordState, age: str, hints: bool) -> None:
    """What it is, the field, and how to use it."""
    x, y, width, _ = box
    sketch.text(x, y + 12, "what comes next", LABEL, theme.text1, bold=True)
    left = x + measure("what comes next", LABEL, True) + 12
    sketch.text(left, y + 12, "after each letter of", LABEL, theme.text3)
    left += measure("after each letter of", LABEL) + 8
    wide = max(measure(state.word, LABEL, True), 24.0) + 16
    field = (left, y - 4, wide, 22.0)
    state.field = field
    edge = theme.text1 if state.typing else theme.flow if hints else None
    if hints:
        sketch.rect(*field, fill=theme.panel, stroke=edge, border=1.6 if state.typing else 1.0, radius=4)
    sketch.text(left + 8, y + 12, state.word, LABEL, theme.text1, bold=True)
    if state.typing:
        caret = left + 9 + measure(state.word, LABEL, True)
        sketch.line((caret, y), (caret, y + 14), theme.text1, 1.4)
    left += wide + 10
    note = age or "bright: the letter that follows"
    sketch.text(x + width, y + 12, note, LABEL, theme.text3, anchor="right")
    hint = ("Enter keeps it, Escape leaves it" if state.typing else "click, or E: type a name") if hints else ""
    if left + measure(hint, LABEL) + 16 <= x + width - measure(note, LABEL):
        sketch.text(left, y + 12, hint, LABEL, theme.text2 if state.typing else theme.text3)


def _cell(sketch: Sketch, cell: Box, theme: Theme, state: WordState, read: Read, place: int, largest: float) -> None:
    """One letter as a key, and the bars of those that may follow; the `largest` share takes all the room."""
    x, y, width, _ = cell
    here = place == min(state.chosen, len(read.word))
    fill, ink = (theme.text1, theme.background) if here else (theme.panel, theme.text1)
    name = (BEGINNING, *read.word)[place]
    key = _KEY if place else 38.0
    sketch.rect(x, y + 2, key, _KEY, fill=fill, stroke=theme.flow, radius=4)
    sketch.text(x + key / 2, y + 22, name, LABEL if place == 0 else 17, ink, bold=place > 0, anchor="middle")
    likely, follows = read.reading.likely[place], _follows(state, read, place)
    order = np.argsort(likely, kind="stable")[::-1][:LIKELIEST].tolist()
    if follows not in order:
        order[-1] = follows  # with its own figure, in the last place
    start = x + key + 34
    most = (width - key - 34 - 30) / max(largest, 1e-9)
    for line, number in enumerate(order):
        base, bright = y + _LINE * line + 12, number == follows
        ink = theme.text1 if bright else theme.text3
        share = float(likely[number])
        sketch.text(start - 5, base, state.name(number), LABEL, ink, bold=bright, anchor="right")
        sketch.rect(start, base - 9, max(most * share, 1.5), 9, fill=ink, radius=2)
        sketch.text(start + max(most * share, 1.5) + 4, base, percent(share), LABEL, ink)


def _follows(state: WordState, read: Read, place: int) -> int:
    return state.letters.index(read.word[place]) if place < len(read.word) else len(state.letters)


def percent(share: float) -> str:
    """``49``, ``<1``: a share in per cent without its sign."""
    return "<1" if 0 < share < 0.005 else f"{100 * share:.0f}"
