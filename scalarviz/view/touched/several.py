"""The inspector of several weights: how many, and what their values and gradients come to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...run.core.frame import Frame
from ..draw.places import LABEL, Box
from ..draw.sketch import Sketch
from ..draw.text import figure, measure
from ..draw.theme import Theme
from ..panels.wording import BEFORE, update_names
from . import crumbs
from .column import BUTTONS, head
from .entry import Entry
from .page import Page
from .parts import Part
from .selection import Selection
from .small import HIGH, draw_heading
from .who import Identity

HEIGHT = 212.0
_ROWS = ("mean", "largest", "norm")


def summary(numbers: NDArray[np.floating]) -> tuple[float, float, float]:
    """Mean, the largest by size with its sign, and the Euclidean norm, in float64."""
    exact = np.asarray(numbers, np.float64)
    with np.errstate(all="ignore"):
        top = exact[int(np.argmax(np.where(np.isnan(exact), np.inf, np.abs(exact))))]
        return float(exact.mean()), float(top), float(np.sqrt((exact * exact).sum()))


def _columns(selection: Selection, frame: Frame) -> list[tuple[str, tuple[float, float, float], bool]]:
    """What is summed up: its name, its three numbers, and whether they are older."""
    found = [("value", summary(selection.of(frame.values)), False)]
    if selection.of(frame.computed).any():
        found.append(("gradient", summary(selection.of(frame.gradient)), frame.edited))
    if selection.of(frame.known("update")).any():
        found.append((update_names(frame)[-1], summary(selection.of(frame.update)), frame.edited))
    return found


def draw_several(
    page: Page,
    selection: Selection,
    parts: Sequence[Part],
    frame: Frame,
    entry: Entry | None,
    *,
    edits: bool,
) -> None:
    """The whole column of a selection."""
    theme, sketch = page.theme, page.sketch
    count = f"{selection.count:,} weights"
    head(page, selection.words, "" if count == selection.words else count)
    crumbs.draw_crumbs(page, parts, selection.kind)
    columns = _columns(selection, frame)
    page.y += 20
    step = (page.width - 56.0) / 3
    for k, (name, _, older) in enumerate(columns):
        note = f"{name}, {BEFORE}" if older and len(columns) == 1 else name
        sketch.text(page.x + 56 + (k + 1) * step, page.y, note, LABEL, theme.text3, anchor="right")
    for row, word in enumerate(_ROWS):
        y = page.y + 21.0 * (row + 1)
        sketch.text(page.x, y, word, LABEL, theme.text3)
        for k, (_, numbers, older) in enumerate(columns):
            colour = theme.text3 if older else theme.text1
            sketch.text(page.x + 56 + (k + 1) * step, y, figure(numbers[row]), LABEL, colour, anchor="right")
    page.y += 21.0 * 3 + 22
    frozen = int(selection.of(frame.frozen).sum())
    said = f"{frozen:,} of {selection.count:,} frozen" if 0 < frozen < selection.count else ""
    said = "all frozen" if frozen == selection.count else said
    sketch.text(page.x, page.y, said or "none frozen", LABEL, theme.text3)
    if entry is not None:
        entry.draw(sketch, (page.right - 140, page.y - 16, 140, 22), theme)
    page.y += 14
    if edits:
        page.buttons([("free" if frozen == selection.count else "freeze", "K", "freeze"), *BUTTONS])


def draw_several_small(box: Box, theme: Theme, selection: Selection, frame: Frame, entry: Entry | None) -> Sketch:
    """The same below the cubes: a line each for values and gradients."""
    sketch = Sketch()
    x, y, width, height = box
    sketch.rect(*box, radius=6, fill=theme.panel, stroke=theme.border)
    count = f"{selection.count:,} weights"
    pad = 16.0 if width >= 300 else 10.0
    who = Identity(selection.words, "" if count == selection.words else count)
    draw_heading(sketch, x + pad, y + 26, x + width - pad, who, theme)
    for k, (name, numbers, older) in enumerate(_columns(selection, frame)[: 3 if height >= HIGH else 2]):
        parts = [f"{word} {figure(n)}" for word, n in zip(_ROWS, numbers, strict=True)]
        ways = ("   ".join([f"{name}:", *parts]), "   ".join([f"{name}:", parts[0], parts[2]]), f"{name}: {parts[0]}")
        text = next((way for way in ways if measure(way, LABEL) <= width - 2 * pad), "")
        sketch.text(x + pad, y + 48 + 20 * k, text, LABEL, theme.text3 if older else theme.text1)
    if entry is not None:
        entry.draw(sketch, (x + width - 156, y + 8, 140, 22), theme)
    return sketch
