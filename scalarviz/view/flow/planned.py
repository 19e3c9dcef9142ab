"""`PlanLabels`: titles, names and wires of a planned picture, where its blueprint says."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..draw.places import CHANNEL, LABEL, Box
from ..draw.sketch import Sketch
from ..draw.text import measure
from ..draw.theme import Theme
from ..space.blueprint import Blueprint, Caption, Wire
from ..space.plate import Floats
from .labels import range_text

PLUS = 8.0
"""Radius of the disc at which something is added."""
_ARROW, _WIRE = 7.0, 1.4


class PlanLabels:
    """The words of one blueprint as one camera shows it.

    Parameters
    ----------
    sheet : Blueprint
        In logical pixels.
    shapes : mapping of str to tuple of int
        Of the tensors.
    turned : set of str
        Tensors whose inputs are drawn downwards: their shape is written as it is drawn.
    box : Box
        What would leave it is left out.
    """

    def __init__(self, sheet: Blueprint, shapes: Mapping[str, tuple[int, ...]], turned: set[str], box: Box) -> None:
        self.sheet, self._box = sheet, box
        self._shapes = {
            name: "×".join(f"{n:,}" for n in (shape[::-1] if name in turned else shape))
            for name, shape in shapes.items()
        }

    def names(self, theme: Theme) -> Sketch:
        """The words that stay from frame to frame, and the wires."""
        sketch = Sketch()
        for wire in self.sheet.wires:
            self._wire(sketch, wire, theme)
        for x, y in self.sheet.pluses:
            if self._inside(x - PLUS, y - PLUS, 2 * PLUS, 2 * PLUS):
                sketch.disc(x, y, PLUS, theme.background, stroke=theme.text2, border=1.4)
                sketch.lines([[x - 4, y], [x, y - 4]], [[x + 4, y], [x, y + 4]], theme.text1, 1.4)
        for head in self.sheet.headings:
            if self._inside(head.x, head.y - 20, head.width, 24):
                count = f"{head.count:,}"
                wide = measure(head.text, CHANNEL, True)
                sketch.text(head.x, head.y - 6, head.text, CHANNEL, theme.text1, bold=True)
                if wide + 8 + measure(count, CHANNEL) <= head.width + 30:
                    sketch.text(head.x + wide + 8, head.y - 6, count, CHANNEL, theme.text3)
                sketch.line((head.x, head.y), (head.x + head.width, head.y), theme.flow, 1.0)
        note = self.sheet.note
        fits = self.sheet.says_words(measure(self.sheet.words, LABEL))
        if note is not None and fits and self._inside(note[0], note[1] - 12, note[2], 14):
            sketch.text(note[0], note[1], self.sheet.words, LABEL, theme.text3)
        for name in self._captions():
            sketch.text(name.x, name.y + 17, name.title, CHANNEL, theme.text1, bold=True)
        return sketch

    def ranges(self, extents: Mapping[str, float], theme: Theme, bound: str = "±") -> Sketch:
        """The second lines: shape, and `bound` and the range of each tensor in `extents`."""
        sketch = Sketch()
        for name in self._captions():
            shape = self._shapes[name.tensor]
            span = f" {range_text(extents, name.tensor, bound)}" if name.tensor in extents else ""
            line = next((text for text in (shape + span, shape) if measure(text, LABEL) <= name.width), "")
            sketch.text(name.x, name.y + 33, line, LABEL, theme.text2)
        return sketch

    def free_place(self, width: float, height: float, before: Box | None = None) -> Box | None:
        """None: the plan fills its place."""
        return None

    def _captions(self) -> list[Caption]:
        return [c for c in self.sheet.captions if self._inside(c.x, c.y, c.width, 36)]

    def _inside(self, x: float, y: float, width: float, height: float) -> bool:
        left, top, wide, high = self._box
        return left <= x and top <= y and x + width <= left + wide and y + height <= top + high

    def _wire(self, sketch: Sketch, wire: Wire, theme: Theme) -> None:
        """As far as it is inside: its parts run along the axes of the screen."""
        low = np.array(self._box[:2])
        points: Floats = np.clip(wire.points, low, low + self._box[2:])
        if np.any(np.all(wire.points < low, axis=0) | np.all(wire.points > low + self._box[2:], axis=0)):
            return
        whole = np.array_equal(points[-1], wire.points[-1])
        if wire.arrow and whole:
            sketch.arrow(points[-2], points[-1], theme.flow, _WIRE, head=_ARROW)
        else:
            sketch.polyline(points, theme.flow, _WIRE)
