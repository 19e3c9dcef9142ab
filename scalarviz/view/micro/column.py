"""Beside the cubes of an opened step: whose numbers they are, where the deltas come from, and the legend."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..ink.maps import displayed
from ..ink.places import LABEL, TITLE
from ..ink.sketch import Box, Sketch
from ..ink.text import measure
from ..ink.theme import Theme, mixed
from .told import Told

SWITCH = 36.0
_SWATCHES, _ROW, _GAP = 62.0, 23.0, 20.0
LEGEND = 66.0


def halves(box: Box) -> tuple[Box, Box]:
    """The two sides of the switch: one sample, the whole batch."""
    x, y, wide, high = box
    return (x, y, wide / 2, high), (x + wide / 2, y, wide / 2, high)


def switch(box: Box, theme: Theme, noun: str, *, trial: bool, colour: ArrayLike | None = None) -> Sketch:
    """The switch between one sample and the whole batch; `colour` is the sample's, where it has one."""
    sketch = Sketch()
    y, high = box[1], box[3]
    sketch.rect(*box, radius=6, fill=theme.panel, stroke=theme.border)
    chosen = halves(box)[0 if trial else 1]
    fill = mixed(theme.gradient[3], theme.panel, 0.5)
    sketch.rect(chosen[0] + 3, y + 3, chosen[2] - 6, high - 6, radius=4, fill=fill, stroke=theme.pulse)
    size = TITLE if high >= 32 else LABEL
    for part, whole, on in zip(halves(box), (f"this {noun}", "whole batch"), (trial, not trial), strict=True):
        middle = part[0] + part[2] / 2
        dot = 22.0 if colour is not None and whole.startswith("this") and part[2] > 110 else 0.0
        ink = theme.text1 if on else theme.text3
        fits = measure(whole, size, on) + dot <= part[2] - 8
        words = whole if fits else whole.split()[-1]
        width = measure(words, size, on)
        if dot and colour is not None:
            left = middle - (width + dot) / 2
            sketch.rect(left, y + high / 2 - 7, 14, 14, radius=4, fill=displayed(colour))
        sketch.text(middle + dot / 2, y + high / 2 + 0.36 * size, words, size, ink, bold=on, anchor="middle")
    return sketch


def column(
    box: Box, theme: Theme, told: Told, names: Sequence[str], colours: Sequence[ArrayLike | None]
) -> tuple[Sketch, float]:
    """Swatches and the table of deltas in `box`; returns where they end.

    Parameters
    ----------
    names : sequence of str
        Of the outputs.
    colours : sequence of array_like or None
        Input, output and target of the sample, where they are colours; an empty one stands for what has not come yet.
    """
    sketch = Sketch()
    x, y, wide, high = box
    bottom = y + high
    if colours and y + _SWATCHES + 18 <= bottom:
        _swatches(sketch, (x, y, wide, _SWATCHES), theme, colours, told.adding)
        y += _SWATCHES + _GAP
    if told.table and y + 24 + _ROW * (len(told.table) + 1) <= bottom:
        y = _table(sketch, (x, y, wide, 0.0), theme, told, names)
    return sketch, y


def _swatches(sketch: Sketch, box: Box, theme: Theme, colours: Sequence[ArrayLike | None], adding: int) -> None:
    x, y, wide, high = box
    own = (wide - 16) / 3
    for k, (name, colour) in enumerate(zip(("input", "output", "target"), colours, strict=True)):
        left = x + k * (own + 8)
        first = f"number {adding:,}" if adding else name
        sketch.text(left, y + 11, name if k else first, LABEL, theme.text2)
        fill = None if colour is None else displayed(colour)
        sketch.rect(left, y + 18, own, high - 18, radius=5, fill=fill, stroke=theme.flow)


def _table(sketch: Sketch, box: Box, theme: Theme, told: Told, names: Sequence[str]) -> float:
    x, y, wide, _ = box
    sketch.text(x, y + 14, "where δ comes from", TITLE, theme.text1, bold=True)
    step = min(62.0, (wide - 108) / max(1, len(names)))
    ends = [x + wide - step * (len(names) - 1 - k) for k in range(len(names))]
    y += 24
    for end, name in zip(ends, names, strict=True):
        sketch.text(end, y + 14, name, LABEL, theme.text2, bold=True, anchor="right")
    for number, (words, cells) in enumerate(told.table):
        y += _ROW
        last = number == len(told.table) - 1
        if last:
            sketch.line((x, y), (x + wide, y), theme.border, 1.0)
            y += 3
        sketch.text(x, y + 15, words, LABEL, theme.text1 if last else theme.text2, bold=last)
        for end, cell in zip(ends, cells, strict=True):
            sketch.text(end, y + 15, cell, LABEL, theme.pulse if last else theme.text2, bold=last, anchor="right")
    return y + _ROW + _GAP


def beside(boxes: Sequence[Box]) -> Box | None:
    """The column that the side panels stand in; None where they stand elsewhere or there are none."""
    if not boxes:
        return None
    sides = np.array(boxes)
    left, top = sides[:, 0].min(), sides[:, 1].min()
    right, bottom = (sides[:, 0] + sides[:, 2]).max(), (sides[:, 1] + sides[:, 3]).max()
    return (float(left), float(top), float(right - left), float(bottom - top))
