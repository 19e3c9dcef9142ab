"""Which stages rows are made of, against a walk that begins anew for each stage."""

from __future__ import annotations

import random

import pytest

from scalarviz.run.made_of import MadeOf
from scalarviz.tape import Node, Terms


def walked(nodes, owner, rows):
    """The owners that every way back from `rows` meets first."""
    found, seen, stack = set(), set(), list(rows)
    while stack:
        row = stack.pop()
        if row in seen:
            continue
        seen.add(row)
        if row in owner:
            found.add(owner[row])
        else:
            stack += nodes[row].operands()
    return sorted(found)


@pytest.mark.parametrize("seed", range(80))
def test_stages_are_those_of_a_walk_from_each(seed):
    dice = random.Random(seed)
    nodes = [Node("input", index=k) for k in range(3)]
    for row in range(3, 70):
        args = tuple(dice.randrange(max(0, row - 12), row) for _ in range(dice.choice((1, 2, 2, 4))))
        if len(args) == 4 and dice.random() < 0.5:  # some sums share their operands, as those of a layer do
            args = next((n.args for n in reversed(nodes) if n.terms is not None), args)
        nodes.append(
            Node("dot" if len(args) == 4 else "f", args, terms=Terms("param", range(4)) if len(args) == 4 else None)
        )
    finder, owner = MadeOf(nodes, 3), dict.fromkeys(range(3), 0)
    for stage in range(1, 12):
        # what a module returns may have been read before it returned
        rows = dice.sample(range(3, 10 + 5 * stage), dice.randint(1, 3))
        assert finder.stages(rows) == walked(nodes, owner, rows)
        finder.claim(rows, stage)
        for row in rows:
            owner.setdefault(row, stage)
    assert finder.owner == owner


def test_a_sum_of_many_stages_keeps_one_set_of_them():
    """Each partial sum was once kept with all its stages: 140,000 modules that were summed up took the whole memory."""
    n = 500
    nodes = [Node("input"), *(Node("sin", (0,)) for _ in range(n)), Node("add", (1, 2))]
    nodes += [Node("add", (len(nodes) - 1 + k, 3 + k)) for k in range(n - 2)]
    finder = MadeOf(nodes, 1)
    for stage in range(1, n + 1):
        assert finder.stages([stage]) == [0]
        finder.claim([stage], stage)
    assert finder.stages([len(nodes) - 1]) == list(range(1, n + 1))
    assert sum(map(len, finder._found.values())) <= 3 * n
