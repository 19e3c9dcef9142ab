"""`Places`: in which tensor each number of a tape stands, and tensors put together of numbers from several places."""

from __future__ import annotations

from hashlib import blake2b
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...scalar.store import Block
from ...tape import Tape
from .sheet import Shape, Sheet, Tensor

Rows = NDArray[np.int64]

CONSTANT = -2
"""In the place of a tensor's number: a number that is known."""
PIECES = 8
"""Runs of neighbours that are cut out one by one; more of them are chosen by a list of places."""


class Places:
    """Where the rows of a tape stand.

    Parameters
    ----------
    sheet : Sheet
    tape : Tape
    """

    def __init__(self, sheet: Sheet, tape: Tape) -> None:
        self.sheet, self.blocks = sheet, tape.blocks
        self.starts = np.array([0, *accumulate(block.size for block in tape.blocks)], np.int64)
        self.tensors: list[Tensor | Block] = list(tape.blocks)
        self.tensor: Rows = np.full(len(tape.nodes), -1)
        self.index: Rows = np.zeros(len(tape.nodes), np.int64)
        self._done: dict[Any, Tensor] = {}
        self.number: NDArray[np.float64] = np.zeros(len(tape.nodes))
        for row, node in enumerate(tape.nodes):
            if node.code == "const":
                self.tensor[row], self.number[row] = CONSTANT, node.number
            elif node.code in ("param", "buffer"):
                self.tensor[row], self.index[row] = (int(x) for x in self.of_theta(np.array(node.index)))

    def put(self, rows: Rows, tensor: Tensor, places: Rows | None = None) -> None:
        """The rows stand in a tensor, one after the other or at these places of it."""
        self.tensor[rows] = len(self.tensors)
        self.index[rows] = np.arange(len(rows)) if places is None else places
        self.tensors.append(tensor)

    def of_theta(self, indices: Rows) -> tuple[Rows, Rows]:
        """By index into theta, the tensor (a block's) and the place in it."""
        block = np.searchsorted(self.starts, indices, "right") - 1
        return block, indices - self.starts[block]

    def known(self, rows: Rows) -> NDArray[np.bool_]:
        """Which of the rows are constants."""
        return np.asarray(self.tensor[rows] == CONSTANT)

    def whole(self, rows: Rows) -> Tensor | None:
        """The tensor of a layer or a node, or the input, that the rows are, all of it in its order."""
        number = int(self.tensor[rows[0]])
        found = self.tensors[number] if number >= 0 else None
        if not isinstance(found, Tensor) or not (self.tensor[rows] == number).all():
            return None
        return found if np.array_equal(self.index[rows], np.arange(prod(found.shape))) else None

    def weight(self, rows: Rows, shape: Shape) -> Block | None:
        """The parameter that the rows are: all of it in its order, where it has that shape, or one number for all."""
        number = int(self.tensor[rows[0]])
        if not (0 <= number < len(self.blocks) and (self.tensor[rows] == number).all()):
            return None
        block, own = self.blocks[number], self.sheet.known[self.blocks[number]][1].shape
        fits = own == shape and np.array_equal(self.index[rows], np.arange(block.size))
        return block if fits or (block.size == 1 and len(own) <= len(shape)) else None

    def take(self, rows: Rows, shape: Shape) -> Tensor:
        """A tensor of the numbers of these rows."""
        return self.chosen(self.tensor[rows], self.index[rows], shape, self.number[rows])

    def chosen(self, tensors: Rows, index: Rows, shape: Shape, numbers: Any = 0.0) -> Tensor:
        """A tensor of numbers that stand at such places of such tensors, where it is `CONSTANT` of `numbers`.

        Parameters
        ----------
        tensors, index : ndarray of int64, shape (prod(shape),)
        shape : tuple of int
        numbers : ndarray, shape (prod(shape),)
        """
        constant = tensors == CONSTANT
        if constant.all():
            array = np.reshape(np.broadcast_to(numbers, index.shape), (1, *shape))
            return Tensor(self.sheet.numbers(array), shape, lanes=False)
        if constant.any():
            different, inverse = np.unique(numbers[constant], return_inverse=True)
            made = Tensor(self.sheet.numbers(different[None]), different.shape, lanes=False)
            tensors, index = tensors.copy(), index.copy()
            tensors[constant], index[constant] = len(self.tensors), inverse
            self.tensors.append(made)
        return self._joined(tensors, index, shape)

    def _joined(self, tensors: Rows, index: Rows, shape: Shape) -> Tensor:
        key = (blake2b(tensors.tobytes() + index.tobytes()).digest(), shape)
        if key not in self._done:
            self._done[key] = self._put_together(tensors, index, shape)
        return self._done[key]

    def _put_together(self, tensors: Rows, index: Rows, shape: Shape) -> Tensor:
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
        return self.sheet.node("Gather", self._concat(flats), places, shape=shape, axis=1)

    def _tensor(self, number: int) -> Tensor:
        found = self.tensors[number]
        return self.sheet.flat(found) if isinstance(found, Block) else found

    def _flat(self, x: Tensor) -> Tensor:
        return self.sheet.reshaped(x, (prod(x.shape),))

    def _slice(self, x: Tensor, start: int, count: int) -> Tensor:
        x = self._flat(x)
        if x.shape == (count,):
            return x
        ends = (self.sheet.integers([n]) for n in (start, start + count, 1))
        return self.sheet.node("Slice", x, *ends, shape=(count,))

    def _concat(self, parts: tuple[Tensor, ...]) -> Tensor:
        if len(parts) == 1:
            return parts[0]
        key = ("concat", *(part.name for part in parts))
        shape = (sum(part.shape[0] for part in parts),)
        return self.sheet.once(key, lambda: self.sheet.node("Concat", *parts, shape=shape, axis=1))
