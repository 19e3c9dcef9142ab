"""The drawer of the digits on a board: asks the network for their classes, and lets them walk there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...run.core.frame import Frame
from ...run.panels import DigitBoard
from ...run.source import Moment
from ..ink.maps import Colormap, get_map
from ..ink.overlay import pointer_label
from ..ink.places import LABEL
from ..ink.sketch import Box, Sketch, rgba
from ..ink.text import measure
from ..ink.theme import Theme
from .drawer import Drawer, Ground, Point

# ---- Handwritten digits in ten columns, each in that of the class it is read as; those read wrongly have a frame.

CLASSES = 10
SHOWN = 6
"""Digits of each class on the board."""
EASE = 0.4
"""Seconds from column to column."""
_TILE = 24.0  # logical pixels of a digit, its border apart
_TOP, _FOOT = 22.0, 22.0
_OVERLAP = 0.66  # of a tile must be seen

Floats = NDArray[np.float32]


class DigitColumns:
    """The digits on a board and where they are on their way; `inputs` are those shown, to be read by the network."""

    def __init__(self, board: DigitBoard, theme: Theme) -> None:
        chosen = np.sort(np.concatenate([np.flatnonzero(board.labels == k)[:SHOWN] for k in range(CLASSES)]))
        self.inputs = np.asarray(board.inputs)[chosen]
        self.labels = np.asarray(board.labels)[chosen]
        self._side = board.side
        self._border = max(1, round(board.side[0] / 8))  # so that a frame is about three pixels on screen
        self._place, self._start, self._goal = (np.zeros((len(chosen), 3), np.float32) for _ in range(3))
        self._age = np.full(len(chosen), EASE)
        self._classes = self.labels
        self._settled = False
        self.change(theme)

    def change(self, theme: Theme) -> None:
        """Another look."""
        self._theme = theme
        self._atlas = _atlas(self.inputs, self._side, self._border, theme)

    def place(self, box: Box) -> None:
        """The board stands in `box`; the digits jump there."""
        self._box = box
        self._settled = False

    @property
    def moving(self) -> bool:
        """Whether a digit is still on its way."""
        return bool((self._age < EASE).any())

    @property
    def wrong(self) -> NDArray[np.bool_]:
        """Which digits are read wrongly."""
        return np.asarray(self._classes != self.labels)

    def update(self, classes: NDArray[np.integer], seconds: float | None) -> None:
        """Send every digit to the column of its class; after `seconds` they are that much further (None: there)."""
        self._classes = classes
        goal = self._goals(classes)
        if seconds is None or not self._settled:
            self._place, self._goal, self._settled = goal.copy(), goal, True
            self._age[:] = EASE
            return
        turned = (goal != self._goal).any(axis=1)
        self._start[turned], self._age[turned], self._goal = self._place[turned], 0.0, goal
        self._age += seconds
        part = np.clip(self._age / EASE, 0.0, 1.0)[:, None]
        eased = (part * part * (3 - 2 * part)).astype(np.float32)
        self._place = np.where(eased < 1, self._start + (goal - self._start) * eased, goal).astype(np.float32)

    def digit_at(self, x: float, y: float) -> int | None:
        """Number of the digit that is seen at a point; None beside them."""
        half = self._whole / 2 * self._place[:, 2:]
        under = np.all(np.abs(self._place[:, :2] - (x, y)) <= half, axis=1)
        found = [int(k) for k in self._order if under[k]]
        return found[-1] if found else None

    @property
    def _whole(self) -> NDArray[np.float64]:
        """Width and height of a tile that stands alone."""
        high, wide = self._side
        border = 2 * self._border
        return _TILE * np.array([wide + border, high + border]) / max(high, wide)

    @property
    def _order(self) -> NDArray[np.intp]:
        """In which they are painted: those on their way in front."""
        return np.lexsort((-self._place[:, 1], self._age < EASE))

    def _goals(self, classes: NDArray[np.integer]) -> Floats:
        """Centre and size of every digit: columns fill from the bottom, those read rightly first.

        A crowd gets smaller, so that it fits side by side into its column.
        """
        x, y, width, height = self._box
        whole = _TILE * (1 + 2 * self._border / max(self._side))
        bottom, room = y + height - _FOOT - 2, height - _TOP - _FOOT - 4
        goal = np.zeros_like(self._place)
        for k in range(CLASSES):
            pile = np.flatnonzero(classes == k)
            pile = pile[np.argsort(classes[pile] != self.labels[pile], kind="stable")]
            side_by_side, step = _packing(len(pile), whole, room)
            cell = whole / side_by_side
            up, across = np.divmod(np.arange(len(pile)), side_by_side)
            goal[pile, 0] = x + width * (k + 0.5) / CLASSES + (across - (side_by_side - 1) / 2) * cell
            goal[pile, 1] = bottom - cell / 2 - step * up
            goal[pile, 2] = 1 / side_by_side
        return goal

    def sketch(self) -> Sketch:
        """The board as it is now."""
        sketch, theme, (x, y, width, height) = Sketch(), self._theme, self._box
        wrong = self.wrong
        sketch.rect(x, y + _TOP, width, height - _TOP - _FOOT, fill=theme.panel, radius=6)
        title = f"{len(self.labels)} test digits by what they are read as"
        count = f"{int(wrong.sum())} wrong"
        room = width - measure(count, LABEL) - 30
        title = next((t for t in (title, "test digits, as they are read") if measure(t, LABEL, True) <= room), "")
        sketch.text(x, y + 13, title, LABEL, theme.text1, bold=True)
        sketch.text(x + width, y + 13, count, LABEL, theme.text2, anchor="right")
        left = x + width - measure(count, LABEL) - 17
        sketch.rect(left, y + 2.5, 11, 11, stroke=theme.selection, border=2.0)
        for k in range(CLASSES):
            middle = x + width * (k + 0.5) / CLASSES
            sketch.text(middle, y + height - 5, str(k), LABEL, theme.text2, anchor="middle")
        self._tiles(sketch, wrong)
        return sketch

    def _tiles(self, sketch: Sketch, wrong: NDArray[np.bool_]) -> None:
        order, count = self._order, len(self.labels)
        size = self._whole * self._place[order, 2:]
        rects = np.concatenate([self._place[order, :2] - size / 2, size], axis=1)
        cells = np.stack([order / count, wrong[order] / 2, np.full(count, 1 / count), np.full(count, 0.5)], axis=1)
        sketch.sprites(rects, cells, self._atlas)


def _packing(count: int, whole: float, room: float) -> tuple[int, float]:
    """How many of `count` tiles stand side by side, and the step from row to row; `whole` is the size of one alone."""
    for side_by_side in range(1, count + 1):
        cell = whole / side_by_side
        step = min(0.9 * cell, (room - cell) / max(-(-count // side_by_side) - 1, 1))
        if step >= _OVERLAP * cell:
            return side_by_side, step
    return 1, whole


def shades(theme: Theme) -> Colormap:
    """From paper to ink, the greys of activations."""
    return get_map("activation", theme)


def _atlas(inputs: NDArray[np.floating], side: tuple[int, int], border: int, theme: Theme) -> NDArray[np.uint8]:
    """Every digit twice, uint8: above with a border that keeps neighbours apart, below with a frame."""
    high, wide = side
    strips = []
    for colour in (theme.panel, theme.selection):
        edge = np.rint(255 * np.array(rgba(colour)[:3])).astype(np.uint8)
        strip = np.empty((len(inputs), high + 2 * border, wide + 2 * border, 3), np.uint8)
        strip[:] = edge
        strip[:, border:-border, border:-border] = shades(theme).bytes(inputs.reshape(-1, high, wide))[..., :3]
        strips.append(np.concatenate(strip, axis=1))
    return np.concatenate(strips)


class BoardDrawer(Drawer[DigitBoard]):
    """Six digits of each class."""

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

    def lay_out(self, box: Box) -> None:
        """The digits jump to their places; measured classes stay."""
        if self.ground.theme is not self._theme:
            self._theme = self.ground.theme
            self.columns.change(self._theme)
        self.columns.place(box)

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        if self._read is None or self._read[0] is not moment.frame:
            self._read = moment.frame, np.argmax(moment.predict(self.columns.inputs), axis=1)
        self.columns.update(self._read[1], seconds)
        return [self.columns.sketch()]

    @property
    def moving(self) -> bool:
        return self.columns.moving

    def label(self, moment: Moment, size: tuple[float, float]) -> Sequence[Sketch]:
        """What the digit under the pointer is, what it is read as, and what a click would do."""
        under = None if self.pointer is None else self.under(self.pointer)
        if under is None or self.pointer is None or self._read is None:
            return ()
        what, read = f"a {self.columns.labels[under]}", f"read as {self._read[1][under]}"
        more = ["click: show its way"] if self._chooses else []
        return [pointer_label(self.pointer, size, what, read, more, self._theme)]

    # ---- hands

    @property
    def _chooses(self) -> bool:
        return self.ground.chooses(self.columns.inputs.shape[1])

    def under(self, at: Point) -> int | None:
        return self.columns.digit_at(*at)

    def hover(self, at: Point | None) -> bool:
        """A digit under the pointer says what it is, one too that walks there."""
        before, self.pointer = self.pointer, at
        return before != at

    def click(self, at: Point) -> bool:
        found = self.under(at)
        if found is None or not self._chooses:
            return False
        self.ground.choose(self.columns.inputs[found], self.columns.labels[found : found + 1])
        return True
