"""The parts of a module: where they stand among its attributes, and the lists of its parameters and weights."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from ..checks import position
from ..scalar import Weight
from ._buffer import Buffer
from ._parameter import Parameter, fitted

PartPlace = tuple[str, tuple[int, ...]]
"""The name of an attribute, and the indices of the part in its nested lists; () if the attribute itself is the part."""
_LISTS = (list, tuple)


def parts_of(attributes: Mapping[str, Any], kinds: tuple[type, ...]) -> Iterator[tuple[PartPlace, Any]]:
    """Yield each object of one of the `kinds` in the attributes, in order, with its place."""
    for name, value in attributes.items():
        yield from parts_in(name, value, kinds)


def parts_in(name: str, value: Any, kinds: tuple[type, ...]) -> Iterator[tuple[PartPlace, Any]]:
    if isinstance(value, kinds):
        yield (name, ()), value
    elif isinstance(value, _LISTS):
        for place, part in _listed(value, kinds, ()):
            yield (name, place), part


def _listed(items: Any, kinds: tuple[type, ...], above: tuple[Any, ...]) -> Iterator[tuple[tuple[int, ...], Any]]:
    # check the types only: this is fast for a long list of numbers
    if not any(_promising(kind, kinds) for kind in set(map(type, items))) or any(items is other for other in above):
        return
    for i, item in enumerate(items):
        if isinstance(item, kinds):
            yield (i,), item
        elif isinstance(item, _LISTS):
            for place, part in _listed(item, kinds, (*above, items)):
                yield (i, *place), part


@lru_cache(maxsize=256)
def _promising(kind: type, kinds: tuple[type, ...]) -> bool:
    return issubclass(kind, (*kinds, *_LISTS))


def written(place: PartPlace) -> str:
    """Return the name of the part at `place`: ``"layers.0"``, in a list of lists ``"w.3.5"``."""
    name, numbers = place
    return ".".join((name, *map(str, numbers))) if numbers else name


def held_at(attributes: Mapping[str, Any], place: PartPlace) -> Any:
    """Return the object at `place`, or None if the place no longer exists."""
    name, numbers = place
    value = attributes.get(name)
    for number in numbers:
        if not isinstance(value, _LISTS) or number >= len(value):
            return None
        value = value[number]
    return value


class Weights(Sequence[Weight]):
    """The single weights of several parameters; those of an array in C order. Each Weight is made on access."""

    def __init__(self, parameters: Sequence[Parameter | Weight]) -> None:
        self._parts = list(parameters)
        self._ends = list(accumulate(part.size if isinstance(part, Parameter) else 1 for part in self._parts))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, index: int) -> Weight: ...
    @overload
    def __getitem__(self, index: slice) -> list[Weight]: ...
    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        place = position(index, len(self), "weights()")
        which = bisect_right(self._ends, place)
        part = self._parts[which]
        return part if isinstance(part, Weight) else part.weight(place - self._ends[which] + part.size)

    def __iter__(self) -> Iterator[Weight]:
        for part in self._parts:
            yield from (part,) if isinstance(part, Weight) else map(part.weight, range(part.size))

    def __repr__(self) -> str:
        return f"<{len(self)} weights of {len(self._parts)} parameters>"


class Parts(list[Parameter | Weight]):
    """A list of parameters that is its own iterator, too: ``next(net.parameters())``."""

    _given = 0

    def __next__(self) -> Parameter | Weight:
        if self._given == len(self):
            raise StopIteration
        self._given += 1
        return self[self._given - 1]


Kept = Buffer | NDArray[Any]
"""A buffer: a `Buffer`, which a graph reads as it changes, or a user's array, which is a constant of each recording."""


class LoadResult(NamedTuple):
    """The names that did not match in a load with ``strict=False``."""

    missing_keys: list[str]
    unexpected_keys: list[str]


def fitting(array: Any, part: Parameter | Weight | Kept, name: str) -> NDArray[np.float64]:
    if isinstance(part, Buffer):
        return part.fitted(array, name)
    return fitted(array, () if isinstance(part, Weight) else part.shape, name)
