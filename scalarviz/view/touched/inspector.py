"""The inspector: what a selected weight is, what it is worth, why it moved, and how it got there."""

from __future__ import annotations

import numpy as np

from ...run.frame import Frame
from ..draw.places import LABEL, TITLE, Box
from ..draw.sketch import Sketch
from ..draw.text import figure, measure
from ..draw.theme import Theme
from ..panels.wording import batch_of
from ..shown.subject import Subject
from .explanation import Explanation, Lines
from .value_history import ValueHistory
from .who import tensor_of, who

WIDE, HIGH, LOW = 524.0, 106.0, 84.0
"""Width, and the heights with and without lines that explain."""
_LOOSE, _TIGHT = (26.0, 24.0, 21.0, 23.0, 20.0), (21.0, 19.0, 19.0, 20.0, 17.0)
"""Baselines: of the heading; from there to the words, their numbers, the first line, the next. Two lines are tight."""
_CURVE_FROM = 440.0


class Inspector:
    """The panel of one selected weight.

    Parameters
    ----------
    subject : Subject
    index : int
        Flat.

    Attributes
    ----------
    box, number : Box or None
        Where the panel and its value were drawn last; None where they were not.
    """

    def __init__(self, subject: Subject, index: int) -> None:
        self.box: Box | None = None
        self.number: Box | None = None
        self.index = index
        self.who = who(subject, index)
        self._subject = subject
        self._explanation = Explanation(subject, index, tensor_of(subject, index))
        self._history = ValueHistory()

    def follow(self, frame: Frame) -> None:
        """Take over the value of a frame."""
        self._history.add(frame.step, float(frame.values[self.index]))

    def explanation(self, frame: Frame) -> Lines:
        """Where its gradient comes from and what the last step did with it; as much as is true."""
        return self._explanation.lines(frame)

    # the panel

    def sketch(self, box: Box, theme: Theme, frame: Frame, explanation: Lines) -> Sketch:
        """The panel in `box`; what does not fit is left out."""
        sketch = Sketch()
        x, y, width, height = self.box = box
        self.number = None
        sketch.rect(*box, radius=6, fill=theme.panel, stroke=theme.border)
        pad = 16.0 if width >= 300 else 10.0
        curve = width >= _CURVE_FROM and height >= LOW
        right = x + width - pad
        title = f"value since step {self._history.steps[0]:,}" if curve and self._history.steps else ""
        tight = len(explanation) > 1 and height >= HIGH
        head, words, numbers, first, line = _TIGHT if tight else _LOOSE
        if title:
            sketch.text(right, y + head, title, LABEL, theme.text3, anchor="right")
        self._heading(sketch, x + pad, y + head, right - measure(title, LABEL) - 12, theme)
        at = y + head + words
        if height >= LOW:
            self._numbers(sketch, (x + pad, at), (x + 330 if curve else right) - x - pad, numbers, theme, frame)
        if curve:
            self._curve(sketch, (x + 346, y + head + 12, right - x - 346 - 4, 28 if tight else 38), theme)
        for ways in explanation if height >= HIGH else ():
            text = next((way for way in ways if measure(way, LABEL) <= width - 2 * pad), "")
            sketch.text(x + pad, at + numbers + first, text, LABEL, theme.text2)
            at += line
        return sketch

    def _heading(self, sketch: Sketch, x: float, y: float, right: float, theme: Theme) -> None:
        name = self.who.name
        if x + measure(name, TITLE, True) > right:
            return
        sketch.text(x, y, name, TITLE, theme.text1, bold=True)
        x += measure(name, TITLE, True) + 15
        if x + measure(self.who.meaning, LABEL) <= right:
            sketch.text(x, y, self.who.meaning, LABEL, theme.text2)

    def _numbers(
        self, sketch: Sketch, at: tuple[float, float], width: float, below: float, theme: Theme, frame: Frame
    ) -> None:
        """Value, gradient and last update in columns, each number so far below its word."""
        x, y = at
        step = min(width / 3, 98.0)
        computed = bool(frame.computed[self.index])
        batch = batch_of(self._subject)
        mean = batch is not None and batch.count > 1 and batch.kind == "mean"
        names: tuple[str, ...] = ("mean gradient", "gradient") if mean else ("gradient",)
        shown: list[tuple[tuple[str, ...], str, bool]]  # words, number, whether it is older
        shown = [(("value",), figure(float(frame.values[self.index])), False)]
        if self._subject.source.facts is not None or frame.computed.any():
            missing = "not computed yet" if step * 2 > measure("not computed yet", LABEL) + 8 else "\N{EN DASH}"
            text = figure(float(frame.gradient[self.index])) if computed else missing
            shown.append((names, text, frame.edited))
            if frame.frozen[self.index]:
                shown.append((("last update",), "frozen", False))
            elif computed:
                shown.append((("last update",), figure(float(frame.update[self.index])), frame.edited))
        self.number = (x - 5, y + below - 16, max(measure(shown[0][1], TITLE), 44.0) + 10, 22)
        for k, (words, value, older) in enumerate(shown):
            size = TITLE if k == 0 or computed else LABEL
            word = next((w for w in words if measure(w, LABEL) <= step - 4), words[0] if k == 0 else "")
            if word:
                colour = theme.text3 if older or size == LABEL else theme.text1
                sketch.text(x + k * step, y, word, LABEL, theme.text3)
                sketch.text(x + k * step, y + below, value, size, colour)

    def _curve(self, sketch: Sketch, box: Box, theme: Theme) -> None:
        """The value since it was selected: start as a thin line across, the end as a disc."""
        x, y, width, height = box
        steps, values = np.array(self._history.steps, float), np.array(self._history.values)
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
