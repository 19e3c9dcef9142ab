"""`Data`: the numbers of all samples, stored as given and read in the dtype of a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Part = NDArray[Any]

PIECE = 1 << 18
"""Numbers that are processed together."""


class Data:
    """A read-only table with one row for each number of a sample, and one column for each sample.

    Reading gives `dtype`. The table consists of `parts`, (numbers, N), one below the other, which are not copied. Whole
    numbers keep a dtype smaller than the run's, and are converted when they are read. In memory, the numbers of a
    sample are side by side if steps pick samples; otherwise those of a row are (:meth:`set_layout`).
    """

    __slots__ = ("about", "dtype", "parts", "shape")

    def __init__(self, dtype: Any, *parts: Part, about: Any = None) -> None:
        self.dtype, self.parts = np.dtype(dtype), parts
        self.about = about  # an object of the scene that describes the data; an edit of the data brings its own
        self.shape: tuple[int, int] = sum(len(part) for part in parts), parts[0].shape[1]

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def size(self) -> int:
        """The number of numbers."""
        return self.shape[0] * self.shape[1]

    @property
    def nbytes(self) -> int:
        """The bytes of all numbers in `dtype`."""
        return self.size * int(self.dtype.itemsize)

    def __getitem__(self, key: Any) -> NDArray[Any]:
        """Return numbers in `dtype`: ``data[rows]`` or ``data[rows, samples]``; `rows` is a number or a slice.

        The result may be a view; do not write to it.
        """
        rows, samples = key if isinstance(key, tuple) else (key, slice(None))
        if not isinstance(rows, slice):
            number = range(self.shape[0])[rows]
            found: NDArray[Any] = self._rows(number, number + 1, samples)[0]
            return found
        start, stop, step = rows.indices(self.shape[0])
        return self._rows(start, max(start, stop), samples)[::step]

    def _rows(self, start: int, stop: int, samples: Any) -> NDArray[Any]:
        taken = [_columns(part, samples) for part in self._between(start, stop)]
        if len(taken) == 1:
            return taken[0].astype(self.dtype, copy=False)
        found = np.empty((stop - start, *taken[0].shape[1:]), self.dtype)
        first = 0
        for part in taken:
            found[first : first + len(part)] = part
            first += len(part)
        return found

    def _between(self, start: int, stop: int) -> list[Part]:
        """Return the rows `start` to `stop`, as one piece of each part."""
        found, first = [], 0
        for part in self.parts:
            rows = slice(max(start - first, 0), max(stop - first, 0))
            if len(piece := part[rows]):
                found.append(piece)
            first += len(part)
        return found or [self.parts[0][:0]]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self[:], dtype)

    def numbers_of(self, start: int, stop: int) -> NDArray[Any]:
        """Return the rows `start` to `stop` of all samples, shape (N, rows); a single part keeps its stored dtype."""
        parts = self._between(start, stop)
        return parts[0].T if len(parts) == 1 else self[start:stop].T

    def head(self, rows: int) -> Data:
        """Return the first rows, without a copy."""
        return Data(self.dtype, *self._between(0, rows))

    def set_layout(self, whole: bool) -> None:
        """Put the numbers of a row side by side if `whole` (steps use all samples in order), else those of a sample."""
        if any(_has_layout(part, not whole) and not _has_layout(part, whole) for part in self.parts):
            self.parts = tuple(in_layout(part, whole) for part in self.parts)


def _columns(part: Part, samples: Any) -> Part:
    """Return columns of a part; gathered sample by sample if the numbers of a sample are side by side."""
    if isinstance(samples, np.ndarray) and samples.dtype != bool and _has_layout(part, False):
        return part.T[samples].T
    return part[:, samples]


def _has_layout(part: Part, whole: bool) -> bool:
    return part.flags.c_contiguous if whole else part.flags.f_contiguous


def in_layout(part: Part, whole: bool) -> Part:
    """Return an array (numbers, N) with a row's numbers side by side, or a sample's; a copy only if needed."""
    return np.ascontiguousarray(part) if whole else np.asfortranarray(part)


def empty(numbers: int, samples: int, dtype: Any, whole: bool) -> Part:
    """Return uninitialised memory for a part."""
    return np.empty((numbers, samples), dtype, order="C" if whole else "F")


def joined(parts: tuple[Data, ...]) -> Data:
    """Return samples one after the other, in the layout of the first; different dtypes become the run's."""
    first = parts[0]
    if len(parts) == 1:
        return first
    alike = {tuple((p.dtype, len(p)) for p in data.parts) for data in parts}
    pieces = [data.parts if len(alike) == 1 else (data[:],) for data in parts]
    count = sum(data.shape[1] for data in parts)
    found = []
    for part in zip(*pieces, strict=True):
        room = empty(len(part[0]), count, part[0].dtype, _has_layout(first.parts[0], True))
        np.concatenate(part, axis=1, out=room)
        found.append(room)
    return Data(first.dtype, *found, about=parts[-1].about)


def pieces(count: int, numbers: int) -> Iterator[slice]:
    """Yield slices of `count` samples, each to be processed together."""
    step = max(1, PIECE // max(1, numbers))
    return (slice(start, min(start + step, count)) for start in range(0, count, step))
