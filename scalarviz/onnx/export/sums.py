"""Weighted sums between the layers: products of matrices where the same weights meet several rows, else one by one."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from ...tape import Node, Tape
from .places import Places, Rows
from .sheet import Operand, Sheet, Tensor


def sums(sheet: Sheet, places: Places, tape: Tape, rows: Rows) -> None:
    """Write sums of as many terms each, whose weights are of one kind."""
    layers = _layers(tape, rows)
    alone = [layer[0][0] for layer in layers if np.size(layer) == 1]
    if alone:
        _each(sheet, places, tape, np.array(alone, np.int64))
    for layer in layers:
        if np.size(layer) > 1:
            _layer(sheet, places, tape, np.array(layer, np.int64))


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
    """Sums that have nothing in common but how many terms they have: products, then sums along an axis."""
    nodes = [tape.nodes[row] for row in rows]
    terms = [node.terms for node in nodes if node.terms is not None]
    inputs = np.array([node.args for node in nodes], np.int64)
    shape, count = inputs.shape, len(rows)
    x = places.take(inputs.ravel(), shape)
    weights = np.array([list(t.weights) for t in terms]).reshape(shape)
    factor: Operand
    if terms[0].kind == "row":
        factor = places.take(weights.ravel(), shape)
    elif terms[0].kind == "param":
        factor = places.chosen(*places.of_theta(weights.ravel()), shape)
    else:
        same = (weights == weights.flat[0]).all()
        factor = float(weights.flat[0]) if same else Tensor(sheet.numbers(weights[None]), shape, lanes=False)
    if factor != 1.0:
        x = sheet.node("Mul", x, factor, shape=shape)
    made = sheet.node("ReduceSum", x, sheet.integers([2]), shape=(count,), keepdims=0)
    bias = _bias(sheet, places, nodes)
    places.put(rows, made if bias is None else sheet.node("Add", made, bias, shape=(count,)))
