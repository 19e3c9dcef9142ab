"""A module as a tape, with the calls of the layers that write their own nodes; and which numbers are computed together.

A unit is one call of a layer, or one row of the tape that no layer makes. Units with the same key can be one node. Of
those whose operands are there, the key is written next for which the fewest units are still to come (not counted are
those that are made of others with this key, as a layer's in the next one): so the products of a layer at all places of
a sentence are written as one, however long the way to the last place is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...scalar import Value, tracing
from ...scalar.nested import every, flatten, nest, shape_of
from ...tape import Tape, record
from .sheet import Shape

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Group:
    """Numbers of a sample that stand together.

    Attributes
    ----------
    rows : ndarray of int64, shape (prod(shape),)
        Of the tape, in C order.
    shape : tuple of int
    """

    rows: Rows
    shape: Shape


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a layer.

    Attributes
    ----------
    module : object
    inputs : tuple of Group
    more : tuple
        What it was given that is no Value.
    output : Group
    """

    module: Any
    inputs: tuple[Group, ...]
    more: tuple[Any, ...]
    output: Group


@dataclass(frozen=True, slots=True)
class Recorded:
    """A module, recorded in evaluation.

    Attributes
    ----------
    tape : Tape
    inputs, outputs : tuple of Group
    calls : tuple of Call
        In the order in which they ended.
    """

    tape: Tape
    inputs: tuple[Group, ...]
    outputs: tuple[Group, ...]
    calls: tuple[Call, ...]


def recorded(module: Any, shapes: Sequence[Shape]) -> Recorded:
    """Call a module with one sample of symbols, of these shapes."""
    kept: list[tuple[Any, list[Any], list[Any], Any]] = []
    parts: list[tuple[list[Value], Shape]] = []

    def run(row: list[Value]) -> list[Value]:
        recorder = tracing.active()
        assert recorder is not None
        recorder.evaluation, recorder.calls = True, []
        result = module(*(_sample(row[a:b], shape) for (a, b), shape in zip(_spans(shapes), shapes, strict=True)))
        parts.extend(_parts(result))
        for layer, given, made in recorder.calls:
            if writes_itself(layer):
                values = [x for x in given if flatten(x)]
                kept.append((layer, values, [x for x in given if not flatten(x)], made))
                parts.extend((flatten(x), shape_of(x)) for x in (*values, made))
        return [value for values, _ in parts for value in values]

    tape = record(run, sum(map(prod, shapes)))
    ends = pairwise(accumulate((len(values) for values, _ in parts), initial=0))
    rows = np.array(tape.outputs, np.int64)
    groups = [Group(rows[a:b], shape) for (a, b), (_, shape) in zip(ends, parts, strict=True)]
    calls, behind = [], len(groups) - sum(len(values) + 1 for _, values, _, _ in kept)
    outputs = tuple(groups[:behind])
    for layer, values, more, _ in kept:
        end = behind + len(values)
        calls.append(Call(layer, tuple(groups[behind:end]), tuple(more), groups[end]))
        behind = end + 1
    inputs = tuple(Group(np.arange(a, b), shape) for (a, b), shape in zip(_spans(shapes), shapes, strict=True))
    return Recorded(tape, inputs, outputs, tuple(calls))


def writes_itself(module: Any) -> bool:
    """Whether a module has a ``write_onnx`` that goes with its forward: no subclass has changed what is computed."""
    kinds = type(module).__mro__
    forward, written = (next((k for k in kinds if name in vars(k)), None) for name in ("forward", "write_onnx"))
    if forward is None or written is None or "forward" in vars(module):
        return False
    return kinds.index(written) <= kinds.index(forward) and bool(getattr(module, "in_onnx", True))


def _spans(shapes: Sequence[Shape]) -> list[tuple[int, int]]:
    return list(pairwise(accumulate(map(prod, shapes), initial=0)))


def _sample(row: list[Value], shape: Shape) -> Any:
    return nest(row, shape) if shape else row[0]


def _parts(result: Any) -> list[tuple[list[Value], Shape]]:
    """What a module returned: a tuple of lists is several outputs."""
    if isinstance(result, tuple) and not all(isinstance(x, Value) or np.isscalar(x) for x in result):
        return [part for x in result if x is not None for part in _parts(list(x) if isinstance(x, tuple) else x)]
    values = every(result, "the module")
    return [(values, _shape(result, len(values)))]


def _shape(result: Any, count: int) -> Shape:
    """The shape of what was returned; of ragged lists that of a row."""
    if isinstance(result, Value):
        return ()
    try:
        shape = shape_of(_as_lists(result))
    except ValueError:
        return (count,)
    return shape if prod(shape) == count else (count,)


def _as_lists(x: Any) -> Any:
    if hasattr(x, "as_values"):
        x = x.as_values()
    if isinstance(x, np.ndarray):
        return x.tolist()
    return [_as_lists(item) for item in x] if isinstance(x, list | tuple) else x


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
