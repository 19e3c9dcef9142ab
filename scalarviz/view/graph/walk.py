"""From results back to all that they were computed from: the objects as they are, before a record is made of any.

A graph of a million numbers is walked in a second or two; to make a `Node` of each costs ten times that, and a picture
shows a hundred of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from ...scalar.sums import Dot, Row, Total
from ...scalar.value import Value
from ...scalar.weight import Weight

Key = Hashable
"""Equal for what is one node, see `key_of`."""
Below = tuple["Value | Row", ...]
LASTING = frozenset((Value, Dot, Total))
"""What the graph itself holds, so that its id is its key; asked first, since nearly all are of them."""


@dataclass(frozen=True, slots=True, eq=False)
class Walk:
    """The objects of a graph.

    Attributes
    ----------
    objects : dict of Key to Value or Row
        Operands before results.
    below : dict of Key to tuple of Key
        The operands of each, in their order; one that is taken twice stands there twice. These keys are in no order.
    """

    objects: dict[Key, Value | Row]
    below: dict[Key, tuple[Key, ...]]


def key_of(value: Value | Row) -> Key:
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


def walked(roots: Sequence[Value], unfold: frozenset[str], long: int, most: int | None = None) -> Walk | None:
    """Everything that leads to `roots`.

    Parameters
    ----------
    roots : sequence of Value
    unfold : set of str
        Names of rows of weights that are wanted one by one.
    long : int
        More weights of a row than this are one object.
    most : int, optional
        None is returned as soon as there are more objects than this.
    """
    objects: dict[Key, Value | Row] = {}
    below: dict[Key, tuple[Key, ...]] = {}
    stack: list[Value | Row] = list(reversed(roots))
    while stack:
        value = stack[-1]
        key = id(value) if type(value) in LASTING else key_of(value)
        if key in below:  # its operands were all met
            stack.pop()
            if key not in objects:
                objects[key] = value
            continue
        if most is not None and len(below) >= most:
            return None
        parents = value._parents if type(value) is Value else _below(value, unfold, long)
        keys = below[key] = tuple([id(p) if type(p) in LASTING else key_of(p) for p in parents])
        for k in range(len(keys) - 1, -1, -1):
            if keys[k] not in below:
                stack.append(parents[k])
    return Walk(objects, below)


def _below(value: Value | Row, unfold: frozenset[str], long: int) -> Below:
    """The operands; many neighbouring weights are one."""
    if isinstance(value, Row):
        return ()
    if isinstance(value, Dot):
        weights, bias = value.weights, value.bias
        return (
            *(_each(weights, unfold, long) if isinstance(weights, Row) else weights),
            *value.xs,
            *(_each(bias, unfold, long) if isinstance(bias, Row) else () if bias is None else (bias,)),
        )
    if isinstance(value, Total):
        return _each(value.row, unfold, long)
    return value.parents


def _each(row: Row, unfold: frozenset[str], long: int) -> Below:
    whole = row.length > long and not (unfold and row_name(row) in unfold)
    return (row,) if whole else tuple(row.weights())
