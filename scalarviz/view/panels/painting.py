"""The drawer of a picture that a network paints: network large, target and error small."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...run.panels import Painting, psnr
from ...run.source import Moment
from ..ink.maps import displayed, hexed
from ..ink.places import ABOUT, COLUMN, LABEL
from ..ink.sketch import Box, Sketch
from ..ink.text import measure
from .drawer import Ground, Headline, title_of
from .grid import Grid, fractions, reduced
from .pictures import PixelsDrawer, thumbnail, to_bytes

Pixels = NDArray[np.floating]

LADDER = (12, 16, 24, 32, 48, 64, 80, 96, 128, 160, 192, 224, 256, 304)
"""Pixels of the longer side while somebody waits."""
BUDGET = 0.008
"""Seconds that painting may take of a frame, a quarter of the thirtieth of a second."""
FILM, STILL = 160, 608
"""Pixels of the longer side in a film and in a picture: always the same, so that both can be made again."""


TITLE = 21.0
SHOWN = 512  # pixels of a side of the target; the column has no more
GAP, BETWEEN = 8.0, 12.0
WIDE = 1.2
"""Aspect from which the small pictures stand below the large one; else they stand beside it."""
TALLEST, LEAST = 260.0, 16.0
"""Pixels of the large picture's height beside small ones at most, and of theirs at least."""
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


class PaintingDrawer(PixelsDrawer[Painting]):
    """Asks a grid for the network's picture, and compares it with the target at the same pixels."""

    name, sample = "painting", 2
    needs = ("predict",)
    worth = ABOUT
    choices = (("Click", "a pixel of a painted picture: show its way"),)

    def __init__(self, panel: Painting, ground: Ground) -> None:
        super().__init__(panel, ground)
        self.height = easel_height(panel.size[1] / panel.size[0])
        self.least = min(self.height, _SMALL)
        self.grid = Grid(ground.hints, LADDER, BUDGET)
        self._wanted: Pixels | None = None
        self._target = np.zeros((1, 1, 3), np.uint8)
        self._images = (self._target,) * 3
        self.size = panel.size
        self._psnr, self._note = float("nan"), ""

    def look(self, moment: Moment, seconds: float | None) -> None:
        """Which picture is to be painted at a moment, and the pixels of it that are."""
        wanted = self.panel.wanted(moment)
        if wanted is not self._wanted:
            self._wanted, self._target = wanted, to_bytes(thumbnail(wanted, SHOWN))
            self.size = wanted.shape[0], wanted.shape[1]
            self._aim()

        def ask(down: Pixels, across: Pixels) -> Pixels:
            y, x = ((at + 0.5) / n for at, n in zip(self._pixels(down, across), self.size, strict=True))
            places = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2).astype(np.float32)
            return np.asarray(np.nan_to_num(moment.predict(places)))

        longest = max(self.size) if self.ground.hints else STILL if seconds is None else FILM
        if self.grid.update(moment.frame, seconds, reduced(self.size, longest), ask):
            made = self.grid.numbers
            assert made is not None
            near = wanted[np.ix_(*self._pixels(*(fractions(count) for count in made.shape[:2])))]
            error, self._psnr = made - near, psnr(np.clip(made, 0, 1), near)
            self._images = to_bytes(made), self._target, to_bytes(0.5 + self.panel.gain * error)

    def _pixels(self, down: Pixels, across: Pixels) -> list[NDArray[np.int64]]:
        """Rows and columns of the pixels at fractions of the way, which may stand at the edge between two."""
        return [(part * n + 1e-9).astype(np.int64) for part, n in zip((down, across), self.size, strict=True)]

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        sketch, theme, (high, wide) = Sketch(), self.ground.theme, self.size
        places = large, small, last = easel_boxes(box, wide / high)
        if self.ground.writes or not self._note:
            self._note = self._noted(moment, self._counted(), large[2])
        title_of(sketch, (large[0], box[1], large[2], TITLE), theme, "network", self._note)
        end, gain = box[0] + box[2], f"error × {self.panel.gain:g}"
        ends = (last[0] - GAP if last[1] == small[1] else end), end
        for place, end, titles in zip((small, last), ends, (("target",), (f"{gain}, grey = 0", gain)), strict=True):
            said = next((title for title in titles if measure(title, LABEL) <= end - place[0]), "")
            sketch.text(place[0], place[1] - 7, said, LABEL, theme.text2)
        return self.put(sketch, places, self._images, ("network", "target", "error"))

    def _counted(self) -> str:
        made, (high, wide) = self.grid.numbers, self.size
        count = 0 if made is None else made[..., 0].size
        if count == high * wide:
            return f"all {count:,} pixels" if count > 1 else "1 pixel"
        return f"at {count:,} pixels"

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
        return self.grid.unfinished

    @property
    def headline(self) -> Headline | None:
        """How near the network has come, at the pixels that are painted of the frame shown."""
        return Headline("psnr", f"{self._psnr:.1f} dB") if np.isfinite(self._psnr) else None

    # ---- hands

    def take(self, picture: Pixels) -> str | None:
        if self.panel.other is None:
            return None
        self.ground.subject.source.edit(self.panel.other(picture))
        return "it is painted from now on"

    def says(self, moment: Moment, pixel: tuple[int, int]) -> tuple[str, str, list[str]]:
        place = self._place(pixel)
        wanted, made = self._wanted_at(place), moment.predict(place[None])[0]
        off = ", ".join(f"{100 * e:+.0f}".replace("-", "−") for e in made - wanted)
        name = f"row {pixel[0]:,}, column {pixel[1]:,}"
        return name, f"is {hexed(displayed(made))}", [f"wanted: {hexed(wanted)}", f"off by {off} %"]

    def way(self, pixel: tuple[int, int]) -> tuple[ArrayLike, ArrayLike]:
        place = self._place(pixel)
        return place, self._wanted_at(place)

    def _place(self, pixel: tuple[int, int]) -> NDArray[np.float32]:
        """The middle of a pixel as the network is told it, shape (2,)."""
        high, wide = self.size
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
