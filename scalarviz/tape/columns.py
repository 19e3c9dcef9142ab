"""Layers that are typed as ``x @ W + b`` with W of shape (inputs, outputs): each sum reads a column of a matrix.

Such sums run together, as rows of one instruction, if no bias of its own parts them: it becomes the weight of a row of
ones. Engines may find the matrix again (``engine/cpu/encode/columns``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from .passes import spliced
from .tape import Node, Tape, Terms


def columns(tape: Tape) -> Tape:
    """Let sums over the same rows, whose weights and biases are their neighbour's moved by one, have equal forms."""
    one, made, before = len(tape.nodes), [Node("const", number=1.0)], {0: [len(tape.nodes)]}
    changed: dict[int, Node] = {}
    for rows in _matrices(tape):
        wider = (*tape.nodes[rows[0]].args, one)
        for row in rows:
            node, terms = tape.nodes[row], _terms(tape.nodes[row])
            weights = (*terms.weights, terms.bias)
            changed[row] = replace(node, args=wider, terms=replace(terms, weights=weights, bias=None))
    return spliced(tape, changed, made, before) if changed else tape


def _matrices(tape: Tape) -> Iterator[list[int]]:
    """Rows of sums that read columns side by side and have a bias each."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for row, node in enumerate(tape.nodes):
        terms = node.terms
        if terms is not None and terms.kind == "param" and terms.bias is not None and _lie_apart(terms.weights):
            groups.setdefault(node.args, []).append(row)
    for rows in groups.values():
        stretch = rows[:1]
        for row in rows[1:]:
            if not _follows(_terms(tape.nodes[stretch[-1]]), _terms(tape.nodes[row])):
                if len(stretch) > 1:
                    yield stretch
                stretch = []
            stretch.append(row)
        if len(stretch) > 1:
            yield stretch


def _lie_apart(weights: Sequence[int]) -> bool:
    return not isinstance(weights, range) and len(weights) > 1


def _follows(a: Terms, b: Terms) -> bool:
    """Whether all that `b` reads stands one behind what `a` does."""
    assert a.bias is not None
    same = b.bias == a.bias + 1 and b.offset == a.offset and len(b.weights) == len(a.weights)
    return same and all(y == x + 1 for x, y in zip(a.weights, b.weights, strict=True))


def _terms(node: Node) -> Terms:
    assert node.terms is not None
    return node.terms
