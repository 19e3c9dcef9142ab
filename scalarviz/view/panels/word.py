"""Drawing a `WordBoard`: its letters as keys, the heads' attention, what comes next after one of them, new words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...errors import InputError
from ...run import Moment
from ...run.panels import Reading, WordBoard
from ..draw.places import LABEL, Box
from ..draw.sketch import Sketch
from .drawer import Drawer, Ground, Point, cut, sentence, title_of
from .image import Asked

_TOP, _KEY, _LINE, _AIR = 22.0, 26.0, 17.0, 10.0
LIKELIEST, COLUMNS = 5, 3
STEP, TEMPERATURES = 0.1, (0.1, 2.0)
DARKEST = 0.16  # of a share of 0: the cells can be counted


class _Made(NamedTuple):
    """What was computed of one moment, all of it together."""

    word: str
    reading: Reading
    words: Sequence[str]


class WordDrawer(Drawer[WordBoard]):
    """While the pointer is over it, letters go to the word; a click chooses the letter that is looked at."""

    name = "word"
    height = _TOP + _KEY + _AIR + 72 + _AIR + _LINE * (1 + LIKELIEST) + _AIR + _TOP + 2 * _LINE
    worth = 2
    gestures = (
        ("letters", "type another word while the pointer is over it; Backspace takes one away, Escape all"),
        ("{ }", "lower and higher temperature of new words"),
        ("click", "what comes next after this letter"),
    )

    def __init__(self, panel: WordBoard, ground: Ground) -> None:
        super().__init__(panel, ground)
        self.word, self.temperature = panel.word, panel.temperature
        self.chosen = len(panel.word)
        self._typing = False
        self._active = False
        self._asked = Asked("word", ground)
        self._wanted: tuple[str, float] = (self.word, self.temperature)

    @property
    def moving(self) -> bool:
        """Whether the numbers are of a frame before."""
        return self._asked.moving

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        """All four parts, of one moment."""
        wanted = (self.word, self.temperature)
        if wanted != self._wanted:  # a key was pressed: what was made is of another word
            self._wanted, self._asked = wanted, Asked("word", self.ground)
        made, error = self._asked.ask(moment, seconds, lambda: self._make(moment))
        sketch, theme = Sketch(), self.ground.theme
        note = self._asked.age or ("type a word" if self.ground.hints and not self._typing else "")
        title_of(sketch, box, theme, f"reads {self.word or 'a beginning'}", note)
        if made is None:
            return [sketch, sentence((box[0], box[1] + _TOP, box[2], box[3] - _TOP), theme, error)]
        y = box[1] + _TOP
        self._keys(sketch, box, y)
        y += _KEY + _AIR
        self._maps(sketch, box, y, made.reading)
        y += 72 + _AIR
        self._next(sketch, box, y, made)
        self._words(sketch, box, y + _LINE * (1 + LIKELIEST) + _AIR, made.words)
        return [sketch]

    def _make(self, moment: Moment) -> _Made:
        panel = self.panel
        reading = panel.look(moment, self.word)
        if not (np.isfinite(reading.likely).all() and np.isfinite(reading.attention).all()):
            raise InputError("what it says is no longer finite")
        return _Made(self.word, reading, panel.make(moment, self.temperature))

    # ---- its parts

    def _places(self, box: Box) -> list[tuple[float, float]]:
        """Left edge and width of each key."""
        count = len(self.word) + 1
        pitch = min(30.0, (box[2] - 40) / max(count - 1, 1))
        return [(box[0], 38.0), *((box[0] + 42 + pitch * k, pitch - 3) for k in range(count - 1))]

    def _keys(self, sketch: Sketch, box: Box, y: float) -> None:
        theme = self.ground.theme
        for k, ((left, wide), name) in enumerate(zip(self._places(box), ("start", *self.word), strict=True)):
            here = k == self.chosen
            fill, ink = (theme.text1, theme.background) if here else (theme.panel, theme.text1)
            sketch.rect(left, y, wide, _KEY, fill=fill, stroke=theme.text2 if self._active else theme.border, radius=4)
            sketch.text(left + wide / 2, y + 18, name, LABEL, ink, bold=k > 0, anchor="middle")

    def _maps(self, sketch: Sketch, box: Box, y: float, reading: Reading) -> None:
        heads, letters, _ = reading.attention.shape
        side = min(72.0, (box[2] - 8 * (heads - 1)) / heads)
        cell = side / letters
        for h in range(heads):
            left = box[0] + h * (side + 8)
            for row in range(letters):
                for column in range(row + 1):
                    grey = DARKEST + (1 - DARKEST) * float(np.clip(reading.attention[h, row, column], 0, 1))
                    grey = grey if self.ground.theme.name == "dark" else 1.06 - grey
                    place = (left + column * cell, y + row * cell, max(cell - 1, 1.0), max(cell - 1, 1.0))
                    sketch.rect(*place, fill=(grey, grey, grey, 1.0))
            if self.chosen < letters:
                width = (self.chosen + 1) * cell
                sketch.rect(left - 1, y + self.chosen * cell - 1, width + 1, cell + 1, stroke=self.ground.theme.text1)

    def _next(self, sketch: Sketch, box: Box, y: float, made: _Made) -> None:
        theme, panel, (x, _, width, _) = self.ground.theme, self.panel, box
        chosen = min(self.chosen, len(made.reading.likely) - 1)
        likely = made.reading.likely[chosen]
        names = [*panel.letters, "end"]
        before = made.word[chosen - 1] if chosen else "the beginning"
        sketch.text(x, y + 13, f"after {before}", LABEL, theme.text2)
        sketch.text(x + width, y + 13, "bright: the letter that follows", LABEL, theme.text3, anchor="right")
        follows = names.index(made.word[chosen]) if chosen < len(made.word) else len(panel.letters)
        for line, k in enumerate(np.argsort(likely, kind="stable")[::-1][:LIKELIEST].tolist()):
            top, colour = y + _LINE * (line + 1), theme.text1 if k == follows else theme.text3
            sketch.text(x + 30, top + 13, names[k], LABEL, colour, bold=k == follows, anchor="right")
            bar = (width - 90) * float(likely[k])
            sketch.rect(x + 38, top + 3, max(bar, 1.0), 10, fill=colour, radius=2)
            sketch.text(x + 44 + bar, top + 13, f"{100 * float(likely[k]):.0f} %", LABEL, colour)

    def _words(self, sketch: Sketch, box: Box, y: float, words: Sequence[str]) -> None:
        theme, (x, _, width, _) = self.ground.theme, box
        title_of(sketch, (x, y, width, _TOP), theme, "new words", f"temperature {self.temperature:.1f}")
        wide = width / COLUMNS
        for k, word in enumerate(words[: 2 * COLUMNS]):
            line, column = divmod(k, COLUMNS)
            sketch.text(x + wide * column, y + _TOP + _LINE * line + 13, cut(word or "-", wide - 8), LABEL, theme.text2)

    # ---- hands

    def hover(self, at: Point | None) -> bool:
        """It lights up and takes letters."""
        changed = self._active != (at is not None)
        self._active = at is not None
        self.stale |= changed
        return changed

    def click(self, at: Point) -> bool:
        """The letter that is looked at."""
        if self.box is None:
            return False
        y = self.box[1] + _TOP
        for k, (left, wide) in enumerate(self._places(self.box)):
            if left <= at[0] < left + wide + 3 and y <= at[1] < y + _KEY:
                self.chosen, self.stale = k, True
                return True
        return False

    def key(self, name: str, text: str) -> bool:
        """A letter, Backspace, or another temperature."""
        if text in ("{", "}"):
            low, high = TEMPERATURES
            self.temperature = min(high, max(low, round(self.temperature + (STEP if text == "}" else -STEP), 1)))
        elif len(text) == 1 and text in self.panel.letters:
            word = (self.word if self._typing else "") + text
            if len(word) > self.panel.most:
                return True
            self._put(word)
        elif name == "Backspace" and self.word:
            self._put(self.word[:-1])
        else:
            return False
        self.stale = True
        return True

    def let_go(self) -> bool:
        """Escape: the word that stood there at first."""
        if not self._typing:
            return False
        self._put(self.panel.word)
        self._typing, self.stale = False, True
        return True

    def _put(self, word: str) -> None:
        self.word, self.chosen, self._typing = word, len(word), True
