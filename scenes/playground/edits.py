"""The edits of a playground: other points, other hidden layers, a feature on or off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from scalarviz.errors import InputError
from scalarviz.io import CsvTable
from scalarviz.run.edits import AddSamples, Change, Edit, Refill, SetFrozen, Several
from scalarviz.run.edits.base import Names, RunAccess, numbered

from .net import FEATURES, MOST_LAYERS, MOST_UNITS, PlayNet, net_of
from .points import PointSet, Recipe, own_points, points_for


@dataclass(frozen=True, slots=True, eq=False)
class InTurn(Edit):
    """An edit that is built when it is applied, between two steps, for the network of that moment.

    So two quick edits do not undo each other.
    """

    said: str
    make: Callable[[RunAccess], Several]
    anew: bool = False  # whether it replaces all points

    def resolved(self, access: RunAccess) -> Edit:
        """The edit for the run as it is now."""
        return self.make(access).resolved(access)

    def words(self, name: Names = numbered) -> str:
        """``sin x on``."""
        return self.said

    def continues(self, earlier: Edit) -> bool:
        """Whether both edits replace all points, so that this one replaces the earlier one."""
        return self.anew and isinstance(earlier, InTurn) and earlier.anew


@dataclass(frozen=True, slots=True, eq=False)
class Learn(Refill):
    """The edit to other training points; `about` is the whole set."""

    about: PointSet


@dataclass(frozen=True, slots=True, eq=False)
class LearnToo(AddSamples):
    """The edit that adds a training point; `about` is the whole set."""

    about: PointSet


def set_hidden(hidden: tuple[int, ...]) -> InTurn:
    """The edit to other hidden layers: layers that still fit keep their weights, the others are re-initialised."""
    sizes = [min(units, MOST_UNITS) for units in hidden[:MOST_LAYERS]]
    said = f"hidden layers {', '.join(map(str, hidden))}" if hidden else "no hidden layer"
    return InTurn(said, lambda access: Several((Change(model=net_of(access).with_hidden(sizes)),), said))


def switch_feature(feature: str, on: bool | None = None) -> InTurn:
    """The edit that switches a feature on or off; None: the opposite of its state.

    A feature that is off is 0, and its weights are frozen. A new feature gets a column of weights.
    """
    title = FEATURES[feature].title

    def make(access: RunAccess) -> Several:
        net = net_of(access)
        before = net.shape.on
        turned = feature not in before if on is None else on
        wanted = [name for name in FEATURES if (turned if name == feature else name in before)]
        if not wanted:
            raise InputError("the last feature cannot be switched off; the network needs one input")
        new = net.with_features(wanted)
        frozen = SetFrozen(0, _keep_columns(net, new).ravel())
        return Several((Change(model=new), frozen), f"{title} {'on' if turned else 'off'}")

    return InTurn(f"{title} {'switched' if on is None else 'on' if on else 'off'}", make)


def _keep_columns(old: PlayNet, new: PlayNet) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Copy the columns of the old first layer into the new one; returns which new weights are frozen."""
    before, names, off = old.shape.features, new.shape.features, new.shape.off
    weight = np.array(new[1].weight.data)
    frozen = np.zeros(weight.shape, bool)
    flags = np.asarray(old[1].weight.frozen_flags, bool).reshape(old[1].weight.shape)
    for k, name in enumerate(names):
        if name in before:
            weight[:, k] = np.asarray(old[1].weight.data)[:, before.index(name)]
            was_off = name in old.shape.off
            frozen[:, k] = flags[:, before.index(name)] & (not was_off)
        frozen[:, k] |= name in off
    new[1].weight.data = weight
    new[1].bias.data = np.array(old[1].bias.data)
    return frozen


def other_points(points: PointSet, said: str) -> InTurn:
    """The edit to other points, and to another output layer if they need one."""

    def make(access: RunAccess) -> Several:
        net, refill, inputs = net_of(access), Learn(*points.train, points), len(points.units.inputs)
        fits = all(FEATURES[name].inputs <= inputs for name in net.shape.features)
        old, new = net.shape.sort, points.sort
        if old.kind == new.kind and fits:
            return Several((refill,), said)
        model = net.with_sort(new, inputs)
        change = Change(model=model) if old.kind == new.kind else Change(model=model, loss=new.loss())
        first = new.outputs > 1 and (old.outputs == 1 or new.outputs <= old.outputs)  # what the loss can use at once
        return Several((refill, change) if first else (change, refill), said)

    return InTurn(said, make, anew=True)


def add_point(first: PointSet, at: tuple[float, float], target: float) -> InTurn:
    """The edit that adds a training point."""

    def make(access: RunAccess) -> Several:
        points = _points(first, access)
        more = points.with_point(at if len(points.units.inputs) == 2 else (at[0], 0.0), target)
        inputs, targets = more.train
        return Several((LearnToo(inputs[-1:], targets[-1:], more),), "add a point")

    return InTurn("add a point", make)


def remove_point(shown: PointSet, index: int) -> InTurn:
    """The edit that removes a training point, by its number in the shown points."""

    def make(access: RunAccess) -> Several:
        points = _points(shown, access)
        inputs, targets = points.train
        same = (inputs == shown.inputs[index]).all(axis=1) & (targets[:, 0] == shown.targets[index])
        found = np.flatnonzero(same)
        if not len(found) or len(inputs) == 1:
            raise InputError("only training points can be removed, and the last one has to stay")
        fewer = points.without(index if index in found else int(found[0]))
        return Several((Learn(*fewer.train, fewer),), "remove a point")

    return InTurn("remove a point", make)


def _points(first: PointSet, access: RunAccess) -> PointSet:
    """The points of the run that gets the edit."""
    return first.points_in(access.run._problem.data)


def table_edit(first: PointSet, table: CsvTable) -> Edit:
    """The edit that makes a playground learn a table.

    Raises
    ------
    InputError, FileFormatError
        The table has unsuitable columns, or nothing to learn.
    """
    recipe, own = first.recipe, own_points(table)
    points = points_for(Recipe(table.what, 0.0, recipe.split, recipe.seed, own=own))
    return other_points(points, f"{len(own.targets):,} rows")
