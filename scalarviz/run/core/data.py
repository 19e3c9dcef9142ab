"""`Dataset`: the samples of a run as the engines take them, kept as a base and what was added to it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...engine.arrays.program import encoded
from ...engine.data import Data, joined
from ...engine.outside import Held, Outside, Source

if TYPE_CHECKING:
    from .graph import Graph

Given = NDArray[Any] | Source
"""Samples: an array (N, numbers), or what is not copied."""


class Dataset:
    """Samples, a column each. Never written to: other data is another Dataset, so a past one can be kept at no cost.

    `*parts`: the base, then what was added, in order; shape (numbers of a sample, N_k).
    """

    __slots__ = ("_outside", "parts")

    def __init__(self, *parts: Data) -> None:
        self.parts = parts
        self._outside: Outside | None = None

    def __len__(self) -> int:
        return sum(part.shape[1] for part in self.parts)

    def with_more(self, part: Data) -> Dataset:
        """All of it and `part`; what is there is shared, not copied."""
        return Dataset(*self.parts, part)

    def joined(self) -> Data:
        """All of it as one, shape (numbers of a sample, N)."""
        outside = [part for part in self.parts if isinstance(part, Outside)]
        if not outside or len(self.parts) == 1:
            return joined(self.parts)
        if self._outside is None:  # one and the same: it knows what became of its files
            self._outside = outside[-1].of([_sources(part, outside[-1]) for part in self.parts])
        return self._outside

    @property
    def version(self) -> int:
        """How often it was found changed by others; looks again."""
        data = self.parts[0] if len(self.parts) == 1 else self._outside
        return data.look() if isinstance(data, Outside) else 0


def _sources(part: Data, like: Outside) -> tuple[Source, Source]:
    n, m = like.numbers
    pair = part.given(0, n), part.given(n, n + m)
    return as_sources(*pair)


def as_sources(inputs: Given, targets: Given) -> tuple[Source, Source]:
    """What is not copied, beside arrays that go with it."""
    x = Held(inputs, "the inputs") if isinstance(inputs, np.ndarray) else inputs
    return x, Held(targets, "the targets") if isinstance(targets, np.ndarray) else targets


def data_of(graph: Graph, dtype: str, whole: bool, inputs: Given, targets: Given, ours: bool = False) -> Data:
    """Samples with the features of a graph's plan; see :func:`scalarviz.engine.arrays.program.encoded`.

    Raises InputError: a number is too large for the dtype, or the first samples of what is not copied cannot
    be used.
    """
    if isinstance(inputs, np.ndarray) and isinstance(targets, np.ndarray):
        return encoded(graph.plan, dtype, whole, inputs, targets, ours)
    make = partial(encoded, graph.plan, dtype, False, ours=True)
    return Outside(graph.plan, dtype, *as_sources(inputs, targets), make, partial(graph.check, "data"))
