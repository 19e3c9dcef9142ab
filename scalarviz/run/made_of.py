"""`MadeOf`: from which stages the rows of a tape are made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..tape import Node

Stages = frozenset[int]


class MadeOf:
    """Goes back from rows to the stages that each way meets first. A row is looked at once, however many ask.

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
        self._found: list[Stages | None] = [None] * len(nodes)
        self._found[:inputs] = [frozenset((0,))] * inputs
        self._of_layer: dict[int, Stages] = {}  # the rows of a layer share one tuple of operands
        self._furthest = 0

    def claim(self, rows: Sequence[int], stage: int) -> None:
        """The rows that belong to nobody belong to `stage` from now on."""
        new = [row for row in rows if row not in self.owner]
        self.owner.update(dict.fromkeys(new, stage))
        self._forget_above(new)
        for row in new:
            self._found[row] = frozenset((stage,))

    def _forget_above(self, rows: Sequence[int]) -> None:
        """What has been found through these holds no more."""
        looked_at = [row for row in rows if self._found[row] is not None]
        if looked_at:
            for row in range(min(looked_at), self._furthest + 1):
                if row not in self.owner:
                    self._found[row] = None
            self._of_layer.clear()

    def stages(self, rows: Iterable[int]) -> list[int]:
        """The stages of all `rows`, ascending."""
        return sorted(frozenset[int]().union(*{self._of(row) for row in rows}))

    def _of(self, top: int) -> Stages:
        found, stack = self._found, [top]
        self._furthest = max(self._furthest, top)
        while stack:
            row = stack[-1]
            if found[row] is None:
                node = self._nodes[row]
                operands = node.operands()
                layer = self._of_layer.get(id(operands)) if len(operands) > 2 else None
                waiting = [r for r in operands if found[r] is None] if layer is None else []
                if waiting:
                    stack += waiting
                    continue
                made = found[row] = self._joined(operands) if layer is None else layer
                if operands is node.args:  # else a tuple of the moment, whose id another one may get
                    self._of_layer[id(operands)] = made
            stack.pop()
        result = found[top]
        assert result is not None
        return result

    def _joined(self, rows: Sequence[int]) -> Stages:
        made = frozenset[int]()
        for row in rows:
            more = self._found[row]
            assert more is not None
            if more is not made and not more <= made:
                made = more if made <= more else made | more
        return made
