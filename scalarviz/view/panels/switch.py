"""`AxisSwitch`: the word beside a curve that says how its axis is divided, and by a click divides it otherwise."""

from __future__ import annotations

from dataclasses import dataclass

from ..draw.places import LABEL, Box
from ..draw.sketch import Sketch
from ..draw.text import measure
from ..draw.theme import Theme

_PAD = 7.0


@dataclass(slots=True)
class AxisSwitch:
    """Logarithmic or linear.

    Attributes
    ----------
    touched : bool
        Whether there is a hand: without one it does not look like a switch.
    linear : bool
        Whether linear is wished; without the wish it is logarithmic where the numbers allow it.
    over : bool
        Whether the pointer is on it.
    box : Box or None
        Where it stands; None where a click would change nothing.
    """

    touched: bool = False
    linear: bool = False
    over: bool = False
    box: Box | None = None

    def draw(self, sketch: Sketch, right: float, baseline: float, theme: Theme, *, log: bool, free: bool) -> None:
        """The word, ending at `right`: what the axis is; `free` says whether it could be the other."""
        word = "log" if log else "linear"
        if not (self.touched and free):
            self.box = None
            sketch.text(right, baseline, word, LABEL, theme.text3, anchor="right")
            return
        width = measure(word, LABEL) + 2 * _PAD
        self.box = (right - width, baseline - 14.0, width, 20.0)
        edge = theme.text2 if self.over else theme.flow
        sketch.rect(*self.box, radius=5, fill=theme.panel, stroke=edge)
        sketch.text(right - _PAD, baseline, word, LABEL, theme.text1 if self.over else theme.text2, anchor="right")

    def at(self, point: tuple[float, float]) -> bool:
        """Whether a point is on it."""
        if self.box is None:
            return False
        x, y, width, height = self.box
        return x <= point[0] < x + width and y <= point[1] < y + height
