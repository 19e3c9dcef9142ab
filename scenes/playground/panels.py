"""The panels of a playground: the plane with its points, maps of neurons, features, and the loss.

Axes, colours and words follow the points of each moment. Each kind of points has its own panels, made once.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from scalarviz.errors import InputError
from scalarviz.run import Moment
from scalarviz.run.edits import Edit
from scalarviz.run.panels import (
    Axis,
    CurveFit,
    Features,
    HeldOut,
    LossCurve,
    NeuronMaps,
    Panel,
    PlaneMap,
    PointEdits,
    Points,
)

from .. import kit
from .edits import add_point, remove_point, set_hidden, switch_feature
from .net import FEATURES, MOST_LAYERS, MOST_UNITS, TargetKind, shape_of
from .points import Column, PointSet, Units

UP, ACROSS = 9, 24
"""The most characters of a column's name beside the plane and below it."""


def panels_of(first: PointSet, hand: Hand, batch: int) -> tuple[Panel, ...]:
    """The panels of a scene with these points."""
    test = held_out(first)

    @cache
    def loss(batch: int) -> LossCurve:
        def now(moment: Moment) -> LossCurve:
            settings = moment.frame.settings
            return loss(batch if settings is None else settings.batch_size)

        return LossCurve(f"{batch:,} points a step" if batch > 1 else "one point a step", test, at=now)

    @cache
    def others(units: Units, sort: TargetKind, own: bool) -> tuple[Panel, ...]:
        def at(moment: Moment, number: int) -> Panel:
            return of(first.points_in(moment.frame.data))[number]

        across, up = axes_of(units, own)
        names = [name for name, feature in FEATURES.items() if feature.inputs <= len(units.inputs)]
        flat = plane(across, up, units, sort, hand) if len(units.inputs) == 2 else curve(units, hand)
        return (
            replace(flat, at=partial(at, number=0)),
            NeuronMaps(across, up, change=other_layers, at=partial(at, number=1)),
            replace(switches(names, across, up), at=partial(at, number=2)),
        )

    def of(points: PointSet) -> tuple[Panel, ...]:
        return others(points.units, points.sort, points.recipe.own is not None)

    flat, neurons, features = of(first)
    return flat, loss(batch), neurons, features


def axes_of(units: Units, own: bool) -> tuple[Axis, Axis]:
    """The axes of the plane; the names of a table's columns add x or y, because features use these letters."""
    across, *rest = units.inputs
    up = rest[0] if rest else Column("", -1.0, 1.0)
    if own and rest:
        across, up = (
            column if column.name == letter else replace(column, name=f"{kit.short(column.name, most)} ({letter})")
            for column, letter, most in ((across, "x", ACROSS), (up, "y", UP))
        )
    return _axis(across), _axis(up)


def _axis(column: Column) -> Axis:
    return Axis(column.name, column.least, column.most, column.shown)


def plane(across: Axis, up: Axis, units: Units, sort: TargetKind, hand: Hand) -> PlaneMap:
    """The panel of the output over the plane, with the points."""
    target, classes = units.target, sort.classes
    says = classes if len(classes) == 2 else tuple(f"{number:.3g}" for number in target.shown)
    return PlaneMap(
        "output over the plane",
        across,
        up,
        span=(target.least, target.most),
        says=(says[0], says[-1]),
        points=hand.points,
        classes=classes if len(classes) > 2 else (),
        edits=PointEdits(hand.add, hand.remove, hand.adds),
    )


def curve(units: Units, hand: Hand) -> CurveFit:
    """The panel of the output over the only input, with the points."""
    edits = PointEdits(hand.put, hand.remove)
    return CurveFit("", _axis(units.inputs[0]), _axis(units.target), with_nothing, hand.points, edits)


def with_nothing(numbers: NDArray[np.floating]) -> NDArray[np.floating]:
    """Points (N, 2) from their only input; the second number is 0."""
    return np.stack([numbers, np.zeros_like(numbers)], axis=1)


def held_out(first: PointSet) -> HeldOut:
    """The curve of the held-out points of the moment."""
    return HeldOut(
        "test",
        lambda moment: first.points_in(moment.frame.data).test,
        lambda moment, outputs, targets: first.points_in(moment.frame.data).sort.are_right(outputs, targets),
    )


def other_layers(hidden: tuple[int, ...]) -> Edit:
    """The edit to hidden layers with these numbers of units, for + and - beside the neurons.

    Raises
    ------
    InputError
        There would be too many layers or units.
    """
    if len(hidden) > MOST_LAYERS or any(units > MOST_UNITS for units in hidden):
        raise InputError(f"allowed: at most {MOST_LAYERS} hidden layers of at most {MOST_UNITS} neurons")
    return set_hidden(hidden)


def switches(names: list[str], across: Axis, up: Axis) -> Features:
    """The panel with a map and a switch for each of these features."""
    titles = tuple(FEATURES[name].title for name in names)
    on = frozenset[str]()

    def values(points: NDArray[np.floating]) -> NDArray[np.floating]:
        return np.stack([FEATURES[name].at(points) for name in names], axis=1)

    def are_on(moment: Moment) -> list[bool]:
        nonlocal on
        shape = shape_of(moment.frame)
        on = frozenset(shape.on if shape is not None else ())
        return [name in on for name in names]

    def rows(moment: Moment) -> list[int | None]:
        shape = shape_of(moment.frame)
        found = shape.features if shape is not None else ()
        return [found.index(name) if name in found else None for name in names]

    def change(title: str) -> Edit | None:
        name = names[titles.index(title)]
        return None if on == {name} else switch_feature(name)  # the last one stays

    return Features(titles, across, up, values, are_on, rows, change)


class Hand:
    """Adds and removes training points; the next point becomes `chosen` of `words`."""

    def __init__(self, first: PointSet) -> None:
        self._first = self._shown = first
        self.chosen = -1

    def words(self, points: PointSet) -> tuple[str, ...]:
        """The choices for a new point: the classes, or the least and the largest number."""
        return points.sort.classes or tuple(f"{number:.3g}" for number in points.units.target.shown)

    def target(self, points: PointSet) -> float:
        """The target of the next point."""
        kind = points.sort.kind
        if kind > 2:
            return float(self.chosen % kind)
        low, high = (-1.0, 1.0) if kind else (points.units.target.least, points.units.target.most)
        return (low, high)[self.chosen % 2]

    def points(self, moment: Moment) -> Points:
        """The points to draw at a moment."""
        points = self._shown = self._first.points_in(moment.frame.data)
        some = points.drawn()
        return Points(points.inputs[some], points.targets[some], points.held_out[some])

    def adds(self) -> str:
        """The class of the next point, and the key that changes it."""
        words = self.words(self._shown)
        return f"{words[self.chosen % len(words)]}; P: others"

    def add(self, at: tuple[float, float]) -> Edit:
        """The edit that adds a point at a place."""
        return add_point(self._first, at, self.target(self._shown))

    def put(self, at: tuple[float, float]) -> Edit:
        """The edit that adds a point over the only input; the second number is its target."""
        return add_point(self._first, (at[0], 0.0), at[1])

    def remove(self, index: int) -> Edit | None:
        """The edit that removes a drawn point; None for a held-out one, which stays."""
        number = int(self._shown.drawn()[index])
        return None if number >= self._shown.learnt else remove_point(self._shown, number)
