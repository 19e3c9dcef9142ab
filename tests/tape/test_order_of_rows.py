"""The order of rows, what is left out, and plans that are kept, against slow ways of saying the same.

Imports internals: the passes between a tape and its program, whose order shows in speed and bits alone.
"""

from __future__ import annotations

import gc
import random
import weakref
from dataclasses import replace

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn
from scalarviz.scalar import ops
from scalarviz.tape import Node, Tape, lower, record
from scalarviz.tape.gradients import gradient_rows
from scalarviz.tape.known import MOST, SMALL, Kept
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
            s = dice.sample(values, 4)
            made = [
                lambda a=a, b=b: a + b, lambda a=a, b=b: a * b, lambda a=a: sv.tanh(a),
                lambda a=a, b=b, c=c: sv.where(a > b, b, c), lambda a=a, b=b, c=c: sv.max([a, b, c]),
                lambda s=s: sv.dot(list(table[dice.randrange(3)]), s), lambda s=s: sv.dot(s, s[::-1]),
                lambda s=s: linear(s), lambda s=s: [v for p in conv([[s, s[::-1]]]) for row in p for v in row],
            ]  # fmt: skip
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


@pytest.mark.parametrize("seed", range(8))
def test_rows_are_ordered_as_tuples_would_sort_them(seed):
    tape = tangle(seed)
    gets, level = gradient_rows(tape, tape.outputs), slow_levels(tape.nodes)
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
    small = record(lambda x: sv.tanh(sv.sin(x[0]) * x[1]), 2)
    assert ordered(small, [False] * len(small.nodes))[0] is small  # what is in order stays as it is


@pytest.mark.parametrize("seed", range(8))
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


@pytest.mark.parametrize("seed", range(4))
def test_every_operand_stands_before_its_user_and_each_row_is_written_once(seed):
    p = nn.Parameter(np.ones(2000))
    for tape in (tangle(seed), record(lambda x: ((p * p).sum() + p.abs().sum()) * x[0], 1)):
        plan = lower(tape)
        for program in filter(None, (plan.prologue, plan.encode, plan.body)):
            written = {*program.input_rows.tolist(), *program.constant_rows.tolist()}
            for i in program.instructions:
                assert written.issuperset(i.args.ravel().tolist())
                rows = range(i.dst, i.dst + i.count)
                assert written.isdisjoint(rows)
                written.update(rows)
            assert len(written) == program.n_rows


# ---- plans that are kept


def tape_of(number, code="mul"):
    nodes = (Node("input"), Node("const", number=number), Node(code, (0, 1)), Node("param"), Node("mul", (2, 3)))
    return Tape(nodes, 1, 0, 1, outputs=(4,))


def test_the_same_graph_has_the_same_plan_and_nobody_can_write_to_it(monkeypatch):
    plan = lower(tape_of(3.25))
    assert lower(tape_of(3.25)).body is plan.body
    program = plan.body
    for array in (program.input_rows, program.constants, program.outputs, program.needs_gradient,
                  *(part for i in program.instructions for part in (i.args, i.weights, i.numbers))):  # fmt: skip
        assert not array.flags.writeable
    assert (lower(tape_of(7.5)).encode is None, lower(tape_of(7.5), encode=False).encode) == (False, None)
    before = lower(tape_of(2.75, "sub"))
    monkeypatch.setitem(ops.TABLE, "sub", replace(ops.TABLE["sub"], value="a + b"))
    assert lower(tape_of(2.75, "sub")).body is not before.body  # a formula that is registered anew


@pytest.mark.parametrize(("one", "other"), [(0.0, -0.0), (1.5, 1.5000000000000002), (float("nan"), 2.0)])
def test_numbers_that_differ_by_a_bit_have_plans_of_their_own(one, other):
    first, second = lower(tape_of(one)), lower(tape_of(other))
    assert first.body is not second.body
    found = [[n for p in (plan.encode, plan.body) if p for n in p.constants] for plan in (first, second)]
    np.testing.assert_array_equal(np.signbit(found), np.signbit([[one], [other]]))
    np.testing.assert_array_equal(found, [[one], [other]])


def test_modules_are_those_of_ones_own_model_and_are_not_kept_alive():
    def tapped(model):
        tape = record(lambda x: model(np.array(x, object)), 2)
        return lower(replace(tape, taps=((model, tape.outputs),))).body.taps

    one, other = nn.Sequential(nn.Linear(2, 1)), nn.Sequential(nn.Linear(2, 1))
    (first, rows), (second, same) = tapped(one)[0], tapped(other)[0]
    assert (first is one, second is other) == (True, True)
    np.testing.assert_array_equal(rows, same)
    gone = weakref.ref(one)
    del one, first
    gc.collect()
    assert gone() is None


@pytest.mark.ci
def test_large_graphs_are_not_kept_and_what_was_not_asked_for_longest_goes():
    nodes = (Node("param"), *(Node("relu", (k,)) for k in range(SMALL)))
    tape = Tape(nodes, 0, 0, 1, outputs=(SMALL,))
    assert lower(tape).body is not lower(tape).body
    kept = Kept()
    for k in range(MOST):
        kept.put(k, str(k))
    assert kept.get(0) == "0"
    kept.put("one more", "x")
    assert (kept.get(0), kept.get(1)) == ("0", None)
