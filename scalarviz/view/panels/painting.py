"""The drawer of a picture that a network paints: network large, target and error small."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...run.panels import Painting, psnr
from ...run.source import Moment
from ..ink.maps import displayed, hexed
from ..ink.places import ABOUT, COLUMN, LABEL
from ..ink.sketch import Box, Sketch
from ..ink.text import measure
from .drawer import Ground, Headline, title_of
from .pace import SETTLE
from .pictures import PixelsDrawer, thumbnail, to_bytes

# ---- `Easel`: paints a picture at as many of its pixels as the time allows, and at all of them once there is time.

Pixels = NDArray[np.floating]
Predict = Callable[[NDArray[np.float32]], NDArray[np.floating]]
"""Colours (N, 3) of places (N, 2)."""

BUDGET = 0.008
"""Seconds that painting may take of a frame, a quarter of the thirtieth of a second."""
AT_REST, FEWEST = 0.016, 2048
"""The same while a frame stands: nothing else is to be drawn. So many pixels at least, or it would never be done."""
LADDER = (12, 16, 24, 32, 48, 64, 80, 96, 128, 160, 192, 224, 256, 304)
"""Pixels of the longer side while somebody waits."""
FILM, STILL = 160, 608
"""Pixels of the longer side in a film and in a picture: always the same, so that both can be made again."""
_BEGIN = LADDER.index(48)
_AIR = 0.75  # share of the budget that a finer picture must fit into, so that it does not flicker


@dataclass(frozen=True, slots=True, eq=False)
class Painted:
    """What a network makes of some pixels of a picture, evenly spread; `psnr` is of these."""

    colours: Pixels
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    psnr: float
    whole: bool  # whether they are all


class Easel:
    """Paints one picture again and again."""

    def __init__(self, live: bool) -> None:
        self._live, self._place = live, _BEGIN
        self._cost = 0.0  # seconds a pixel
        self._shown: object = None
        self._wanted: Pixels | None = None
        self._still = 0.0
        self._done: list[Pixels] = []  # rows of the whole picture that are painted already
        self.painted: Painted | None = None

    @property
    def unfinished(self) -> bool:
        """Whether there is more to paint of the frame that is shown."""
        return self._live and self.painted is not None and not self.painted.whole

    def paint(self, frame: object, seconds: float | None, wanted: Pixels, predict: Predict) -> Painted:
        """Paint what is `wanted` at a frame, or go on where both are those of last time.

        `seconds` have passed since the last call; None: nobody waits.
        """
        if self.painted is None or frame is not self._shown or wanted is not self._wanted:
            self._shown, self._wanted, self._still, self._done = frame, wanted, 0.0, []
            self.painted = self._begun(seconds, wanted, predict)
        elif self.unfinished:
            self._still += seconds or 0.0
            if self._still >= SETTLE:
                self._go_on(wanted, predict)
        return self.painted

    def _begun(self, seconds: float | None, wanted: Pixels, predict: Predict) -> Painted:
        """Some of the pixels: as many as can be waited for."""
        longest = LADDER[self._place] if self._live else STILL if seconds is None else FILM
        size, start = (wanted.shape[0], wanted.shape[1]), time.perf_counter()
        rows, columns = (_spread(n, k) for n, k in zip(size, _reduced(size, longest), strict=True))
        made = _compared(_colours(predict, rows, columns, size), rows, columns, wanted)
        if self._live:
            cost = (time.perf_counter() - start) / made.colours[..., 0].size
            self._cost = cost if not self._cost else 0.7 * self._cost + 0.3 * cost
            now, *finer = (self._cost * prod(_reduced(size, longest)) for longest in LADDER[self._place :][:2])
            if now > BUDGET:
                self._place = max(0, self._place - 1)
            elif finer and finer[0] < _AIR * BUDGET:
                self._place += 1
        return made

    def _go_on(self, wanted: Pixels, predict: Predict) -> None:
        """More rows of the whole picture, as many as the time of a frame allows."""
        high, wide = wanted.shape[:2]
        begun = sum(map(len, self._done))
        count = max(1, max(FEWEST, int(AT_REST / max(self._cost, 1e-9))) // wide)
        rows, columns = np.arange(begun, min(high, begun + count)), np.arange(wide)
        self._done.append(_colours(predict, rows, columns, (high, wide)))
        if rows[-1] + 1 == high:
            self.painted = _compared(np.concatenate(self._done), np.arange(high), columns, wanted)
            self._done = []


def _compared(made: Pixels, rows: NDArray[np.int64], columns: NDArray[np.int64], wanted: Pixels) -> Painted:
    near = psnr(np.clip(made, 0, 1), wanted[np.ix_(rows, columns)])
    return Painted(made, rows, columns, near, made.shape[:2] == wanted.shape[:2])


def _spread(count: int, some: int) -> NDArray[np.int64]:
    """`some` of `count` pixels in a row, evenly spread."""
    return ((np.arange(some) + 0.5) * count / some).astype(np.int64)


def _reduced(size: tuple[int, int], longest: int) -> tuple[int, int]:
    """Rows and columns of a picture of `size` with so many pixels along its longer side, never more than it has."""
    share = min(1.0, longest / max(size))
    return max(1, round(size[0] * share)), max(1, round(size[1] * share))


def _colours(predict: Predict, rows: NDArray[np.int64], columns: NDArray[np.int64], size: tuple[int, int]) -> Pixels:
    """What is made of these pixels, shape (len(rows), len(columns), 3); NaN is black."""
    y, x = (((at + 0.5) / n).astype(np.float32) for at, n in zip((rows, columns), size, strict=True))
    places = np.stack([np.tile(x, len(y)), np.repeat(y, len(x))], axis=1)
    return np.nan_to_num(predict(places)).reshape(len(rows), len(columns), -1)


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
    """Asks an easel for the network's picture, and compares it with the target at the same pixels."""

    name, sample = "painting", 2
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
        self._images = (self._target,) * 3
        self.size = panel.size
        self._note = ""

    def look(self, moment: Moment, seconds: float | None) -> None:
        """Which picture is to be painted at a moment, and the pixels of it that are."""
        wanted = self.panel.wanted(moment)
        if wanted is not self._wanted:
            self._wanted, self._target = wanted, to_bytes(thumbnail(wanted, SHOWN))
            self.size = wanted.shape[0], wanted.shape[1]
            self._aim()
        made = self._easel.paint(moment.frame, seconds, wanted, moment.predict)
        if made is not self._shown:
            self._shown = made
            error = made.colours - wanted[np.ix_(made.rows, made.columns)]
            self._images = to_bytes(made.colours), self._target, to_bytes(0.5 + self.panel.gain * error)

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        sketch, theme, (high, wide) = Sketch(), self.ground.theme, self.size
        assert self._shown is not None
        places = large, small, last = easel_boxes(box, wide / high)
        if self.ground.writes or not self._note:
            self._note = self._noted(moment, _counted(self._shown, high * wide), large[2])
        title_of(sketch, (large[0], box[1], large[2], TITLE), theme, "network", self._note)
        end, gain = box[0] + box[2], f"error × {self.panel.gain:g}"
        ends = (last[0] - GAP if last[1] == small[1] else end), end
        for place, end, titles in zip((small, last), ends, (("target",), (f"{gain}, grey = 0", gain)), strict=True):
            said = next((title for title in titles if measure(title, LABEL) <= end - place[0]), "")
            sketch.text(place[0], place[1] - 7, said, LABEL, theme.text2)
        return self.put(sketch, places, self._images, ("network", "target", "error"))

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
        return self._easel.unfinished

    @property
    def headline(self) -> Headline | None:
        """How near the network has come, at the pixels that are painted of the frame shown."""
        made = self._shown
        return None if made is None or not np.isfinite(made.psnr) else Headline("psnr", f"{made.psnr:.1f} dB")

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


def _counted(made: Painted, all_of_them: int) -> str:
    if made.whole:
        return f"all {all_of_them:,} pixels" if all_of_them > 1 else "1 pixel"
    return f"at {len(made.rows) * len(made.columns):,} pixels"
