"""All plots of a sweep: as figures of their own for a page, together on one sheet for a window or a picture."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import numpy as np
from numpy.typing import NDArray

from ...sweep.groups import Group as Runs
from ...sweep.groups import swept
from ...sweep.result import Result
from ..draw.painter import Painter
from ..draw.places import BIG, MARGIN, TITLE, Box, check_size
from ..draw.theme import Theme, get_theme
from ..graph.ink import Group, Ink, Letters, Rect
from ..graph.inked import sketched
from ..panels.drawer import cut
from ..window.offscreen import offscreen
from .boxes import boxes
from .curves import curves
from .words import DOT, counts_text, quartiles_text

FIGURE = (600.0, 340.0)
"""Pixels of a plot on a page."""
GAP = 36.0
TOP = 84.0
"""Height of what stands above the plots of a sheet."""


def figures(results: Sequence[Result], theme: str | Theme = "dark") -> list[Ink]:
    """A figure for each plot: the curves, then each option that was swept."""
    look = get_theme(theme)
    wide, high = FIGURE
    box = (10.0, 10.0, wide - 20, high - 16)
    return [
        Ink(wide, high, [_ground(look, wide, high), plot]) for plot in _plots([box] * _count(results), look, results)
    ]


def sheet(results: Sequence[Result], size: tuple[float, float], theme: str | Theme = "dark", title: str = "") -> Ink:
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
    head = Group([
        Letters(MARGIN, 40, cut(title or "many runs", wide - 2 * MARGIN, bold=True), BIG, look.text1, True),
        Letters(MARGIN, 64, cut(sentence(results), wide - 2 * MARGIN), TITLE, look.text2),
    ])  # fmt: skip
    places = _places(_count(results), (MARGIN, TOP, wide - 2 * MARGIN, high - TOP - 12))
    return Ink(wide, high, [_ground(look, wide, high), head, *_plots(places, look, results)])


def sentence(results: Sequence[Result]) -> str:
    """How many learnt, and the quartiles of all."""
    every = Runs(None, tuple(results))
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
        ink = sketched(sheet(results, (wide / scale, high / scale), theme, title))
        return context.render(lambda _: painter.draw([ink]), (wide, high))


def _count(results: Sequence[Result]) -> int:
    return 1 + max(len(swept(results)), 1)


def _plots(places: Sequence[Box], theme: Theme, results: Sequence[Result]) -> list[Group]:
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


def _ground(theme: Theme, wide: float, high: float) -> Group:
    return Group([Rect(0.0, 0.0, wide, high, theme.background)])
