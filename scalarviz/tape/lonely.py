"""Small weighted sums that are no part of a layer: as rows of one instruction.

A scale and a shift a feature, ``g*x + b``, have weights and operands of their own each: a layer of one row each, and an
instruction each. As sums with weights anywhere they run together, the bias as the weight of a row of ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from .ordered import levels
from .passes import spliced
from .tape import Node, Tape, Terms

SMALL = 8
"""Most terms of such a sum: what is longer is as well done by the kernels of layers."""


def lonely_sums(tape: Tape) -> Tape:
    """Let small sums that share neither weights nor operands have equal forms, where several stand at one level."""
    alone = list(_alone(tape))
    level = levels(tape.nodes) if alone else []
    kinds = Counter((level[row], len(tape.nodes[row].args), _terms(tape.nodes[row]).bias is None) for row in alone)
    one, made, before = len(tape.nodes), [Node("const", number=1.0)], {0: [len(tape.nodes)]}
    changed = {}
    for row in alone:
        node = tape.nodes[row]
        terms, args = _terms(node), node.args
        if kinds[level[row], len(args), terms.bias is None] > 1:
            weights = tuple(terms.weights)
            if terms.bias is not None:
                weights, args = (*weights, terms.bias), (*args, one)
            changed[row] = replace(node, args=args, terms=replace(terms, weights=weights, bias=None))
    return spliced(tape, changed, made, before) if changed else tape


def _alone(tape: Tape) -> Iterator[int]:
    """Rows of such sums; what a module returns stays as it is: it may be asked what its weights meet."""
    taps = {row for _, rows in tape.taps for row in rows}
    every = ((row, node.terms) for row, node in enumerate(tape.nodes) if node.args)
    sums = [row for row, terms in every if terms is not None and terms.kind == "param"]
    operands = Counter(id(tape.nodes[row].args) for row in sums)
    known: dict[tuple[int, ...], int] = {}
    same = Counter(known.setdefault(tape.nodes[row].args, row) for row in sums if len(tape.nodes[row].args) <= SMALL)
    weights = Counter(_terms(tape.nodes[row]).weights[0] for row in sums)
    for row in sums:
        node, terms = tape.nodes[row], _terms(tape.nodes[row])
        if row in taps or len(node.args) > SMALL or operands[id(node.args)] > 1:
            continue
        single = same[known[node.args]] == 1 and weights[terms.weights[0]] == 1
        if single if isinstance(terms.weights, range) else terms.bias is not None:
            yield row


def _terms(node: Node) -> Terms:
    assert node.terms is not None
    return node.terms
