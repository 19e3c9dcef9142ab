"""The line above a scene in the tour: which station, what is said, how far it is, and the keys."""

from __future__ import annotations

from collections.abc import Sequence

from ..draw.places import LABEL, TITLE
from ..draw.sketch import Sketch
from ..draw.text import measure
from ..draw.theme import Theme
from ..panels.overlay import wrapped
from ..watch.room_actions import TOUR
from .grid import USUAL
from .station import Station

HEIGHT, SMALL = 74.0, 50.0
"""Logical pixels of the line, and in a small window."""


def scale_of(size: tuple[int, int]) -> float:
    """Device pixels of a logical one."""
    return max(1.0, min(size[0] / USUAL[0], size[1] / USUAL[1]))


def line_height(size: tuple[float, float]) -> float:
    """Logical pixels of the line in a window of so many."""
    return SMALL if size[0] < 900 or size[1] < 500 else HEIGHT


def line(
    size: tuple[float, float],
    theme: Theme,
    stations: Sequence[Station],
    number: int,
    seconds: float,
    done: float,
    *,
    waits: bool,
) -> Sketch:
    """The line.

    Parameters
    ----------
    size : (float, float)
        Logical pixels of the window.
    number : int
        Which station is shown.
    seconds, done : float
        Since it began, and their share of all that it takes.
    waits : bool
        Whether the coming one is still being built.
    """
    small = line_height(size) == SMALL
    margin, head, text, high = (12.0, 16, LABEL, SMALL) if small else (24.0, 20, TITLE, HEIGHT)
    station, sketch = stations[number], Sketch()
    sketch.rect(0, 0, size[0], high, fill=theme.panel)
    _progress(sketch, size[0], high, theme, len(stations), number, done)
    first = 20.0 if small else 31.0
    right = size[0] - margin
    for action in () if theme.presenter else reversed(TOUR):  # no small print in a hall
        for words, colour, bold in ((action.words, theme.text3, False), (action.keys[0], theme.text2, True)):
            sketch.text(right, first, words, LABEL, colour, bold=bold, anchor="right")
            right -= measure(words, LABEL, bold) + (5 if not bold else 14)
    counted = f"{number + 1} of {len(stations)}"
    sketch.text(margin, first, counted, LABEL, theme.text3)
    after = margin + measure(counted, LABEL) + 12
    sketch.text(after, first, station.headline, head, theme.text1, bold=True)
    after += measure(station.headline, head, True) + 14
    remark = "the next one is being made" if waits else station.before
    if remark and after + measure(remark, LABEL) <= right:
        sketch.text(after, first, remark, LABEL, theme.text2)
    said = wrapped(station.sentence(seconds), size[0] - 2 * margin, text)[:1]
    sketch.text(margin, first + (19 if small else 27), said[0] if said else "", text, theme.text1)
    return sketch


def _progress(sketch: Sketch, width: float, bottom: float, theme: Theme, count: int, number: int, done: float) -> None:
    """A part for every station at the line's lower edge."""
    gap, thick = 4.0, 3.0
    wide = (width - gap * (count - 1)) / count
    for k in range(count):
        x = k * (wide + gap)
        sketch.rect(x, bottom - thick, wide, thick, fill=theme.border)
        part = 1.0 if k < number else done if k == number else 0.0
        if part > 0:
            sketch.rect(x, bottom - thick, wide * part, thick, fill=theme.text2)
