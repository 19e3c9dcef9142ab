"""The networks of the scene `playground`: features, hidden layers, and an output for the kind of target."""

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
from scalarviz.run.edits.base import RunAccess
from scalarviz.run.edits.change import ACTIVATIONS

# ---- `Features`: the inputs that a network of the scene `playground` computes from a point.


@dataclass(frozen=True, slots=True)
class Feature:
    """A function of a point: its name, its title, and how many of the point's two numbers it uses."""

    name: str
    title: str
    inputs: int
    formula: Callable[..., Any]  # takes a sine function and the numbers, which are Values or arrays

    def of(self, row: Sequence[Any]) -> Any:
        """The feature of one point, as a Value."""
        return self.formula(sv.sin, *row[:2])

    def at(self, points: NDArray[np.floating]) -> NDArray[np.float64]:
        """The feature of points (N, 2), shape (N,)."""
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
"""All features, in the order of a network's inputs."""


class Features(nn.Module):
    """A layer that computes the features of a point, one number each; a feature that is off is 0.

    Parameters
    ----------
    names : sequence of str
        Names in :data:`FEATURES`; the network has a column of weights for each.
    off : collection of str
        The names that are switched off.
    """

    stage = "features"

    def __init__(self, names: Sequence[str], off: Sequence[str] = ()) -> None:
        super().__init__()
        self.names = tuple(names)
        self.off = frozenset(off)

    def forward(self, row: Any) -> Any:
        """The features of one point, a row."""
        made = [sv.Value(0.0) if name in self.off else FEATURES[name].of(row) for name in self.names]
        if len(made) < len(row) and all(any(value is number for number in row) for value in made):
            made = [value * 1.0 for value in made]  # a layer that only selects would not be drawn as a stage
        return made


# ---- `Sort`: the kind of target of a point: one of two classes, one of several, or a number.


@dataclass(frozen=True, slots=True)
class TargetKind:
    """The kind of target: one of these classes, or a number if there are none."""

    classes: tuple[str, ...] = ()

    @property
    def outputs(self) -> int:
        """The number of outputs of the network: one, or one per class for more than two classes."""
        return len(self.classes) if len(self.classes) > 2 else 1

    @property
    def kind(self) -> int:
        """The number of classes, 0 for numbers: targets of one kind need the same network."""
        return len(self.classes)

    def loss(self) -> Callable[..., Any]:
        """The loss: half the squared error; for more than two classes, the cross-entropy of the softmax."""
        return nn.CrossEntropyLoss() if self.outputs > 1 else nn.MSELoss(factor=0.5)

    def are_right(self, outputs: NDArray[Any], targets: NDArray[Any]) -> NDArray[np.bool_] | None:
        """Whether each sample is classified correctly, for outputs (N, n) and targets (N, 1); None for numbers."""
        if not self.classes:
            return None
        if self.outputs > 1:
            return np.asarray(outputs.argmax(axis=1) == targets[:, 0])
        return np.asarray((outputs[:, 0] > 0) == (targets[:, 0] > 0))


# ---- `PlayNet`: a network of the playground.


BETWEEN = ("tanh", "relu", "sigmoid", "identity")
"""Activations of the hidden layers."""
SPREAD, BIAS = 0.5, 0.1
"""First weights are within `SPREAD` of 0, first biases are `BIAS`, as in the TensorFlow Playground."""
MOST_LAYERS, MOST_UNITS = 6, 64


@dataclass(frozen=True, slots=True)
class Shape:
    """The architecture of a network of the playground."""

    features: tuple[str, ...]  # names in `FEATURES`; each has a column of weights
    hidden: tuple[int, ...]
    activation: str  # one of `BETWEEN`, after each hidden layer
    sort: TargetKind
    seed: int  # of the first weights; layers with the same place and shape always get the same ones
    off: frozenset[str] = frozenset()  # features that are switched off, and 0

    @property
    def on(self) -> tuple[str, ...]:
        """The features that are switched on."""
        return tuple(name for name in self.features if name not in self.off)


class PlayNet(nn.Sequential):
    """A network of this shape, with its first weights."""

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
        """The present shape; an edit may have replaced the activation."""
        if not self._shape.hidden:
            return self._shape
        kind = type(self[2])
        name = next((name for name, its in ACTIVATIONS.items() if its is kind), self._shape.activation)
        return replace(self._shape, activation=name)

    def with_hidden(self, hidden: Sequence[int]) -> PlayNet:
        """A network with other hidden layers and first weights."""
        return PlayNet(replace(self.shape, hidden=tuple(hidden)))

    def with_sort(self, sort: TargetKind, inputs: int) -> PlayNet:
        """A network for other points: another output, and only features that this number of inputs allows."""
        shape = self.shape
        fits = tuple(name for name in shape.features if FEATURES[name].inputs <= inputs) or ("x",)
        return PlayNet(replace(shape, sort=sort, features=fits, off=shape.off.intersection(fits)))

    def with_features(self, on: Collection[str]) -> PlayNet:
        """A network with these features on: a new feature gets a column, a missing one becomes 0."""
        shape = self.shape
        names = tuple(name for name in FEATURES if name in on or name in shape.features)
        return PlayNet(replace(shape, features=names, off=frozenset(names).difference(on)))


def net_of(access: RunAccess) -> PlayNet:
    """The network of the run that gets the edit."""
    found: Any = getattr(getattr(access, "run", None), "model", None)
    if not isinstance(found, PlayNet):
        raise InputError("this edit works only in the scene playground")
    return found


def shape_of(frame: Frame) -> Shape | None:
    """The shape of the network of a frame; the run may have another one now."""
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
