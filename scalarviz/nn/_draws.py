"""`Draw`: the random numbers of one parameter, and the process-wide counter of parameters without a seed."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .. import rng

Shape = tuple[int, ...]


class Draw:
    """The sequence of random numbers of one parameter, number `place` in its network."""

    def __init__(self, seed: int, place: int) -> None:
        rng.split(seed)  # refuses a bad seed, even if nothing is drawn
        self.seed, self.place, self.drawn = seed, place, 0

    def uniform(self, shape: Shape) -> NDArray[np.floating]:
        """Return numbers in ``[0, 1)``, float64."""
        return self._next(rng.uniform, shape)

    def normal(self, shape: Shape) -> NDArray[np.floating]:
        """Return standard normal numbers, float64."""
        return self._next(rng.normal, shape)

    def _next(self, source: Callable[..., NDArray[np.floating]], shape: Shape) -> NDArray[np.floating]:
        n = math.prod(shape)
        start, self.drawn = self.drawn, self.drawn + n + n % 2  # an even start, since normal numbers come in pairs
        return source(self.seed, rng.Stream.WEIGHTS, self.place, n, start=start).reshape(shape)


class Counter:
    """The process-wide place of the next parameter without a seed."""

    seed = 0
    place = 0


def next_draw(seed: int | None = None, place: int = 0) -> Draw:
    """Return the draw of parameter number `place` of a network with this seed; without a seed, the counter's next."""
    if seed is not None:
        return Draw(seed, place)
    Counter.place += 1
    return Draw(Counter.seed, Counter.place - 1)
