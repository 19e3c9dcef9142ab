"""Which gradients were computed: a 0 that nobody computed would be read as one."""

from __future__ import annotations

from collections.abc import Sequence

from .nodes import Node, gradient_of


def find_gradients(nodes: Sequence[Node]) -> None:
    """Give each node of a graph, operands before results, its gradient; None where no ``backward()`` came by.

    Weights and rows say themselves whether theirs was computed. Of other nodes only a number tells: one whose gradient
    is not 0 was reached, and so was all that a derivative goes to from there, with a gradient of 0 as well.
    """
    lit: set[int] = set()
    for node in reversed(nodes):
        if node.kind == "far":
            if node.grad is not None:
                lit.update(map(id, node.operands))
            continue
        found = gradient_of(node)
        if node.kind in ("weight", "row"):
            node.grad = found
            continue
        if found is not None and (found != 0.0 or id(node) in lit):
            node.grad = found
            if node.op:
                lit.update(id(p) for p, flows in zip(node.operands, node.flows, strict=True) if flows)
