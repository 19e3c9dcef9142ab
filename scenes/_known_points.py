"""`PointSet`, all that is known of a playground's points, and `Known`, which finds it by what a run learns from.

The points that a run learns from are a part of its state: an edit changes them, and undo brings the old ones back. What
belongs to them but is not learnt from (those that are held back, noise, units) hangs on their fingerprint here, so that
whatever is on screen is of one data set at every moment of every branch.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scalarviz import rng
from scalarviz.errors import InputError
from scalarviz.run.core.frame import Frame

from ._fingerprint import fingerprint
from ._hand_points import point_of, written
from ._own_points import OwnPoints
from ._playground_net import shape_of
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
    added : tuple of str
        Those that a hand added behind those that are learnt from, as :func:`._hand_points.written`.
    without : tuple of int
        Numbers of those to learn from that it took away, as they were made.
    foreign : int
        How many somebody else gave, whom no flags make again.
    own : OwnPoints or None
        The table that they are from, where they are no kind.
    columns : tuple of str
        Those of the table that were asked for.
    """

    data: str
    noise: float
    split: float
    seed: int
    added: tuple[str, ...] = ()
    without: tuple[int, ...] = ()
    foreign: int = 0
    own: OwnPoints | None = field(default=None, compare=False)
    columns: tuple[str, ...] = ()

    @property
    def table(self) -> str:
        """What tells the table from every other one; empty of those that are made."""
        return "" if self.own is None else self.own.identity


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

    @property
    def _made(self) -> NDArray[np.intp]:
        """Numbers, as they were made, of those learnt from that are left of them."""
        made = self.learnt - len(self.recipe.added)
        numbers = np.arange(made + len(self.recipe.without))
        return np.setdiff1d(numbers, self.recipe.without)[:made]

    def with_point(self, at: ArrayLike, target: float) -> PointSet:
        """One more to learn from, behind the others of those, at a place that a flag can say."""
        x, y = np.asarray(at, float).tolist()
        return self._with(written((x, y), target, self.units, self.sort))

    def _with(self, text: str) -> PointSet:
        at, target = point_of(text, self.units, self.sort)
        k, recipe = self.learnt, replace(self.recipe, added=(*self.recipe.added, text))
        inputs, targets = np.insert(self.inputs, k, at, axis=0), np.insert(self.targets, k, target)
        return PointSet(recipe, inputs, targets, k + 1, self.sort, self.units)

    def without(self, index: int) -> PointSet:
        """All but one of those that are learnt from."""
        added, made = self.recipe.added, self._made
        if index < len(made):
            recipe = replace(self.recipe, without=tuple(sorted((*self.recipe.without, int(made[index])))))
        else:
            k = index - len(made)
            recipe = replace(self.recipe, added=added[:k] + added[k + 1 :])
        inputs, targets = np.delete(self.inputs, index, axis=0), np.delete(self.targets, index)
        return PointSet(recipe, inputs, targets, self.learnt - 1, self.sort, self.units)


def points_for(recipe: Recipe) -> PointSet:
    """The points of a recipe: the first of them are learnt from, the others held back.

    Raises
    ------
    InputError
        A point cannot be added, or one that is to be left out is not there, or none is left.
    """
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
    points = PointSet(replace(recipe, added=(), without=()), inputs, targets, learnt, sort, units)
    wrong = [number for number in recipe.without if number >= learnt]
    if wrong or learnt + len(recipe.added) - len(set(recipe.without)) < 1:
        what = f"there is no point {wrong[0]}" if wrong else "none would be left"
        raise InputError(f"--without: {what}; {learnt:,} are learnt from, 0 to {learnt - 1}, and one has to stay")
    for text in recipe.added:
        points = points._with(text)
    for number in sorted(set(recipe.without), reverse=True):
        points = points.without(number)
    return points


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
        self._sets: dict[tuple[str, bytes], PointSet] = {}
        self._last: tuple[Any, str, PointSet] | None = None
        self.add(first)
        self.first = first

    def add(self, points: PointSet) -> PointSet:
        """From now on it is known; returns it, or the one that is learnt from in the same way and was there before."""
        self._last = None
        return self._sets.setdefault((points.recipe.table, self._print_of(*points.train)), points)

    def of(self, data: Any, table: str) -> PointSet:
        """The points of what a run learns from: its data, shape (numbers of a sample, N), and which table they are of.

        Two tables of other words may have the same numbers, so that these alone do not tell.
        """
        last = self._last
        if last is not None and last[0] is data and last[1] == table:
            return last[2]
        inputs, targets = np.asarray(data[:2].T), np.asarray(data[2:3].T)
        found = self._sets.get((table, self._print_of(inputs, targets)))
        if found is None:  # given by somebody else
            recipe = replace(self.first.recipe, foreign=len(inputs), added=(), without=())
            places, wanted = inputs.astype(np.float64), targets[:, 0].astype(np.float64)
            found = PointSet(recipe, places, wanted, len(inputs), self.first.sort, self.first.units)
        self._last = data, table, found
        return found

    def at(self, frame: Frame) -> PointSet:
        """The points of a frame: those that were learnt from at its moment."""
        shape = shape_of(frame)
        return self.first if frame.data is None or shape is None else self.of(frame.data, shape.table)

    def _print_of(self, *arrays: NDArray[Any]) -> bytes:
        return fingerprint(np.ascontiguousarray(array, self._dtype) for array in arrays)
