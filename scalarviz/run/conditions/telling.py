"""What is said of a condition that became true: the numbers in it, and which weights they are of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .condition import Before
from .expression import Expression, Kept, Load
from .functions import Array
from .numbers import Numbers

SHOWN = 4
"""The most numbers that are said."""


class Told(NamedTuple):
    """Why a condition is true.

    Attributes
    ----------
    text : str
        As ``grad 12.3 in 0.weight[2][1]`` and ``0.weight[2][1] 0.01, before -0.02``; the first few numbers.
    weights : tuple of int
        Flat indices of the weights in question.
    """

    text: str
    weights: tuple[int, ...]


def told(expression: Expression, numbers: Numbers, where: NDArray[np.bool_], before: Before) -> Told:
    """The numbers in a condition, where `where` is what :meth:`Condition.becomes` found: the first element is told."""
    former: dict[Load, Array] = {}
    if isinstance(before, Kept):
        back = (load for load in expression.instructions if isinstance(load, Load) and load.before)
        former = dict(zip(back, before, strict=True))
    place = tuple(int(i) for i in np.argwhere(where)[0]) if where.ndim and where.any() else ()
    parts: dict[tuple[str, bool], str] = {}
    weights: dict[int, None] = {}
    for load in expression.loads:
        array = former[load] if load.before else expression.value(load, numbers.__getitem__)
        if array.ndim and array.shape != where.shape:
            continue  # max(...) of it: no one element says why
        here = place if array.ndim else ()
        name = _name(load, numbers, here)
        index = _weight(load, numbers, here)
        if index is not None:
            weights[index] = None
        value = _brief(array[here])
        if not load.before:
            of = f" in {numbers.weight_name(index)}" if index is not None and load.key in ("grad", "nan") else ""
            parts[name, False] = f"{name} {value}{of}"
        else:
            parts[name, True] = f"before {value}" if (name, False) in parts else f"{name} before {value}"
    return Told(", ".join(list(parts.values())[:SHOWN]), tuple(weights))


def _name(load: Load, numbers: Numbers, place: tuple[int, ...]) -> str:
    if load.key == "dead" and not load.indices and place:
        return numbers.named.unit(place[0])
    return load.written + "".join(f"[{index}]" for index in place)


def _weight(load: Load, numbers: Numbers, place: tuple[int, ...]) -> int | None:
    """The flat index of the weight that a number is of, if it is of one."""
    if load.before:
        return None
    if load.key in ("grad", "nan"):
        return numbers.weight_of(load.key)
    if load.key not in numbers.named.tensor:
        return None
    tensor, _ = numbers.named.tensor[load.key]
    indices = (*load.indices, *place)
    if len(indices) != len(tensor.shape):
        return None
    positive = tuple(index % side for index, side in zip(indices, tensor.shape, strict=True))
    return tensor.start + (int(np.ravel_multi_index(positive, tensor.shape)) if positive else 0)


def _brief(number: Array) -> str:
    return ("false", "true")[bool(number)] if number.dtype == bool else f"{float(number):.6g}"
