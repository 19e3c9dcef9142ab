"""Reading sums that are typed with plain operators: the tree of additions below a row, as a list of parts.

A tree ends where somebody else reads a row: inner nodes have a single user. Nothing is multiplied out, since
``c*(a - b)`` and ``c*a - c*b`` are not the same where a and b are close.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from .passes import readers_of
from .tape import Node, Tape

FACTORS = 1e-30, 1e30
"""How small and how large a constant may be that is folded into a weighted sum: its inverse is one of float32 too."""


class Weighted(NamedTuple):
    """``theta[weight]`` times the row `x`, at place `at` of the sum, which begins as the row `row`."""

    at: int
    weight: int
    x: int
    row: int


class Pair(NamedTuple):
    """The row `a` times the row `b`; by itself it is the row `row`."""

    at: int
    a: int
    b: int
    row: int


class Plain(NamedTuple):
    """`number` times the row `x`; by itself it is the row `row`, with the other sign if it is `turned`."""

    at: int
    number: float
    x: int
    row: int
    turned: bool = False


class Bias(NamedTuple):
    """``theta[weight]``; `row` is a row with it."""

    at: int
    weight: int
    row: int


@dataclass(slots=True)
class Side:
    """What is added in a sum, or what is subtracted.

    Attributes
    ----------
    weighted, pairs, squares, plain, biases : list
        `squares` are squared differences, which may become a squared error.
    layers : list of (int, int)
        Places and rows of sums with parameters as weights that are recorded as one node.
    """

    weighted: list[Weighted] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)
    squares: list[Plain] = field(default_factory=list)
    plain: list[Plain] = field(default_factory=list)
    biases: list[Bias] = field(default_factory=list)
    layers: list[tuple[int, int]] = field(default_factory=list)


@dataclass(slots=True)
class Sum:
    """A tree of additions: ``offset`` and all that is added, less all that is subtracted.

    Attributes
    ----------
    row : int
        Its root.
    added, subtracted : Side
    offset : float
        The sum of its constants.
    leaves : int
        How many parts it has, constants left out.
    zeros : bool
        Whether a constant is 0, as where Python's ``sum`` begins.
    """

    row: int
    added: Side = field(default_factory=Side)
    subtracted: Side = field(default_factory=Side)
    offset: float = 0.0
    leaves: int = 0
    zeros: bool = False


def typed_sums(tape: Tape) -> list[Sum]:
    """Every tree of additions, and every product of a parameter with a row that stands in none; users come first."""
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
        """Rows that are part of a sum, and nothing by themselves."""

    def read(self, top: int) -> Sum:
        """The tree below `top`."""
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
        """Sort in a row that nobody else reads; False if it is an operand as it stands."""
        at = found.leaves - 1
        if node.code == "mul":
            product, scaled = self.product(node), self.scaled(node)
            if product is not None:
                side.weighted.append(Weighted(at, *product, row))
            elif scaled is not None:
                self._scaled(found, sign, Plain(at, *scaled, row))
            else:
                side.pairs.append(Pair(at, node.args[0], node.args[1], row))
        elif node.code == "div" and (scaled := self.scaled(node)) is not None:
            self._scaled(found, sign, Plain(at, *scaled, row))
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
        """A constant times a row: a negative one changes the side."""
        if part.number < 0:
            sign, part = -sign, part._replace(number=-part.number, turned=True)
        side = found.added if sign > 0 else found.subtracted
        (side.squares if self.difference(part.x) else side.plain).append(part)

    def product(self, node: Node) -> tuple[int, int] | None:
        """(parameter, row) of a product with one parameter, else None."""
        a, b = node.args
        for p, x in ((a, b), (b, a)):
            if self.nodes[p].code == "param" and self.nodes[x].code not in ("param", "const"):
                return self.nodes[p].index, x
        return None

    def scaled(self, node: Node) -> tuple[float, int] | None:
        """(factor, row) of a product or quotient with a constant, else None."""
        return scaled(self.nodes, node)

    def difference(self, row: int) -> bool:
        """Whether a row is the square of a difference, and nobody else reads either."""
        node = self.nodes[row]
        if node.code != "square" or self.uses[row] > 1:
            return False
        (below,) = node.args
        return self.nodes[below].code == "sub" and self.uses[below] == 1


def scaled(nodes: tuple[Node, ...], node: Node) -> tuple[float, int] | None:
    """(factor, row) of a product or a quotient of a row with a constant of usual size, else None."""
    if node.code not in ("mul", "div"):
        return None
    a, b = node.args
    smallest, largest = FACTORS
    for c, x in ((b, a), (a, b)) if node.code == "mul" else ((b, a),):
        number = nodes[c].number
        if nodes[c].code == "const" and nodes[x].code != "const" and smallest < abs(number) < largest:
            return (number if node.code == "mul" else 1.0 / number), x
    return None
