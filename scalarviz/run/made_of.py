"""`MadeOf`: from which stages the rows of a tape are made."""

from __future__ import annotations

from collections.abc import Sequence

from ..tape import Node

Stages = frozenset[int]


class MadeOf:
    """Goes back from rows to the stages that each way meets first. A row is passed once, however many ask.

    What is found is kept where ways part, at rows that several read: a wide sum is passed in one go.

    Parameters
    ----------
    nodes : sequence of Node
    inputs : int
        The first rows are those of stage 0, the sample.

    Attributes
    ----------
    owner : dict of int to int
        The stage that each row belongs to.
    """

    def __init__(self, nodes: Sequence[Node], inputs: int) -> None:
        self._nodes = nodes
        self.owner = dict.fromkeys(range(inputs), 0)
        self._found: dict[int, Stages] = dict.fromkeys(range(inputs), frozenset((0,)))
        self._same: dict[Stages, Stages] = {}  # the rows of a stream are made of the same, and hold one set
        self._of_layer: dict[int, Stages] = {}  # the rows of a layer share one tuple of operands
        self._several = _read_by_several(nodes)
        self._passed = bytearray(len(nodes))
        self._furthest = 0

    def claim(self, rows: Sequence[int], stage: int) -> None:
        """The rows that belong to nobody belong to `stage` from now on."""
        new = [row for row in rows if row not in self.owner]
        self.owner.update(dict.fromkeys(new, stage))
        self._forget_above(new)
        self._found.update(dict.fromkeys(new, frozenset((stage,))))

    def _forget_above(self, rows: Sequence[int]) -> None:
        """What has been found through these holds no more."""
        passed = [row for row in rows if self._passed[row]]
        if passed:
            for row in range(min(passed), self._furthest + 1):
                if row not in self.owner:
                    self._found.pop(row, None)
            self._of_layer.clear()

    def stages(self, rows: Sequence[int]) -> list[int]:
        """The stages of all `rows`, ascending."""
        return sorted(frozenset[int]().union(*{self._of(row) for row in rows}))

    def _of(self, top: int) -> Stages:
        found, waiting = self._found, [top]
        self._furthest = max(self._furthest, top)
        while waiting:
            row = waiting[-1]
            if row not in found:
                args = self._nodes[row].args
                made = self._of_layer.get(id(args))
                if made is None:
                    before, made = self._gathered(row)
                    if before:
                        waiting += before
                        continue
                    if self._nodes[row].terms is not None and self._nodes[row].operands() is args:
                        self._of_layer[id(args)] = made
                self._passed[row] = 1
                found[row] = made
            waiting.pop()
        return found[top]

    def _gathered(self, top: int) -> tuple[list[int], Stages]:
        """What a row is made of; or rows for which that has to be found before."""
        found, nodes, passed, several = self._found, self._nodes, self._passed, self._several
        before: list[int] = []
        made: set[int] = set()
        last: Stages = frozenset()
        stack = list(nodes[top].operands())
        while stack:
            row = stack.pop()
            below = found.get(row)
            if below is not None:
                if below is not last:
                    made |= below
                    last = below
            elif several[row]:
                before.append(row)
            else:
                passed[row] = 1
                stack += nodes[row].operands()
        stages = frozenset(() if before else made)
        return before, self._same.setdefault(stages, stages)


def _read_by_several(nodes: Sequence[Node]) -> bytearray:
    """Which rows are operands of several nodes; a layer counts once."""
    once, several = bytearray(len(nodes)), bytearray(len(nodes))
    seen: set[int] = set()
    for node in nodes:
        operands = node.operands()
        if len(operands) > 2 and operands is node.args:
            if id(operands) in seen:
                continue
            seen.add(id(operands))
        for row in operands:
            if once[row]:
                several[row] = 1
            once[row] = 1
    return several
