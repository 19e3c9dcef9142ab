"""Pictures to disk, atomically: a reader sees the old file or the whole new one, never a half."""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...io import replacing


def save_png(path: str | os.PathLike[str], picture: NDArray[np.uint8]) -> Path:
    """Write `picture`, uint8 (H, W, 3), as a PNG."""
    from PIL import Image

    check_picture(picture)
    with replacing(path) as temporary:
        Image.fromarray(np.ascontiguousarray(picture)).save(temporary, format="PNG")
    return Path(path)


def check_picture(picture: NDArray[np.uint8]) -> None:
    """Raise InputError unless `picture` is uint8 (H, W, 3) with at least one pixel."""
    if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3 or picture.size == 0:
        raise InputError(
            f"picture: got {picture.dtype} {picture.shape}; allowed: uint8 (height, width, 3); try sv.render(...)"
        )


def free(folder: Path, name: str, suffix: str) -> Path:
    """``folder/name-1.png``, or the first number that no file has."""
    stem = name.replace(" ", "-")
    return next(path for number in count(1) if not (path := folder / f"{stem}-{number}{suffix}").exists())
