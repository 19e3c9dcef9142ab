"""Where samples come from that are not copied: each `Source` gives the rows of the samples that it is asked for."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ...checks import real_array
from ...errors import InputError
from ...mapped import InFile

Ids = NDArray[np.int64]
Rows = NDArray[Any]


class Source(Protocol):
    """Samples, a row each.

    Attributes
    ----------
    name : str
        What it is, for messages.
    sample_shape : tuple of int
    """

    name: str
    sample_shape: tuple[int, ...]

    def __len__(self) -> int: ...

    def take(self, ids: Ids) -> Rows:
        """Rows (len(ids), numbers) of samples in any order, native numbers; perhaps not finite.

        Raises
        ------
        InputError
            They cannot be read.
        """
        ...

    def stamp(self) -> object:
        """Something that is equal as long as nothing is known to have changed."""
        ...

    def told(self, before: object) -> str:
        """What became of it since that stamp, one clause."""
        ...


def native(rows: Rows) -> Rows:
    """The same numbers as the kernels can read them: in this machine's byte order, of a usual width."""
    if rows.dtype.kind == "f" and rows.dtype.itemsize not in (4, 8):
        return rows.astype(np.float32 if rows.dtype.itemsize < 4 else np.float64)
    return rows.astype(rows.dtype.newbyteorder("="), copy=False)


class Held:
    """An array in memory that goes with others that are not."""

    def __init__(self, rows: Rows, name: str) -> None:
        self.rows, self.name = rows, name
        self.sample_shape = rows.shape[1:]

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, ids: Ids) -> Rows:
        """See `Source`."""
        return native(self.rows[ids])

    def stamp(self) -> object:
        """It is ours: always the same."""
        return None

    def told(self, before: object) -> str:
        """Nothing ever becomes of it."""
        return ""


class FileStamp(NamedTuple):
    """A file at a path, as the system tells it; all None where there is none."""

    size: int | None
    mtime_ns: int | None
    inode: int | None


class Mapped:
    """A file that is mapped into memory: read by address.

    Parameters
    ----------
    array : numpy.memmap
        Real or whole numbers, a sample first.
    what : str
        Which argument it was.
    """

    def __init__(self, array: np.memmap[Any, Any], what: str) -> None:
        path = None if array.filename is None else os.fspath(array.filename)
        self._path = path
        self.name = what if path is None else f"{what} ({os.path.basename(path)})"
        self._rows = np.asarray(array)
        self._file = InFile(array)
        self.sample_shape = array.shape[1:] or (1,)

    def __len__(self) -> int:
        return len(self._rows)

    def take(self, ids: Ids) -> Rows:
        """See `Source`. The file's size is looked at first: to read behind its end would end the process."""
        if missing := self._file.missing():
            raise InputError(
                f"{self.name}: {missing}; write it again as it was, or go on with other data: run.refill(...)"
            )
        return native(self._rows[ids].reshape(len(ids), -1))

    def stamp(self) -> FileStamp:
        """Size, time and inode of the file at the path."""
        if self._path is None:
            return FileStamp(None, None, None)
        try:
            found = os.stat(self._path)
        except OSError:
            return FileStamp(None, None, None)
        return FileStamp(found.st_size, found.st_mtime_ns, found.st_ino)

    def told(self, before: object) -> str:
        """``data[0] (x.npy) was changed``."""
        assert isinstance(before, FileStamp)
        now = self.stamp()
        if now == before:
            return ""
        if now.inode is None:
            return f"{self.name} is no longer at its path; what was opened is read on"
        if now.inode != before.inode:
            return f"{self.name} was replaced by another file; what was opened is read on"
        return f"{self.name} was changed"


class Indexed:
    """An object with a length that gives samples for an array of their numbers, or a slice.

    It is asked for increasing numbers, each once, by one thread at a time.

    Parameters
    ----------
    given : object
        ``len(given)``, ``given[array of int64]`` and ``given[start:stop]``.
    what : str
        Which argument it was.
    """

    def __init__(self, given: Any, what: str) -> None:
        self.name, self._given, self._asking = f"{what} ({type(given).__name__})", given, threading.Lock()
        self._count = self._length()
        if self._count == 0:
            raise InputError(f"{self.name} must have at least one sample, its length is 0")
        self._shape: tuple[int, ...] | None = None
        self._shape = self._asked(slice(0, 1), 1).shape[1:]
        self.sample_shape = self._shape or (1,)

    def _length(self) -> int:
        try:
            return len(self._given)
        except Exception as error:  # any class
            raise InputError(
                f"{self.name}: its length cannot be had: {type(error).__name__}: {error!s:.200}"
            ) from error

    def __len__(self) -> int:
        return self._count

    def take(self, ids: Ids) -> Rows:
        """See `Source`."""
        wanted, places = np.unique(ids, return_inverse=True)
        first, count = int(wanted[0]), len(wanted)
        together = int(wanted[-1]) - first + 1 == count
        rows = self._asked(slice(first, first + count) if together else wanted, count)
        return rows.reshape(count, -1)[places.reshape(-1)]

    def _asked(self, wanted: slice | Ids, count: int) -> Rows:
        where = f"{wanted.start} to {wanted.stop - 1}" if isinstance(wanted, slice) else f"{wanted[0]} .. {wanted[-1]}"
        try:
            with self._asking:
                found = self._given[wanted]
        except Exception as error:  # any class may be given
            raise InputError(
                f"{self.name}: samples {where} could not be read (it is asked for slices and for arrays of numbers): "
                f"{type(error).__name__}: {error!s:.200}"
            ) from error
        rows = real_array(found, f"{self.name}[{where}]")
        right = rows.ndim > 0 and len(rows) == count and rows.size > 0
        if not right or (self._shape is not None and rows.shape[1:] != self._shape):
            one = "of one shape" if self._shape is None else f"of shape {self._shape}"
            raise InputError(f"{self.name}: asked for {count} samples {one} ({where}) it gave the shape {rows.shape}")
        return native(rows)

    def stamp(self) -> int:
        """Its length is all that is known."""
        return self._length()

    def told(self, before: object) -> str:
        """Whether it has another length now."""
        now = self._length()
        return "" if now == before else f"{self.name} had {before:,} samples and has {now:,} now"


class Joined:
    """Sources behind one another, read in one dtype."""

    def __init__(self, dtype: Any, sources: Sequence[Source]) -> None:
        self._sources, self._dtype = tuple(sources), np.dtype(dtype)
        self.name, self.sample_shape = sources[0].name, sources[0].sample_shape
        self._starts = np.cumsum([0, *map(len, sources)])

    def __len__(self) -> int:
        return int(self._starts[-1])

    def take(self, ids: Ids) -> Rows:
        """See `Source`."""
        found = np.empty((len(ids), prod(self.sample_shape)), self._dtype)
        of = np.searchsorted(self._starts, ids, side="right") - 1
        for k, source in enumerate(self._sources):
            mine = of == k
            if mine.any():
                found[mine] = source.take(ids[mine] - self._starts[k])
        return found

    def stamp(self) -> tuple[object, ...]:
        """Those of all."""
        return tuple(source.stamp() for source in self._sources)

    def told(self, before: object) -> str:
        """What became of any."""
        assert isinstance(before, tuple)
        return "; ".join(filter(None, (s.told(then) for s, then in zip(self._sources, before, strict=True))))


def joined_source(dtype: Any, sources: Sequence[Source]) -> Source:
    """Sources behind one another."""
    return sources[0] if len(sources) == 1 else Joined(dtype, sources)


def is_source(given: object) -> bool:
    """Whether it is one of these."""
    return isinstance(given, Held | Mapped | Indexed | Joined)


def as_source(given: Any, what: str) -> Source | None:
    """A source of what is not copied: ``np.memmap``, and objects that read for themselves; None for all else.

    Such an object has a length and gives samples for an array of numbers. What NumPy takes as an array is copied as
    one, but for stores that lie on disk (they say their ``chunks``, as those of h5py and zarr).

    Raises
    ------
    InputError
        It gives no samples.
    """
    if is_source(given):
        return given  # type: ignore[no-any-return]
    if isinstance(given, np.memmap):
        usable = given.ndim > 0 and given.size > 0 and given.dtype.kind in "biuf"
        return Mapped(given, what) if usable else None
    kind = type(given)
    if isinstance(given, Sequence | Mapping | np.ndarray | np.generic | memoryview):
        return None
    if not (hasattr(kind, "__len__") and hasattr(kind, "__getitem__")):
        return None
    array = hasattr(kind, "__array__") or hasattr(kind, "__array_interface__") or hasattr(kind, "__buffer__")
    return Indexed(given, what) if not array or hasattr(given, "chunks") else None
