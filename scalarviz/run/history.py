"""`History`: step, loss and learning rate of every step of a line, thinned when there are more than a million."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .frame import Curve

LIMIT = 1_000_000


class History:
    """Growing arrays of equal length: the line of steps that is being trained.

    Where training goes on from other numbers (a loaded file, an earlier step), a new line begins; the former ones are
    kept. So the steps of a line always rise, and nothing that was computed is lost.

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

    def __init__(self) -> None:
        self._former: list[Curve] = []
        self._empty()

    def _empty(self) -> None:
        self._size = 0
        self._step = np.empty(1024, np.int64)
        self._loss = np.empty(1024)
        self._lr = np.empty(1024)

    def __len__(self) -> int:
        return self._size

    @property
    def step(self) -> NDArray[np.int64]:
        """Step numbers, counting from 1."""
        return self._step[: self._size]

    @property
    def loss(self) -> NDArray[np.float64]:
        """Loss at the values before the step's update."""
        return self._loss[: self._size]

    @property
    def lr(self) -> NDArray[np.float64]:
        """Learning rate of the step."""
        return self._lr[: self._size]

    @property
    def lines(self) -> tuple[Curve, ...]:
        """Every line that was trained, the oldest first; the last one is the line of now, perhaps still empty."""
        return (*self._former, self.curve())

    def begin(self) -> None:
        """Begin a new line: the numbers that the next step starts from are not those that the last one left."""
        if self._size:
            self._former.append(Curve(self.step.copy(), self.loss.copy(), self.lr.copy()))  # without the spare room
            self._empty()

    def extend(self, first: int, losses: NDArray[np.float64], lr: float) -> None:
        """Append the steps ``first + 1 .. first + len(losses)``; a new line if they do not follow the last one."""
        if self._size and self._step[self._size - 1] != first:
            self.begin()
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

    def curve(self) -> Curve:
        """The history so far; later steps do not change it."""
        return Curve(self.step, self.loss, self.lr)
