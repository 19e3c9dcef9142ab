"""`Data`: the numbers of all samples, kept as they were given and read in the dtype of a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Part = NDArray[Any]

PIECE = 1 << 18
"""Numbers that are worked on together."""


class Data:
    """A table, a row for each number of a sample and a column for each sample. Never written to.

    It is read in `dtype`; its `parts`, (numbers, N), stand below one another and are not copied. Whole numbers stay in
    the dtype in which they came where that is smaller than the run's: they are converted when they are read. In memory
    the numbers of a sample lie side by side where steps pick their samples, else those of a row (:meth:`lay`).
    """

    __slots__ = ("about", "dtype", "parts", "shape")

    def __init__(self, dtype: Any, *parts: Part, about: Any = None) -> None:
        self.dtype, self.parts = np.dtype(dtype), parts
        self.about = about  # what it is of, for a scene, as the edit says that brought it
        self.shape: tuple[int, int] = sum(len(part) for part in parts), parts[0].shape[1]

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return self.shape[0] * self.shape[1]

    @property
    def nbytes(self) -> int:
        """Bytes of them all in the dtype in which they are read."""
        return self.size * int(self.dtype.itemsize)

    def __getitem__(self, key: Any) -> NDArray[Any]:
        """Numbers in `dtype`: ``data[rows]`` or ``data[rows, samples]``; `rows` is a number or a slice.

        Maybe a view: read only.
        """
        rows, samples = key if isinstance(key, tuple) else (key, slice(None))
        if not isinstance(rows, slice):
            number = range(self.shape[0])[rows]
            found: NDArray[Any] = self._rows(number, number + 1, samples)[0]
            return found
        start, stop, step = rows.indices(self.shape[0])
        return self._rows(start, max(start, stop), samples)[::step]

    def _rows(self, start: int, stop: int, samples: Any) -> NDArray[Any]:
        taken = [_taken(part, samples) for part in self._between(start, stop)]
        if len(taken) == 1:
            return taken[0].astype(self.dtype, copy=False)
        found = np.empty((stop - start, *taken[0].shape[1:]), self.dtype)
        first = 0
        for part in taken:
            found[first : first + len(part)] = part
            first += len(part)
        return found

    def _between(self, start: int, stop: int) -> list[Part]:
        """The rows `start` to `stop`, in as many parts as they lie in."""
        found, first = [], 0
        for part in self.parts:
            rows = slice(max(start - first, 0), max(stop - first, 0))
            if len(piece := part[rows]):
                found.append(piece)
            first += len(part)
        return found or [self.parts[0][:0]]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self[:], dtype)

    def given(self, start: int, stop: int) -> NDArray[Any]:
        """The rows `start` to `stop` of all samples, shape (N, rows): as they are kept where they lie in one part."""
        parts = self._between(start, stop)
        return parts[0].T if len(parts) == 1 else self[start:stop].T

    def head(self, rows: int) -> Data:
        """The first rows alone; nothing is copied."""
        return Data(self.dtype, *self._between(0, rows))

    def lay(self, whole: bool) -> None:
        """Put the numbers of a row side by side (`whole`: steps take all samples in order), or those of a sample."""
        if any(_lies(part, not whole) and not _lies(part, whole) for part in self.parts):
            self.parts = tuple(laid(part, whole) for part in self.parts)


def _taken(part: Part, samples: Any) -> Part:
    """Columns of a part; picked ones are gathered sample by sample where the numbers of a sample lie together."""
    if isinstance(samples, np.ndarray) and samples.dtype != bool and _lies(part, False):
        return part.T[samples].T
    return part[:, samples]


def _lies(part: Part, whole: bool) -> bool:
    return part.flags.c_contiguous if whole else part.flags.f_contiguous


def laid(part: Part, whole: bool) -> Part:
    """An array (numbers, N) with those of a row side by side, or those of a sample; itself where it lies so."""
    return np.ascontiguousarray(part) if whole else np.asfortranarray(part)


def empty(numbers: int, samples: int, dtype: Any, whole: bool) -> Part:
    """Room for a part."""
    return np.empty((numbers, samples), dtype, order="C" if whole else "F")


def joined(parts: tuple[Data, ...]) -> Data:
    """Samples behind one another, in the layout of the first; in the run's dtype where they are kept in several."""
    first = parts[0]
    if len(parts) == 1:
        return first
    alike = {tuple((p.dtype, len(p)) for p in data.parts) for data in parts}
    pieces = [data.parts if len(alike) == 1 else (data[:],) for data in parts]
    count = sum(data.shape[1] for data in parts)
    found = []
    for part in zip(*pieces, strict=True):
        room = empty(len(part[0]), count, part[0].dtype, _lies(first.parts[0], True))
        np.concatenate(part, axis=1, out=room)
        found.append(room)
    return Data(first.dtype, *found, about=parts[-1].about)


def pieces(count: int, numbers: int) -> Iterator[slice]:
    """Stretches of `count` samples that are worked on together."""
    step = max(1, PIECE // max(1, numbers))
    return (slice(start, min(start + step, count)) for start in range(0, count, step))
