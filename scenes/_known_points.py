"""`PointSet`, all that is known of a playground's points, and `Known`, which finds it by what a run learns from.

The points that a run learns from are a part of its state: an edit changes them, and undo brings the old ones back. What
belongs to them but is not learnt from (those that are held back, noise, units) hangs on their fingerprint here, so that
whatever is on screen is of one data set at every moment of every branch.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scalarviz import rng
from scalarviz.run.frame import Frame

from ._own_points import OwnPoints
from ._points import KINDS, ORDER, points_of
from ._sort import Sort
from ._units import Units, plain

Array = NDArray[np.float64]
MOST_DRAWN = 2000
"""Points of a file that are drawn; all of them are learnt from."""
CLASSES = ("\N{MINUS SIGN}1", "1")
"""Of the points that are made."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How points came to be: the flags that make them again.

    Attributes
    ----------
    data : str
        The name of a kind, or of a file.
    noise : float
    split : float
        The share that is learnt from.
    seed : int
        Of the points and of their order.
    by_hand : int
        How many were added or taken away since.
    own : OwnPoints or None
        The table that they are from, where they are no kind.
    columns : tuple of str
        Those of the table that were asked for.
    """

    data: str
    noise: float
    split: float
    seed: int
    by_hand: int = 0
    own: OwnPoints | None = field(default=None, compare=False)
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class PointSet:
    """Points with a target each, those to learn from first.

    Attributes
    ----------
    recipe : Recipe
    inputs : ndarray, shape (N, 2)
    targets : ndarray, shape (N,)
        -1 and 1; numbers; of more than two classes their numbers.
    learnt : int
        The first so many are learnt from, the others are held back.
    sort : Sort
        What the targets are.
    units : Units
        What all of these numbers are called, and were before.
    """

    recipe: Recipe
    inputs: Array
    targets: Array
    learnt: int
    sort: Sort
    units: Units

    @property
    def train(self) -> tuple[Array, Array]:
        """Inputs (n, 2) and targets (n, 1) to learn from."""
        return self.inputs[: self.learnt], self.targets[: self.learnt, None]

    @property
    def test(self) -> tuple[Array, Array]:
        """Those that are held back, likewise; there may be none."""
        return self.inputs[self.learnt :], self.targets[self.learnt :, None]

    @property
    def held_back(self) -> NDArray[np.bool_]:
        """Which are held back, shape (N,)."""
        return np.arange(len(self.inputs)) >= self.learnt

    def drawn(self) -> NDArray[np.intp]:
        """The numbers of those that are drawn: all, or the first of either part."""
        count = len(self.inputs)
        if count <= MOST_DRAWN:
            return np.arange(count)
        first = max(1, round(MOST_DRAWN * self.learnt / count))
        return np.concatenate([np.arange(first), self.learnt + np.arange(MOST_DRAWN - first)])

    def with_point(self, at: ArrayLike, target: float) -> PointSet:
        """One more to learn from, behind the others of those."""
        k = self.learnt
        recipe = replace(self.recipe, by_hand=self.recipe.by_hand + 1)
        inputs, targets = np.insert(self.inputs, k, at, axis=0), np.insert(self.targets, k, target)
        return PointSet(recipe, inputs, targets, k + 1, self.sort, self.units)

    def without(self, index: int) -> PointSet:
        """All but one."""
        recipe = replace(self.recipe, by_hand=self.recipe.by_hand + 1)
        inputs, targets = np.delete(self.inputs, index, axis=0), np.delete(self.targets, index)
        return PointSet(recipe, inputs, targets, self.learnt - (index < self.learnt), self.sort, self.units)


def points_for(recipe: Recipe) -> PointSet:
    """The points of a recipe: the first of them are learnt from, the others held back."""
    own = recipe.own
    if own is None:
        kind = KINDS[recipe.data]
        inputs, targets = points_of(recipe.data, recipe.noise, recipe.seed)
        sort, units = Sort(() if kind.number else CLASSES), plain(kind.reach)
    else:
        count = len(own.targets)
        order = rng.permute(np.arange(count), count, recipe.seed, ORDER)
        inputs, targets, sort, units = own.inputs[order], own.targets[order], own.sort, own.units
    learnt = min(max(1, round(recipe.split * len(inputs))), len(inputs) - 1)
    return PointSet(recipe, inputs, targets, learnt, sort, units)


class Known:
    """Every set of points that a run learnt from, found by what it learns from.

    Parameters
    ----------
    first : PointSet
        Of the beginning; what is answered where somebody else gave a run its points, without any that are held back.
    dtype : str
        The run's, in which points are kept.
    """

    def __init__(self, first: PointSet, dtype: str) -> None:
        self._dtype = np.dtype(dtype)
        self._sets: dict[bytes, PointSet] = {}
        self._last: tuple[Any, PointSet] | None = None
        self.add(first)
        self.first = first

    def add(self, points: PointSet) -> PointSet:
        """From now on it is known; returns it, or the one that is learnt from in the same way and was there before."""
        self._last = None
        return self._sets.setdefault(self._print_of(*points.train), points)

    def of(self, data: Any) -> PointSet:
        """The points of what a run learns from: its data, shape (numbers of a sample, N)."""
        last = self._last
        if last is not None and last[0] is data:
            return last[1]
        inputs, targets = np.asarray(data[:2].T), np.asarray(data[2:3].T)
        found = self._sets.get(self._print_of(inputs, targets))
        if found is None:  # given by somebody else
            recipe = replace(self.first.recipe, by_hand=len(inputs))
            places, wanted = inputs.astype(np.float64), targets[:, 0].astype(np.float64)
            found = PointSet(recipe, places, wanted, len(inputs), self.first.sort, self.first.units)
        self._last = data, found
        return found

    def at(self, frame: Frame) -> PointSet:
        """The points of a frame: those that were learnt from at its moment."""
        return self.first if frame.data is None else self.of(frame.data)

    def _print_of(self, *arrays: NDArray[Any]) -> bytes:
        return fingerprint(np.ascontiguousarray(array, self._dtype) for array in arrays)


def fingerprint(arrays: Iterable[NDArray[Any]]) -> bytes:
    """Something short that two rows of arrays share only if every bit is the same."""
    made = hashlib.blake2b(digest_size=16)
    for array in arrays:
        made.update(repr(array.shape).encode())
        made.update(array.tobytes())
    return made.digest()
