"""The order of a program's rows: by level, and what can run together side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .gathers import gather_places
from .shared import Place, is_layer, shared_layers
from .tape import Memo, Node, Tape, moved
from .together import together

_FIRST = {"input": 0, "const": 1, "param": 2, "buffer": 2, "mask": 3}
"""What needs nothing stands in front, in this order."""


def ordered(tape: Tape, gets: list[bool]) -> tuple[Tape, list[bool], list[int], dict[int, Place]]:
    """Sort by level, then by what can run together: rows of one operation or layer become neighbours.

    Rows that get a gradient and rows that get none do not run together: their instruction would multiply the zeros of
    the latter. Layers that share weights are sorted by output, then position, gathers by id, then column.

    Returns
    -------
    tape : Tape
    gets, level : list
        Which rows get a gradient, and their levels, in the new order.
    shared : dict of int to Place
        The places of the rows of layers that share weights, and of gathers.
    """
    level = levels(tape.nodes)
    shared = shared_layers(tape.nodes, level, gets) | gather_places(tape.nodes, level, gets)
    keys = np.array(_keys(tape.nodes, gets, level, shared), np.int64).reshape(-1, 4)
    order = np.lexsort(keys.T[::-1])  # stable: rows with one key keep their order
    if np.array_equal(order, np.arange(len(order))):
        return tape, gets, level, shared
    inverse = np.empty_like(order)
    inverse[order] = np.arange(len(order))
    row_of: list[int] = inverse.tolist()
    memo: Memo = {}
    olds: list[int] = order.tolist()
    nodes = [moved(tape.nodes[old], row_of, memo) for old in olds]
    places = {row_of[row]: place for row, place in shared.items()}
    return tape.rewired(nodes, row_of), [gets[old] for old in olds], [level[old] for old in olds], places


def _keys(
    nodes: Sequence[Node], gets: Sequence[bool], level: Sequence[int], shared: dict[int, Place]
) -> list[int]:  # fmt: skip
    """Four numbers a row by which they are sorted: class and level, what runs together, place in it."""
    names: dict[object, int] = {}
    same_operands: dict[int, tuple[int, ...]] = {}  # a long tuple is compared once, not for each row of its layer
    known: dict[tuple[int, ...], tuple[int, ...]] = {}
    keys: list[int] = []
    for row, node in enumerate(nodes):
        first = _FIRST.get(node.code)
        terms = node.terms
        if first is not None:
            keys += (first, not gets[row], row if first == 1 else node.index, 0)
        elif node.table is not None:
            place = shared[row]
            same = names.setdefault(("shared", place.group), len(names))
            keys += (2 * level[row] + 3, same, place.output, place.position)
        elif terms is None:
            same = names.setdefault((node.code, len(node.args), gets[row]), len(names))
            keys += (2 * level[row] + 4, same, 0, 0)
        elif (found := shared.get(row)) is not None:
            same = names.setdefault(("shared", found.group), len(names))
            keys += (2 * level[row] + 3, same, found.output, found.position)
        elif not is_layer(terms):
            same = names.setdefault((together(node, terms), gets[row]), len(names))
            keys += (2 * level[row] + 3, same, 0, 0)
        else:
            args = same_operands.get(id(node.args))
            if args is None:
                args = same_operands[id(node.args)] = known.setdefault(node.args, node.args)
            same = names.setdefault((id(args), len(terms.weights), gets[row]), len(names))
            keys += (2 * level[row] + 3, same, terms.weights[0], 0)
    return keys


def levels(nodes: Sequence[Node]) -> list[int]:
    """The depth of each row: one more than that of its deepest operand, 0 without any."""
    found: list[int] = []
    known: dict[int, int] = {}  # of tuples of operands that several nodes share
    for node in nodes:
        args = node.args
        if not args:
            found.append(0)
        elif node.terms is None and len(args) == 2:
            a, b = found[args[0]], found[args[1]]
            found.append(1 + (a if a > b else b))
        else:
            found.append(_level_of_many(node, found, known))
    return found


def _level_of_many(node: Node, level: Sequence[int], known: dict[int, int]) -> int:
    operands = node.operands()
    found = known.get(id(operands))
    if found is None:
        found = 1 + max([level[row] for row in operands])
        if operands is node.args:  # else a tuple of the moment, whose id another one may get
            known[id(operands)] = found
    return found
