"""`Toggle`: a small switch with its word, on or off by a click."""

from __future__ import annotations

from dataclasses import dataclass

from ..draw.places import LABEL, Box
from ..draw.sketch import Sketch
from ..draw.text import measure
from ..draw.theme import Theme, mixed

WIDE, HIGH = 26.0, 16.0
_AIR = 6.0  # between word and switch


def knob(sketch: Sketch, x: float, y: float, theme: Theme, *, on: bool, over: bool = False) -> None:
    """The switch alone, its upper left corner at (x, y)."""
    track = theme.weight[3] if on else mixed(theme.flow, theme.background, 0.55)
    sketch.rect(x, y, WIDE, HIGH, radius=HIGH / 2, fill=track, stroke=theme.text1 if over else None)
    middle = x + (WIDE - HIGH / 2 if on else HIGH / 2)
    sketch.disc(middle, y + HIGH / 2, HIGH / 2 - 2.5, "#ffffff" if on else theme.text2)


@dataclass(slots=True)
class Toggle:
    """One of them.

    Attributes
    ----------
    word : str
        Left of the switch; empty where something else says what it is.
    on : bool
    over : bool
        Whether the pointer is on it.
    box : Box or None
        Where it stands, its word included; None: nowhere.
    """

    word: str
    on: bool = False
    over: bool = False
    box: Box | None = None

    @property
    def width(self) -> float:
        """Logical pixels."""
        return WIDE + (measure(self.word, LABEL) + _AIR if self.word else 0.0)

    def draw(self, sketch: Sketch, right: float, baseline: float, theme: Theme) -> None:
        """Ending at `right`, its word on a baseline."""
        self.box = (right - self.width, baseline - 13.0, self.width, 18.0)
        if self.word:
            sketch.text(self.box[0], baseline, self.word, LABEL, theme.text1 if self.over else theme.text2)
        knob(sketch, right - WIDE, baseline - 12.5, theme, on=self.on, over=self.over)

    def at(self, point: tuple[float, float]) -> bool:
        """Whether a point is on it."""
        if self.box is None:
            return False
        x, y, width, height = self.box
        return x <= point[0] < x + width and y <= point[1] < y + height
