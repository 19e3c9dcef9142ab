"""A picture to be painted, perhaps transposed or enlarged: learnt pixel by pixel, or at random places.

A place is (x, y) in 0..1 from the upper left corner. Its target colour is the picture's colour at the transformed
place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .. import rng

Float = NDArray[np.float32]

DRAWN = 2**31
"""Random places before one repeats."""
TRANSFORMS: dict[str, Callable[[Float], Float]] = {
    "identity": lambda places: places,
    "transpose": lambda places: places[:, ::-1],
    "zoom": lambda places: places * np.float32(0.5) + np.float32(0.25),
}
"""The place in the picture where the colour of each place (N, 2) is looked up."""
_STREAM = np.uint64(rng.Stream.USER + 1)


@dataclass(frozen=True, eq=False)
class Motif:
    """A picture (H, W, 3), sRGB in 0..1, and its transform, a name in `TRANSFORMS`."""

    rgb: Float
    transform: str = "identity"

    def colours_at(self, places: Float) -> Float:
        """Return the target colours at places (N, 2), shape (N, 3), interpolated bilinearly."""
        return bilinear(self.rgb, TRANSFORMS[self.transform](places))

    @cached_property
    def target_colours(self) -> Float:
        """The target colour of every pixel, shape (H, W, 3)."""
        if self.transform == "identity":
            return self.rgb
        return self.colours_at(self.places).reshape(self.rgb.shape)

    @cached_property
    def places(self) -> Float:
        """The centres of all pixels, row by row, shape (H * W, 2)."""
        y, x = (((np.arange(n) + 0.5) / n).astype(np.float32) for n in self.rgb.shape[:2])
        return np.stack([np.tile(x, len(y)), np.repeat(y, len(x))], axis=1)

    def samples(self, seed: int | None = None) -> tuple[Float | Places, Float | Colours]:
        """Return the inputs and targets of a run: all pixels, or with a seed random places."""
        if seed is None:
            return self.places, self.target_colours.reshape(-1, 3)
        places = Places(seed)
        return places, Colours(places, self)

    def evenly(self, most: int) -> tuple[Float, Float]:
        """Return evenly spread pixel places (N, 2) and their target colours."""
        some = np.unique(np.linspace(0, len(self.places) - 1, most).astype(int))
        return self.places[some], self.target_colours.reshape(-1, 3)[some]


def bilinear(rgb: Float, places: Float) -> Float:
    """Return bilinear colours (N, 3) of a picture at places (N, 2); the border is repeated outside."""
    high, wide = rgb.shape[:2]
    at = places * np.array([wide, high], np.float32) - np.float32(0.5)
    at = np.clip(at, 0, np.array([wide - 1, high - 1], np.float32))
    first = np.minimum(at.astype(np.int64), np.maximum(np.array([wide - 2, high - 2]), 0))
    share = (at - first).astype(np.float32)
    (column, row), (across, down) = first.T, share.T[..., None]
    right, below = np.minimum(column + 1, wide - 1), np.minimum(row + 1, high - 1)
    upper = rgb[row, column] * (1 - across) + rgb[row, right] * across
    lower = rgb[below, column] * (1 - across) + rgb[below, right] * across
    return np.asarray(upper * (1 - down) + lower * down, np.float32)


class Places:
    """Random places: each is a function of its number and the seed, so that steps can be repeated."""

    def __init__(self, seed: int) -> None:
        self._key = rng.split(seed)

    def __len__(self) -> int:
        return DRAWN

    def __getitem__(self, numbers: slice | NDArray[np.int64]) -> Float:
        """Return places (N, 2) by their numbers."""
        if isinstance(numbers, slice):
            numbers = np.arange(numbers.start or 0, DRAWN if numbers.stop is None else numbers.stop)
        count = numbers.astype(np.uint64)
        words = rng.philox4x32(count & rng.WORD, _STREAM, count >> rng.HALF, np.uint64(0), *self._key)
        return np.stack([rng.unit(*words[:2]), rng.unit(*words[2:])], axis=1).astype(np.float32)


class Colours:
    """The target colours at these places."""

    def __init__(self, places: Places, motif: Motif) -> None:
        self._places, self._motif = places, motif

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, numbers: slice | NDArray[np.int64]) -> Float:
        """Return colours (N, 3) by the numbers of their places."""
        return self._motif.colours_at(self._places[numbers])
