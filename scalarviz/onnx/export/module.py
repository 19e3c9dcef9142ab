"""`exported`: a module as the bytes of an ONNX file, opset 17, IR 8, with a batch of any size.

The module is traced to a tape, with the calls of the layers that write their own nodes. A unit is one call
of a layer, or one row of the tape that no layer makes. Units with the same key can be one node. Among keys with
units that are ready, the next one written has the fewest units still to come. (Units that depend on others with the
same key do not count, such as a layer's in the next one.) So the products of a layer at all positions of a
sentence are one node, however long the way to the last position is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...scalar import Value, tracing
from ...scalar.array import Values
from ...scalar.nested import every, flatten, shape_of
from ...tape import Tape, trace
from ..graph import OURS, Node
from .layers import LayerWriter, writer_of
from .operations import write_rows
from .sheet import DOUBLE, FLOAT, INT64, Known, Output, Shape, Sheet
from .sums import Places, Rows


@dataclass(frozen=True, slots=True)
class NumberGroup:
    """Numbers of a sample that belong together: rows of the tape, in C order, and their shape."""

    rows: Rows
    shape: Shape


@dataclass(frozen=True, slots=True)
class LayerCall:
    """One call of a layer; `more` holds its arguments that are not Values."""

    module: Any
    inputs: tuple[NumberGroup, ...]
    more: tuple[Any, ...]
    output: NumberGroup

    @property
    def writer(self) -> LayerWriter:
        """The writer of the layer, which is in the table."""
        found = writer_of(self.module)
        assert found is not None
        return found


@dataclass(frozen=True, slots=True)
class RecordedModule:
    """A module, traced in evaluation mode; calls are in the order in which they ended."""

    tape: Tape
    inputs: tuple[NumberGroup, ...]
    outputs: tuple[NumberGroup, ...]
    calls: tuple[LayerCall, ...]


def recorded(module: Any, shapes: Sequence[Shape]) -> RecordedModule:
    """Call a module with one sample of symbols with these shapes."""
    kept: list[tuple[Any, list[Any], list[Any], Any]] = []
    parts: list[tuple[list[Value], Shape]] = []

    def run(row: Values) -> list[Value]:
        recorder = tracing.active()
        assert recorder is not None
        recorder.evaluation, recorder.calls = True, []
        result = module(*(_sample(row[a:b], shape) for (a, b), shape in zip(_spans(shapes), shapes, strict=True)))
        parts.extend(_parts(result))
        for layer, given, made in recorder.calls:
            if writer_of(layer) is not None:
                values = [x for x in given if flatten(x)]
                kept.append((layer, values, [x for x in given if not flatten(x)], made))
                parts.extend((flatten(x), shape_of(x)) for x in (*values, made))
        return [value for values, _ in parts for value in values]

    tape = trace(run, sum(map(prod, shapes)))
    ends = pairwise(accumulate((len(values) for values, _ in parts), initial=0))
    rows = np.array(tape.outputs, np.int64)
    groups = [NumberGroup(rows[a:b], shape) for (a, b), (_, shape) in zip(ends, parts, strict=True)]
    calls, behind = [], len(groups) - sum(len(values) + 1 for _, values, _, _ in kept)
    outputs = tuple(groups[:behind])
    for layer, values, more, _ in kept:
        end = behind + len(values)
        calls.append(LayerCall(layer, tuple(groups[behind:end]), tuple(more), groups[end]))
        behind = end + 1
    inputs = tuple(NumberGroup(np.arange(a, b), shape) for (a, b), shape in zip(_spans(shapes), shapes, strict=True))
    return RecordedModule(tape, inputs, outputs, tuple(calls))


def _spans(shapes: Sequence[Shape]) -> list[tuple[int, int]]:
    return list(pairwise(accumulate(map(prod, shapes), initial=0)))


def _sample(row: Values, shape: Shape) -> Any:
    return row.reshape(shape) if shape else row[0]


def _parts(result: Any) -> list[tuple[list[Value], Shape]]:
    """Return the outputs of a module: each array in lists, tuples and dicts is one, and each other Value."""
    if isinstance(result, list | tuple | dict):
        inner = result.values() if isinstance(result, dict) else result
        return [part for x in inner if x is not None for part in _parts(x)]
    return [(every([result] if np.isscalar(result) else result, "the module"), shape_of(result))]


MOST_TURNS = 1 << 26
"""Most numbers to examine for turns; in larger graphs every unit has turn 0."""
LEAVES = ("input", "const", "param", "buffer")


@dataclass(slots=True)
class Unit:
    """One call, or one row."""

    key: Any  # units with equal keys can be one node
    call: LayerCall | None
    row: int  # its first row
    turn: int = 0  # number of units with its key on the longest way to it
    waits: int = 0  # number of units that it needs and that are not written yet
    users: list[int] = field(default_factory=list)


class Units:
    """The plan of a trace: the units that its outputs need."""

    def __init__(self, recorded: RecordedModule) -> None:
        self.nodes, self.calls = recorded.tape.nodes, recorded.calls
        self.owner = self._owners()  # per row: the number of the call that makes it, or -1
        self.lanes = np.zeros(len(self.nodes), bool)
        self.units: list[Unit] = []
        self._unit: NDArray[np.int64] = np.full(len(self.nodes), -1)
        self._find(self._needed(recorded))

    def _owners(self) -> NDArray[np.int64]:
        """Return, per row, the outermost call that made it; -1 for rows that a layer passes on."""
        owner = np.full(len(self.nodes), -1)
        leaf = np.array([node.code in LEAVES for node in self.nodes], bool)
        for number, call in enumerate(self.calls):
            made = call.output.rows
            for given in call.inputs:
                made = made[~np.isin(made, given.rows)]
            owner[made[~leaf[made]]] = number
        return owner

    def _below(self, row: int) -> NDArray[np.int64]:
        """Return the rows that a row is computed from."""
        number = int(self.owner[row])
        if number < 0:
            return np.fromiter(self.nodes[row].operands(), np.int64)
        return np.concatenate([given.rows for given in self.calls[number].inputs])

    def _needed(self, recorded: RecordedModule) -> NDArray[np.bool_]:
        """Return which rows the outputs need."""
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
        """Find all units, each after those that it needs."""
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
        """Yield batches of units with one key, each after all that it needs."""
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
        """Return the key of a row: rows with equal keys can be one node."""
        node = self.nodes[row]
        if node.terms is not None:
            squares = node.terms.weights == node.args
            weights = self._any(node.terms.weights) if node.terms.kind == "row" else False
            size = (len(node.args) - 1).bit_length()  # sums of 5 to 8 terms are padded with zeros
            return "dot", node.terms.kind, size, squares, node.terms.bias is None, self._any(node.args), weights
        return node.code, len(node.args), self._kinds(node.args) if len(node.args) < 4 else self._any(node.args)

    def _kinds(self, rows: Any) -> str:
        """Return the kind of each of a few operands: samples (l), a constant (c), or weights alone (p)."""
        return "".join("l" if self.lanes[r] else "c" if self.nodes[r].code == "const" else "p" for r in rows)

    def _any(self, rows: Any) -> bool:
        """Return whether any of many operands depends on samples."""
        return bool(self.lanes[np.fromiter(rows, np.int64)].any())

    def _call_key(self, call: LayerCall, number: int, lanes: bool) -> Any:
        if not call.writer.stacks or call.more or len(call.inputs) != 1:
            return number
        return id(call.module), call.inputs[0].shape, lanes


OPSET, IR, LIKE = 17, 8, 13  # from `LIKE` on our nodes mean the same, if that version has them
"""Versions that onnxruntime and other tools read."""
LARGEST = 2**31 - 2**20
"""Largest file in bytes: protobuf has no larger message."""
TYPES = {"float32": FLOAT, "float64": DOUBLE, "int64": INT64}


Ends = tuple[str, str, tuple[Any, ...]]  # name, type and shape of an input or output


def encoded(sheet: Sheet, inputs: Sequence[Ends], outputs: Sequence[Ends], title: str, opset: int = OPSET) -> bytes:
    """Return the bytes of a file with a sheet's nodes; refuse one that is too large for ONNX.

    The file has the version `opset` if that has all its nodes.
    """
    size = sum(array.nbytes for array in sheet.constants.values())
    if size > LARGEST:
        raise InputError(
            f"to_onnx: the weights take {size / 2**30:.1f} GiB, an ONNX file holds at most 2 GiB; "
            "net.state_dict() and sv.io.save_tensors write any size as safetensors"
        )
    import onnx
    from onnx import helper, numpy_helper

    ports, ends = (
        [helper.make_tensor_value_info(name, TYPES[kind], list(shape)) for name, kind, shape in each]
        for each in (inputs, outputs)
    )
    constants = [numpy_helper.from_array(np.ascontiguousarray(a).reshape(a.shape), name)
                 for name, a in sheet.constants.items()]  # fmt: skip
    graph = helper.make_graph([_node(node) for node in sheet.nodes], title, ports, ends, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR, producer_name=OURS)
    onnx.checker.check_model(model)
    if LIKE <= opset != OPSET:
        with suppress(RuntimeError, onnx.checker.ValidationError):  # a node has no form in that version
            older = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], producer_name=OURS)
            other = older if opset < OPSET else onnx.version_converter.convert_version(model, opset)
            other.ir_version = max(IR, helper.find_min_ir_version_for(other.opset_import))
            onnx.checker.check_model(other)
            model = other
    found: bytes = model.SerializeToString(deterministic=True)
    return found


def _node(node: Node) -> Any:
    from onnx import helper, numpy_helper

    plain: dict[str, Any] = {
        name: numpy_helper.from_array(x) if isinstance(x, np.ndarray) else x for name, x in node.attributes.items()
    }
    return helper.make_node(node.operator, node.inputs, node.outputs, node.name, **plain)


def exported(
    module: Any, shapes: Sequence[Shape], known: Known, names: Mapping[int, str], dtype: str, origin: Any
) -> bytes:
    """Return the ONNX file of a module that takes one sample of these shapes, in Values.

    `known` holds names and numbers of its weights and buffers; `names` the paths of the modules below it, by
    their id; `origin` is the file that it was loaded from. A module with operations that ONNX lacks, or that asks a
    Value for its number, is refused.
    """
    found = recorded(module, shapes)
    known = {**known, **_others(found.tape, known)}
    sheet = Sheet(known, dtype)
    writer = _Writer(sheet, found, names, origin)
    kinds = [_kind(found, writer.units, group, dtype) for group in found.inputs]
    inputs = [writer.input(k, group, kind) for k, (group, kind) in enumerate(zip(found.inputs, kinds, strict=True))]
    writer.write()
    outputs = writer.outputs(found.outputs)
    ports = [(x.name, kind, ("N", *x.shape)) for x, kind in zip(inputs, kinds, strict=True)]
    return encoded(sheet, ports, [(x.name, dtype, ("N", *x.shape)) for x in outputs], type(module).__name__,
                   OPSET if origin is None else origin.opset)  # fmt: skip


def _others(tape: Tape, known: Known) -> dict[Any, Any]:
    """Return weights that are used but do not belong to the module, with numbered names."""
    blocks = [block for block in tape.blocks if block not in known]
    return {block: (f"weight_{k}", np.array(block.values)) for k, block in enumerate(blocks)}


def _kind(found: RecordedModule, units: Units, group: NumberGroup, dtype: str) -> str:
    """Return ``"int64"`` for an input whose numbers only select rows of tables, otherwise `dtype`."""
    ids, others = set[int](), {int(row) for part in found.outputs for row in part.rows}
    for unit in units.units:
        if unit.call is not None:
            target = ids if unit.call.writer.takes_ids else others
            target.update(row for part in unit.call.inputs for row in part.rows.tolist())
        else:
            node = found.tape.nodes[unit.row]
            (ids if node.code == "gather" else others).update(node.operands())
    own = set(group.rows.tolist())
    return "int64" if own & ids and not own & others else dtype


def _named(what: str, given: Sequence[str], groups: Sequence[NumberGroup]) -> Sequence[str]:
    """Return the names of inputs or outputs: the given ones if their number fits."""
    if len(given) == len(groups):
        return given
    return [what] if len(groups) == 1 else [f"{what}_{k}" for k in range(len(groups))]


class _Writer:
    """Writes one file from a trace."""

    def __init__(self, sheet: Sheet, found: RecordedModule, names: Mapping[int, str], origin: Any) -> None:
        self.sheet, self.found, self.names = sheet, found, names
        given, made = ((), ()) if origin is None else (origin.inputs, origin.outputs)
        self.inputs, self.ends = _named("input", given, found.inputs), _named("output", made, found.outputs)
        self.places, self.units = Places.of_tape(sheet, found.tape), Units(found)

    def input(self, number: int, group: NumberGroup, kind: str) -> Output:
        """Return the tensor of input number `number` of the module."""
        tensor = self.sheet.input(self.inputs[number], group.shape)
        self.places.place_rows(group.rows, tensor)
        if kind == "int64":
            self.sheet.whole.add(tensor.name)
        return tensor

    def write(self) -> None:
        """Write all nodes that the outputs need."""
        for batch in self.units.batches():
            calls = [unit.call for unit in batch if unit.call is not None]
            if calls:
                self._calls(calls)
            else:
                write_rows(self.sheet, self.places, self.found.tape, batch[0].key, [unit.row for unit in batch])

    def _calls(self, calls: Sequence[LayerCall]) -> None:
        """Write calls of one layer; several calls are stacked along an extra first axis."""
        module, first = calls[0].module, calls[0]
        side = (len(calls),) if len(calls) > 1 else ()
        given = [
            self.places.take(np.concatenate([call.inputs[k].rows for call in calls]), (*side, *first.inputs[k].shape))
            for k in range(len(first.inputs))
        ]
        with self.sheet.in_scope(self.names.get(id(module)) or type(module).__name__.lower()):
            made = first.writer.write(module, self.sheet, *given, *first.more)
        made = replace(made, shape=(*side, *first.output.shape))
        self._put(np.concatenate([call.output.rows for call in calls]), made)

    def _put(self, rows: Rows, made: Output) -> None:
        own = (self.places.tensor[rows] == -1) & (self.units.owner[rows] >= 0)
        self.places.place_rows(rows[own], made, np.arange(prod(made.shape))[own])

    def outputs(self, groups: Sequence[NumberGroup]) -> list[Output]:
        """Return the outputs of the module; all are assembled before any gets its name."""
        last = [self.sheet.spread(self.places.take(group.rows, group.shape)) for group in groups]
        alone = [sum(x.name == other.name for other in last) == 1 for x in last]
        return [self._named(*each) for each in zip(last, self.ends, alone, strict=True)]

    def _named(self, last: Output, name: str, alone: bool) -> Output:
        """Return the tensor under the name of an output; it is renamed if nothing else uses it."""
        name = self.sheet.named(name)
        node = next((k for k, node in enumerate(self.sheet.nodes) if last.name in node.outputs), None)
        if node is None or not alone or any(last.name in other.inputs for other in self.sheet.nodes):
            made = self.sheet.node("Identity", last, shape=last.shape)
            last, node = made, len(self.sheet.nodes) - 1
        found = self.sheet.nodes[node]
        outputs = tuple(name if x == last.name else x for x in found.outputs)
        self.sheet.nodes[node] = replace(found, outputs=outputs)
        return replace(last, name=name)
