"""Digits: a board on which each moves to its predicted class, and a sheet to draw one on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...run.core.frame import Frame
from ...run.edits import AddSamples
from ...run.panels import DigitBoard, DigitPad
from ...run.source import Moment
from ..ink.boxes import LABEL
from ..ink.sketch import Box, Sketch, contains, rgba
from ..ink.text import measure
from ..ink.theme import Theme, get_map, mixed
from ..ink.widgets import wrapped
from .drawer import Drawer, Piles, Point, Setting, SharedState, Slot, Tip
from .image import averaged

TOP = 22.0
"""Height of the title's line."""


# ---- Handwritten digits in ten columns, each in that of the class it is read as; those read wrongly have a frame.

CLASSES = 10
SHOWN = 6
"""Digits of each class on the board."""
EASE = 0.4
"""Seconds of a move from column to column."""
_TILE, _SMALL = 34.0, 0.74  # logical pixels of a digit without border; largest share of a narrow column
_FOOT = 22.0
_OVERLAP = 0.66  # least visible share of a tile

Floats = NDArray[np.float32]


class BoardDrawer(Drawer[DigitBoard]):
    """Six digits of each class; `inputs` are the digits on the board."""

    name = "digits"
    height = 240.0
    ends = 400.0, 330.0
    worth = 2  # the drawn digit and its prediction show one example
    needs = ("predict",)
    choices = (("Click", "on a test digit: choose it"),)

    def __init__(self, panel: DigitBoard, shared: SharedState) -> None:
        super().__init__(panel, shared)
        labels, self._side = np.asarray(panel.labels), panel.side
        chosen = np.sort(np.concatenate([np.flatnonzero(labels == k)[:SHOWN] for k in range(CLASSES)]))
        self.inputs, self.labels = np.asarray(panel.inputs)[chosen], labels[chosen]
        self._border = max(1, round(panel.side[0] / 8))  # so that a frame is about three pixels on screen
        self._atlases: dict[str, NDArray[np.uint8]] = {}  # by theme
        self._place, self._start, self._goal = (np.zeros((len(chosen), 3), np.float32) for _ in range(3))
        self._age = np.full(len(chosen), EASE)
        self._read: NDArray[np.integer] = self.labels  # predicted classes at a frame
        self._frame: Frame | None = None
        self._settled, self._tile = False, _TILE

    def lay_out(self, box: Box) -> None:
        """Move the digits to their places at once; measured classes stay."""
        self._board, self._settled = box, False
        self._tile = min(_TILE, _SMALL * box[2] / CLASSES)

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        if self._frame is not moment.frame:
            self._frame, self._read = moment.frame, np.argmax(moment.predict(self.inputs), axis=1)
        self.move(self._read, seconds)
        return [self.sketch()]

    def around(self, setting: Setting) -> Sequence[Sketch]:
        """Return lines from each column of the last plate to its digits, which are at the end of the network."""
        plates, sketch = [*setting.plates.values()], Sketch()
        if self.box is None or not setting.contains(self.box) or plates[-1].size % CLASSES:
            return ()
        x, y, width, height = self.box
        corners, foot = setting.project(plates[-1].corners), y + height + 4
        low, high = np.sort(corners[:, 0])[[0, -1]].tolist()
        for k in range(CLASSES):  # the first ones lowest, so that no lines cross
            start, end = low + (high - low) * (k + 0.5) / CLASSES, x + width * (k + 0.5) / CLASSES
            level = foot + 3.0 * (CLASSES - k)
            path = [(start, float(corners[:, 1].max()) + 2), (start, level), (end, level), (end, foot - 2)]
            sketch.polyline(path, mixed(self.shared.theme.flow, self.shared.theme.background, 0.5), 1.0)
        return [sketch]

    @property
    def moving(self) -> bool:
        """True while a digit moves."""
        return bool((self._age < EASE).any())

    def move(self, classes: NDArray[np.integer], seconds: float | None) -> None:
        """Send every digit to the column of its class, and move by `seconds` (None: to the end)."""
        self._read = classes
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

    @property
    def _tile_size(self) -> NDArray[np.float64]:
        """Width and height of a tile that is alone in its row."""
        high, wide = self._side
        border = 2 * self._border
        return self._tile * np.array([wide + border, high + border]) / max(high, wide)

    @property
    def _whole(self) -> float:
        """The longer side of a tile that is alone in its row."""
        return self._tile * (1 + 2 * self._border / max(self._side))

    def _packed(self, count: int) -> tuple[int, float]:
        """Return how many of the `count` tiles of a column are side by side, and the step between its rows."""
        whole, room = self._whole, self._board[3] - TOP - _FOOT - 4
        for side_by_side in range(1, count + 1):
            cell = whole / side_by_side
            step = min(cell, (room - cell) / max(-(-count // side_by_side) - 1, 1))
            if step >= _OVERLAP * cell:
                return side_by_side, step
        return 1, whole

    @property
    def _order(self) -> NDArray[np.intp]:
        """The painting order: moving digits in front."""
        return np.lexsort((-self._place[:, 1], self._age < EASE))

    def _goals(self, classes: NDArray[np.integer]) -> Floats:
        """Return centre and size of every digit: columns fill from the bottom, correct ones first.

        Many digits get smaller, so that they fit side by side into their column.
        """
        x, y, width, height = self._board
        bottom = y + height - _FOOT - 2
        goal = np.zeros_like(self._place)
        for k in range(CLASSES):
            pile = np.flatnonzero(classes == k)
            pile = pile[np.argsort(classes[pile] != self.labels[pile], kind="stable")]
            side_by_side, step = self._packed(len(pile))
            cell = self._whole / side_by_side
            up, across = np.divmod(np.arange(len(pile)), side_by_side)
            goal[pile, 0] = x + width * (k + 0.5) / CLASSES + (across - (side_by_side - 1) / 2) * cell
            goal[pile, 1] = bottom - cell / 2 - step * up
            goal[pile, 2] = 1 / side_by_side
        return goal

    def _wrong(self, count: int) -> str:
        return f"{count} of {len(self.labels)} wrong"

    def slot(self) -> Slot:
        (x, y, width, height), count = self._board, len(self.labels)
        packings = [(beside, self._whole / beside, step) for beside, step in map(self._packed, range(count + 1))]
        piles = Piles(self.labels.tolist(), self._tile_size.tolist(), (x + width / (2 * CLASSES), width / CLASSES),
                      y + height - _FOOT - 2, packings, self._wrong(0)[1:])  # fmt: skip
        return Slot("sprites", 0, self.inputs, piles=piles)

    def sketch(self) -> Sketch:
        """Return the present board."""
        sketch, theme, (x, y, width, height) = Sketch(), self.shared.theme, self._board
        wrong, order, tiles = self._read != self.labels, self._order, len(self.labels)
        sketch.rect(x, y + TOP, width, height - TOP - _FOOT, fill=theme.panel, radius=6)
        title = "test digits by predicted class"
        count = self._wrong(int(wrong.sum()))
        if measure(title, LABEL, True) <= width - measure(count, LABEL) - 30:
            sketch.text(x, y + 13, title, LABEL, theme.text1, bold=True)
        sketch.text(x + width, y + 13, count, LABEL, theme.text2, anchor="right")
        left = x + width - measure(self._wrong(len(self.labels)), LABEL) - 17
        sketch.rect(left, y + 2.5, 11, 11, stroke=theme.selection, border=2.0)
        for k in range(CLASSES):
            middle = x + width * (k + 0.5) / CLASSES
            sketch.text(middle, y + height - 5, str(k), LABEL, theme.text2, anchor="middle")
        size = self._tile_size * self._place[order, 2:]
        rects = np.concatenate([self._place[order, :2] - size / 2, size], axis=1)
        cells = np.stack([order / tiles, wrong[order] / 2, np.full(tiles, 1 / tiles), np.full(tiles, 0.5)], axis=1)
        if theme.name not in self._atlases:
            self._atlases[theme.name] = _atlas(self.inputs, self._side, self._border, theme)
        sketch.sprites(rects, cells, self._atlases[theme.name])
        return sketch

    def _tip(self, moment: Moment, at: Point) -> Tip | None:
        """Return a digit's label and predicted class, and the action of a click."""
        if (found := self.under(at)) is None:
            return None
        return f"a {self.labels[found]}", f"read as {self._read[found]}", self.shared.choose_tips(self.inputs.shape[1])

    # ---- input

    def under(self, at: Point) -> int | None:
        """Return the number of the digit at a point, or None."""
        inside = np.all(np.abs(self._place[:, :2] - at) <= self._tile_size / 2 * self._place[:, 2:], axis=1)
        return next((int(k) for k in self._order[::-1] if inside[k]), None)

    def hover(self, at: Point | None) -> bool:
        """Put the pointer over a digit, which may be moving."""
        before, self.pointer = self.pointer, at
        return before != at

    def click(self, at: Point) -> bool:
        found = self.under(at)
        if found is None or not self.shared.can_choose(self.inputs.shape[1]):
            return False
        self.shared.choose(self.inputs[found], self.labels[found : found + 1])
        return True


def _atlas(inputs: NDArray[np.floating], side: tuple[int, int], border: int, theme: Theme) -> NDArray[np.uint8]:
    """Return every digit twice, uint8: above with a border that keeps neighbours apart, below with a frame."""
    (high, wide), ink, strips = side, get_map("activation", theme), []
    for colour in (theme.panel, theme.selection):
        edge = np.rint(255 * np.array(rgba(colour)[:3])).astype(np.uint8)
        strip = np.empty((len(inputs), high + 2 * border, wide + 2 * border, 3), np.uint8)
        strip[:] = edge
        strip[:, border:-border, border:-border] = ink.bytes(inputs.reshape(-1, high, wide))[..., :3]
        strips.append(np.concatenate(strip, axis=1))
    return np.concatenate(strips)


# ---- The digit that is the probe sample: its picture, on which you can draw, and the ten outputs.

DRAW = "draw here; the right button erases"
LABEL_IT = "0\N{EN DASH}9: learn it as that digit   Backspace: clear"
SIDE = 104.0
_BARS = 66.0
_TALL = 250.0
"""Least height for outputs below the digit, which suits a narrow panel."""
_MARGIN = 14.0


class PadDrawer(Drawer[DigitPad]):
    """A sheet to draw a digit on. While the pointer is on it, it gets the keys 0 to 9 and Backspace.

    `picture` is the subject's probe itself, changed in place: the network reads it at the next frame. Raises InputError
    if the scene has no sample, or one of another size.
    """

    name = "probe"
    height, within = 152.0, 164.0
    most = 270.0
    gestures = (("Drag", "on the sheet: draw a digit (right button: erase)"), ("Backspace", "over the sheet: clear it"))
    lessons = (("0\N{EN DASH}9", "over the sheet: train the network to read your drawing as this digit"),)

    def __init__(self, panel: DigitPad, shared: SharedState) -> None:
        super().__init__(panel, shared)
        subject = shared.subject
        high, wide = panel.side
        if subject.probe is None or subject.probe.size != high * wide:
            got = "none" if subject.probe is None else f"{subject.probe.size} numbers"
            raise InputError(f"DigitPad: got a scene's probe of {got}; allowed: {high} x {wide} pixels, as the pad has")
        self.picture = subject.probe.reshape(-1)
        self.digit = None if subject.sample.target is None else int(subject.sample.target[0])  # if it is known
        self.drawn = False  # whether the user has changed it
        self.field: Box | None = None  # box of the picture
        self._active = False  # whether the pointer is on it, so that it gets digit keys
        self._learnt = 0  # number of pictures added to the data
        self._choices = shared.choices
        self._last: Point | None = None  # last point of a stroke, in pixels of the picture
        self._erasing = False

    @property
    def pixels(self) -> NDArray[np.floating]:
        """The picture as (H, W)."""
        return self.picture.reshape(self.panel.side)

    def lay_out(self, box: Box) -> None:
        self.field = box[0], box[1] + TOP, SIDE, SIDE

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        """Return the picture and the ten outputs."""
        subject = self.shared.subject
        logits = moment.frame.activations.get(subject.stages[-1].name) if subject.stages else None
        if logits is None or self.field is None:
            return ()
        if self.shared.choices != self._choices:  # another digit was chosen
            self._choices = self.shared.choices
            self.digit, self.drawn = None if subject.target is None else int(subject.target[0]), False
        sketch, theme, (x, y, width, _), (left, top, side, _) = Sketch(), self.shared.theme, box, self.field
        lit = theme.selection if self._active and self.shared.hints else theme.border
        sketch.text(x, y + 13, "your drawing" if self.drawn else "test digit", LABEL, theme.text1, bold=True)
        sketch.rect(left - 1, top - 1, side + 2, side + 2, fill=lit)
        pixels = np.ascontiguousarray(get_map("activation", theme).bytes(np.clip(self.pixels, 0, 1))[..., :3])
        sketch.image(self.field, pixels, linear=False)
        tall, hint = box[3] >= _TALL, self._hint
        for row, line in enumerate(wrapped(hint, width - side - _MARGIN, LABEL) if tall else [hint]):
            at = (left + side + _MARGIN, top + 14 + 18 * row) if tall else (x, top + side + 19)
            sketch.text(at[0], at[1], line, LABEL, theme.text3)
        own = (x, top + side + _MARGIN, width, y + box[3] - top - side - _MARGIN) if tall else (
            x + side + _MARGIN, y, width - side - _MARGIN, TOP + side)  # fmt: skip
        self._outputs(sketch, own, logits)
        return [sketch]

    def _outputs(self, sketch: Sketch, box: Box, logits: NDArray[np.floating]) -> None:
        """Draw the predicted digit, and the probability of each digit as a bar, once they are known."""
        theme, names, (x, y, width, height) = self.shared.theme, self.shared.subject.sample.outputs, box
        if not (self.shared.answered and np.isfinite(logits).all()):
            said = "outputs are not finite" if self.shared.answered else "read as \N{HORIZONTAL ELLIPSIS}"
            sketch.text(x, y + 13, said, LABEL, theme.text1, bold=True)
            return
        best, likely = int(np.argmax(logits)), np.exp(np.asarray(logits, np.float64) - logits.max())
        likely /= likely.sum()
        end = sketch.text(x, y + 13, f"read as {names[best]}", LABEL, theme.text1, bold=True)
        sketch.text(end + 8, y + 13, "" if self.digit is None else f"is {self.digit}", LABEL, theme.text2)
        sketch.text(x + width, y + 13, "%", LABEL, theme.text3, anchor="right")
        foot, pitch = y + height - 20, width / len(names)
        sketch.line((x, foot + 0.5), (x + width, foot + 0.5), theme.grid)
        for k, (name, share) in enumerate(zip(names, likely, strict=True)):  # the highest bar is the brightest
            middle, high = x + pitch * (k + 0.5), _BARS * float(share)
            colour = theme.text1 if k == best else theme.text3
            if high >= 0.5:
                sketch.rect(middle - 0.36 * pitch, foot - high, 0.72 * pitch, high, fill=colour)
            sketch.text(middle, foot - high - 5, f"{100 * share:.0f}", LABEL, colour, anchor="middle")
            sketch.text(middle, foot + 16, name, LABEL, colour, bold=k == best, anchor="middle")

    @property
    def _hint(self) -> str:
        """The line about possible actions."""
        if not self.shared.hints:
            return ""
        if self.shared.can_teach and self._active and self.picture.any():
            return LABEL_IT
        return f"{DRAW}; {self._learnt} taught" if self.shared.can_teach and self._learnt else DRAW

    # ---- the picture

    def clear(self) -> None:
        """Empty the sheet."""
        self._set_pixels(np.zeros(self.panel.side))

    def take(self, picture: NDArray[np.floating]) -> str:
        """Take a picture as a digit: its rim is paper, ink is the difference from it, scaled to 1."""
        grey = np.asarray(picture, float).mean(axis=2)
        rim = np.concatenate([grey[0], grey[-1], grey[:, 0], grey[:, -1]])
        ink = np.abs(grey - np.median(rim))
        side = max(ink.shape)
        square = np.zeros((side, side))
        top, left = (side - ink.shape[0]) // 2, (side - ink.shape[1]) // 2
        square[top : top + ink.shape[0], left : left + ink.shape[1]] = ink
        high, wide = self.panel.side
        small = averaged(averaged(square, high, 0), wide, 1)
        self._set_pixels(small / max(float(small.max()), 1e-12))
        return "copied to the sheet; the prediction is beside it"

    def stroke(self, start: Point, end: Point, *, erase: bool = False) -> None:
        """Paint (or erase) a line with a soft round brush; points as from :meth:`place`.

        The first stroke on a digit of the data begins with an empty sheet.
        """
        high, wide = self.panel.side
        across, down = np.meshgrid(np.arange(wide) + 0.5, np.arange(high) + 0.5)
        along = np.subtract(end, start)
        length = float(along @ along)
        part = ((across - start[0]) * along[0] + (down - start[1]) * along[1]) / length if length else 0.0
        part = np.clip(part, 0.0, 1.0)
        away = np.hypot(across - start[0] - part * along[0], down - start[1] - part * along[1])
        # strokes of both data sets are about an eighth of the picture wide; the eraser is wider
        ink = np.clip(high / 16 + (1.25 if erase else 0.75) - away, 0.0, 1.0)
        below = self.pixels if self.drawn or erase else np.zeros(self.panel.side)
        self._set_pixels(np.minimum(below, 1 - ink) if erase else np.maximum(below, ink))

    def _set_pixels(self, pixels: NDArray[np.floating]) -> None:
        """Set the pixels: the probe is another sample now, with an unknown label."""
        self.pixels[...] = pixels
        self.drawn, self.digit, self.stale = True, None, True
        self.shared.probes += 1

    def place(self, at: Point) -> Point | None:
        """Return a point in logical pixels as fractional (column, row) of the picture; None beside it."""
        if self.field is None or not contains(self.field, at):
            return None
        x, y, width, height = self.field
        return (at[0] - x) / width * self.panel.side[1], (at[1] - y) / height * self.panel.side[0]

    def learn(self, label: int) -> None:
        """Add the digit to the data with its label; an empty sheet is ignored."""
        if not self.picture.any():
            return
        subject = self.shared.subject
        subject.source.edit(AddSamples(self.picture[None], np.array([[label]])))
        subject.choose(self.picture, [label])  # now it has a target, so it can have a step of its own
        self.digit, self._learnt, self.stale = label, self._learnt + 1, True
        self.shared.probes += 1

    # ---- input

    def press(self, at: Point, button: str) -> bool:
        """Begin a stroke, or erase with another button."""
        self._erasing, self._last = button != "left", self.place(at)
        return self.drag(at, (0.0, 0.0), button)

    def drag(self, at: Point, by: Point, button: str) -> bool:
        """Continue the stroke; beside the sheet it waits."""
        self.hover(at)
        place = self.place(at)
        if self._last is not None and place is not None:
            self.stroke(self._last, place, erase=self._erasing)
            self._last = place
        return self._last is not None

    def release(self, at: Point) -> None:
        self._last = None

    def hover(self, at: Point | None) -> bool:
        """Light up the sheet and take keys."""
        before, self._active = self._active, at is not None and self.place(at) is not None
        self.stale |= before != self._active
        return before != self._active

    def key(self, name: str, text: str) -> bool:
        """Handle a digit key (learn the drawing with this label) or Backspace (empty the sheet)."""
        if not self._active:
            return False
        if len(text) == 1 and text in "0123456789" and self.shared.can_teach:
            self.learn(int(text))
        elif name in ("Backspace", "Delete"):
            self.clear()
        else:
            return False
        return True
