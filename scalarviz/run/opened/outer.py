"""The gradient of a layer as a sum of outer products, one sample of the batch after another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ..frame import Stage
from .passes import Passes

Float = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class OuterProduct:
    """One sample's part of a layer's gradient, and the sum so far.

    Attributes
    ----------
    count : int
        Samples added so far, this one included.
    sample : int
        Its number in the data; -1 for one that is not of it.
    delta, x : ndarray of float64, shapes (out,) and (in,)
        Their outer product is what this sample adds to the weights; `delta` is what it adds to the biases.
    total : ndarray of float64, shape (out, in)
        The sum up to here.
    bias : ndarray of float64, shape (out,)
        Likewise for the biases.
    """

    count: int
    sample: int
    delta: Float
    x: Float
    total: Float
    bias: Float


def read_by(passes: Passes, stage: Stage) -> NDArray[np.int64]:
    """The rows that a linear stage multiplies its weights with.

    Raises
    ------
    InputError
        The stage is no layer of sums.
    """
    row = int(passes.network.rows_of[stage.name][0])
    for i in passes.network.body.program.instructions:
        if i.dst <= row < i.dst + i.count and i.kind in ("layer", "conv", "dot"):
            read: NDArray[np.int64] = i.args[(row - i.dst) % len(i.args)]
            return read
    raise InputError(f"outer_products: stage {stage.name!r} ({stage.kind}) is no layer of weighted sums")


def products_of(
    passes: Passes, stage: Stage, batch: NDArray[np.int64], counts: frozenset[int] | None
) -> Iterator[OuterProduct]:
    """Every sample's, or the sums at `counts` alone; arrays of their own."""
    inputs, outputs = read_by(passes, stage), passes.network.rows_of[stage.name]
    total, bias = np.zeros((len(outputs), len(inputs))), np.zeros(len(outputs))
    count = 0
    for block in passes.blocks():
        deltas, read = block.adjoints[outputs], block.rows[inputs]
        first = 0
        for lane in range(deltas.shape[1]):
            count += 1
            if counts is None or count in counts or count == len(batch):
                part = slice(first, lane + 1)
                total += deltas[:, part] @ read[:, part].T
                bias += deltas[:, part].sum(axis=1)
                first = lane + 1
                own = deltas[:, lane].copy(), read[:, lane].copy()
                yield OuterProduct(count, int(batch[count - 1]), *own, total.copy(), bias.copy())
        total += deltas[:, first:] @ read[:, first:].T
        bias += deltas[:, first:].sum(axis=1)
