"""What hands change of a playground, as edits: other points, other hidden layers, a feature on or off.

They are resolved when it is their turn, between two steps, for the network of then: two that come quickly after each
other do not take each other back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from scalarviz.errors import InputError
from scalarviz.io import CsvTable
from scalarviz.run.edits import AddSamples, Change, Edit, Refill, SetFrozen, Several
from scalarviz.run.edits.base import Hands, Names, numbered

from .net import FEATURES, PlayNet, net_of
from .points import Known, PointSet, Recipe, own_points, points_for


@dataclass(frozen=True, slots=True, eq=False)
class SwitchFeature(Edit):
    """A feature on or off. Off it is 0 and its weights are frozen; one that was never on has a column from now on.

    Attributes
    ----------
    feature : str
        Of :data:`._features.FEATURES`.
    on : bool or None
        None: the other of what it is.
    """

    feature: str
    on: bool | None = None

    def resolved(self, hands: Hands) -> Edit:
        """The network as a change, the other columns as they are."""
        net = net_of(hands)
        on, turned = net.shape.on, self.feature not in net.shape.on if self.on is None else self.on
        wanted = [name for name in FEATURES if (turned if name == self.feature else name in on)]
        if not wanted:
            raise InputError("the last feature stays on: without any the network would see nothing")
        new = net.with_features(wanted)
        flags = _keep_columns(net, new)
        said = SwitchFeature(self.feature, turned).words()
        return Several((Change(model=new), SetFrozen(0, flags.ravel())), said).resolved(hands)

    def words(self, name: Names = numbered) -> str:
        """``sin x on``."""
        return f"{FEATURES[self.feature].title} {'switched' if self.on is None else 'on' if self.on else 'off'}"


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


@dataclass(frozen=True, slots=True, eq=False)
class OtherPoints(Edit):
    """Other points to learn from, and where they need it another output of the network."""

    points: Any
    said: str

    def resolved(self, hands: Hands) -> Edit:
        """The data, and the change of the network where there is one."""
        net, points = net_of(hands), self.points
        assert isinstance(points, PointSet)
        refill = Refill(*points.train)
        inputs = len(points.units.inputs)
        fits = all(FEATURES[name].inputs <= inputs for name in net.shape.features)
        old, new = net.shape.sort, points.sort
        table = points.recipe.table
        if old.kind == new.kind and fits and net.shape.table == table:
            return Several((refill,), self.said).resolved(hands)
        model = net.with_sort(new, inputs, table)
        change = Change(model=model) if old.kind == new.kind else Change(model=model, loss=new.loss())
        first = new.outputs > 1 and (old.outputs == 1 or new.outputs <= old.outputs)  # what the loss can use at once
        return Several((refill, change) if first else (change, refill), self.said).resolved(hands)

    def words(self, name: Names = numbered) -> str:
        """What it was called."""
        return self.said

    def continues(self, earlier: Edit) -> bool:
        """Whether it leaves nothing of the points of before."""
        return isinstance(earlier, OtherPoints)


@dataclass(frozen=True, slots=True, eq=False)
class AddPoint(Edit):
    """One more point to learn from."""

    known: Known
    at: tuple[float, float]
    target: float

    def resolved(self, hands: Hands) -> Edit:
        """The sample that it is."""
        points = self.known.of(_data(hands), net_of(hands).shape.table)
        at = self.at if len(points.units.inputs) == 2 else (self.at[0], 0.0)
        more = self.known.add(points.with_point(at, self.target))
        inputs, targets = more.train
        return Several((AddSamples(inputs[-1:], targets[-1:]),), self.words())

    def words(self, name: Names = numbered) -> str:
        """``one point more``."""
        return "one point more"


@dataclass(frozen=True, slots=True, eq=False)
class RemovePoint(Edit):
    """Without one of the points that are learnt from: the one of that number, of those that were shown."""

    known: Known
    shown: PointSet
    index: int

    def resolved(self, hands: Hands) -> Edit:
        """The others, as other samples."""
        points = self.known.of(_data(hands), net_of(hands).shape.table)
        inputs, targets = points.train
        same = (inputs == self.shown.inputs[self.index]).all(axis=1) & (targets[:, 0] == self.shown.targets[self.index])
        found = np.flatnonzero(same)
        if not len(found) or len(inputs) == 1:
            raise InputError("this point is not learnt from any more, or it is the last one")
        index = self.index if self.index in found else int(found[0])
        fewer = self.known.add(points.without(index))
        return Several((Refill(*fewer.train),), self.words())

    def words(self, name: Names = numbered) -> str:
        """``one point less``."""
        return "one point less"


def _data(hands: Hands) -> Any:
    return hands.run._problem.data  # type: ignore[attr-defined]  # a scene's edits are for a Run


def table_edit(known: Known, table: CsvTable) -> Edit:
    """The edit that lets a playground learn a table.

    Raises
    ------
    InputError, FileFormatError
        It has other columns than are wanted, or nothing to be learnt.
    """
    recipe = known.first.recipe
    own = own_points(table)
    points = known.add(points_for(Recipe(table.what, 0.0, recipe.split, recipe.seed, own=own)))
    return OtherPoints(points, f"{len(own.targets):,} rows")
