"""The drawer of a `WordBoard`: attention, stream, likely next letters and new words, for a chosen letter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from ...errors import InputError
from ...run import Moment
from ...run.panels import Invented, Reading, WordBoard
from ..ink.axes import spaced
from ..ink.boxes import BIG, LABEL
from ..ink.sketch import Box, Sketch, Spot, spot_at
from ..ink.text import measure, short
from ..ink.theme import Colormap, Theme, get_map, mixed
from ..space.arrangement import Blueprint, Plate
from .attention import BEGINNING, Float, attention_lines, cells, greys, key, percent, row_light, triangle
from .drawer import Drawer, OpenedStep, Point, Setting, SharedState, cut, sentence, title_of
from .image import Asked


@dataclass(slots=True)
class WordState:
    """The word of one panel, and its chosen letter; 0 is the beginning."""

    letters: str
    word: str
    chosen: int = 0
    typing: bool = False
    touched: bool = False  # whether the user has used it since the last step: then it must be visible
    head: int = -1  # the attention head that was clicked; -1: none

    def name(self, number: int) -> str:
        """Return the letter of a number; the number after the letters is the end."""
        return self.letters[number] if number < len(self.letters) else "end"


# ---- Parts for the column and for the place among the cubes: keys, bars of likely next letters, attention.

LIKELIEST = 5


def bars(
    sketch: Sketch, at: Point, most: float, theme: Theme, state: WordState, read: Reading, place: int, line: float,
    unit: str = "",
) -> None:  # fmt: skip
    """Draw the likeliest next letters as bars of at most `most` pixels; the word's own next letter is bold.

    Only that letter is drawn while the network's answer is unknown.
    """
    x, y = at
    likely = read.likely[place]
    follows = state.letters.index(state.word[place]) if place < len(state.word) else len(state.letters)
    order = np.argsort(likely, kind="stable")[::-1][:LIKELIEST].tolist() if np.isfinite(likely).all() else [follows]
    if follows not in order:
        order[-1] = follows  # in the last place, with its own share
    for k, number in enumerate(order):
        base, bright, share = y + line * k + 12, number == follows, float(likely[number])
        ink, wide = theme.text1 if bright else theme.text3, max(most * share, 1.5)
        sketch.text(x - 5, base, state.name(number), LABEL, ink, bold=bright, anchor="right")
        if np.isfinite(share):
            sketch.rect(x, base - 9, wide, 9, fill=ink, radius=2)
            # enough digits to compute −ln of this share
            sketch.text(x + wide + 4, base, (f"{100 * share:.3g}" if bright else percent(share)) + unit, LABEL, ink)


# ---- The strip: the word as a field, and what comes next after each of its letters.

_TOP, _LINE, _KEY = 22.0, 16.0, 30.0
_CELL, _WIDEST = 110.0, 150.0
"""The least and the most pixels of one letter's bars."""


def following(box: Box, theme: Theme, state: WordState, read: Reading, *, age: str, hints: bool) -> Sketch:
    """Return the strip; letters and the field answer to a click."""
    sketch, (x, y, width, _) = Sketch(), box
    _title(sketch, box, theme, state, age, hints)
    tokens = (BEGINNING, *state.word)
    count = max(1, min(len(tokens), int(width / _CELL)))
    first = min(max(state.chosen - count // 2, 0), len(tokens) - count)
    pitch = min(width / count, _WIDEST)
    for k in range(first, first + count):
        left, wide = x + (k - first) * pitch, _KEY if k else 38.0
        here = k == state.chosen
        key(sketch, (left, y + _TOP + 2, wide, _KEY), theme, tokens[k], 17, here=here)
        most = (pitch - wide - 34 - 30) / max(float(read.likely.max()), 1e-9)  # all the room
        bars(sketch, (left + wide + 34, y + _TOP), most, theme, state, read, k, _LINE)
        sketch.spot((left, y + _TOP, pitch, LIKELIEST * _LINE), "letter", k, words=tokens[k])
    return sketch


def _title(sketch: Sketch, box: Box, theme: Theme, state: WordState, age: str, hints: bool) -> None:
    """Draw the title, the field, and how to use it."""
    x, y, width, _ = box
    left = sketch.text(x, y + 12, "next letter", LABEL, theme.text1, bold=True) + 12
    left = sketch.text(left, y + 12, "after each letter of", LABEL, theme.text3) + 8
    own = measure(state.word, LABEL, True)
    field = (left, y - 4, max(own, 24.0) + 16, 22.0)
    sketch.spot(field, "field", words=state.word)
    if hints:
        edge, border = (theme.text1, 1.6) if state.typing else (theme.flow, 1.0)
        sketch.rect(*field, fill=theme.panel, stroke=edge, border=border, radius=4)
    sketch.text(left + 8, y + 12, state.word, LABEL, theme.text1, bold=True)
    if state.typing:
        sketch.line((left + 9 + own, y), (left + 9 + own, y + 14), theme.text1, 1.4)
    left += field[2] + 10
    note = age or "strong: the word's own letter"
    sketch.text(x + width, y + 12, note, LABEL, theme.text3, anchor="right")
    hint = ("Enter keeps it, Escape cancels" if state.typing else "click, or E: type a name") if hints else ""
    if left + measure(hint, LABEL) + 16 <= x + width - measure(note, LABEL):
        sketch.text(left, y + 12, hint, LABEL, theme.text2 if state.typing else theme.text3)


# ---- Among the cubes.

_TICK, _TICK_HIGH = 12.0, 9.5  # type of the letters beside the maps, and their height with some air
_LARGEST, _LEGIBLE = 15.0, 8.5  # pixels of a cell of a map; from where on letters stand beside them
_BAR, _STEPS = (44.0, 7.0), 22  # of a small legend, and its colours
_APART = 14.0  # least pixels between names of bars


def scene(
    setting: Setting, sheet: Blueprint, theme: Theme, state: WordState, read: Reading, inner: OpenedStep | None = None
) -> list[Sketch]:
    """Return all parts that have room; in an opened step only what is computed already.

    That is the stream left of the modules that are done, and inner numbers left of a module that reads them.
    """
    sketch, rooms, end, read_to = Sketch(), sheet.rooms, inf, inf
    if inner is not None:
        ends = {part: float(setting.project(plate.corners)[:, 0].max()) for name, plate in setting.plates.items()
                if np.all(inner.reached.get(part := name.rpartition(".")[0], False))}  # fmt: skip
        end, read_to = (max((x for k, x in ends.items() if k in some), default=-inf) for some in (inner.done, ends))
    looks = inner is None or inner.looking is None or inner.looking.reached > 0
    if looks and "attention" in rooms and setting.contains(rooms["attention"]):
        _attention(sketch, rooms["attention"], theme, state, read)
    if read.stream:
        _stream(sketch, setting, sheet, theme, read, state.chosen, end)
    if read.hidden is not None and "hidden" in rooms and rooms["hidden"][0] < read_to:
        _hidden(sketch, setting, rooms["hidden"], theme, read.hidden, state.chosen)
    frames = Sketch()
    for tensor, rows in read.uses:
        if tensor in setting.plates:
            _frame(frames, setting, setting.plates[tensor], rows[state.chosen], theme)
    if read.uses and "next" in rooms:
        _next(sketch, setting, rooms["next"], theme, state, read)
    return [sketch, frames]


def _attention(sketch: Sketch, room: Box, theme: Theme, state: WordState, read: Reading) -> None:
    """Draw one triangle per head, with letters beside it and below it if there is room."""
    heads, count, _ = read.attention.shape
    columns = 1 if heads <= 4 else 2
    lines = -(-heads // columns)
    x, y, width, height = room[0], room[1], room[2] / columns, room[3] / lines
    for named, foot, beside, below in ((1, 1, 22, 1.1), (1, 0, 22, 0.0), (0, 0, 8, 0.0)):
        high = height - (8 if foot or not named else 6)
        cell = min((width - beside) / count, high / (count + below), _LARGEST)
        if cell >= _LEGIBLE:
            break
    margin, names = 14 if named else 0, ("\N{BULLET}", *state.word)
    _bar(sketch, (room[0] + margin, room[1] - 8), theme, "0", "1", None)
    sketch.text(room[0] + margin, room[1] - 25, "looks at", LABEL, theme.text2)
    for h, shares in enumerate(read.attention):
        left, top = x + (h % columns) * width + margin, y + (h // columns) * height
        for k in _apart([_TICK_HIGH] * count, cell, state.chosen) if named else ():
            ink, bold = (theme.text1, True) if k == state.chosen else (theme.text2, False)
            sketch.text(left - 7, top + (k + 0.5) * cell + 4, names[k], _TICK, ink, bold=bold, anchor="middle")
        for k in _apart([measure(name, _TICK) for name in names], cell, state.chosen) if foot else ():
            base = top + count * cell + 10
            sketch.text(left + (k + 0.5) * cell, base, names[k], _TICK, theme.text3, anchor="middle")
        triangle(sketch, (left, top), cell, theme, shares, state.chosen)
        title = f"head {h + 1}"
        if 2 * cell + 6 + measure(title, LABEL) <= width - margin:
            sketch.text(left - margin + width - 4, top + 10, title, LABEL, theme.text3, anchor="right")
        for k, name in enumerate((BEGINNING, *state.word)):
            sketch.spot((left - 14, top + k * cell, (k + 1) * cell + 14, cell), f"letter {h}", k, words=name)


def _apart(sizes: Sequence[float], cell: float, chosen: int) -> list[int]:
    """Return the letters, one a cell, that touch none of those before them; the chosen one comes first."""
    order = sorted(range(len(sizes)), key=lambda k: k != chosen)
    free = spaced([((k + 0.5) * cell, sizes[k]) for k in order], (-inf, inf), 0.5)
    return [k for k, left in zip(order, free, strict=True) if left is not None]


def _bar(sketch: Sketch, at: tuple[float, float], theme: Theme, low: str, high: str, cmap: Colormap | None) -> float:
    """Draw a small legend on a baseline, its ends left and right; without `cmap`, the greys of attention."""
    (x, y), (wide, high_) = at, _BAR
    x = sketch.text(x, y, low, LABEL, theme.text2) + 5
    steps = np.linspace(0, 1, _STEPS)
    boxes = [(x + k * wide / _STEPS, y - 8, wide / _STEPS + 0.5, high_) for k in range(_STEPS)]
    sketch.cells(boxes, greys(steps, theme) if cmap is None else cmap(2 * steps - 1))
    return sketch.text(x + wide + 5, y, high, LABEL, theme.text2)


def _stream(
    sketch: Sketch, setting: Setting, sheet: Blueprint, theme: Theme, read: Reading, chosen: int, end: float
) -> None:
    """Draw the residual stream at its places, one row per letter; all places have one scale."""
    stream, cmap = read.stream, get_map("weight", theme)
    most = max(float(np.abs(numbers).max()) for numbers in stream)
    shown = stream if len(stream) == len(sheet.rows) else stream[:1] + stream[-2:]
    for box, numbers in zip(sheet.rows, shown, strict=False):
        x, y, width, height = box
        if not setting.contains(box) or x >= end:
            continue
        sketch.rect(x - 3, y - 3, width + 6, height + 6, fill=theme.background)
        sketch.rect(x - 1, y - 1, width + 1.3, height + 1.3, fill=theme.grid)
        cells(sketch, box, numbers, most, cmap)
        high = height / len(numbers)
        sketch.rect(x - 2, y + chosen * high - 1.5, width + 3.5, high + 2.5, stroke=theme.selection, border=1.4)
    last = sheet.rows[-1] if sheet.rows else None
    if sheet.note is not None and last is not None and last[0] < end:
        least, top = f"\N{MINUS SIGN}{short(most)}", f"+{short(most)}"
        wide = measure(least, LABEL) + _BAR[0] + 10 + measure(top, LABEL)
        places = [(last[0] + last[2] + 14, sheet.note[1])]
        if not sheet.says_words(measure(sheet.words, LABEL)) and wide <= sheet.note[2]:
            places.append(sheet.note[:2])
        at = next((p for p in places if setting.contains((p[0], p[1] - 12, wide, 14))), None)
        if at is not None:
            _bar(sketch, at, theme, least, top, cmap)


def _hidden(sketch: Sketch, setting: Setting, room: Box, theme: Theme, hidden: tuple[str, Float], chosen: int) -> None:
    """Draw the inner numbers of the chosen letter, each beside the row of weights that makes it."""
    tensor, numbers = hidden
    plate = setting.plates.get(tensor)
    if plate is None or plate.grid.cells[0] != numbers.shape[1]:
        return
    row, wide = numbers[chosen], min(12.0, room[2] - 4)
    first, last = (_edge(setting, plate, k)[1] for k in (0, plate.grid.cells[0] - 1))
    step = (last - first) / max(len(row) - 1, 1)
    box = (room[0] + 0.5 * (room[2] - wide), first - 0.5 * step, wide, last - first + step)
    if not setting.contains(box):
        return
    most = float(np.abs(numbers).max())
    sketch.rect(box[0] - 1, box[1] - 1, box[2] + 1.3, box[3] + 1.3, fill=theme.grid)
    cells(sketch, box, row[:, None], most, get_map("weight", theme))
    middle = room[0] + 0.5 * room[2]
    sketch.text(middle, box[1] + box[3] + 14, "ReLU", LABEL, theme.text2, anchor="middle")
    sketch.text(middle, box[1] - 6, f"\N{LESS-THAN OR EQUAL TO}{short(most)}", LABEL, theme.text2, anchor="middle")


def _row_corners(setting: Setting, plate: Plate, row: int) -> Float:
    """Return the corners (4, 2) of a row's main face, in order."""
    first, last = plate.cell_corners(row, 0)[4:], plate.cell_corners(row, plate.shape[1] - 1)[4:]
    return setting.project(np.array([first[0], last[1], last[3], first[2]]))


def _edge(setting: Setting, plate: Plate, row: int) -> Float:
    """Return the middle of a row's right end."""
    return np.asarray(_row_corners(setting, plate, row)[1:3].mean(axis=0))


def _frame(sketch: Sketch, setting: Setting, plate: Plate, row: int, theme: Theme) -> None:
    """Draw a frame around a row, if the scene has room for it."""
    if not 0 <= row < plate.shape[0]:
        return
    corners = _row_corners(setting, plate, row)
    corners = corners + 1.5 * np.sign(corners - corners.mean(axis=0))
    if setting.contains((*corners.min(axis=0).tolist(), *np.ptp(corners, axis=0).tolist())):
        sketch.polyline(np.concatenate([corners, corners[:1]]), theme.selection, 1.8)


def _next(sketch: Sketch, setting: Setting, room: Box, theme: Theme, state: WordState, read: Reading) -> None:
    """Draw the likeliest next letters at the rows of the head that make them."""
    plate = setting.plates.get(read.uses[-1][0])
    likely = read.likely[state.chosen]
    if plate is None or plate.shape[0] != len(likely) or not setting.contains(room):
        return
    left, most, taken = room[0] + 4, max(room[2] - 40.0, 6.0), list[float]()
    top, bottom = _edge(setting, plate, 0)[1], _edge(setting, plate, plate.shape[0] - 1)[1]
    sketch.polyline([(left, top), (left, bottom)], theme.flow, 1.2, dash=(3, 3))
    for number in np.argsort(likely, kind="stable")[::-1].tolist()[:6]:
        share, y = float(likely[number]), float(_edge(setting, plate, number)[1])
        if not share >= 0.02 or any(abs(y - other) < _APART for other in taken):
            continue
        taken.append(y)
        ink = theme.text1 if len(taken) == 1 else theme.text3
        sketch.rect(left, y - 3, max(most * share, 2.0), 6, fill=ink)
        text = f"{state.name(number)} {percent(share)} %"
        at = left + most * share + 5
        if at + measure(text, LABEL, len(taken) == 1) > room[0] + room[2] + 22:
            text = state.name(number)
        sketch.text(at, y + 5, text, LABEL, ink, bold=len(taken) == 1)


# ---- `NewNames`: words that a network invents; each enters below the others, letter by letter.

MOST = 5
EVERY, LETTER = 2.0, 0.12
"""Seconds from one word to the next, and from one letter to the next."""
STANDS = 0.5
"""Seconds after which all words are made again at a step that stays."""
_SIZES = (30.0, 26.0, 22.0, 18.0)
_NAMES_TOP = 26.0
_DIM = 0.42  # of the text's colour: a letter of probability 0


class NewNames:
    """The list of new words. In a still, all are of the shown step; in a window, each older word names its step.

    When training pauses, all are made again at that step, the same words that a scene's own claim reads.
    """

    def __init__(self, panel: WordBoard) -> None:
        self._panel = panel
        self._lines: list[tuple[Invented, int]] = []  # words, and the steps at which they were made
        self._number, self._temperature = 0, 0.0
        self._step = 0  # the step that is shown
        self._since = 0.0  # seconds since the last word began to enter
        self._stood = 0.0  # seconds for which that step has been shown

    @property
    def moving(self) -> bool:
        """True while letters are missing, or words of the shown step."""
        coming = bool(self._lines) and self._letters < len(self._lines[-1][0].word)
        return coming or any(step != self._step for _, step in self._lines)

    @property
    def words(self) -> list[str]:
        """The words that are shown; the last one may be incomplete."""
        made = [made.word for made, _ in self._lines]
        return [*made[:-1], *(word[: self._letters] for word in made[-1:])]

    @property
    def _letters(self) -> int:
        """The number of letters of the last word that are shown."""
        return int(self._since / LETTER) + 1

    def look(self, moment: Moment, temperature: float, seconds: float | None) -> None:
        """Let `seconds` pass; None: all words are of this moment. A step back or a new temperature begins again."""
        lines, late = self._lines, any(step != moment.step for _, step in self._lines)
        self._stood = self._stood + (seconds or 0.0) if moment.step == self._step else 0.0
        self._step = moment.step
        anew = not lines or temperature != self._temperature or moment.step < lines[-1][1]
        if seconds is None or anew or (late and self._stood >= STANDS):
            self._temperature, self._number, self._since = temperature, MOST, 1e6
            self._lines = [(self._panel.make(moment, temperature, k), moment.step) for k in range(MOST)]
            return
        self._since += seconds
        if self._since >= EVERY and late:
            self._lines = [*lines[1 - MOST :], (self._panel.make(moment, temperature, self._number), moment.step)]
            self._number, self._since = self._number + 1, 0.0

    def draw(self, box: Box, theme: Theme, step: int) -> Sketch:
        """Return title and words; a letter is stronger the likelier it was."""
        sketch, (x, y, width, height) = Sketch(), box
        title_of(sketch, box, theme, "new names", f"temperature {self._temperature:.1f} · stronger: more certain")
        pitch = (height - _NAMES_TOP) / MOST
        size = next((s for s in _SIZES if 1.2 * s <= pitch), _SIZES[-1])
        for k, ((made, of), so_far) in enumerate(zip(self._lines, self.words, strict=True)):
            base, left, word = y + _NAMES_TOP + pitch * (k + 0.5) + 0.3 * size, x, so_far or "-"
            note = f"step {of:,}" if of != step else ""
            room = width - (measure(note, LABEL) + 12 if note else 0.0)
            own = size * min(1.0, room / max(measure(word, size, True), 1.0))
            for number, letter in enumerate(word):
                surely = float(np.clip(made.likely[number], 0, 1)) if number < len(made.likely) else 0.0
                ink = mixed(theme.text1, theme.background, _DIM + (1 - _DIM) * surely**0.5)
                left = sketch.text(left, base, letter, own, ink, bold=True)
            sketch.text(x + width, base, note, LABEL, theme.text3, anchor="right")
        return sketch


# ---- The drawer: all of it in the column, or in a planned picture also among the cubes and in the strip.

TOP, KEY, LINE, AIR = 22.0, 26.0, 17.0, 10.0
COLUMNS = 3
_MAPS = 72.0
LEAST = TOP + KEY + 2 * AIR + LINE * (1 + LIKELIEST) + TOP + LINE
"""The height without attention maps and with one line of new words."""
HEIGHT = TOP + KEY + AIR + _MAPS + AIR + LINE * (1 + LIKELIEST) + AIR + TOP + 2 * LINE


def word_panel(
    box: Box, theme: Theme, state: WordState, read: Reading, words: Sequence[str], temperature: float
) -> Sketch:
    """Return all four parts below the title, or those that fit; title and letters answer to a click."""
    sketch, (x, top, width, height) = Sketch(), box
    sketch.spot((x, top, width, TOP), "field", words=state.word)
    y, tokens, chosen = top + TOP, (BEGINNING, *state.word), state.chosen
    pitch = min(30.0, (width - 40) / max(len(state.word), 1))
    for k, name in enumerate(tokens):
        left, wide = (x + 42 + pitch * (k - 1), pitch - 3) if k else (x, 38.0)
        key(sketch, (left, y, wide, KEY), theme, name, LABEL, here=k == chosen)
        sketch.spot((left, y, wide + 3, KEY), "letter", k, words=name)
    y += KEY + AIR
    attention, lines = read.attention, 2 if height >= HEIGHT else 1
    side = min(_MAPS, (width - 8 * (len(attention) - 1)) / len(attention))
    for h, shares in enumerate(attention) if lines > 1 else ():
        triangle(sketch, (x + h * (side + 8), y), side / len(tokens), theme, shares, chosen)
    y += _MAPS + AIR if lines > 1 else 0.0
    before = state.word[chosen - 1] if chosen else "the beginning"
    after, meaning = f"after {before}", "strong: the next letter"
    sketch.text(x, y + 13, after, LABEL, theme.text2)
    if measure(after, LABEL) + 12 + measure(meaning, LABEL) <= width:
        sketch.text(x + width, y + 13, meaning, LABEL, theme.text3, anchor="right")
    bars(sketch, (x + 38, y + LINE), width - 90, theme, state, read, chosen, LINE, " %")
    y += LINE * (1 + LIKELIEST) + AIR
    title_of(sketch, (x, y, width, TOP), theme, "new words", f"temperature {temperature:.1f}")
    wide = width / COLUMNS
    for k, word in enumerate(words[: lines * COLUMNS]):
        line, column = divmod(k, COLUMNS)
        sketch.text(x + wide * column, y + TOP + LINE * line + 13, cut(word or "-", wide - 8), LABEL, theme.text2)
    return sketch


STEP, TEMPERATURES = 0.1, (0.1, 2.0)
"""The step of the temperature, and its bounds."""


class WordDrawer(Drawer[WordBoard]):
    """A word to type, and new words. The open field gets the keys of letters; a click chooses a letter."""

    name = "word"
    height, least, spread = HEIGHT, LEAST, 206.0
    gestures = (
        ("Click", "on the word: type another word; Enter keeps it, Escape cancels"),
        ("Click", "on a letter of the word: see its likely next letters, and its attention"),
    )

    def __init__(self, panel: WordBoard, shared: SharedState) -> None:
        super().__init__(panel, shared)
        self.state = WordState(panel.letters, panel.word, len(panel.word))
        self.temperature = panel.temperature
        self.within = 0.0 if shared.subject.source.recorded else 268.0  # a recording has no attention
        self.names = NewNames(panel)
        self.spots: list[Spot] = []  # letters and field, wherever they stand
        self._before = panel.word  # the word before the field was opened
        self._fresh = True  # the next letter begins a word
        self._asked = Asked("word", shared)
        self._wanted = (panel.word, panel.temperature)
        self._read: Reading | None = None
        self._words: Sequence[str] = ()
        self._error, self._step = "", 0

    @property
    def moving(self) -> bool:
        """True while the numbers are of an earlier frame, or letters are missing."""
        return self._asked.moving or (self.setting is not None and self.names.moving)

    # ---- what it looks like

    def look(self, moment: Moment, seconds: float | None) -> None:
        """Let the network of the moment read the word and invent others."""
        wanted, self.state.chosen = (self.state.word, self.temperature), min(self.state.chosen, len(self.state.word))
        if wanted != self._wanted:  # the user typed: the results are of another word
            self._wanted, self._asked = wanted, Asked("word", self.shared)
        made, self._error = self._asked.call(moment, seconds, lambda: self._read_and_invent(moment))
        self._read, self._words = made if made is not None else (None, ())
        if self._read is not None and not self.shared.answered:  # the answer is not computed yet
            self._read = replace(self._read, likely=np.full_like(self._read.likely, np.nan))
        if moment.step != self._step:
            self._step, self.state.touched = moment.step, False
        self.spots = []
        if self._read is not None and self.setting is not None:
            self.names.look(moment, self.temperature, seconds)

    def _read_and_invent(self, moment: Moment) -> tuple[Reading, Sequence[str]]:
        panel = self.panel
        reading = panel.look(moment, self.state.word)
        if not all(np.isfinite(part).all() for part in (reading.likely, reading.attention, *reading.stream)):
            raise InputError("the network's numbers are not finite")
        words = [panel.make(moment, self.temperature, k).word for k in range(2 * COLUMNS)] if not self.setting else []
        return reading, words

    def _answering(self, sketches: Sequence[Sketch]) -> Sequence[Sketch]:
        """Let the letters of sketches answer to a click, and return the sketches."""
        self.spots += [spot for sketch in sketches for spot in sketch.spots]
        return sketches

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        """Return the new words alone in a planned picture, else all parts."""
        theme, state = self.shared.theme, self.state
        if self.setting is not None and self._read is not None:
            return [self.names.draw(box, theme, self._step)]
        hint = "Enter keeps it, Escape cancels" if state.typing else "E: type a word"
        title, age = Sketch(), self._asked.age or (hint if self.shared.hints else "")
        title_of(title, box, theme, f"reads {state.word or 'a beginning'}", age)
        if self._read is None:
            return [title, sentence((box[0], box[1] + TOP, box[2], box[3] - TOP), theme, self._error)]
        if box[3] < LEAST:
            large = Sketch()
            for k, word in enumerate(self._words[:4]):
                large.text(box[0], box[1] + box[3] * (k + 0.8) / 4, cut(word, box[2]), BIG, theme.text1, bold=True)
            return [large]
        return self._answering([title, word_panel(box, theme, state, self._read, self._words, self.temperature)])

    def inside(self, inner: OpenedStep, box: Box) -> Sequence[Sketch]:
        """Return the attention of the chosen letter in the step's word: row by row, then its values."""
        seen, state, word = inner.looking, self.state, self.panel.word
        last = None if seen is None or self.setting is None else seen.attention_at(len(word))
        if seen is None or self.setting is None or last is None or last.shares.shape[1] > len(word) + 1:
            return ()
        place = min(state.chosen, len(word)) if state.word == word else len(word)
        now = min(place, int(inner.progress * (place + 1))) if seen.reached == 1 else place
        head = state.head if state.head >= 0 else last.chosen[0]
        theme, maps = self.shared.theme, [spot for spot in self.spots if spot.name.startswith("letter ")]
        mine = state.word == word and inner.samples.startswith("this ")
        note = "click a map: its head" * self.shared.hints if mine else f"of {word}"
        lines = attention_lines(box, theme, (BEGINNING, *word), now, head, seen, inner.progress, note)
        return [lines, row_light(maps if state.word == word else (), theme, self.setting, seen, now, inner.progress)]

    def around(self, setting: Setting) -> Sequence[Sketch]:
        """Return attention, stream, inner numbers and frames."""
        if self._read is None or setting.blueprint is None:
            return ()
        shared = self.shared
        step = shared.opened_step
        return self._answering(scene(setting, setting.blueprint, shared.theme, self.state, self._read, step))

    def below(self, strip: Box) -> Sequence[Sketch]:
        """Return the likely next letters after each letter."""
        shared, read = self.shared, self._read
        if read is None:
            return ()
        sketch = following(strip, shared.theme, self.state, read, age=self._asked.age, hints=shared.hints)
        return self._answering([sketch])

    def choose(self, letter: int) -> None:
        """Look at a letter of the word, 0 for its beginning."""
        self.state.chosen, self.stale = letter, True

    # ---- hands

    @property
    def typing(self) -> bool:
        return self.state.typing and self.is_visible

    @property
    def is_visible(self) -> bool:
        """True if the panel has a place in the column or among the cubes."""
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
        """Close the field and keep its word."""
        self.stale |= self.state.typing
        self.state.typing = False

    def warm(self, steps: int) -> None:
        """Change the temperature by so many tenths."""
        low, high = TEMPERATURES
        self.temperature = min(high, max(low, round(self.temperature + STEP * steps, 1)))
        self.stale = True

    def covers(self, at: Point) -> bool:
        return spot_at(self.spots, at) is not None

    def click(self, at: Point) -> bool:
        """Choose the clicked letter, or open the field."""
        spot = spot_at(self.spots, at)
        name, _, head = ("", "", "") if spot is None else spot.name.partition(" ")  # of a map with its head's number
        if spot is not None and name == "letter":
            self.state.chosen, self.state.touched, self.stale = int(spot.value), True, True
            self.state.head = int(head or self.state.head)
        elif spot is not None and self.shared.hints:
            self.begin_typing()
        else:
            self.end_typing()
            return False
        return True

    def key(self, name: str, text: str) -> bool:
        """Handle a letter, Backspace, Enter or Escape while the field is open; other keys keep their meaning."""
        state = self.state
        if not state.typing:
            return False
        letter = next((t for t in (text, text.lower()) if len(t) == 1 and t in self.panel.letters), "")
        if name == "Enter":
            self.end_typing()
        elif name == "Escape":
            self._set_word(self._before)
            self.end_typing()
        elif name in ("Backspace", "Delete"):
            self._set_word(state.word[:-1])
        elif letter:
            word = ("" if self._fresh else state.word) + letter
            if len(word) <= self.panel.most:
                self._set_word(word)
        elif len(text) == 1 and text.isalpha():
            raise InputError(f"{text} is not a letter of these words")
        else:
            return False
        self._fresh = False
        self.stale = True
        return True

    def let_go(self) -> bool:
        """Restore the panel's own word, as Escape does."""
        if self.state.word == self.panel.word and not self.state.typing:
            return False
        self._set_word(self.panel.word)
        self.end_typing()
        self.stale = True
        return True

    def _set_word(self, word: str) -> None:
        self.state.word, self.state.chosen = word, len(word)
