"""Arrays that lie in a file: whether the file still has them. To read behind its end ends the process."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import InputError

__all__ = ["InFile", "check_length"]


class InFile:
    """The file that an array is mapped from.

    Parameters
    ----------
    array : ndarray
        A ``np.memmap``, or any view of one; other arrays have no file, and are always there.
    """

    def __init__(self, array: NDArray[Any]) -> None:
        self._map, begin = _below(array)
        self._needed = 0 if self._map is None else begin + _last(array, self._map)

    def missing(self) -> str:
        """What is missing, as the end of a sentence; empty if nothing is."""
        try:
            size = self._needed if self._map is None else self._map.size()
        except (OSError, ValueError):  # memory without a file
            return ""
        if size >= self._needed:
            return ""
        return f"the file was shortened to {size:,} bytes; {self._needed:,} are needed"


def check_length(array: NDArray[Any], what: str) -> None:
    """Raise InputError unless all numbers of an array can be read."""
    missing = InFile(array).missing() if array.base is not None else ""
    if missing:
        raise InputError(f"{what}: {missing}; restore the file")


def _below(array: Any) -> tuple[mmap.mmap | None, int]:
    """The map below an array, and where in the file it begins."""
    begin = 0
    while array is not None and not isinstance(array, mmap.mmap):
        if isinstance(array, np.memmap):
            begin = array.offset - array.offset % mmap.ALLOCATIONGRANULARITY
        array = getattr(array, "base", None)
    return array, begin


def _last(array: NDArray[Any], below: mmap.mmap) -> int:
    """Where in the map the numbers of an array end."""
    if array.size == 0:
        return 0
    last = sum((n - 1) * max(step, 0) for n, step in zip(array.shape, array.strides, strict=True))
    place = array.ctypes.data - int(np.frombuffer(below, np.uint8).ctypes.data)
    return int(place + last + array.itemsize)
