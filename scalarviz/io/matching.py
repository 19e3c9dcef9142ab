"""`matched`: find corresponding tensors in two files of one network, even if names or sides differ.

Exporters drop names (``onnx::MatMul_687``), transpose matrices, and put ``model.`` before every name. So names are
compared first, then their ends, then numbers, then shapes.
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
"""The least cosine between the numbers of two tensors that counts as the same tensor after further training.

Unrelated numbers have a cosine of about ``1 / sqrt(size)``.
"""
FEWEST_NUMBERS = 16
"""The fewest numbers in a tensor for which the cosine is meaningful."""


class Match(NamedTuple):
    """A tensor of the other file."""

    name: str
    turned: bool = False  # whether it is transposed
    shape: tuple[int, ...] = ()  # its shape in the first file

    def aligned(self, array: Array) -> Array:
        """Return the other tensor in the layout of the first file."""
        return (array.squeeze().T if self.turned else array).reshape(self.shape)


def matched(a: Arrays, b: Arrays) -> dict[str, Match]:
    """Return, by names of `a`, the corresponding tensors of `b`.

    Parameters
    ----------
    a, b : mapping of str to ndarray
        Named tensors of two files.

    Returns
    -------
    dict of str to Match
        Each tensor of either file at most once; tensors without a counterpart are left out. Sides of length 1 are
        ignored: a norm's weights are C numbers or C x 1 x 1.

    Notes
    -----
    The order of the rules: equal names; names with a further prefix, as ``model.fc.weight`` and ``fc.weight``; equal
    numbers; numbers with a similar direction, as before and after training; the only two tensors with a shape; all
    that is left, in order, if both files have the same shapes in the same order and no match contradicts that.
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
    row = _fitting(a, b, [*zip(a, b, strict=False)])
    if len(row) == len(a) == len(b) and all(row[name].name == match.name for name, match in found.items()):
        found = {name: match._replace(shape=shapes[name]) for name, match in row.items()} | found
    return found


def _by_names(a: Arrays, b: Arrays) -> dict[str, Match]:
    return _fitting(a, b, [(name, name) for name in a if name in b])


def _by_ends(a: Arrays, b: Arrays) -> dict[str, Match]:
    """Match names of which one is the end of exactly one other name."""
    behind_a, behind_b = (Counter(end for name in names for end in _ends(name)) for names in (a, b))
    pairs = [(name, other) for other in b for name in _ends(other) if name in a and behind_b[name] == 1]
    pairs += [(name, other) for name in a for other in _ends(name) if other in b and behind_a[other] == 1]
    return _fitting(a, b, pairs)


def _ends(name: str) -> list[str]:
    """Return the ends of a dotted name: ``b.c`` and ``c`` of ``a.b.c``."""
    parts = name.split(".")
    return [".".join(parts[k:]) for k in range(1, len(parts))]


def _by_numbers(a: Arrays, b: Arrays) -> dict[str, Match]:
    """Match equal numbers (more than one); several equal tensors, such as zero biases, match in order."""
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
    """Return a digest that is equal for tensors with the same shape and numbers, whatever their dtypes."""
    return hashlib.blake2b(np.ascontiguousarray(array, np.float64).data, key=repr(array.shape).encode()[:64]).digest()


def _by_angles(a: Arrays, b: Arrays) -> dict[str, Match]:
    """Match pairs that are nearest to each other, and near enough."""
    nearest, takers = dict[str, tuple[float, Match]](), dict[str, tuple[float, str]]()
    for shape in {array.shape for array in a.values() if array.size >= FEWEST_NUMBERS}:
        mine = {name: array for name, array in a.items() if array.shape == shape}
        ways = [Match(name, turned) for name, array in b.items() for turned in (False, True)
                if (array.ndim == 2 or not turned) and (array.T if turned else array).shape == shape]  # fmt: skip
        if not ways:
            continue
        there = _directions([b[way.name].T if way.turned else b[way.name] for way in ways])
        cosines = _directions(list(mine.values())) @ there.T  # for all pairs at once
        names = list(mine)
        for row, column in enumerate(cosines.argmax(axis=1)):
            nearest[names[row]] = float(cosines[row, column]), ways[column]
        for column, row in enumerate(cosines.argmax(axis=0)):
            taker = float(cosines[row, column]), names[row]
            takers[ways[column].name] = max(takers.get(ways[column].name, taker), taker)
    return {name: match for name, (cosine, match) in nearest.items()
            if cosine >= LEAST_ALIKE and takers[match.name][1] == name}  # fmt: skip


def _directions(arrays: list[Array]) -> NDArray[np.float32]:
    """Return each tensor as a row of length 1; zeros if it has no direction."""
    rows = np.empty((len(arrays), arrays[0].size), np.float32)
    with np.errstate(all="ignore"):  # infinities and NaN have no direction
        for row, array in zip(rows, arrays, strict=True):
            flat = array.astype(np.float64).ravel()
            row[:] = flat / np.linalg.norm(flat)
            row[:] = row if np.isfinite(row).all() else 0.0
    return rows


def _by_shapes(a: Arrays, b: Arrays) -> dict[str, Match]:
    """Match the only tensor of a shape in each file."""
    alone = [{sides: name for name, array in arrays.items() if counts[sides := _sides(array)] == 1}
             for arrays in (a, b) for counts in [Counter(map(_sides, arrays.values()))]]  # fmt: skip
    return _fitting(a, b, [(name, alone[1][sides]) for sides, name in alone[0].items() if sides in alone[1]])


def _fitting(a: Arrays, b: Arrays, pairs: list[tuple[str, str]]) -> dict[str, Match]:
    """Return the pairs whose shapes fit."""
    found = ((name, _fits(a[name], other, b[other])) for name, other in pairs)
    return {name: match for name, match in found if match is not None}


def _fits(array: Array, other: str, there: Array) -> Match | None:
    """Return the other tensor if its shape fits; for a square matrix the numbers decide whether it is transposed."""
    if _sides(array) != _sides(there):
        return None
    turned = array.shape != there.shape
    if not turned and array.ndim == 2 and array.shape[0] == array.shape[1] and array.size:
        own, straight, across = _directions([array, there, there.T])
        turned = bool(own @ across >= LEAST_ALIKE and own @ across > own @ straight)
    return Match(other, turned)


def _sides(array: Array) -> tuple[int, ...]:
    """Return the shape, with a matrix's sides sorted so that its transpose has the same."""
    return tuple(sorted(array.shape)) if array.ndim == 2 else array.shape
