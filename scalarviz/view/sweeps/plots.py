"""All plots of a sweep: as figures of their own for a page, together on one sheet for a window or a picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import log

import numpy as np
from numpy.typing import NDArray

from ...sweep.groups import Group, groups, loss_of, swept
from ...sweep.result import Result
from ..draw.figure import Figure
from ..draw.painter import Painter
from ..draw.places import BIG, LABEL, MARGIN, TITLE, check_size
from ..draw.sketch import Box, Sketch
from ..draw.text import measure
from ..draw.theme import Theme, get_theme
from ..panels.drawer import cut
from ..window.offscreen import offscreen
from .curves import curves
from .paper import Paper
from .runs import DOT, FAILED, counts_text, ending_colour, ending_of, number_text, quartiles_text, value_text

FIGURE = (600.0, 340.0)
"""Pixels of a plot on a page."""
GAP = 36.0
TOP = 84.0
"""Height of what stands above the plots of a sheet."""


def figures(results: Sequence[Result], theme: str | Theme = "dark") -> list[Figure]:
    """A figure for each plot: the curves, then each option that was swept."""
    look = get_theme(theme)
    wide, high = FIGURE
    box = (10.0, 10.0, wide - 20, high - 16)
    return [
        Figure(wide, high, [_ground(look, wide, high), plot]) for plot in _plots([box] * _count(results), look, results)
    ]


def sheet(results: Sequence[Result], size: tuple[float, float], theme: str | Theme = "dark", title: str = "") -> Figure:
    """All plots on one sheet.

    Parameters
    ----------
    results : sequence of Result
    size : (float, float)
        Pixels.
    theme : str or Theme
    title : str
        What the sweep is called.
    """
    look, (wide, high) = get_theme(theme), size
    head, room = Sketch(), wide - 2 * MARGIN
    head.text(MARGIN, 40, cut(title or "many runs", room, bold=True), BIG, look.text1, bold=True)
    head.text(MARGIN, 64, cut(sentence(results), room), TITLE, look.text2)
    places = _places(_count(results), (MARGIN, TOP, wide - 2 * MARGIN, high - TOP - 12))
    return Figure(wide, high, [_ground(look, wide, high), head, *_plots(places, look, results)])


def sentence(results: Sequence[Result]) -> str:
    """How many learnt, and the quartiles of all."""
    every = Group(None, tuple(results))
    return DOT.join([counts_text(every), quartiles_text(every)]) if results else "no run is done yet"


def plots_picture(
    results: Sequence[Result], size: tuple[int, int] = (1280, 720), theme: str | Theme = "dark", title: str = ""
) -> NDArray[np.uint8]:
    """The sheet as a picture, uint8 (height, width, 3).

    Raises
    ------
    InputError
        A size that no picture has.
    MissingDependencyError
        Nothing can draw here; the message says what to install.
    """
    wide, high = check_size(size)
    scale = max(1.0, min(wide / 1280, high / 720))
    with offscreen() as context:
        painter = Painter((wide / scale, high / scale), scale)
        ink = sheet(results, (wide / scale, high / scale), theme, title).placed()
        return context.render(lambda _: painter.draw([ink]), (wide, high))


def _count(results: Sequence[Result]) -> int:
    return 1 + max(len(swept(results)), 1)


def _plots(places: Sequence[Box], theme: Theme, results: Sequence[Result]) -> list[Sketch]:
    found = [curves(places[0], theme, results)]
    return found + [
        boxes(at, theme, results, name) for at, name in zip(places[1:], swept(results) or [""], strict=True)
    ]


def _places(count: int, box: Box) -> list[Box]:
    """Side by side, in as many columns as make the plots least narrow or flat."""
    x, y, wide, high = box

    def shape(columns: int) -> float:
        rows = -(-count // columns)
        return abs(log(((wide - (columns - 1) * GAP) / columns) / ((high - (rows - 1) * GAP) / rows) / 1.7))

    columns = min(range(1, count + 1), key=shape)
    rows = -(-count // columns)
    across, down = (wide - (columns - 1) * GAP) / columns, (high - (rows - 1) * GAP) / rows
    return [(x + (k % columns) * (across + GAP), y + (k // columns) * (down + GAP), across, down) for k in range(count)]


def _ground(theme: Theme, wide: float, high: float) -> Sketch:
    ground = Sketch()
    ground.rect(0.0, 0.0, wide, high, fill=theme.background)
    return ground


# ---- What an option does: a disc for each run and a box of its quartiles, for each value of the option.

BOX, WIDEST = 0.46, 130.0
"""The part of its place that a box takes, and its pixels at most."""
MOST = 500
"""Discs of a value, evenly chosen by their loss."""
GOLDEN = 0.618034
"""Part of that by which a disc stands beside the one before it: neighbours are far apart."""


def boxes(box: Box, theme: Theme, results: Sequence[Result], option: str = "") -> Sketch:
    """Losses at the end, up; the values of an option side by side, or all runs where none is named."""
    found = groups(results, option)
    losses = np.array([loss for group in found for loss in group.losses])
    paper = Paper(box, theme, f"loss at the end by {option}" if option else "loss at the end", losses)
    x, y, wide, high = paper.plot
    slot = wide / max(len(found), 1)
    every = _every(found, slot)
    for number, group in enumerate(found):
        middle = x + slot * (number + 0.5)
        across = min(BOX * slot, WIDEST)
        _runs(paper, group, middle, max(across - 10, 0.0))
        _box(paper, group, middle, across, (slot - across) / 2)
        if number % every == 0:
            room = slot * every - 6
            words = value_text(group.value) if option else "all runs"
            paper.text(middle, y + high + 17, cut(words, room), theme.text1, "middle")
            said = counts_text(group)
            shorter = said if measure(said, LABEL) <= room else _short(group)
            paper.text(middle, y + high + 34, shorter if measure(shorter, LABEL) <= room else "", theme.text3, "middle")
    return paper.ink


def _every(found: Sequence[Group], slot: float) -> int:
    """Every how manieth value has a name, so that they do not touch."""
    widest = max((measure(value_text(group.value), LABEL) for group in found), default=0.0)
    return max(1, int(-(-(min(widest, 90.0) + 8) // slot)))


def _short(group: Group) -> str:
    return f"{len(group.results):,}" if group.learnt is None else f"{group.learnt:,}/{len(group.results):,}"


def _runs(paper: Paper, group: Group, middle: float, wide: float) -> None:
    radius = 3.0 if len(group.results) <= 60 else 2.0
    runs = sorted((r for r in group.results if r.state != FAILED), key=loss_of)
    runs = [runs[k] for k in np.unique(np.linspace(0, len(runs) - 1, min(MOST, len(runs))).round().astype(int))]
    heights = paper.up(np.array([loss_of(result) for result in runs]))
    for k, (result, up) in enumerate(zip(runs, heights.tolist(), strict=True)):
        across = middle + wide * ((k * GOLDEN) % 1.0 - 0.5)
        paper.disc(across, up, radius, ending_colour(ending_of(result), paper.theme))


def _box(paper: Paper, group: Group, middle: float, wide: float, beside: float) -> None:
    """The box of the quartiles, with a thick line at the median and its number where there is room `beside` it."""
    low, half, high = group.quartiles
    left = middle - wide / 2
    if math.isfinite(low):
        top, foot = paper.at(high), paper.at(low)
        paper.ink.rect(left, top, wide, max(foot - top, 2.0), stroke=paper.theme.text2, border=1.2, radius=2.0)
    if not math.isnan(half):
        at = paper.at(half)
        paper.line([(left, at), (left + wide, at)], paper.theme.text1, 2.6)
        words = number_text(half)
        if measure(words, LABEL) + 6 <= beside and math.isfinite(half):
            paper.text(left + wide + 5, at + 4.5, words, paper.theme.text1)
