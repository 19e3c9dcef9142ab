"""`Weights`: every weight of a network as an object, made when it is asked for."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

from ..checks import position
from ..scalar import Weight
from ._parameter import Parameter


class Weights(Sequence[Weight]):
    """The single weights of several parameters, one after another.

    Parameters
    ----------
    parameters : sequence of Parameter and Weight
        Arrays give their elements in C order.

    Notes
    -----
    Nothing is kept but the parameters: a Weight is made when it is asked for, always the same one while it is held.
    """

    def __init__(self, parameters: Sequence[Parameter | Weight]) -> None:
        self._parts = list(parameters)
        self._ends = list(accumulate(part.size if isinstance(part, Parameter) else 1 for part in self._parts))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        place = position(index, len(self), "weights()")
        which = bisect_right(self._ends, place)
        part = self._parts[which]
        return part if isinstance(part, Weight) else part.weight(place - self._ends[which] + part.size)

    def __iter__(self) -> Iterator[Weight]:
        for part in self._parts:
            if isinstance(part, Weight):
                yield part
            else:
                yield from map(part.weight, range(part.size))

    def __repr__(self) -> str:
        return f"<{len(self)} weights of {len(self._parts)} parameters>"
