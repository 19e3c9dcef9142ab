"""`Page`: a column of sections, written from top to bottom; what a click on it means is kept with its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ...run.core.frame import Frame
from ..cubes.scale import short_name
from ..ink.places import LABEL, TITLE
from ..ink.sketch import Box, Does, Sketch
from ..ink.text import figure, measure
from ..ink.theme import Theme
from ..ink.widgets import Entry, button
from ..panels.wording import batch_of, update_names
from ..shown.subject import Subject
from .account import Account
from .selection import Part, tensor_of


@dataclass(slots=True, eq=False)
class Page:
    """What has been written so far.

    Attributes
    ----------
    x, width : float
        Left edge and width of the column (logical pixels).
    y : float
        Where the next section begins.
    theme : Theme
    over : Does or None
        What a click at the pointer would do: its place is marked.
    sketch : Sketch
    """

    x: float
    y: float
    width: float
    theme: Theme
    over: Does | None = None
    sketch: Sketch = field(default_factory=Sketch)

    @property
    def right(self) -> float:
        """The right edge."""
        return self.x + self.width

    def spot(self, box: Box, name: str, value: str | int = "") -> bool:
        """A click on `box` does something; returns whether the pointer is there."""
        self.sketch.spot(box, name, value)
        return self.over == (name, value)

    def rule(self, gap: float = 12.0) -> None:
        """A thin line between two sections, in the middle of `gap`."""
        y = round(self.y + gap / 2)
        self.sketch.line((self.x, y), (self.right, y), self.theme.border, 1.0)
        self.y += gap

    def heading(self, title: str, note: str = "") -> None:
        """A bold title, and at the right what it is about, as far as there is room."""
        self.y += 16
        self.sketch.text(self.x, self.y, title, LABEL, self.theme.text1, bold=True)
        if measure(title, LABEL, True) + 12 + measure(note, LABEL) <= self.width:
            self.sketch.text(self.right, self.y, note, LABEL, self.theme.text3, anchor="right")
        self.y += 6

    def buttons(self, labels: list[tuple[str, str, str]]) -> None:
        """Buttons side by side: label, its key, and the action that a click does."""
        gap, high = 6.0, 24.0
        wide = [measure(label, LABEL) + measure(key, LABEL, True) + 6 for label, key, _ in labels]
        air = (self.width - gap * (len(labels) - 1) - sum(wide)) / len(labels)
        if air < 6:  # without the keys, which the list of keys has
            labels = [(label, "", name) for label, _, name in labels]
            wide = [measure(label, LABEL) for label, _, _ in labels]
            air = max(4.0, (self.width - gap * (len(labels) - 1) - sum(wide)) / len(labels))
        air, x = min(air, 24.0), self.x
        for (label, key, name), own in zip(labels, wide, strict=True):
            box = (x, self.y, own + air, high)
            button(self.sketch, box, self.theme, label, key, lit=self.spot(box, name), bold=False)
            x += own + air + gap
        self.y += high


# ---- The outline above a weight: network, layer, tensor, neuron, row, column, weight. A click selects one of them.

CRUMBS = 20.0
_SHORTER = (("row", "row"), ("column", "column"), ("neuron", "neuron"), ("weight", "one"), ("network", "all"),
            ("layer", "layer"))  # fmt: skip
_BETWEEN = {"neuron": " › ", "row": " · ", "column": " · "}


def draw_crumbs(page: Page, parts: Sequence[Part], selected: str) -> None:
    """One line; where it is too long parts lose their numbers, then the first ones go.

    A weight that is selected itself has its name above.
    """
    parts = [part for part in parts if part.kind != "weight" or selected != "weight"] or parts
    names = [part.short for part in parts]
    for kind, shorter in _SHORTER:
        if _width(parts, names) <= page.width:
            break
        names = [shorter if p.kind == kind else n for p, n in zip(parts, names, strict=True)]
    first = 0
    while first < len(parts) - 1 and _width(parts[first:], names[first:]) > page.width:
        first += 1
    x, base = page.x, page.y + 14
    for number, (part, name) in enumerate(zip(parts[first:], names[first:], strict=True)):
        if number:
            between = _BETWEEN.get(part.kind, " › ")
            page.sketch.text(x, base, between, LABEL, page.theme.flow)
            x += measure(between, LABEL)
        chosen = part.kind == selected
        wide = measure(name, LABEL, chosen)
        over = page.spot((x - 2, page.y, wide + 4, CRUMBS), "part", part.kind)
        colour = page.theme.text1 if chosen or over else page.theme.text3
        page.sketch.text(x, base, name, LABEL, colour, bold=chosen)
        if over:
            page.sketch.line((x, base + 3), (x + wide, base + 3), page.theme.text1, 1.0)
        x += wide
    page.y += CRUMBS


def _width(parts: Sequence[Part], names: Sequence[str]) -> float:
    signs = sum(measure(_BETWEEN.get(part.kind, " › "), LABEL) for part in parts[1:])
    return sum(measure(name, LABEL, True) for name in names) + signs


# ---- The numbers of one weight in columns: value, gradient, last update, the optimiser's state.


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
    return [(short_name(name), figure(number)) for name, number in account.state]
