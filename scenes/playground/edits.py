"""What hands change of a playground, as edits: other points, other hidden layers, a feature on or off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from scalarviz.errors import InputError
from scalarviz.io import CsvTable
from scalarviz.run.edits import AddSamples, Change, Edit, Refill, SetFrozen, Several
from scalarviz.run.edits.base import Hands, Names, numbered

from .net import FEATURES, MOST_LAYERS, MOST_UNITS, PlayNet, net_of
from .points import PointSet, Recipe, own_points, points_for


@dataclass(frozen=True, slots=True, eq=False)
class InTurn(Edit):
    """Edits that are made when it is their turn, between two steps, for the network of then.

    So two that come quickly after each other do not take each other back.
    """

    said: str
    make: Callable[[Hands], Several]
    anew: bool = False  # whether nothing is left of another one before it

    def resolved(self, hands: Hands) -> Edit:
        """What it is for a run as it is now."""
        return self.make(hands).resolved(hands)

    def words(self, name: Names = numbered) -> str:
        """``sin x on``."""
        return self.said

    def continues(self, earlier: Edit) -> bool:
        """Whether it leaves nothing of the points of before."""
        return self.anew and isinstance(earlier, InTurn) and earlier.anew


@dataclass(frozen=True, slots=True, eq=False)
class Learn(Refill):
    """Other points to learn from."""

    about: PointSet


@dataclass(frozen=True, slots=True, eq=False)
class LearnToo(AddSamples):
    """A point more; `about` is all of them."""

    about: PointSet


def set_hidden(hidden: tuple[int, ...]) -> InTurn:
    """Other hidden layers: those that still fit go on, the others begin as they would have begun."""
    sizes = [min(units, MOST_UNITS) for units in hidden[:MOST_LAYERS]]
    said = f"hidden layers {', '.join(map(str, hidden))}" if hidden else "no hidden layer"
    return InTurn(said, lambda hands: Several((Change(model=net_of(hands).with_hidden(sizes)),), said))


def switch_feature(feature: str, on: bool | None = None) -> InTurn:
    """A feature on or off, or the other of what it is.

    Off it is 0 and its weights are frozen; one that was never on has a column from now on.
    """
    title = FEATURES[feature].title

    def make(hands: Hands) -> Several:
        net = net_of(hands)
        before = net.shape.on
        turned = feature not in before if on is None else on
        wanted = [name for name in FEATURES if (turned if name == feature else name in before)]
        if not wanted:
            raise InputError("the last feature stays on: the network needs one input")
        new = net.with_features(wanted)
        frozen = SetFrozen(0, _keep_columns(net, new).ravel())
        return Several((Change(model=new), frozen), f"{title} {'on' if turned else 'off'}")

    return InTurn(f"{title} {'switched' if on is None else 'on' if on else 'off'}", make)


def _keep_columns(old: PlayNet, new: PlayNet) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Give a network's first layer the columns of another; returns which of its weights are to be frozen."""
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
    """Other points to learn from, and where they need it another output of the network."""

    def make(hands: Hands) -> Several:
        net, refill, inputs = net_of(hands), Learn(*points.train, points), len(points.units.inputs)
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
    """One more point to learn from."""

    def make(hands: Hands) -> Several:
        points = _points(first, hands)
        more = points.with_point(at if len(points.units.inputs) == 2 else (at[0], 0.0), target)
        inputs, targets = more.train
        return Several((LearnToo(inputs[-1:], targets[-1:], more),), "add a point")

    return InTurn("add a point", make)


def remove_point(shown: PointSet, index: int) -> InTurn:
    """Without one of the points that are learnt from: the one of that number, of those that were shown."""

    def make(hands: Hands) -> Several:
        points = _points(shown, hands)
        inputs, targets = points.train
        same = (inputs == shown.inputs[index]).all(axis=1) & (targets[:, 0] == shown.targets[index])
        found = np.flatnonzero(same)
        if not len(found) or len(inputs) == 1:
            raise InputError("this point is no training point, or it is the last one")
        fewer = points.without(index if index in found else int(found[0]))
        return Several((Learn(*fewer.train, fewer),), "remove a point")

    return InTurn("remove a point", make)


def _points(first: PointSet, hands: Hands) -> PointSet:
    """Those of the run that an edit is resolved for."""
    return first.of(hands.run._problem.data)


def table_edit(first: PointSet, table: CsvTable) -> Edit:
    """The edit that lets a playground learn a table.

    Raises
    ------
    InputError, FileFormatError
        It has other columns than are wanted, or nothing to be learnt.
    """
    recipe, own = first.recipe, own_points(table)
    points = points_for(Recipe(table.what, 0.0, recipe.split, recipe.seed, own=own))
    return other_points(points, f"{len(own.targets):,} rows")
