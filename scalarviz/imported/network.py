"""`Imported`: a network that computes the graph of a file with layers of ours in it; the softmax at its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial, reduce
from math import prod
from typing import Any

import numpy as np

from ..errors import InputError, shown
from ..nn import Identity, Module, Sequential, Softmax
from ..nn._array import Values, as_objects, values
from ..onnx.graph import Array, Node
from ..scalar import tracing
from ..scalar.single import Single
from .facts import Way
from .lanes import Entry
from .operators.table import Tensors, compute


@dataclass(frozen=True, slots=True)
class LayerStep:
    """A layer at its path, from one tensor to another."""

    path: str
    way: Way
    reads: str
    writes: str


@dataclass(frozen=True)
class Steps:
    """What a network computes, by names alone: a layer that is replaced by another one is called in its place."""

    entrances: tuple[Entry, ...]
    steps: tuple[Node | LayerStep, ...]
    exits: tuple[tuple[str, int | None], ...]  # output tensors, each with the axis of the samples
    constants: Mapping[str, Array]
    weights: Mapping[str, tuple[str, bool]]  # by tensor: the path of a parameter, whether it is read transposed
    opset: int
    dtypes: Mapping[str, np.dtype[Any]] = field(default_factory=dict)  # of what nodes read


class Group(Module):
    """Parts of a network whose names begin alike."""


class Chain(Sequential):
    """Layers one after another, under the names that a file has for them."""

    def _chain(self) -> dict[str, Module]:
        return {name: part for name, part in vars(self).items() if isinstance(part, Module)}


class Imported(Module):
    """A network over the graph of a file: layers where there are, operations on Values for the other nodes.

    It is called with one sample for each of the file's inputs; a row of as many numbers is taken as that sample. It
    gives the sample's outputs, a list of them where there are several.
    """

    def __init__(self, steps: Steps) -> None:
        self.steps = steps

    def forward(self, *inputs: Any) -> Any:
        """What the file's graph computes of one sample."""
        steps = self.steps
        if len(inputs) != len(steps.entrances):
            names = ", ".join(entrance.port.name for entrance in steps.entrances)
            raise InputError(f"the network takes {len(steps.entrances)} inputs ({names}), got {len(inputs)}")
        tensors: Tensors = dict(steps.constants)
        for name, (path, turned) in steps.weights.items():
            whole = self._part(path).as_values()
            tensors[name] = whole.T if turned else whole
        for entrance, x in zip(steps.entrances, inputs, strict=True):
            tensors[entrance.port.name] = _input_array(entrance, x)
        for step in steps.steps:
            if isinstance(step, LayerStep):
                tensors[step.writes] = call_layer(self._part(step.path), step.way, tensors[step.reads])
            else:
                compute(step, tensors, steps.opset, steps.dtypes)
        found = [_output_lists(tensors[name], axis) for name, axis in steps.exits]
        return found[0] if len(found) == 1 else found

    def _part(self, path: str) -> Any:
        return reduce(getattr, path.split("."), self)

    def extra_repr(self) -> str:
        """The operators that are computed beside the layers, and how many of each."""
        counted = Counter(step.operator for step in self.steps.steps if isinstance(step, Node))
        return ", ".join(f"{count} {name}" for name, count in sorted(counted.items()))

    def operators(self) -> Iterator[str]:
        """The names of the nodes that are no part of a layer."""
        return (step.name for step in self.steps.steps if isinstance(step, Node))


def _input_array(entrance: Entry, x: Any) -> Array:
    """A sample with an axis for the samples."""
    title, wanted = f"input {entrance.port.name!r}", entrance.shape
    given = as_objects(x, title)
    if given.shape != wanted and given.shape == (prod(wanted),):
        given = given.reshape(wanted)
    if given.ndim != len(wanted) or 0 in given.shape:
        said = f"{title} takes a sample of the shape {wanted}, got {shown(given.shape)}"
        raise InputError(f"{said}; give one sample at a time")
    whole = given if entrance.axis is None else np.expand_dims(given, entrance.axis)
    return whole.view(Values)


def _output_lists(x: Array, axis: int | None) -> Any:
    """An output of one sample, as nested lists."""
    whole = x if axis is None else np.take(np.ndarray.view(x, np.ndarray), 0, axis)
    return as_objects(np.asarray(whole), "an output").tolist()


def call_layer(module: Any, way: Way, x: Array) -> Array:
    """A layer called on an array that has an axis for the samples."""
    if way == "all" or (way == "whole" and tracing.active() is None):
        return _array(module(x.tolist()))
    if way in ("samples", "whole"):
        return as_objects([_array(module(sample.tolist())) for sample in x], "a layer").view(Values)
    rows = x.reshape(-1, x.shape[-1])
    found = [_array(module(row.tolist())) for row in rows]
    return values([v for row in found for v in row.tolist()], (*x.shape[:-1], len(found[0])))


def _array(made: Any) -> Array:
    """What a layer gave; a row of one number, which layers give as that number, is a row."""
    return as_objects([made.value] if isinstance(made, Single) else made, "a layer").view(Values)


def without_softmax(net: Module) -> Callable[[], None] | None:
    """Let a network give the numbers before the softmax that it ends with; what comes back puts it there again.

    None: it ends with none.

    Examples
    --------
    >>> from scalarviz import nn
    >>> net = nn.Sequential(nn.Linear(2, 3), nn.Softmax())
    >>> put_back = without_softmax(net)
    >>> type(net[1]).__name__
    'Identity'
    >>> put_back()
    >>> type(net[1]).__name__
    'Softmax'
    """
    found = _last_softmax(net)
    if found is None:
        return None
    put_back = partial(setattr, *found, getattr(*found))
    stand_in = Identity()
    stand_in.training = False
    setattr(*found, stand_in)
    return put_back


def _last_softmax(net: Module) -> tuple[Module, str] | None:
    """Who holds the softmax that is the last to be computed, and under which name."""
    owner, name = net, ""
    if isinstance(net, Imported):
        steps = net.steps
        last = steps.steps[-1] if steps.steps else None
        if not isinstance(last, LayerStep) or [exit for exit, _ in steps.exits] != [last.writes]:
            return None
        *above, name = last.path.split(".")
        owner = reduce(getattr, above, owner)
    elif isinstance(net, Sequential) and len(net):
        name, child = list(net.named_children())[-1]
        if isinstance(child, Sequential):
            return _last_softmax(child)
    part: Any = getattr(owner, name, None) if name else None
    return (owner, name) if type(part) is Softmax else None
