"""The drawer of a picture that a network paints: network large, target and error small."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...run.panels import Painting
from ...run.source import Moment
from ..draw.maps import displayed
from ..draw.places import ABOUT, COLUMN, LABEL
from ..draw.sketch import Box, Sketch
from ..draw.text import measure
from .colours import hexed
from .drawer import Drawer, Ground, Headline, Point, title_of
from .easel import Easel, Painted
from .overlay import pointer_label
from .pictures import pixel_in, thumbnail, to_bytes

TITLE = 21.0
SHOWN = 512  # pixels of a side of the target; the column has no more
GAP, BETWEEN = 8.0, 12.0
WIDE = 1.2
"""Aspect from which the small pictures stand below the large one; else they stand beside it."""
TALLEST, LEAST = 260.0, 16.0
"""Pixels of the large picture's height beside small ones at most, and of theirs at least."""
Pixels = NDArray[np.floating]
_SMALL = 190.0  # height beside the controls
Boxes = tuple[Box, Box, Box]
"""Of network, target and error."""


def easel_height(aspect: float, width: float = COLUMN) -> float:
    """What pictures of `aspect` (width / height) need of a column, titles included."""
    if aspect >= WIDE:
        return 2 * TITLE + BETWEEN + (width + (width - GAP) / 2) / aspect
    return TITLE + _tall(width, aspect)


def easel_boxes(box: Box, aspect: float) -> Boxes:
    """Where the three pictures stand in the box of a panel, so that the network's is as large as it can be."""
    below, beside = _below(box, aspect), _beside(box, aspect)
    if beside[1][3] < LEAST:  # there is no height for two small ones
        return below if aspect >= WIDE else beside
    return max(below, beside, key=lambda boxes: boxes[0][2])


def _below(box: Box, aspect: float) -> Boxes:
    x, y, width, height = box
    half = (width - GAP) / 2
    share = min(1.0, (height - 2 * TITLE - BETWEEN) * aspect / (width + half))
    large, small = (_sides(wide * share, aspect) for wide in (width, half))
    top = y + 2 * TITLE + BETWEEN + large[1]
    return (x, y + TITLE, *large), (x, top, *small), (x + half + GAP, top, *small)


def _beside(box: Box, aspect: float) -> Boxes:
    x, y, width, height = box
    tall = min(_tall(width, aspect), height - TITLE)
    large = _sides(tall * aspect, aspect)
    small = _sides((tall - BETWEEN - TITLE) / 2 * aspect, aspect)
    left, below = x + large[0] + 2 * GAP, y + 2 * TITLE + BETWEEN + small[1]
    return (x, y + TITLE, *large), (left, y + TITLE, *small), (left, below, *small)


def _tall(width: float, aspect: float) -> float:
    """The height at which a large picture and one of two beside it fill the width."""
    return min(TALLEST, (width - 2 * GAP + (BETWEEN + TITLE) / 2 * aspect) / (1.5 * aspect))


def _sides(wide: float, aspect: float) -> tuple[int, int]:
    return max(1, round(wide)), max(1, round(wide / aspect))


class PaintingDrawer(Drawer[Painting]):
    """Asks an easel for the network's picture, and compares it with the target at the same pixels."""

    name = "painting"
    needs = ("predict",)
    worth = ABOUT
    choices = (("Click", "a pixel of a painted picture: show its way"),)

    def __init__(self, panel: Painting, ground: Ground) -> None:
        super().__init__(panel, ground)
        self.height = easel_height(panel.size[1] / panel.size[0])
        self.least = min(self.height, _SMALL)
        self._easel = Easel(ground.hints)
        self._wanted: Pixels | None = None
        self._target = np.zeros((1, 1, 3), np.uint8)
        self._shown: Painted | None = None
        self._images = self._target, self._target
        self._note = ""
        self._pointer: Point | None = None

    def look(self, moment: Moment, seconds: float | None) -> None:
        """Which picture is to be painted at a moment, and the pixels of it that are."""
        wanted = self.panel.wanted(moment)
        if wanted is not self._wanted:
            self._wanted, self._target = wanted, to_bytes(thumbnail(wanted, SHOWN))
            self._aim()
        made = self._easel.paint(moment.frame, seconds, wanted, moment.predict)
        if made is not self._shown:
            self._shown = made
            error = made.colours - wanted[np.ix_(made.rows, made.columns)]
            self._images = to_bytes(made.colours), to_bytes(0.5 + self.panel.gain * error)

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        """Three pictures under their titles."""
        sketch, theme = Sketch(), self.ground.theme
        assert self._wanted is not None
        assert self._shown is not None
        high, wide = self._wanted.shape[:2]
        places = easel_boxes(box, wide / high)
        large, small, last = places
        if self.ground.writes or not self._note:
            self._note = self._noted(moment, _counted(self._shown, high * wide), large[2])
        title_of(sketch, (large[0], box[1], large[2], TITLE), theme, "network", self._note)
        ends = (last[0] - GAP if last[1] == small[1] else box[0] + box[2]), box[0] + box[2]
        gain = f"error × {self.panel.gain:g}"
        for place, end, titles in zip((small, last), ends, (("target",), (f"{gain}, grey = 0", gain)), strict=True):
            said = next((title for title in titles if measure(title, LABEL) <= end - place[0]), "")
            sketch.text(place[0], place[1] - 7, said, LABEL, theme.text2)
        for place, image in zip(places, (self._images[0], self._target, self._images[1]), strict=True):
            sketch.image(place, image, linear=image.shape[1] > 8)
        return [sketch]

    def _noted(self, moment: Moment, counted: str, width: float) -> str:
        """The epoch and how many pixels are painted; where that does not fit the epoch alone."""
        if self.panel.epochs is None:
            return counted
        number = self.panel.epochs(moment)
        epoch = f"epoch {number:.1f}" if number < 100 else f"epoch {number:,.0f}"
        both = f"{epoch}  ·  {counted}"
        return both if measure("network", LABEL, True) + 12 + measure(both, LABEL) <= width else epoch

    @property
    def moving(self) -> bool:
        """Whether the picture becomes finer while the frame stays."""
        return self._easel.unfinished

    @property
    def headline(self) -> Headline | None:
        """How near the network has come, at the pixels that are painted of the frame shown."""
        made = self._shown
        return None if made is None or not np.isfinite(made.psnr) else Headline("psnr", f"{made.psnr:.1f} dB")

    # ---- hands

    def take(self, picture: Pixels) -> str | None:
        """Paint another picture from now on."""
        if self.panel.other is None:
            return None
        self.ground.subject.source.edit(self.panel.other(picture))
        return "it is painted from now on"

    def pixel_at(self, at: Point) -> tuple[int, int] | None:
        """Row and column of the pixel at a point, whichever of the three pictures it is in; None beside them."""
        if self.box is None or self._wanted is None:
            return None
        high, wide = self._wanted.shape[:2]
        return pixel_in(easel_boxes(self.box, wide / high), at, high, wide)

    def hover(self, at: Point | None) -> bool:
        """A pixel under the pointer says what it is."""
        before, self._pointer = self._pointer, None if at is None or self.pixel_at(at) is None else at
        return before != self._pointer

    def label(self, moment: Moment, size: tuple[float, float]) -> Sequence[Sketch]:
        """What a pixel is to become and has become, and what a click would do."""
        pixel = None if self._pointer is None else self.pixel_at(self._pointer)
        if pixel is None or self._pointer is None or self._wanted is None:
            return ()
        wanted = self._wanted[pixel]
        made = moment.predict(self._place(pixel)[None])[0]
        off = ", ".join(f"{100 * e:+.0f}".replace("-", "−") for e in made - wanted)
        more = [f"wanted: {hexed(wanted)}", f"off by {off} %"]
        more += ["click: show its way"] if self.ground.chooses(2) else []
        name = f"row {pixel[0]:,}, column {pixel[1]:,}"
        return [pointer_label(self._pointer, size, name, f"is {hexed(displayed(made))}", more, self.ground.theme)]

    def click(self, at: Point) -> bool:
        """The way of a pixel's place is drawn."""
        pixel = self.pixel_at(at)
        if pixel is None or not self.ground.chooses(2):
            return False
        place = self._place(pixel)
        self.ground.choose_by(lambda: (place, self._wanted_at(place)))
        return True

    def _place(self, pixel: tuple[int, int]) -> NDArray[np.float32]:
        """The middle of a pixel as the network is told it, shape (2,)."""
        assert self._wanted is not None
        high, wide = self._wanted.shape[:2]
        return np.array([(pixel[1] + 0.5) / wide, (pixel[0] + 0.5) / high], np.float32)

    def _wanted_at(self, place: NDArray[np.floating]) -> Pixels:
        """The colour of the pixel at a place."""
        assert self._wanted is not None
        high, wide = self._wanted.shape[:2]
        row, column = (min(int(part * n), n - 1) for part, n in ((place[1], high), (place[0], wide)))
        return np.asarray(self._wanted[row, column])

    def _aim(self) -> None:
        """What is wanted of the sample whose way is drawn: it is another colour in another picture."""
        subject = self.ground.subject
        if subject.probe is None or subject.probe.size != 2 or subject.target is None or subject.target.size != 3:
            return
        place = subject.probe.ravel().copy()
        subject.choose(place, self._wanted_at(place))
        self.ground.probes += 1


def _counted(made: Painted, all_of_them: int) -> str:
    if made.whole:
        return f"all {all_of_them:,} pixels" if all_of_them > 1 else "1 pixel"
    return f"at {len(made.rows) * len(made.columns):,} pixels"
