"""`History`: step, loss and learning rate of every step of a line, thinned when there are more than a million."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from .frame import Curve

LIMIT = 1_000_000

T = TypeVar("T", bound=np.generic)


class History:
    """Growing arrays of equal length: the steps of one line, those before it left another line included.

    Where training goes on from other numbers (a loaded file, an earlier step), a new line begins and the former ones
    are kept. So the steps of a line always rise, and nothing that was computed is lost.

    Parameters
    ----------
    before : Curve, optional
        The steps that came before this line.
    family : list of History, optional
        The lines of one run, the oldest first; this one joins them.

    Attributes
    ----------
    step : ndarray of int64
        Counts from 1; the first one of a line that began at a loaded step is the next one.
    loss, lr : ndarray of float64
        Loss at the values before the step's update; learning rate of the step.

    Notes
    -----
    Above `LIMIT` entries every second one is dropped (never the first, where the line began, nor the newest), so the
    curve keeps its shape and memory stays bounded.
    """

    def __init__(self, before: Curve | None = None, family: list[History] | None = None) -> None:
        self._size = 0 if before is None else len(before.step)
        room = max(1024, self._size + 256)
        self._step = np.empty(room, np.int64)
        self._loss = np.empty(room)
        self._lr = np.empty(room)
        if before is not None:
            for own, given in zip((self._step, self._loss, self._lr), before, strict=True):
                own[: self._size] = given
        self._family = [] if family is None else family
        self._family.append(self)

    def __len__(self) -> int:
        return self._size

    @property
    def step(self) -> NDArray[np.int64]:
        """Step numbers, counting from 1; read-only."""
        return _read_only(self._step[: self._size])

    @property
    def loss(self) -> NDArray[np.float64]:
        """Loss at the values before the step's update; read-only."""
        return _read_only(self._loss[: self._size])

    @property
    def lr(self) -> NDArray[np.float64]:
        """Learning rate of the step; read-only."""
        return _read_only(self._lr[: self._size])

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self._step.nbytes + self._loss.nbytes + self._lr.nbytes

    @property
    def lines(self) -> tuple[Curve, ...]:
        """Every line that was trained and is kept, the oldest first, this one last; each with what came before it."""
        return (*(line.curve() for line in self._family if line is not self and len(line)), self.curve())

    def fork(self, step: int | None) -> History:
        """The beginning of another line: the steps up to `step`, or none at all (None)."""
        return History(None if step is None else self.curve(step), self._family)

    def forget(self) -> None:
        """The line is kept no longer."""
        self._family.remove(self)

    def cut(self, step: int) -> None:
        """Keep the steps up to `step` alone, and no more room than these need."""
        kept = self.curve(step)
        self._step, self._loss, self._lr = kept.step.copy(), kept.loss.copy(), kept.lr.copy()
        self._size = len(self._step)

    def extend(self, first: int, losses: NDArray[np.float64], lr: float) -> None:
        """Append the steps ``first + 1 .. first + len(losses)``; they follow the last one."""
        stop = self._size + len(losses)
        if stop > len(self._step):
            self._grow(max(stop, 2 * len(self._step)))
        span = slice(self._size, stop)
        self._step[span] = np.arange(first + 1, first + len(losses) + 1)
        self._loss[span], self._lr[span] = losses, lr
        self._size = stop
        while self._size > LIMIT:
            self._thin()

    def _grow(self, capacity: int) -> None:
        for name in ("_step", "_loss", "_lr"):
            old = getattr(self, name)
            new = np.empty(capacity, old.dtype)
            new[: self._size] = old[: self._size]
            setattr(self, name, new)

    def _thin(self) -> None:
        keep = np.append(0, np.arange(self._size - 1, 0, -2)[::-1])
        for name in ("_step", "_loss", "_lr"):
            old = getattr(self, name)
            new = np.empty(len(old), old.dtype)  # never in place: a Curve may look at the old array
            new[: len(keep)] = old[keep]
            setattr(self, name, new)
        self._size = len(keep)

    def curve(self, step: int | None = None, first: int | None = None) -> Curve:
        """The history so far, or up to `step`, or of the steps after `first`; later steps do not change it."""
        end = self._size if step is None else int(np.searchsorted(self.step, step, "right"))
        start = 0 if first is None else int(np.searchsorted(self.step, first, "right"))
        span = slice(start, max(start, end))
        return Curve(_read_only(self._step[span]), _read_only(self._loss[span]), _read_only(self._lr[span]))

    def curve_to(self, step: int, loss: float, lr: float | None) -> Curve:
        """The history up to `step`, with that one, its loss and rate where it was dropped."""
        curve = self.curve(step)
        if lr is None or not len(curve.step) or curve.step[-1] == step:
            return curve
        return Curve(*(np.append(kept, last) for kept, last in zip(curve, (step, loss, lr), strict=True)))


def _read_only(view: NDArray[T]) -> NDArray[T]:
    """Whoever looks changes nothing: the arrays are those of the run."""
    view.flags.writeable = False
    return view
