"""`Node`: one number of a graph as a plain record, made of what a walk found."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from ...scalar.sums import Row, Total
from ...scalar.value import Value
from ...scalar.weight import Weight
from .walk import Key, Walk, row_name

Kind = Literal["op", "leaf", "weight", "row", "far"]

LONG, MANY = 16, 4
"""Weights of a row that are drawn one by one, unless its name is unfolded: in any graph, and in a large one."""
SUMS = {"identity": "sum", "square": "sum **2", "abs": "sum abs"}
"""How sums over a row of weights are written, by what is summed of each."""


@dataclass(slots=True, eq=False)
class Node:
    """A number of the graph.

    Attributes
    ----------
    kind : {"op", "leaf", "weight", "row", "far"}
        A result, a number from outside, a weight, many neighbouring weights, or all that is far below the results.
    op : str
        Name of the operation; empty where there is none.
    operands : tuple of Node
        In their order; one that is taken twice stands there twice.
    value : float
        NaN for a row, and for what is far.
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


def nodes_of(walk: Walk, far: Collection[Key] = frozenset()) -> list[Node]:
    """A record of every object, operands before results, with the numbers of now; all results that are `far` are one.

    Raises
    ------
    TracingError
        The graph is being recorded: there are no numbers.
    """
    made = _far_nodes(walk, far) if far else {}
    for key in [key for key in walk.objects if key not in made] if far else walk.objects:
        made[key] = _node(walk.objects[key], tuple([made[k] for k in walk.below[key]]))
    nodes = list(dict.fromkeys(made.values()))
    for node in nodes:
        for operand in dict.fromkeys(node.operands):
            operand.users[node] = None
    return nodes


def _far_nodes(walk: Walk, far: Collection[Key]) -> dict[Key, Node]:
    """Two nodes, for the results and for the numbers among them, after those of all else that they take."""
    results = [key for key in walk.objects if key in far and walk.below[key]]
    numbers = [key for key in walk.objects if key in far and not walk.below[key]]
    taken = dict.fromkeys(k for key in results for k in walk.below[key])
    made = {key: _node(walk.objects[key], ()) for key in taken if key not in far}
    if numbers:
        made |= dict.fromkeys(numbers, Node("leaf", "", walk.objects[numbers[-1]], math.nan, count=len(numbers)))
    operands = tuple(dict.fromkeys(made.values()))
    reached = any(walk.objects[key].grad for key in results)  # type: ignore[union-attr]
    one = Node("far", "", walk.objects[results[-1]], math.nan, operands, math.nan if reached else None,
               flows=(True,) * len(operands), count=len(results))  # fmt: skip
    return made | dict.fromkeys(results, one)


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
