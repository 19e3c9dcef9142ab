"""Where a module's attributes hold its parts: in themselves, in lists, and in lists of lists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

Place = tuple[str, tuple[int, ...]]
"""The name of an attribute, and the part's place in its lists; nothing where the attribute is the part."""

_LISTS = (list, tuple)


def parts_of(attributes: Mapping[str, Any], kinds: tuple[type, ...]) -> Iterator[tuple[Place, Any]]:
    """Every object of one of the `kinds` among the attributes, with its place, in order."""
    for name, value in attributes.items():
        yield from parts_in(name, value, kinds)


def parts_in(name: str, value: Any, kinds: tuple[type, ...]) -> Iterator[tuple[Place, Any]]:
    """The same of one attribute."""
    if isinstance(value, kinds):
        yield (name, ()), value
    elif isinstance(value, _LISTS):
        for place, part in _listed(value, kinds, ()):
            yield (name, place), part


def _listed(items: Any, kinds: tuple[type, ...], above: tuple[Any, ...]) -> Iterator[tuple[tuple[int, ...], Any]]:
    # of a long list of numbers only the types are looked at, which takes no time
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


def written(place: Place) -> str:
    """The name of the part at `place`: ``"layers.0"``, in a list of lists ``"w.3.5"``."""
    name, numbers = place
    return ".".join((name, *map(str, numbers))) if numbers else name


def held_at(attributes: Mapping[str, Any], place: Place) -> Any:
    """What stands at `place` now; None if there is no such place any more."""
    name, numbers = place
    value = attributes.get(name)
    for number in numbers:
        if not isinstance(value, _LISTS) or number >= len(value):
            return None
        value = value[number]
    return value
