"""The arrays of a tree by name: nested dicts, lists, tuples and dataclasses, as JAX, equinox and flax keep weights."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from numbers import Real
from typing import Any

from ...errors import InputError, TypeMismatchError
from .leaves import is_array
from .modules import is_module

DEEPEST = 100
"""Levels of a tree: a deeper one holds itself."""


def is_tree(x: object) -> bool:
    """Whether something is to be taken apart: a dict, or a list, tuple or dataclass in which an array is."""
    if isinstance(x, Mapping):
        return True
    if not (_several(x) or _record(x) or _registered(x)):
        return False
    try:
        return any(is_array(leaf) or is_module(leaf) for _, leaf in leaves(x))
    except (InputError, TypeMismatchError):  # of a list of something else: whoever takes those says what is wrong
        return False


def leaves(tree: Any) -> Iterator[tuple[str, Any]]:
    """Name and array of each leaf in order; names are the keys, indices and fields on the way, joined by dots.

    Parameters
    ----------
    tree : mapping, sequence, dataclass, or whatever JAX was told to take apart (modules of flax.nnx)
        Nested at will. None, functions and keys of random numbers are passed over; of a dataclass all that is no array
        and holds none. A torch.nn.Module in it is a leaf.

    Raises
    ------
    InputError
        It holds itself.
    TypeMismatchError
        It holds what is neither an array nor a number.
    """
    taken: set[str] = set()
    for name, leaf in _walk(tree, "", 0):
        unique, count = name, 2
        while unique in taken:
            unique, count = f"{name} ({count})", count + 1
        taken.add(unique)
        yield unique, leaf


def _walk(x: Any, name: str, depth: int) -> Iterator[tuple[str, Any]]:
    if depth > DEEPEST:
        raise InputError(f"{name[:40]}...: nested deeper than {DEEPEST} levels; allowed: a tree that ends")
    if _random(x):
        return
    if is_array(x) or isinstance(x, Real) or _numbers_only(x) or is_module(x):
        yield name, x
        return
    children = _children(x)
    if children is not None:
        for key, child in children:
            yield from _walk(child, f"{name}.{key}" if name else key, depth + 1)
    elif x is not None and (not callable(x) or hasattr(x, "named_parameters")):
        raise TypeMismatchError(
            f"{name or 'what is shown'}: got {type(x).__name__}; allowed: arrays of real numbers, in nested dicts, "
            "lists, tuples and dataclasses"
        )


def _children(x: Any) -> Iterator[tuple[str, Any]] | None:
    """The keyed parts of a container; None for what is none."""
    if isinstance(x, Mapping):
        return ((str(key), child) for key, child in x.items())
    if (known := _registered(x)) is not None:
        return ((key, part) for key, part in known if _holds(part))
    if _several(x):
        names = getattr(x, "_fields", None) or map(str, range(len(x)))
        return zip(names, x, strict=True)
    if _record(x):
        return ((one.name, part) for one in fields(x) if _holds(part := getattr(x, one.name, None)))
    return None


def _registered(x: object) -> list[tuple[str, Any]] | None:
    """What JAX takes out of an object, if the loop has imported JAX and told it how; None for all others."""
    jax = sys.modules.get("jax")
    if jax is None or _several(x) or isinstance(x, Iterator | Set):  # JAX warns of what can only be walked
        return None
    found = jax.tree_util.tree_flatten_with_path(x, is_leaf=lambda one: one is not x)[0]
    if len(found) == 1 and found[0][1] is x:
        return None
    return [(_key(way[0]), part) for way, part in found]


def _key(key: Any) -> str:
    """One step of JAX's way to a leaf: a field, a key or a number."""
    return str(next((getattr(key, kind) for kind in ("name", "key", "idx") if hasattr(key, kind)), key))


def _random(x: object) -> bool:
    """Whether it is the state of a generator of random numbers: a typed key of JAX, or what flax.nnx keeps for one."""
    held = any(kind.__name__ == "RngState" for kind in type(x).__mro__)
    return held or str(getattr(x, "dtype", "")).startswith("key<")


def _several(x: object) -> bool:
    return isinstance(x, Sequence) and not isinstance(x, str | bytes | bytearray)


def _record(x: object) -> bool:
    return is_dataclass(x) and not isinstance(x, type)


def _holds(part: Any) -> bool:
    """Whether a field of a dataclass may hold arrays: its numbers, words and functions say how it was made."""
    if is_array(part) or isinstance(part, Mapping) or _record(part) or is_module(part):
        return True
    return not _numbers_only(part) if _several(part) else _registered(part) is not None


def _numbers_only(x: Any, depth: int = 0) -> bool:
    """Whether it is a list of numbers, perhaps of lists of these: one array. A list that holds itself is none."""
    if depth > DEEPEST or not _several(x) or hasattr(x, "_fields") or not len(x):
        return False
    return all(isinstance(one, Real) or _numbers_only(one, depth + 1) for one in x)
