"""What stands below the cubes of an opened step: the line about a weight, and the ribbon of the six phases."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..ink.places import CHANNEL, LABEL, TITLE
from ..ink.sketch import Box, Sketch
from ..ink.text import measure
from ..ink.theme import Theme, mixed
from .told import Formula, Phase, Sentence

SENTENCE, LOW = 62.0, 46.0
"""Height of the line's two rows, with air below them, and without."""
_SIZES = (20, 18, 16, 15, 14, 13)
_AIR, _RULE = 26.0, 24.0  # between letters and numbers, and on either side of the rule between two formulas


def sentence(box: Box, theme: Theme, said: Sentence) -> Sketch:
    """Name and formulas in `box`, the formulas in the largest type that holds them.

    Where both have no room beside each other in the smallest, the first stands alone; where that has none, its numbers
    do; in a low box the name stands before them.
    """
    sketch, (x, y, width, height) = Sketch(), box
    low = height < LOW
    baseline = y + (height - 8 if low else min(46.0, height - 8))
    size, apart, line = (LABEL, 14, baseline) if low else (TITLE, 18, y + 13)
    after = x + measure(said.name, size, True) + apart
    sketch.text(x, line, said.name, size, theme.text1, bold=True)
    if not (low and said.formulas) and after + measure(said.meaning, LABEL) <= x + width:
        sketch.text(after, line, said.meaning, LABEL, theme.text2 if low else theme.text3)
    start = after if low and said.formulas else x
    chosen = _chosen(said.formulas, x + width - start, _SIZES[3:] if low else _SIZES)
    if chosen is not None:
        _formulas(sketch, (start, baseline), theme, *chosen)
    return sketch


def _chosen(
    formulas: Sequence[Formula], width: float, sizes: Sequence[int]
) -> tuple[Sequence[Formula], int, bool] | None:
    """Which formulas, the size of type, and whether their letters stand before them: the most that fits."""
    ways = [(count, True) for count in range(len(formulas), 0, -1)] + [(1, False)] * bool(formulas)
    fitting = (
        (formulas[:count], size, lettered)
        for count, lettered in ways
        for size in sizes
        if _width(formulas[:count], size, lettered) <= width
    )
    return next(fitting, None)


def _width(formulas: Sequence[Formula], size: int, lettered: bool) -> float:
    parts = sum(sum(measure(w.text, size, w.bold) for w in f.numbers) for f in formulas)
    if lettered:
        parts += sum(measure(f.letters, size) + _AIR for f in formulas if f.letters)
    return parts + (len(formulas) - 1) * (2 * _RULE + 2)


def _formulas(
    sketch: Sketch, at: tuple[float, float], theme: Theme, formulas: Sequence[Formula], size: int, lettered: bool
) -> None:
    x, y = at
    colours = {"plain": theme.text1, "dim": theme.text2, "violet": theme.pulse}
    for number, formula in enumerate(formulas):
        if number:
            sketch.line((x + _RULE, y - size), (x + _RULE, y + 5), theme.border, 1.0)
            x += 2 * _RULE + 2
        if lettered and formula.letters:
            sketch.text(x, y, formula.letters, size, theme.text3)
            x += measure(formula.letters, size) + _AIR
        for word in formula.numbers:
            sketch.text(x, y, word.text, size, colours[word.tone], bold=word.bold)
            x += measure(word.text, size, word.bold)


# ---- The ribbon: the phases as arrows, with the micro-steps of the current one as squares.

RIBBON = 44.0
"""Its height."""
_GAP, _POINT = 4.0, 9.0
_WIDTHS = (0.9, 1.45, 0.8, 0.8, 1.5, 1.5)
"""Shares of the six arrows."""
_SQUARE, _STEP = 8.0, 11.0


def arrows(box: Box) -> list[Box]:
    """The six arrows' boxes; the last point of one reaches into the notch of the next."""
    x, y, width, height = box
    room = width - _GAP * (len(_WIDTHS) - 1)
    found = []
    for share in _WIDTHS:
        own = room * share / sum(_WIDTHS)
        found.append((x, y, own, height))
        x += own + _GAP
    return found


def ribbon(box: Box, theme: Theme, phases: Sequence[Phase], current: int) -> Sketch:
    """The six phases in `box`, those before the current one done; each answers to a click.

    A name that has no room is shortened, what stands below it left out.
    """
    sketch = Sketch()
    for number, (place, phase) in enumerate(zip(arrows(box), phases, strict=True)):
        _shape(sketch, place, theme, number, current)
        _words(sketch, place, theme, phase, number - current)
        sketch.spot(place, "phase", number, words=phase.name)
    return sketch


def _shape(sketch: Sketch, place: Box, theme: Theme, number: int, current: int) -> None:
    ring = _ring(place, notched=number > 0)
    fill = mixed(theme.text3, theme.panel, 0.16 if number < current else 0.0)
    if number == current:
        fill = mixed(theme.gradient[3], theme.panel, 0.5)
    tip, notch = ring[2], ring[-1]
    if number > 0:
        sketch.polygon([ring[0], ring[1], tip, notch], fill)
        sketch.polygon([notch, tip, ring[3], ring[4]], fill)
        inner = np.array([(0, 0), (3, -4), (-4, -4), (0, 0), (-4, 4), (3, 4)])
        seam = inner + np.array([notch, notch, tip, tip, tip, notch])
        sketch.polygon(seam, fill)  # the smooth edges of the two halves would leave a line between them
    else:
        sketch.polygon(ring, fill)
    if number >= current:
        colour, width = (theme.pulse, 2.0) if number == current else (theme.border, 1.0)
        sketch.polyline(np.concatenate([ring, ring[:1]]), colour, width)


def _ring(place: Box, *, notched: bool) -> NDArray[np.float64]:
    """Its corners from the top left on, clockwise; the last one is the notch."""
    x, y, width, height = place
    point = min(_POINT, 0.3 * width)
    right, middle, foot = x + width - point, y + height / 2, y + height
    corners = [(x, y), (right, y), (x + width, middle), (right, foot), (x, foot), (x + point, middle)]
    return np.array(corners if notched else corners[:-1])


def _words(sketch: Sketch, place: Box, theme: Theme, phase: Phase, after: int) -> None:
    """Name and counts; `after` is below 0 for what is done, above it for what waits."""
    x, y, width, height = place
    left, room = x + (20.0 if width > 90 else 13.0), width - (31.0 if width > 90 else 20.0)
    names = phase.name, phase.name[:4], phase.name[:1]
    name = next((n for n in names if measure(n, CHANNEL, after == 0) <= room), "")
    colour = theme.text3 if after > 0 else theme.text1
    ways = (f"{phase.done} of {phase.count}",) if after == 0 and phase.count > 1 else (phase.words, phase.short)
    words = next((way for way in ways if measure(way, LABEL) <= room), "")
    low = height >= 40 and bool(phase.words) and bool(words)
    sketch.text(left, y + (19 if low else height / 2 + 5.5), name, CHANNEL, colour, bold=after == 0)
    end = left + measure(name, CHANNEL, after == 0)
    if low:
        sketch.text(left, y + 36, words, LABEL, theme.text1 if after == 0 else theme.text3)
        end = max(end, left + measure(words, LABEL))
    if after == 0 and phase.count > 1:
        _squares(sketch, (end + 14, y, x + width - 14 - end - 14, height), theme, phase)


def _squares(sketch: Sketch, box: Box, theme: Theme, phase: Phase) -> None:
    """One square a micro-step, in two rows where one is too short; a bar where there are too many."""
    x, y, width, height = box
    gap = _STEP - _SQUARE
    rows = 1 if phase.count * _STEP - gap <= width else 2
    columns = -(-phase.count // rows)
    if columns * _STEP - gap > width:
        if width >= 30:
            sketch.rect(x, y + height / 2 - 3, width, 6, radius=3, fill=mixed(theme.pulse, theme.panel, 0.3))
            share = phase.done / phase.count
            sketch.rect(x, y + height / 2 - 3, max(6.0, share * width), 6, radius=3, fill=theme.pulse)
        return
    top = y + height / 2 - (rows * _STEP - gap) / 2
    for k in range(phase.count):
        row, column = divmod(k, columns)
        at = (x + column * _STEP, top + row * _STEP, _SQUARE, _SQUARE)
        done = k < phase.done
        edge = None if done else mixed(theme.pulse, theme.panel, 0.6)
        sketch.rect(*at, radius=1.5, fill=theme.pulse if done else None, stroke=edge)
