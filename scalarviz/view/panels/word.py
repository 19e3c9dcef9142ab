"""Drawing a `WordBoard`: whole in the column, or in a planned picture among the cubes and in the strip, too."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...errors import InputError
from ...run import Moment
from ...run.panels import Reading, WordBoard
from ..ink.places import LABEL
from ..ink.sketch import Box, Sketch
from ..ink.theme import Theme
from .drawer import Drawer, Ground, Point, Setting, cut, sentence, title_of
from .image import Asked
from .word_scene import NewNames, Read, WordState, greys, scene, strip

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


# ----

STEP, TEMPERATURES = 0.1, (0.1, 2.0)
"""By how much the temperature moves, and its bounds."""
_SPREAD = 206.0


class WordDrawer(Drawer[WordBoard]):
    """A word to type and new ones. While its field is open letters are its own; a click chooses a letter.

    Attributes
    ----------
    state : WordState
    temperature : float
        Of new words.
    """

    name = "word"
    height, spread = HEIGHT, _SPREAD
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
        self.state.places, self.state.field = [], None
        if self._read is not None and self.setting is not None:
            self.names.look(moment, self.temperature, seconds)

    def _make(self, moment: Moment) -> tuple[Read, Sequence[str]]:
        panel = self.panel
        reading = panel.look(moment, self.state.word)
        numbers = (reading.likely, reading.attention, *reading.stream)
        if not all(np.isfinite(part).all() for part in numbers):
            raise InputError("what it says is no longer finite")
        words = [panel.make(moment, self.temperature, k).word for k in range(2 * COLUMNS)] if not self.setting else []
        return Read(self.state.word, reading), words

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        """New words alone in a planned picture, else all parts."""
        theme, state = self.ground.theme, self.state
        if self.setting is not None and self._read is not None:
            return [self.names.draw(box, theme, self._step)]
        hint = "Enter keeps it, Escape leaves it" if state.typing else "E: type a word"
        title = Sketch()
        title_of(title, box, theme, f"reads {state.word or 'a beginning'}",
                 self._asked.age or (hint if self.ground.hints else ""))  # fmt: skip
        if self._read is None:
            return [title, sentence((box[0], box[1] + TOP, box[2], box[3] - TOP), theme, self._error)]
        return [title, whole(box, theme, state, self._read, self._words, self.temperature)]

    def around(self, setting: Setting) -> Sequence[Sketch]:
        """Attention, stream, inner numbers, frames."""
        if self._read is None or setting.sheet is None:
            return ()
        return scene(setting, setting.sheet, self.ground.theme, self.state, self._read)

    def below(self, box: Box) -> Sequence[Sketch]:
        """What comes next after each letter."""
        if self._read is None:
            return ()
        ground = self.ground
        return [strip(box, ground.theme, self.state, self._read, age=self._asked.age, hints=ground.hints)]

    # ---- hands

    @property
    def typing(self) -> bool:
        """Whether the field is open."""
        return self.state.typing and self.there

    @property
    def there(self) -> bool:
        """Whether it is to be seen."""
        return self.box is not None or self.setting is not None

    @property
    def takes_strip(self) -> bool:
        """Whether it was used just now."""
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
        """Letters and field, wherever they stand."""
        return self.state.at(at) is not None or self.state.on_field(at)

    def click(self, at: Point) -> bool:
        """The letter that is looked at, or the field."""
        place = self.state.at(at)
        if place is not None:
            self.state.chosen, self.state.touched, self.stale = place, True, True
        elif self.state.on_field(at) and self.ground.hints:
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
