"""Make a picture of cubes small: a PNG of 256 colours with a fifth of the bytes that looks the same.

What costs bytes in a drawn picture is not the drawing but the grain of its background (a soft glow, dithered so that no
bands show) and the many half-tones along edges. So the grain is calmed, and of the 256 colours as many as it takes go
to what is even: faces and legends, whose colours mean numbers, keep them within two levels. Edges get the rest.
"""

from __future__ import annotations

import io
from itertools import count

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

COLOURS = 256
GRAIN = 4
"""Levels by which neighbours may differ and still be one background."""
WINDOWS = (5, 9)
"""Pixels across that are looked at for grain, one after the other."""
EVEN = 6
"""Levels by which neighbours differ at most where a colour means something."""
NEAR = 2
"""Levels by which such a colour may be changed, where the picture has not too many of them."""
LARGE = 0.002
"""Share of the picture from which on a colour is kept as it is: a glow of three levels is seen when one is missing."""
ROOM = 48
"""Colours that are left for edges at least."""
ROUNDS = 15
"""In which the colours of edges are moved to the middle of what they stand for."""

CODE = np.array([65536, 256, 1])

Levels = NDArray[np.int64]


def packed(data: bytes) -> bytes:
    """A PNG of the same size in fewer bytes; one that has 256 colours or fewer keeps every pixel.

    Parameters
    ----------
    data : bytes
        Any picture that Pillow reads.
    """
    image = Image.open(io.BytesIO(data)).convert("RGB")
    if image.getcolors(COLOURS) is None:
        image = calmed(image)
    codes = np.asarray(image, dtype=np.int64) @ CODE  # numbers are sorted quicker than rows
    found_codes, which, pixels = np.unique(codes, return_inverse=True, return_counts=True)
    colours = found_codes[:, None] // CODE % 256
    chosen = palette(image, colours, which.ravel(), pixels) if len(colours) > COLOURS else colours
    nearest = np.concatenate([_distance(part, chosen).argmin(axis=1) for part in np.array_split(colours, 64)])
    found = Image.fromarray(nearest[which.ravel()].astype(np.uint8).reshape(image.height, image.width), "P")
    found.putpalette(chosen.astype(np.uint8).ravel().tolist())
    file = io.BytesIO()
    found.save(file, "PNG", optimize=True)
    return file.getvalue()


def calmed(image: Image.Image) -> Image.Image:
    """Pixels that differ from their neighbours by grain alone become their mean."""
    for window in WINDOWS:
        middle = np.asarray(image.filter(ImageFilter.BoxBlur(window // 2)))
        grain = spread(image, window) <= GRAIN
        image = Image.fromarray(np.where(grain[..., None], middle, np.asarray(image)))
    return image


def palette(image: Image.Image, colours: Levels, which: Levels, pixels: Levels) -> Levels:
    """The colours that it is drawn with, (256 or fewer, 3).

    Parameters
    ----------
    image : Image
    colours, which, pixels : ndarray
        Its colours, which of them each pixel has, and how many pixels have each.
    """
    even = np.bincount(which, weights=(spread(image, 3) <= EVEN).ravel(), minlength=len(colours))
    order = np.argsort(-even, kind="stable")[: np.count_nonzero(even)]
    kept = int((even[order] >= LARGE * len(which)).sum())
    leading = next(
        found for near in count(NEAR) if len(found := _leading(colours[order], kept, near)) <= COLOURS - ROOM
    )
    far = _distance(colours, leading).min(axis=1, initial=COLOURS) > NEAR
    if not far.any():
        return leading
    sample = np.repeat(colours[far], np.ceil(np.sqrt(pixels[far])).astype(int), axis=0)[None]
    room = COLOURS - len(leading)
    others = Image.fromarray(sample.astype(np.uint8)).quantize(room, Image.Quantize.MEDIANCUT, kmeans=ROUNDS)
    return np.concatenate([leading, np.reshape(others.getpalette(), (-1, 3))[:room].astype(np.int64)])


def spread(image: Image.Image, window: int) -> Levels:
    """By how many levels the neighbours of each pixel differ, (height, width)."""
    low = high = image
    for _ in range(window // 2):  # three pixels across at a time is far quicker
        low, high = low.filter(ImageFilter.MinFilter(3)), high.filter(ImageFilter.MaxFilter(3))
    found: Levels = (np.asarray(high, dtype=np.int64) - np.asarray(low)).max(axis=2)
    return found


def _leading(colours: Levels, kept: int, near: int) -> Levels:
    """The first `kept` colours and as many others as it takes that each is within `near` levels of one of them."""
    found = list(colours[:kept])
    colours = colours[_distance(colours, colours[:kept]).min(axis=1, initial=COLOURS) > near]
    while len(colours):
        found.append(colours[0])
        colours = colours[np.abs(colours - colours[0]).max(axis=1) > near]
    return np.array(found).reshape(-1, 3)


def _distance(colours: Levels, others: Levels) -> Levels:
    """Levels between each two of them, in the channel where it is most, (colours, others)."""
    found: Levels = np.abs(colours[:, None] - others[None]).max(axis=2)
    return found
