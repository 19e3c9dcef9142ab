"""`Entry`: a number that is being typed."""

from __future__ import annotations

import math

from ..draw.places import LABEL, TITLE
from ..draw.sketch import Box, Sketch
from ..draw.text import MINUS, measure
from ..draw.theme import Theme

LONGEST = 24
ALLOWED = "0123456789.-+eE"


class Entry:
    """Digits, minus, point and e; what else is typed is not taken.

    Parameters
    ----------
    what : str
        What the number is, beside it: empty, or such as ``"times"``.

    Attributes
    ----------
    text : str
        What was typed so far.
    """

    def __init__(self, what: str = "") -> None:
        self.what, self.text = what, ""

    def type(self, text: str) -> bool:
        """One more character; whether it is one of a number. A comma is a point."""
        character = {",": ".", MINUS: "-"}.get(text, text)
        if len(character) != 1 or character not in ALLOWED:
            return False
        self.text = (self.text + character)[:LONGEST]
        return True

    def erase(self) -> None:
        """Without the last character."""
        self.text = self.text[:-1]

    @property
    def number(self) -> float | None:
        """What stands there; None where it is no finite number."""
        try:
            found = float(self.text)
        except ValueError:
            return None
        return found if math.isfinite(found) else None

    @property
    def width(self) -> float:
        """Logical pixels of what stands there."""
        return measure(self._shown, TITLE) + measure(self.what, LABEL) + 14

    @property
    def _shown(self) -> str:
        return self.text.replace("-", MINUS)

    def draw(self, sketch: Sketch, box: Box, theme: Theme) -> None:
        """In a frame, with a caret behind it."""
        x, y, _, height = box
        sketch.rect(*box, radius=4, fill=theme.background, stroke=theme.selection)
        at = x + 5
        if self.what:
            sketch.text(at, y + 16, self.what, LABEL, theme.text3)
            at += measure(self.what, LABEL) + 6
        good = self.number is not None or not self.text
        sketch.text(at, y + 16, self._shown, TITLE, theme.text1 if good else theme.weight[1])
        at += measure(self._shown, TITLE) + 1
        sketch.line((at, y + 4), (at, y + height - 4), theme.text1, 1.4)
