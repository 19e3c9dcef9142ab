"""The loss of every run over its steps, with the quartiles of all of them: which learnt, and when."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ...sweep.groups import by_loss, quartiles
from ...sweep.result import Result
from ..draw.sketch import Box, Sketch
from ..draw.theme import Theme, mixed
from .paper import Paper, finite_pieces
from .runs import ENDINGS, FAILED, ending_colour, ending_of

MOST, POINTS = 120, 100
"""Curves that are drawn, evenly chosen by their loss at the end; points of each, and of the quartiles."""
SHARE = 0.55
"""Of its colour that a curve has over the ground."""

Floats = NDArray[np.float64]
Curve = tuple[Floats, Floats]


def curves(box: Box, theme: Theme, results: Sequence[Result]) -> Sketch:
    """Steps across, losses up; runs in the colours of how they ended, their median and quartiles above them."""
    runs = [result for result in by_loss(results) if result.state != FAILED and len(result.curve)]
    lines = [curve_of(result) for result in runs]
    chosen = np.unique(np.linspace(0, len(runs) - 1, min(MOST, len(runs))).round().astype(int)).tolist() if runs else []
    every = np.concatenate([np.zeros(0), *(lines[k][1] for k in chosen)])
    count = Counter(map(ending_of, runs))
    named = [(f"{ending} {count[ending]:,}", ending_colour(ending, theme)) for ending in ENDINGS if count[ending]]
    paper = Paper(
        box,
        theme,
        "loss of each run as it trained",
        every[np.isfinite(every)],
        [*named, ("median and quartiles", theme.text1)],
    )
    if not runs:
        return paper.ink
    last = max(float(steps[-1]) for steps, _ in lines)
    for k in reversed(chosen):
        colour = _hex(mixed(ending_colour(ending_of(runs[k]), theme), theme.background, SHARE))
        _draw(paper, lines[k], last, colour, 1.0)
    steps, found = spread(runs, lines)
    for part, width, colour in zip(found, (1.4, 2.6, 1.4), (theme.text2, theme.text1, theme.text2), strict=True):
        _draw(paper, (steps, part), last, colour, width)
    _foot(paper, last)
    return paper.ink


def curve_of(result: Result) -> Curve:
    """Steps and losses, of at most `POINTS`, the last one among them."""
    steps, losses = np.asarray(result.curve, float).reshape(-1, 2).T
    kept = np.unique(np.linspace(0, len(steps) - 1, min(POINTS, len(steps))).round().astype(int))
    return steps[kept], losses[kept]


def spread(runs: Sequence[Result], lines: Sequence[Curve]) -> tuple[Floats, tuple[Floats, Floats, Floats]]:
    """Steps, and the quartiles of the losses there; a run that diverged is infinite from its last finite loss on."""
    last = max(float(steps[-1]) for steps, _ in lines)
    first = max(float(steps[0]) for steps, _ in lines)
    places = np.linspace(min(first, last), last, POINTS)
    rows = np.stack([np.interp(places, *line, right=math.nan) for line in lines])
    diverged = np.array([run.state == "diverged" for run in runs])
    rows[diverged] = np.where(np.isnan(rows[diverged]), math.inf, rows[diverged])
    found = np.array([quartiles(column[~np.isnan(column)]) for column in rows.T])
    return places, (found[:, 0], found[:, 1], found[:, 2])


def _draw(paper: Paper, curve: Curve, last: float, colour: str, width: float) -> None:
    x, _, wide, _ = paper.plot
    across, up = x + wide * curve[0] / max(last, 1.0), paper.up(curve[1])
    for piece in finite_pieces(curve[1]):
        paper.line(list(zip(across[piece].tolist(), up[piece].tolist(), strict=True)), colour, width)


def _foot(paper: Paper, last: float) -> None:
    x, y, wide, high = paper.plot
    paper.text(x, y + high + 17, "0", paper.theme.text3, "middle")
    paper.text(x + wide, y + high + 17, f"step {last:,.0f}", paper.theme.text3, "right")


def _hex(colour: Iterable[float]) -> str:
    return "#" + "".join(f"{round(255 * part):02x}" for part in colour)
