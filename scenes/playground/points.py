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

from .net import TargetKind

# ---- `Units`: the names of a playground's numbers, and their units before standardising.


Array = NDArray[np.float64]
FARTHEST = 1e150
"""The largest number of a table; its square still fits into float64."""
NEAREST = 1e-12
"""The least relative spread that is not rounding."""
AIR = 0.08
"""Margin of a map around the points, as a share of their range."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of points: its name, the ends of its axis, and how its numbers were standardised."""

    name: str
    least: float  # in the numbers of the points
    most: float
    mean: float = 0.0  # the number in the table is ``mean + scale * number``
    scale: float = 1.0

    def before(self, number: float) -> float:
        """A number in the units of the table."""
        return self.mean + self.scale * number

    @property
    def shown(self) -> tuple[float, float]:
        """The ends in the units of the table."""
        return self.before(self.least), self.before(self.most)


@dataclass(frozen=True, slots=True)
class Units:
    """The columns of points."""

    inputs: tuple[Column, ...]  # one or two; the second number of points with one input is 0
    target: Column  # for classes, only its name has a meaning

    @property
    def names(self) -> tuple[str, str]:
        """The names of the two numbers of a point."""
        first, *rest = self.inputs
        return first.name, rest[0].name if rest else ""


PLAIN = Units((Column("x", -6.0, 6.0), Column("y", -6.0, 6.0)), Column("class", -1.0, 1.0))
"""The columns of generated points."""


def standardised(name: str, numbers: Array) -> tuple[Array, Column]:
    """Numbers (N,) with mean 0 and standard deviation 1, and their column; equal numbers become 0.

    Raises
    ------
    FileFormatError
        A number is beyond :data:`FARTHEST`, or the numbers are too close to each other for float64.
    """
    low, high = float(numbers.min()), float(numbers.max())
    farthest = max(abs(low), abs(high))
    if farthest > FARTHEST:
        raise FileFormatError(
            f"column {name!r} reaches {farthest:.3g}; allowed: -{FARTHEST:g} to {FARTHEST:g}; rescale the column"
        )
    if low == high:
        return np.zeros_like(numbers), Column(name, -1.0, 1.0, low, 1.0)
    mean, scale = float(numbers.mean()), float(numbers.std())
    if scale <= NEAREST * max(farthest, 1e-150):
        raise FileFormatError(
            f"column {name!r} has numbers from {low:.6g} to {high:.6g}, too close to each other; "
            "subtract their mean, or multiply the numbers"
        )
    found: Array = (numbers - mean) / scale
    low, high = float(found.min()), float(found.max())
    air = AIR * (high - low) or 1.0
    return found, Column(name, low - air, high + air, mean, scale)


# ---- Points from the user's table: the last column is the target, the one or two before it are the inputs.


MOST_CLASSES = 8


@dataclass(frozen=True, eq=False)
class OwnPoints:
    """A table as points."""

    what: str  # the name of its file
    inputs: Array  # (N, 2), standardised; with one input, the second number is 0
    targets: Array  # (N,): -1 and 1; class numbers; or standardised numbers
    sort: TargetKind
    units: Units
    notes: tuple[str, ...] = ()  # remarks for the user


def own_points(table: CsvTable, columns: Sequence[str] = ()) -> OwnPoints:
    """The points of a table.

    Parameters
    ----------
    table : CsvTable
    columns : sequence of str
        Names of one or two inputs and the target; default: all columns of the table.

    Raises
    ------
    InputError, FileFormatError
        A column is missing, there are too few or too many columns, a cell cannot be used, or all targets are equal.
    """
    names = tuple(columns) or table.names
    for name in names:
        table.column(name)
    if len(names) not in (2, 3) or len(set(names)) < len(names):
        raise FileFormatError(
            f"{table.what}: {len(names)} {'column' if len(names) == 1 else 'columns'} ({listing(names[:6])}); allowed: "
            f"one or two inputs, then the target; choose columns with --columns {_example(table.names)}"
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


def _targets(table: CsvTable, name: str, *, curve: bool) -> tuple[Array, TargetKind, Column]:
    if len(table) < 2:
        raise FileFormatError(f"{table.what} has one row; allowed: at least two, for training and test")
    if curve or table.are_numbers(name):
        numbers = table.numbers(name)
        different = np.unique(numbers)
        if len(different) == 1:
            raise FileFormatError(
                f"{table.what}: target {name!r} is {different[0]:g} in every row; it needs two different values"
            )
        few = len(different) == 2 or (len(different) <= MOST_CLASSES and (different == different.round()).all())
        if curve or not few:
            found, column = standardised(name, numbers)
            return found, TargetKind(), column
        return _numbered(name, [f"{number:g}" for number in different], np.searchsorted(different, numbers))
    words = table.words(name)
    classes, places = np.unique(np.asarray(words, dtype=object), return_inverse=True)
    if len(classes) == 1:
        raise FileFormatError(f"{table.what}: only class {shown(classes[0])}; allowed: two or more classes")
    if len(classes) > MOST_CLASSES:
        some = listing(map(str, classes[:4]))
        raise FileFormatError(
            f"{table.what}: target {name!r} has {len(classes):,} different words ({some}, ...); allowed: 2 to "
            f"{MOST_CLASSES} classes, or numbers"
        )
    return _numbered(name, [str(one) for one in classes], places)


def _numbered(name: str, classes: list[str], places: NDArray[np.integer]) -> tuple[Array, TargetKind, Column]:
    """Targets from class numbers: two classes become -1 and 1, more keep their numbers."""
    targets = places.astype(np.float64)
    return (2 * targets - 1 if len(classes) == 2 else targets), TargetKind(tuple(classes)), Column(name, -1.0, 1.0)


def _example(names: tuple[str, ...]) -> str:
    return ",".join(names[-3:]) if len(names) > 3 else "x,y,kind"


# ---- Added points as texts: ``--point 1.5,-2,1`` adds what a click at that place adds.


FINE = 10_000
"""A text keeps a place to a map's width divided by this, which is finer than a pixel."""
_MINUS = "\N{MINUS SIGN}"

Point = tuple[tuple[float, float], float]
"""Two numbers of a place, and its target, as a network gets them."""


def written(at: tuple[float, float], target: float, units: Units, sort: TargetKind) -> str:
    """A point as text in the units of the table, with as many digits as :data:`FINE` needs: ``1.5,-2,1``."""
    places = [_rounded(number, column) for number, column in zip(at, units.inputs, strict=False)]
    kind = sort.kind
    if kind:
        word = sort.classes[int(target > 0) if kind == 2 else int(target)].replace(_MINUS, "-")
    else:
        word = _rounded(target, units.target)
    return ",".join([*places, word])


def point_of(text: str, units: Units, sort: TargetKind) -> Point:
    """The point that such a text describes.

    Raises
    ------
    InputError
        The text has too few numbers, or its target is none of the classes.
    """
    count = len(units.inputs)
    *places, word = text.split(",", count)
    if len(places) < count:
        names = ",".join([*(column.name for column in units.inputs), units.target.name])
        raise InputError(f"--point: got {shown(text)}; write {count + 1} values with commas between: {names}")
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
    """A number in the units of the table, converted to that of the network."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    with np.errstate(all="ignore"):
        found = float((np.float64(number) - column.mean) / column.scale)
    if not math.isfinite(found) or abs(number) > FARTHEST or abs(found) > np.finfo(np.float32).max:
        raise InputError(f"--point {shown(whole)}: {column.name} must be a number; got {shown(text.strip())}")
    return found


# ---- `PointSet`: the points of a playground with all their facts. The data of a run carries it (`Data.about`), so
# that everything on screen belongs to one data set at every moment of every branch.


MOST_DRAWN = 2000
"""The most points that a picture draws; training uses all of them."""
CLASSES = ("\N{MINUS SIGN}1", "1")
"""The classes of generated points."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """The origin of points: the flags that make them again."""

    data: str  # the name of a data set, or of a file
    noise: float
    split: float  # the training share
    seed: int  # of the points and of their order
    added: tuple[str, ...] = ()  # added training points, as `written` makes them; they come after the others
    without: tuple[int, ...] = ()  # numbers of removed training points, in the original order
    foreign: int = 0  # points from Python, which no flag can make again
    own: OwnPoints | None = field(default=None, compare=False)  # the table of the points
    columns: tuple[str, ...] = ()  # the chosen columns of the table


@dataclass(frozen=True, slots=True, eq=False)
class PointSet:
    """Points with their targets, training points first."""

    recipe: Recipe
    inputs: Array  # (N, 2)
    targets: Array  # (N,): -1 and 1; class numbers for more than two classes; or numbers
    learnt: int  # the number of training points; the others are held-out
    sort: TargetKind  # the kind of target
    units: Units  # names and original units of the numbers

    def points_in(self, data: Data | None) -> PointSet:
        """The points in the data of a moment; data from Python gets the units of these points."""
        if data is None:
            return self
        if not isinstance(data.about, PointSet):
            inputs, targets = data[:2].T.astype(np.float64), data[2].astype(np.float64)
            recipe = replace(self.recipe, foreign=len(inputs), added=(), without=())
            data.about = PointSet(recipe, inputs, targets, len(inputs), self.sort, self.units)
        return data.about

    @property
    def train(self) -> tuple[Array, Array]:
        """Inputs (n, 2) and targets (n, 1) of the training points."""
        return self.inputs[: self.learnt], self.targets[: self.learnt, None]

    @property
    def test(self) -> tuple[Array, Array]:
        """Inputs and targets of the held-out points, which may be none."""
        return self.inputs[self.learnt :], self.targets[self.learnt :, None]

    @property
    def held_out(self) -> NDArray[np.bool_]:
        """Which points are held-out, shape (N,)."""
        return np.arange(len(self.inputs)) >= self.learnt

    def drawn(self) -> NDArray[np.intp]:
        """The numbers of the points to draw: all, or the first of the training and of the held-out points."""
        count = len(self.inputs)
        if count <= MOST_DRAWN:
            return np.arange(count)
        first = max(1, round(MOST_DRAWN * self.learnt / count))
        return np.concatenate([np.arange(first), self.learnt + np.arange(MOST_DRAWN - first)])

    @property
    def _made(self) -> NDArray[np.intp]:
        """The original numbers of the training points that were neither added nor removed."""
        made = self.learnt - len(self.recipe.added)
        numbers = np.arange(made + len(self.recipe.without))
        return np.setdiff1d(numbers, self.recipe.without)[:made]

    def with_point(self, at: tuple[float, float], target: float) -> PointSet:
        """The set with one more training point, after the others, at a place that a flag can express."""
        x, y = map(float, at)
        return self._with(written((x, y), target, self.units, self.sort))

    def _with(self, text: str) -> PointSet:
        at, target = point_of(text, self.units, self.sort)
        k, recipe = self.learnt, replace(self.recipe, added=(*self.recipe.added, text))
        inputs, targets = np.insert(self.inputs, k, at, axis=0), np.insert(self.targets, k, target)
        return PointSet(recipe, inputs, targets, k + 1, self.sort, self.units)

    def without(self, index: int) -> PointSet:
        """The set without one training point."""
        added, made = self.recipe.added, self._made
        if index < len(made):
            recipe = replace(self.recipe, without=tuple(sorted((*self.recipe.without, int(made[index])))))
        else:
            k = index - len(made)
            recipe = replace(self.recipe, added=added[:k] + added[k + 1 :])
        inputs, targets = np.delete(self.inputs, index, axis=0), np.delete(self.targets, index)
        return PointSet(recipe, inputs, targets, self.learnt - 1, self.sort, self.units)


def points_for(recipe: Recipe) -> PointSet:
    """The points of a recipe, training points first.

    Raises
    ------
    InputError
        A point cannot be added or removed, or no training point would be left.
    """
    own = recipe.own
    if own is None:
        inputs, targets = points_of(recipe.data, recipe.noise, recipe.seed)
        sort, units = TargetKind(() if KINDS[recipe.data].number else CLASSES), PLAIN
    else:
        count = len(own.targets)
        order = rng.permute(np.arange(count), count, recipe.seed, ORDER)
        inputs, targets, sort, units = own.inputs[order], own.targets[order], own.sort, own.units
    learnt = min(max(1, round(recipe.split * len(inputs))), len(inputs) - 1)
    points = PointSet(replace(recipe, added=(), without=()), inputs, targets, learnt, sort, units)
    wrong = [number for number in recipe.without if number >= learnt]
    if wrong or learnt + len(recipe.added) - len(set(recipe.without)) < 1:
        what = f"there is no training point {wrong[0]}" if wrong else "no training point would be left"
        raise InputError(f"--without: {what}; allowed: points 0 to {learnt - 1}, but not all of them")
    for text in recipe.added:
        points = points._with(text)
    for number in sorted(set(recipe.without), reverse=True):
        points = points.without(number)
    return points
