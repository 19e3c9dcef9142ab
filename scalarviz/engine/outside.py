"""Samples that stay outside memory: memory-mapped arrays, files, and other objects that return samples on demand.

A `Source` returns the rows of requested samples. `Outside` is such data with the checks of a data set. `Prefetched`
reads and checks the batches of several steps in advance.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .. import rng
from ..checks import InFile, real_array
from ..errors import InputError
from ..tape import Plan
from .data import Data, pieces

if TYPE_CHECKING:
    from .problem import Problem

Ids = NDArray[np.int64]
Rows = NDArray[Any]


class Source(Protocol):
    """Samples, one per row."""

    name: str  # for messages
    sample_shape: tuple[int, ...]

    def __len__(self) -> int: ...

    def read_rows(self, ids: Ids) -> Rows:
        """Return rows (len(ids), numbers) of samples in any order, in a native dtype, maybe not finite."""

    def stamp(self) -> object:
        """Return a value that stays equal until a change is detected."""

    def change_since(self, before: object) -> str:
        """Return one clause that describes the change since that stamp; empty if there is none."""


def native(rows: Rows) -> Rows:
    """Return the same numbers in a dtype that kernels can read: this machine's byte order, 4 or 8 bytes for floats."""
    if rows.dtype.kind == "f" and rows.dtype.itemsize not in (4, 8):
        return rows.astype(np.float32 if rows.dtype.itemsize < 4 else np.float64)
    return rows.astype(rows.dtype.newbyteorder("="), copy=False)


class InMemory:
    """An array in memory, as a `Source` beside others that are not in memory."""

    def __init__(self, rows: Rows, name: str) -> None:
        self.rows, self.name = rows, name
        self.sample_shape = rows.shape[1:]

    def __len__(self) -> int:
        return len(self.rows)

    def read_rows(self, ids: Ids) -> Rows:
        """See `Source`."""
        return native(self.rows[ids])

    def stamp(self) -> object:
        """Return None: the array never changes."""
        return None

    def change_since(self, before: object) -> str:
        """Return an empty text: the array never changes."""
        return ""


class Mapped:
    """A file of numbers that is mapped into memory and read by address; `what` names the argument in messages."""

    def __init__(self, array: np.memmap[Any, Any], what: str) -> None:
        self._path = "" if array.filename is None else os.fspath(array.filename)
        self.name = f"{what} ({os.path.basename(self._path)})" if self._path else what
        self._rows = np.asarray(array)
        self._file = InFile(array)
        self.sample_shape = array.shape[1:] or (1,)

    def __len__(self) -> int:
        return len(self._rows)

    def read_rows(self, ids: Ids) -> Rows:
        """See `Source`. This checks the file's size first, because reading past its end would kill the process."""
        if missing := self._file.missing():
            raise InputError(f"{self.name}: {missing}; restore the file, or use other data: run.refill(...)")
        return native(self._rows[ids].reshape(len(ids), -1))

    def stamp(self) -> tuple[int, int, int] | None:
        """Return inode, size and time of the file at the path; None if there is no file."""
        try:
            found = os.stat(self._path)
        except OSError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns

    def change_since(self, before: object) -> str:
        """Return one clause: ``data[0] (x.npy) was changed``."""
        now = self.stamp()
        if now == before:
            return ""
        if now is None:
            return f"{self.name} is no longer at its path; the run keeps reading the old file"
        if not isinstance(before, tuple) or now[0] != before[0]:
            return f"{self.name} was replaced by another file; the run keeps reading the old file"
        return f"{self.name} was changed"


class Indexed:
    """An object with a length that returns samples for a slice or an array of indices; `what` names the argument.

    One thread at a time indexes it, with increasing indices, each once.
    """

    def __init__(self, given: Any, what: str) -> None:
        self.name, self._given, self._read_lock = f"{what} ({type(given).__name__})", given, threading.Lock()
        self._count = self._length()
        if self._count == 0:
            raise InputError(f"{self.name} must have at least one sample, got length 0")
        self._shape: tuple[int, ...] | None = None
        self._shape = self._read(slice(0, 1), 1).shape[1:]
        self.sample_shape = self._shape or (1,)

    def _length(self) -> int:
        try:
            return len(self._given)
        except Exception as error:  # objects may raise any class
            raise InputError(
                f"{self.name}: its length cannot be read: {type(error).__name__}: {error!s:.200}"
            ) from error

    def __len__(self) -> int:
        return self._count

    def read_rows(self, ids: Ids) -> Rows:
        """See `Source`."""
        wanted, places = np.unique(ids, return_inverse=True)
        first, count = int(wanted[0]), len(wanted)
        together = int(wanted[-1]) - first + 1 == count
        rows = self._read(slice(first, first + count) if together else wanted, count)
        return rows.reshape(count, -1)[places.reshape(-1)]

    def _read(self, wanted: slice | Ids, count: int) -> Rows:
        where = f"{wanted.start} to {wanted.stop - 1}" if isinstance(wanted, slice) else f"{wanted[0]} .. {wanted[-1]}"
        try:
            with self._read_lock:
                found = self._given[wanted]
        except Exception as error:  # objects may raise any class
            raise InputError(
                f"{self.name}: samples {where} could not be read by slice or index array: "
                f"{type(error).__name__}: {error!s:.200}"
            ) from error
        rows = real_array(found, f"{self.name}[{where}]")
        right = rows.ndim > 0 and len(rows) == count and rows.size > 0
        if not right or (self._shape is not None and rows.shape[1:] != self._shape):
            one = "of the same shape" if self._shape is None else f"of shape {self._shape}"
            raise InputError(f"{self.name}: requested {count} samples {one} ({where}), got shape {rows.shape}")
        return native(rows)

    def stamp(self) -> int:
        """Return the length of the object; other changes cannot be detected."""
        return self._length()

    def change_since(self, before: object) -> str:
        """Return one clause if the length has changed."""
        now = self._length()
        return "" if now == before else f"{self.name} had {before:,} samples and has {now:,} now"


class Joined:
    """Several sources, one after the other, read in one dtype."""

    def __init__(self, dtype: Any, sources: Sequence[Source]) -> None:
        self._sources, self._dtype = tuple(sources), np.dtype(dtype)
        self.name, self.sample_shape = sources[0].name, sources[0].sample_shape
        self._starts = np.cumsum([0, *map(len, sources)])

    def __len__(self) -> int:
        return int(self._starts[-1])

    def read_rows(self, ids: Ids) -> Rows:
        """See `Source`."""
        found = np.empty((len(ids), prod(self.sample_shape)), self._dtype)
        of = np.searchsorted(self._starts, ids, side="right") - 1
        for k, source in enumerate(self._sources):
            mine = of == k
            if mine.any():
                found[mine] = source.read_rows(ids[mine] - self._starts[k])
        return found

    def stamp(self) -> tuple[object, ...]:
        """Return the stamps of all sources."""
        return tuple(source.stamp() for source in self._sources)

    def change_since(self, before: object) -> str:
        """Return the changes of all sources."""
        assert isinstance(before, tuple)
        return "; ".join(filter(None, (s.change_since(then) for s, then in zip(self._sources, before, strict=True))))


def is_source(given: object) -> bool:
    """Return whether an object is one of the sources above."""
    return isinstance(given, InMemory | Mapped | Indexed | Joined)


def as_source(given: Any, what: str) -> Source | None:
    """Return a source for data that should not be copied (``np.memmap``, and objects that read their samples), or None.

    Such an object has a length and returns samples for an index array, else InputError. An object that NumPy takes as
    an array is copied, except stores on disk (which have ``chunks``, as in h5py and zarr).
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


Make = Callable[[NDArray[Any], NDArray[Any]], Data]
Check = Callable[[NDArray[Any], NDArray[Any]], None]
"""A function of inputs and targets, one sample per row; InputError if the model or its loss cannot use them."""
FIRST = 256
"""This many first samples stay in memory, because pictures read them at every frame."""


class Outside(Data):
    """Data outside memory; only the first samples are read at once.

    `make` builds the table from the inputs and targets that were read, with their features. `check` checks them,
    besides the check that all numbers are finite.
    """

    __slots__ = ("_first", "_make", "_plan", "_stamps", "check", "inputs", "remark", "targets", "version")

    def __init__(self, plan: Plan, dtype: Any, inputs: Source, targets: Source, make: Make, check: Check) -> None:
        self.dtype, self.parts, self.about = np.dtype(dtype), (), None
        self.inputs, self.targets, self._make, self.check, self._plan = inputs, targets, make, check, plan
        features = 0 if plan.encode is None else len(plan.encode.outputs)
        self.shape = plan.n_inputs + plan.n_targets + features, len(inputs)
        self.version, self.remark = 0, ""
        self._stamps = inputs.stamp(), targets.stamp()
        self._first = self.read(np.arange(min(FIRST, len(inputs))))

    def read(self, ids: NDArray[np.int64]) -> Data:
        """Read the samples into memory and check them, with features; InputError if they cannot be read or used."""
        given = [self._finite(source, ids) for source in (self.inputs, self.targets)]
        self.check(*given)
        return self._make(*given)

    def _finite(self, source: Source, ids: NDArray[np.int64]) -> NDArray[Any]:
        rows = source.read_rows(ids)
        if rows.dtype.kind == "f":
            for part in pieces(len(rows), rows.shape[1]):
                fine = np.isfinite(rows[part])
                if not fine.all():
                    row, column = (int(place) for place in np.argwhere(~fine)[0])
                    raise InputError(
                        f"{source.name}: sample {ids[part][row]}, column {column} is {rows[part][row, column]}; "
                        "clean the data, or use other samples: run.refill(...)"
                    )
        return rows

    def check_changes(self) -> int:
        """Check for changes; return how many were found so far. :attr:`remark` describes the last one."""
        now = self.inputs.stamp(), self.targets.stamp()
        if now != self._stamps:
            pairs = zip((self.inputs, self.targets), self._stamps, strict=True)
            said = "; ".join(dict.fromkeys(filter(None, (source.change_since(then) for source, then in pairs))))
            self._stamps, self.remark = now, said or self.remark
            self.version += 1
            warnings.warn_explicit(f"the data of a run: {said}", RuntimeWarning, "scalarviz", 0)
        return self.version

    def __getitem__(self, key: Any) -> NDArray[Any]:
        rows, samples = key if isinstance(key, tuple) else (key, slice(None))
        if isinstance(samples, slice) and (samples.stop is not None) and samples.indices(self.shape[1])[1] <= FIRST:
            return self._first[:][: self.shape[0]][rows, samples]
        if isinstance(samples, slice):
            samples = np.arange(self.shape[1])[samples]
        places = np.atleast_1d(np.asarray(samples))
        found = np.empty((self.shape[0], len(places)), self.dtype)
        for part in pieces(len(places), self.shape[0]):
            found[:, part] = self.read(places[part])[: self.shape[0]]
        return found[rows] if np.ndim(samples) else found[rows, 0]

    @property
    def numbers(self) -> tuple[int, int]:
        """The numbers of inputs and of targets per sample."""
        return self._plan.n_inputs, self._plan.n_targets

    def with_sources(self, pairs: Sequence[tuple[Source, Source]]) -> Outside:
        """Return data of the same kind from other sources, one after the other."""
        inputs, targets = pairs[0] if len(pairs) == 1 else (Joined(self.dtype, s) for s in zip(*pairs, strict=True))
        return Outside(self._plan, self.dtype, inputs, targets, self._make, self.check)

    def head(self, rows: int) -> Data:
        """Return the first rows of the table."""
        found = object.__new__(Outside)
        for name in (*Data.__slots__, *self.__slots__):
            setattr(found, name, getattr(self, name))
        found.shape = rows, self.shape[1]
        return found

    def numbers_of(self, start: int, stop: int) -> Any:
        """Return the inputs, or the targets, as a `Source`."""
        return self.inputs if (start, stop) == (0, self._plan.n_inputs) else self.targets

    def set_layout(self, whole: bool) -> None:
        """Do nothing: the layout of outside data cannot change."""


AHEAD_BYTES = 32 << 20
"""The most bytes of batches read in advance; one batch may be larger."""


class Prefetched:
    """Batches read in advance, for as many of the steps ``first + 1 .. first + count`` as fit and can be read.

    InputError if the batch of the first step cannot be read or used. With `whole`, it has all samples in order, which
    serve any number of steps.
    """

    def __init__(self, problem: Problem, data: Outside, first: int, count: int) -> None:
        self._data, self._first, self._batch = data, first, problem.batch
        self._settings = problem.batch, problem.sampling, problem.seed
        self._version = data.check_changes()
        self.full_batch = problem.full_batch
        most = max(1, AHEAD_BYTES // (problem.batch * data.shape[0] * data.dtype.itemsize))
        self._count = 1 if self.full_batch else min(count, most)
        try:
            self._numbers = self._read(problem)
        except InputError:
            if self._count == 1:
                raise
            self._count = 1  # the steps before the one with the error can still run
            self._numbers = self._read(problem)

    def _read(self, problem: Problem) -> Data:
        if self.full_batch:
            return self._data.read(np.arange(self._data.shape[1]))
        samples = self._data.shape[1]
        ids = in_order if problem.sampling == "epochs" else drawn
        return self._data.read(ids(problem.seed, self._first, self._count, samples, problem.batch))

    def contains(self, problem: Problem, step: int) -> bool:
        """Return whether the samples of step ``step + 1`` are here and still current."""
        return (
            problem.data is self._data
            and self._settings == (problem.batch, problem.sampling, problem.seed)
            and (self.full_batch or self._first <= step < self._first + self._count)
            and self._version == self._data.check_changes()
        )

    def steps_left(self, step: int, count: int) -> int:
        """Return how many of the `count` steps from ``step + 1`` on can run."""
        return count if self.full_batch else min(count, self._first + self._count - step)

    def batches_from(self, step: int, count: int = -1) -> Data:
        """Return the batches from step ``step + 1`` on, one after the other: of `count` steps, or of all."""
        if self.full_batch:
            return self._numbers
        start = (step - self._first) * self._batch
        stop = None if count < 0 else start + count * self._batch
        return Data(self._numbers.dtype, *(part[:, start:stop] for part in self._numbers.parts))


def in_order(seed: int, first: int, count: int, samples: int, batch: int) -> NDArray[np.int64]:
    """Return :func:`scalarviz.rng.batch_indices` of `count` steps from number `first` on, one after the other."""
    if batch == samples:
        return np.tile(np.arange(samples), count)
    steps, found, step = samples // batch, [], first
    while step < first + count:
        epoch, place = divmod(step, steps)
        some = min(steps - place, first + count - step)
        found.append(rng.permute(np.arange(place * batch, (place + some) * batch), samples, seed, epoch))
        step += some
    return np.concatenate(found)


def drawn(seed: int, first: int, count: int, samples: int, batch: int) -> NDArray[np.int64]:
    """Return :func:`scalarviz.rng.drawn_indices` of `count` steps from number `first` on, one after the other."""
    steps = np.repeat(np.arange(first, first + count, dtype=np.uint64), (batch + 1) // 2)
    blocks = np.tile(np.arange((batch + 1) // 2, dtype=np.uint64), count)
    stream = np.uint64(rng.Stream.SAMPLING)
    words = rng.philox4x32(blocks, stream, steps & rng.WORD, steps >> rng.HALF, *rng.split(seed))
    n, pairs = np.uint64(samples), np.empty((len(blocks), 2), np.int64)
    pairs[:, 0], pairs[:, 1] = rng.drawn(words[0], words[1], n), rng.drawn(words[2], words[3], n)
    return pairs.reshape(count, -1)[:, :batch].reshape(-1)
