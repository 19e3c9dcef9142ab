"""The drawer of pictures that a panel left in a recording: each says of which step it is."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...run.panels import RecordedPictures
from ...run.source import Moment
from ..draw.places import COLUMN, LABEL
from ..draw.sketch import Box, Sketch
from .drawer import Drawer, Ground, cut, sentence

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
        self._decoded: dict[int, NDArray[np.uint8] | None] = {}

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        """Picture and step."""
        x, y, width, height = box
        number, theme, sketch = self.panel.at_step(moment.step), self.ground.theme, Sketch()
        if number is None:
            first = self.panel.pictures[0].step
            return [sentence(box, theme, f"{self.panel.title}: recorded from step {first:,} on")]
        pixels = self._pixels(number)
        if pixels is None:
            return [sentence(box, theme, f"{self.panel.title}: its picture in the file cannot be read")]
        high, wide = pixels.shape[:2]
        scale = min((width + 2 * AIR) / wide, (height - _LINE + 2 * AIR) / high)
        size = round(wide * scale), round(high * scale)
        sketch.image((x - AIR, y - AIR, *size), pixels, linear=True)
        step = self.panel.pictures[number].step
        said = f"{self.panel.title}, as recorded at step {step:,}"
        old = step != moment.step
        sketch.text(x, y + size[1] - 2 * AIR + 16, cut(said, width), LABEL, theme.text2 if old else theme.text3)
        return [sketch]

    def _pixels(self, number: int) -> NDArray[np.uint8] | None:
        """The picture, decoded once; None where it is none."""
        if number not in self._decoded:
            while len(self._decoded) > 3:
                self._decoded.pop(next(iter(self._decoded)))
            self._decoded[number] = _decoded(self.panel.pictures[number].image)
        return self._decoded[number]


def _decoded(image: bytes) -> NDArray[np.uint8] | None:
    """Pixels (H, W, 3) of what somebody else's file calls a picture."""
    from PIL import Image

    try:
        with Image.open(io.BytesIO(image), formats=("PNG", "WEBP")) as picture:
            if not 0 < picture.width * picture.height <= MOST_PIXELS:
                return None
            return np.asarray(picture.convert("RGB"))
    except Exception:  # whatever a decoder says of bytes that are no picture
        return None
