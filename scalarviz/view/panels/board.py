"""The drawer of the digits on a board: asks the network for their classes, and lets them walk there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...run.core.frame import Frame
from ...run.panels import DigitBoard
from ...run.source import Moment
from ..draw.sketch import Box, Sketch
from .digits import DigitColumns
from .drawer import Drawer, Ground, Point
from .overlay import pointer_label


class BoardDrawer(Drawer[DigitBoard]):
    """Six digits of each class.

    Attributes
    ----------
    columns : DigitColumns
        Where they stand and are going.
    """

    name = "digits"
    height = 240.0
    worth = 2
    needs = ("predict",)
    choices = (("Click", "a test digit: show its way"),)

    def __init__(self, panel: DigitBoard, ground: Ground) -> None:
        super().__init__(panel, ground)
        self.columns = DigitColumns(panel, ground.theme)
        self._theme = ground.theme
        self._read: tuple[Frame, NDArray[np.integer]] | None = None
        self._pointer: Point | None = None

    def lay_out(self, box: Box) -> None:
        """The digits jump to their places; measured classes stay."""
        if self.ground.theme is not self._theme:
            self._theme = self.ground.theme
            self.columns.change(self._theme)
        self.columns.place(box)

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        """The board `seconds` further on."""
        if self._read is None or self._read[0] is not moment.frame:
            self._read = moment.frame, np.argmax(moment.predict(self.columns.inputs), axis=1)
        self.columns.update(self._read[1], seconds)
        return [self.columns.sketch()]

    @property
    def moving(self) -> bool:
        """Whether a digit is on its way."""
        return self.columns.moving

    def label(self, moment: Moment, size: tuple[float, float]) -> Sequence[Sketch]:
        """What the digit under the pointer is, what it is read as, and what a click would do."""
        under = None if self._pointer is None else self.columns.digit_at(*self._pointer)
        if under is None or self._pointer is None or self._read is None:
            return ()
        what, read = f"a {self.columns.labels[under]}", f"read as {self._read[1][under]}"
        more = ["click: show its way"] if self._chooses else []
        return [pointer_label(self._pointer, size, what, read, more, self._theme)]

    # ---- hands

    @property
    def _chooses(self) -> bool:
        return self.ground.chooses(self.columns.inputs.shape[1])

    def hover(self, at: Point | None) -> bool:
        """A digit under the pointer says what it is."""
        before, self._pointer = self._pointer, at
        return before != at

    def click(self, at: Point) -> bool:
        """The way of a digit is drawn."""
        found = self.columns.digit_at(*at)
        if found is None or not self._chooses:
            return False
        self.ground.choose(self.columns.inputs[found], self.columns.labels[found : found + 1])
        return True
