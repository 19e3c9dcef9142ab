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


@pytest.mark.parametrize("seed", range(40))
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
