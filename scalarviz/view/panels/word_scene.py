"""What a `WordBoard` draws among the cubes: who looks at whom, the stream, inner numbers, what comes next, and frames.

All of it is of one reading, at the letter that is chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...run import Moment
from ...run.panels import Invented, Reading, WordBoard
from ..ink.maps import Colormap, get_map
from ..ink.places import LABEL
from ..ink.sketch import Box, Sketch, holds
from ..ink.text import measure, short
from ..ink.theme import Theme, mixed
from ..space.arrangement import Blueprint
from ..space.plate import Plate
from .drawer import Setting, title_of

# ---- `WordState`: what was typed, which letter is looked at, and what the network makes of it at one moment.

BEGINNING = "start"


@dataclass(slots=True)
class WordState:
    """The word of one panel.

    Attributes
    ----------
    letters : str
        Those that there are; the place behind them is the end.
    word : str
    chosen : int
        Which letter is looked at; 0 is the beginning.
    typing : bool
        Whether its field is open.
    touched : bool
        Whether a hand has used it since the last step: then it is to be seen.
    places : list of (Box, int)
        What a click on chooses a letter, as it was drawn last.
    field : Box or None
        Where the word stands as a field.
    """

    letters: str
    word: str
    chosen: int = 0
    typing: bool = False
    touched: bool = False
    places: list[tuple[Box, int]] = field(default_factory=list)
    field: Box | None = None

    @property
    def tokens(self) -> tuple[str, ...]:
        """The beginning and the letters."""
        return (BEGINNING, *self.word)

    def follows(self, place: int) -> int:
        """The number of what follows the letter at a place."""
        return self.letters.index(self.word[place]) if place < len(self.word) else len(self.letters)

    def name(self, number: int) -> str:
        """What a number is called."""
        return self.letters[number] if number < len(self.letters) else "end"

    def at(self, point: tuple[float, float]) -> int | None:
        """The letter that a click at a point chooses."""
        return next((number for box, number in self.places if holds(box, point)), None)

    def on_field(self, point: tuple[float, float]) -> bool:
        """Whether a point is on the field."""
        return holds(self.field, point)


@dataclass(frozen=True, slots=True)
class Read:
    """A word, and how it was read.

    Attributes
    ----------
    word : str
    reading : Reading
    """

    word: str
    reading: Reading


# ---- The strip of a `WordBoard`: the word as a field, and what comes next after each of its letters.

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


Float = NDArray[np.floating]
DARKEST = 0.16
"""Grey of a share of 0: the cells can be counted."""
_TICK = 12.0  # type of the letters beside the maps
_LARGEST, _LEGIBLE = 15.0, 8.5  # pixels of a cell of a map; from where on letters stand beside them
_BAR, _STEPS = (44.0, 7.0), 22  # of a small legend, and its colours
_APART = 14.0  # least pixels between names of bars


def scene(setting: Setting, sheet: Blueprint, theme: Theme, state: WordState, read: Read) -> list[Sketch]:
    """All parts that have their room."""
    sketch, rooms = Sketch(), sheet.rooms
    chosen = min(state.chosen, len(read.word))
    if "attention" in rooms and setting.holds(rooms["attention"]):
        _attention(sketch, rooms["attention"], theme, state, read, chosen)
    if read.reading.stream:
        _stream(sketch, setting, sheet, theme, read, chosen)
    if read.reading.hidden is not None and "hidden" in rooms:
        _hidden(sketch, setting, rooms["hidden"], theme, read, chosen)
    frames = Sketch()
    for tensor, rows in read.reading.uses:
        if tensor in setting.plates:
            _frame(frames, setting, setting.plates[tensor], rows[chosen], theme)
    if read.reading.uses and "next" in rooms:
        _next(sketch, setting, rooms["next"], theme, state, read, chosen)
    return [sketch, frames]


def greys(shares: Float, theme: Theme) -> Float:
    """The greys (N, 3) of shares (N,) of attention."""
    grey = DARKEST + (1 - DARKEST) * np.clip(shares, 0, 1)
    grey = grey if theme.name == "dark" else 1.06 - grey
    return np.repeat(np.asarray(grey)[:, None], 3, axis=1)


# ---- attention


def _attention(sketch: Sketch, room: Box, theme: Theme, state: WordState, read: Read, chosen: int) -> None:
    """A triangle a head: rows look at columns."""
    shares = read.reading.attention
    heads, letters, _ = shares.shape
    columns = 1 if heads <= 4 else 2
    lines = -(-heads // columns)
    x, y, width, height = room[0], room[1], room[2] / columns, room[3] / lines
    cell = min((width - 22) / letters, (height - 8) / (letters + 1.1), _LARGEST)
    foot = cell >= _LEGIBLE
    if not foot:  # letters at the left alone
        cell = min((width - 22) / letters, (height - 6) / letters, _LARGEST)
    named = cell >= _LEGIBLE
    if not named:
        cell = min((width - 8) / letters, (height - 8) / letters, _LARGEST)
    _bar(sketch, (room[0] + (14 if named else 0), room[1] - 8), theme, "0", "1", None)
    sketch.text(room[0] + (14 if named else 0), room[1] - 25, "looks at", LABEL, theme.text2)
    for h in range(heads):
        left, top = x + (h % columns) * width + (14 if named else 0), y + (h // columns) * height
        _triangle(sketch, (left, top, cell, named, foot), theme, shares[h], (BEGINNING[0], *read.word), chosen)
        title = f"head {h + 1}"
        if 2 * cell + 6 + measure(title, LABEL) <= width - (14 if named else 0):
            sketch.text(left - (14 if named else 0) + width - 4, top + 10, title, LABEL, theme.text3, anchor="right")
        state.places += [((left - 14, top + k * cell, (k + 1) * cell + 14, cell), k) for k in range(letters)]


def _triangle(
    sketch: Sketch,
    place: tuple[float, float, float, bool, bool],
    theme: Theme,
    shares: Float,
    letters: tuple[str, ...],
    chosen: int,
) -> None:
    left, top, cell, named, footed = place
    gap = 1.0 if cell > 4 else 0.0
    for row in range(len(letters)):
        base = top + (row + 0.5) * cell + 4
        if named:
            name = "\N{BULLET}" if row == 0 else letters[row]
            ink, bold = (theme.text1, True) if row == chosen else (theme.text2, False)
            sketch.text(left - 7, base, name, _TICK, ink, bold=bold, anchor="middle")
            foot = top + len(letters) * cell + 10
            if footed:
                sketch.text(left + (row + 0.5) * cell, foot, name, _TICK, theme.text3, anchor="middle")
    down, across = np.tril_indices(len(letters))
    boxes = np.stack([left + across * cell, top + down * cell, *np.full((2, len(down)), cell - gap)], axis=1)
    sketch.cells(boxes, greys(shares[down, across], theme), 1.5 if cell > 8 else 0.0)
    sketch.rect(
        left - 2, top + chosen * cell - 2, (chosen + 1) * cell + 3, cell + 3, stroke=theme.selection, border=1.4
    )


def _bar(sketch: Sketch, at: tuple[float, float], theme: Theme, low: str, high: str, cmap: Colormap | None) -> float:
    """A small legend on a baseline: its ends left and right of it; greys of attention without a map."""
    (x, y), (wide, high_) = at, _BAR
    sketch.text(x, y, low, LABEL, theme.text2)
    x += measure(low, LABEL) + 5
    steps = np.linspace(0, 1, _STEPS)
    boxes = [(x + k * wide / _STEPS, y - 8, wide / _STEPS + 0.5, high_) for k in range(_STEPS)]
    sketch.cells(boxes, greys(steps, theme) if cmap is None else cmap(2 * steps - 1))
    sketch.text(x + wide + 5, y, high, LABEL, theme.text2)
    return x + wide + 5 + measure(high, LABEL)


# ---- the stream and the inner numbers


def _cells(sketch: Sketch, box: Box, numbers: Float, most: float, cmap: Colormap) -> None:
    """Signed numbers (rows, columns) as cells that fill a box."""
    rows, columns = numbers.shape
    wide, high = box[2] / columns, box[3] / rows
    gap = 0.7 if min(wide, high) > 3 else 0.0
    row, column = (part.ravel() for part in np.indices(numbers.shape))
    left, top = box[0] + column * wide, box[1] + row * high
    size = np.full_like(left, wide - gap), np.full_like(top, high - gap)
    sketch.cells(np.stack([left, top, *size], axis=1), cmap(np.clip(numbers.ravel() / max(most, 1e-30), -1, 1)))


def _stream(sketch: Sketch, setting: Setting, sheet: Blueprint, theme: Theme, read: Read, chosen: int) -> None:
    """The numbers of each letter, a row each, where they are on their way; one scale for all of them."""
    stream, cmap = read.reading.stream, get_map("weight", theme)
    most = max(float(np.abs(numbers).max()) for numbers in stream)
    shown = stream if len(stream) == len(sheet.rows) else stream[:1] + stream[-2:]
    for box, numbers in zip(sheet.rows, shown, strict=False):
        x, y, width, height = box
        if not setting.holds(box):
            continue
        sketch.rect(x - 3, y - 3, width + 6, height + 6, fill=theme.background)
        sketch.rect(x - 1, y - 1, width + 1.3, height + 1.3, fill=theme.grid)
        _cells(sketch, box, numbers, most, cmap)
        high = height / len(numbers)
        sketch.rect(x - 2, y + chosen * high - 1.5, width + 3.5, high + 2.5, stroke=theme.selection, border=1.4)
    if sheet.note is not None and sheet.rows:
        last = sheet.rows[-1]
        least, top = f"\N{MINUS SIGN}{short(most)}", f"+{short(most)}"
        wide = measure(least, LABEL) + _BAR[0] + 10 + measure(top, LABEL)
        places = [(last[0] + last[2] + 14, sheet.note[1])]
        if not sheet.says_words(measure(sheet.words, LABEL)) and wide <= sheet.note[2]:
            places.append(sheet.note[:2])
        at = next((p for p in places if setting.holds((p[0], p[1] - 12, wide, 14))), None)
        if at is not None:
            _bar(sketch, at, theme, least, top, cmap)


def _hidden(sketch: Sketch, setting: Setting, room: Box, theme: Theme, read: Read, chosen: int) -> None:
    """The inner numbers of the chosen letter, each beside the row of weights that makes it."""
    assert read.reading.hidden is not None
    tensor, numbers = read.reading.hidden
    plate = setting.plates.get(tensor)
    if plate is None or plate.grid.cells[0] != numbers.shape[1]:
        return
    row, wide = numbers[chosen], min(12.0, room[2] - 4)
    first, last = (_edge(setting, plate, k)[1] for k in (0, plate.grid.cells[0] - 1))
    step = (last - first) / max(len(row) - 1, 1)
    box = (room[0] + 0.5 * (room[2] - wide), first - 0.5 * step, wide, last - first + step)
    if not setting.holds(box):
        return
    most = float(np.abs(numbers).max())
    sketch.rect(box[0] - 1, box[1] - 1, box[2] + 1.3, box[3] + 1.3, fill=theme.grid)
    _cells(sketch, box, row[:, None], most, get_map("weight", theme))
    middle = room[0] + 0.5 * room[2]
    sketch.text(middle, box[1] + box[3] + 14, "relu", LABEL, theme.text2, anchor="middle")
    sketch.text(middle, box[1] - 6, f"\N{LESS-THAN OR EQUAL TO}{short(most)}", LABEL, theme.text2, anchor="middle")


# ---- rows of plates


def _row_corners(setting: Setting, plate: Plate, row: int) -> Float:
    """The main face of a row as four points, in order."""
    first, last = plate.cell_corners(row, 0)[4:], plate.cell_corners(row, plate.shape[1] - 1)[4:]
    return setting.project(np.array([first[0], last[1], last[3], first[2]]))


def _edge(setting: Setting, plate: Plate, row: int) -> Float:
    """The middle of a row's right end."""
    corners = _row_corners(setting, plate, row)
    return np.asarray((corners[1] + corners[2]) / 2)


def _frame(sketch: Sketch, setting: Setting, plate: Plate, row: int, theme: Theme) -> None:
    """A frame around a row."""
    if not 0 <= row < plate.shape[0]:
        return
    corners = _row_corners(setting, plate, row)
    middle = corners.mean(axis=0)
    corners = corners + 1.5 * np.sign(corners - middle)
    low, span = corners.min(axis=0), np.ptp(corners, axis=0)
    if setting.holds((float(low[0]), float(low[1]), float(span[0]), float(span[1]))):
        sketch.polyline(np.concatenate([corners, corners[:1]]), theme.selection, 1.8)


def _next(sketch: Sketch, setting: Setting, room: Box, theme: Theme, state: WordState, read: Read, chosen: int) -> None:
    """The likeliest letters go on the rows of the head that say them."""
    plate = setting.plates.get(read.reading.uses[-1][0])
    likely = read.reading.likely[chosen]
    if plate is None or plate.shape[0] != len(likely) or not setting.holds(room):
        return
    left, most, taken = room[0] + 4, max(room[2] - 40.0, 6.0), list[float]()
    top, bottom = _edge(setting, plate, 0)[1], _edge(setting, plate, plate.shape[0] - 1)[1]
    sketch.polyline([(left, top), (left, bottom)], theme.flow, 1.2, dash=(3, 3))
    for number in np.argsort(likely, kind="stable")[::-1].tolist()[:6]:
        share, y = float(likely[number]), float(_edge(setting, plate, number)[1])
        if share < 0.02 or any(abs(y - other) < _APART for other in taken):
            continue
        taken.append(y)
        ink = theme.text1 if len(taken) == 1 else theme.text3
        sketch.rect(left, y - 3, max(most * share, 2.0), 6, fill=ink)
        text = f"{state.name(number)} {percent(share)}"
        at = left + most * share + 5
        if at + measure(text, LABEL, len(taken) == 1) > room[0] + room[2] + 22:
            text = state.name(number)
        sketch.text(at, y + 5, text, LABEL, ink, bold=len(taken) == 1)


# ---- `NewNames`: words that a network makes up, one after another: each enters below the others, letter by letter.

MOST = 5
EVERY, LETTER = 2.0, 0.12
"""Seconds from one word to the next, and from one letter to the next."""
STANDS = 0.5
"""Seconds after which a moment that stays is that of all words."""
_SIZES = (30.0, 26.0, 22.0, 18.0)
_NAMES_TOP = 26.0
_DIM = 0.42  # of the text's colour: a letter of probability 0


@dataclass(frozen=True, slots=True)
class _Line:
    """A word and the step at which it was made."""

    made: Invented
    step: int


class NewNames:
    """The list. In a still all of it is of the moment shown; else each word says of which step it is.

    Once training pauses all of them are made anew, of that moment: the first ones, which a scene's own claim tells too.
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
        pitch = (height - _NAMES_TOP) / MOST
        size = next((s for s in _SIZES if 1.2 * s <= pitch), _SIZES[-1])
        for k, (line, word) in enumerate(zip(self._lines, self.words, strict=True)):
            base = y + _NAMES_TOP + pitch * (k + 0.5) + 0.3 * size
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
