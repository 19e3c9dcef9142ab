"""Finding squared errors: what `MSELoss` records becomes one node."""

from __future__ import annotations

from .passes import readers_of, rebuild
from .tape import Node, Tape


def squared_errors(tape: Tape) -> Tape:
    """Turn ``factor * ((a - b)**2 + ...)`` whose parts nobody else reads into one node ``squares``.

    Its operands are all ``a``, then all ``b``; its number is the factor.
    """
    finder = _Squares(tape)
    changed: dict[int, Node] = {}
    inner: set[int] = set()
    for row in range(len(tape.nodes) - 1, -1, -1):  # from the top, so that a factor comes before its sum
        found = None if row in inner else finder.at(row)
        if found is not None:
            pairs, factor, parts = found
            changed[row] = Node("squares", tuple(a for a, _ in pairs) + tuple(b for _, b in pairs), number=factor)
            inner.update(parts)
    return rebuild(tape, changed) if changed else tape


Found = tuple[list[tuple[int, int]], float, list[int]]  # operands, factor, rows that are done with


class _Squares:
    def __init__(self, tape: Tape) -> None:
        self.nodes = tape.nodes
        self.uses = readers_of(tape)

    def at(self, row: int) -> Found | None:
        """The squares whose weighted sum is `row`."""
        node = self.nodes[row]
        if node.code == "mul":
            for factor, rest in (node.args, node.args[::-1]):
                if self.nodes[factor].code == "const" and self.uses[rest] == 1:
                    below = self.total(rest)
                    if below is not None:
                        return below[0], below[1] * self.nodes[factor].number, [rest, *below[2]]
            return None
        return self.total(row)

    def total(self, row: int) -> Found | None:
        """The same without a factor in front."""
        node, terms = self.nodes[row], self.nodes[row].terms
        if terms is None:
            pair = self.square(row)
            return None if pair is None else ([pair[0]], 1.0, pair[1])
        if terms.kind != "const" or terms.bias is not None or terms.offset or len(set(terms.weights)) != 1:
            return None
        if any(self.uses[arg] > 1 for arg in node.args):
            return None
        squares = [square for square in map(self.square, node.args) if square is not None]
        if len(squares) < len(node.args):
            return None
        parts = [row for _, rows in squares for row in rows]
        return [pair for pair, _ in squares], float(terms.weights[0]), [*node.args, *parts]

    def square(self, row: int) -> tuple[tuple[int, int], list[int]] | None:
        """The operands of ``(a - b)**2``, and the row of the difference."""
        node = self.nodes[row]
        if node.code != "square":
            return None
        (below,) = node.args
        difference = self.nodes[below]
        if difference.code != "sub" or self.uses[below] > 1:
            return None
        a, b = difference.args
        return (a, b), [below]
