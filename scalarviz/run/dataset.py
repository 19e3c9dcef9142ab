"""`Dataset`: the samples of a run as the engines take them, kept as a base and what was added to it."""

from __future__ import annotations

from ..engine.data import Data, joined


class Dataset:
    """Samples, a column each. Never written to: other data is another Dataset, so a past one can be kept at no cost.

    Parameters
    ----------
    *parts : Data, shape (numbers of a sample, N_k)
        The base, then what was added, in order.
    """

    __slots__ = ("parts",)

    def __init__(self, *parts: Data) -> None:
        self.parts = parts

    def __len__(self) -> int:
        return sum(part.shape[1] for part in self.parts)

    def with_more(self, part: Data) -> Dataset:
        """All of it and `part`; what is there is shared, not copied."""
        return Dataset(*self.parts, part)

    def joined(self) -> Data:
        """All of it as one, shape (numbers of a sample, N)."""
        return joined(self.parts)
