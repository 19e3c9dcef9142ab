"""The order of rows, and what is left out, against slow ways of saying the same."""

from __future__ import annotations

import random

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn
from scalarviz.tape import Node, record
from scalarviz.tape.gradients import gradient_rows
from scalarviz.tape.ordered import levels, ordered
from scalarviz.tape.passes import rebuild, share_operands
from scalarviz.tape.shared import shared_layers


def tangle(seed, n=80):
    """A graph of all that there is: single operations, sums of several kinds, layers, a convolution, maxima."""
    dice = random.Random(seed)
    loose = [sv.Weight(dice.random()) for _ in range(5)]
    table = nn.Parameter(np.ones((3, 4)))
    conv, linear = nn.Conv2d(1, 2, 2, seed=1), nn.Linear(4, 3, seed=2)

    def forward(x):
        values = [*x, *loose, sv.Value(0.5), *(w for row in table for w in row)]
        for _ in range(n):
            a, b, c = (dice.choice(values) for _ in range(3))
            several = dice.sample(values, 4)
            made = [
                lambda a=a, b=b: a + b,
                lambda a=a, b=b: a * b,
                lambda a=a: sv.tanh(a),
                lambda a=a, b=b, c=c: sv.where(a > b, b, c),
                lambda a=a, b=b, c=c: sv.max([a, b, c]),
                lambda s=several: sv.dot(list(table[dice.randrange(3)]), s),
                lambda s=several: sv.dot(s, s[::-1]),
                lambda s=several: linear(s),
                lambda s=several: [v for p in conv([[s, s[::-1]]]) for row in p for v in row],
            ]
            found = made[dice.randrange(len(made))]()
            values += found if isinstance(found, list) else [found]
        return values[-4:]

    return share_operands(record(forward, 4))


def slow_levels(nodes):
    found = []
    for node in nodes:
        found.append(1 + max(found[row] for row in node.operands()) if node.operands() else 0)
    return found


def slow_order(nodes, gets, level, shared):
    """Rows sorted by tuples that say what belongs together."""
    names, keys = {}, []
    for row, node in enumerate(nodes):
        terms, place = node.terms, shared.get(row)
        if node.code in ("input", "const", "param"):
            kind = ("input", "const", "param").index(node.code)
            keys.append((0, kind, int(not gets[row]), row if node.code == "const" else node.index, 0, row))
        elif place is not None:
            same = names.setdefault(("shared", place.group), len(names))
            keys.append((level[row], 0, same, place.output, place.position, row))
        elif terms is not None and isinstance(terms.weights, range):  # a row of a layer
            same = names.setdefault((node.args, len(terms.weights), gets[row]), len(names))
            keys.append((level[row], 0, same, terms.weights[0], 0, row))
        elif terms is not None:
            numbers = terms.weights if terms.kind == "const" else None
            alike = (terms.kind, len(node.args), numbers, terms.offset, terms.bias, gets[row])
            keys.append((level[row], 0, names.setdefault(alike, len(names)), 0, 0, row))
        else:
            same = names.setdefault((node.code, len(node.args), gets[row]), len(names))
            keys.append((level[row], 1, same, 0, 0, row))
    return [key[-1] for key in sorted(keys)]


def renamed(node, row_of):
    terms = node.terms
    if terms is not None and terms.kind == "row":
        terms = type(terms)("row", tuple(row_of[r] for r in terms.weights), terms.bias, terms.offset)
    return Node(node.code, tuple(row_of[r] for r in node.args), node.index, node.number, terms)


@pytest.mark.parametrize("seed", range(12))
def test_rows_are_ordered_as_tuples_would_sort_them(seed):
    tape = tangle(seed)
    gets = gradient_rows(tape, tape.outputs)
    level = slow_levels(tape.nodes)
    assert levels(tape.nodes) == level
    shared = shared_layers(tape.nodes, level, gets)
    order = slow_order(tape.nodes, gets, level, shared)
    row_of = {old: new for new, old in enumerate(order)}

    found, now, depth, places = ordered(tape, gets)

    assert list(found.nodes) == [renamed(tape.nodes[old], row_of) for old in order]
    assert now == [gets[old] for old in order]
    assert depth == slow_levels(found.nodes)
    assert places == {row_of[row]: place for row, place in shared.items()}
    assert found.outputs == tuple(row_of[row] for row in tape.outputs)


def test_what_is_in_order_stays_as_it_is():
    tape = record(lambda x: sv.tanh(sv.sin(x[0]) * x[1]), 2)
    assert ordered(tape, [False] * len(tape.nodes))[0] is tape


@pytest.mark.parametrize("seed", range(12))
def test_what_no_root_needs_is_left_out(seed):
    tape, dice = tangle(seed), random.Random(seed)
    singles = [row for row, node in enumerate(tape.nodes) if node.terms is None and node.args]
    changed = {row: Node("exp", (dice.randrange(row),)) for row in dice.sample(singles, len(singles) // 3)}
    nodes = [changed.get(row, node) for row, node in enumerate(tape.nodes)]
    alive, stack = set(), list(tape.roots())
    while stack:
        row = stack.pop()
        if row not in alive:
            alive.add(row)
            stack += nodes[row].operands()
    row_of = {row: new for new, row in enumerate(sorted(alive))}

    found = rebuild(tape, changed)

    assert list(found.nodes) == [renamed(nodes[row], row_of) for row in sorted(alive)]
    assert found.outputs == tuple(row_of[row] for row in tape.outputs)
    assert rebuild(found, {}) is found, "nothing to do"
