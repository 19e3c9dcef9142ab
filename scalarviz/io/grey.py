"""Pictures of one deep channel: grey of 12, 16 or 32 bits, whole numbers or floats; and what is white in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import FileFormatError

if TYPE_CHECKING:
    from PIL.Image import Image as PillowImage

FULL_SCALES = (1.0, 255.0, 65535.0, 2.0**31 - 1)
BITS, SAMPLE_FORMAT, LARGEST_SAMPLE = 258, 339, 341  # tags of a TIFF
UNSIGNED = 1


def is_deep(image: PillowImage) -> bool:
    """Whether a picture has one channel of more than 8 bits."""
    return image.mode.startswith("I") or image.mode == "F"


def level(image: PillowImage, tags: Mapping[int, Any]) -> NDArray[np.float32]:
    """The brightness in 0..1 of a deep picture, shape (H, W).

    Parameters
    ----------
    image : PIL.Image.Image
    tags : mapping of int
        Of a TIFF; empty for another file.

    Raises
    ------
    FileFormatError
        A pixel is not finite, or nothing tells what is white.
    """
    pixels = np.asarray(image)
    bits, kind = (tags.get(tag, (none,))[0] for tag, none in ((BITS, 0), (SAMPLE_FORMAT, UNSIGNED)))
    if image.mode == "I" and bits == 32 and kind == UNSIGNED:
        pixels = pixels.view(np.uint32)  # pillow has no unsigned mode: the upper half would be negative
    grey = pixels.astype(np.float64)
    if not np.isfinite(grey).all():
        raise FileFormatError("a pixel is not a finite number")
    if image.mode == "F" or not bits:
        white = _guess(grey, image.mode)
    elif bits < 32:
        white = 2.0 ** (bits if kind == UNSIGNED else bits - 1) - 1
    else:
        white = _of_32_bits(grey, kind == UNSIGNED, tags)
    return np.clip(grey / white, 0, 1).astype(np.float32)


def _guess(grey: NDArray[np.float64], mode: str) -> float:
    """What counts as white where the kind of file does not say: the smallest usual full scale that holds all."""
    if mode not in ("F", "I"):
        return 65535.0
    scales = FULL_SCALES if mode == "F" else FULL_SCALES[2:]
    return next((s for s in scales if grey.max() <= s), float(grey.max()))


def _of_32_bits(grey: NDArray[np.float64], unsigned: bool, tags: Mapping[int, Any]) -> float:
    """White of whole numbers of 32 bits: what the file names, or the full range if that shows anything at all."""
    said = float(np.max(tags.get(LARGEST_SAMPLE, 0)))
    if said > 0:
        return said
    white, largest = 2.0 ** (32 if unsigned else 31) - 1, grey.max()
    if 0 < largest < white / 255:
        raise FileFormatError(
            f"its whole numbers have 32 bits, but the largest is {largest:.0f}: in the full range, 0 .. {white:.0f}, "
            "that is black, and no SMaxSampleValue says what is white. Save it with 16 bits, or as floats in 0..1"
        )
    return white
