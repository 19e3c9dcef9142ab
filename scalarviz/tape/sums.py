"""Finding sums: expressions of plain operators become as few weighted sums as a layer of the library records.

``w[0]*x[0] + w[1]*x[1] + b`` becomes a sum with parameters as weights (a row of a layer). ``a*b + c*d`` becomes a sum
of products of rows, ``x + y + z`` a sum with constants as weights. In a residual, ``w*x + ... + r``, each part is found
and the parts are added. If nothing is found, a tree stays as the user wrote it, with its order of additions.

First, the tree of additions below a row is read as a list of parts. It ends at rows that another node reads, so inner
nodes have one reader. Nothing is multiplied out: ``c*(a - b)`` and ``c*a - c*b`` differ if a and b are close.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from math import copysign
from typing import NamedTuple

from .passes import as_range, readers_of, rebuild, runs, spliced, squared_difference
from .tape import Node, Tape, Terms, terms_of

FACTORS = 1e-30, 1e30
"""Limits of a constant that may become a weight of a sum; its inverse is a float32 number too."""


class Weighted(NamedTuple):
    """``theta[weight]`` times the row `x`, at place `at` of the sum; `row` is the product."""

    at: int
    weight: int
    x: int
    row: int


class Pair(NamedTuple):
    """The row `a` times the row `b`; `row` is the product."""

    at: int
    a: int
    b: int
    row: int


class Plain(NamedTuple):
    """`number` times the row `x`; `row` is the product, with the opposite sign if `turned`."""

    at: int
    number: float
    x: int
    row: int
    turned: bool = False


class Bias(NamedTuple):
    """The parameter ``theta[weight]``; `row` is its row."""

    at: int
    weight: int
    row: int


@dataclass(slots=True)
class Side:
    """The parts that a sum adds, or those that it subtracts."""

    weighted: list[Weighted] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)
    squares: list[Plain] = field(default_factory=list)  # squared differences, which may become a squared error
    plain: list[Plain] = field(default_factory=list)
    biases: list[Bias] = field(default_factory=list)
    # places and rows of sums with parameters as weights that are already one node
    layers: list[tuple[int, int]] = field(default_factory=list)


@dataclass(slots=True)
class Sum:
    """A tree of additions below `row`: ``offset`` plus the parts of `added`, minus those of `subtracted`."""

    row: int
    added: Side = field(default_factory=Side)
    subtracted: Side = field(default_factory=Side)
    offset: float = -0.0  # the sum of its constants; without any, what leaves even -0.0 as it is
    leaves: int = 0  # the number of parts, without constants
    zeros: bool = False  # whether a constant is 0, such as the start of Python's `sum`


def typed_sums(tape: Tape) -> list[Sum]:
    """Return every tree of additions, and every product of a parameter and a row outside them, last first."""
    reader = _Reader(tape)
    found: list[Sum] = []
    for row in range(len(tape.nodes) - 1, -1, -1):
        node = tape.nodes[row]
        if row in reader.done:
            continue
        if node.code in ("add", "sub") or (node.code == "mul" and reader.product(node) is not None):
            found.append(reader.read(row))
    return found


class _Reader:
    def __init__(self, tape: Tape) -> None:
        self.nodes = tape.nodes
        self.uses = readers_of(tape)
        self.done: set[int] = set()
        """Rows that are only part of a sum."""

    def read(self, top: int) -> Sum:
        """Return the tree of additions below `top`."""
        found = Sum(top)
        stack = [(top, 1)]
        while stack:
            row, sign = stack.pop()
            node = self.nodes[row]
            if row == top or self.uses[row] == 1:
                self.done.add(row)
                if node.code in ("add", "sub"):
                    a, b = node.args
                    stack += [(b, sign if node.code == "add" else -sign), (a, sign)]
                    continue
                if node.code == "neg":
                    stack.append((node.args[0], -sign))
                    continue
            self._leaf(found, row, node, sign)
        return found

    def _leaf(self, found: Sum, row: int, node: Node, sign: int) -> None:
        side, at = found.added if sign > 0 else found.subtracted, found.leaves
        if node.code == "const":
            found.offset += sign * node.number
            found.zeros = found.zeros or node.number == 0.0
            return
        found.leaves += 1
        if node.code == "param":
            side.biases.append(Bias(at, node.index, row))
        elif row != found.row and self.uses[row] > 1:
            side.plain.append(Plain(at, 1.0, row, row))
        elif not self._part(found, side, row, node, sign):
            self.done.discard(row)
            side.plain.append(Plain(at, 1.0, row, row))

    def _part(self, found: Sum, side: Side, row: int, node: Node, sign: int) -> bool:
        """Add a row that no other node reads to its list; False if it stays a plain operand."""
        at = found.leaves - 1
        if node.code == "mul":
            product, part = self.product(node), scaled(self.nodes, node)
            if product is not None:
                side.weighted.append(Weighted(at, *product, row))
            elif part is not None:
                self._scaled(found, sign, Plain(at, *part, row))
            else:
                side.pairs.append(Pair(at, node.args[0], node.args[1], row))
        elif node.code == "div" and (part := scaled(self.nodes, node)) is not None:
            self._scaled(found, sign, Plain(at, *part, row))
        elif node.code == "square":
            if self.difference(row):
                side.squares.append(Plain(at, 1.0, row, row))
            else:
                side.pairs.append(Pair(at, node.args[0], node.args[0], row))
        elif node.terms is not None and node.terms.kind == "param":
            side.layers.append((at, row))
        else:
            return False
        return True

    def _scaled(self, found: Sum, sign: int, part: Plain) -> None:
        """Add a constant times a row; a negative constant moves it to the other side."""
        if part.number < 0:
            sign, part = -sign, part._replace(number=-part.number, turned=True)
        side = found.added if sign > 0 else found.subtracted
        (side.squares if self.difference(part.x) else side.plain).append(part)

    def product(self, node: Node) -> tuple[int, int] | None:
        """Return (parameter, row) of a product with one parameter, else None."""
        a, b = node.args
        for p, x in ((a, b), (b, a)):
            if self.nodes[p].code == "param" and self.nodes[x].code not in ("param", "const"):
                return self.nodes[p].index, x
        return None

    def difference(self, row: int) -> bool:
        """Return whether a row is the square of a difference, and no other node reads either."""
        return self.uses[row] <= 1 and squared_difference(self.nodes, self.uses, row) is not None


def scaled(nodes: tuple[Node, ...], node: Node) -> tuple[float, int] | None:
    """Return (factor, row) of a product or quotient of a row and a constant within `FACTORS`, else None."""
    if node.code not in ("mul", "div"):
        return None
    a, b = node.args
    smallest, largest = FACTORS
    for c, x in ((b, a), (a, b)) if node.code == "mul" else ((b, a),):
        number = nodes[c].number
        if nodes[c].code == "const" and nodes[x].code != "const" and smallest < abs(number) < largest:
            return (number if node.code == "mul" else 1.0 / number), x
    return None


MEAN_RUN = 4
"""A sum is split at gaps in its parameters if the pieces have this mean length: two layers in one sum become two."""
FEWEST_PLAIN = 3
"""The least rows of a sum for an instruction of its own; two rows are added as fast by an addition."""
SEVERAL = 3
"""At least this many sums of equally many squared differences run as products of rows; fewer as squared errors."""


def weighted_sums(tape: Tape) -> Tape:
    """Return the tape with sums of plain operators as dots."""
    found = typed_sums(tape)
    return _Builder(tape, found).tape() if found else tape


def means(tape: Tape) -> Tape:
    """Return the tape with the constant factor of a sum as its weights, if all its weights are equal."""
    uses = readers_of(tape)
    changed = {}
    for row, node in enumerate(tape.nodes):
        factor = scaled(tape.nodes, node)
        below = None if factor is None or uses[factor[1]] > 1 else tape.nodes[factor[1]]
        terms = None if below is None else below.terms
        if factor is None or below is None or terms is None or terms.kind != "const" or not terms.weights:
            continue
        if terms.bias is None and terms.offset == 0.0 and len(set(terms.weights)) == 1:
            weights = (terms.weights[0] * factor[0],) * len(terms.weights)
            changed[row] = replace(below, terms=replace(terms, weights=weights))
    return rebuild(tape, changed) if changed else tape


class _Part(NamedTuple):
    """One part of a rewritten sum: a new node, or an existing row."""

    at: int
    sign: int
    content: Node | int


class _Builder:
    def __init__(self, tape: Tape, found: list[Sum]) -> None:
        self.old, self.nodes, self.sums = tape, tape.nodes, found
        self.changed: dict[int, Node] = {}
        self.made: list[Node] = []
        self.before: dict[int, list[int]] = {}
        self.constants: dict[float, int] = {}
        self.operands: dict[tuple[int, ...], tuple[int, ...]] = {}
        self.uses = readers_of(tape)
        sides = [side for s in found for side in (s.added, s.subtracted)]
        self.squares = Counter(len(side.squares) for side in sides)
        self.biases: dict[object, set[int]] = {}
        """For each range of weights, the biases that sums over it have."""
        for side in sides:
            self._propose(side)

    def tape(self) -> Tape:
        """Return the tape with every sum in its new form."""
        for found in self.sums:
            self._build(found)
        return spliced(self.old, self.changed, self.made, self.before) if self.changed else self.old

    # ---- which bias goes with which weights

    def _propose(self, side: Side) -> None:
        side.weighted = _sorted(side.weighted)
        if side.weighted or side.layers:
            key = self._key(side)
            self.biases.setdefault(key, set()).add(side.biases[0].weight if side.biases else -1)

    def _key(self, side: Side) -> object:
        if side.weighted:
            return side.weighted[0].weight, side.weighted[-1].weight
        weights = terms_of(self.nodes[side.layers[0][1]]).weights
        return weights[0], weights[-1]

    def _bias(self, side: Side) -> Bias | None:
        """Return the bias that the first weighted sum of a side includes, or None.

        Layers that share their weights run together only if they have the same biases.
        """
        if not side.biases or not (side.weighted or side.layers) or len(self.biases[self._key(side)]) > 1:
            return None
        taken = not side.weighted and terms_of(self.nodes[side.layers[0][1]]).bias is not None
        return None if taken else side.biases[0]

    # ---- one sum

    def _build(self, found: Sum) -> None:
        parts: list[_Part] = []
        gained = found.zeros and found.leaves > 1
        for sign, side in ((1, found.added), (-1, found.subtracted)):
            before = len(parts)
            parts += self._parts(sign, side)
            gained = gained or any(isinstance(part.content, Node) for part in parts[before:])
        alone = len(parts) == 1 and parts[0].sign > 0
        if not gained and not (alone and found.offset == 0.0):
            return
        parts.sort(key=lambda part: part.at)
        parts = self._with_offset(found, parts)
        self._join(found.row, parts)

    def _parts(self, sign: int, side: Side) -> list[_Part]:
        bias = self._bias(side)
        parts = self._dots(sign, side, bias)
        parts += [_Part(b.at, sign, b.row) for b in side.biases if b is not bias]
        pairs, plain = list(side.pairs), list(side.plain)
        parts += self._squares(sign, side.squares, pairs, plain)
        if len(pairs) > 1:
            terms = Terms("row", tuple([p.a for p in pairs]))
            parts.append(_Part(pairs[0].at, sign, Node("dot", tuple([p.b for p in pairs]), terms=terms)))
        else:
            parts += [_Part(p.at, sign, p.row) for p in pairs]
        return parts + self._plain(sign, plain, FEWEST_PLAIN)

    def _dots(self, sign: int, side: Side, bias: Bias | None) -> list[_Part]:
        """Return the sums whose weights are parameters."""
        parts = []
        index = None if bias is None else bias.weight
        for terms in _runs(side.weighted):
            xs, weights = tuple([t.x for t in terms]), as_range([t.weight for t in terms])
            node = Node("dot", self.operands.setdefault(xs, xs), terms=Terms("param", weights, index))
            parts.append(_Part(terms[0].at, sign, node))
            index = None
        for at, row in side.layers:
            node, own = self.nodes[row], terms_of(self.nodes[row])
            taken = index is not None and own.bias is None
            parts.append(_Part(at, sign, replace(node, terms=replace(own, bias=index)) if taken else row))
            index = None if taken else index
        return parts

    def _squares(self, sign: int, squares: list[Plain], pairs: list[Pair], plain: list[Plain]) -> list[_Part]:
        """Return sums of squared differences, one per factor. If there are many, extend `pairs` and `plain` instead."""
        if self.squares[len(squares)] >= SEVERAL and len(squares) > 1:
            for s in squares:
                (below,) = self.nodes[s.x].args
                if s.number == 1.0 and not s.turned:
                    pairs.append(Pair(s.at, below, below, s.row))
                else:
                    plain.append(s)
            return []
        groups: dict[float, list[Plain]] = {}
        for s in squares:
            groups.setdefault(s.number, []).append(s)
        return [part for group in groups.values() for part in self._plain(sign, group, 2)]

    def _plain(self, sign: int, plain: list[Plain], fewest: int) -> list[_Part]:
        """Return the rows as one sum, or each by itself if they are few."""
        if len(plain) < fewest:
            return [_Part(p.at, -sign if p.turned else sign, p.row) for p in plain]
        terms = Terms("const", tuple([p.number for p in plain]))
        return [_Part(plain[0].at, sign, Node("dot", tuple([p.x for p in plain]), terms=terms))]

    def _with_offset(self, found: Sum, parts: list[_Part]) -> list[_Part]:
        """Return the parts with the constants of the sum: as the offset of a part if one takes it, else as a row."""
        content = parts[0].content
        terms = (content if isinstance(content, Node) else self.nodes[content]).terms
        single = len(parts) == 1 and terms is not None and terms.bias is None and len(terms.weights) == 1
        # beside -0.0 a zero counts
        if found.offset == 0.0 and not (single and copysign(1.0, found.offset) > 0):
            return parts
        for k, part in enumerate(parts):
            if part.sign > 0 and isinstance(part.content, Node) and self._takes_offset(part.content, len(parts)):
                terms = replace(terms_of(part.content), offset=found.offset)
                return [*parts[:k], part._replace(content=replace(part.content, terms=terms)), *parts[k + 1 :]]
        if found.offset not in self.constants:
            self.constants[found.offset] = self._add_row(0, Node("const", number=found.offset))
        return [*parts, _Part(found.leaves, 1, self.constants[found.offset])]

    def _takes_offset(self, node: Node, parts: int) -> bool:
        terms = node.terms
        if terms is None or any(self.nodes[x].code == "square" for x in node.args):
            return False  # it may become a squared error
        return terms.kind != "param" or (parts == 1 and not isinstance(terms.weights, range))

    def _add_row(self, before: int, node: Node) -> int:
        """Add a new row before an old one; return the new row."""
        row = len(self.nodes) + len(self.made)
        self.made.append(node)
        self.before.setdefault(before, []).append(row)
        return row

    def _join(self, top: int, parts: list[_Part]) -> None:
        """Add and subtract the parts one after the other; the last result is at `top`."""
        first = next((part for part in parts if part.sign > 0), parts[0])
        rest = [part for part in parts if part is not first]
        if first.sign > 0 and not rest:
            self._replace_top(top, first.content)
            return
        row, negative = self._row(top, first.content), first.sign < 0  # only subtractions: add all, then negate
        for k, part in enumerate(rest):
            node = Node("add" if negative or part.sign > 0 else "sub", (row, self._row(top, part.content)))
            if k == len(rest) - 1 and not negative:
                self.changed[top] = node
                return
            row = self._add_row(top, node)
        self.changed[top] = Node("neg", (row,))

    def _replace_top(self, top: int, what: Node | int) -> None:
        if isinstance(what, Node):
            self.changed[top] = what
        elif self.uses[what] == 1 and self.nodes[what].code in ("mul", "dot"):  # ``0 + a*b``, not ``relu(x) + 0``
            self.changed[top] = self.nodes[what]

    def _row(self, top: int, what: Node | int) -> int:
        return what if isinstance(what, int) else self._add_row(top, what)


def _sorted(terms: list[Weighted]) -> list[Weighted]:
    """Return terms in the order of their weights, if these are neighbours and so a row of a layer."""
    ordered = sorted(terms, key=lambda t: t.weight)
    beside = all(t.weight == ordered[0].weight + k for k, t in enumerate(ordered))
    return ordered if beside else terms


def _runs(terms: list[Weighted]) -> list[list[Weighted]]:
    """Return terms split where the weights are not neighbours; one list if there would be many short pieces."""
    found = runs(terms, lambda a, b: b.weight == a.weight + 1)
    return found if len(found) * MEAN_RUN <= len(terms) else ([terms] if terms else [])
