"""`Imported`: a network that computes the graph of a file, partly with layers; and its final softmax."""

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
    """The call of a layer at its path, from one tensor to another."""

    path: str
    way: Way
    reads: str
    writes: str


@dataclass(frozen=True)
class Steps:
    """The steps of a network, by names only: if a layer is replaced, the new one is called."""

    entrances: tuple[Entry, ...]
    steps: tuple[Node | LayerStep, ...]
    exits: tuple[tuple[str, int | None], ...]  # output tensors, each with its sample axis
    constants: Mapping[str, Array]
    weights: Mapping[str, tuple[str, bool]]  # by tensor: the path of its parameter, and whether it is read transposed
    opset: int
    dtypes: Mapping[str, np.dtype[Any]] = field(default_factory=dict)  # of the tensors that nodes read


class Group(Module):
    """Parts of a network with a common name prefix."""


class Chain(Sequential):
    """Layers one after another, under the names in the file."""

    def _chain(self) -> dict[str, Module]:
        return {name: part for name, part in vars(self).items() if isinstance(part, Module)}


class Imported(Module):
    """A network over the graph of a file: layers where possible, operations on Values for the other nodes.

    Call it with one sample for each input of the file; a flat row of the same numbers works too. It returns the outputs
    of the sample, as a list if there are several.
    """

    def __init__(self, steps: Steps) -> None:
        self.steps = steps

    def forward(self, *inputs: Any) -> Any:
        """Return the outputs of the file's graph for one sample."""
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
        """Return the operators beside the layers, with their counts."""
        counted = Counter(step.operator for step in self.steps.steps if isinstance(step, Node))
        return ", ".join(f"{count} {name}" for name, count in sorted(counted.items()))

    def operators(self) -> Iterator[str]:
        """Yield the names of the nodes that belong to no layer."""
        return (step.name for step in self.steps.steps if isinstance(step, Node))


def _input_array(entrance: Entry, x: Any) -> Array:
    """Return a sample as an array with a sample axis."""
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
    """Return an output of one sample as nested lists."""
    whole = x if axis is None else np.take(np.ndarray.view(x, np.ndarray), 0, axis)
    return as_objects(np.asarray(whole), "an output").tolist()


def call_layer(module: Any, way: Way, x: Array) -> Array:
    """Call a layer with an array that has a sample axis."""
    if way == "all" or (way == "whole" and tracing.active() is None):
        return _array(module(x.tolist()))
    if way in ("samples", "whole"):
        return as_objects([_array(module(sample.tolist())) for sample in x], "a layer").view(Values)
    rows = x.reshape(-1, x.shape[-1])
    found = [_array(module(row.tolist())) for row in rows]
    return values([v for row in found for v in row.tolist()], (*x.shape[:-1], len(found[0])))


def _array(made: Any) -> Array:
    """Return a layer's result as an array; layers give a row of one number as that number."""
    return as_objects([made.value] if isinstance(made, Single) else made, "a layer").view(Values)


def without_softmax(net: Module) -> Callable[[], None] | None:
    """Remove the final softmax of a network, and return a function that puts it back.

    Return None if the network does not end with a softmax.

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
    """Return the owner and the attribute name of the softmax that is computed last, or None."""
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
