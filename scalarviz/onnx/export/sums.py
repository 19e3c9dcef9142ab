"""Weighted sums between the layers: matrix products if several rows share weights, otherwise one by one.

`Places` knows the tensor of each number of a tape, and builds tensors from numbers in several tensors.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from hashlib import blake2b
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...scalar.store import Block
from ...tape import Node, Tape
from ...tape.tape import terms_of
from .sheet import Operand, Output, Shape, Sheet

Rows = NDArray[np.int64]

CONSTANT = -2
"""Stands for the number of a tensor: the row is a constant."""
PIECES = 8
"""Most slices that are cut out one by one; more are selected by a list of indices."""


class Places:
    """The tensor and the index of each row."""

    def __init__(self, sheet: Sheet, blocks: Sequence[Block], count: int) -> None:
        self.sheet, self.blocks = sheet, blocks
        self.starts = np.array([0, *accumulate(block.size for block in blocks)], np.int64)
        self.tensors: list[Output | Block] = list(blocks)
        self.tensor: Rows = np.full(count, -1)
        self.index: Rows = np.zeros(count, np.int64)
        self._done: dict[Any, Output] = {}
        self.number: NDArray[np.float64] = np.zeros(count)

    @classmethod
    def of_tape(cls, sheet: Sheet, tape: Tape) -> Places:
        """Return the places of the constants and the parameters of a tape."""
        found = cls(sheet, tape.blocks, len(tape.nodes))
        for row, node in enumerate(tape.nodes):
            if node.code == "const":
                found.tensor[row], found.number[row] = CONSTANT, node.number
            elif node.code in ("param", "buffer"):
                found.tensor[row], found.index[row] = (int(x) for x in found.of_theta(np.array(node.index)))
        return found

    def place_rows(self, rows: Rows, tensor: Output, places: Rows | None = None) -> None:
        """Set the place of rows: a tensor, from its start or at the given `places`."""
        self.tensor[rows] = len(self.tensors)
        self.index[rows] = np.arange(len(rows)) if places is None else places
        self.tensors.append(tensor)

    def of_theta(self, indices: Rows) -> tuple[Rows, Rows]:
        """Return the number of the block's tensor and the index in it, by index into theta."""
        block = np.searchsorted(self.starts, indices, "right") - 1
        return block, indices - self.starts[block]

    def known(self, rows: Rows) -> NDArray[np.bool_]:
        """Return which of the rows are constants."""
        return np.asarray(self.tensor[rows] == CONSTANT)

    def whole_tensor(self, rows: Rows) -> Output | None:
        """Return the tensor that equals the rows, complete and in order, or None."""
        number = int(self.tensor[rows[0]])
        found = self.tensors[number] if number >= 0 else None
        if not isinstance(found, Output) or not (self.tensor[rows] == number).all():
            return None
        return found if np.array_equal(self.index[rows], np.arange(prod(found.shape))) else None

    def parameter(self, tensors: Rows, index: Rows, shape: Shape) -> Block | None:
        """Return the parameter with that shape that the numbers at these places are, complete and in order; or None."""
        block = self.blocks[int(tensors[0])]
        whole = (tensors == tensors[0]).all() and np.array_equal(index, np.arange(block.size))
        return block if whole and self.sheet.known[block][1].shape == shape else None

    def matrix(self, tensors: Rows, index: Rows, shape: Shape) -> str:
        """Return the name of a matrix of parameters without samples; a whole parameter keeps its own name."""
        block = self.parameter(tensors, index, shape) if 0 <= tensors[0] < len(self.blocks) else None
        if block is not None:
            return self.sheet.weight(block)
        flat = self.gather(tensors, index, index.shape)
        sides = self.sheet.integers(shape)
        return self.sheet.cached(("matrix", flat.name, shape), lambda: self.sheet.fixed("Reshape", flat, sides))

    def weight(self, rows: Rows, shape: Shape) -> Block | None:
        """Return the parameter that the rows are, with that shape or one number for all rows; None if none."""
        tensors, number = self.tensor[rows], int(self.tensor[rows[0]])
        if not (0 <= number < len(self.blocks) and (tensors == number).all()):
            return None
        block = self.blocks[number]
        single = block.size == 1 and self.sheet.known[block][1].ndim <= len(shape)
        return block if single else self.parameter(tensors, self.index[rows], shape)

    def take(self, rows: Rows, shape: Shape) -> Output:
        """Return a tensor of the numbers of these rows."""
        return self.gather(self.tensor[rows], self.index[rows], shape, self.number[rows])

    def gather(self, tensors: Rows, index: Rows, shape: Shape, numbers: Any = 0.0) -> Output:
        """Return a tensor of numbers at these indices of these tensors; `CONSTANT` takes them from `numbers`."""
        constant = tensors == CONSTANT
        if constant.all():
            array = np.reshape(np.broadcast_to(numbers, index.shape), self.sheet.sided(shape, 1))
            return Output(self.sheet.numbers(array), shape, lanes=False)
        if constant.any():
            different, inverse = np.unique(numbers[constant], return_inverse=True)
            column = different.reshape(self.sheet.sided(different.shape, 1))
            made = Output(self.sheet.numbers(column), different.shape, lanes=False)
            tensors, index = tensors.copy(), index.copy()
            tensors[constant], index[constant] = len(self.tensors), inverse
            self.tensors.append(made)
        return self._joined(tensors, index, shape)

    def _joined(self, tensors: Rows, index: Rows, shape: Shape) -> Output:
        key = (blake2b(tensors.tobytes() + index.tobytes()).digest(), shape)
        if key not in self._done:
            self._done[key] = self._put_together(tensors, index, shape)
        return self._done[key]

    def _put_together(self, tensors: Rows, index: Rows, shape: Shape) -> Output:
        first = np.sort(np.unique(tensors, return_index=True)[1])
        parts = {int(t): self._tensor(int(t)) for t in tensors[first]}
        if len(parts) == 1:
            (only,) = parts.values()
            if np.array_equal(index, np.arange(prod(only.shape))):
                return self.sheet.reshaped(only, shape)
        if any(part.lanes for part in parts.values()) and not all(part.lanes for part in parts.values()):
            parts = {t: self.sheet.spread(self._flat(part)) for t, part in parts.items()}
        breaks = np.flatnonzero((np.diff(tensors) != 0) | (np.diff(index) != 1)) + 1
        if len(breaks) < max(PIECES, len(parts)):
            runs = np.split(np.arange(len(index)), breaks)
            pieces = [self._slice(parts[int(tensors[r[0]])], int(index[r[0]]), len(r)) for r in runs]
            return self.sheet.reshaped(self._concat(tuple(pieces)), shape)
        flats = tuple(self._flat(part) for part in parts.values())
        starts = dict(zip(parts, accumulate((f.shape[0] for f in flats), initial=0), strict=False))
        offset = np.vectorize(starts.__getitem__, otypes=[np.int64])(tensors)
        places = self.sheet.integers((index + offset).reshape(shape))
        return self.sheet.node("Gather", self._concat(flats), places, shape=shape, axis=self.sheet.numbered)

    def _tensor(self, number: int) -> Output:
        found = self.tensors[number]
        return self.sheet.flat(found) if isinstance(found, Block) else found

    def _flat(self, x: Output) -> Output:
        return self.sheet.reshaped(x, (prod(x.shape),))

    def _slice(self, x: Output, start: int, count: int) -> Output:
        x = self._flat(x)
        if x.shape == (count,):
            return x
        ends = (self.sheet.integers([n]) for n in (start, start + count, self.sheet.numbered))
        return self.sheet.node("Slice", x, *ends, shape=(count,))

    def _concat(self, parts: tuple[Output, ...]) -> Output:
        if len(parts) == 1:
            return parts[0]
        key = ("concat", *(part.name for part in parts))
        shape = (sum(part.shape[0] for part in parts),)
        return self.sheet.cached(key, lambda: self.sheet.node("Concat", *parts, shape=shape, axis=self.sheet.numbered))


def sums(sheet: Sheet, places: Places, tape: Tape, rows: Rows) -> None:
    """Write sums whose weights are of one kind."""
    alone: list[int] = []
    for layer in _layers(tape, rows):
        kind = terms_of(tape.nodes[layer[0][0]]).kind
        if len(layer[0]) == 1 and (len(layer) == 1 or kind == "const"):
            alone += [row for (row,) in layer]
        else:
            _layer(sheet, places, tape, np.array(layer, np.int64))
    if alone:
        _single_sums(sheet, places, tape, np.array(alone, np.int64))


def _layers(tape: Tape, rows: Rows) -> list[list[list[int]]]:
    """Group rows by their inputs, and groups with the same weights: inputs x sums."""
    reading: dict[Any, list[int]] = defaultdict(list)
    names: dict[int, Any] = {}
    for row in rows.tolist():
        args = tape.nodes[row].args
        reading[names.setdefault(id(args), args)].append(row)
    found: dict[Any, list[list[int]]] = defaultdict(list)
    for group in reading.values():
        if terms_of(tape.nodes[group[0]]).kind == "row":
            for row in group:
                found[row].append([row])
        else:
            terms = [terms_of(tape.nodes[row]) for row in group]
            found[tuple((t.weights, t.bias, t.offset) for t in terms)].append(group)
    return list(found.values())


def _layer(sheet: Sheet, places: Places, tape: Tape, layer: Rows) -> None:
    """Write ``x @ W.T + b`` for rows x of inputs."""
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
    places.place_rows(layer.ravel(), made)


def _matrix(sheet: Sheet, places: Places, nodes: list[Node]) -> str:
    """Return the weights of several sums, one per row: a whole parameter by its name, or a new matrix."""
    weights = np.array([list(terms_of(node).weights) for node in nodes])
    if terms_of(nodes[0]).kind == "const":
        return sheet.numbers(weights)
    return places.matrix(*places.of_theta(weights.ravel()), weights.shape)


def _bias(sheet: Sheet, places: Places, nodes: list[Node]) -> str | None:
    """Return the name of the biases of several sums, or None."""
    terms = [terms_of(node) for node in nodes]
    there = terms[0].bias is not None
    found = places.matrix(*places.of_theta(np.array([t.bias for t in terms])), (len(terms),)) if there else None
    offsets = [t.offset for t in terms]
    if not any(offsets):
        return found
    return sheet.numbers(offsets) if found is None else sheet.fixed("Add", found, sheet.numbers(offsets))


def _single_sums(sheet: Sheet, places: Places, tape: Tape, rows: Rows) -> None:
    """Write sums without shared weights: products, then sums along an axis; shorter ones are padded with 0."""
    nodes = [tape.nodes[row] for row in rows]
    terms = [terms_of(node) for node in nodes]
    there = np.array([len(node.args) for node in nodes])[:, None] > np.arange(max(len(node.args) for node in nodes))
    shape, count = there.shape, len(rows)
    inputs = np.concatenate([np.array(node.args, np.int64) for node in nodes])
    x = _filled(places, there, places.tensor[inputs], places.index[inputs], places.number[inputs])
    weights = np.concatenate([list(t.weights) for t in terms])
    factor: Operand
    if terms[0].kind == "const":
        whole = np.full(shape, weights[0])  # without a term, any number will do
        whole[there] = weights
        same = (weights == weights[0]).all()
        factor = float(weights[0]) if same else Output(sheet.numbers(whole[None]), shape, lanes=False)
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
    places.place_rows(rows, made if bias is None else sheet.node("Add", made, bias, shape=(count,)))


def _filled(places: Places, there: Any, tensors: Rows, index: Rows, numbers: Any = 0.0) -> Output:
    """Return a tensor with numbers where `there` is set, row by row, and 0 elsewhere."""
    where = np.full(there.shape, CONSTANT), np.zeros(there.shape, np.int64), np.zeros(there.shape)
    for whole, part in zip(where, (tensors, index, numbers), strict=True):
        whole[there] = part
    return places.gather(where[0].ravel(), where[1].ravel(), there.shape, where[2].ravel())
