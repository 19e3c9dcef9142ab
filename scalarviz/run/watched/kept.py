"""`Kept`: looks that one can go back to, fewer of them the longer it goes on, within a budget of bytes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..frame import Frame

BUDGET = 64 << 20
MOST = 2_000
"""Looks at most, whatever their size."""


class Kept:
    """Frames by their steps, rising.

    Parameters
    ----------
    budget : int
        Bytes. Where they are more every second one is let go of: never the first, nor the newest.
    """

    def __init__(self, budget: int = BUDGET) -> None:
        self._budget = budget
        self._frames: list[Frame] = []
        self._steps: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self._frames)

    @property
    def steps(self) -> NDArray[np.int64]:
        """Of the frames."""
        if self._steps is None:
            self._steps = np.array([frame.step for frame in self._frames], np.int64)
        return self._steps

    def at(self, step: int) -> Frame | None:
        """The frame of a step; None where none is kept."""
        place = int(np.searchsorted(self.steps, step))
        return self._frames[place] if place < len(self) and self._frames[place].step == step else None

    def add(self, frame: Frame) -> None:
        """Keep another one; those of its step and later ones are of a loop that began again."""
        self.cut(frame.step)
        self._frames.append(frame)
        while len(self) > 2 and (len(self) > MOST or len(self) * nbytes(frame) > self._budget):
            self._frames = [*self._frames[:-1:2], self._frames[-1]]
        if len(self) == 2 and 2 * nbytes(frame) > self._budget:
            self._frames = self._frames[-1:]
        self._steps = None

    def cut(self, step: int) -> None:
        """Keep what comes before a step."""
        while self._frames and self._frames[-1].step >= step:
            self._frames.pop()
        self._steps = None

    def values(self, index: int) -> NDArray[np.float64]:
        """One number at every frame."""
        return np.array([frame.values[index] for frame in self._frames], np.float64)


def nbytes(frame: Frame) -> int:
    """Bytes of the arrays of a frame."""
    return sum(part.nbytes for part in (frame.values, frame.gradient, frame.update, frame.computed, frame.frozen))
