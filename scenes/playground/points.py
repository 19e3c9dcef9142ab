"""The points of the scene `playground`: their units, data sets and tables, and points added by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from scalarviz import rng
from scalarviz.data.points import KINDS, ORDER, points_of
from scalarviz.engine.data import Data
from scalarviz.errors import FileFormatError, InputError, listing, shown
from scalarviz.io import CsvTable

from .net import Sort

# ---- `Units`: what the numbers of a playground's points are called, and in which units they were before.


Array = NDArray[np.float64]
FARTHEST = 1e150
"""Numbers of a table go so far from 0: their squares are numbers as well."""
NEAREST = 1e-12
"""Of that, the least that is a difference and no rounding."""
AIR = 0.08
"""Share of the reach of the points that a map shows beyond them."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of points: its name, the ends of a map of it, and how its numbers were made of those of before."""

    name: str
    least: float  # in the numbers of the points
    most: float
    mean: float = 0.0  # a number of before is ``mean + scale * number``
    scale: float = 1.0

    def before(self, number: float) -> float:
        """A number in the units of before."""
        return self.mean + self.scale * number

    @property
    def shown(self) -> tuple[float, float]:
        """The ends in the units of before."""
        return self.before(self.least), self.before(self.most)


@dataclass(frozen=True, slots=True)
class Units:
    """The columns of points."""

    inputs: tuple[Column, ...]  # one or two; the second number of points with one input is 0
    target: Column  # what is to be found; of classes only its name says anything

    @property
    def names(self) -> tuple[str, str]:
        """Of the two numbers of a point."""
        first, *rest = self.inputs
        return first.name, rest[0].name if rest else ""


PLAIN = Units((Column("x", -6.0, 6.0), Column("y", -6.0, 6.0)), Column("class", -1.0, 1.0))
"""Those of points that are made."""


def standardised(name: str, numbers: Array) -> tuple[Array, Column]:
    """Numbers (N,) with mean 0 and standard deviation 1, and their column; of equal ones 0.

    Raises
    ------
    FileFormatError
        They are beyond :data:`FARTHEST`, or nearer to each other than float64 can tell.
    """
    low, high = float(numbers.min()), float(numbers.max())
    farthest = max(abs(low), abs(high))
    if farthest > FARTHEST:
        raise FileFormatError(
            f"column {name!r} goes to {farthest:.3g}; allowed: {FARTHEST:g} either side of 0; divide the numbers"
        )
    if low == high:
        return np.zeros_like(numbers), Column(name, -1.0, 1.0, low, 1.0)
    mean, scale = float(numbers.mean()), float(numbers.std())
    if scale <= NEAREST * max(farthest, 1e-150):
        raise FileFormatError(
            f"column {name!r}: its numbers, {low:.6g} to {high:.6g}, are too close to each other; "
            "subtract what they have in common, or multiply them"
        )
    found: Array = (numbers - mean) / scale
    low, high = float(found.min()), float(found.max())
    air = AIR * (high - low) or 1.0
    return found, Column(name, low - air, high + air, mean, scale)


# ---- Points of a table of the user's own: its last column is the target, the one or two before it are the inputs.


MOST_CLASSES = 8


@dataclass(frozen=True, eq=False)
class OwnPoints:
    """A table as points."""

    what: str  # the name of its file
    inputs: Array  # (N, 2), standardised; where there is one input the second number is 0
    targets: Array  # (N,): -1 and 1; numbers of classes; or standardised numbers
    sort: Sort
    units: Units
    notes: tuple[str, ...] = ()  # what is to be said of it


def own_points(table: CsvTable, columns: Sequence[str] = ()) -> OwnPoints:
    """The points of a table.

    Parameters
    ----------
    table : CsvTable
    columns : sequence of str
        One or two inputs and the target, by their names; default: all that the table has.

    Raises
    ------
    InputError, FileFormatError
        A column is missing, there are too few or too many of them, a cell cannot be used, or there is nothing to be
        told apart.
    """
    names = tuple(columns) or table.names
    for name in names:
        table.column(name)
    if len(names) not in (2, 3) or len(set(names)) < len(names):
        raise FileFormatError(
            f"{table.what}: {len(names)} {'column' if len(names) == 1 else 'columns'} ({listing(names[:6])}); wanted "
            f"one or two inputs and the target behind them; choose them as --columns {_example(table.names)}"
        )
    *inputs, target = names
    made = [standardised(name, table.numbers(name, "; only the last column may be words")) for name in inputs]
    same = tuple(
        f"{name} is the same in every row" for name, (numbers, _) in zip(inputs, made, strict=True) if not numbers.any()
    )
    places = [numbers for numbers, _ in made] + [np.zeros(len(table))] * (2 - len(made))
    units = tuple(column for _, column in made)
    wanted, sort, last = _targets(table, target, curve=len(inputs) == 1)
    return OwnPoints(table.what, np.stack(places, axis=1), wanted, sort, Units(units, last), (*table.notes, *same))


def _targets(table: CsvTable, name: str, *, curve: bool) -> tuple[Array, Sort, Column]:
    if len(table) < 2:
        raise FileFormatError(f"{table.what} has one row; allowed: at least two, for training and test")
    if curve or table.are_numbers(name):
        numbers = table.numbers(name)
        different = np.unique(numbers)
        if len(different) == 1:
            raise FileFormatError(f"{table.what}: column {name!r} is {different[0]:g} in every row: nothing to learn")
        few = len(different) == 2 or (len(different) <= MOST_CLASSES and (different == different.round()).all())
        if curve or not few:
            found, column = standardised(name, numbers)
            return found, Sort(), column
        return _numbered(name, [f"{number:g}" for number in different], np.searchsorted(different, numbers))
    words = table.words(name)
    classes, places = np.unique(np.asarray(words, dtype=object), return_inverse=True)
    if len(classes) == 1:
        raise FileFormatError(f"{table.what}: every row is {shown(classes[0])}; allowed: two or more classes")
    if len(classes) > MOST_CLASSES:
        some = listing(map(str, classes[:4]))
        raise FileFormatError(
            f"{table.what}: column {name!r} has {len(classes):,} different words ({some}, ...); allowed: 2 to "
            f"{MOST_CLASSES} classes, or numbers"
        )
    return _numbered(name, [str(one) for one in classes], places)


def _numbered(name: str, classes: list[str], places: NDArray[np.integer]) -> tuple[Array, Sort, Column]:
    """Two classes are -1 and 1, more are their numbers."""
    targets = places.astype(np.float64)
    return (2 * targets - 1 if len(classes) == 2 else targets), Sort(tuple(classes)), Column(name, -1.0, 1.0)


def _example(names: tuple[str, ...]) -> str:
    return ",".join(names[-3:]) if len(names) > 3 else "x,y,kind"


# ---- Points that a hand adds to a playground, as texts: ``--point 1.5,-2,1`` is what a click at that place adds.


FINE = 10_000
"""Places are told apart that are a map's width divided by this from each other: finer than any pixel."""
_MINUS = "\N{MINUS SIGN}"

Point = tuple[tuple[float, float], float]
"""Two numbers of a place, and what is to be found there, as a network gets them."""


def written(at: tuple[float, float], target: float, units: Units, sort: Sort) -> str:
    """A point in the units of before, with as many digits as :data:`FINE` needs: ``1.5,-2,1``."""
    places = [_rounded(number, column) for number, column in zip(at, units.inputs, strict=False)]
    kind = sort.kind
    if kind:
        word = sort.classes[int(target > 0) if kind == 2 else int(target)].replace(_MINUS, "-")
    else:
        word = _rounded(target, units.target)
    return ",".join([*places, word])


def point_of(text: str, units: Units, sort: Sort) -> Point:
    """What such a text says.

    Raises
    ------
    InputError
        It has too few numbers, or what is to be found there is none of the classes.
    """
    count = len(units.inputs)
    *places, word = text.split(",", count)
    if len(places) < count:
        names = ",".join([*(column.name for column in units.inputs), units.target.name])
        raise InputError(f"--point: got {shown(text)}; allowed: {names}, separated by commas")
    numbers = [_number(place, column, text) for place, column in zip(places, units.inputs, strict=True)]
    if not sort.kind:
        return (numbers[0], numbers[-1] if count == 2 else 0.0), _number(word, units.target, text)
    words = [name.replace(_MINUS, "-") for name in sort.classes]
    said = word.strip().replace(_MINUS, "-")
    if said not in words:
        raise InputError(f"--point {shown(text)}: got class {shown(said)}; allowed: {listing(words)}")
    found = words.index(said)
    return (numbers[0], numbers[-1] if count == 2 else 0.0), float(2 * found - 1 if sort.kind == 2 else found)


def _rounded(number: float, column: Column) -> str:
    low, high = column.shown
    digits = math.ceil(math.log10(FINE / (high - low)))
    found = round(column.before(number), digits)
    return repr(int(found) if found.is_integer() and abs(found) < FINE * FINE else found)


def _number(text: str, column: Column, whole: str) -> float:
    """A number of before, as a network gets it."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    with np.errstate(all="ignore"):
        found = float((np.float64(number) - column.mean) / column.scale)
    if not math.isfinite(found) or abs(number) > FARTHEST or abs(found) > np.finfo(np.float32).max:
        raise InputError(f"--point {shown(whole)}: {column.name} is a number, got {shown(text.strip())}")
    return found


# ---- `PointSet`: all that is known of a playground's points. The data that a run learns from carries it
# (`Data.about`), so that whatever is on screen is of one data set at every moment of every branch.


MOST_DRAWN = 2000
"""Points of a file that are drawn; all of them are learnt from."""
CLASSES = ("\N{MINUS SIGN}1", "1")
"""Of the points that are made."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How points came to be: the flags that make them again."""

    data: str  # the name of a kind, or of a file
    noise: float
    split: float  # the share that is learnt from
    seed: int  # of the points and of their order
    added: tuple[str, ...] = ()  # those that a hand added behind those that are learnt from, as `written` says them
    without: tuple[int, ...] = ()  # numbers of those to learn from that it took away, as they were made
    foreign: int = 0  # how many somebody else gave, whom no flags make again
    own: OwnPoints | None = field(default=None, compare=False)  # the table that they are from
    columns: tuple[str, ...] = ()  # those of the table that were asked for


@dataclass(frozen=True, slots=True, eq=False)
class PointSet:
    """Points with a target each, those to learn from first."""

    recipe: Recipe
    inputs: Array  # (N, 2)
    targets: Array  # (N,): -1 and 1; numbers; of more than two classes their numbers
    learnt: int  # the first so many are learnt from, the others are held back
    sort: Sort  # what the targets are
    units: Units  # what all of these numbers are called, and were before

    def of(self, data: Data | None) -> PointSet:
        """Those that a run learns from at a moment, its data; given by somebody else they have these units."""
        if data is None:
            return self
        if not isinstance(data.about, PointSet):
            inputs, targets = data[:2].T.astype(np.float64), data[2].astype(np.float64)
            recipe = replace(self.recipe, foreign=len(inputs), added=(), without=())
            data.about = PointSet(recipe, inputs, targets, len(inputs), self.sort, self.units)
        return data.about

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

    def with_point(self, at: tuple[float, float], target: float) -> PointSet:
        """One more to learn from, behind the others of those, at a place that a flag can say."""
        x, y = map(float, at)
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
        inputs, targets = points_of(recipe.data, recipe.noise, recipe.seed)
        sort, units = Sort(() if KINDS[recipe.data].number else CLASSES), PLAIN
    else:
        count = len(own.targets)
        order = rng.permute(np.arange(count), count, recipe.seed, ORDER)
        inputs, targets, sort, units = own.inputs[order], own.targets[order], own.sort, own.units
    learnt = min(max(1, round(recipe.split * len(inputs))), len(inputs) - 1)
    points = PointSet(replace(recipe, added=(), without=()), inputs, targets, learnt, sort, units)
    wrong = [number for number in recipe.without if number >= learnt]
    if wrong or learnt + len(recipe.added) - len(set(recipe.without)) < 1:
        what = f"there is no point {wrong[0]}" if wrong else "none would be left"
        raise InputError(f"--without: {what}; allowed: 0 to {learnt - 1}, and one training point has to stay")
    for text in recipe.added:
        points = points._with(text)
    for number in sorted(set(recipe.without), reverse=True):
        points = points.without(number)
    return points
