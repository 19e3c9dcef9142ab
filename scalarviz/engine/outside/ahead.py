"""`Ahead`: the batches of some steps, read and checked before the first of them is done."""

from __future__ import annotations

from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from ... import rng
from ...errors import InputError
from ..data import Data
from .data import Outside

AHEAD_BYTES = 32 << 20
"""What the batches of a call may fill, where one does not fill more."""


class Choosing(Protocol):
    """What chooses the samples of a step: a problem."""

    data: Data
    batch: int
    sampling: Literal["epochs", "replacement"]
    seed: int

    @property
    def whole(self) -> bool:
        """Whether every step has all samples, in order."""
        ...


class Ahead:
    """Batches in memory.

    Parameters
    ----------
    problem : Choosing
    data : Outside
    first, count : int
        The steps ``first + 1 .. first + count`` at most: as many as fit, and as can be read.

    Raises
    ------
    InputError
        The batch of the first of them cannot be read or used.

    Attributes
    ----------
    count : int
        Of how many steps there are samples.
    whole : bool
        All samples are there, in order: steps without end.
    """

    def __init__(self, problem: Choosing, data: Outside, first: int, count: int) -> None:
        self._data, self.first, self._batch = data, first, problem.batch
        self._of = problem.batch, problem.sampling, problem.seed
        self._version = data.look()
        self.whole = problem.whole
        most = max(1, AHEAD_BYTES // (problem.batch * data.shape[0] * data.dtype.itemsize))
        self.count = 1 if self.whole else min(count, most)
        try:
            self.numbers = self._read(problem)
        except InputError:
            if self.count == 1:
                raise
            self.count = 1  # up to the step that it is about all is well
            self.numbers = self._read(problem)

    def _read(self, problem: Choosing) -> Data:
        if self.whole:
            return self._data.read(np.arange(self._data.shape[1]))
        samples = self._data.shape[1]
        ids = in_order if problem.sampling == "epochs" else drawn
        return self._data.read(ids(problem.seed, self.first, self.count, samples, problem.batch))

    def holds(self, problem: Choosing, step: int) -> bool:
        """Whether the samples of step ``step + 1`` are here, as they are now."""
        return (
            problem.data is self._data
            and self._of == (problem.batch, problem.sampling, problem.seed)
            and (self.whole or self.first <= step < self.first + self.count)
            and self._version == self._data.look()
        )

    def left(self, step: int, count: int) -> int:
        """How many of the steps from ``step + 1`` on can be done."""
        return count if self.whole else min(count, self.first + self.count - step)

    def since(self, step: int, count: int = -1) -> Data:
        """The batches from step ``step + 1`` on, one behind the other: of `count` steps, or of all."""
        if self.whole:
            return self.numbers
        start = (step - self.first) * self._batch
        stop = None if count < 0 else start + count * self._batch
        return Data(self.numbers.dtype, *(part[:, start:stop] for part in self.numbers.parts))


def in_order(seed: int, first: int, count: int, samples: int, batch: int) -> NDArray[np.int64]:
    """:func:`scalarviz.rng.batch_indices` of the steps number ``first ..``, one behind the other."""
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
    """:func:`scalarviz.rng.drawn_indices`, likewise."""
    steps = np.repeat(np.arange(first, first + count, dtype=np.uint64), (batch + 1) // 2)
    blocks = np.tile(np.arange((batch + 1) // 2, dtype=np.uint64), count)
    stream = np.uint64(rng.Stream.SAMPLING)
    words = rng.philox4x32(blocks, stream, steps & rng.WORD, steps >> rng.HALF, *rng.split(seed))
    n, pairs = np.uint64(samples), np.empty((len(blocks), 2), np.int64)
    pairs[:, 0], pairs[:, 1] = rng.drawn(words[0], words[1], n), rng.drawn(words[2], words[3], n)
    return pairs.reshape(count, -1)[:, :batch].reshape(-1)
