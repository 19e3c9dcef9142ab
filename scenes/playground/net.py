"""The networks of the scene `playground`: features, hidden layers, an output of the sort that the points need."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import scalarviz as sv
from scalarviz import nn
from scalarviz.errors import InputError
from scalarviz.run.core.frame import Frame
from scalarviz.run.edits.base import Hands
from scalarviz.run.edits.change import ACTIVATIONS

# ---- `Features`: what a network of the scene `playground` gets of a point, computed inside of it.


@dataclass(frozen=True, slots=True)
class Feature:
    """A function of a point: how it is called, how it is written, how many of its two numbers it takes."""

    name: str
    title: str
    inputs: int
    formula: Callable[..., Any]  # of a sine and the numbers, which are Values or arrays

    def of(self, row: Sequence[Any]) -> Any:
        """Of one point."""
        return self.formula(sv.sin, *row[:2])

    def at(self, points: NDArray[np.floating]) -> NDArray[np.float64]:
        """Of points (N, 2) at once, shape (N,)."""
        found: NDArray[np.float64] = self.formula(np.sin, *np.asarray(points, np.float64).T)
        return found


FEATURES = {
    feature.name: feature
    for feature in (
        Feature("x", "x", 1, lambda sin, x, y=None: x),
        Feature("y", "y", 2, lambda sin, x, y: y),
        Feature("x2", "x\N{SUPERSCRIPT TWO}", 1, lambda sin, x, y=None: x * x),
        Feature("y2", "y\N{SUPERSCRIPT TWO}", 2, lambda sin, x, y: y * y),
        Feature("xy", "x\N{MIDDLE DOT}y", 2, lambda sin, x, y: x * y),
        Feature("sinx", "sin x", 1, lambda sin, x, y=None: sin(x)),
        Feature("siny", "sin y", 2, lambda sin, x, y: sin(y)),
    )
}
"""All there are, in the order in which a network gets them."""


class Features(nn.Module):
    """The features of a point, one number each; one that is switched off is 0.

    Parameters
    ----------
    names : sequence of str
        Of :data:`FEATURES`; the network has a column of weights for each.
    off : collection of str
        Those of them that are switched off.
    """

    stage = "features"

    def __init__(self, names: Sequence[str], off: Sequence[str] = ()) -> None:
        super().__init__()
        self.names = tuple(names)
        self.off = frozenset(off)

    def forward(self, row: Any) -> Any:
        """The features of one point, a list of Values."""
        made = [sv.Value(0.0) if name in self.off else FEATURES[name].of(row) for name in self.names]
        given = list(row)
        if len(made) < len(given) and all(any(value is number for number in given) for value in made):
            made = [value * 1.0 for value in made]  # what only selects is no stage of its own
        return made


# ---- `Sort`: what a network of the scene `playground` is to find at a point: one of two classes, of several, a number.


@dataclass(frozen=True, slots=True)
class Sort:
    """What is to be found at a point: one of these classes; none: a number."""

    classes: tuple[str, ...] = ()

    @property
    def outputs(self) -> int:
        """Numbers that the network gives: one; of more than two classes one each."""
        return len(self.classes) if len(self.classes) > 2 else 1

    @property
    def kind(self) -> int:
        """0 for numbers, else the number of classes: networks for one kind are alike, whatever the classes' names."""
        return len(self.classes)

    def loss(self) -> Callable[..., Any]:
        """Half of the squared error; of more than two classes the cross-entropy of the softmax."""
        return nn.CrossEntropyLoss() if self.outputs > 1 else nn.MSELoss(factor=0.5)

    def right(self, outputs: NDArray[Any], targets: NDArray[Any]) -> NDArray[np.bool_] | None:
        """Whether each sample is told rightly, of outputs (N, n) and targets (N, 1); None of numbers."""
        if not self.classes:
            return None
        if self.outputs > 1:
            return np.asarray(outputs.argmax(axis=1) == targets[:, 0])
        return np.asarray((outputs[:, 0] > 0) == (targets[:, 0] > 0))


# ---- `PlayNet`: the networks of the playground: features, hidden layers, an output of the sort the points need.


BETWEEN = ("tanh", "relu", "sigmoid", "identity")
"""Activations of the hidden layers."""
SPREAD, BIAS = 0.5, 0.1
"""Weights begin within the first of 0, biases at the second: in every layer, as in the best-known one."""
MOST_LAYERS, MOST_UNITS = 6, 64


@dataclass(frozen=True, slots=True)
class Shape:
    """What a network of the playground is made of."""

    features: tuple[str, ...]  # what it gets of a point, by the names of `FEATURES`: a column of weights each
    hidden: tuple[int, ...]
    activation: str  # one of `BETWEEN`, behind each hidden layer
    sort: Sort
    seed: int  # draws its weights: those of a layer of one place and shape are always the same
    off: frozenset[str] = frozenset()  # features that are 0

    @property
    def on(self) -> tuple[str, ...]:
        """Features that are not 0."""
        return tuple(name for name in self.features if name not in self.off)


class PlayNet(nn.Sequential):
    """A network of a shape, its weights drawn."""

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
        spread = nn.init.uniform(-SPREAD, SPREAD)
        title = f"{spread}, biases {BIAS:g}"
        start = replace(spread, bias=lambda shape, *_: np.full(shape, BIAS), title=title)
        self.initialize(start, seed=shape.seed)
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

    def with_sort(self, sort: Sort, inputs: int) -> PlayNet:
        """The same for other points: with another output, and of one input with its features alone."""
        shape = self.shape
        fits = tuple(name for name in shape.features if FEATURES[name].inputs <= inputs) or ("x",)
        return PlayNet(replace(shape, sort=sort, features=fits, off=shape.off.intersection(fits)))

    def with_features(self, on: Collection[str]) -> PlayNet:
        """The same with these features: a new one has a column more, one that is left out is 0."""
        shape = self.shape
        names = tuple(name for name in FEATURES if name in on or name in shape.features)
        return PlayNet(replace(shape, features=names, off=frozenset(names).difference(on)))


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
    stages = frame.forward.stages
    layers = [k for k, stage in enumerate(stages) if stage.weight is not None]
    if len(layers) < 2:
        return net.shape
    between = [stage.kind for stage in stages[layers[0] + 1 : layers[1]]]  # behind the first hidden layer
    return replace(net.shape, activation=between[0] if between else "identity")
