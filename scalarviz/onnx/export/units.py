"""Which numbers of a tape are computed together, and in which order.

A unit is one call of a layer, or one row of the tape that no layer makes. Units with the same key can be one node. Of
those whose operands are there, the key is written next for which the fewest units are still to come (not counted are
those that are made of others with this key, as a layer's in the next one): so the products of a layer at all places of
a sentence are written as one, however long the way to the last place is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .calls import Call, Recorded

MOST_TURNS = 1 << 26
"""Numbers that are looked at to find the turns; of larger graphs every unit has turn 0."""
LEAVES = ("input", "const", "param", "buffer")


@dataclass(slots=True)
class Unit:
    """One call, or one row.

    Attributes
    ----------
    key : hashable
        What it has in common with others that one node can compute.
    call : Call or None
    row : int
        The first row that it makes.
    turn : int
        How many units with its key stand behind each other on the longest way to it.
    waits : int
        How many units it needs that are not written yet.
    users : list of int
        Units that need it.
    """

    key: Any
    call: Call | None
    row: int
    turn: int = 0
    waits: int = 0
    users: list[int] = field(default_factory=list)


class Units:
    """The plan of a recording.

    Parameters
    ----------
    recorded : Recorded

    Attributes
    ----------
    owner : ndarray of int
        By row, the number of the call that makes it, or -1.
    units : list of Unit
        What the outputs are made of.
    """

    def __init__(self, recorded: Recorded) -> None:
        self.nodes, self.calls = recorded.tape.nodes, recorded.calls
        self.owner = self._owners()
        self.lanes = np.zeros(len(self.nodes), bool)
        self.units: list[Unit] = []
        self._unit: NDArray[np.int64] = np.full(len(self.nodes), -1)
        self._find(self._needed(recorded))

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

    def _below(self, row: int) -> NDArray[np.int64]:
        """The rows that one is made of."""
        number = int(self.owner[row])
        if number < 0:
            return np.fromiter(self.nodes[row].operands(), np.int64)
        return np.concatenate([given.rows for given in self.calls[number].inputs])

    def _needed(self, recorded: Recorded) -> NDArray[np.bool_]:
        """What the outputs are made of."""
        needed, done = np.zeros(len(self.nodes), bool), set[int]()
        stack = [int(row) for group in recorded.outputs for row in group.rows]
        while stack:
            row = stack.pop()
            if needed[row]:
                continue
            needed[row] = True
            number = int(self.owner[row])
            if number < 0 or number not in done:
                done.add(number)
                below = self._below(row)
                stack.extend(below[~needed[below]].tolist())
        return needed

    def _find(self, needed: NDArray[np.bool_]) -> None:
        """Every unit, each behind those that it needs."""
        of_call: dict[int, int] = {}
        for row in np.flatnonzero(needed).tolist():
            node, number = self.nodes[row], int(self.owner[row])
            if node.code in LEAVES and number < 0:
                self.lanes[row] = node.code == "input"
                continue
            if number in of_call:
                self._unit[row], self.lanes[row] = of_call[number], self.lanes[self.units[of_call[number]].row]
                continue
            below = self._below(row)
            self.lanes[row] = bool(self.lanes[below].any()) and node.code != "batch_mean"
            self._unit[row] = len(self.units)
            call = None if number < 0 else self.calls[number]
            key = self._key(row) if call is None else self._call_key(call, number, bool(self.lanes[row]))
            before = np.unique(self._unit[below])
            before = before[before >= 0]
            for unit in before.tolist():
                self.units[unit].users.append(len(self.units))
            if call is not None:
                of_call[number] = len(self.units)
            self.units.append(Unit(key, call, row, waits=len(before)))

    def _count_turns(self) -> None:
        """Set the `turn` of every unit."""
        numbers = {key: k for k, key in enumerate(dict.fromkeys(unit.key for unit in self.units))}
        longest = np.zeros((len(self.units), len(numbers)), np.int32)
        for row, unit in zip(longest, self.units, strict=True):
            unit.turn = int(row[numbers[unit.key]])
            row[numbers[unit.key]] += 1
            for user in unit.users:
                np.maximum(longest[user], row, out=longest[user])

    def batches(self) -> Iterator[list[Unit]]:
        """Units with one key, each batch behind what it needs."""
        if len(self.units) * len({unit.key for unit in self.units}) < MOST_TURNS:
            self._count_turns()
        ready: dict[Any, list[int]] = defaultdict(list)
        behind: dict[Any, int] = defaultdict(int)
        for number, unit in enumerate(self.units):
            if unit.waits:
                behind[unit.key, unit.turn] += 1
            else:
                ready[unit.key].append(number)
        while ready:
            key = min(ready, key=lambda key: (self._to_come(ready[key], behind), ready[key][0]))
            batch = ready.pop(key)
            for number in batch:
                self._free(self.units[number].users, ready, behind)
            yield [self.units[number] for number in sorted(batch)]

    def _to_come(self, batch: Iterable[int], behind: dict[Any, int]) -> int:
        turns = {(self.units[number].key, self.units[number].turn) for number in batch}
        return sum(behind[turn] for turn in turns)

    def _free(self, users: Iterable[int], ready: dict[Any, list[int]], behind: dict[Any, int]) -> None:
        for number in users:
            unit = self.units[number]
            unit.waits -= 1
            if not unit.waits:
                behind[unit.key, unit.turn] -= 1
                ready[unit.key].append(number)

    def _key(self, row: int) -> Any:
        """What rows have in common that one node can compute."""
        node = self.nodes[row]
        if node.terms is not None:
            squares = node.terms.weights == node.args
            weights = self._any(node.terms.weights) if node.terms.kind == "row" else False
            size = (len(node.args) - 1).bit_length()  # sums of 5 to 8 terms are filled up with zeros
            return "dot", node.terms.kind, size, squares, node.terms.bias is None, self._any(node.args), weights
        return node.code, len(node.args), self._kinds(node.args) if len(node.args) < 4 else self._any(node.args)

    def _kinds(self, rows: Any) -> str:
        """What each of a few operands is: samples, a constant, or a number of weights alone."""
        return "".join("l" if self.lanes[r] else "c" if self.nodes[r].code == "const" else "p" for r in rows)

    def _any(self, rows: Any) -> bool:
        """Whether there are samples in one of many operands."""
        return bool(self.lanes[np.fromiter(rows, np.int64)].any())

    def _call_key(self, call: Call, number: int, lanes: bool) -> Any:
        if not getattr(call.module, "onnx_stacks", False) or call.more or len(call.inputs) != 1:
            return number
        return id(call.module), call.inputs[0].shape, lanes
