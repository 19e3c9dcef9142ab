"""Drawing a `WordBoard`: whole in the column, or in a planned picture among the cubes and in the strip, too."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...errors import InputError
from ...run import Moment
from ...run.panels import WordBoard
from ..ink.places import LABEL
from ..ink.sketch import Box, Sketch, Spot, spot_at
from ..ink.theme import Theme
from .drawer import Drawer, Ground, Point, Setting, cut, sentence, title_of
from .image import Asked
from .word_scene import BEGINNING, LIKELIEST, NewNames, Read, WordState, bars, key, scene, triangle
from .word_scene import strip as word_strip

TOP, KEY, LINE, AIR = 22.0, 26.0, 17.0, 10.0
COLUMNS = 3
_MAPS = 72.0
HEIGHT = TOP + KEY + AIR + _MAPS + AIR + LINE * (1 + LIKELIEST) + AIR + TOP + 2 * LINE


def whole(box: Box, theme: Theme, state: WordState, read: Read, words: Sequence[str], temperature: float) -> Sketch:
    """All four parts, below the title; title and letters answer to a click."""
    sketch, (x, top, width, _) = Sketch(), box
    sketch.spot((x, top, width, TOP), "field", words=read.word)
    y, tokens, chosen = top + TOP, (BEGINNING, *read.word), min(state.chosen, len(read.word))
    pitch = min(30.0, (width - 40) / max(len(read.word), 1))
    for k, name in enumerate(tokens):
        left, wide = (x + 42 + pitch * (k - 1), pitch - 3) if k else (x, 38.0)
        key(sketch, (left, y, wide, KEY), theme, name, LABEL, here=k == chosen)
        sketch.spot((left, y, wide + 3, KEY), "letter", k, words=name)
    y += KEY + AIR
    attention = read.reading.attention
    side = min(_MAPS, (width - 8 * (len(attention) - 1)) / len(attention))
    for h, shares in enumerate(attention):
        triangle(sketch, (x + h * (side + 8), y), side / len(tokens), theme, shares, chosen)
    y += _MAPS + AIR
    before = read.word[chosen - 1] if chosen else "the beginning"
    sketch.text(x, y + 13, f"after {before}", LABEL, theme.text2)
    sketch.text(x + width, y + 13, "bright: the letter that follows", LABEL, theme.text3, anchor="right")
    bars(sketch, (x + 38, y + LINE), width - 90, theme, state, read, chosen, LINE, " %")
    y += LINE * (1 + LIKELIEST) + AIR
    title_of(sketch, (x, y, width, TOP), theme, "new words", f"temperature {temperature:.1f}")
    wide = width / COLUMNS
    for k, word in enumerate(words[: 2 * COLUMNS]):
        line, column = divmod(k, COLUMNS)
        sketch.text(x + wide * column, y + TOP + LINE * line + 13, cut(word or "-", wide - 8), LABEL, theme.text2)
    return sketch


STEP, TEMPERATURES = 0.1, (0.1, 2.0)
"""By how much the temperature moves, and its bounds."""


class WordDrawer(Drawer[WordBoard]):
    """A word to type and new ones. While its field is open letters are its own; a click chooses a letter."""

    name = "word"
    height, spread = HEIGHT, 206.0
    worth = 2
    gestures = (
        ("Click", "the word: type another one; Enter keeps it, Escape leaves it"),
        ("Click", "a letter of the word: what comes next after it, and whom it looks at"),
    )

    def __init__(self, panel: WordBoard, ground: Ground) -> None:
        super().__init__(panel, ground)
        self.state = WordState(panel.letters, panel.word, len(panel.word))
        self.temperature = panel.temperature
        self.names = NewNames(panel)
        self.spots: list[Spot] = []  # letters and field, wherever they stand
        self._before = panel.word  # the word that stood there before the field was opened
        self._fresh = True  # the next letter begins a word
        self._asked = Asked("word", ground)
        self._wanted = (panel.word, panel.temperature)
        self._read: Read | None = None
        self._words: Sequence[str] = ()
        self._error, self._step = "", 0

    @property
    def moving(self) -> bool:
        """Whether the numbers are of a frame before, or letters are still to come."""
        return self._asked.moving or (self.setting is not None and self.names.moving)

    # ---- what it looks like

    def look(self, moment: Moment, seconds: float | None) -> None:
        """Let the network of the moment read the word and make up others."""
        wanted = (self.state.word, self.temperature)
        if wanted != self._wanted:  # a key was pressed: what was made is of another word
            self._wanted, self._asked = wanted, Asked("word", self.ground)
        made, self._error = self._asked.ask(moment, seconds, lambda: self._make(moment))
        self._read, self._words = made if made is not None else (None, ())
        if moment.step != self._step:
            self._step, self.state.touched = moment.step, False
        self.spots = []
        if self._read is not None and self.setting is not None:
            self.names.look(moment, self.temperature, seconds)

    def _make(self, moment: Moment) -> tuple[Read, Sequence[str]]:
        panel = self.panel
        reading = panel.look(moment, self.state.word)
        if not all(np.isfinite(part).all() for part in (reading.likely, reading.attention, *reading.stream)):
            raise InputError("what it says is no longer finite")
        words = [panel.make(moment, self.temperature, k).word for k in range(2 * COLUMNS)] if not self.setting else []
        return Read(self.state.word, reading), words

    def _answering(self, sketches: Sequence[Sketch]) -> Sequence[Sketch]:
        """The same, and their letters answer to a click."""
        self.spots += [spot for sketch in sketches for spot in sketch.spots]
        return sketches

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        """New words alone in a planned picture, else all parts."""
        theme, state = self.ground.theme, self.state
        if self.setting is not None and self._read is not None:
            return [self.names.draw(box, theme, self._step)]
        hint = "Enter keeps it, Escape leaves it" if state.typing else "E: type a word"
        title, age = Sketch(), self._asked.age or (hint if self.ground.hints else "")
        title_of(title, box, theme, f"reads {state.word or 'a beginning'}", age)
        if self._read is None:
            return [title, sentence((box[0], box[1] + TOP, box[2], box[3] - TOP), theme, self._error)]
        return self._answering([title, whole(box, theme, state, self._read, self._words, self.temperature)])

    def around(self, setting: Setting) -> Sequence[Sketch]:
        """Attention, stream, inner numbers, frames."""
        if self._read is None or setting.sheet is None:
            return ()
        return self._answering(scene(setting, setting.sheet, self.ground.theme, self.state, self._read))

    def below(self, strip: Box) -> Sequence[Sketch]:
        """What comes next after each letter."""
        ground, read = self.ground, self._read
        if read is None:
            return ()
        sketch = word_strip(strip, ground.theme, self.state, read, age=self._asked.age, hints=ground.hints)
        return self._answering([sketch])

    # ---- hands

    @property
    def typing(self) -> bool:
        return self.state.typing and self.there

    @property
    def there(self) -> bool:
        """Whether it is to be seen."""
        return self.box is not None or self.setting is not None

    @property
    def takes_strip(self) -> bool:
        return self.setting is not None and (self.state.typing or self.state.touched)

    def begin_typing(self) -> None:
        """Open the field: the next letter begins another word."""
        if not self.state.typing:
            self._before, self._fresh = self.state.word, True
            self.state.typing, self.state.touched, self.stale = True, True, True

    def end_typing(self) -> None:
        """Close it; what was typed stays."""
        self.stale |= self.state.typing
        self.state.typing = False

    def warm(self, steps: int) -> None:
        """Another temperature, so many tenths from this one."""
        low, high = TEMPERATURES
        self.temperature = min(high, max(low, round(self.temperature + STEP * steps, 1)))
        self.stale = True

    def covers(self, at: Point) -> bool:
        return spot_at(self.spots, at) is not None

    def click(self, at: Point) -> bool:
        """The letter that is looked at, or the field."""
        spot = spot_at(self.spots, at)
        if spot is not None and spot.name == "letter":
            self.state.chosen, self.state.touched, self.stale = int(spot.value), True, True
        elif spot is not None and self.ground.hints:
            self.begin_typing()
        else:
            self.end_typing()
            return False
        return True

    def key(self, name: str, text: str) -> bool:
        """While the field is open: a letter, Backspace, Enter, Escape. Other keys keep their meaning."""
        state = self.state
        if not state.typing:
            return False
        letter = next((t for t in (text, text.lower()) if len(t) == 1 and t in self.panel.letters), "")
        if name == "Enter":
            self.end_typing()
        elif name == "Escape":
            self._put(self._before)
            self.end_typing()
        elif name in ("Backspace", "Delete"):
            self._put(state.word[:-1])
        elif letter:
            word = ("" if self._fresh else state.word) + letter
            if len(word) <= self.panel.most:
                self._put(word)
        elif len(text) == 1 and text.isalpha():
            raise InputError(f"{text} is no letter of these words")
        else:
            return False
        self._fresh = False
        self.stale = True
        return True

    def let_go(self) -> bool:
        """Escape: the word that stood there at first."""
        if self.state.word == self.panel.word and not self.state.typing:
            return False
        self._put(self.panel.word)
        self.end_typing()
        self.stale = True
        return True

    def _put(self, word: str) -> None:
        self.state.word, self.state.chosen = word, len(word)
