"""From a graph to a Module: find layers, name them, fill in their weights, and join them.

The paths in a network come from the names of a file's tensors and nodes. `Imported` is the network that computes the
graph, partly with layers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from math import prod
from typing import Any

import numpy as np

from ..errors import InputError, shown
from ..nn import Embedding, Identity, Module, Parameter, Sequential, Softmax
from ..onnx.graph import PARAMETER, Array, Node
from ..scalar import tracing
from ..scalar.array import Values, as_objects, stack
from .facts import Facts, FileTensor, FoundLayer, Way
from .lanes import Entry
from .layers import layer_at
from .operators.arrays import Tensors
from .operators.table import SETTINGS, compute


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


class PrefixModule(Module):
    """Parts of a network with a common name prefix."""


class Chain(Sequential):
    """Layers one after another, under the names in the file."""

    def _chain(self) -> dict[str, Module]:
        return {name: part for name, part in vars(self).items() if isinstance(part, Module)}


class Imported(Module):
    """A network over the graph of a file: layers where possible, operations on Values for the other nodes.

    Call it with one sample for each input of the file; a flat row of the same numbers works too. It returns the output
    of the sample, or a tuple of several.
    """

    def __init__(self, steps: Steps) -> None:
        self.steps = steps

    def forward(self, *inputs: Any) -> Any:
        """Return the outputs of the file's graph for one sample."""
        steps = self.steps
        if len(inputs) != len(steps.entrances):
            names = ", ".join(entrance.port.name for entrance in steps.entrances)
            raise InputError(f"inputs: expected {len(steps.entrances)} ({names}), got {len(inputs)}")
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
        found = tuple(_output(tensors[name], axis) for name, axis in steps.exits)
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


def _output(x: Array, axis: int | None) -> Array:
    """Return an output of one sample, without the axis of the samples."""
    return x if axis is None else np.moveaxis(x, axis, 0)[0, ...]


def call_layer(module: Any, way: Way, x: Array) -> Any:
    """Call a layer with an array that has a sample axis."""
    if way == "samples" or (way == "whole" and tracing.active() is not None):
        return stack([module(sample) for sample in x])
    return module(x)


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


# ---- From a graph to a Module


ROOT = ""
_SPLIT = re.compile(r"[./]+")
_UNUSUAL = re.compile(r"[^\w-]+")
_AROUND = re.compile(r"^[^\w-]+|[^\w-]+$")


class Names:
    """Assigns unique paths; a path belongs to a layer or a parameter, or is a prefix of others."""

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self.taken: set[str] = set()
        self.folders: set[str] = set()
        self.reserved = {*dir(Module), *reserved, "training"}

    def reserve_path(self, wanted: str) -> str:
        """Reserve the path `wanted`, or a similar one that is free and valid for attributes."""
        parts = [f"{part}_" if part in self.reserved else part for part in valid_path(wanted).split(".")]
        for k in range(len(parts)):  # nothing can be below a layer
            while ".".join(parts[: k + 1]) in (self.taken if k + 1 < len(parts) else self.taken | self.folders):
                parts[k] += "_"
        path = ".".join(parts)
        self.taken.add(path)
        self.folders.update(".".join(parts[:k]) for k in range(1, len(parts)))
        return path


def valid_path(wanted: str) -> str:
    """Return a dotted path of names that can be attributes."""
    parts = [_UNUSUAL.sub("_", _AROUND.sub("", part)).lstrip("_") for part in _SPLIT.split(wanted) if part]
    return ".".join(part or "layer" for part in parts) or "layer"  # trailing underscores are the file's


def module_path(found: FoundLayer) -> str:
    """Return the path of the original module of a layer with weights, if the file has it; else empty."""
    return next((node.module for node in found.nodes if node.module), "") if found.weights else ""


def weight_path(found: FoundLayer) -> str | None:
    """Return a layer's path from its weights: ``fc1`` of ``fc1.weight``; empty for ``weight``; else None.

    If the file notes the module, that is the path, unless the layer's own weights have other names: programs write
    equal weights once, under one of their names, and store a convolution with its norm as part of the norm.
    """
    module = module_path(found)
    for attribute, tensor in found.weights.items():
        before, dot, last = tensor.name.rpartition(".")
        if last == attribute and not (module and isinstance(found.module, Embedding)):
            return before if dot else ROOT
    return module or None


def has_weight_names(found: FoundLayer, path: str | None) -> bool:
    """Return whether a weight of a layer has the name that the layer's path gives it."""
    return any(tensor.name == f"{path}.{attribute}" for attribute, tensor in found.weights.items())


def node_path(node: Node) -> str:
    """Return the path in a node's name: ``layers.0.act`` of PyTorch's ``/layers/layers.0/act/Relu``."""
    parts = [part for part in node.name.split("/") if part]
    if len(parts) > 1 and re.fullmatch(rf"{re.escape(node.operator)}(_\d+)?", parts[-1]):
        parts = parts[:-1]
    path: list[str] = []
    for part in parts:
        if path and part.startswith(f"{path[-1]}."):
            path.pop()
        path.append(part)
    return ".".join(path) or node.operator


def named(node: Node) -> bool:
    """Return whether a node's name says more than its operator and its number; PyTorch's ``node_relu_1`` does not."""
    return re.fullmatch(rf"/?{re.escape(node.operator)}(_\d+)?|node_\w+", node.name) is None


def fill_names(names: Sequence[str | None], others: Sequence[str]) -> list[str]:
    """Return paths for layers in a row; layers without a name (None) are named after their neighbours.

    ``features.2`` is followed by ``features.3``, if no other layer has that name. Otherwise the layer takes its name in
    `others`, in the group of its neighbour.

    Examples
    --------
    >>> fill_names([None, "1", None, "2", "a.0", None], ["Reshape", "1", "Relu", "2", "a.0", "Tanh"])
    ['0', '1', 'Relu', '2', 'a.0', 'a.1']
    """
    taken, found = {name for name in names if name}, list(names)
    forwards, backwards = range(1, len(found)), range(len(found) - 2, -1, -1)
    for step, places in ((1, forwards), (-1, backwards)):  # the first ones have a neighbour only after them
        for k in places:
            neighbour = found[k - step]
            if found[k] is None and neighbour is not None:
                found[k] = name = _neighbour_name(neighbour, step, others[k], taken)
                taken.add(name)
    return [name or other for name, other in zip(found, others, strict=True)]


def _neighbour_name(neighbour: str, step: int, other: str, taken: set[str]) -> str:
    group, dot, last = neighbour.rpartition(".")
    number = int(last) + step if last.isdecimal() else -1
    name = f"{group}{dot}{number}"
    return name if number >= 0 and name not in taken else f"{group}{dot}{other}"


MOST_SCALARS = 2_000_000
"""The most numbers of one sample outside layers: each is an object, and a row of a tape."""


@dataclass
class NodePlan:
    """The nodes in order, as part of a layer or single; and the paths of layers, by the id of the module."""

    layers: list[FoundLayer] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    order: list[FoundLayer | Node] = field(default_factory=list)
    paths: dict[int, str] = field(default_factory=dict)


def planned(facts: Facts) -> NodePlan:
    """Find the layers; nodes outside layers are computed one by one."""
    plan = NodePlan()
    owner: dict[str, FoundLayer] = {}
    known: dict[Any, Module] = {}
    owners: dict[str, Module] = {}
    for node in facts.graph.nodes:
        if node.name in owner or _constant(node, facts):
            continue
        found = layer_at(node, facts)
        if found is not None:
            found = _with_known_module(_with_own_names(found), known)
            if facts.graph.ours and not _under_its_names(found, owners):
                continue
            plan.layers.append(found)
            owner |= {part.name: found for part in found.nodes}
    single = [node for node in facts.graph.nodes if node.name not in owner and not _constant(node, facts)]
    reshaped = _of_weights(single, facts)
    for node in facts.graph.nodes:
        own = owner.get(node.name)
        if own is not None and node is own.nodes[-1]:
            plan.order.append(own)
        elif own is None and (node.name in reshaped or not _constant(node, facts)):
            plan.order.append(node)
            plan.nodes.append(node)
    return plan


def _with_own_names(found: FoundLayer) -> FoundLayer:
    """Give a layer's weights their own names if its module is known and all numbers of a weight are equal.

    Programs write equal weights once, although the ones of two untrained norms are two weights.
    """
    module, weights = module_path(found), dict(found.weights)
    for part, tensor in found.weights.items():
        if module and (tensor.array == tensor.array.flat[0]).all():
            weights[part] = replace(tensor, name=f"{module}.{part}")
    return replace(found, weights=weights)


def _with_known_module(found: FoundLayer, known: dict[Any, Module]) -> FoundLayer:
    """Return a layer; if it has the same weights as one of the `known`, it is that one, called again."""
    if not found.weights:
        return found
    weights = sorted((part, tensor.name, tensor.turned) for part, tensor in found.weights.items())
    key = type(found.module), found.module.extra_repr(), *weights
    return replace(found, module=known.setdefault(key, found.module))


def _under_its_names(found: FoundLayer, owners: dict[str, Module]) -> bool:
    """Return whether a layer's weights keep their names in the file; in this package's files all do."""
    if not found.weights:
        return True
    path, weights = weight_path(found), found.weights.items()
    own = path is not None and all(tensor.name == f"{path}.{part}".strip(".") for part, tensor in weights)
    return own and owners.setdefault(str(path), found.module) is found.module


def _constant(node: Node, facts: Facts) -> bool:
    return all(name in facts.constants for name in node.outputs if name)


def _of_weights(nodes: Sequence[Node], facts: Facts) -> set[str]:
    """Return the names of the nodes between weights and `nodes`: each step computes them, since weights change."""
    found: set[str] = set()
    todo = [name for node in nodes for name in node.inputs]
    while todo:
        name = todo.pop()
        maker = facts.makers.get(name)
        if maker is None or maker.name in found or not _constant(maker, facts) or name not in facts.weight_dependent:
            continue
        found.add(maker.name)
        todo += maker.inputs
    return found


def check_size(plan: NodePlan, facts: Facts) -> None:
    """Refuse a graph with more scalars than `MOST_SCALARS` outside layers."""
    sizes = {node.name: sum(int(np.prod(facts.shapes[n])) for n in node.outputs if n in facts.shapes)
             for node in plan.nodes}  # fmt: skip
    total = sum(sizes.values())
    if total > MOST_SCALARS:
        largest = max(plan.nodes, key=lambda node: sizes[node.name])
        raise InputError(
            f"{facts.graph.name!r}: the network computes {total:,} numbers per sample outside layers, most of them "
            f"({sizes[largest.name]:,}) in {largest.operator} {largest.name!r}; allowed: at most {MOST_SCALARS:,}. "
            "Use smaller inputs (sides=), or PyTorch's own layers"
        )


class Builder:
    """Makes the Module of a plan."""

    def __init__(self, facts: Facts, plan: NodePlan, entries: Sequence[Entry], axes: Sequence[int | None]) -> None:
        self.facts, self.plan, self.entries, self.axes = facts, plan, entries, axes
        self.parameters: dict[tuple[str, bool], Parameter] = {}
        self.names = Names()

    def build(self) -> Module:
        """Return the layer itself if it is the whole graph, a Sequential, a `Chain`, or else an `Imported`."""
        for found in self.plan.layers:
            self._fill(found)
        chain = self._chain()
        if len(chain) == 1 and weight_path(chain[0]) == ROOT:
            return chain[0].module
        self._name(numbered=bool(chain))
        if chain:
            whole = _nested([(self.plan.paths[id(found.module)].split("."), found.module) for found in chain])
            if whole is not None:
                return whole
        return self._imported()

    def _fill(self, found: FoundLayer) -> None:
        """Give a layer its weights; a tensor that the file holds once becomes one Parameter."""
        for attribute, tensor in found.weights.items():
            if attribute.startswith("running_"):
                setattr(found.module, attribute, tensor.array.astype(np.float64))
            else:
                setattr(found.module, attribute, self._parameter(tensor))

    def _parameter(self, tensor: FileTensor) -> Parameter:
        key = (tensor.name, tensor.turned)
        known = self.parameters.get(key)
        if known is None or known.shape != tensor.array.shape:
            kind = self.facts.graph.noted.get(tensor.name, PARAMETER)
            known = self.parameters[key] = Parameter(tensor.array, requires_grad=kind == PARAMETER)
        return known

    # ---- a chain

    def _chain(self) -> list[FoundLayer]:
        """Return the layers in order if they form a chain that takes one sample; else an empty list."""
        graph = self.facts.graph
        simple = len(self.entries) == len(graph.outputs) == 1 and self.entries[0].axis == self.axes[0] == 0
        again = len({id(found.module) for found in self.plan.layers}) < len(self.plan.layers)
        if not simple or again or self.plan.nodes:
            return []
        last = self.entries[0].port.name
        for found in self.plan.layers:
            rank = len(self.facts.shapes[found.reads])
            if found.reads != last or found.way == "whole" or (found.way == "rows" and rank != 2):
                return []
            last = found.writes
        return self.plan.layers if last == graph.outputs[0].name else []

    # ---- names

    def _name(self, numbered: bool) -> None:
        """Give every layer a path: first by its weights, then by its nodes' names."""
        paths, first_calls = self.plan.paths, dict[int, FoundLayer]()
        for found in self.plan.layers:
            first_calls.setdefault(id(found.module), found)
        layers = list(first_calls.values())
        stems: list[str | None] = []
        for found in layers:  # if two share a weight, the first takes its name
            own = weight_path(found)
            stems.append(own if own and own not in stems else None)
        wanted = [own or node_path(_named_node(found)) for own, found in zip(stems, layers, strict=True)]
        if numbered:
            wanted = fill_names([name if own or named(_named_node(found)) else None
                             for own, found, name in zip(stems, layers, wanted, strict=True)], wanted)  # fmt: skip
        # paths from weights first, and among them those whose weights already have the names
        first = sorted(range(len(layers)), key=lambda k: (not stems[k], not has_weight_names(layers[k], stems[k])))
        for k in first:
            paths[id(layers[k].module)] = self.names.reserve_path(wanted[k])

    # ---- a graph

    def _imported(self) -> Imported:
        weights = self._weights()
        used = {name for step in self.plan.nodes for name in step.inputs} | {*self.facts.results}
        dtypes = {name: self.facts.dtypes[name] for name in used if name in self.facts.dtypes}
        made = {name for node in self.plan.nodes for name in node.outputs}
        constants = {n: a for n, a in self.facts.constants.items() if n in used - made and n not in weights}
        paths = self.plan.paths
        steps = tuple(
            LayerStep(paths[id(s.module)], s.way, s.reads, s.writes) if isinstance(s, FoundLayer) else s
            for s in self.plan.order
        )
        graph, entrances = self.facts.graph, tuple(self.entries)
        exits = tuple(zip((port.name for port in graph.outputs), self.axes, strict=True))
        net = Imported(Steps(entrances, steps, exits, constants, weights, graph.opset, dtypes))
        for found in self.plan.layers:
            set_part(net, paths[id(found.module)], found.module)
        for name, (path, turned) in weights.items():
            if path in self.names.taken:  # otherwise it belongs to a layer
                set_part(net, path, self.parameters[name, turned])
        return net

    def _weights(self) -> dict[str, tuple[str, bool]]:
        """Return the constants that operators read as parameters, with the paths of the parameters."""
        placed = {
            (tensor.name, tensor.turned): f"{self.plan.paths[id(found.module)]}.{attribute}"
            for found in self.plan.layers
            for attribute, tensor in found.weights.items()
            if not attribute.startswith("running_")
        }
        found: dict[str, tuple[str, bool]] = {}
        for node in self.plan.nodes:
            for place, name in enumerate(node.inputs):
                if place in SETTINGS.get(node.operator, ()) or name in found or not self.facts.trained(name):
                    continue
                known = next(((placed[name, turned], turned) for turned in (False, True) if (name, turned) in placed),
                             None)  # fmt: skip
                if known is None:
                    self._parameter(FileTensor(name, self.facts.graph.constants[name]))
                    known = self.names.reserve_path(name), False
                found[name] = known
        return found


def _named_node(found: FoundLayer) -> Node:
    """Return the node of a layer with the most telling name."""
    return next(filter(named, found.nodes), found.nodes[0])


def set_part(net: Module, path: str, part: Module | Parameter) -> None:
    """Set a part at its path, and make missing groups above it."""
    *above, last = path.split(".")
    for name in above:
        if name not in vars(net):
            setattr(net, name, PrefixModule())
        net = vars(net)[name]
    setattr(net, last, part)


def _nested(layers: list[tuple[list[str], Module]]) -> Module | None:
    """Return layers as nested Sequentials by their dotted names; None if groups are interleaved."""
    names = [name for (name, *_), _ in layers]
    ordered = list(dict.fromkeys(names))
    runs = [name for k, name in enumerate(names) if k == 0 or names[k - 1] != name]
    if runs != ordered:
        return None
    parts: list[tuple[str, Module]] = []
    groups: dict[str, list[tuple[list[str], Module]]] = {name: [] for name in ordered}
    for (first, *rest), module in layers:
        groups[first].append((rest, module))
    for name, inner in groups.items():
        part = inner[0][1] if inner[0][0] == [] else _nested(inner)
        if part is None:
            return None
        parts.append((name, part))
    plain = [name for name, _ in parts] == [str(k) for k in range(len(parts))]
    whole = Sequential() if plain else Chain()
    for name, part in parts:
        setattr(whole, name, part)
    return whole
