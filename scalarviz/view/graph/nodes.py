"""`Node`: one number of a graph as a plain record, and the walk that makes them of the objects."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from ...scalar.dot import Dot, Row
from ...scalar.total import Total
from ...scalar.value import Value
from ...scalar.weight import Weight

Kind = Literal["op", "leaf", "weight", "row"]

LONG, MANY = 16, 4
"""Weights of a row that are drawn one by one, unless its name is unfolded: in any graph, and in a large one."""
SUMS = {"identity": "sum", "square": "sum **2", "abs": "sum abs"}
"""How sums over a row of weights are written, by what is summed of each."""


@dataclass(slots=True, eq=False)
class Node:
    """A number of the graph.

    Attributes
    ----------
    kind : {"op", "leaf", "weight", "row"}
        A result, a number from outside, a weight, or many neighbouring weights.
    op : str
        Name of the operation; empty where there is none.
    operands : tuple of Node
        In their order; one that is taken twice stands there twice.
    value : float
        NaN for a row.
    grad : float or None
        None: not computed.
    name : str
        What it is called; empty for nothing.
    of : Value or Row
        The object itself.
    path : str
        Whose it is: the path of a module, or empty.
    flows : tuple of bool
        Which operands a derivative goes to.
    count : int
        Numbers that it stands for.
    sign : str
        How the operation is written, where that is not as always.
    users : dict of Node
        The results that take it, in the order in which they were made.
    """

    kind: Kind
    op: str
    of: Value | Row
    value: float
    operands: tuple[Node, ...] = ()
    grad: float | None = None
    name: str = ""
    path: str = ""
    flows: tuple[bool, ...] = ()
    count: int = 1
    sign: str = ""
    users: dict[Node, None] = field(default_factory=dict)

    @property
    def leaf(self) -> bool:
        """Whether nothing leads to it."""
        return not self.operands


def key_of(value: Value | Row) -> Hashable:
    """Equal for what is one node: a Weight is made anew whenever somebody asks for it."""
    if isinstance(value, Weight):
        return id(value._block), value._index
    if isinstance(value, Row):
        return id(value.block), value.start, value.length
    return id(value)


def row_name(row: Row) -> str:
    """``0.weight[3]``, or the name of the block where the row is all of it."""
    if row.length == row.block.size:
        return row.block.name
    first = row.block.weight_name(row.start)
    return first.rpartition("[")[0] if first.endswith("]") else first


def nodes_of(roots: Sequence[Value], unfold: frozenset[str] = frozenset(), long: int = LONG) -> list[Node]:
    """Every node that leads to `roots`, operands before results; the numbers as they are now.

    Parameters
    ----------
    roots : sequence of Value
    unfold : set of str
        Names of rows of weights that are wanted one by one.
    long : int
        More weights of a row than this are one node.

    Raises
    ------
    TracingError
        The graph is being recorded: there are no numbers.
    """
    parents: dict[Hashable, tuple[Value | Row, ...]] = {}
    objects: dict[Hashable, Value | Row] = {}
    order: list[Hashable] = []
    stack: list[tuple[Value | Row, bool]] = [(root, False) for root in reversed(roots)]
    while stack:
        value, done = stack.pop()
        key = key_of(value)
        if done:
            order.append(key)
            continue
        if key in parents:
            continue
        objects[key] = value
        below = parents[key] = _below(value, unfold, long)
        stack.append((value, True))
        stack += [(parent, False) for parent in reversed(below) if key_of(parent) not in parents]
    made: dict[Hashable, Node] = {}
    for key in order:
        node = _node(objects[key], tuple(made[key_of(parent)] for parent in parents[key]))
        made[key] = node
        for operand in dict.fromkeys(node.operands):
            operand.users[node] = None
    return list(made.values())


def _below(value: Value | Row, unfold: frozenset[str], long: int) -> tuple[Value | Row, ...]:
    """The operands; many neighbouring weights are one."""
    if isinstance(value, Row):
        return ()
    if isinstance(value, Dot):
        bias = (
            _each(value.bias, unfold, long)
            if isinstance(value.bias, Row)
            else ()
            if value.bias is None
            else (value.bias,)
        )
        weights = value.weights
        return (*(_each(weights, unfold, long) if isinstance(weights, Row) else weights), *value.xs, *bias)
    if isinstance(value, Total):
        return _each(value.row, unfold, long)
    return value.parents


def _each(row: Row, unfold: frozenset[str], long: int) -> tuple[Value | Row, ...]:
    return tuple(row.weights()) if row.length <= long or row_name(row) in unfold else (row,)


def _node(value: Value | Row, operands: tuple[Node, ...]) -> Node:
    if isinstance(value, Row):
        return Node("row", "", value, float("nan"), name=row_name(value), count=value.length)
    if isinstance(value, Weight):
        return Node("weight", "", value, value.data, name=value.name)
    kind: Kind = "op" if operands else "leaf"
    sign = SUMS[value.how] if isinstance(value, Total) else ""
    flows = _flows(value, len(operands))
    return Node(kind, value.op, value, value.data, operands, name=value.label, flows=flows, sign=sign)


def _flows(value: Value, count: int) -> tuple[bool, ...]:
    """Which operands a derivative goes to: all of them but conditions and their like."""
    op = value._op
    if op is None or not op.partly:
        return (True,) * count
    return tuple(k in op.flowing for k in range(count))


def gradient_of(node: Node) -> float | None:
    """What stands in the object: None where it says itself that there is none, NaN for a row."""
    value = node.of
    if isinstance(value, Row):
        span = slice(value.start, value.start + value.length)
        return float("nan") if np.asarray(value.block.computed[span]).any() else None
    if isinstance(value, Weight):
        return value.grad if value.has_grad else None
    return value.grad
