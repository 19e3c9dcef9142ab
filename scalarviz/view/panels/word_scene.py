"""What a `WordBoard` draws among the cubes: who looks at whom, the stream, inner numbers, what comes next, and frames.

All of it is of one reading, at the letter that is chosen.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..draw.maps import Colormap, get_map
from ..draw.places import LABEL
from ..draw.sketch import Box, Sketch
from ..draw.text import measure, short
from ..draw.theme import Theme
from ..space.blueprint import Blueprint
from ..space.plate import Plate
from .drawer import Setting
from .word_state import BEGINNING, Read, WordState
from .word_strip import percent

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
