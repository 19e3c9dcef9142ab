"""Ids that a network gets as floats: it casts them to whole numbers to choose rows by them, and for nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..onnx.graph import Graph, Node

CHOOSES = {"Gather": 1, "OneHot": 0}
"""Operators that choose by ids, and the input that holds these."""
CARRIES = frozenset(("Cast", "Expand", "Flatten", "Identity", "Reshape", "Slice", "Split", "Squeeze", "Transpose",
                     "Unsqueeze"))  # fmt: skip
"""Operators whose first input stays the same numbers."""


def uncut(graph: Graph, constants: Mapping[str, Any], dtypes: Mapping[str, np.dtype[Any]]) -> Graph:
    """The graph with `Identity` for each ``Cast`` of floats to whole numbers that are ids.

    To cut off a number has no derivative and is refused elsewhere. Who chooses by an id refuses one that is not whole,
    or takes what is before the point, as the cast does.

    Parameters
    ----------
    graph : Graph
    constants : mapping by tensor
        What is known before: casts of these stay.
    dtypes : mapping of str to dtype
        Of all tensors.
    """
    readers: dict[str, list[Node]] = {}
    for node in graph.nodes:
        for name in {*node.inputs}:
            readers.setdefault(name, []).append(node)
    ids = _ids(graph, readers)

    def plain(node: Node) -> Node:
        if node.operator != "Cast" or node.inputs[0] in constants or node.outputs[0] not in ids:
            return node
        before, behind = (dtypes.get(name, np.dtype(bool)) for name in (node.inputs[0], node.outputs[0]))
        cuts = before.kind == "f" and behind.kind in "iu"
        return replace(node, operator="Identity", attributes={}) if cuts else node

    return replace(graph, nodes=tuple(map(plain, graph.nodes)))


def _ids(graph: Graph, readers: Mapping[str, list[Node]]) -> set[str]:
    """Tensors that are read as ids alone; an output of the graph is none."""
    found: set[str] = set()
    results = {port.name for port in graph.outputs}
    for node in reversed(graph.nodes):
        for name in node.outputs:
            reading = readers.get(name, [])
            if reading and name not in results and all(_as_ids(other, name, found) for other in reading):
                found.add(name)
    return found


def _as_ids(node: Node, name: str, found: set[str]) -> bool:
    """Whether a node reads a tensor as ids, or hands it on to such as do."""
    places = [k for k, given in enumerate(node.inputs) if given == name]
    if node.operator in CHOOSES:
        return places == [CHOOSES[node.operator]]
    return node.operator in CARRIES and places == [0] and found.issuperset(filter(None, node.outputs))
