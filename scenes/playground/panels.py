"""What stands beside the cubes of a playground: the plane with its points, and the loss of those held back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from scalarviz.errors import InputError
from scalarviz.run import Moment
from scalarviz.run.edits import Edit
from scalarviz.run.panels import (
    Axis,
    CurveFit,
    Features,
    HeldBack,
    LossCurve,
    NeuronMaps,
    Panel,
    PlaneMap,
    PointEdits,
    Points,
)

from .edits import add_point, remove_point, set_hidden, switch_feature
from .net import FEATURES, MOST_LAYERS, MOST_UNITS, Sort, shape_of
from .points import Column, Known, PointSet, Units

UP, ACROSS = 9, 24
"""Characters of a column's name beside the plane, which it makes narrower, and below it."""


def panels_of(known: Known, hand: Hand, batch: int) -> tuple[Panel, ...]:
    """The panels of a scene with these points; axes, colours and words are those of the points of each moment."""
    kinds = _Kinds(known, hand)
    flat, neuron_maps, switches = kinds.of(known.first)
    return flat, _Curves(held_back(known)).of(batch), neuron_maps, switches


class _Curves:
    """Loss curves, one for each size of a batch that there was: the label says it of every moment."""

    def __init__(self, test: HeldBack) -> None:
        self._test = test
        self._made: dict[int, LossCurve] = {}

    def of(self, batch: int) -> LossCurve:
        """The curve of steps of so many points."""
        if batch not in self._made:
            label = f"{batch:,} points a step" if batch > 1 else "one point a step"
            now = partial(self._at, before=batch)
            self._made[batch] = LossCurve(label, self._test, at=now)
        return self._made[batch]

    def _at(self, moment: Moment, *, before: int) -> LossCurve:
        settings = moment.frame.settings
        return self.of(before if settings is None else settings.batch_size)


class _Kinds:
    """Panels for points of every sort that was there, each made once."""

    def __init__(self, known: Known, hand: Hand) -> None:
        self._known, self._hand = known, hand
        self._made: dict[tuple[Units, Sort], tuple[Panel, ...]] = {}

    def of(self, points: PointSet) -> tuple[Panel, ...]:
        """Plane, maps of neurons, features."""
        key = points.units, points.sort
        if key not in self._made:
            across, up = axes_of(points)
            self._made[key] = (
                self._map(points, at=lambda moment: self._at(moment, 0)),
                neurons(across, up, at=lambda moment: self._at(moment, 1)),
                features(points, across, up, at=lambda moment: self._at(moment, 2)),
            )
        return self._made[key]

    def _map(self, points: PointSet, *, at: Callable[[Moment], Panel]) -> Panel:
        if len(points.units.inputs) == 2:
            return plane(points, self._hand, at=at)
        return curve(points, self._hand, at=at)

    def _at(self, moment: Moment, number: int) -> Panel:
        return self.of(self._known.at(moment.frame))[number]


def axes_of(points: PointSet) -> tuple[Axis, Axis]:
    """The two directions of the plane."""
    across, *rest = points.units.inputs
    up = rest[0] if rest else Column("", -1.0, 1.0)
    if points.recipe.own is not None and rest:  # the features of a table are called x, y, x2 ... too
        across = replace(across, name=_as_feature(across.name, "x", ACROSS))
        up = replace(up, name=_as_feature(up.name, "y", UP))
    return _axis(across), _axis(up)


def _as_feature(name: str, letter: str, most: int) -> str:
    """``length (x)``; a column that is called x itself is not said twice."""
    return name if name == letter else f"{_cut(name, most)} ({letter})"


def _cut(name: str, most: int) -> str:
    return name if len(name) <= most else f"{name[: most - 1].rstrip()}\N{HORIZONTAL ELLIPSIS}"


def plane(points: PointSet, hand: Hand, *, at: Callable[[Moment], Panel]) -> PlaneMap:
    """The output over the plane of the two numbers of a point, with the points."""
    target, classes = points.units.target, points.sort.classes
    says = classes if len(classes) == 2 else tuple(f"{number:.3g}" for number in target.shown)
    return PlaneMap(
        "output over the plane",
        *axes_of(points),
        span=(target.least, target.most),
        says=(says[0], says[-1]),
        points=hand.points,
        classes=classes if len(classes) > 2 else (),
        edits=PointEdits(hand.add, hand.remove, hand.adds),
        at=at,
    )


def curve(points: PointSet, hand: Hand, *, at: Callable[[Moment], Panel]) -> CurveFit:
    """What is to be found over the one input that there is."""
    (across,), up = points.units.inputs, points.units.target
    edits = PointEdits(hand.put, hand.remove)
    return CurveFit("", _axis(across), _axis(up), with_nothing, hand.points, edits, at=at)


def with_nothing(numbers: NDArray[np.floating]) -> NDArray[np.floating]:
    """Points of one input, (N, 2)."""
    return np.stack([numbers, np.zeros_like(numbers)], axis=1)


def _axis(column: Column) -> Axis:
    return Axis(column.name, column.least, column.most, column.shown)


class Hand:
    """Adds points to what is learnt from and takes them away.

    Parameters
    ----------
    known : Known

    Attributes
    ----------
    chosen : int
        Which of :meth:`words` the next point will be.
    """

    def __init__(self, known: Known) -> None:
        self._known = known
        self._shown = known.first
        self.chosen = -1

    def words(self, points: PointSet) -> tuple[str, ...]:
        """What a point can be: a class, or the least or largest number."""
        return points.sort.classes or tuple(f"{number:.3g}" for number in points.units.target.shown)

    def target(self, points: PointSet) -> float:
        """What the next point will be."""
        kind = points.sort.kind
        if kind > 2:
            return float(self.chosen % kind)
        low, high = (-1.0, 1.0) if kind else (points.units.target.least, points.units.target.most)
        return (low, high)[self.chosen % 2]

    def points(self, moment: Moment) -> Points:
        """Those that are drawn of a moment."""
        points = self._shown = self._known.at(moment.frame)
        some = points.drawn()
        return Points(points.inputs[some], points.targets[some], points.held_back[some])

    def adds(self) -> str:
        """What it will be, and where another kind is chosen."""
        words = self.words(self._shown)
        return f"{words[self.chosen % len(words)]}; P: others"

    def add(self, at: tuple[float, float]) -> Edit:
        """One more there."""
        return add_point(self._known, at, self.target(self._shown))

    def put(self, at: tuple[float, float]) -> Edit:
        """One more over the only input, with the second number to be found there."""
        return add_point(self._known, (at[0], 0.0), at[1])

    def remove(self, index: int) -> Edit | None:
        """Without one of those that are drawn; what is held back stays."""
        number = int(self._shown.drawn()[index])
        return None if number >= self._shown.learnt else remove_point(self._known, self._shown, number)


def held_back(known: Known) -> HeldBack:
    """The second curve: of the points that belong to those of the moment."""
    return HeldBack(
        "test",
        lambda moment: known.at(moment.frame).test,
        lambda moment, outputs, targets: known.at(moment.frame).sort.right(outputs, targets),
    )


# ---- What stands among the cubes of a playground: a map of every neuron, and the features of a point with switches.


Float = NDArray[np.floating]


def neurons(across: Axis, up: Axis, *, at: Callable[[Moment], Panel] | None = None) -> NeuronMaps:
    """A map beside every neuron; + and - for neurons and layers."""
    return NeuronMaps(across, up, change=other_layers, at=at)


def other_layers(hidden: tuple[int, ...]) -> Edit:
    """Hidden layers of so many units each.

    Raises
    ------
    InputError
        More than there may be.
    """
    if len(hidden) > MOST_LAYERS or any(units > MOST_UNITS for units in hidden):
        raise InputError(f"at most {MOST_LAYERS} hidden layers of at most {MOST_UNITS} neurons")
    return set_hidden(hidden)


def features(points: PointSet, across: Axis, up: Axis, *, at: Callable[[Moment], Panel] | None = None) -> Features:
    """The features of a point, those that it has."""
    count = len(points.units.inputs)
    switches = _Switches(tuple(name for name, feature in FEATURES.items() if feature.inputs <= count))
    titles = tuple(FEATURES[name].title for name in switches.names)
    return Features(titles, across, up, switches.values, switches.on, switches.rows, switches.change, at=at)


class _Switches:
    """Which features are on, and what switches one.

    Attributes
    ----------
    names : tuple of str
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self._on = frozenset[str]()

    def values(self, points: Float) -> Float:
        """Each of them at points of the plane."""
        return np.stack([FEATURES[name].at(points) for name in self.names], axis=1)

    def on(self, moment: Moment) -> list[bool]:
        """Those that the network of a moment gets."""
        shape = shape_of(moment.frame)
        self._on = frozenset(shape.on if shape is not None else ())
        return [name in self._on for name in self.names]

    def rows(self, moment: Moment) -> list[int | None]:
        """Their columns of weights."""
        shape = shape_of(moment.frame)
        found = shape.features if shape is not None else ()
        return [found.index(name) if name in found else None for name in self.names]

    def change(self, title: str) -> Edit | None:
        """The feature of that title on, or off; the last one stays."""
        name = next(name for name in self.names if FEATURES[name].title == title)
        return None if self._on == {name} else switch_feature(name)
