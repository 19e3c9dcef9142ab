"""Whether two trees hold the same arrays but for their numbers: asked at every step, so without naming one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any


def alike(new: Any, known: Any) -> bool:
    """Whether a tree has the keys, kinds of containers, shapes and dtypes of one that was taken over before.

    What cannot be told quickly is not alike: it is looked through name by name. No number is read, so that nobody
    waits for what JAX still computes.
    """
    if new is known:
        return True
    if type(new) is not type(known):
        return False
    shape = getattr(new, "shape", None)
    if shape is not None:
        return bool(shape == known.shape and getattr(new, "dtype", None) == getattr(known, "dtype", None))
    if isinstance(new, Mapping):
        return new.keys() == known.keys() and all(alike(new[key], known[key]) for key in new)
    if isinstance(new, list | tuple):
        return len(new) == len(known) and all(map(alike, new, known))
    if is_dataclass(new):
        return all(alike(getattr(new, one.name, None), getattr(known, one.name, None)) for one in fields(new))
    return isinstance(new, int | float)
