"""The plots of a sweep: as separate figures for a page, or together on one sheet for a window or picture."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from math import log

import numpy as np

from ...sweep.groups import Group, by_loss, groups, loss_of, quartiles, swept
from ...sweep.result import Result
from ..ink.axes import Axes, Floats, Scale, evenly, scale_of
from ..ink.boxes import BIG, LABEL, MARGIN, TITLE
from ..ink.figure import Figure
from ..ink.sketch import Box, Sketch
from ..ink.text import DOT, measure
from ..ink.theme import Theme, get_theme, hexed, mixed
from ..panels.drawer import cut
from .runs import DIVERGED, ENDINGS, FAILED, counts_text, ending_colour, ending_of, number_text, value_text

# ---- `Paper`: one plot of losses: title, gridlines, numbers, a lane of diverged runs on top.

AXIS, WIDER = 46.0, 64.0
"""Pixels at the left for the numbers, and with the name of the lane."""
HEAD, NAMES, FOOT, LANE = 32.0, 20.0, 40.0, 22.0
"""Heights in pixels: title, names below it, space below the plot, lane of diverged runs."""
LARGEST = 1e120
"""Largest magnitude drawn; its inverse is the smallest."""

Curve = tuple[Floats, Floats]


class Paper(Sketch):
    """A plot with the loss as vertical axis; `plot` is the box of the values."""

    def __init__(
        self, box: Box, theme: Theme, title: str, values: Floats, named: Sequence[tuple[str, str]] = ()
    ) -> None:
        super().__init__()
        x, y, wide, high = box
        lane = bool(np.isposinf(values).any())
        top, left = HEAD + NAMES * bool(named) + LANE * lane, WIDER if lane else AXIS
        self.theme, self.plot = theme, (x + left, y + top, wide - left, high - top - FOOT)
        finite = _within(values[np.isfinite(values)])
        self._scale = scale_of(finite, max(3, min(7, int(self.plot[3] // 42) + 1)), height=self.plot[3])
        self.text(x, y + 14, cut(title, wide, bold=True), LABEL, theme.text1, bold=True)
        for words, colour in named:
            if x + 14 + measure(words, LABEL) > box[0] + wide:
                break
            self.disc(x + 4.5, y + 29.5, 4.5, colour)
            x = self.text(x + 14, y + 34, words, LABEL, theme.text2) + 16
        Axes(self.plot, Scale(0.0, 1.0), self._scale).rule(self, theme)
        if lane:
            x, y, wide, _ = self.plot
            self.rect(x, y - LANE, wide, LANE - 4, fill=theme.panel)
            self.text(x - 7, y - LANE / 2 + 2, DIVERGED, LABEL, theme.text3, anchor="right")

    def heights(self, *values: float) -> list[float]:
        """Return the y of values in the figure; infinite values are in the lane."""
        _, y, _, high = self.plot
        finite = np.isfinite(losses := np.array(values, float))
        share = np.clip(self._scale.place(_within(np.where(finite, losses, 1.0))), 0.0, 1.0)
        heights: list[float] = np.where(finite, y + high * (1 - share), y - LANE / 2 - 2).tolist()
        return heights

    def trace(self, curve: Curve, last: float, colour: str, width: float) -> None:
        """Draw a line of losses over steps, where they are finite."""
        x, _, wide, _ = self.plot
        points = np.stack([x + wide * curve[0] / max(last, 1.0), self.heights(*curve[1])], axis=1)
        self.polyline(points[np.isfinite(curve[1])], colour, width)


def _within(values: Floats) -> Floats:
    """Return values clipped so that their ratios are finite."""
    return np.where(values > 0, np.clip(values, 1 / LARGEST, LARGEST), np.clip(values, -LARGEST, 0.0))


# ---- The loss of every run by step, with quartiles: which runs learnt, and when.

CURVES, POINTS = 120, 100
"""Most curves, chosen evenly by final loss; and points of each curve and of the quartiles."""
SHARE = 0.55
"""Opacity of a curve, 0 to 1."""


def curves(box: Box, theme: Theme, results: Sequence[Result]) -> Sketch:
    """Draw loss by step; runs in the colour of their ending, median and quartiles above them."""
    runs = [result for result in by_loss(results) if result.state != FAILED and len(result.curve)]
    lines = [curve_of(result) for result in runs]
    chosen = evenly(len(runs), CURVES).tolist()
    every = np.concatenate([np.zeros(0), *(lines[k][1] for k in chosen)])
    count = Counter(map(ending_of, runs))
    named = [(f"{ending} {count[ending]:,}", ending_colour(ending, theme)) for ending in ENDINGS if count[ending]]
    named.append(("median and quartiles", theme.text1))
    paper = Paper(box, theme, "loss of each run as it trained", every[np.isfinite(every)], named)
    if not runs:
        return paper
    last = max(float(steps[-1]) for steps, _ in lines)
    for k in reversed(chosen):
        colour = hexed(mixed(ending_colour(ending_of(runs[k]), theme), theme.background, SHARE))
        paper.trace(lines[k], last, colour, 1.0)
    steps, found = spread(runs, lines)
    for part, width, colour in zip(found, (1.4, 2.6, 1.4), (theme.text2, theme.text1, theme.text2), strict=True):
        paper.trace((steps, part), last, colour, width)
    x, y, wide, high = paper.plot
    paper.text(x, y + high + 17, "0", LABEL, theme.text3, anchor="middle")
    paper.text(x + wide, y + high + 17, f"step {last:,.0f}", LABEL, theme.text3, anchor="right")
    return paper


def curve_of(result: Result) -> Curve:
    """Return steps and losses of at most `POINTS` points, including the last."""
    steps, losses = np.asarray(result.curve, float).reshape(-1, 2).T
    kept = evenly(len(steps), POINTS)
    return steps[kept], losses[kept]


def spread(runs: Sequence[Result], lines: Sequence[Curve]) -> tuple[Floats, tuple[Floats, Floats, Floats]]:
    """Return steps and quartiles of the losses; a diverged run counts as infinite after its last finite loss."""
    last = max(float(steps[-1]) for steps, _ in lines)
    first = max(float(steps[0]) for steps, _ in lines)
    places = np.linspace(min(first, last), last, POINTS)
    rows = np.stack([np.interp(places, *line, right=math.nan) for line in lines])
    diverged = np.array([run.state == "diverged" for run in runs])
    rows[diverged] = np.where(np.isnan(rows[diverged]), math.inf, rows[diverged])
    found = np.array([quartiles(column[~np.isnan(column)]) for column in rows.T])
    return places, (found[:, 0], found[:, 1], found[:, 2])


FIGURE = (600.0, 340.0)
"""Width and height of a plot on a page, in pixels."""
GAP = 36.0
TOP = 84.0
"""Height above the plots of a sheet, in pixels."""


def figures(results: Sequence[Result], theme: str | Theme = "dark") -> list[Figure]:
    """Return a figure for each plot: the curves, then each swept option."""
    look, (wide, high) = get_theme(theme), FIGURE
    box = 10.0, 10.0, wide - 20, high - 16
    return [Figure(wide, high, [_ground(look, wide, high), plot(box, look)]) for plot in _plots(results)]


def sheet(results: Sequence[Result], size: tuple[float, float], theme: str | Theme = "dark", title: str = "") -> Figure:
    """Return all plots on one sheet."""
    look, (wide, high) = get_theme(theme), size
    words, room = Sketch(), wide - 2 * MARGIN
    words.text(MARGIN, 40, cut(title or "many runs", room, bold=True), BIG, look.text1, bold=True)
    words.text(MARGIN, 64, cut(sentence(results), room), TITLE, look.text2)
    plots = _plots(results)
    places = zip(plots, _places(len(plots), (MARGIN, TOP, room, high - TOP - 12)), strict=True)
    return Figure(wide, high, [_ground(look, wide, high), words, *(plot(box, look) for plot, box in places)])


def sentence(results: Sequence[Result]) -> str:
    """Return a sentence with the number of runs that learnt and the quartiles of the loss."""
    if not results:
        return "no run is done yet"
    every = Group(None, tuple(results))
    low, middle, high = (number_text(number) for number in every.quartiles)
    return f"{counts_text(every)}{DOT}loss: median {middle}, half of the runs {low} to {high}"


def _plots(results: Sequence[Result]) -> list[Callable[[Box, Theme], Sketch]]:
    options = (partial(boxes, results=results, option=name) for name in swept(results) or [""])
    return [partial(curves, results=results), *options]


def _places(count: int, box: Box) -> list[Box]:
    """Return boxes side by side, in the number of columns with the best shape."""
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


# ---- The effect of an option: for each value a disc for each run, and a box of the quartiles.

BOX, WIDEST = 0.46, 130.0
"""Share of its slot that a box takes, and its greatest width in pixels."""
MOST = 500
"""Most discs of a value, chosen evenly by loss."""
GOLDEN = 0.618034
"""Share of the width between successive discs, so that neighbours are far apart."""


def boxes(box: Box, theme: Theme, results: Sequence[Result], option: str = "") -> Sketch:
    """Draw the final losses by value of an option, or of all runs without an option."""
    found = groups(results, option)
    losses = np.array([loss for group in found for loss in group.losses])
    paper = Paper(box, theme, f"loss at the end by {option}" if option else "loss at the end", losses)
    x, y, wide, high = paper.plot
    slot = wide / max(len(found), 1)
    widest = max((measure(value_text(group.value), LABEL) for group in found), default=0.0)
    every = max(1, int(-(-(min(widest, 90.0) + 8) // slot)))  # one name for this many values, so that none touch
    for number, group in enumerate(found):
        middle = x + slot * (number + 0.5)
        across = min(BOX * slot, WIDEST)
        _runs(paper, group, middle, max(across - 10, 0.0))
        _box(paper, group, middle, across, (slot - across) / 2)
        if number % every == 0:
            room = slot * every - 6
            name = cut(value_text(group.value) if option else "all runs", room)
            count = f"{len(group.results):,}"
            short = count if group.learnt is None else f"{group.learnt:,}/{count}"
            said = next((words for words in (counts_text(group), short) if measure(words, LABEL) <= room), "")
            paper.text(middle, y + high + 17, name, LABEL, theme.text1, anchor="middle")
            paper.text(middle, y + high + 34, said, LABEL, theme.text3, anchor="middle")
    return paper


def _runs(paper: Paper, group: Group, middle: float, wide: float) -> None:
    """Draw a disc for each run."""
    radius = 3.0 if len(group.results) <= 60 else 2.0
    runs = sorted((r for r in group.results if r.state != FAILED), key=loss_of)
    runs = [runs[k] for k in evenly(len(runs), MOST)]
    for k, (result, up) in enumerate(zip(runs, paper.heights(*map(loss_of, runs)), strict=True)):
        across = middle + wide * ((k * GOLDEN) % 1.0 - 0.5)
        paper.disc(across, up, radius, ending_colour(ending_of(result), paper.theme))


def _box(paper: Paper, group: Group, middle: float, wide: float, beside: float) -> None:
    """Draw the box of the quartiles with a thick line at the median, and its number if there is room `beside` it."""
    low, half, high = group.quartiles
    left = middle - wide / 2
    if math.isfinite(low):
        top, foot = paper.heights(high, low)
        paper.rect(left, top, wide, max(foot - top, 2.0), stroke=paper.theme.text2, border=1.2, radius=2.0)
    if not math.isnan(half):
        (at,) = paper.heights(half)
        paper.polyline([(left, at), (left + wide, at)], paper.theme.text1, 2.6)
        words = number_text(half)
        if measure(words, LABEL) + 6 <= beside and math.isfinite(half):
            paper.text(left + wide + 5, at + 4.5, words, LABEL, paper.theme.text1)
