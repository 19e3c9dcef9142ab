"""The order of a program's rows: by level, and rows that can run together side by side.

* Layers that share their weights: a convolution is recorded as one layer per position of a picture. The search looks
  for this structure, not for a module: weights that several tuples of inputs use at one level.
* Gathers run together if they read columns for one id, or the same columns of a table for several ids.
* Sums run as one instruction if they have equally many terms and the same constants.
* A scale and a shift per feature, ``g*x + b``, would be one layer of one row each. As sums with weights at any index
  they run together; the bias becomes the weight of a row of ones.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .passes import Without, without_biases
from .program import Instruction
from .tape import Memo, Node, Tape, Terms, moved, terms_of


def is_layer(terms: Terms) -> bool:
    """Return whether a weighted sum may be a row of a layer: its weights are neighbours in theta, without offset."""
    return terms.kind == "param" and isinstance(terms.weights, range) and terms.offset == 0.0 and len(terms.weights) > 0


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a weighted sum: the group of layers with the same weights, the row in a layer, and the layer."""

    group: int
    output: int
    position: int


def shared_layers(nodes: Sequence[Node], level: Sequence[int], gets: Sequence[bool]) -> dict[int, Place]:
    """Return the place of every row of two or more layers that share their weights, at one level.

    Either all rows of a group get a gradient (`gets`), or none.
    """
    layers: dict[tuple[int, bool, tuple[int, ...]], list[int]] = {}
    for row, node in enumerate(nodes):
        if node.terms is not None and is_layer(node.terms):
            layers.setdefault((level[row], gets[row], node.args), []).append(row)
    groups: dict[tuple[int, ...], list[list[int]]] = {}
    for (depth, gets_one, _), rows in layers.items():
        rows.sort(key=lambda row: terms_of(nodes[row]).weights[0])
        key = _weights(nodes, rows)
        if key is not None:
            groups.setdefault((depth, int(gets_one), *key), []).append(rows)
    found = {}
    several = [members for members in groups.values() if len(members) > 1]
    for group, members in enumerate(several):
        for position, rows in enumerate(members):
            for output, row in enumerate(rows):
                found[row] = Place(group, output, position)
    return found


def _weights(nodes: Sequence[Node], rows: list[int]) -> tuple[int, ...] | None:
    """Return outputs, inputs, first weight and first bias of a layer; None if its weights are not one whole block."""
    first, n = terms_of(nodes[rows[0]]), len(nodes[rows[0]].args)
    for k, row in enumerate(rows):
        terms = terms_of(nodes[row])
        bias = None if first.bias is None else first.bias + k
        if terms.weights[0] != first.weights[0] + k * n or terms.bias != bias:
            return None
    return len(rows), n, first.weights[0], -1 if first.bias is None else first.bias


def gather_places(nodes: Sequence[Node], level: Sequence[int], gets: Sequence[bool]) -> dict[int, Place]:
    """Return the place of every gather: ``output`` counts the ids of a group, ``position`` the columns.

    Groups have the numbers -1, -2, ... The rows of a group are at one level, and all get a gradient (`gets`) or none.
    No group has a weight twice for one id.
    """
    columns: dict[tuple[object, ...], list[int]] = defaultdict(list)
    times: dict[tuple[object, ...], int] = defaultdict(int)
    for row, node in enumerate(nodes):
        if node.code == "gather":
            key = (level[row], gets[row], node.table, node.args[0])
            again = times[(*key, node.index)]
            times[(*key, node.index)] += 1
            columns[(*key, again)].append(row)
    groups: dict[tuple[object, ...], list[list[int]]] = defaultdict(list)
    for (depth, gets_one, table, *_), rows in columns.items():
        rows.sort(key=lambda row: nodes[row].index)
        groups[(depth, gets_one, table, tuple([nodes[row].index for row in rows]))].append(rows)
    return {
        row: Place(-1 - group, output, position)
        for group, ids in enumerate(groups.values())
        for output, rows in enumerate(ids)
        for position, row in enumerate(rows)
    }


def gather_instruction(nodes: Sequence[Node], row: int, count: int, positions: int) -> Instruction:
    """Return the instruction of a group of `count` rows from `row` on, with `positions` ids."""
    width = count // positions
    ids = np.array([node.args[0] for node in nodes[row : row + count : width]], np.int64)
    weights = np.array([node.index for node in nodes[row : row + width]], np.int64)
    return Instruction("gather", row, count, ids[None], weights=weights, table=nodes[row].table)


def together(node: Node, terms: Terms) -> tuple[object, ...]:
    """Return a key: sums of one level with equal keys can become one instruction."""
    numbers = terms.weights if terms.kind == "const" else ()
    return terms.kind, len(node.args), numbers, terms.offset, terms.bias


def sums(nodes: Sequence[Node], row: int) -> Instruction:
    """Return the instruction of sums that run together; `row` is its first result row."""
    first, count = terms_of(nodes[0]), len(nodes)
    bias = -1 if first.bias is None else first.bias
    args = np.array([node.args for node in nodes], np.int64).reshape(count, -1)
    if first.kind == "const":
        return Instruction(
            "weighted", row, count, args, numbers=np.array(first.weights, float), bias=bias, offset=first.offset
        )
    others = np.array([terms_of(node).weights for node in nodes], np.int64).ravel()
    if first.kind == "row":
        return Instruction("product", row, count, np.stack([others, args.ravel()]), bias=bias, offset=first.offset)
    return Instruction("dot", row, count, args, weights=others, bias=bias, offset=first.offset)


_FIRST = {"input": 0, "const": 1, "param": 2, "buffer": 2, "mask": 3}
"""Rows without operands come first, in this order."""


def ordered(tape: Tape, gets: list[bool]) -> tuple[Tape, list[bool], list[int], dict[int, Place]]:
    """Return the tape sorted by level, then so that rows of one operation or layer are neighbours.

    Rows with and without a gradient do not run together: their instruction would multiply the zeros of the latter.
    Layers that share weights are sorted by output, then position; gathers by id, then column. Also returns, in the new
    order: `gets`, a group number for each row (rows with equal numbers may run together), and the places of rows of
    layers that share weights and of gathers.
    """
    level = levels(tape.nodes)
    shared = shared_layers(tape.nodes, level, gets) | gather_places(tape.nodes, level, gets)
    keys = np.array(_keys(tape.nodes, gets, level, shared), np.int64).reshape(-1, 4)
    order = np.lexsort(keys.T[::-1])  # stable: rows with one key keep their order
    begins = np.diff(keys[order, :2], axis=0, prepend=-1).any(1)
    groups: list[int] = np.cumsum(begins).tolist()
    if np.array_equal(order, np.arange(len(order))):
        return tape, gets, groups, shared
    inverse = np.empty_like(order)
    inverse[order] = np.arange(len(order))
    row_of: list[int] = inverse.tolist()
    memo: Memo = {}
    olds: list[int] = order.tolist()
    nodes = [moved(tape.nodes[old], row_of, memo) for old in olds]
    places = {row_of[row]: place for row, place in shared.items()}
    return tape.rewired(nodes, row_of), [gets[old] for old in olds], groups, places


def _keys(
    nodes: Sequence[Node], gets: Sequence[bool], level: Sequence[int], shared: dict[int, Place]
) -> list[int]:  # fmt: skip
    """Return four sort keys per row: level with class, group, and two for the place in the group."""
    names: dict[object, int] = {}
    same_operands: dict[int, tuple[int, ...]] = {}  # compares a long tuple once, not for each row of its layer
    known: dict[tuple[int, ...], tuple[int, ...]] = {}
    keys: list[int] = []
    for row, node in enumerate(nodes):
        first = _FIRST.get(node.code)
        if first is not None:
            keys += (first, not gets[row], row if first == 1 else node.index, 0)
            continue
        terms, place = node.terms, shared.get(row)
        what: object
        depth, at = 2 * level[row] + 3, (0, 0)
        if place is not None:
            what, at = place.group, (place.output, place.position)
        elif terms is None:
            what, depth = (node.code, len(node.args), gets[row]), depth + 1
        elif not is_layer(terms):
            what = together(node, terms), gets[row]
        else:
            args = same_operands.get(id(node.args))
            if args is None:
                args = same_operands[id(node.args)] = known.setdefault(node.args, node.args)
            what, at = (id(args), len(terms.weights), gets[row]), (terms.weights[0], 0)
        keys += (depth, names.setdefault(what, len(names)), *at)
    return keys


def levels(nodes: Sequence[Node]) -> list[int]:
    """Return the level of each row: one more than the highest level of its operands, 0 without operands."""
    found: list[int] = []
    known: dict[int, int] = {}  # levels of operand tuples that several nodes share
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
        if operands is node.args:  # the id of a temporary tuple may be used again
            known[id(operands)] = found
    return found


SMALL = 8
"""The most terms of a small sum; for longer ones the kernels of layers are as fast."""


def lonely_sums(tape: Tape) -> Tape:
    """Return the tape with equal forms for small sums of one level that share neither weights nor operands."""
    alone = list(_lonely_rows(tape))
    level = levels(tape.nodes) if alone else []
    kinds = [(level[row], len(tape.nodes[row].args), terms_of(tape.nodes[row]).bias is None) for row in alone]
    several = Counter(kinds)
    found: list[Without] = []
    for row, kind in zip(alone, kinds, strict=True):
        if several[kind] > 1:
            node, terms = tape.nodes[row], terms_of(tape.nodes[row])
            one, bias = ((), ()) if terms.bias is None else ((len(tape.nodes),), (terms.bias,))
            found.append((row, (*node.args, *one), (*terms.weights, *bias)))
    return without_biases(tape, found)


def _lonely_rows(tape: Tape) -> Iterator[int]:
    """Yield the rows of such sums, without results of modules: an inspector may look up the inputs of their weights."""
    taps = {row for _, rows in tape.taps for row in rows}
    every = ((row, node.terms) for row, node in enumerate(tape.nodes) if node.args)
    sums = [row for row, terms in every if terms is not None and terms.kind == "param"]
    operands = Counter(id(tape.nodes[row].args) for row in sums)
    known: dict[tuple[int, ...], int] = {}
    same = Counter(known.setdefault(tape.nodes[row].args, row) for row in sums if len(tape.nodes[row].args) <= SMALL)
    weights = Counter(terms_of(tape.nodes[row]).weights[0] for row in sums)
    for row in sums:
        node, terms = tape.nodes[row], terms_of(tape.nodes[row])
        if row in taps or len(node.args) > SMALL or operands[id(node.args)] > 1:
            continue
        single = same[known[node.args]] == 1 and weights[terms.weights[0]] == 1
        if single if isinstance(terms.weights, range) else terms.bias is not None:
            yield row
