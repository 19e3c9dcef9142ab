"""Neurons that keep their weights and their bias side by side, as objects of a class do: together they are a layer.

The weights of such a layer are no block of their own, for each row ends (or begins) with its bias. With a row of ones
as one more operand they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from .passes import spliced
from .tape import Node, Tape

FEW = 8
"""Operands that are compared one by one."""


def neurons(tape: Tape) -> Tape:
    """Let sums over the same rows, each with its bias beside its weights, be rows of a layer without biases."""
    one, made, before = len(tape.nodes), [Node("const", number=1.0)], {0: [len(tape.nodes)]}
    changed: dict[int, Node] = {}
    for first, rows in _layers(tape):
        args = tape.nodes[rows[0]].args
        wider = (one, *args) if first else (*args, one)
        for row in rows:
            node = tape.nodes[row]
            terms = node.terms
            assert terms is not None
            assert terms.bias is not None
            start = terms.bias if first else terms.weights[0]
            weights = range(start, start + len(wider))
            changed[row] = replace(node, args=wider, terms=replace(terms, weights=weights, bias=None))
    return spliced(tape, changed, made, before) if changed else tape


def _layers(tape: Tape) -> Iterator[tuple[bool, list[int]]]:
    """Rows of neurons over the same operands, one behind the other in theta; whether their biases stand in front."""
    groups: dict[tuple[bool, object], list[tuple[int, int]]] = {}
    for row, node in enumerate(tape.nodes):
        terms = node.terms
        if terms is None or terms.bias is None or not isinstance(terms.weights, range) or terms.offset or not node.args:
            continue
        if terms.bias in (terms.weights.start - 1, terms.weights.stop):
            first = terms.bias < terms.weights.start
            same = id(node.args) if len(node.args) > FEW else node.args  # long ones are one tuple
            groups.setdefault((first, same), []).append((terms.weights.start, row))
    for (first, _), members in groups.items():
        members.sort()
        step = len(tape.nodes[members[0][1]].args) + 1
        stretch = members[:1]
        for member in [*members[1:], (-1, -1)]:
            if member[0] == stretch[-1][0] + step:
                stretch.append(member)
                continue
            if len(stretch) > 1:
                yield first, [row for _, row in stretch]
            stretch = [member]
