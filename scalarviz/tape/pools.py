"""Finding maxima of several rows: ``max([a, b, c])`` is recorded as ``first_max(first_max(a, b), c)``."""

from __future__ import annotations

from collections import Counter

from .passes import rebuild
from .tape import Node, Tape

LEAST = 3
"""Operands from which on a chain is worth an instruction of its own."""


def maxima(tape: Tape) -> Tape:
    """Turn chains of ``first_max`` whose inner nodes nobody else reads into one node ``max``."""
    nodes = tape.nodes
    uses: Counter[int] = Counter(tape.roots())
    for node in nodes:
        uses.update(node.operands())
    inner = {
        node.args[0]
        for node in nodes
        if node.code == "first_max" and nodes[node.args[0]].code == "first_max" and uses[node.args[0]] == 1
    }
    changed = {}
    for row, node in enumerate(nodes):
        if node.code == "first_max" and row not in inner:
            operands = _operands(nodes, row, inner)
            if len(operands) >= LEAST:
                changed[row] = Node("max", operands)
    return rebuild(tape, changed) if changed else tape


def _operands(nodes: tuple[Node, ...], top: int, inner: set[int]) -> tuple[int, ...]:
    found = []
    row = top
    while True:
        left, right = nodes[row].args
        found.append(right)
        if left not in inner:
            return (left, *reversed(found))
        row = left
