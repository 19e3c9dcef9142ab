"""Pictures to disk, atomically: a reader sees the old file or the whole new one, never a half."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary name beside `path` with the same suffix; moved into place on success, removed on any failure.

    Raises
    ------
    InputError
        If the folder cannot be made or written to.
    """
    target = Path(path)
    temporary = target.with_name(f".{target.stem}.{os.getpid()}.part{target.suffix}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary.touch()
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror or error}; choose another place") from error
    try:
        yield temporary
        if target.is_dir():
            raise InputError(f"cannot write {target}: it is a folder; name a file in it")
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


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
        raise InputError(f"picture: got {picture.dtype} {picture.shape}; allowed: uint8 (height, width, 3); "
                         "try sv.view.render(...)")
