"""`matched`: which tensors of two files are the same part of one network, where their names or sides differ.

Exporters drop names (``onnx::MatMul_687``), turn matrices round, and put ``model.`` in front of every name. So names
are compared first, then how they end, then numbers, then shapes.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Arrays = Mapping[str, Array]
LEAST_ALIKE = 0.5
"""Cosine of the angle between the numbers of two tensors from which on one is the other, trained further.

Numbers that have nothing to do with each other have about ``1 / sqrt(size)``.
"""
FEWEST_NUMBERS = 16
"""Numbers of a tensor, at least, for such an angle to say something."""


class Match(NamedTuple):
    """A tensor of the other file."""

    name: str
    turned: bool = False  # whether its two sides are exchanged
    shape: tuple[int, ...] = ()  # that it has in the first file

    def aligned(self, array: Array) -> Array:
        """The other tensor as it lies in the first file."""
        return (array.squeeze().T if self.turned else array).reshape(self.shape)


def matched(a: Arrays, b: Arrays) -> dict[str, Match]:
    """By names of `a`, the tensors of `b` that are the same part of a network.

    Parameters
    ----------
    a, b : mapping of str to ndarray
        Named tensors of two files.

    Returns
    -------
    dict of str to Match
        Each tensor of either file at most once; what has no counterpart is left out. Sides of length 1 do not count:
        a norm's weights are C numbers or C x 1 x 1.

    Notes
    -----
    In this order: equal names; names of which one has more in front, as ``model.fc.weight`` and ``fc.weight``; equal
    numbers; numbers that point the same way, as before and after training; the only two that have a shape.
    """
    found: dict[str, Match] = {}
    shapes = {name: array.shape for name, array in a.items()}
    a, b = ({name: array.squeeze() for name, array in arrays.items()} for arrays in (a, b))
    for rule in (_by_names, _by_ends, _by_numbers, _by_angles, _by_shapes):
        taken = {match.name for match in found.values()}
        mine = {name: array for name, array in a.items() if name not in found}
        others = {name: array for name, array in b.items() if name not in taken}
        for name, match in rule(mine, others).items():
            if match.name not in taken:
                found[name] = match._replace(shape=shapes[name])
                taken.add(match.name)
    return found


def _by_names(a: Arrays, b: Arrays) -> dict[str, Match]:
    return _fitting(a, b, [(name, name) for name in a if name in b])


def _by_ends(a: Arrays, b: Arrays) -> dict[str, Match]:
    """All of one name is the end of one other name."""
    behind_a, behind_b = (Counter(end for name in names for end in _ends(name)) for names in (a, b))
    pairs = [(name, other) for other in b for name in _ends(other) if name in a and behind_b[name] == 1]
    pairs += [(name, other) for name in a for other in _ends(name) if other in b and behind_a[other] == 1]
    return _fitting(a, b, pairs)


def _ends(name: str) -> list[str]:
    """``b.c`` and ``c`` of ``a.b.c``."""
    parts = name.split(".")
    return [".".join(parts[k:]) for k in range(1, len(parts))]


def _by_numbers(a: Arrays, b: Arrays) -> dict[str, Match]:
    """Equal numbers, not a single one; several that are equal, as biases of zeros, stand for each other in order."""
    waiting: dict[bytes, list[Match]] = {}
    for name, array in ((name, array) for name, array in b.items() if array.size > 1):
        for turned in (False, True) if array.ndim == 2 else (False,):
            waiting.setdefault(_digest(array.T if turned else array), []).append(Match(name, turned))
    found, taken = dict[str, Match](), set[str]()
    for name, array in a.items():
        match = next((one for one in waiting.get(_digest(array), ()) if one.name not in taken), None)
        if match is not None:
            found[name] = match
            taken.add(match.name)
    return found


def _digest(array: Array) -> bytes:
    """The same for tensors of one shape and equal numbers, whatever their dtypes."""
    return hashlib.blake2b(np.ascontiguousarray(array, np.float64).data, key=repr(array.shape).encode()[:64]).digest()


def _by_angles(a: Arrays, b: Arrays) -> dict[str, Match]:
    """Pairs of which each is the nearest to the other, and near."""
    nearest, takers = dict[str, tuple[float, Match]](), dict[str, tuple[float, str]]()
    for shape in {array.shape for array in a.values() if array.size >= FEWEST_NUMBERS}:
        mine = {name: array for name, array in a.items() if array.shape == shape}
        ways = [Match(name, turned) for name, array in b.items() for turned in (False, True)
                if (array.ndim == 2 or not turned) and (array.T if turned else array).shape == shape]  # fmt: skip
        if not ways:
            continue
        there = _directions([b[way.name].T if way.turned else b[way.name] for way in ways])
        cosines = _directions(list(mine.values())) @ there.T  # of all pairs at once
        names = list(mine)
        for row, column in enumerate(cosines.argmax(axis=1)):
            nearest[names[row]] = float(cosines[row, column]), ways[column]
        for column, row in enumerate(cosines.argmax(axis=0)):
            taker = float(cosines[row, column]), names[row]
            takers[ways[column].name] = max(takers.get(ways[column].name, taker), taker)
    return {name: match for name, (cosine, match) in nearest.items()
            if cosine >= LEAST_ALIKE and takers[match.name][1] == name}  # fmt: skip


def _directions(arrays: list[Array]) -> NDArray[np.float32]:
    """Each of some tensors of one shape as a row of length 1; zeros where it has no direction."""
    rows = np.empty((len(arrays), arrays[0].size), np.float32)
    with np.errstate(all="ignore"):  # infinities and NaN have none
        for row, array in zip(rows, arrays, strict=True):
            flat = array.astype(np.float64).ravel()
            row[:] = flat / np.linalg.norm(flat)
            row[:] = row if np.isfinite(row).all() else 0.0
    return rows


def _by_shapes(a: Arrays, b: Arrays) -> dict[str, Match]:
    """The only one that has a shape in either file."""
    alone = [{sides: name for name, array in arrays.items() if (sides := _sides(array)) and counts[sides] == 1}
             for arrays in (a, b) for counts in [Counter(map(_sides, arrays.values()))]]  # fmt: skip
    return _fitting(a, b, [(name, alone[1][sides]) for sides, name in alone[0].items() if sides in alone[1]])


def _fitting(a: Arrays, b: Arrays, pairs: list[tuple[str, str]]) -> dict[str, Match]:
    """Those of the pairs whose shapes allow it."""
    found = ((name, _fits(a[name], other, b[other])) for name, other in pairs)
    return {name: match for name, match in found if match is not None}


def _fits(array: Array, other: str, there: Array) -> Match | None:
    """The other tensor, if its shape allows it; of a square matrix the numbers say how it lies."""
    if _sides(array) != _sides(there):
        return None
    turned = array.shape != there.shape
    if not turned and array.ndim == 2 and array.shape[0] == array.shape[1] and array.size:
        own, straight, across = _directions([array, there, there.T])
        turned = bool(own @ across >= LEAST_ALIKE and own @ across > own @ straight)
    return Match(other, turned)


def _sides(array: Array) -> tuple[int, ...]:
    """The shape, as far as it is the same for a matrix that is turned round."""
    return tuple(sorted(array.shape)) if array.ndim == 2 else array.shape
