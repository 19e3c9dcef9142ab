"""`PlayNet`: the networks of the scene `playground`: features, hidden layers, an output of the sort the points need."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from scalarviz import nn
from scalarviz.errors import InputError
from scalarviz.run.core.frame import Frame, Stage
from scalarviz.run.edits import Change, Edit, Several
from scalarviz.run.edits.base import Hands, Names, numbered
from scalarviz.run.edits.change import ACTIVATIONS

from ._features import FEATURES, Features
from ._sort import Sort

BETWEEN = ("tanh", "relu", "sigmoid", "identity")
"""Activations of the hidden layers."""
SPREAD, BIAS = 0.5, 0.1
"""Weights begin within the first of 0, biases at the second: in every layer, as in the best-known one."""
MOST_LAYERS, MOST_UNITS = 6, 64


@dataclass(frozen=True, slots=True)
class Shape:
    """What a network of the playground is made of.

    Attributes
    ----------
    features : tuple of str
        What it gets of a point, by the names of :data:`._features.FEATURES`: a column of weights each.
    hidden : tuple of int
    activation : str
        One of :data:`BETWEEN`, behind each hidden layer.
    sort : Sort
    seed : int
        Draws its weights: those of a layer of one place and shape are always the same.
    off : frozenset of str
        Features that are 0.
    table : str
        Which table it learns from (:attr:`._own_points.OwnPoints.identity`); empty for points that are made. Of two
        tables with the same numbers only this says whose names are shown, at every moment of every branch.
    """

    features: tuple[str, ...]
    hidden: tuple[int, ...]
    activation: str
    sort: Sort
    seed: int
    off: frozenset[str] = frozenset()
    table: str = ""

    @property
    def on(self) -> tuple[str, ...]:
        """Features that are not 0."""
        return tuple(name for name in self.features if name not in self.off)


class PlayNet(nn.Sequential):
    """A network of a shape, its weights drawn.

    Parameters
    ----------
    shape : Shape
    """

    def __init__(self, shape: Shape) -> None:
        layers: list[nn.Module] = [Features(shape.features, tuple(shape.off))]
        before = len(shape.features)
        for units in shape.hidden:
            layers += [nn.Linear(before, units), ACTIVATIONS[shape.activation]()]
            before = units
        layers.append(nn.Linear(before, shape.sort.outputs))
        if len(shape.sort.classes) == 2:
            layers.append(nn.Tanh())
        super().__init__(*layers)
        self.initialize(_start(), seed=shape.seed)
        self._shape = shape

    @property
    def shape(self) -> Shape:
        """Its shape now: another activation may have been put in since."""
        if not self._shape.hidden:
            return self._shape
        kind = type(self[2])
        name = next((name for name, its in ACTIVATIONS.items() if its is kind), self._shape.activation)
        return replace(self._shape, activation=name)

    def with_hidden(self, hidden: Sequence[int]) -> PlayNet:
        """The network with other hidden layers, as it would begin."""
        return PlayNet(replace(self.shape, hidden=tuple(hidden)))

    def with_sort(self, sort: Sort, inputs: int = 2, table: str = "") -> PlayNet:
        """The same for other points: with another output, and of one input with its features alone."""
        shape = self.shape
        fits = tuple(name for name in shape.features if FEATURES[name].inputs <= inputs) or ("x",)
        return PlayNet(replace(shape, sort=sort, features=fits, off=shape.off.intersection(fits), table=table))

    def with_features(self, on: Collection[str]) -> PlayNet:
        """The same with these features: a new one has a column more, one that is left out is 0."""
        shape = self.shape
        names = tuple(name for name in FEATURES if name in on or name in shape.features)
        return PlayNet(replace(shape, features=names, off=frozenset(names).difference(on)))


def _start() -> nn.init.Initializer:
    """How weights begin, and biases."""
    spread = nn.init.uniform(-SPREAD, SPREAD)
    return replace(spread, bias=lambda shape, *_: np.full(shape, BIAS), title=f"{spread}, biases {BIAS:g}")


def net_of(hands: Hands) -> PlayNet:
    """The network of the run that an edit is resolved for."""
    found: Any = getattr(getattr(hands, "run", None), "model", None)
    if not isinstance(found, PlayNet):
        raise InputError("this edit is for the network of the scene playground")
    return found


def shape_of(frame: Frame) -> Shape | None:
    """The shape of the network of a frame, which may be another one than that of now."""
    if frame.forward is None:
        return None
    net = next((module for module, _ in frame.forward.tape.taps if isinstance(module, PlayNet)), None)
    if net is None:
        return None
    return replace(net.shape, activation=_between(frame.forward.stages) or net.shape.activation)


def _between(stages: Sequence[Stage]) -> str:
    """The activation behind the first hidden layer; empty where there is none to be seen."""
    layers = [k for k, stage in enumerate(stages) if stage.weight is not None]
    if len(layers) < 2:
        return ""
    kinds = [stage.kind for stage in stages[layers[0] + 1 : layers[1]]]
    return kinds[0] if kinds else "identity"


@dataclass(frozen=True, slots=True, eq=False)
class SetHidden(Edit):
    """Other hidden layers: those that still fit go on, the others begin as they would have begun."""

    hidden: tuple[int, ...]

    def resolved(self, hands: Hands) -> Edit:
        """The network as a change."""
        sizes = [min(units, MOST_UNITS) for units in self.hidden[:MOST_LAYERS]]
        return Several((Change(model=net_of(hands).with_hidden(sizes)),), self.words()).resolved(hands)

    def words(self, name: Names = numbered) -> str:
        """``hidden layers 4, 2``."""
        return f"hidden layers {', '.join(map(str, self.hidden))}" if self.hidden else "no hidden layer"
