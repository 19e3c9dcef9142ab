"""What a program is encoded to: calls of kernels, and the tables of indices that they read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .tiling import Tile

Name = Literal["values", "adjoints", "theta", "grad", "pool", "numbers", "sums"]
"""What calls may name: rows of values and adjoints, parameters and their gradients, the tables, sums over the batch."""

MEAN_SLICES = 32
"""Into which the lanes are cut where a mean is taken over them."""


class Call(NamedTuple):
    """One launch, for a chunk of lanes.

    Attributes
    ----------
    kernel : str
        As in ``catalog``.
    rows : int
        Rows of threads, a thread a lane in each; rows of blocks where there is a tile.
    arguments : tuple of str, int or float
        Names of buffers, and numbers. Behind them come the stride and the number of lanes.
    tile : Tile or None
        What a block computes; None where each thread computes one number.
    """

    kernel: str
    rows: int
    arguments: tuple[str | int | float, ...]
    tile: Tile | None = None


class Sum(NamedTuple):
    """One launch that sums gradients of weights over lanes in tiles.

    Attributes
    ----------
    tile : Tile
    at, blocks : int
        Where the numbers of its blocks stand in the pool (see ``kernels/tile_sums.tile_weights``), and of how many.
    """

    tile: Tile
    at: int
    blocks: int


SORTED = 4096
"""Rows of a table above which its gradients are summed over sorted numbers; see ``kernels/tables``."""


class Scatter(NamedTuple):
    """The gradients of a table that is read by number.

    Attributes
    ----------
    ids, positions : int
        Where the rows of the numbers begin in the pool, and how many.
    weights, columns : int
        Likewise the parameters that the number 0 chooses.
    rows, step : int
        Of the table: how many numbers there are, and how far from one parameter to the next.
    dst : int
        The first row of the results.
    """

    ids: int
    positions: int
    weights: int
    columns: int
    rows: int
    step: int
    dst: int


class Squares(NamedTuple):
    """A squared error that is the loss and is computed where the losses are summed: its rows, in the pool.

    Attributes
    ----------
    args, n : int
        Where ``2 * n`` rows begin: what the network says, what it should say. The first are written by nobody else.
    number : int
        The place of its factor in the numbers.
    """

    args: int
    n: int
    number: int


@dataclass
class Encoded:
    """A program ready to be loaded.

    Attributes
    ----------
    forward, backward : list of Call
        In the order in which they run.
    pool : list of int
        Rows and tables of indices.
    numbers : list of float
        Constants, factors and offsets.
    constants_at : int
        Where the rows of constants begin in the pool; their numbers begin the numbers.
    inputs_at, outputs_at : int
        Where the input rows and the outputs begin in the pool.
    seeds_at : (int, int)
        The list of targets of the given adjoints, whose items are their numbers.
    squares : Squares or None
        The loss, where it is joined with its sum.
    which, first, adjoint_rows, value_rows : ndarray
        The pairs of parameter ``which[i]`` are those from ``first[i]`` to ``first[i + 1]``: its gradient is the sum of
        adjoint times value over them (-1: times 1).
    sums : list of Sum
        The gradients of the other parameters, in order.
    scatters : list of Scatter
        What is added to them, in order.
    means : int
        The most rows whose mean over the batch one instruction takes.
    """

    pool: list[int] = field(default_factory=list)
    numbers: list[float] = field(default_factory=list)
    forward: list[Call] = field(default_factory=list)
    backward: list[Call] = field(default_factory=list)
    constants_at: int = 0
    inputs_at: int = 0
    outputs_at: int = 0
    seeds_at: tuple[int, int] = (0, 0)
    squares: Squares | None = None
    which: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    first: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64))
    adjoint_rows: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    value_rows: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    sums: list[Sum] = field(default_factory=list)
    scatters: list[Scatter] = field(default_factory=list)
    means: int = 0

    def table(self, indices: Any) -> int:
        """Put indices into the pool; returns where they begin."""
        at = len(self.pool)
        self.pool.extend(np.asarray(indices, np.int64).ravel().tolist())
        return at


Pairs = list[tuple[Any, Any, Any]]
"""Parameters, adjoint rows, value rows (-1: the number 1)."""


class Written(NamedTuple):
    """An instruction: its forward call, and what makes its backward call.

    Attributes
    ----------
    forward : Call or None
        None where another instruction's call does it.
    back : callable or None
        ``back(at, count)`` from the targets' place and number; None where no operand gets a gradient.
    operands : ndarray of int64
        The rows that items stand for, by their numbers.
    pairs : callable
        ``pairs()``, what the gradients of its parameters are sums of.
    tiles : callable or None
        ``tiles(written)`` in the place of `back`: the calls, from the rows that have an adjoint, to which they add.
    scatter : Scatter or None
        What is added to the gradients of parameters behind the pairs.
    before, before_back : Call or None
        What has to be done before the forward call, and before the backward call.
    """

    forward: Call | None
    back: Callable[[int, int], Call] | None
    operands: NDArray[np.int64]
    pairs: Callable[[], Pairs]
    tiles: Callable[[set[int]], list[Call]] | None = None
    scatter: Scatter | None = None
    before: Call | None = None
    before_back: Call | None = None
