"""The inspector in its small form, below the cubes, where there is no column for it."""

from __future__ import annotations

import numpy as np

from ...run.core.frame import Frame
from ..draw.places import LABEL, TITLE
from ..draw.sketch import Box, Sketch
from ..draw.text import measure
from ..draw.theme import Theme
from ..shown.subject import Subject
from .entry import Entry
from .explanation import Lines
from .figures import draw_figures
from .value_history import ValueHistory
from .who import Identity

WIDE, HIGH, LOW = 524.0, 106.0, 84.0
"""Width, and the heights with and without lines that explain."""
_LOOSE, _TIGHT = (26.0, 24.0, 21.0, 23.0, 20.0), (21.0, 19.0, 19.0, 20.0, 17.0)
"""Baselines: of the heading; from there to the words, their numbers, the first line, the next. Two lines are tight."""
_CURVE_FROM = 440.0


def draw_small(
    box: Box,
    theme: Theme,
    frame: Frame,
    subject: Subject,
    index: int,
    who: Identity,
    history: ValueHistory,
    explanation: Lines,
    entry: Entry | None,
) -> tuple[Sketch, Box | None]:
    """The panel in `box`, and the box of the value; what does not fit is left out."""
    sketch, number = Sketch(), None
    x, y, width, height = box
    sketch.rect(*box, radius=6, fill=theme.panel, stroke=theme.border)
    pad = 16.0 if width >= 300 else 10.0
    curve = width >= _CURVE_FROM and height >= LOW
    right = x + width - pad
    title = f"value since step {history.steps[0]:,}" if curve and history.steps else ""
    tight = len(explanation) > 1 and height >= HIGH
    first, words, numbers, below, line = _TIGHT if tight else _LOOSE
    if title:
        sketch.text(right, y + first, title, LABEL, theme.text3, anchor="right")
    draw_heading(sketch, x + pad, y + first, right - measure(title, LABEL) - 12, who, theme)
    at = y + first + words
    if height >= LOW:
        wide = (x + 330 if curve else right) - x - pad
        number = draw_figures(sketch, (x + pad, at), wide, numbers, theme, frame, subject, index, entry)
    if curve:
        _curve(sketch, (x + 346, y + first + 12, right - x - 346 - 4, 28 if tight else 38), history, theme)
    for ways in explanation if height >= HIGH else ():
        text = next((way for way in ways if measure(way, LABEL) <= width - 2 * pad), "")
        sketch.text(x + pad, at + numbers + below, text, LABEL, theme.text2)
        at += line
    return sketch, number


def draw_heading(sketch: Sketch, x: float, y: float, right: float, who: Identity, theme: Theme) -> None:
    """Name and meaning on one line, as far as they fit."""
    if x + measure(who.name, TITLE, True) > right:
        return
    sketch.text(x, y, who.name, TITLE, theme.text1, bold=True)
    x += measure(who.name, TITLE, True) + 15
    if x + measure(who.meaning, LABEL) <= right:
        sketch.text(x, y, who.meaning, LABEL, theme.text2)


def _curve(sketch: Sketch, box: Box, history: ValueHistory, theme: Theme) -> None:
    """The value since it was selected: start as a thin line across, the end as a disc."""
    x, y, width, height = box
    steps, values = np.array(history.steps, float), np.array(history.values)
    known = np.isfinite(values)
    steps, values = steps[known], values[known]
    if not len(steps):
        return
    low, high = float(values.min()), float(values.max())
    middle, span = (low + high) / 2, max(high - low, 1e-3 * max(abs(low), abs(high)), 1e-12)
    across = x + width * (steps - steps[0]) / max(steps[-1] - steps[0], 1.0)
    up = y + height * (0.5 - (values - middle) / span)
    sketch.line((x, float(up[0])), (x + width, float(up[0])), theme.grid, 1.0)
    if len(steps) > 1:
        sketch.polyline(np.stack([across, up], axis=1), theme.text1, 2.0)
    sketch.disc(float(across[-1]), float(up[-1]), 3.5, theme.text1)
