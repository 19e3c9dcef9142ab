"""The line below the cubes: which weight, its formula in letters, and the same with the numbers of now."""

from __future__ import annotations

from collections.abc import Sequence

from ..ink.places import LABEL, TITLE
from ..ink.sketch import Box, Sketch
from ..ink.text import measure
from ..ink.theme import Theme
from .told import Formula, Sentence

HEIGHT, LOW = 62.0, 46.0
"""Of both lines, with air below them, and without."""
_SIZES = (20, 18, 16, 15, 14, 13)
_AIR, _RULE = 26.0, 24.0  # between letters and numbers, and on either side of the rule between two formulas


def sentence(box: Box, theme: Theme, said: Sentence) -> Sketch:
    """Name and formulas in `box`, the formulas in the largest type that holds them.

    Where both have no room beside each other in the smallest, the first stands alone; where that has none, its numbers
    do; in a low box the name stands before them.
    """
    sketch = Sketch()
    x, y, width, height = box
    low = height < LOW
    baseline = y + (height - 8 if low else min(46.0, height - 8))
    if low:
        start = x + (measure(said.name, LABEL, True) + 14 if said.formulas else 0.0)
        sketch.text(x, baseline, said.name, LABEL, theme.text1, bold=True)
        if not said.formulas and measure(said.name, LABEL, True) + 14 + measure(said.meaning, LABEL) <= width:
            sketch.text(x + measure(said.name, LABEL, True) + 14, baseline, said.meaning, LABEL, theme.text2)
    else:
        start = x
        _name(sketch, (x, y, width, 18.0), theme, said)
    chosen = _chosen(said.formulas, x + width - start, _SIZES[3:] if low else _SIZES)
    if chosen is not None:
        size, formulas, lettered = chosen
        _formulas(sketch, (start, baseline), theme, formulas, size, lettered)
    return sketch


def _name(sketch: Sketch, box: Box, theme: Theme, said: Sentence) -> None:
    x, y, width, _ = box
    sketch.text(x, y + 13, said.name, TITLE, theme.text1, bold=True)
    after = x + measure(said.name, TITLE, True) + 18
    if after + measure(said.meaning, LABEL) <= x + width:
        sketch.text(after, y + 13, said.meaning, LABEL, theme.text3)


def _chosen(
    formulas: Sequence[Formula], width: float, sizes: Sequence[int]
) -> tuple[int, tuple[Formula, ...], bool] | None:
    """Size of type, which formulas, and whether their letters stand before them: the most that fits; None for none."""
    if not formulas:
        return None
    for count in range(len(formulas), 0, -1):
        for lettered in (True, False):
            if not lettered and count > 1:
                continue
            for size in sizes:
                if _width(formulas[:count], size, lettered) <= width:
                    return size, tuple(formulas[:count]), lettered
    return None


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
