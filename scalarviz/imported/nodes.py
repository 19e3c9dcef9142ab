"""Computing nodes one after the other, of arrays of numbers and of arrays of Values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..onnx.graph import Graph, Node
from . import operators as _families  # noqa: F401  # its files fill the table
from .allowance import MOST_HELD, Allowance
from .operators.table import TABLE, Call

Array = NDArray[Any]
Tensors = dict[str, Array]
Dtypes = Mapping[str, np.dtype[Any]]
SIDES = ("Shape", "Size")
"""Operators that ask for sides alone, and not for the numbers of a tensor."""


def compute(node: Node, tensors: Tensors, opset: int, dtypes: Dtypes) -> None:
    """Put what a node makes of `tensors` among them.

    Parameters
    ----------
    node : Node
        Of an operator that is known.
    tensors : dict of str to ndarray
        All that it reads is there.
    opset : int
    dtypes : mapping of str to dtype
        Types that the file has for tensors which are computed here of Values.

    Raises
    ------
    InputError
        The operator does not take such numbers, or the memory does not suffice; names the node.
    """
    inputs = tuple(tensors[name] if name else None for name in node.inputs)
    call = Call(node, inputs, opset, tuple(dtypes.get(name) for name in node.inputs))
    try:
        made = TABLE[node.operator](call)
    except MemoryError:
        raise InputError(f"{call.title}: the memory does not suffice for what it makes; take smaller inputs") from None
    for name, array in zip(node.outputs, made, strict=False):
        if name:
            tensors[name] = array


def folded(graph: Graph, shapes: Mapping[str, tuple[int, ...]] | None = None) -> Tensors:
    """What the graph makes of its constants alone, with the constants.

    Parameters
    ----------
    graph : Graph
    shapes : mapping of str to tuple of int, optional
        Of tensors that are computed of data, where they are known: what is made of their sides is known then, too.

    Raises
    ------
    InputError
        See `compute` and `Allowance`.
    """
    tensors = dict(graph.constants)
    stored = sum(array.size for array in tensors.values())
    allowance = Allowance(1 + 2 * stored // MOST_HELD)
    for node in graph.nodes:
        if node.operator not in TABLE:
            continue
        if all(name in tensors for name in node.inputs if name):
            try:
                compute(node, tensors, graph.opset, {})
                allowance.made(node, tensors)
            except InputError as error:
                raise InputError(f"{graph.name}: {error}") from None
        elif shapes and node.operator in SIDES and node.inputs[0] in shapes:
            one = {node.inputs[0]: np.broadcast_to(np.zeros(()), shapes[node.inputs[0]])}
            compute(node, one, graph.opset, {})
            tensors |= {name: one[name] for name in node.outputs}
    return tensors


def last_uses(nodes: Sequence[Node], kept: set[str]) -> list[list[str]]:
    """For each node the tensors that no later one reads, without those that are `kept`."""
    seen, found = set(kept), []
    for node in reversed(nodes):
        names = {*node.inputs, *node.outputs} - seen
        seen |= names
        found.append([name for name in names if name])
    return found[::-1]
