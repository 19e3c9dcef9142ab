"""The drawer of a picture that a user's function makes of every moment."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import InputError
from ...run.panels import Image, RecordedPictures
from ...run.source import Moment
from ..ink.listed import records_of, sketches_of
from ..ink.places import COLUMN, LABEL
from ..ink.sketch import Box, Kept, Sketch
from .drawer import Drawer, Ground, cut, sentence, title_of
from .pace import Pace, Written
from .pictures import thumbnail, to_bytes

LARGEST = 512
"""Pixels of a side that are shown; larger pictures are averaged down."""
_TOP = 21.0
Made = TypeVar("Made")


class ImageDrawer(Drawer[Image]):
    """Calls the function, checks what comes, and says in one line what is wrong with it."""

    name = "image"
    height, most = 166.0, COLUMN + _TOP
    overlay = (200.0, 200.0 + _TOP)
    beside = (64.0, 64.0 + _TOP)

    def __init__(self, panel: Image, ground: Ground) -> None:
        super().__init__(panel, ground)
        self._asked = Asked(panel.title, ground)

    @property
    def moving(self) -> bool:
        return self._asked.moving

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        made, error = self._asked.ask(moment, seconds, lambda: as_pixels(self.panel.paint(moment)))
        sketch, (x, y, width, height) = Sketch(), box
        title_of(sketch, box, self.ground.theme, self.panel.title, self._asked.age or self.panel.note)
        if made is None:
            return [sketch, sentence((x, y + _TOP, width, height - _TOP), self.ground.theme, error)]
        fitted = fitting((x, y + _TOP, width, height - _TOP), (made.shape[1], made.shape[0]))
        sketch.image(fitted, made, linear=self.panel.smooth or fitted[2] < made.shape[1])
        return [sketch]


def fitting(box: Box, size: tuple[int, int]) -> Box:
    """A picture at the left top of a box, as large as it fits."""
    wide, high = size
    scale = min(box[2] / wide, box[3] / high)
    return box[0], box[1], max(round(wide * scale), 1), max(round(high * scale), 1)


class Asked:
    """What a user's function made last, and when it is asked again; one that raises stops nothing."""

    def __init__(self, title: str, ground: Ground, *, words: bool = False) -> None:
        self._title, self._ground = title, ground
        self._written = Written() if words else None
        self._pace = Pace(ground.hints)
        self._made: Any = None
        self._error = ""
        self._step = 0

    @property
    def moving(self) -> bool:
        """Whether the answer is of a frame before, or its age was said until a moment ago."""
        held = self._written is not None and self._written.late
        return held or self._pace.late or self._pace.old

    @property
    def age(self) -> str:
        """Which step it is of, where that is not the one shown."""
        return f"step {self._step:,}" if self._pace.old else ""

    def ask(self, moment: Moment, seconds: float | None, make: Callable[[], Made]) -> tuple[Made | None, str]:
        """What `make` made of this moment or, where that is too dear, of a former one; or else what went wrong."""
        frame = moment.frame
        if self._written is not None:
            frame = self._written.of(frame, writes=self._ground.writes)
        if self._pace.due(frame, seconds) and frame is moment.frame:
            start = time.perf_counter()
            try:
                self._made, self._error = make(), ""
            except Exception as error:  # it is a stranger's code: its place says so, and the picture goes on
                self._made, self._error = None, self._ground.failed(f"panel {self._title!r}", error)
            self._step = moment.step
            self._pace.did(time.perf_counter() - start)
        return self._made, self._error


def as_pixels(picture: ArrayLike) -> NDArray[np.uint8]:
    """What a user's function returned as uint8 (H, W, 3), a copy of its own; InputError for another shape or dtype."""
    array = np.asarray(picture)
    if array.ndim != 3 or array.shape[2] != 3 or 0 in array.shape:
        raise InputError(f"paint returned shape {array.shape}; allowed: (H, W, 3)")
    if array.dtype == np.uint8:
        if max(array.shape[:2]) <= LARGEST:
            return array.copy()
        array = array / np.float32(255)
    elif array.dtype.kind != "f":
        raise InputError(f"paint returned dtype {array.dtype}; allowed: uint8, or floats in 0..1")
    return to_bytes(thumbnail(array, LARGEST))


# ---- The drawer of pictures that a panel left in a recording: each says of which step it is.

AIR = 4
"""Pixels of the window around a panel that belong to its picture: letters and discs may reach out of its box."""
MOST_PIXELS = 16_000_000
"""Of a picture; what claims to be larger is not decoded."""
_LINE = 20.0


class RecordedPicturesDrawer(Drawer[RecordedPictures]):
    """The newest picture that is not after the step shown, and its step below it."""

    name = "recorded picture"
    least = 60.0

    def __init__(self, panel: RecordedPictures, ground: Ground) -> None:
        super().__init__(panel, ground)
        first = panel.pictures[0]
        high = (COLUMN + 2 * AIR) * first.height / first.width - 2 * AIR
        self.height = min(max(high, 8.0), 2.0 * COLUMN) + _LINE
        self._read = Kept[list[Sketch] | None]()

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        x, y, width, height = box
        number, theme, sketch = self.panel.at_step(moment.step), self.ground.theme, Sketch()
        if number is None:
            first = self.panel.pictures[0].step
            return [sentence(box, theme, f"{self.panel.title}: recorded from step {first:,} on")]
        picture = self.panel.pictures[number]
        size = picture.width, picture.height
        place = fitting((x - AIR, y - AIR, width + 2 * AIR, height - _LINE + 2 * AIR), size)
        read = self._read.of((number, place, theme), lambda: sketches_of(records_of(picture.image, size), theme, place))
        if read is None:
            return [sentence(box, theme, f"{self.panel.title}: its picture in the file cannot be read")]
        said = f"{self.panel.title}, as recorded at step {picture.step:,}"
        ink = theme.text2 if picture.step != moment.step else theme.text3
        sketch.text(x, y + place[3] - 2 * AIR + 16, cut(said, width), LABEL, ink)
        return [*read, sketch]
