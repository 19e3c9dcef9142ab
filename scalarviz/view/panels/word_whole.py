"""A `WordBoard` that stands whole in the column: its letters as keys, attention, what comes next, new words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...run.panels import Reading
from ..draw.places import LABEL, Box
from ..draw.sketch import Sketch
from ..draw.theme import Theme
from .drawer import cut, title_of
from .word_scene import greys
from .word_state import Read, WordState

TOP, KEY, LINE, AIR = 22.0, 26.0, 17.0, 10.0
LIKELIEST, COLUMNS = 5, 3
_MAPS = 72.0
HEIGHT = TOP + KEY + AIR + _MAPS + AIR + LINE * (1 + LIKELIEST) + AIR + TOP + 2 * LINE


def whole(box: Box, theme: Theme, state: WordState, read: Read, words: Sequence[str], temperature: float) -> Sketch:
    """All four parts, below the title; remembers in `state` where the letters stand."""
    sketch, y = Sketch(), box[1] + TOP
    state.field = (box[0], box[1], box[2], TOP)
    _keys(sketch, box, y, theme, state)
    y += KEY + AIR
    _maps(sketch, box, y, theme, state, read.reading)
    y += _MAPS + AIR
    _next(sketch, box, y, theme, state, read)
    _words(sketch, box, y + LINE * (1 + LIKELIEST) + AIR, theme, words, temperature)
    return sketch


def _keys(sketch: Sketch, box: Box, y: float, theme: Theme, state: WordState) -> None:
    pitch = min(30.0, (box[2] - 40) / max(len(state.word), 1))
    for k, name in enumerate(state.tokens):
        left, wide = (box[0] + 42 + pitch * (k - 1), pitch - 3) if k else (box[0], 38.0)
        here = k == state.chosen
        fill, ink = (theme.text1, theme.background) if here else (theme.panel, theme.text1)
        sketch.rect(left, y, wide, KEY, fill=fill, stroke=theme.text2 if state.typing else theme.border, radius=4)
        sketch.text(left + wide / 2, y + 18, name, LABEL, ink, bold=k > 0, anchor="middle")
        state.places.append(((left, y, wide + 3, KEY), k))


def _maps(sketch: Sketch, box: Box, y: float, theme: Theme, state: WordState, reading: Reading) -> None:
    heads, letters, _ = reading.attention.shape
    side = min(_MAPS, (box[2] - 8 * (heads - 1)) / heads)
    cell = side / letters
    for h in range(heads):
        left = box[0] + h * (side + 8)
        down, across = np.tril_indices(letters)
        side_of = np.full((2, len(down)), max(cell - 1, 1.0))
        sketch.cells(np.stack([left + across * cell, y + down * cell, *side_of], axis=1),
                     greys(reading.attention[h][down, across], theme))  # fmt: skip
        if state.chosen < letters:
            width = (state.chosen + 1) * cell
            sketch.rect(left - 1, y + state.chosen * cell - 1, width + 1, cell + 1, stroke=theme.text1)


def _next(sketch: Sketch, box: Box, y: float, theme: Theme, state: WordState, read: Read) -> None:
    x, _, width, _ = box
    chosen = min(state.chosen, len(read.reading.likely) - 1)
    likely = read.reading.likely[chosen]
    before = read.word[chosen - 1] if chosen else "the beginning"
    sketch.text(x, y + 13, f"after {before}", LABEL, theme.text2)
    sketch.text(x + width, y + 13, "bright: the letter that follows", LABEL, theme.text3, anchor="right")
    follows = state.follows(chosen)
    for line, k in enumerate(np.argsort(likely, kind="stable")[::-1][:LIKELIEST].tolist()):
        top, colour = y + LINE * (line + 1), theme.text1 if k == follows else theme.text3
        sketch.text(x + 30, top + 13, state.name(k), LABEL, colour, bold=k == follows, anchor="right")
        bar = (width - 90) * float(likely[k])
        sketch.rect(x + 38, top + 3, max(bar, 1.0), 10, fill=colour, radius=2)
        sketch.text(x + 44 + bar, top + 13, f"{100 * float(likely[k]):.0f} %", LABEL, colour)


def _words(sketch: Sketch, box: Box, y: float, theme: Theme, words: Sequence[str], temperature: float) -> None:
    x, _, width, _ = box
    title_of(sketch, (x, y, width, TOP), theme, "new words", f"temperature {temperature:.1f}")
    wide = width / COLUMNS
    for k, word in enumerate(words[: 2 * COLUMNS]):
        line, column = divmod(k, COLUMNS)
        sketch.text(x + wide * column, y + TOP + LINE * line + 13, cut(word or "-", wide - 8), LABEL, theme.text2)
