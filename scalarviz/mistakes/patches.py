"""Functions that stand in the place of others for as long as anybody makes a mistake that needs them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from threading import RLock
from typing import Any


@dataclass(frozen=True, slots=True)
class Patch:
    """An attribute of a class or a module, and what stands there meanwhile.

    Attributes
    ----------
    owner : type or module
    name : str
    own, other : callable
        What stands there usually, and what asks each time whether its thread makes the mistake.
    """

    owner: Any
    name: str
    own: Any
    other: Any


_lock = RLock()
_users: Counter[Patch] = Counter()


def install(patches: tuple[Patch, ...]) -> None:
    """Put them in, unless they are in already."""
    with _lock:
        for patch in patches:
            if _users[patch] == 0:
                setattr(patch.owner, patch.name, patch.other)
            _users[patch] += 1


def remove(patches: tuple[Patch, ...]) -> None:
    """Take them out, if nobody else needs them."""
    with _lock:
        for patch in patches:
            _users[patch] -= 1
            if _users[patch] == 0:
                setattr(patch.owner, patch.name, patch.own)
                del _users[patch]
