"""`History`: step, loss and learning rate of every step of a line, thinned above a million."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import starmap
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from ...errors import OutOfRangeError, UnknownNameError, listing, shown

LIMIT = 1_000_000

Arrays = tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]


class Curve(NamedTuple):
    """Step numbers, losses and learning rates: read-only arrays of one length."""

    step: NDArray[np.int64]
    loss: NDArray[np.float64]
    lr: NDArray[np.float64]

    def part(self, places: slice | NDArray[Any]) -> Curve:
        """Return some of the steps, by their indices."""
        return Curve(self.step[places], self.loss[places], self.lr[places])

    def up_to(self, step: int) -> Curve:
        """Return the steps up to `step`."""
        return self.part(slice(int(np.searchsorted(self.step, step, "right"))))

    def after(self, step: int) -> Curve:
        """Return the steps after `step`."""
        return self.part(slice(int(np.searchsorted(self.step, step, "right")), None))

    def followed(self, step: int, loss: NDArray[np.float64], lr: NDArray[np.float64]) -> Curve:
        """Return this curve followed by losses and rates up to `step`; only the new part if it leaves a gap."""
        more = Curve(np.arange(step - len(loss) + 1, step + 1), loss, lr)
        if len(self.step) and self.step[-1] != more.step[0] - 1:
            return more
        return Curve(*(np.concatenate(parts) for parts in zip(self, more, strict=True)))

    def of_weights(self, step: int = 0, loss: float = float("nan")) -> Curve:
        """Return each loss at the step of its weights, one earlier; end with `loss` at `step` unless it is NaN."""
        if loss != loss:
            return Curve(self.step - 1, self.loss, self.lr)
        kept = self.up_to(step)
        return Curve(np.append(kept.step - 1, step), np.append(kept.loss, loss), np.append(kept.lr, float("nan")))


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Make the array read-only and return it."""
    array.flags.writeable = False
    return array


NO_CURVE = Curve(np.zeros(0, np.int64), np.zeros(0), np.zeros(0))


class Entry(NamedTuple):
    """One step of a history."""

    step: int
    loss: float
    lr: float


class History(Sequence[Entry]):
    """Growing arrays of equal length: the steps of one line, with those before it left another line.

    It is a sequence of steps: ``history[-1].loss``, ``len(history)``, ``pd.DataFrame(history)``. A name gives the array
    of all steps: ``history["loss"]``, ``dict(history)``. As one array it is the losses: ``plt.plot(history)``.

    When training continues from other numbers (a loaded file, an earlier step), a new line begins and the former ones
    are kept. So the steps of a line always rise, and no computed step is lost.

    Parameters
    ----------
    before : tuple of Curve
        The steps before this line, in pieces that are shared with other lines.
    family : list of History, optional
        The lines of one run, the oldest first; this one is added.

    Attributes
    ----------
    step : ndarray of int64
        Counts from 1; a line that begins at a loaded step counts from the step after it.
    loss, lr : ndarray of float64
        Loss at the values before the step's update; learning rate of the step.

    Notes
    -----
    Above `LIMIT` entries every second one is dropped (never the first of the line, nor the newest), so the
    curve keeps its shape and memory stays bounded. A line that the run is not on holds little but its own steps.
    """

    def __init__(self, before: tuple[Curve, ...] = (), family: list[History] | None = None) -> None:
        self._before = before
        self._start = self._size = sum(len(piece.step) for piece in before)
        self._own = NO_CURVE  # its own steps, or the first of them, shared with other lines: never written to
        self._arrays: Arrays | None = None  # all steps, with room for more; None while the line rests
        self._family = [] if family is None else family
        self._family.append(self)

    def wake(self) -> Arrays:
        """Return arrays of all steps that can grow; called when the run goes to this line."""
        if self._arrays is None:
            self._arrays = _joined((*self._before, self._own), max(1024, self._size + 256))
        return self._arrays

    def rest(self) -> None:
        """Drop the copy of the steps before this line; called when the run leaves it."""
        if self._arrays is not None and self._size - self._start < self._start:
            self._share()
            self._arrays = None

    def _share(self) -> Curve:
        """Return its own steps, for other lines to share."""
        if self._arrays is not None and not self._start:
            return self._span(0, self._size)
        if len(self._own.step) < self._size - self._start:
            self._own = _copied(self._span(self._start, self._size))
        return self._own

    def _span(self, start: int, end: int) -> Curve:
        arrays = self._arrays  # another thread may read while the run leaves the line
        step, loss, lr = _joined((*self._before, self._own), self._size) if arrays is None else arrays
        return Curve(read_only(step[start:end]), read_only(loss[start:end]), read_only(lr[start:end]))

    def __len__(self) -> int:
        return self._size

    def keys(self) -> tuple[str, ...]:
        """Return the names of the arrays."""
        return Entry._fields

    @overload
    def __getitem__(self, index: str) -> NDArray[Any]: ...
    @overload
    def __getitem__(self, index: int) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> list[Entry]: ...
    def __getitem__(self, index: Any) -> Any:
        """Return the array of a name, the step at an index, or the steps of a slice as a list."""
        if isinstance(index, str):
            if index not in Entry._fields:
                raise UnknownNameError(f"a history has no {shown(index)}; it has {listing(Entry._fields)}")
            return getattr(self, index)
        if isinstance(index, slice):
            return [*starmap(Entry, zip(*(array[index].tolist() for array in self.curve()), strict=True))]
        try:
            return Entry(*(array[index].item() for array in self.curve()))
        except IndexError:
            raise OutOfRangeError(f"a history of {len(self)} steps has no index {shown(index)}") from None

    def __iter__(self) -> Iterator[Entry]:
        return iter(self[:])

    def __contains__(self, x: object) -> bool:
        return x in Entry._fields or super().__contains__(x)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.loss, dtype, copy=copy)

    def __repr__(self) -> str:
        ends = self[:: max(len(self) - 1, 1)]
        span = "".join(f", loss {entry.loss:.4g} at step {entry.step}" for entry in ends)
        return f"History({len(self)} steps{span}; names: {listing(Entry._fields)})"

    @property
    def step(self) -> NDArray[np.int64]:
        """Step numbers, counting from 1; read-only."""
        return self._span(0, self._size).step

    @property
    def loss(self) -> NDArray[np.float64]:
        """Loss at the values before the step's update; read-only."""
        return self._span(0, self._size).loss

    @property
    def lr(self) -> NDArray[np.float64]:
        """Learning rate of the step; read-only."""
        return self._span(0, self._size).lr

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that only this line holds."""
        return sum(array.nbytes for array in (*self._own, *(self._arrays or ())))

    @property
    def lines(self) -> tuple[Curve, ...]:
        """Every kept line, the oldest first and this one last; each with the steps before it."""
        return (*(line.curve() for line in self._family if line is not self and len(line)), self.curve())

    def fork(self, step: int | None) -> History:
        """Return a new line with the steps up to `step`, or without any (None)."""
        return History(() if step is None else self._pieces(step), self._family)

    def _pieces(self, step: int) -> tuple[Curve, ...]:
        """Return the steps up to `step` in pieces to share."""
        every = (*self._before, self._share())
        return tuple(found for piece in every if len((found := piece.up_to(step)).step))

    def forget(self) -> None:
        """Remove this line from its family."""
        self._family.remove(self)

    def cut(self, step: int) -> None:
        """Keep only the steps up to `step`, without spare room."""
        end = int(np.searchsorted(self.step, step, "right"))
        pieces = self._pieces(step) if self._start or not end else (_copied(self._span(0, end)),)
        self._before, self._start, self._size, self._own, self._arrays = pieces, end, end, NO_CURVE, None

    def extend(self, first: int, losses: NDArray[np.float64], lr: float | NDArray[np.float64]) -> None:
        """Append the steps ``first + 1 .. first + len(losses)``; they follow the last one."""
        arrays, stop = self.wake(), self._size + len(losses)
        if stop > len(arrays[0]):
            arrays = self._arrays = _joined([self._span(0, self._size)], max(stop, 2 * len(arrays[0])))
        step, loss, rate = arrays
        span = slice(self._size, stop)
        step[span] = np.arange(first + 1, first + len(losses) + 1)
        loss[span], rate[span] = losses, lr
        self._size = stop
        while self._size > LIMIT:
            self._thin()

    def _thin(self) -> None:
        arrays = self.wake()
        keep = np.append(0, np.arange(self._size - 1, 0, -2)[::-1])
        thinned = _joined([Curve(*arrays).part(keep)], len(arrays[0]))
        self._size = len(keep)  # first: other threads see fewer of the old ones meanwhile
        self._arrays = thinned
        self._before, self._start, self._own = (), 0, NO_CURVE

    def curve(self, step: int | None = None, first: int | None = None) -> Curve:
        """Return the history so far, or up to `step`, or after `first`; later steps do not change it."""
        before = int(self._before[-1].step[-1]) if self._before else -1
        if self._arrays is None and step is None and first is not None and first >= before:
            return self._own.after(first)
        end = self._size if step is None else int(np.searchsorted(self.step, step, "right"))
        start = 0 if first is None else int(np.searchsorted(self.step, first, "right"))
        return self._span(start, max(start, end))

    def curve_to(self, step: int, loss: float, lr: float | None) -> Curve:
        """Return the history up to `step`; that one is added with its loss and rate if it was dropped."""
        curve = self.curve(step)
        if lr is None or not len(curve.step) or curve.step[-1] == step:
            return curve
        return Curve(*(np.append(kept, last) for kept, last in zip(curve, (step, loss, lr), strict=True)))


def _copied(curve: Curve) -> Curve:
    return Curve(*(read_only(array.copy()) for array in curve))


def _joined(pieces: Iterable[Curve], room: int) -> Arrays:
    """Return all pieces in new arrays with `room` entries."""
    arrays = np.empty(room, np.int64), np.empty(room), np.empty(room)
    at = 0
    for piece in pieces:
        for array, part in zip(arrays, piece, strict=True):
            array[at : at + len(part)] = part
        at += len(piece.step)
    return arrays
