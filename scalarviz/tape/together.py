"""Sums that run as one instruction: as many terms each, and the same numbers beside them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .program import Instruction
from .tape import Node, Terms


def together(node: Node, terms: Terms) -> tuple[object, ...]:
    """What sums of one level must have in common to become one instruction."""
    numbers = terms.weights if terms.kind == "const" else ()
    return terms.kind, len(node.args), numbers, terms.offset, terms.bias


def sums(nodes: Sequence[Node], row: int) -> Instruction:
    """The instruction of sums that run together, from result row `row` on."""
    terms = [node.terms for node in nodes if node.terms is not None]
    first, count = terms[0], len(nodes)
    bias = -1 if first.bias is None else first.bias
    args = np.array([node.args for node in nodes], np.int64).reshape(count, -1)
    if first.kind == "const":
        return Instruction(
            "weighted", row, count, args, numbers=np.array(first.weights, float), bias=bias, offset=first.offset
        )
    others = np.array([t.weights for t in terms], np.int64).ravel()
    if first.kind == "row":
        return Instruction("product", row, count, np.stack([others, args.ravel()]), bias=bias, offset=first.offset)
    return Instruction("dot", row, count, args, weights=others, bias=bias, offset=first.offset)
