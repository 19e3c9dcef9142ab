"""Nodes computed one after the other, of arrays of numbers and of arrays of Values alike.

A few nodes ask for more numbers than any memory holds, so an allowance limits what a graph may make while it is tried
out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import InputError, shown
from ..onnx.graph import Array, Graph, Node
from . import operators as _families  # noqa: F401  # its files fill the table
from .operators.table import TABLE, Call

MOST_ENTERED = 10_000_000
"""Numbers of one sample of an input: each becomes a Value."""

MOST_TRIED = 1 << 25
"""Numbers of an input of as many samples as the file is made for."""

MOST_MADE = 1 << 28
"""Numbers that the nodes make of one sample, all together."""

MOST_HELD = 1 << 27
"""Of these the numbers that are kept at a time."""


class Allowance:
    """Counts the numbers that nodes make.

    Parameters
    ----------
    times : int
        How often each limit: of several samples.
    """

    def __init__(self, times: int = 1) -> None:
        self._times = times
        self._made = self._held = 0
        self._sizes: dict[str, int] = {}

    def made(self, node: Node, tensors: Mapping[str, Array]) -> None:
        """Count what a node has made; an array that is a view of another one takes no room.

        Raises
        ------
        InputError
            It is more than is allowed; names the node.
        """
        for name in node.outputs:
            array = tensors.get(name)
            if array is None or name in self._sizes:
                continue
            own = not any(np.may_share_memory(array, tensors[other]) for other in node.inputs if other)
            self._sizes[name] = array.size if own else 0
            self._made += array.size
            self._held += self._sizes[name]
        if self._made > self._times * MOST_MADE or self._held > self._times * MOST_HELD:
            raise InputError(
                f"with {node.operator} {shown(node.name)} the nodes have made {self._made:,} numbers, of which "
                f"{self._held:,} are kept at a time; allowed: {self._times * MOST_MADE:,} and "
                f"{self._times * MOST_HELD:,}; export it with smaller inputs"
            )

    def dropped(self, names: Sequence[str]) -> None:
        """Nobody needs these tensors any more."""
        for name in names:
            self._held -= self._sizes.pop(name, 0)


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
