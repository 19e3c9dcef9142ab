"""What is written shorter than it is computed: ``a + b + c`` is one ``+``, and an exponent is part of its power."""

from __future__ import annotations

from collections.abc import Sequence

from .nodes import Node
from .signs import power_text

LONGEST = 24
"""Operands of one sum; a longer one goes on in the next node."""


def joined(nodes: Sequence[Node], roots: Sequence[Node]) -> list[Node]:
    """The graph in which a sum that only another sum takes, and that has no name, is part of that one.

    Nodes are changed; operands stay before results, and in the order in which they are written.
    """
    kept, gone = set(map(id, roots)), set[int]()
    for node in nodes:
        if node.op != "add":
            continue
        operands: list[Node] = []
        for k, operand in enumerate(node.operands):
            left = len(node.operands) - k - 1
            inner = operand.op == "add" and id(operand) not in kept and not operand.name
            once = len(operand.users) == 1 and node.operands.count(operand) == 1
            if inner and once and len(operands) + len(operand.operands) + left <= LONGEST:
                operands += operand.operands
                gone.add(id(operand))
            else:
                operands.append(operand)
        _take(node, operands)
    return [node for node in nodes if id(node) not in gone]


def _take(node: Node, operands: list[Node]) -> None:
    """Let `node` have these operands; those that are new to it know it as their user in the place of the old one."""
    for inner in node.operands:
        if not any(inner is operand for operand in operands):
            for operand in inner.operands:
                operand.users.pop(inner, None)
                operand.users[node] = None
    node.operands, node.flows = tuple(operands), (True,) * len(operands)


def with_powers(nodes: Sequence[Node]) -> list[Node]:
    """The graph in which a constant exponent that nothing else takes stands in the sign of its power (``**2``)."""
    gone = set[int]()
    for node in nodes:
        exponent = node.operands[1] if node.op == "pow" else None
        if exponent is None or exponent.kind != "leaf" or exponent.name or len(exponent.users) > 1:
            continue
        if exponent is not node.operands[0]:
            node.sign = power_text(exponent.value)
            node.operands, node.flows = node.operands[:1], node.flows[:1]
            gone.add(id(exponent))
    return [node for node in nodes if id(node) not in gone]
