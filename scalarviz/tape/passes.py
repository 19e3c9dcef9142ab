"""Passes: plain functions from tape to tape. Each keeps the meaning and makes the tape cheaper to run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from enum import IntEnum
from itertools import islice

from ..scalar.kernel import Kernel, kernel
from ..scalar.largest import MAX
from .tape import Kind, Memo, Node, Tape, Terms, moved
from .totals import CODES


class Needs(IntEnum):
    """What a node depends on; decides how often it must be computed."""

    NOTHING = 0  # constant: once
    PARAMETERS = 1  # parameter-only: once a step
    INPUTS = 2  # input-only (frequency encodings): once a data set
    BOTH = 3  # per sample and step


def rebuild(tape: Tape, changed: dict[int, Node]) -> Tape:
    """The tape with some nodes replaced and everything that no root needs left out.

    A replacement may read only rows that stand before the node it replaces.
    """
    nodes: Sequence[Node] = tape.nodes
    if changed:
        nodes = [changed.get(row, node) for row, node in enumerate(nodes)]
    alive = needed(nodes, tape.roots())
    first = alive.find(0)  # up to there every row keeps its number
    if first < 0:
        return replace(tape, nodes=tuple(nodes)) if changed else tape
    kept = list(nodes[:first])
    row_of = list(range(first))
    memo: Memo = {}
    for node, lives in zip(islice(nodes, first, None), islice(alive, first, None), strict=True):
        row_of.append(len(kept))
        if lives:
            kept.append(moved(node, row_of, memo))
    return tape.rewired(kept, row_of)


def needed(nodes: Sequence[Node], roots: Iterable[int]) -> bytearray:
    """A 1 for each row that `roots` are made of, themselves included."""
    alive = bytearray(len(nodes))
    for root in roots:
        alive[root] = 1
    seen: set[int] = set()  # the rows of a layer share one tuple of operands
    for row in range(len(nodes) - 1, -1, -1):
        if not alive[row]:
            continue
        node = nodes[row]
        args = node.args
        if len(args) > 2 or node.terms is not None:
            if id(args) in seen and _plain(node):
                continue
            seen.add(id(args))
            args = node.operands()
        for arg in args:
            alive[arg] = 1
    return alive


def readers_of(tape: Tape) -> list[int]:
    """How many read each row, roots included; of a tuple of operands that many share, two readers are counted."""
    count = [0] * len(tape.nodes)
    for row in tape.roots():
        count[row] += 1
    shared: dict[int, int] = {}
    for node in tape.nodes:
        args = node.args
        if len(args) > 2 or node.terms is not None:
            times = shared.get(id(args), 0) + 1
            shared[id(args)] = times
            if times > 2 and _plain(node):
                continue
            args = node.operands()
        for row in args:
            count[row] += 1
    return count


def spliced(tape: Tape, changed: dict[int, Node], made: Sequence[Node], before: Mapping[int, Sequence[int]]) -> Tape:
    """As :func:`rebuild`, with new rows: ``made[k]`` is row ``len(tape.nodes) + k``.

    New rows stand before the old rows that `before` names, in the order it gives; they and replacements may read each
    other in that order.
    """
    count = len(tape.nodes)
    order: list[int] = []
    for row in range(count):
        order.extend(before.get(row, ()))
        order.append(row)
    row_of = [0] * len(order)
    for place, row in enumerate(order):
        row_of[row] = place
    memo: Memo = {}
    nodes = [
        moved(changed.get(row, tape.nodes[row]) if row < count else made[row - count], row_of, memo) for row in order
    ]
    return rebuild(tape.rewired(nodes, row_of), {})


def share_operands(tape: Tape) -> Tape:
    """Let the sums over the same rows hold one tuple of operands: later passes look at a tuple once."""
    known: dict[tuple[int, ...], tuple[int, ...]] = {}
    same: dict[int, tuple[int, ...]] = {}  # most do already
    nodes = list(tape.nodes)
    for row, node in enumerate(nodes):
        if node.terms is None:
            continue
        args = same.get(id(node.args))
        if args is None:
            args = same[id(node.args)] = known.setdefault(node.args, node.args)
        if args is not node.args:
            nodes[row] = Node(node.code, args, node.index, node.number, node.terms)
    return replace(tape, nodes=tuple(nodes))


def needs(tape: Tape) -> list[Needs]:
    """What each node depends on."""
    found: list[int] = []
    known: dict[int, int] = {}  # of tuples of operands that several nodes share
    inputs, parameters = int(Needs.INPUTS), int(Needs.PARAMETERS)
    for node in tape.nodes:
        own = 0
        if node.code == "input":
            own = inputs
        elif node.code in ("mask", "batch_mean"):
            own = inputs | parameters  # another one at every step: neither encoded nor kept
        elif node.code == "buffer" or reads_parameters(node):
            own = parameters
        if node.args:
            below = known.get(id(node.args)) if _plain(node) else None
            if below is None:
                below = 0
                for row in node.operands():
                    below |= found[row]
                if _plain(node):
                    known[id(node.args)] = below
            own |= below
        found.append(own)
    names = list(Needs)
    return [names[number] for number in found]


def _plain(node: Node) -> bool:
    """Whether the node reads nothing but its ``args``."""
    return node.terms is None or node.terms.kind != "row"


def reads_theta(terms: Terms) -> bool:
    """Whether a weighted sum has a parameter among its weights, or as its bias."""
    return terms.bias is not None or terms.kind == "param"


def reads_parameters(node: Node) -> bool:
    """Whether a node reads parameters by itself, not through its operands."""
    direct = node.code in ("param", "gather") or node.code in CODES
    return direct or (node.terms is not None and reads_theta(node.terms))


def kernel_of(node: Node) -> Kernel:
    """The kernel of a node that is an operation of the table, or the largest of its operands."""
    return MAX if node.code == "max" else kernel(node.code)


def fold_constants(tape: Tape) -> Tape:
    """Compute what depends on nothing; ``x ** 2`` becomes a square."""
    numbers: dict[int, float] = {}
    changed: dict[int, Node] = {}
    for row, node in enumerate(tape.nodes):
        if node.code == "const":
            numbers[row] = node.number
        elif node.code in ("input", "param", "buffer", "mask", "dot") or node.code in CODES:
            continue
        elif node.code == "gather":
            if node.args[0] in numbers:
                found = changed[row] = _gathered(node, numbers[node.args[0]])
                if found.code == "const":
                    numbers[row] = found.number
        elif node.code == "batch_mean":
            if node.args[0] in numbers:
                numbers[row] = numbers[node.args[0]]
                changed[row] = Node("const", number=numbers[row])
        elif node.args[0] in numbers and all(a in numbers for a in node.args):
            numbers[row] = kernel_of(node).value(*(numbers[a] for a in node.args))
            changed[row] = Node("const", number=numbers[row])
        elif node.code == "pow" and numbers.get(node.args[1]) == 2.0:
            changed[row] = Node("square", node.args[:1])
    return rebuild(tape, changed)


def _gathered(node: Node, number: float) -> Node:
    """A gather by a number that is known: the parameter itself, or NaN where the table has none."""
    table = node.table
    assert table is not None
    if not (0 <= number < table.rows and number == int(number)):
        return Node("const", number=math.nan)
    return Node("param", index=node.index + int(number) * table.step)


def plain_dots(tape: Tape) -> Tape:
    """Give every dot the cheapest kind: a row that is a parameter or a constant is no row.

    A dot is symmetric, so its inputs may turn out to be the weights. Parameters that are neighbours become a range.
    """
    changed = {}
    for row, node in enumerate(tape.nodes):
        if node.terms is not None and node.terms.kind == "param" and isinstance(node.terms.weights, tuple):
            span = as_range(node.terms.weights)
            if isinstance(span, range):
                changed[row] = replace(node, terms=replace(node.terms, weights=span))
        if node.terms is not None and node.terms.kind == "row":
            sides = (tuple(node.terms.weights), node.args)
            for weights, xs in (sides, sides[::-1]):
                kind, found = _as_weights(tape, weights)
                if kind != "row":
                    changed[row] = replace(node, args=xs, terms=replace(node.terms, kind=kind, weights=found))
                    break
    return rebuild(tape, changed) if changed else tape


def as_range(weights: Sequence[int]) -> tuple[int, ...] | range:
    """Indices as a range where they count up by one: such weights may be a row of a layer."""
    span = range(weights[0], weights[0] + len(weights)) if weights else range(0)
    return span if weights and all(a == b for a, b in zip(weights, span, strict=True)) else tuple(weights)


def _as_weights(tape: Tape, rows: tuple[int, ...]) -> tuple[Kind, tuple[float, ...] | range]:
    nodes = [tape.nodes[r] for r in rows]
    if all(n.code == "param" for n in nodes):
        return "param", as_range([n.index for n in nodes])
    if all(n.code == "const" for n in nodes):
        return "const", tuple(n.number for n in nodes)
    return "row", rows
