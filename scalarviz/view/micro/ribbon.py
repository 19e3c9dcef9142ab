"""The ribbon: the six phases of a training step as arrows, with the micro-steps of the current one as squares."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..ink.places import CHANNEL, LABEL
from ..ink.sketch import Box, Sketch, holds
from ..ink.text import measure
from ..ink.theme import Theme, mixed
from .told import Phase

HEIGHT = 44.0
_GAP, _POINT = 4.0, 9.0
_WIDTHS = (0.9, 1.45, 0.8, 0.8, 1.5, 1.5)
"""Shares of the six arrows."""
_SQUARE, _STEP = 8.0, 11.0
Floats = NDArray[np.float64]


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


def arrow_at(box: Box, point: tuple[float, float]) -> int | None:
    """The number of the arrow under a point; None beside the ribbon."""
    wider = ((x, y, width + _GAP, height) for x, y, width, height in arrows(box))
    return next((number for number, arrow in enumerate(wider) if holds(arrow, point)), None)


def ribbon(box: Box, theme: Theme, phases: Sequence[Phase], current: int) -> Sketch:
    """The ribbon in `box`; a name that has no room is shortened, what stands below it left out.

    Parameters
    ----------
    phases : sequence of Phase
        Six.
    current : int
        Those before it are done, those after it wait.
    """
    sketch = Sketch()
    for number, (place, phase) in enumerate(zip(arrows(box), phases, strict=True)):
        _shape(sketch, place, theme, number, current)
        _words(sketch, place, theme, phase, number - current)
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


def _ring(place: Box, *, notched: bool) -> Floats:
    """Its corners from the top left on, clockwise; the last one is the notch."""
    x, y, width, height = place
    point = min(_POINT, 0.3 * width)
    corners = [(x, y), (x + width - point, y), (x + width, y + height / 2), (x + width - point, y + height)]
    corners.append((x, y + height))
    if notched:
        corners.append((x + point, y + height / 2))
    return np.array(corners)


def _words(sketch: Sketch, place: Box, theme: Theme, phase: Phase, after: int) -> None:
    """Name and counts; `after` is below 0 for what is done, above it for what waits."""
    x, y, width, height = place
    left, room = x + (20.0 if width > 90 else 13.0), width - (31.0 if width > 90 else 20.0)
    name = next((n for n in _shorter(phase.name) if measure(n, CHANNEL, after == 0) <= room), "")
    colour = theme.text3 if after > 0 else theme.text1
    low = height >= 40 and bool(phase.words)
    ways = (f"{phase.done} of {phase.count}",) if after == 0 and phase.count > 1 else (phase.words, phase.short)
    words = next((way for way in ways if measure(way, LABEL) <= room), "")
    low = low and bool(words)
    sketch.text(left, y + (19 if low else height / 2 + 5.5), name, CHANNEL, colour, bold=after == 0)
    end = left + measure(name, CHANNEL, after == 0)
    if low:
        sketch.text(left, y + 36, words, LABEL, theme.text1 if after == 0 else theme.text3)
        end = max(end, left + measure(words, LABEL))
    if after == 0 and phase.count > 1:
        _squares(sketch, (end + 14, y, x + width - 14 - end - 14, height), theme, phase)


def _shorter(name: str) -> tuple[str, ...]:
    """A name, and its beginning for a narrow arrow."""
    return name, name[:4], name[:1]


def _squares(sketch: Sketch, box: Box, theme: Theme, phase: Phase) -> None:
    """One square a micro-step, in two rows where one is too short; a bar where there are too many."""
    x, y, width, height = box
    rows = 1 if phase.count * _STEP - (_STEP - _SQUARE) <= width else 2
    columns = -(-phase.count // rows)
    if columns * _STEP - (_STEP - _SQUARE) > width:
        if width >= 30:
            sketch.rect(x, y + height / 2 - 3, width, 6, radius=3, fill=mixed(theme.pulse, theme.panel, 0.3))
            share = phase.done / phase.count
            sketch.rect(x, y + height / 2 - 3, max(6.0, share * width), 6, radius=3, fill=theme.pulse)
        return
    top = y + height / 2 - (rows * _STEP - (_STEP - _SQUARE)) / 2
    for k in range(phase.count):
        row, column = divmod(k, columns)
        at = (x + column * _STEP, top + row * _STEP, _SQUARE, _SQUARE)
        if k < phase.done:
            sketch.rect(*at, radius=1.5, fill=theme.pulse)
        else:
            sketch.rect(*at, radius=1.5, stroke=mixed(theme.pulse, theme.panel, 0.6))
