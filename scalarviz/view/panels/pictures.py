"""Before, network, target: three small pictures of the same size."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...run.panels import Pictures
from ...run.source import Moment
from ..ink.maps import displayed, hexed
from ..ink.overlay import pointer_label
from ..ink.places import LABEL
from ..ink.sketch import Box, Sketch, Spot, spot_at
from ..ink.text import measure
from .drawer import Drawer, Ground, P, Point

SIDE = 96  # pixels that the network paints at most in each direction
_GAP = 8.0
Pixels = NDArray[np.floating]


def thumbnail(picture: Pixels, side: int = SIDE) -> NDArray[np.float32]:
    """`picture` (H, W, 3) in 0..1, reduced to at most `side` pixels in each direction by averaging areas."""
    array = np.asarray(picture, np.float32)
    height, width = array.shape[:2]
    shrink = max(height, width) / side
    if shrink <= 1:
        return array
    size = (max(1, round(width / shrink)), max(1, round(height / shrink)))
    return averaged(averaged(array, size[1], 0), size[0], 1)


def averaged(array: Pixels, count: int, along: int) -> NDArray[np.float32]:
    """Means of `count` stretches of equal length, fractions of a pixel included, along one direction."""
    moved = np.moveaxis(array, along, 0)
    total = np.concatenate([np.zeros_like(moved[:1], np.float64), np.cumsum(moved, axis=0, dtype=np.float64)])
    cuts = np.linspace(0, len(moved), count + 1)
    whole = np.minimum(cuts.astype(int), len(moved) - 1)
    part = (cuts - whole).reshape(-1, *[1] * (moved.ndim - 1))
    at = total[whole] + part * (total[whole + 1] - total[whole])
    mean = np.diff(at, axis=0) / (len(moved) / count)
    return np.asarray(np.moveaxis(mean, 0, along), np.float32)


def to_bytes(picture: Pixels) -> NDArray[np.uint8]:
    """Network output or picture in 0..1 as sRGB bytes."""
    return np.asarray(np.rint(displayed(picture) * 255.0), np.uint8)


class PixelsDrawer(Drawer[P]):
    """Pictures of the same size, drawn as spots called ``"pixels"``, of which a pixel can be pointed at."""

    sample = 3
    """How many numbers the network gets of a pixel."""
    size = (1, 1)
    """Pixels of each picture: height and width."""
    _spots: Sequence[Spot] = ()

    def way(self, pixel: tuple[int, int]) -> tuple[ArrayLike, ArrayLike]:
        """The sample of a pixel and its target, as they are now."""
        raise NotImplementedError

    def says(self, moment: Moment, pixel: tuple[int, int]) -> tuple[str, str, list[str]]:
        """What a pixel is, what it has become, and more lines."""
        raise NotImplementedError

    def put(
        self, sketch: Sketch, places: Sequence[Box], images: Sequence[NDArray[np.uint8]], names: Sequence[str]
    ) -> list[Sketch]:
        """Pictures in their places, enlarged so that pixels of small ones stay seen."""
        for place, image, name in zip(places, images, names, strict=True):
            sketch.image(place, image, linear=image.shape[1] > 8)
            sketch.spot(place, "pixels", words=name)
        self._spots = sketch.spots
        return [sketch]

    # ---- hands

    def under(self, at: Point) -> tuple[int, int] | None:
        """Row and column of the pixel at a point, whichever of the pictures it is in; None beside them."""
        spot = None if self.box is None else spot_at(self._spots, at)
        if spot is None:
            return None
        (x, y, width, height), (high, wide) = spot.box, self.size
        row, column = int((at[1] - y) / height * high), int((at[0] - x) / width * wide)
        return min(row, high - 1), min(column, wide - 1)

    def label(self, moment: Moment, size: tuple[float, float]) -> Sequence[Sketch]:
        """What a pixel is, has become and is to become, and what a click would do."""
        at = self.pointer
        pixel = None if at is None else self.under(at)
        if at is None or pixel is None:
            return ()
        name, value, more = self.says(moment, pixel)
        more += ["click: show its way"] if self.ground.chooses(self.sample) else []
        return [pointer_label(at, size, name, value, more, self.ground.theme)]

    def click(self, at: Point) -> bool:
        pixel = self.under(at)
        if pixel is None or not self.ground.chooses(self.sample):
            return False
        self.ground.choose_by(lambda: self.way(pixel))
        return True


class PicturesDrawer(PixelsDrawer[Pictures]):
    """The network paints the reduced source anew at every frame."""

    name = "pictures"
    height = 117.0
    least = 84.0
    needs = ("predict",)
    choices = (("Click", "a pixel of a picture: show its way"),)

    def __init__(self, panel: Pictures, ground: Ground) -> None:
        super().__init__(panel, ground)
        self._label = panel.label
        self._put(thumbnail(panel.source), thumbnail(panel.target))

    def _put(self, source: Pixels, target: Pixels) -> None:
        """Show these; both reduced."""
        self._source, self._target = source, np.clip(target, 0.0, 1.0)
        self._shown = to_bytes(self._source), to_bytes(self._target)
        self.size = source.shape[0], source.shape[1]

    def take(self, picture: NDArray[np.floating]) -> str:
        """Show it before, after and as the target, where the scene says what another picture is to become."""
        if self.panel.target_of is None:
            return "what it is to become is not known here"
        source = thumbnail(picture)
        self._put(source, self.panel.target_of(source))
        self._label, self.stale = "yours", True
        return "shown before and after"

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        (high, wide), theme, sketch = self.size, self.ground.theme, Sketch()
        made = to_bytes(moment.predict(self._source.reshape(-1, 3)).reshape(high, wide, -1))
        (x, y, _, height), cell = box, (box[2] - 2 * _GAP) / 3
        own = min(cell, (height - 21) * wide / high)
        places = [(round(x + k * (cell + _GAP)), y + 21.0, round(own), round(own * high / wide)) for k in range(3)]
        names = (self._label, "network", "target")
        for place, title in zip(places, names, strict=True):
            mine = title == "network"
            if measure(title, LABEL, mine) <= cell:
                sketch.text(place[0], y + 14, title, LABEL, theme.text1 if mine else theme.text2, bold=mine)
        return self.put(sketch, places, (self._shown[0], made, self._shown[1]), names)

    def says(self, moment: Moment, pixel: tuple[int, int]) -> tuple[str, str, list[str]]:
        colour = self._source[pixel]
        now = hexed(displayed(moment.predict(colour[None]))[0])
        return hexed(colour), f"is now {now}", [f"wanted: {hexed(self._target[pixel])}"]

    def way(self, pixel: tuple[int, int]) -> tuple[ArrayLike, ArrayLike]:
        sample, plain = self._source[pixel][None], self._target[pixel][None]
        return sample, self.ground.wanted(sample, plain)
