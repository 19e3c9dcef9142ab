"""Facts about a graph for finding layers (`Facts`), and the layers that are found (`FoundLayer`)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from ..nn import Module
from ..onnx.graph import PARAMETER, Array, Graph, Node
from .operators.table import SIDES

LARGEST_WEIGHT = 1e6
"""A tensor with a larger number is not a weight but a mask with a stand-in for minus infinity."""
COMPARED = frozenset({"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "IsInf", "IsNaN", *SIDES})
"""Operators without a gradient."""
MOVED = frozenset({"Expand", "Flatten", "Identity", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze"})
"""Operators that only move numbers."""
RESHAPES = ("Flatten", "Reshape", "Squeeze", "Unsqueeze")
ALIKE = (*RESHAPES, "Cast", "Identity", "Transpose")
"""Operators that keep the numbers of one tensor."""
_OF_MODULE = re.compile(r"[A-Za-z_]\w*(\.\w+)+|\d+(\.\w+)+|weight|bias")
Shape = tuple[int, ...]
Way = Literal["all", "whole", "samples", "rows"]
"""How to call a layer on an array with a sample axis.

* "all": with the whole array
* "samples": with each item of the first axis
* "rows": with each row of the last axis
* "whole": by hand with the whole array, whose sample axis tells what a sample is; while recording like "samples"
"""


@dataclass(frozen=True, slots=True)
class FileTensor:
    """A tensor of the file as a parameter."""

    name: str  # the file's name; two parameters of one name are the same
    array: Array  # in the shape of the parameter
    turned: bool = False  # True if it is the transposed matrix of the file


@dataclass(frozen=True, slots=True)
class FoundLayer:
    """A layer: the module without weights, the nodes that it replaces, its input, its weights by attribute."""

    module: Module
    nodes: tuple[Node, ...]
    reads: str
    way: Way
    weights: Mapping[str, FileTensor] = field(default_factory=dict)

    @property
    def writes(self) -> str:
        """The output tensor."""
        return self.nodes[-1].outputs[0]


@dataclass(frozen=True)
class Facts:
    """Facts about a graph."""

    graph: Graph
    constants: Mapping[str, Array]  # constants of the file, and results computed only from them
    shapes: Mapping[str, Shape]  # of one sample, with a sample axis of length 1
    dtypes: Mapping[str, np.dtype[Any]]

    @cached_property
    def readers(self) -> Mapping[str, list[Node]]:
        """The nodes that read each tensor."""
        found: dict[str, list[Node]] = defaultdict(list)
        for node in self.graph.nodes:
            for name in {*node.inputs}:
                found[name].append(node)
        return found

    @cached_property
    def makers(self) -> Mapping[str, Node]:
        """The node that makes each tensor."""
        return {name: node for node in self.graph.nodes for name in node.outputs}

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The index of each node, by name."""
        return {node.name: k for k, node in enumerate(self.graph.nodes)}

    @cached_property
    def results(self) -> frozenset[str]:
        """The outputs of the graph."""
        return frozenset(port.name for port in self.graph.outputs)

    def input(self, node: Node, place: int) -> str:
        """Return the tensor that a node reads at this input; empty if the input is left out."""
        return node.inputs[place] if place < len(node.inputs) else ""

    def is_computed(self, name: str) -> bool:
        """Return whether a tensor is computed from the data: it exists and is no constant."""
        return bool(name) and name not in self.constants

    def only_reader(self, node: Node) -> Node | None:
        """Return the only reader of a node's output; None if there are several, or it is an output of the graph."""
        (name, *others) = node.outputs
        readers = self.readers.get(name, [])
        if len(readers) != 1 or any(others) or name in self.results:
            return None
        return readers[0]

    def number(self, node: Node, place: int, default: float | None = None) -> float | None:
        """Return a constant input of one number; None if it is something else."""
        name = self.input(node, place)
        return self.single(name) if name else default

    def single(self, name: str) -> float | None:
        """Return a constant of one number; None if it is something else."""
        array = self.constants.get(name)
        return plain(array.item()) if array is not None and array.size == 1 else None

    @cached_property
    def fixed(self) -> frozenset[str]:
        """The constants that belong to the formulas; empty if the file stores no weights apart from them."""
        stored = self.graph.constants.keys() - self.graph.fixed
        told = self.graph.ours or any(_is_weight(name, self.graph.constants[name]) for name in stored)
        return self.graph.fixed if told else frozenset()

    def trained(self, name: str) -> bool:
        """Return whether a constant is trainable: floats, no mask, and not fixed.

        If the file notes its parameters, these are trainable, and others if parameters were folded into them. Otherwise
        a single float is a constant of a formula, unless it is named like a module's weight.
        """
        array = self.graph.constants.get(name)
        if array is None or name in self.fixed:
            return False
        if self.graph.ours:
            return array.dtype.kind == "f"
        noted, kind = self.graph.noted, self.graph.noted.get(name)
        if noted and kind != PARAMETER and (kind is not None or not self.graph.folded):
            return False
        return _is_weight(name, array, kind == PARAMETER) and not self._compared(name)

    def _compared(self, name: str) -> bool:
        """Return whether a tensor is only compared, perhaps after other nodes, like a mask: it cannot be learnt."""
        todo, seen = [name], {name}
        while todo:
            part = todo.pop()
            if part in self.results or not self.readers.get(part):
                return False
            for node in self.readers[part]:
                if node.operator in MOVED and node.inputs[0] == part:
                    todo += [made for made in node.outputs if made and made not in seen]
                    seen |= {*node.outputs}
                elif node.operator not in COMPARED:
                    return False
        return True

    @cached_property
    def weight_dependent(self) -> frozenset[str]:
        """The weights and everything computed from them, which changes in training."""
        found = {name for name in self.graph.constants if self.trained(name)}
        for node in self.graph.nodes:
            if node.operator not in SIDES and not found.isdisjoint(node.inputs):
                found.update(node.outputs)
        return frozenset(found)

    def source(self, name: str) -> str | None:
        """Return the weight that a constant is, in any shape; None if it is computed from weights.

        Results of other constants are taken as they are.
        """
        found, alike = name, name
        while (maker := self.makers.get(alike)) is not None and maker.operator in ALIKE:
            alike = maker.inputs[0]
            found = alike if maker.operator in RESHAPES and self.trained(alike) else found
        return None if alike in self.makers and alike in self.weight_dependent else found

    def weight(self, name: str, *shapes: Shape) -> FileTensor | None:
        """Return a constant of floats as a parameter, in the first of `shapes`; None if it has none of these shapes."""
        source, array = self.source(name), self.constants.get(name)
        fits = array is not None and (not shapes or array.shape in shapes)
        if source is None or array is None or not fits or array.dtype.kind != "f" or array.size == 0:
            return None
        return None if source in self.fixed else FileTensor(source, array.reshape(shapes[0]) if shapes else array)

    def neutral(self, name: str, shape: Shape, number: float) -> bool:
        """Return whether a tensor is left out, or is a fixed one with that shape and that number everywhere."""
        array = self.constants.get(name) if name in self.fixed else None
        return not name or (array is not None and array.shape == shape and bool((array == number).all()))

    def matrix(self, name: str, turned: bool = False) -> FileTensor | None:
        """Return a constant matrix, transposed with `turned`; a ``Transpose`` of a weight is that weight."""
        maker = self.makers.get(name)
        if maker is not None and maker.operator == "Transpose" and maker.inputs[0] in self.graph.constants:
            name, turned = maker.inputs[0], not turned
        found = self.weight(name)
        if found is None or found.array.ndim != 2:
            return None
        return FileTensor(name, found.array.T, turned=True) if turned else found


def of_module(name: str) -> bool:
    """Return whether a tensor is named like a module's weight.

    Examples
    --------
    >>> [of_module(name) for name in ("block.0.gamma", "weight", "val_3", "onnx::Mul_12", "/act/Constant_output_0")]
    [True, True, False, False, False]
    """
    return _OF_MODULE.fullmatch(name) is not None


def _is_weight(name: str, array: Array, noted: bool = False) -> bool:
    some = array.size > 1 or (array.size == 1 and (noted or of_module(name)))
    return bool(some and array.dtype.kind == "f" and np.all(np.abs(array.astype(float)) < LARGEST_WEIGHT))


def plain(number: float) -> float:
    """Return a float32 number of a file as it was meant: 1e-5, not 9.99999974e-06."""
    return float(str(np.float32(number)))
