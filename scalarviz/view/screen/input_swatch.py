"""`InputSwatch`: the swatch of the sample whose way is drawn. A click on it takes the next sample of the data."""

from __future__ import annotations

import numpy as np

from ..ink.maps import hexed
from ..ink.overlay import pointer_label
from ..ink.sketch import Box, Sketch, holds
from ..ink.theme import Theme
from ..panels.drawer import Ground, Point


class InputSwatch:
    """Says what it is when the pointer is over it, and answers to a click.

    Attributes
    ----------
    box : Box or None
        Where it stands (logical pixels); None where it is not drawn.
    """

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self.box: Box | None = None
        self._next = 0
        self._shown: tuple[int, int] | None = None  # number of the sample that it took, and which choice that was
        self._pointer: Point | None = None

    def hover(self, at: Point | None) -> bool:
        """The pointer is over a point (None: gone, or over something else); returns whether the picture changes."""
        before, self._pointer = self._pointer, at if at is not None and self._at(at) else None
        return before != self._pointer

    def click(self, at: Point) -> bool:
        """The next sample of the data, the first one at first; whether a point is on the swatch and that can be."""
        facts = self._ground.subject.source.facts
        if not self._at(at) or facts is None or not self._ground.chooses(3):
            return False
        number = self._next % facts.samples
        self._ground.choose_by(lambda: self._ground.subject.source.sample(number))
        self._next, self._shown = number + 1, (number, self._ground.choices)
        return True

    def label(self, theme: Theme, size: tuple[float, float]) -> list[Sketch]:
        """What stands beside the pointer: the colour, which sample it is, what a click would do."""
        probe, facts = self._ground.subject.probe, self._ground.subject.source.facts
        if self._pointer is None or self.box is None or probe is None:
            return []
        sketch, (x, y, width, height) = Sketch(), self.box
        sketch.rect(x - 2, y - 2, width + 4, height + 4, radius=7, stroke=theme.selection, border=1.6)
        more, number = [], self._number
        if facts is not None and self._ground.chooses(3):
            more.append(f"click: {'the next' if number is not None else 'one'} of the {facts.samples:,} samples")
        elif self._ground.subject.source.recorded:
            more.append("the way of this sample was recorded, of no other")
        said = "" if number is None or facts is None else f"sample {number + 1:,} of {facts.samples:,}"
        return [sketch, pointer_label(self._pointer, size, hexed(np.ravel(probe)), said, more, theme)]

    @property
    def _number(self) -> int | None:
        """Which sample of the data it shows, counted from 0; None where it was chosen elsewhere."""
        shown = self._shown
        return shown[0] if shown is not None and shown[1] == self._ground.choices else None

    def _at(self, point: Point) -> bool:
        return holds(self.box, point)
