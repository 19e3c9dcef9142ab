"""`Dataset`: the samples of a run as the engines take them, kept as a base and what was added to it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Dataset:
    """Samples, a column each. Never written to: other data is another Dataset, so a past one can be kept at no cost.

    Parameters
    ----------
    *parts : ndarray, shape (numbers of a sample, N_k)
        The base, then what was added, in order.
    """

    __slots__ = ("parts",)

    def __init__(self, *parts: NDArray[Any]) -> None:
        self.parts = parts  # not marked read-only: to the compiled engine that would be another type

    def __len__(self) -> int:
        return sum(part.shape[1] for part in self.parts)

    def with_more(self, part: NDArray[Any]) -> Dataset:
        """All of it and `part`; what is there is shared, not copied."""
        return Dataset(*self.parts, part)

    def joined(self) -> NDArray[Any]:
        """All of it as one C-contiguous array, shape (numbers of a sample, N)."""
        return self.parts[0] if len(self.parts) == 1 else np.concatenate(self.parts, axis=1)
