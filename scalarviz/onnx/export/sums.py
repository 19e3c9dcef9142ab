"""Weighted sums between the layers: products of matrices where the same weights meet several rows, else one by one."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from ...tape import Node, Tape
from .places import CONSTANT, Places, Rows
from .sheet import Operand, Sheet, Tensor


def sums(sheet: Sheet, places: Places, tape: Tape, rows: Rows) -> None:
    """Write sums whose weights are of one kind."""
    alone: list[int] = []
    for layer in _layers(tape, rows):
        terms = tape.nodes[layer[0][0]].terms
        if len(layer[0]) == 1 and (len(layer) == 1 or terms.kind == "const"):  # type: ignore[union-attr]
            alone += [row for (row,) in layer]
        else:
            _layer(sheet, places, tape, np.array(layer, np.int64))
    if alone:
        _each(sheet, places, tape, np.array(alone, np.int64))


def _layers(tape: Tape, rows: Rows) -> list[list[list[int]]]:
    """Rows by what they read, and those that have the same weights together: inputs x sums."""
    reading: dict[Any, list[int]] = defaultdict(list)
    names: dict[int, Any] = {}
    for row in rows.tolist():
        args = tape.nodes[row].args
        reading[names.setdefault(id(args), args)].append(row)
    found: dict[Any, list[list[int]]] = defaultdict(list)
    for group in reading.values():
        if tape.nodes[group[0]].terms.kind == "row":  # type: ignore[union-attr]
            for row in group:
                found[row].append([row])
        else:
            found[tuple(_weights_key(tape.nodes[row]) for row in group)].append(group)
    return list(found.values())


def _weights_key(node: Node) -> Any:
    terms = node.terms
    assert terms is not None
    return terms.weights, terms.bias, terms.offset


def _layer(sheet: Sheet, places: Places, tape: Tape, layer: Rows) -> None:
    """``x @ W.T + b`` of some rows x of inputs."""
    nodes = [tape.nodes[row] for row in layer[0]]
    inputs = np.array([tape.nodes[group[0]].args for group in layer], np.int64)
    many, (count, n) = len(layer) > 1, (len(nodes), inputs.shape[1])
    shape = (len(layer), count) if many else (count,)
    x = places.take(inputs.ravel(), inputs.shape if many else (n,))
    weight, bias = _matrix(sheet, places, nodes), _bias(sheet, places, nodes)
    if many:
        made = sheet.node("MatMul", x, sheet.turned(weight), shape=shape)
        made = made if bias is None else sheet.node("Add", made, bias, shape=shape)
    else:
        made = sheet.node("Gemm", x, weight, *([] if bias is None else [bias]), shape=shape, transB=1)
    places.put(layer.ravel(), made)


def _matrix(sheet: Sheet, places: Places, nodes: list[Node]) -> str:
    """The weights of several sums, one a row: a parameter by its name where it is that, else put together."""
    weights = np.array([list(node.terms.weights) for node in nodes])  # type: ignore[union-attr]
    if nodes[0].terms.kind == "const":  # type: ignore[union-attr]
        return sheet.numbers(weights)
    tensors, index = places.of_theta(weights.ravel())
    block = places.blocks[int(tensors[0])]
    whole = (tensors == tensors[0]).all() and np.array_equal(index, np.arange(block.size))
    if whole and sheet.known[block][1].shape == weights.shape:
        return sheet.weight(block)
    found = places.chosen(tensors, index, index.shape)
    return sheet.fixed("Reshape", found, sheet.integers(weights.shape))


def _bias(sheet: Sheet, places: Places, nodes: list[Node]) -> str | None:
    """What is added to each of several sums."""
    terms = [node.terms for node in nodes if node.terms is not None]
    found: str | None = None
    if terms[0].bias is not None:
        tensors, index = places.of_theta(np.array([t.bias for t in terms], np.int64))
        block = places.blocks[int(tensors[0])]
        whole = (tensors == tensors[0]).all() and np.array_equal(index, np.arange(block.size))
        if whole and sheet.known[block][1].shape == index.shape:
            found = sheet.weight(block)
        else:
            found = places.chosen(tensors, index, index.shape).name
    offsets = [t.offset for t in terms]
    if not any(offsets):
        return found
    return sheet.numbers(offsets) if found is None else sheet.fixed("Add", found, sheet.numbers(offsets))


def _each(sheet: Sheet, places: Places, tape: Tape, rows: Rows) -> None:
    """Sums that have nothing in common: products, then sums along an axis; shorter ones are filled up with 0."""
    nodes = [tape.nodes[row] for row in rows]
    terms = [node.terms for node in nodes if node.terms is not None]
    there = np.array([len(node.args) for node in nodes])[:, None] > np.arange(max(len(node.args) for node in nodes))
    shape, count = there.shape, len(rows)
    inputs = np.concatenate([np.array(node.args, np.int64) for node in nodes])
    x = _filled(places, there, places.tensor[inputs], places.index[inputs], places.number[inputs])
    weights = np.concatenate([list(t.weights) for t in terms])
    factor: Operand
    if terms[0].kind == "const":
        whole = np.full(shape, weights[0])  # where there is no term, any number will do
        whole[there] = weights
        same = (weights == weights[0]).all()
        factor = float(weights[0]) if same else Tensor(sheet.numbers(whole[None]), shape, lanes=False)
    elif np.array_equal(weights, inputs) and terms[0].kind == "row":
        factor = x
    elif terms[0].kind == "row":
        factor = _filled(places, there, places.tensor[weights], places.index[weights], places.number[weights])
    else:
        factor = _filled(places, there, *places.of_theta(weights))
    if factor != 1.0:
        x = sheet.node("Mul", x, factor, shape=shape)
    made = sheet.node("ReduceSum", x, sheet.integers([2]), shape=(count,), keepdims=0)
    bias = _bias(sheet, places, nodes)
    places.put(rows, made if bias is None else sheet.node("Add", made, bias, shape=(count,)))


def _filled(places: Places, there: Any, tensors: Rows, index: Rows, numbers: Any = 0.0) -> Tensor:
    """Numbers where there are some, row by row, and 0 elsewhere."""
    where = np.full(there.shape, CONSTANT), np.zeros(there.shape, np.int64), np.zeros(there.shape)
    for whole, part in zip(where, (tensors, index, numbers), strict=True):
        whole[there] = part
    return places.chosen(where[0].ravel(), where[1].ravel(), there.shape, where[2].ravel())
