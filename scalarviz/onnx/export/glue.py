"""What stands between the layers, number by number: all that have one operation in one node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import InputError
from ...scalar import ops
from ...tape import Tape
from .operations import operation
from .places import Places, Rows
from .sheet import Operand, Shape, Sheet, Tensor
from .sums import sums


def write_rows(sheet: Sheet, places: Places, tape: Tape, key: Any, rows: Sequence[int]) -> None:
    """Write rows of one key, see `Units`.

    Raises
    ------
    InputError
        There is no such thing in ONNX.
    """
    code, found = key[0], np.array(rows, np.int64)
    if code == "dot":
        sums(sheet, places, tape, found)
    elif code.startswith("total "):
        for row in rows:
            places.put(np.array([row]), _total(sheet, places, tape, row))
    elif code == "gather":
        places.put(found, _gathered(sheet, places, tape, rows))
    elif code in ("max", "batch_mean"):
        places.put(found, _reduced(sheet, places, tape, code, rows))
    elif code in ops.TABLE:
        columns = np.array([tape.nodes[row].args for row in rows], np.int64).T
        operands, shape = _operands(sheet, places, columns)
        places.put(found, operation(sheet, code, operands, shape))
    else:
        raise InputError(f"to_onnx: a {code} is drawn anew at every step, which ONNX has not; call net.eval() first")


def _operands(sheet: Sheet, places: Places, columns: Rows) -> tuple[list[Operand], Shape]:
    """The operands of an operation, and the shape of what it makes: that of a whole tensor among them, if there is one.

    Equal constants are one number, and a weight is read as it is, where another operand is a tensor.
    """
    wholes = [places.whole(column) for column in columns]
    shape = next((whole.shape for whole in wholes if whole is not None), columns.shape[1:])
    found: list[Operand] = []
    for column in columns:
        numbers, block = places.number[column], places.weight(column, shape)
        if places.known(column).all() and (numbers == numbers[0]).all():
            found.append(float(numbers[0]))
        else:
            found.append(places.take(column, shape) if block is None else sheet.weight(block))
    if not any(isinstance(x, Tensor) for x in found):
        found[0] = places.take(columns[0], shape)
    return found, shape


def _reduced(sheet: Sheet, places: Places, tape: Tape, code: str, rows: Sequence[int]) -> Tensor:
    """The largest of several, or the mean over the samples."""
    columns = np.array([tape.nodes[row].args for row in rows], np.int64)
    if code == "batch_mean":
        x = sheet.spread(places.take(columns.ravel(), (len(rows),)))
        return sheet.node("ReduceMean", x, shape=x.shape, lanes=False, axes=(0,), keepdims=1)
    x = places.take(columns.ravel(), columns.shape)
    return sheet.node("ReduceMax", x, shape=(len(rows),), axes=(2,), keepdims=0)


def _gathered(sheet: Sheet, places: Places, tape: Tape, rows: Sequence[int]) -> Tensor:
    """Parameters that numbers choose: of a table as one row, the places ``number * step + first``."""
    nodes = [tape.nodes[row] for row in rows]
    blocks, firsts = places.of_theta(np.array([node.index for node in nodes], np.int64))
    parts, back = [], list[int]()
    for block in dict.fromkeys(blocks.tolist()):
        own = np.flatnonzero(blocks == block)
        ids = sheet.ids(places.take(np.array([nodes[k].args[0] for k in own], np.int64), (len(own),)))
        steps = [nodes[k].table.step for k in own]  # type: ignore[union-attr]
        flat = sheet.node("Add", sheet.node("Mul", ids, sheet.integers([steps]), shape=ids.shape),
                          sheet.integers([firsts[own].tolist()]), shape=ids.shape)  # fmt: skip
        row = sheet.fixed("Reshape", sheet.weight(places.blocks[block]), sheet.integers([-1]))
        parts.append(sheet.node("Gather", row, flat, shape=ids.shape, axis=0))
        back += own.tolist()
    if len(parts) == 1:
        return parts[0]
    joined = sheet.node("Concat", *parts, shape=(len(rows),), axis=1)
    return sheet.node("Gather", joined, sheet.integers(np.argsort(back)), shape=(len(rows),), axis=1)


def _total(sheet: Sheet, places: Places, tape: Tape, row: int) -> Tensor:
    """The sum of parameters, of their squares or of their absolutes."""
    node = tape.nodes[row]
    index = np.arange(node.index, node.index + int(node.number))
    x: Tensor = places.chosen(*places.of_theta(index), index.shape)
    how = node.code.removeprefix("total ")
    if how != "identity":
        x = operation(sheet, how, [x], x.shape)
    return sheet.node("ReduceSum", x, sheet.integers([1]), shape=(1,), keepdims=1)
