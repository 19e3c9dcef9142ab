"""What PyTorch's new exporter notes in a file: which of its tensors were parameters, buffers or constants."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from .graph import Node

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

    Parameters
    ----------
    said : GraphProto

    Returns
    -------
    dict of str to str
        ``"PARAMETER"``, ``"BUFFER"`` or ``"CONSTANT_TENSOR"``.
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
