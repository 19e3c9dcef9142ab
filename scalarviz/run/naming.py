"""Which weight is meant: a Weight, a name as messages print it, or a flat index."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from ..checks import position
from ..errors import InputError, TypeMismatchError, UnknownNameError, listing, shown
from ..scalar.store import Block
from ..scalar.weight import Weight
from .frame import Tensor
from .gather import weight_name

_DOTTED = re.compile(r"\.(\d{1,9})(?=[.\[]|\Z)")
_PLACES = re.compile(r"(?:\[\d{1,9}\])*\Z")


def index_of(tensors: Sequence[Tensor], blocks: Sequence[Block], given: Any) -> int:
    """Flat index of the weight `given`.

    Parameters
    ----------
    tensors, blocks : sequence
        Of one run.
    given : Weight, str or int
        A negative index counts from the end.

    Raises
    ------
    InputError
        A weight of another run, a name of several weights, an index outside.
    UnknownNameError
        No weight is called so.
    TypeMismatchError
        It is none of the three.
    """
    if isinstance(given, Weight):
        start = _start(blocks, given._block)
        if start is not None:
            return start + given._index
        raise InputError(f"{shown(given)} is no weight of this run; those are {_names(tensors)}")
    if isinstance(given, str):
        return _named(tensors, given)
    if isinstance(given, Block):
        start = _start(blocks, given)
        name = next((t.name for t in tensors if start is not None and t.start <= start < t.start + t.size), "that")
        raise TypeMismatchError(f"{name} is {given.size} weights; say which one, as {_example(tensors, name)}")
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        return position(given, sum(t.size for t in tensors), "the weights")
    raise TypeMismatchError(
        f"a weight is a Weight, its name as {weight_name(tensors, 0)!r}, or its flat index; got "
        f"{type(given).__name__} {shown(given)}"
    )


def _named(tensors: Sequence[Tensor], name: str) -> int:
    text = name.strip()
    found = _place_in(tensors, text, name)
    if found is None:  # a Weight of a list calls itself w.3.5
        found = _place_in(tensors, _DOTTED.sub(r"[\1]", text), name)
    if found is not None:
        return found
    close = get_close_matches(text.partition("[")[0], [t.name for t in tensors], 1)
    hint = f"; did you mean {close[0]}?" if close else ""
    raise UnknownNameError(f"no weight is called {shown(name)}; there are {_names(tensors)}{hint}")


def _place_in(tensors: Sequence[Tensor], text: str, name: str) -> int | None:
    """Flat index of the weight that `text` names, `name` in messages; None if no tensor is called so."""
    for tensor in sorted(tensors, key=lambda t: -len(t.name)):
        rest = text.removeprefix(tensor.name)
        if (rest == text and tensor.name) or not _PLACES.match(rest):
            continue
        place = tuple(int(i) for i in re.findall(r"\d+", rest))
        if not place and tensor.size == 1:
            return tensor.start
        if len(place) != len(tensor.shape):
            raise InputError(
                f"{shown(name)}: {tensor.name} has the shape {tensor.shape}, so a weight of it has {len(tensor.shape)} "
                f"numbers behind the name, as {_example(tensors, tensor.name)}"
            )
        if any(i >= side for i, side in zip(place, tensor.shape, strict=True)):
            raise InputError(f"{shown(name)}: {tensor.name} has the shape {tensor.shape}, counted from 0")
        return tensor.start + int(np.ravel_multi_index(place, tensor.shape)) if place else tensor.start
    return None


def _start(blocks: Sequence[Block], wanted: Block) -> int | None:
    """Where the numbers of a block begin; None if it is not among them."""
    start = 0
    for block in blocks:
        if block is wanted:
            return start
        start += block.size
    return None


def _example(tensors: Sequence[Tensor], name: str) -> str:
    tensor = next((t for t in tensors if t.name == name), tensors[0])
    return weight_name(tensors, tensor.start + tensor.size - 1)


def _names(tensors: Sequence[Tensor], most: int = 8) -> str:
    names = [t.name + "".join(f"[0..{side - 1}]" for side in t.shape) for t in tensors]
    return listing(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
