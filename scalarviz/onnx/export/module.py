"""`exported`: a module as the bytes of an ONNX file, opset 17, IR 8, with a batch of any size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from ...errors import InputError
from ...tape import Tape
from ..graph import OURS, Node
from .calls import Call, Group, Recorded, Units, recorded
from .glue import write_rows
from .sheet import DOUBLE, FLOAT, INT64, Known, Shape, Sheet, Tensor
from .sums import Places, Rows

OPSET, IR = 17, 8
"""What onnxruntime and everybody else reads."""
LARGEST = 2**31 - 2**20
"""Bytes of a file: protobuf has no larger message."""
TYPES = {"float32": FLOAT, "float64": DOUBLE, "int64": INT64}


def encoded(sheet: Sheet, inputs: Sequence[tuple[Tensor, str]], outputs: Sequence[Tensor], title: str) -> bytes:
    """The file of a sheet with such inputs (and their types) and outputs; refused if it is too large for ONNX."""
    size = sum(array.nbytes for array in sheet.constants.values())
    if size > LARGEST:
        raise InputError(
            f"to_onnx: the weights take {size / 2**30:.1f} GiB, an ONNX file holds at most 2 GiB; "
            "net.state_dict() and sv.io.save_tensors write any size as safetensors"
        )
    import onnx
    from onnx import helper, numpy_helper

    ports = [helper.make_tensor_value_info(t.name, TYPES[kind], ["N", *t.shape]) for t, kind in inputs]
    ends = [helper.make_tensor_value_info(t.name, TYPES[sheet.dtype.name], ["N", *t.shape]) for t in outputs]
    constants = [numpy_helper.from_array(np.ascontiguousarray(a).reshape(a.shape), name)
                 for name, a in sheet.constants.items()]  # fmt: skip
    graph = helper.make_graph([_node(node) for node in sheet.nodes], title, ports, ends, constants)
    opsets = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=IR, producer_name=OURS)
    onnx.checker.check_model(model)
    found: bytes = model.SerializeToString(deterministic=True)
    return found


def _node(node: Node) -> Any:
    from onnx import helper, numpy_helper

    plain: dict[str, Any] = {
        name: numpy_helper.from_array(x) if isinstance(x, np.ndarray) else x for name, x in node.attributes.items()
    }
    return helper.make_node(node.operator, node.inputs, node.outputs, node.name, **plain)


def exported(
    module: Any, shapes: Sequence[Shape], known: Known, names: Mapping[int, str], dtype: str
) -> bytes:  # fmt: skip
    """The file of a module that takes one sample of these shapes, in Values.

    `known` are names and numbers of its weights and buffers, `names` the paths of the modules below it, by their id.
    A module that does what ONNX has not, or asks a Value for its number, is refused.
    """
    found = recorded(module, shapes)
    known = {**known, **_others(found.tape, known)}
    sheet = Sheet(known, dtype)
    writer = _Writer(sheet, found, names)
    kinds = [_kind(found, writer.units, group, dtype) for group in found.inputs]
    inputs = [writer.input(k, group, kind) for k, (group, kind) in enumerate(zip(found.inputs, kinds, strict=True))]
    writer.write()
    outputs = writer.outputs(found.outputs)
    return encoded(sheet, list(zip(inputs, kinds, strict=True)), outputs, type(module).__name__)


def _others(tape: Tape, known: Known) -> dict[Any, Any]:
    """Weights that are used but do not belong to the module, by a number."""
    blocks = [block for block in tape.blocks if block not in known]
    return {block: (f"weight_{k}", np.array(block.values)) for k, block in enumerate(blocks)}


def _kind(found: Recorded, units: Units, group: Group, dtype: str) -> str:
    """``"int64"`` of an input whose numbers only choose rows of tables, else that of all numbers."""
    ids, others = set[int](), {int(row) for part in found.outputs for row in part.rows}
    for unit in units.units:
        if unit.call is not None:
            target = ids if getattr(unit.call.module, "onnx_ids", False) else others
            target.update(row for part in unit.call.inputs for row in part.rows.tolist())
        else:
            node = found.tape.nodes[unit.row]
            (ids if node.code == "gather" else others).update(node.operands())
    own = set(group.rows.tolist())
    return "int64" if own & ids and not own & others else dtype


class _Writer:
    """One file: goes through the levels of a recording."""

    def __init__(self, sheet: Sheet, found: Recorded, names: Mapping[int, str]) -> None:
        self.sheet, self.found, self.names = sheet, found, names
        self.places, self.units = Places(sheet, found.tape), Units(found)

    def input(self, number: int, group: Group, kind: str) -> Tensor:
        """Number `number` of what the module gets."""
        name = "input" if len(self.found.inputs) == 1 else f"input_{number}"
        tensor = self.sheet.input(name, group.shape)
        self.places.put(group.rows, tensor)
        if kind == "int64":
            self.sheet.whole.add(tensor.name)
        return tensor

    def write(self) -> None:
        """All nodes that the outputs need."""
        for batch in self.units.batches():
            calls = [unit.call for unit in batch if unit.call is not None]
            if calls:
                self._calls(calls)
            else:
                write_rows(self.sheet, self.places, self.found.tape, batch[0].key, [unit.row for unit in batch])

    def _calls(self, calls: Sequence[Call]) -> None:
        """Calls of one layer: several of them side by side along an axis before their own."""
        module, first = calls[0].module, calls[0]
        side = (len(calls),) if len(calls) > 1 else ()
        given = [
            self.places.take(np.concatenate([call.inputs[k].rows for call in calls]), (*side, *first.inputs[k].shape))
            for k in range(len(first.inputs))
        ]
        with self.sheet.of(self.names.get(id(module)) or type(module).__name__.lower()):
            made = module.write_onnx(self.sheet, *given, *first.more)
        made = replace(made, shape=(*side, *first.output.shape))
        self._put(np.concatenate([call.output.rows for call in calls]), made)

    def _put(self, rows: Rows, made: Tensor) -> None:
        own = (self.places.tensor[rows] == -1) & (self.units.owner[rows] >= 0)
        self.places.put(rows[own], made, np.arange(prod(made.shape))[own])

    def outputs(self, groups: Sequence[Group]) -> list[Tensor]:
        """What the module returned: all of it is put together before any of it gets its name."""
        last = [self.sheet.spread(self.places.take(group.rows, group.shape)) for group in groups]
        names = ["output"] if len(groups) == 1 else [f"output_{k}" for k in range(len(groups))]
        alone = [sum(x.name == other.name for other in last) == 1 for x in last]
        return [self._named(*each) for each in zip(last, names, alone, strict=True)]

    def _named(self, last: Tensor, name: str, alone: bool) -> Tensor:
        """The tensor under the name of an output: by renaming it where a node makes it for nothing else."""
        name = self.sheet.named(name)
        node = next((k for k, node in enumerate(self.sheet.nodes) if last.name in node.outputs), None)
        if node is None or not alone or any(last.name in other.inputs for other in self.sheet.nodes):
            made = self.sheet.node("Identity", last, shape=last.shape)
            last, node = made, len(self.sheet.nodes) - 1
        found = self.sheet.nodes[node]
        outputs = tuple(name if x == last.name else x for x in found.outputs)
        self.sheet.nodes[node] = replace(found, outputs=outputs)
        return replace(last, name=name)
