"""Passes: plain functions from tape to tape. Each keeps the meaning and makes the tape cheaper to run."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import IntEnum
from itertools import islice

from ..scalar.kernel import Kernel, kernel
from ..scalar.largest import MAX
from .tape import Kind, Memo, Node, Tape, Terms, moved


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
        elif node.code == "mask":
            own = inputs | parameters  # another one at every step: neither encoded nor kept
        elif node.code in ("param", "gather") or (node.terms is not None and reads_theta(node.terms)):
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
        elif node.code in ("input", "param", "mask", "dot"):
            continue
        elif node.code == "gather":
            if node.args[0] in numbers:
                found = changed[row] = _gathered(node, numbers[node.args[0]])
                if found.code == "const":
                    numbers[row] = found.number
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

    A dot is symmetric, so its inputs may turn out to be the weights.
    """
    changed = {}
    for row, node in enumerate(tape.nodes):
        if node.terms is not None and node.terms.kind == "row":
            sides = (tuple(node.terms.weights), node.args)
            for weights, xs in (sides, sides[::-1]):
                kind, found = _as_weights(tape, weights)
                if kind != "row":
                    changed[row] = replace(node, args=xs, terms=replace(node.terms, kind=kind, weights=found))
                    break
    return rebuild(tape, changed) if changed else tape


def _as_weights(tape: Tape, rows: tuple[int, ...]) -> tuple[Kind, tuple[float, ...]]:
    nodes = [tape.nodes[r] for r in rows]
    if all(n.code == "param" for n in nodes):
        return "param", tuple(n.index for n in nodes)
    if all(n.code == "const" for n in nodes):
        return "const", tuple(n.number for n in nodes)
    return "row", rows


def weighted_sums(tape: Tape) -> Tape:
    """Turn ``w1*x1 + w2*x2 + ... + b`` written with plain operators into dots.

    Sums of products with parameters become one dot, those with constants another; what is neither stays.
    """
    finder = _Sums(tape)
    changed: dict[int, Node] = {}
    for row in finder.tops():
        node = finder.as_dot(row)
        if node is not None:
            changed[row] = node
    return rebuild(tape, changed) if changed else tape


class _Sums:
    """Trees of additions whose inner nodes have a single user."""

    def __init__(self, tape: Tape) -> None:
        self.nodes = tape.nodes
        self.uses: Counter[int] = Counter(tape.roots())
        for node in tape.nodes:
            self.uses.update(node.operands())

    def tops(self) -> list[int]:
        """Rows of the roots: every sum or product that is no inner node of another tree."""
        inner = {
            arg
            for node in self.nodes
            if node.code == "add"
            for arg in node.args
            if self.nodes[arg].code == "add" and self.uses[arg] == 1
        }
        return [r for r, node in enumerate(self.nodes) if node.code in ("add", "mul") and r not in inner]

    def as_dot(self, top: int) -> Node | None:
        """The dot that equals the tree below `top`, or None if it is not all products with parameters."""
        weights: list[int] = []
        xs: list[int] = []
        biases: list[int] = []
        offset = 0.0
        stack = [top]
        while stack:
            row = stack.pop()
            node = self.nodes[row]
            single = row == top or self.uses[row] == 1
            product = self.product(node) if node.code == "mul" and single else None
            if node.code == "add" and single:
                stack.extend(reversed(node.args))
            elif product is not None:
                weights.append(product[0])
                xs.append(product[1])
            elif node.code == "dot" and single and node.terms is not None and node.terms.kind == "param":
                weights.extend(node.terms.weights)
                xs.extend(node.args)
                biases.extend([] if node.terms.bias is None else [node.terms.bias])
                offset += node.terms.offset
            elif node.code == "param":
                biases.append(node.index)
            elif node.code == "const":
                offset += node.number
            else:
                return None
        if len(biases) > 1 or not weights:
            return None
        bias = biases[0] if biases else None
        return Node("dot", tuple(xs), terms=Terms("param", _range(weights), bias, offset))

    def product(self, node: Node) -> tuple[int, int] | None:
        """(parameter, row) of a product with one parameter, else None."""
        a, b = node.args
        for p, x in ((a, b), (b, a)):
            if self.nodes[p].code == "param" and self.nodes[x].code not in ("param", "const"):
                return self.nodes[p].index, x
        return None


def _range(weights: list[int]) -> tuple[int, ...] | range:
    span = range(weights[0], weights[0] + len(weights))
    return span if weights == list(span) else tuple(weights)
