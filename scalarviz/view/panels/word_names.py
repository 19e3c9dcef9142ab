"""`NewNames`: words that a network makes up, one after another: each enters below the others, letter by letter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...run import Moment
from ...run.panels import Invented, WordBoard
from ..draw.places import LABEL
from ..draw.sketch import Box, Sketch
from ..draw.text import measure
from ..draw.theme import Theme, mixed
from .drawer import title_of

MOST = 5
EVERY, LETTER = 2.0, 0.12
"""Seconds from one word to the next, and from one letter to the next."""
STANDS = 0.5
"""Seconds after which a moment that stays is that of all words."""
_SIZES = (30.0, 26.0, 22.0, 18.0)
_TOP = 26.0
_DIM = 0.42  # of the text's colour: a letter of probability 0


@dataclass(frozen=True, slots=True)
class _Line:
    """A word and the step at which it was made."""

    made: Invented
    step: int


class NewNames:
    """The list. In a still all of it is of the moment shown; else each word says of which step it is.

    Once training pauses all of them are made anew, of that moment: the first ones, which a scene's own claim tells too.

    Parameters
    ----------
    panel : WordBoard
        Makes the words.
    """

    def __init__(self, panel: WordBoard) -> None:
        self._panel = panel
        self._lines: list[_Line] = []
        self._number, self._temperature = 0, 0.0
        self._step = 0  # that is shown
        self._since = 0.0  # seconds since the last one began to enter
        self._stood = 0.0  # seconds for which that step has been shown

    @property
    def moving(self) -> bool:
        """Whether letters are still to come, or words of the moment that is shown."""
        lines = self._lines
        coming = bool(lines) and self._letters < len(lines[-1].made.word)
        return coming or any(line.step != self._step for line in lines)

    @property
    def _letters(self) -> int:
        """How many letters of the last word are there."""
        return int(self._since / LETTER) + 1

    @property
    def words(self) -> list[str]:
        """Those that are shown, as far as they are."""
        last = len(self._lines) - 1
        return [n.made.word[: self._letters] if k == last else n.made.word for k, n in enumerate(self._lines)]

    def look(self, moment: Moment, temperature: float, seconds: float | None) -> None:
        """Time passes; None: all words are of this moment. A step back, or another temperature, begins anew."""
        lines, late = self._lines, any(line.step != moment.step for line in self._lines)
        self._stood = self._stood + (seconds or 0.0) if moment.step == self._step else 0.0
        self._step = moment.step
        anew = not lines or temperature != self._temperature or moment.step < lines[-1].step
        if seconds is None or anew or (late and self._stood >= STANDS):
            self._temperature, self._number, self._since = temperature, MOST, 1e6
            self._lines = [_Line(self._panel.make(moment, temperature, k), moment.step) for k in range(MOST)]
            return
        self._since += seconds
        if self._since >= EVERY and late:
            self._lines = [*lines[1 - MOST :], _Line(self._panel.make(moment, temperature, self._number), moment.step)]
            self._number, self._since = self._number + 1, 0.0

    def draw(self, box: Box, theme: Theme, step: int) -> Sketch:
        """Title and words; the brighter a letter, the surer it was."""
        sketch, (x, y, width, height) = Sketch(), box
        title_of(sketch, box, theme, "new names", f"temperature {self._temperature:.1f} · brighter: surer")
        pitch = (height - _TOP) / MOST
        size = next((s for s in _SIZES if 1.2 * s <= pitch), _SIZES[-1])
        for k, (line, word) in enumerate(zip(self._lines, self.words, strict=True)):
            base = y + _TOP + pitch * (k + 0.5) + 0.3 * size
            note = f"step {line.step:,}" if line.step != step else ""
            room = width - (measure(note, LABEL) + 12 if note else 0.0)
            self._word(sketch, (x, base), theme, word, line.made.likely, size, room)
            sketch.text(x + width, base, note, LABEL, theme.text3, anchor="right")
        return sketch

    def _word(
        self,
        sketch: Sketch,
        at: tuple[float, float],
        theme: Theme,
        word: str,
        likely: Sequence[float],
        size: float,
        room: float,
    ) -> None:
        (x, y), shown = at, word or "-"
        size *= min(1.0, room / max(measure(shown, size, True), 1.0))
        for k, letter in enumerate(shown):
            surely = float(np.clip(likely[k], 0, 1)) if k < len(likely) else 0.0
            ink = mixed(theme.text1, theme.background, _DIM + (1 - _DIM) * surely**0.5)
            sketch.text(x, y, letter, size, ink, bold=True)
            x += measure(letter, size, True)
