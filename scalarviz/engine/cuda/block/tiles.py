"""Which layers of a program are computed in tiles, and where their weights stand in shared memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..encode import Call, Encoded

LAYER_WIDTH = 8
"""Numbers of a line of the table of layers."""


@dataclass(frozen=True)
class Layer:
    """A layer whose operands are neighbours, and each of whose parameters gets its gradient from it alone, and once.

    Attributes
    ----------
    first, n : int
        First operand row and how many.
    weight, bias : int
        First ones in theta; bias -1 without.
    dst, outputs : int
        First result row and how many.
    place, width : int
        Where the weights begin in shared memory and how long a row is there, in numbers.
    """

    first: int
    n: int
    weight: int
    bias: int
    dst: int
    outputs: int
    place: int
    width: int

    @property
    def line(self) -> tuple[int, ...]:
        """In the table of layers."""
        return (self.first, self.n, self.weight, self.bias, self.dst, self.outputs, self.place, self.width)

    @property
    def end(self) -> int:
        """Behind its weights in shared memory."""
        return self.place + self.outputs * self.width


def row_width(n: int) -> int:
    """Of a row of `n` weights in shared memory: an odd number of fours."""
    fours = -(-n // 4)
    return 4 * (fours + 1 - fours % 2)


def layers(encoded: Encoded, start: int) -> list[Layer]:
    """Those of a program, their weights one behind the other from `start` on."""
    found: list[Layer] = []
    for call in encoded.forward:
        if call.kernel == "layer":
            args, n, weight, bias, dst, outputs = (int(k) for k in call.arguments[3:])
            rows = np.array(encoded.pool[args : args + n])
            parameters = [*range(weight, weight + n * outputs)]
            parameters += range(bias, bias + outputs) if bias >= 0 else []
            alone = _alone(encoded, parameters, range(dst, dst + outputs))
            if alone and np.array_equal(rows, np.arange(rows[0], rows[0] + n)):
                place = found[-1].end if found else start
                found.append(Layer(int(rows[0]), n, weight, bias, dst, outputs, place, row_width(n)))
    return found


def _alone(encoded: Encoded, parameters: list[int], rows: range) -> bool:
    """Whether each of these parameters gets its gradient once, by one of these rows: they may get none themselves."""
    if not np.all(np.diff(encoded.first)[parameters] == 1):
        return False
    return bool(np.isin(encoded.adjoint_rows[encoded.first[parameters]], rows).all())


def tiled(encoded: Encoded, found: list[Layer]) -> tuple[list[Call], list[Call]]:
    """Calls forward and backward, those of these layers in tiles."""
    by_row = {layer.dst: layer for layer in found}
    forward = [_forward(call, by_row) for call in encoded.forward]
    backward = [_backward(call, by_row, encoded.pool) for call in encoded.backward]
    return forward, backward


def _forward(call: Call, by_row: dict[int, Layer]) -> Call:
    if call.kernel != "layer" or int(call.arguments[7]) not in by_row:
        return call
    it = by_row[int(call.arguments[7])]
    return Call("layer_tile", 0, (it.first, it.n, it.place, it.width, it.bias, it.dst, it.outputs))


def _backward(call: Call, by_row: dict[int, Layer], pool: list[int]) -> Call:
    if call.kernel != "layer_back" or int(call.arguments[7]) not in by_row:
        return call
    it, at, count = by_row[int(call.arguments[7])], int(call.arguments[3]), int(call.arguments[4])
    rows = np.array(pool[at : at + count])
    fresh = bool(rows[0] >= 0)
    if not np.array_equal(np.where(rows < 0, -1 - rows, rows), np.arange(it.first, it.first + it.n)):
        return call
    if np.any((rows >= 0) != fresh):
        return call
    return Call("layer_tile_back", 0, (it.first, it.n, it.place, it.width, it.dst, it.outputs, int(fresh)))


def table(found: list[Layer]) -> NDArray[np.int32]:
    """Lines of layers, shape (layers, LAYER_WIDTH)."""
    return np.array([layer.line for layer in found], np.int32).reshape(-1, LAYER_WIDTH)


def others(encoded: Encoded, found: list[Layer]) -> NDArray[np.int32]:
    """Parameters whose gradients are no layer's."""
    alone = np.ones(len(encoded.first) - 1, np.bool_)
    for layer in found:
        alone[layer.weight : layer.weight + layer.n * layer.outputs] = False
        if layer.bias >= 0:
            alone[layer.bias : layer.bias + layer.outputs] = False
    return np.flatnonzero(alone).astype(np.int32)
