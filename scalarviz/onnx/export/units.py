"""Which numbers of a tape are computed together: what is needed, in how many levels, and what is alike in each."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .calls import Call, Recorded

LEAVES = ("input", "const", "param", "buffer")


@dataclass(slots=True)
class Level:
    """What depends on earlier levels alone.

    Attributes
    ----------
    calls : dict of key to list of Call
        Those of one layer with inputs of the same shapes together.
    rows : dict of key to list of int
        Rows of the tape with the same code and operands of the same kinds.
    """

    calls: dict[Any, list[Call]] = field(default_factory=lambda: defaultdict(list))
    rows: dict[Any, list[int]] = field(default_factory=lambda: defaultdict(list))


class Units:
    """The plan of a recording.

    Parameters
    ----------
    recorded : Recorded

    Attributes
    ----------
    levels : list of Level
    owner : ndarray of int
        By row, the number of the call that makes it, or -1.
    """

    def __init__(self, recorded: Recorded) -> None:
        self.nodes, self.calls = recorded.tape.nodes, recorded.calls
        self.owner = self._owners()
        self.needed = self._reached(recorded)
        self.level = np.zeros(len(self.nodes), np.int64)
        self.lanes = np.zeros(len(self.nodes), bool)
        self.levels = self._planned()

    def _owners(self) -> NDArray[np.int64]:
        """The outermost call that made each row; what a layer hands on is made by nobody."""
        owner = np.full(len(self.nodes), -1)
        leaf = np.array([node.code in LEAVES for node in self.nodes], bool)
        for number, call in enumerate(self.calls):
            made = call.output.rows
            for given in call.inputs:
                made = made[~np.isin(made, given.rows)]
            owner[made[~leaf[made]]] = number
        return owner

    def below(self, row: int) -> Any:
        """The rows that one is made of."""
        number = int(self.owner[row])
        if number < 0:
            return self.nodes[row].operands()
        return np.concatenate([given.rows for given in self.calls[number].inputs])

    def _reached(self, recorded: Recorded) -> NDArray[np.bool_]:
        """What the outputs are made of."""
        needed, done = np.zeros(len(self.nodes), bool), set[int]()
        stack = [int(row) for group in recorded.outputs for row in group.rows]
        while stack:
            row = stack.pop()
            number = int(self.owner[row])
            if needed[row]:
                continue
            needed[row] = True
            if number < 0 or number not in done:
                done.add(number)
                stack.extend(int(r) for r in self.below(row) if not needed[r])
        return needed

    def _planned(self) -> list[Level]:
        levels: dict[int, Level] = defaultdict(Level)
        reached = set[int]()
        for row in np.flatnonzero(self.needed).tolist():
            node, number = self.nodes[row], int(self.owner[row])
            if node.code in LEAVES and number < 0:
                self.lanes[row] = node.code == "input"
                continue
            if number in reached:
                continue
            below = np.fromiter(self.below(row), np.int64)
            level = int(self.level[below].max(initial=0)) + 1
            lanes = bool(self.lanes[below].any()) and node.code != "batch_mean"
            if number < 0:
                self.level[row], self.lanes[row] = level, lanes
                levels[level].rows[self._key(row)].append(row)
                continue
            reached.add(number)
            call = self.calls[number]
            made = call.output.rows[self.owner[call.output.rows] == number]
            self.level[made], self.lanes[made] = level, lanes
            levels[level].calls[self._call_key(call, number, lanes)].append(call)
        return [levels[number] for number in sorted(levels)]

    def _key(self, row: int) -> Any:
        """What rows have in common that one node can compute."""
        node = self.nodes[row]
        if node.terms is not None:
            weights = self._kinds(node.terms.weights) if node.terms.kind == "row" else ""
            return "dot", node.terms.kind, len(node.args), node.terms.bias is None, self._kinds(node.args), weights
        return node.code, len(node.args), self._kinds(node.args)

    def _kinds(self, rows: Any) -> str:
        """Of a few operands what each is; of many whether there are samples in one of them."""
        if len(rows) > 3:
            return "l" if any(self.lanes[r] for r in rows) else "p"
        return "".join("l" if self.lanes[r] else "c" if self.nodes[r].code == "const" else "p" for r in rows)

    def _call_key(self, call: Call, number: int, lanes: bool) -> Any:
        if not getattr(call.module, "onnx_stacks", False) or call.more or len(call.inputs) != 1:
            return number
        return id(call.module), call.inputs[0].shape, lanes
