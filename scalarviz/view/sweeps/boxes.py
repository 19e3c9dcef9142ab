"""What an option does: a disc for each run and a box of its quartiles, for each value of the option."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...sweep.groups import Group as Runs
from ...sweep.groups import groups, loss_of
from ...sweep.result import Result
from ..draw.places import LABEL, Box
from ..draw.text import measure
from ..draw.theme import Theme
from ..graph.ink import Group, Rect
from ..panels.drawer import cut
from .paper import Paper
from .words import FAILED, counts_text, ending_colour, ending_of, number_text, value_text

BOX, WIDEST = 0.46, 130.0
"""The part of its place that a box takes, and its pixels at most."""
MOST = 500
"""Discs of a value, evenly chosen by their loss."""
GOLDEN = 0.618034
"""Part of that by which a disc stands beside the one before it: neighbours are far apart."""


def boxes(box: Box, theme: Theme, results: Sequence[Result], option: str = "") -> Group:
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


def _every(found: Sequence[Runs], slot: float) -> int:
    """Every how manieth value has a name, so that they do not touch."""
    widest = max((measure(value_text(group.value), LABEL) for group in found), default=0.0)
    return max(1, int(-(-(min(widest, 90.0) + 8) // slot)))


def _short(group: Runs) -> str:
    return f"{len(group.results):,}" if group.learnt is None else f"{group.learnt:,}/{len(group.results):,}"


def _runs(paper: Paper, group: Runs, middle: float, wide: float) -> None:
    radius = 3.0 if len(group.results) <= 60 else 2.0
    runs = sorted((r for r in group.results if r.state != FAILED), key=loss_of)
    runs = [runs[k] for k in np.unique(np.linspace(0, len(runs) - 1, min(MOST, len(runs))).round().astype(int))]
    heights = paper.up(np.array([loss_of(result) for result in runs]))
    for k, (result, up) in enumerate(zip(runs, heights.tolist(), strict=True)):
        across = middle + wide * ((k * GOLDEN) % 1.0 - 0.5)
        paper.disc(across, up, radius, ending_colour(ending_of(result), paper.theme))


def _box(paper: Paper, group: Runs, middle: float, wide: float, beside: float) -> None:
    """The box of the quartiles, with a thick line at the median and its number where there is room `beside` it."""
    low, half, high = group.quartiles
    left = middle - wide / 2
    if math.isfinite(low):
        top, foot = paper.at(high), paper.at(low)
        paper.ink.shapes.append(Rect(left, top, wide, max(foot - top, 2.0), None, paper.theme.text2, 1.2, 2.0))
    if not math.isnan(half):
        at = paper.at(half)
        paper.line([(left, at), (left + wide, at)], paper.theme.text1, 2.6)
        words = number_text(half)
        if measure(words, LABEL) + 6 <= beside and math.isfinite(half):
            paper.text(left + wide + 5, at + 4.5, words, paper.theme.text1)
