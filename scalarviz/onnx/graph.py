"""What an ONNX file says, as plain data: `Graph`, `Node`, `Port`; and the notes of PyTorch in it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_LETTERS = 10_000_000
"""Of a tensor of texts, each counted as long as the longest of them."""

MISSING = 'ONNX files need the package onnx; install it with: pip install "scalarviz[onnx]"'
"""What is said where it is not there."""
OURS = "scalarviz"
"""The producer that our files name."""
Array = NDArray[Any]
Attribute = float | int | str | Array | tuple[Any, ...]
"""What a node is given beside tensors: a number, a text, a tensor, or a row of the first two."""


@dataclass(frozen=True, slots=True)
class Node:
    """One operation."""

    operator: str  # as the standard calls it: "Conv"
    inputs: tuple[str, ...]  # names of tensors; an empty one is left out
    outputs: tuple[str, ...]
    attributes: Mapping[str, Attribute] = field(default_factory=dict)  # those that the file gives
    name: str = ""  # the file's, or "Conv_3" by its place where it has none; no two nodes have the same
    domain: str = ""  # empty for the standard's own operators
    module: str = ""  # path of the module that computes it, where the file says so: "layers.0.norm"

    def attribute(self, name: str, default: Any = None) -> Any:
        """What the node gives under that name, or the operator's default."""
        return self.attributes.get(name, default)

    def listed(self, name: str, default: Any = None) -> Any:
        """An attribute that is a row of numbers, as a list; or the default."""
        given: Any = self.attributes.get(name)
        return default if given is None else list(given)


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output of the graph."""

    name: str
    dtype: np.dtype[Any] | None = None  # None: the file does not say
    shape: tuple[int | str | None, ...] | None = None  # a side is a number, a name ("N") or unknown


@dataclass(frozen=True, slots=True)
class Graph:
    """What a file says."""

    nodes: tuple[Node, ...]  # every operand is made before it is used
    inputs: tuple[Port, ...]  # without those that have a number in the file: old files list their weights there
    outputs: tuple[Port, ...]
    constants: Mapping[str, Array]  # weights and whatever else does not change, read-only
    opset: int  # version of the standard's own operators
    name: str = "graph"  # the file's stem, for messages
    # constants that are `Constant` nodes: part of what is computed, where the others are stored numbers, weights
    fixed: frozenset[str] = frozenset()
    ours: bool = False  # `to_onnx` wrote it: each stored tensor is a weight or a statistic, a single number too
    noted: Mapping[str, str] = field(default_factory=dict)  # what stored tensors were, see `kinds`
    folded: bool = False  # parameters of those were computed into stored tensors that are not among them


SIGNATURE = "pkg.torch.export.ExportedProgram.graph_signature"
PARAMETER = "PARAMETER"
_LINE = re.compile(r"^\w+: (PARAMETER|BUFFER|CONSTANT_TENSOR) target='([^'\n]*)'", re.MULTILINE)
WEIGHED = frozenset({
    "BatchNormalization", "Conv", "ConvTranspose", "Einsum", "Gather", "Gemm", "GroupNormalization",
    "InstanceNormalization", "LayerNormalization", "MatMul", "PRelu", "RMSNormalization",
})  # fmt: skip
"""Operators that a module's weights are handed to as they are, or turned round."""


def note(said: Any, key: str) -> str:
    """What a graph or a node notes under a key; empty where there is none, or one that is no text."""
    found: Any = next((one.value for one in getattr(said, "metadata_props", ()) if one.key == key), "")
    return found if isinstance(found, str) else ""  # protobuf gives bytes where it is not UTF-8


def kinds(said: Any) -> dict[str, str]:
    """What each stored tensor was, by the name that the module has for it; empty where the file notes no parameter.

    Tensors that a module holds by hand are constants for the exporter: without parameters, they are the weights.
    """
    found = {name: kind for kind, name in _LINE.findall(note(said, SIGNATURE))}
    return found if PARAMETER in found.values() else {}


def merged(noted: Mapping[str, str], stored: frozenset[str], nodes: Sequence[Node]) -> bool:
    """Whether a parameter is neither stored nor in a node of its module: then it was computed into other constants.

    A layer's matrix is stored turned round, under another name, but the node that multiplies by it is its module's.
    """
    modules = {node.module for node in nodes if node.operator in WEIGHED and node.module}
    absent = (name.rpartition(".") for name, kind in noted.items() if kind == PARAMETER and name not in stored)
    return any(module not in modules or not last.endswith(("weight", "bias")) for module, _, last in absent)
