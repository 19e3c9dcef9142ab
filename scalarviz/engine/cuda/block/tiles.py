"""Which layers of a program are computed in tiles, and where their weights stand in shared memory."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..encode import Call, Encoded
from .table import Line, given

LAYER_WIDTH = 6
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
        return (self.first, self.n, self.weight, self.bias, self.dst, self.outputs)

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
            of = given(call)
            n, outputs = of["n"], of["count"]
            rows = np.array(encoded.pool[of["args"] : of["args"] + n])
            parameters = [*range(of["weight"], of["weight"] + n * outputs)]
            parameters += range(of["bias"], of["bias"] + outputs) if of["bias"] >= 0 else []
            alone = _alone(encoded, parameters, range(of["dst"], of["dst"] + outputs))
            if alone and np.array_equal(rows, np.arange(rows[0], rows[0] + n)):
                place, width = found[-1].end if found else start, row_width(n)
                found.append(Layer(int(rows[0]), n, of["weight"], of["bias"], of["dst"], outputs, place, width))
    return found


def _alone(encoded: Encoded, parameters: list[int], rows: range) -> bool:
    """Whether each of these parameters gets its gradient once, by one of these rows: they may get none themselves."""
    if not np.all(np.diff(encoded.first)[parameters] == 1):
        return False
    return bool(np.isin(encoded.adjoint_rows[encoded.first[parameters]], rows).all())


def tiled(encoded: Encoded, lines: list[Line], found: list[Layer]) -> list[Line]:
    """Lines, forward or backward, with those of these layers in tiles."""
    by_row = {layer.dst: layer for layer in found}
    return [replace(line, call=_call(line.call, by_row, encoded.pool)) for line in lines]


def _call(call: Call, by_row: dict[int, Layer], pool: list[int]) -> Call:
    if call.kernel not in ("layer", "layer_back"):
        return call
    numbers = given(call)
    it = by_row.get(numbers["dst"])
    if it is None:
        return call
    if call.kernel == "layer":
        return Call("layer_tile", 0, (it.first, it.n, it.place, it.width, it.bias, it.dst, it.outputs))
    rows = np.array(pool[numbers["at"] : numbers["at"] + numbers["targets"]])
    fresh = bool(rows[0] >= 0)
    whole = np.array_equal(np.where(rows < 0, -1 - rows, rows), np.arange(it.first, it.first + it.n))
    if not whole or np.any((rows >= 0) != fresh):
        return call
    return Call("layer_tile_back", 0, (it.first, it.n, it.place, it.width, it.dst, it.outputs, int(fresh)))


def table(found: list[Layer]) -> NDArray[np.int32]:
    """Lines of layers, shape (layers, LAYER_WIDTH)."""
    return np.array([layer.line for layer in found], np.int32).reshape(-1, LAYER_WIDTH)


def others(found: list[Layer], n_theta: int) -> NDArray[np.bool_]:
    """Which parameters have gradients that are no layer's."""
    alone = np.ones(n_theta, np.bool_)
    for layer in found:
        alone[layer.weight : layer.weight + layer.n * layer.outputs] = False
        if layer.bias >= 0:
            alone[layer.bias : layer.bias + layer.outputs] = False
    return alone


def copies(found: list[Layer], n_theta: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """How weights come into shared memory: by fours, and one by one (see ``layers.stage``)."""
    places = np.full(n_theta, -1, np.int64)
    for layer in found:
        rows = layer.place + layer.width * np.arange(layer.outputs)[:, None] + np.arange(layer.n)
        places[layer.weight : layer.weight + rows.size] = rows.ravel()
    fours = places[: n_theta - n_theta % 4].reshape(-1, 4)
    together = (fours[:, 0] >= 0) & (fours[:, 0] % 4 == 0) & np.all(np.diff(fours, axis=1) == 1, axis=1)
    alone = places.copy()
    alone[: fours.size][np.repeat(together, 4)] = -1
    ones = np.flatnonzero(alone >= 0)
    return np.where(together, fours[:, 0], -1).astype(np.int32), np.stack([ones, alone[ones]], 1).astype(np.int32)
