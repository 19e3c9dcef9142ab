"""The numbers of one weight in columns: value, gradient, last update, the optimiser's state."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...run.core.frame import Frame
from ..cubes.quantity import short
from ..draw.places import LABEL, TITLE
from ..draw.sketch import Box, Sketch
from ..draw.text import figure, measure
from ..draw.theme import Theme
from ..panels.wording import batch_of, update_names
from ..shown.subject import Subject
from .account import Account
from .entry import Entry
from .who import tensor_of


def draw_figures(
    sketch: Sketch,
    at: tuple[float, float],
    width: float,
    below: float,
    theme: Theme,
    frame: Frame,
    subject: Subject,
    index: int,
    entry: Entry | None = None,
    ratio: bool = False,
) -> Box:
    """Value, gradient and last update of the weight `index` in columns, each number so far `below` its word.

    An `entry` stands in the place of the value while it is typed. `ratio` is a fourth column: how large the update is
    beside the value. Returns the box of the value.
    """
    x, y = at
    step = width / 4 if ratio else min(width / 3, 98.0)
    shown = _columns(frame, subject, index, step)
    wide = max(measure(shown[0][1], TITLE), 44.0)
    box = (x - 5, y + below - 16, wide + 10, 22)
    if entry is not None:
        box = (x - 5, y + below - 16, max(min(step * 2, width) - 4, entry.width) + 10, 22)
        shown = [shown[0], *shown[3:]]
        entry.draw(sketch, box, theme)
    for k, (words, value, older, size) in enumerate(shown):
        word = next((w for w in words if measure(w, LABEL) <= step - 4), words[0] if k == 0 else "")
        if word:
            colour = theme.text3 if older or size == LABEL else theme.text1
            sketch.text(x + k * step, y, word, LABEL, theme.text3)
            if k or entry is None:
                sketch.text(x + k * step, y + below, value, size, colour)
    share = _ratio(frame, index) if ratio else ""
    if share:
        sketch.text(x + width, y, "of value", LABEL, theme.text3, anchor="right")
        sketch.text(x + width, y + below, share, TITLE, theme.text3 if frame.edited else theme.text1, anchor="right")
    return box


def _ratio(frame: Frame, index: int) -> str:
    """How large the last update was beside the value, in percent; empty where there was none."""
    value, update = float(frame.values[index]), float(frame.update[index])
    if not frame.known("update")[index] or frame.frozen[index] or not value or not np.isfinite(update / value):
        return ""
    share = 100 * abs(update / value)
    return f"{share:.2g} %" if share < 100 else f"{share:,.0f} %"


def _columns(frame: Frame, subject: Subject, index: int, step: float) -> list[tuple[tuple[str, ...], str, bool, int]]:
    """Words (the longest first), number, whether it is older than the value, size of its type."""
    computed = bool(frame.computed[index])
    batch = batch_of(subject)
    mean = batch is not None and batch.count > 1 and batch.kind == "mean"
    names: tuple[str, ...] = ("mean gradient", "gradient") if mean else ("gradient",)
    size = TITLE if computed else LABEL
    found: list[tuple[tuple[str, ...], str, bool, int]] = []
    found.append((("value",), figure(float(frame.values[index])), False, TITLE))
    moved = bool(frame.known("update")[index])
    if subject.source.facts is None and not (frame.computed.any() or moved):
        return found
    words = "none" if _untrained(subject, index) else "not computed yet"
    words = "not recorded" if subject.source.lacks("gradient") else words
    missing = words if step * 2 > measure(words, LABEL) + 8 else "\N{EN DASH}"
    if computed or subject.source.facts is not None or frame.computed.any():
        found.append((names, figure(float(frame.gradient[index])) if computed else missing, frame.edited, size))
    if frame.frozen[index]:
        found.append((("last update",), "frozen", False, size))
    elif moved or (_untrained(subject, index) and frame.computed.any()):
        found.append((update_names(frame), figure(float(frame.update[index])), frame.edited, size))
    return found


def _untrained(subject: Subject, index: int) -> bool:
    return tensor_of(subject, index).buffer


def draw_row(
    sketch: Sketch, at: tuple[float, float], step: float, pairs: Sequence[tuple[str, str]], theme: Theme
) -> None:
    """Words with a number below each, every `step` pixels."""
    x, y = at
    for k, (word, value) in enumerate(pairs):
        sketch.text(x + k * step, y, word, LABEL, theme.text3)
        sketch.text(x + k * step, y + 19, value, LABEL, theme.text1)


def state_pairs(account: Account) -> list[tuple[str, str]]:
    """The optimiser's state by name."""
    return [(short(name), figure(number)) for name, number in account.state]
