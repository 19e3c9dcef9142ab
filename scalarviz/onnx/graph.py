"""The content of an ONNX file as plain data: `Graph`, `Node`, `Port`; and PyTorch's notes in it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_LETTERS = 10_000_000
"""Most characters in a tensor of texts; each text counts as long as the longest."""

MISSING = 'ONNX files need the package onnx; install it with: pip install "scalarviz[onnx]"'
"""Error message without the package `onnx`."""
OURS = "scalarviz"
"""Producer name in our files."""
Array = NDArray[Any]
Attribute = float | int | str | Array | tuple[Any, ...]
"""An attribute of a node: a number, a text, a tensor, or a row of numbers or texts."""


@dataclass(frozen=True, slots=True)
class Node:
    """One operation."""

    operator: str  # the standard's name: "Conv"
    inputs: tuple[str, ...]  # names of tensors; empty for one that is left out
    outputs: tuple[str, ...]
    attributes: Mapping[str, Attribute] = field(default_factory=dict)  # those in the file
    name: str = ""  # the file's, or "Conv_3" by its position; unique
    domain: str = ""  # empty for the standard's operators
    module: str = ""  # path of the module that computes it, if the file notes it: "layers.0.norm"

    def attribute(self, name: str, default: Any = None) -> Any:
        """Return the attribute of that name, or the operator's default."""
        return self.attributes.get(name, default)

    def listed(self, name: str, default: Any = None) -> Any:
        """Return an attribute that is a row of numbers as a list, or the default."""
        given: Any = self.attributes.get(name)
        return default if given is None else list(given)


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output of the graph."""

    name: str
    dtype: np.dtype[Any] | None = None  # None: unknown
    shape: tuple[int | str | None, ...] | None = None  # a side is a number, a name ("N") or unknown


@dataclass(frozen=True, slots=True)
class Graph:
    """The content of a file."""

    nodes: tuple[Node, ...]  # sorted: every operand is computed before it is used
    inputs: tuple[Port, ...]  # without stored tensors, which old files list here too
    outputs: tuple[Port, ...]
    constants: Mapping[str, Array]  # weights and other stored tensors, read-only
    opset: int  # version of the standard's operators
    name: str = "graph"  # the file's stem, for messages
    # constants from `Constant` nodes: part of the computation; the other constants are stored numbers, weights
    fixed: frozenset[str] = frozenset()
    ours: bool = False  # written by `to_onnx`: each stored tensor, also a single number, is a weight or a statistic
    noted: Mapping[str, str] = field(default_factory=dict)  # the former kinds of stored tensors, see `kinds`
    folded: bool = False  # some noted parameters were computed into other stored tensors


SIGNATURE = "pkg.torch.export.ExportedProgram.graph_signature"
PARAMETER = "PARAMETER"
_LINE = re.compile(r"^\w+: (PARAMETER|BUFFER|CONSTANT_TENSOR) target='([^'\n]*)'", re.MULTILINE)
WEIGHED = frozenset({
    "BatchNormalization", "Conv", "ConvTranspose", "Einsum", "Gather", "Gemm", "GroupNormalization",
    "InstanceNormalization", "LayerNormalization", "MatMul", "PRelu", "RMSNormalization",
})  # fmt: skip
"""Operators that take a module's weights unchanged or transposed."""


def note(said: Any, key: str) -> str:
    """Return the note of a graph or a node under a key; empty without a text there."""
    found: Any = next((one.value for one in getattr(said, "metadata_props", ()) if one.key == key), "")
    return found if isinstance(found, str) else ""  # protobuf returns bytes if the text is not UTF-8


def kinds(said: Any) -> dict[str, str]:
    """Return the former kind of each stored tensor, by its name in the module; empty if the file notes no parameter.

    The exporter notes plain tensors of a module as constants. Without any parameter, they are the weights.
    """
    found = {name: kind for kind, name in _LINE.findall(note(said, SIGNATURE))}
    return found if PARAMETER in found.values() else {}


def merged(noted: Mapping[str, str], stored: frozenset[str], nodes: Sequence[Node]) -> bool:
    """Return whether a parameter is neither stored nor used in a node of its module: it is part of other constants.

    A layer's matrix is stored transposed, under another name, but the node that multiplies by it is its module's.
    """
    modules = {node.module for node in nodes if node.operator in WEIGHED and node.module}
    absent = (name.rpartition(".") for name, kind in noted.items() if kind == PARAMETER and name not in stored)
    return any(module not in modules or not last.endswith(("weight", "bias")) for module, _, last in absent)
