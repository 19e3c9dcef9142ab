"""Sketches below and beside the cubes of an opened step: formula, phases, and figures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...run.opened.digits import number
from ...run.opened.micro import PHASES
from ...run.questions.ranges import Range
from ..ink.boxes import CHANNEL, GAP, LABEL, TITLE
from ..ink.sketch import OTHER, RUN_LOSS, Bound, Box, Sketch
from ..ink.text import delta_text, measure, short
from ..ink.theme import Theme, displayed, get_map, hue, mixed
from ..ink.widgets import bound_caption, caption_lines, wrapped
from ..shown.subject import Subject
from .step_view import LOSS, Formula, GradientHistogram, MicroStepView, Output, Phase, Sentence, Word
from .walk import BINS

# ---- The line about a weight.

SENTENCE, LOW, TALL_LINE = 72.0, 46.0, 102.0
"""Heights of caption and line; of two rows of the line alone; and of a line with numbers below the letters."""
TALL = TALL_LINE + 112.0
"""Height of caption and line in a column."""
WHY = SENTENCE + 70.0
"""Height of caption, name, formulas and the lines about one sample, in a standing picture."""
ROW = 22.0
"""Height of the row with name and formulas below a caption."""
_SIZES = (20, 18, 16, 15, 14, 13)
_PITCH = 18.0  # between two lines of small type
_AIR, _RULE = 26.0, 24.0  # between letters and numbers, and on either side of the rule between two formulas


PREDICT = "predict"
_BUTTON = (76.0, 22.0)


def end_of_row(box: Box, wide: float, high: float) -> Box:
    """Return the place at the right end of the row of name and formulas, which may stand above others."""
    x, y, width, height = box
    return x + width - wide, y + (SENTENCE if height >= WHY else height) - high, wide, high


def predict_box(box: Box) -> Box | None:
    """Return the box of the button, at the right end of the row of formulas; None without room."""
    (x, y, width, height), (wide, high) = box, _BUTTON
    return end_of_row((x, y + 2, width, height), wide, high) if width >= 4.5 * wide and LOW <= height < TALL else None


def predict_button(box: Box, theme: Theme, *, on: bool) -> Sketch:
    """Return the button that asks about weights before their numbers are shown; `on`: it does."""
    sketch, (x, y, wide, high) = Sketch(), box
    fill, edge = (mixed(theme.gradient[3], theme.panel, 0.5), theme.pulse) if on else (theme.panel, theme.border)
    sketch.rect(*box, radius=5, fill=fill, stroke=edge)
    sketch.text(x + wide / 2, y + high / 2 + 4.7, PREDICT, LABEL, theme.text1 if on else theme.text2, anchor="middle")
    sketch.spot(box, PREDICT, 0, words=PREDICT)
    return sketch


class Line(NamedTuple):
    """A sentence as it is drawn; the rules between formulas are a sketch of their own."""

    said: Sketch
    rules: Sketch
    instead: Sketch  # for pages in whose steps the first formula is not true

    @property
    def drawn(self) -> tuple[Sketch, Sketch]:
        """What the picture shows of it."""
        return self.said, self.rules


def sentence(box: Box, theme: Theme, said: Sentence, button: Box | None = None) -> Line:
    """Return the caption in the upper part of `box`, and name and formulas below it; a low box has one of both.

    The row of formulas ends at a `button`.
    """
    sketches = Line(Sketch(passing=said.chosen), Sketch(passing=True), Sketch())
    sketch, (x, y, width, height), text = sketches.said, box, said.caption.text
    rest = width if button is None else button[0] - 12 - x
    if height < LOW and not said.formulas and text:
        _caption(sketch, box, theme, said)
        return sketches
    if not text or height < LOW:
        _line(sketches, box, theme, said)
        return sketches
    if WHY <= height < TALL:
        _caption(sketch, (x, y, width, SENTENCE - ROW), theme, said)
        _line(sketches, (x, y + SENTENCE - ROW + 6, rest, LOW), theme, said)
        why(sketch, (x, y + SENTENCE - ROW + LOW + 10, width, 0.0), theme, said)
        return sketches
    used = _caption(sketch, (x, y, width, height - ROW - 3), theme, said)
    top = y + height - ROW if height < TALL else y + used + 9
    if y + used <= top <= y + height - ROW:  # the caption is more important
        _line(sketches, (x, top, rest, y + height - top), theme, said)
    return sketches


def _caption(sketch: Sketch, box: Box, theme: Theme, said: Sentence) -> float:
    """Write the caption and return its height."""
    if said.bound is not None:
        return bound_caption(sketch, box, theme, said.bound)
    return caption_lines(sketch, box, theme, said.caption.text, passing=said.passing)


def why(sketch: Sketch, box: Box, theme: Theme, said: Sentence, *, page: bool = False) -> None:
    """Write what the target asks of the weight, one line below the other; a `page` has words for other steps, too."""
    x, y, width, _ = box
    own = [[word for word in line if not (word.bound and word.bound.needs.startswith(OTHER))] for line in said.why]
    every = [sum(measure(word.text, 1.0, word.bold) for word in line) for line in own]
    more = measure("00", 1.0, True) * max((sum(word.bold for word in line) for line in own), default=0)
    widest = max(every, default=0.0)  # a page may have more digits there
    ways = [(k, room) for room in (widest + more, widest) for k in _SIZES[3:]]
    size = next((k for k, room in ways if room * k <= width), 0)
    for row, line in enumerate((said.why if page else own) if size else ()):
        for k, word in enumerate(line):
            ink, gap = theme.text1 if word.bound and word.bound.name is not None else theme.text2, 0.0 if k else None
            left = x + sum(measure(one.text, size, one.bold) for one in line[:k])
            sketch.text(left, y + (row + 0.8) * 20, word.text, size, ink, bold=word.bold, bound=word.bound, gap=gap)


def _line(sketches: Line, box: Box, theme: Theme, said: Sentence) -> None:
    """Draw name and formulas in `box`, in the largest type that fits.

    If the formulas do not fit side by side in the smallest type, the first stands alone. If that does not
    fit, its numbers or a short form do, below the letters in a tall box. In a low box the name stands before
    them. The meaning stands beside the name, or below it in a tall box.
    """
    sketch = sketches.said
    x, y, width, height = box
    low, tall = height < LOW, height >= TALL_LINE
    size, apart, line = (LABEL, 14, y + height - 8) if low else (TITLE, 18, y + 13)
    name = said.name if measure(said.name, size, True) <= width else said.name.rpartition(": ")[2]
    name = _fitting(name, width, size, bold=True)
    after = x + measure(name, size, True) + apart
    start = after if low and said.formulas else x
    # beside lines about one sample a browser may write longer numbers
    room, sizes, short = x + width - start, _SIZES[3 if low else 2 if height <= LOW else 0 :], said.short
    chosen = _chosen(said.formulas, room, sizes)
    if start > x and chosen is None and (short is None or _chosen((short,), room, sizes) is None):
        start, room, name = x, width, ""  # the numbers are more important
        chosen = _chosen(said.formulas, room, sizes)
    sketch.text(x, line, name, size, theme.text1, bold=True)
    baseline = _meaning(sketch, box, theme, said, (after, line), below=chosen is not None)
    dense = baseline - line > _DENSE
    if tall and said.formulas and not (chosen and chosen[2]):
        letters = said.formulas[0].letters
        size = next((k for k in _SIZES[2:] if not dense and measure(letters, k) <= room), LABEL)
        if measure(letters, size) <= room:
            sketch.text(start, baseline, letters, size, theme.text3, bound=said.formulas[0].of_letters)
            baseline += 22 if chosen else 19 if baseline + 37 <= y + height + 20 else 15
        short = replace(short, letters="") if short is not None and short.letters == letters else short
    halves = _halves(said.formulas[0].numbers if said.formulas else ())
    fits = max(_width([half], LABEL, False) for half in halves) <= room
    if chosen is None and fits and baseline + 16 <= y + height + 20 * tall:
        pitch = min(_PITCH, y + height + 20 * tall - baseline)
        for k, half in enumerate(halves):
            _formulas(sketches, (start, baseline + pitch * k), theme, [half], LABEL, False)
    elif chosen is None and short is not None:
        chosen = _chosen((short,), room, sizes)
    if chosen is not None:
        _formulas(sketches, (start, baseline), theme, *chosen)
    other = said.instead[1]
    drawn = chosen is not None and other is not None and chosen[0][0].numbers is other.numbers
    spare, way = measure("0" * _SPARE, LABEL), None
    if other is not None and not drawn:
        way = _chosen((other,), room - spare, sizes) or _chosen((other,), room, sizes[-1:])
    if way is not None:
        _formulas(sketches._replace(said=sketches.instead), (start, baseline), theme, *way)


_SPARE = 6
"""Digits that the numbers of a page may have more, together."""
_DENSE = 60.0
"""Pixels of the meaning from which on the formula below it has the smallest type."""


def _meaning(sketch: Sketch, box: Box, theme: Theme, said: Sentence, at: tuple[float, float], *, below: bool) -> float:
    """Write the meaning of a sentence `at` the end of its name, or below; return the formulas' baseline.

    Equations, such as those of Adam's averages, are written in full if there is any room.
    """
    (x, y, width, height), (after, line) = box, at
    passing = Bound(None, needs=said.needs) if said.needs else None
    if said.index >= 0 and said.formulas:  # how large it is, what its averages are
        passing = Bound(None)
    low, parts = height < LOW, said.meaning.split("; ")
    equations = [part for part in parts if "=" in part]
    meanings = () if low and said.formulas else (said.meaning, *(equations or parts[::-1]))
    meaning = next((words for words in meanings if after + measure(words, LABEL) <= x + width), "")
    if height >= TALL_LINE and meaning != said.meaning:
        lines = [some for part in equations for some in _broken(part, width)]
        if not 2 < len(lines) <= 4:
            lines = next((way for words in meanings if len(way := _broken(words, width)) <= 2), [])
        airy = line + _PITCH * (len(lines) + 4) <= y + height + 20  # with the rule and its numbers below
        for words in lines:
            air = 6 * (airy and words != lines[0] and re.match(r"\S+ =", words) is not None)  # between equations
            line += air + (_PITCH if airy else 15)
            sketch.text(x, line, words, LABEL, theme.text3, bound=passing)
        return line + (24 if airy else 15 if len(lines) > 2 else 23)
    sketch.text(after, line, meaning, LABEL, theme.text2 if low else theme.text3, bound=passing)
    if low:
        return line
    others = [part for part in parts if part not in meaning.split("; ")]
    if not below or height <= LOW or not 0 < len(others) <= 2 or any(measure(part, LABEL) > width for part in others):
        return y + min(46.0, height - 8)
    for k, part in enumerate(others):
        sketch.text(x, line + 43 + 16 * k, part, LABEL, theme.text3, bound=passing)
    return line + 25


def _broken(equation: str, width: float) -> list[str]:
    """Return an equation in lines, broken before "=" if possible."""
    lines = [""]
    for part in re.split(" (?==)", equation):
        joined = f"{lines[-1]} {part}".strip()
        lines[-1:] = [joined] if measure(joined, LABEL) <= width else [lines[-1], part]
    return [some for line in lines for some in wrapped(line, width)]


def _halves(numbers: tuple[Word, ...]) -> tuple[Formula, Formula]:
    """Return an equation on two lines, broken before the sign that makes the longer line shortest."""
    cuts = [k for k, word in enumerate(numbers) if k and word.text.startswith(" ")] or [len(numbers)]
    own = [word._replace(text=word.text.lstrip()) for word in numbers]
    ways = [(Formula("", numbers[:cut]), Formula("", (*own[cut : cut + 1], *numbers[cut + 1 :]))) for cut in cuts]
    return min(ways, key=lambda way: max(_width([half], LABEL, False) for half in way))


def _chosen(
    formulas: Sequence[Formula], width: float, sizes: Sequence[int]
) -> tuple[Sequence[Formula], int, bool] | None:
    """Return the most that fits: formulas, size of type, whether letters stand before them; or None."""
    ways = [(count, True) for count in range(len(formulas), 0, -1)] + [(1, False)] * bool(formulas)
    fitting = ((formulas[:count], size, lettered) for count, lettered in ways for size in sizes)
    return next((way for way in fitting if _width(*way) <= width), None)


def _width(formulas: Sequence[Formula], size: int, lettered: bool) -> float:
    parts = sum(sum(measure(w.text, size, w.bold) for w in f.numbers) for f in formulas)
    if lettered:
        parts += sum(measure(f.letters, size) + _AIR for f in formulas if f.letters)
    return parts + (len(formulas) - 1) * (2 * _RULE + 2)


def _formulas(
    sketches: Line, at: tuple[float, float], theme: Theme, formulas: Sequence[Formula], size: int, lettered: bool
) -> None:
    (sketch, rules, _), (x, y) = sketches, at
    colours = {"plain": theme.text1, "dim": theme.text2}
    for place, formula in enumerate(formulas):
        gap = None
        if place:
            rules.line((x + _RULE, y - size), (x + _RULE, y + 5), theme.border, 1.0)
            x += 2 * _RULE + 2
            gap = 2 * _RULE + 2.0
        if lettered and formula.letters:
            x = sketch.text(x, y, formula.letters, size, theme.text3, bound=formula.of_letters, gap=gap) + _AIR
            gap = _AIR
        for word in formula.numbers:
            ink = hue(theme, word.text) if word.tone == "violet" else colours[word.tone]
            x = sketch.text(x, y, word.text, size, ink, bold=word.bold, bound=word.bound, gap=gap)
            gap = 0.0


# ---- The ribbon: the phases as arrows, with the micro-steps of the current one as squares.

RIBBON = 44.0
"""Height of the ribbon."""
_APART, _POINT = 4.0, 9.0
_WIDTHS = (0.9, 1.45, 0.8, 0.8, 1.5, 1.5)
"""Shares of the six arrows, if each name has room."""
_BESIDE = 20.0
"""Pixels left and right of a name, together, in a narrow arrow."""
_CUT = {"backward": "back", "gradients": "grad"}
_SQUARE, _STEP = 8.0, 11.0


def arrows(box: Box, phases: Sequence[Phase], current: int) -> list[Box]:
    """Return the boxes of the six arrows; the tip of one reaches into the notch of the next."""
    x, y, width, height = box
    room, found = width - _APART * (len(_WIDTHS) - 1), []
    cut = [_CUT.get(phase.name, phase.name) for phase in phases]
    for names in ([*cut[:current], phases[current].name, *cut[current + 1 :]], cut):
        needs = [measure(name, CHANNEL, at == current) + _BESIDE for at, name in enumerate(names)]
        needs[current] = max(needs[current], measure(_count(phases[current]), LABEL) + _BESIDE)
        if sum(needs) <= room:
            break
    else:  # on a telephone some phases have no name: the first, which does least, and those that are far away
        for at in (0 if current else -1, *sorted(range(len(needs)), key=lambda at: -abs(at - current))):
            needs[at] = _BESIDE
            if sum(needs) <= room:
                break
    shares = [room * share / sum(_WIDTHS) for share in _WIDTHS]
    if any(share < need for share, need in zip(shares, needs, strict=True)):  # the current one first
        less = min((room - needs[current]) / (sum(needs) - needs[current]), room / sum(needs))
        shares = [max(less, 1.0) * need if at == current else less * need for at, need in enumerate(needs)]
    for share in shares:
        found.append((x, y, share, height))
        x += share + _APART
    return found


def _count(phase: Phase) -> str:
    return f"{phase.done}/{phase.count}"


def ribbon(box: Box, theme: Theme, phases: Sequence[Phase], current: int) -> Sketch:
    """Return the six phases in `box`, with those before the `current` one done; each answers to a click.

    Names and words without room are left out.
    """
    sketch = Sketch()
    for which, (place, phase) in enumerate(zip(arrows(box, phases, current), phases, strict=True)):
        _shape(sketch, place, theme, which, current)
        _words(sketch, place, theme, phase, which - current)
        sketch.spot(place, "phase", which, words=phase.name)
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
    """Return the corners of an arrow, clockwise from the top left; the last one is the notch."""
    x, y, width, height = place
    point = min(_POINT, 0.3 * width)
    right, middle, foot = x + width - point, y + height / 2, y + height
    corners = [(x, y), (right, y), (x + width, middle), (right, foot), (x, foot), (x + point, middle)]
    return np.array(corners if notched else corners[:-1])


def _words(sketch: Sketch, place: Box, theme: Theme, phase: Phase, after: int) -> None:
    """Draw name and counts; `after` is below 0 for a phase that is done, above it for one that waits."""
    x, y, width, height = place
    names = phase.name, _CUT.get(phase.name, phase.name)
    name = next((n for n in names if measure(n, CHANNEL, after == 0) <= width - _BESIDE + 0.5), "")
    airy = width - measure(name, CHANNEL, after == 0) >= 31
    left, room = x + (20.0 if airy else 13.0), width - (31.0 if airy else _BESIDE)
    colour = theme.text3 if after > 0 else theme.text1
    counts = after == 0 and phase.count > 1
    ways = (f"{phase.done} of {phase.count}", _count(phase)) if counts else (phase.words, phase.short)
    words = next((way for way in ways if measure(way, LABEL) <= room), "")
    low = height >= 40 and bool(phase.words) and bool(words)
    end = sketch.text(left, y + (19 if low else height / 2 + 5.5), name, CHANNEL, colour, bold=after == 0)
    if low:
        said = Bound(RUN_LOSS, form="loss") if phase.name == PHASES[LOSS] and words == phase.words else None
        end = max(end, sketch.text(left, y + 36, words, LABEL, theme.text1 if after == 0 else theme.text3, bound=said))
    if counts:
        _squares(sketch, (end + 14, y, x + width - 14 - end - 14, height), theme, phase)


def _squares(sketch: Sketch, box: Box, theme: Theme, phase: Phase) -> None:
    """Draw one square per micro-step, in two rows if one is too short; a bar if there are too many."""
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


# ---- The side column.

SWITCH = 36.0
"""Height of the switch."""
_SWATCHES, _ROW, _GAP = 62.0, 23.0, 20.0


def switch(box: Box, theme: Theme, noun: str, *, trial: bool, colour: ArrayLike | None = None) -> Sketch:
    """Return the switch between one sample and the whole batch; `colour` is the sample's, if it has one."""
    sketch, (x, y, wide, high) = Sketch(), box
    sketch.rect(*box, radius=6, fill=theme.panel, stroke=theme.border)
    size = TITLE if high >= 32 else LABEL
    for side, whole in enumerate((f"this {noun}", "whole batch")):
        left, half, on = x + side * wide / 2, wide / 2, trial == (side == 0)
        if on:
            fill = mixed(theme.gradient[3], theme.panel, 0.5)
            sketch.rect(left + 3, y + 3, half - 6, high - 6, radius=4, fill=fill, stroke=theme.pulse)
        dot = 22.0 if colour is not None and side == 0 and half > 110 else 0.0
        words = whole if measure(whole, size, on) + dot <= half - 8 else whole.split()[-1]
        middle, ink = left + half / 2, theme.text1 if on else theme.text3
        if dot and colour is not None:
            edge = middle - (measure(words, size, on) + dot) / 2
            sketch.rect(edge, y + high / 2 - 7, 14, 14, radius=4, fill=displayed(colour))
        sketch.text(middle + dot / 2, y + high / 2 + 0.36 * size, words, size, ink, bold=on, anchor="middle")
        sketch.spot((left, y, half, high), "switch", side, words=whole)
    return sketch


def swatches(
    box: Box, theme: Theme, colours: Sequence[ArrayLike | None], adding: int, rows: Sequence[str | None]
) -> Sketch:
    """Return input, output and target of a sample that is a colour; unknown ones are empty.

    `rows` are the names of the rows that they are, None if they are others.
    """
    sketch, (x, y, wide, high) = Sketch(), box
    own = (wide - 16) / 3
    names = f"number {adding:,}" if adding else "input", "output", "target"
    for k, (name, colour, row) in enumerate(zip(names, colours, rows, strict=True)):
        left, fill = x + k * (own + 8), None if colour is None else displayed(colour)
        sketch.text(left, y + 11, name, LABEL, theme.text2)
        sketch.rect(left, y + 18, own, high - 18, radius=5, fill=fill, stroke=theme.flow,
                    bound=None if colour is None else row)  # fmt: skip
    return sketch


_NUMBER = 46.0  # pixels of a number of four decimals and the air before it


def table(
    box: Box, theme: Theme, rows: Sequence[tuple[str, Sequence[str]]], names: Sequence[str],
    numbers: Sequence[Sequence[Bound]] = (),
) -> Sketch:  # fmt: skip
    """Return the table that explains the deltas of the outputs, row by row; the last row is the result.

    `numbers` says which ones the cells show.
    """
    sketch, (x, y, wide, _) = Sketch(), box
    numbers = [[Bound(None)] * len(names)] * len(rows) if len(numbers) != len(rows) else numbers
    sketch.text(x, y + 14, "where δ comes from", TITLE, theme.text1, bold=True)
    words = [said for said, _ in rows]
    if (wide - 108) / max(1, len(names)) < _NUMBER and words[-1].startswith("δ"):
        words[-1] = "δ"  # the line above it says of what it is made
    room = max(measure(said, LABEL, said == words[-1]) for said in words) + 8.0
    step = min(62.0, (wide - room) / max(1, len(names)))
    ends = [x + wide - step * (len(names) - 1 - k) for k in range(len(names))]
    for k, (said, cells) in enumerate((("", names), *zip(words, (row for _, row in rows), strict=True))):
        base, last, head = y + 38 + _ROW * k, k == len(rows), k == 0
        if last:
            sketch.line((x, base - 14), (x + wide, base - 14), theme.border, 1.0)
        base += 1 if k and not last else 4 if last else 0
        sketch.text(x, base, said, LABEL, theme.text1 if last else theme.text2, bold=last)
        own = [None] * len(names) if head else numbers[k - 1]
        for end, cell, bound in zip(ends, cells, own, strict=True):
            ink = hue(theme, cell) if last else theme.text2
            sketch.text(end, base, cell, LABEL, ink, bold=last or head, anchor="right", bound=bound)
    return sketch


# ---- Figures: all terms of one weight's gradient, the outputs, and the optimiser's rule.

HISTOGRAM = 150.0
_BARS = 74.0
_WORDS = 16.0  # height of the words above the bars, which name the gradient


def histogram(box: Box, theme: Theme, spread: GradientHistogram) -> Sketch:
    """Return the terms of a gradient as bars in the colours of gradients."""
    sketch, (x, y, wide, _) = Sketch(passing=True), box
    middles = spread.reach * ((np.arange(BINS) + 0.5) / BINS * 2 - 1)
    fills = get_map("gradient", theme)(2 * np.asarray(Range.symmetric(spread.reach, "symlog").unit(middles)) - 1)
    sketch.text(x, y + 14, "same weight, whole batch", TITLE, theme.text1, bold=True)
    said = f"δ · x of {spread.words}; their {spread.reduction} is its g"
    sketch.text(x, y + 34, said if measure(said, LABEL) <= wide else f"δ · x of {spread.words}", LABEL, theme.text3)
    base, step = y + 48 + _BARS, wide / BINS
    for k, high in enumerate((_BARS - _WORDS) * spread.counts / spread.counts.max()):
        if high:
            sketch.rect(x + k * step, base - high, step - 1.5, high, fill=tuple(float(c) for c in fills[k]))
    sketch.line((x, base), (x + wide, base), theme.flow, 1.0)
    at = x + wide * _share(spread.gradient, spread.reach)
    if abs(spread.gradient) <= spread.reach:  # a sum may lie beyond its terms
        sketch.line((at, y + 44), (at, base), theme.selection, 2.0)
    words = f"{spread.reduction} {delta_text(spread.gradient)}"
    right = at + 8 + measure(words, LABEL, True) <= x + wide
    sketch.text(at + (8 if right else -8), y + 56, words, LABEL, theme.text1, bold=True,
                anchor="left" if right else "right")  # fmt: skip
    ends = short(spread.reach)
    own = 0.5 * wide if spread.probe_term is None else wide * _share(spread.probe_term, spread.reach)
    room = measure(f"+{ends}", LABEL) + 7  # the scale goes as far both ways: the end below the mark needs no number
    if own > room:
        sketch.text(x, base + 16, f"\N{MINUS SIGN}{ends}", LABEL, theme.text3)
    if own < wide - room:
        sketch.text(x + wide, base + 16, f"+{ends}", LABEL, theme.text3, anchor="right")
    if spread.probe_term is not None:
        _draw_probe_term(sketch, (x, base, wide, 0.0), theme, spread, measure(ends, LABEL) + 20)
    return sketch


def _share(value: float, reach: float) -> float:
    return float(np.clip(0.5 + 0.5 * value / reach, 0.0, 1.0))


def _draw_probe_term(sketch: Sketch, box: Box, theme: Theme, spread: GradientHistogram, side: float) -> None:
    """Draw a mark below the axis at the sample's own term; its words stand between the ends if they fit."""
    x, base, wide, _ = box
    assert spread.probe_term is not None
    at = x + wide * _share(spread.probe_term, spread.reach)
    sketch.polygon([(at, base + 2), (at + 5, base + 9), (at - 5, base + 9)], theme.pulse)
    words = f"this {spread.noun} {delta_text(spread.probe_term)}"
    half = measure(words, LABEL) / 2
    middle = min(max(at, x + half), x + wide - half)
    down = 16 if x + side <= middle - half and middle + half <= x + wide - side else 33
    sketch.text(middle, base + down + (6 if down == 16 else 0), words, LABEL, theme.pulse, anchor="middle")


def output_rows(box: Box, theme: Theme, outputs: Sequence[Output], *, mean: bool) -> Sketch:
    """Return a line for each output: its number, and its delta as a bar; `mean`: means over a batch."""
    sketch, (x, y, wide, _) = Sketch(passing=True), box
    sketch.text(x, y + 14, "where δ comes from", TITLE, theme.text1, bold=True)
    sketch.text(x + 110, y + 36, "mean output" if mean else "output", LABEL, theme.text3, anchor="right")
    sketch.text(x + wide, y + 36, "mean δ" if mean else "δ", LABEL, theme.text3, anchor="right")
    most = max((abs(o.delta) for o in outputs if np.isfinite(o.delta)), default=0.0)
    left, right = x + 124, x + wide - 70
    middle = (left + right) / 2
    sketch.line((middle, y + 42), (middle, y + 44 + 20 * len(outputs)), theme.border, 1.0)
    for row, output in enumerate(outputs):
        line = y + 44 + 20 * row + 14
        name = f"{output.name}, target" if output.is_target else output.name
        ink = theme.text1 if output.is_target else theme.text2
        sketch.text(x, line, _fitting(name, 62), LABEL, ink, bold=output.is_target)
        if output.value == output.value:
            sketch.text(x + 110, line, number(output.value, 2), LABEL, theme.text1, anchor="right")
        if output.delta != output.delta:
            continue
        end = middle + (right - left) / 2 * (output.delta / most if most else 0.0)
        colour = theme.gradient[3] if output.delta > 0 else theme.gradient[1]
        if abs(end - middle) >= 0.5:
            sketch.rect(min(middle, end), line - 10, abs(end - middle), 11, radius=1.5, fill=colour)
        said = delta_text(output.delta)
        sketch.text(x + wide, line, said, LABEL, hue(theme, said), anchor="right")
    return sketch


def _fitting(name: str, width: float, size: float = LABEL, *, bold: bool = False) -> str:
    """Return a name, cut at the beginning until it fits."""
    while measure(name, size, bold) > width and len(name) > 4:
        name = f"\N{HORIZONTAL ELLIPSIS}{name[2:]}"
    return name


def rule_lines(box: Box, theme: Theme, optimiser: str, formulas: Sequence[tuple[str, str]]) -> Sketch | None:
    """Return the optimiser's rule line by line, in letters and with numbers; None if it has no room."""
    sketch, (x, y, wide, high) = Sketch(passing=True), box
    sketch.text(x, y + 14, f"{optimiser}, line by line", TITLE, theme.text1, bold=True)
    down = y + 36
    for letters, numbers in formulas:
        for text, colour in ((letters, theme.text3), (numbers, theme.text1)):
            for line in wrapped(text, wide):
                sketch.text(x, down, line, LABEL, colour)
                down += 17
        down += 5
    return sketch if down <= y + high else None


# ---- The whole side column.


def height_of(step: MicroStepView, subject: Subject, *, explained: bool = True) -> float:
    """Return the height of the switch and of all below it; unless `explained`, only of the swatches."""
    high = SWITCH + 18.0 * explained
    if subject.sample.colours and subject.probe is not None:
        high += _SWATCHES + _GAP
    if not explained:
        return high
    if step.table:
        return high + 27 + _ROW * (len(step.table) + 1)
    return high + 54 + 20 * len(step.outputs) if step.outputs else high


def below_switch(box: Box, theme: Theme, subject: Subject, step: MicroStepView) -> list[Sketch]:
    """Return the sketches below the switch for which `box` has room."""
    (x, y, width, high), sample, found = box, subject.sample, list[Sketch]()
    foot = y + high
    if sample.colours and subject.probe is not None and y + _SWATCHES <= foot:
        last = subject.stages[-1].name
        output = step.frame.activations[last] if step.reached[last].all() else None
        colours = (subject.probe, output, sample.target_values) if step.sample is None else step.sample
        rows = ("input", last, "target") if step.sample is None else (None, None, None)
        found.append(swatches((x, y, width, _SWATCHES), theme, colours, step.adding, rows))
        y += _SWATCHES + _GAP
    lines = len(step.table)
    if lines and y + 24 + _ROW * (lines + 1) <= foot:
        found.append(table((x, y, width, 0.0), theme, step.table, sample.outputs, step.table_numbers))
        y += 27 + _ROW * (lines + 1) + _GAP
    if step.outputs and y + (own := 54.0 + 20.0 * len(step.outputs)) <= foot:
        found.append(output_rows((x, y, width, own), theme, step.outputs, mean=step.shows_means))
        y += own + GAP / 2
    facts = subject.source.facts
    if step.rule and facts is not None:
        written = [(f.letters, "".join(word.text for word in f.numbers).strip()) for f in step.rule]
        for some in (written, written[:-1]):  # the last one stands below the cubes too
            rule = rule_lines((x, y, width, foot - y), theme, facts.optimizer, some)
            if rule is not None:
                return [*found, rule]
    if step.gradient_histogram is not None and y + HISTOGRAM <= foot:
        found.append(histogram((x, y, width, foot - y), theme, step.gradient_histogram))
    return found
