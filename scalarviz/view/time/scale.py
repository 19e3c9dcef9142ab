"""`StepScale`: where a step stands on the time bar, and which step stands somewhere."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

LONG = 20_000
"""Steps from which on the bar is logarithmic: the first hundred would be one pixel."""
_KNEE = 10.0
"""Steps of a logarithmic bar that are as wide as each other."""


@dataclass(frozen=True, slots=True)
class StepScale:
    """Steps from left to right.

    Attributes
    ----------
    first, last : int
        At the two ends; `last` is larger.
    left, right : float
        Logical pixels.
    """

    first: int
    last: int
    left: float
    right: float

    @property
    def log(self) -> bool:
        """Whether it is logarithmic, counted from the first step."""
        return self.last - self.first >= LONG

    def place(self, steps: ArrayLike) -> NDArray[np.float64]:
        """Logical pixels of steps, float64 of their shape; beyond the ends at them."""
        done = np.clip(np.asarray(steps, float) - self.first, 0.0, self.last - self.first)
        span = float(self.last - self.first)
        part = np.log1p(done / _KNEE) / math.log1p(span / _KNEE) if self.log else done / span
        x = self.left + part * (self.right - self.left)
        return np.asarray(np.clip(x, self.left, self.right))  # rounding leads beyond the ends

    def at(self, step: int) -> float:
        """Logical pixels of one step."""
        return float(self.place(step))

    def step(self, x: float) -> int:
        """The step nearest to a place."""
        part = min(max((x - self.left) / (self.right - self.left), 0.0), 1.0)
        span = float(self.last - self.first)
        done = _KNEE * math.expm1(part * math.log1p(span / _KNEE)) if self.log else part * span
        return self.first + min(round(done), self.last - self.first)

    def ticks(self, pitch: float = 90.0) -> list[int]:
        """Steps that are written below the rail, `pitch` pixels apart or more: the ends, and round ones between."""
        if self.log:
            inner = [self.first + 10**power for power in range(1, 19) if 10**power < self.last - self.first]
        else:
            least = (self.last - self.first) * pitch / max(self.right - self.left, 1.0)
            size = 10 ** math.floor(math.log10(max(least, 1.0)))
            every = next(size * k for k in (1, 2, 5, 10) if size * k >= max(least, 1.0))
            inner = list(range((self.first // every + 1) * every, self.last, every))
        return [self.first, *inner, self.last]
