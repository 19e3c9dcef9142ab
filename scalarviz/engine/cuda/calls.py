"""The parts of an encoded program: calls of kernels, their tables of indices, and the sizes of their tiles.

The tile of an instruction depends only on its sizes (see ``kernels/tiles``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError

MULTIPROCESSOR = 224 << 10
"""Bytes of shared memory that the blocks of a multiprocessor have together, since 2020."""
KERNELS = ("tile_layer", "tile_back", "tile_weights")


@dataclass(frozen=True)
class Tile:
    """The rectangle of results that a block computes."""

    rows: int  # rows of a thread
    columns: int  # columns of a thread: fours, except for weights
    down: int  # threads of a block, with `across`
    across: int
    depth: int  # terms in shared memory at a time
    halves: bool = False  # whether its numbers are halves, which tensor cores multiply

    def __str__(self) -> str:
        return f"{self.rows}x{self.columns}x{self.down}x{self.across}x{self.depth}{'h' if self.halves else ''}"

    @classmethod
    def parse(cls, text: str) -> Tile:
        """Return the tile with the name `text`."""
        rows, columns, down, across, depth = map(int, text.removesuffix("h").split("x"))
        return cls(rows, columns, down, across, depth, text.endswith("h"))

    @property
    def of_halves(self) -> Tile:
        """The same tile for halves, if it has whole fragments."""
        warps, fragments = self.down * self.across // 32, (self.high // 16) * (self.wide // 8)
        whole = self.high % 16 == self.wide % 8 == self.depth % 16 == 0 and fragments % max(1, warps) == 0
        return replace(self, halves=whole and warps > 0)

    def deep(self, which: str) -> Tile:
        """Return the tile with twice the terms in shared memory, if a multiprocessor holds as many blocks of it.

        One whose threads have few registers to spare stays as it is.
        """
        twice, blocks = replace(self, depth=2 * self.depth), min(16, 1024 // (self.down * self.across))
        return twice if self.bounds is None and blocks * twice.shared(which, 4) <= MULTIPROCESSOR else self

    @property
    def _fragments(self) -> tuple[int, int, int]:
        """Fragments of a warp: how many down, how many across; and how many warps are side by side."""
        warps, down, across = self.down * self.across // 32, self.high // 16, self.wide // 8
        beside = min(warps, across)
        return down * beside // warps, across // beside, beside

    @property
    def high(self) -> int:
        """Rows of a block."""
        return self.rows * self.down

    @property
    def wide(self) -> int:
        """Columns of a block."""
        return self.columns * self.across

    @property
    def bounds(self) -> tuple[int, int] | None:
        """Threads, and the blocks that a multiprocessor should hold, which limits their registers."""
        return (self.down * self.across, 3) if self.rows * self.columns > 32 else None

    @property
    def _span(self) -> int:
        """The number of operands whose weights are loaded together: eight neighbours in memory, in different banks."""
        return min(self.high, max(8, self.down * self.across // self.depth))

    def constants(self, which: str) -> dict[str, Any]:
        """Return the sizes of the kernel with this name; InputError if its threads cannot share the work evenly."""
        threads, pitch = self.down * self.across, self.depth + 4
        fours, moved = (self.depth, (self.high, self.wide)) if which == "tile_weights" else (self.columns, (self.high,))
        each = threads * 4 if which == "tile_weights" else threads
        even = fours % 4 == 0 and all(rows * self.depth % each == 0 for rows in moved)
        layers = self.depth % self.down == self._span * self.depth % threads == 0
        if not even or not (threads >= self.high if which == "tile_weights" else layers):
            raise InputError(f"{which}: {threads} threads cannot divide the tile {self} evenly")
        return {
            "ROWS": self.rows, "GROUPS": self.columns // 4, "DOWN": self.down, "ACROSS": self.across,
            "DEPTH": self.depth, "HIGH": self.high, "WIDE": self.wide, "THREADS": threads, "PITCH": pitch,
            "COLUMNS": self.columns, "LEFT_SIZE": self.high * pitch,
            "QUADS": 4 * self.rows, "SUMS": self.rows * self.columns, "SPAN": self._span,
            **self._constants_of_halves(),
        }  # fmt: skip

    def _constants_of_halves(self) -> dict[str, int]:
        if not self.halves:
            return {}
        downward, sideways, beside = self._fragments
        return {"DOWNWARD": downward, "SIDEWAYS": sideways, "TURNS": beside, "PAIRS": 2 * sideways}

    def shared(self, which: str, itemsize: int) -> int:
        """Return bytes of shared memory that a block of that kernel needs."""
        pitch = self.depth + 4
        right = self.wide * (pitch if which == "tile_weights" else self.depth)
        return max(self.high * pitch + right, self.high * self.wide if self.halves else 0) * itemsize

    def padded(self, rows: int, columns: int) -> int:
        """Return the number of computed results for the wanted ones: it includes the edges of tiles."""
        return -(-rows // self.high) * self.high * -(-columns // self.wide) * self.wide


@dataclass(frozen=True)
class Tiling:
    """The available tiles, largest first. Part of the configuration."""

    layer: tuple[Tile, ...] = (  # for values and adjoints
        Tile(8, 8, 8, 16, 16), Tile(4, 4, 16, 8, 32), Tile(4, 8, 4, 16, 32), Tile(2, 4, 8, 8, 32),
        Tile(4, 4, 1, 32, 32), Tile(1, 4, 4, 8, 32),
    )  # fmt: skip
    wide_layer: tuple[Tile, ...] = (  # for float64, whose numbers fill twice the memory
        Tile(4, 4, 16, 16, 16), Tile(4, 4, 16, 8, 16), Tile(2, 4, 8, 8, 16), Tile(1, 4, 4, 8, 16)
    )  # fmt: skip
    weights: tuple[Tile, ...] = (  # for gradients of weights
        Tile(8, 4, 8, 16, 32), Tile(4, 4, 8, 8, 32), Tile(4, 2, 16, 8, 32), Tile(2, 2, 8, 8, 32),
        Tile(1, 4, 4, 8, 32),
    )  # fmt: skip
    blocks: int = 128  # wanted blocks, so that the whole GPU works: if there are fewer, a smaller tile is used
    threads: int = 1 << 16  # threads that keep a GPU busy: gradients' sums have as many slices as make them
    slices: int = 256  # the most slices of a gradient's sum
    parts: int = 1 << 25  # the most numbers of all slices together
    least: int = 32  # weights of the smallest layer that is worth a tile
    lanes: int = 32  # the fewest lanes that are worth a tile

    def for_both(self) -> list[Tile]:
        """Return the tiles for values and gradients whose numbers fit into registers in float64 too."""
        tiles = dict.fromkeys((*self.wide_layer, *self.layer))
        return [tile for tile in tiles if tile.rows * tile.columns <= max(t.rows * t.columns for t in self.wide_layer)]

    def of_lanes(self, rows: int, lanes: int, itemsize: int) -> Tile | None:
        """Return the tile for this many rows of results and lanes; None if the smallest is over twice the work.

        It is the first that computes at most half as many rows again and has enough blocks, else the one of these with
        the most blocks.
        """
        tiles = self.layer if itemsize == 4 else self.wide_layer
        spare = {tile: tile.padded(rows, tile.wide) // tile.wide for tile in tiles}
        fitting = [tile for tile in tiles if 2 * spare[tile] <= 3 * rows]
        fitting = fitting or [tile for tile in tiles if spare[tile] == min(spare.values()) <= 2 * rows]
        return self._enough(fitting, {tile: tile.padded(rows, lanes) for tile in fitting})

    def of_weights(self, matrices: list[tuple[int, int, int]]) -> list[Tile]:
        """Return the tiles of matrices of weights, given their outputs, operands and terms.

        One tile, and so one launch, if it computes at most half as much again as each matrix's best one: the largest
        that has enough blocks.
        """
        best = [min(self.weights, key=lambda tile: tile.padded(outputs, n)) for outputs, n, _ in matrices]
        least = sum(tile.padded(m, n) * terms for tile, (m, n, terms) in zip(best, matrices, strict=True))
        work = {tile: sum(tile.padded(m, n) * terms for m, n, terms in matrices) for tile in self.weights}
        results = {
            tile: sum(tile.padded(m, n) * min(self.slices, -(-terms // tile.depth)) for m, n, terms in matrices)
            for tile in self.weights if 2 * work[tile] <= 3 * least
        }  # fmt: skip
        one = self._enough(list(results), results)
        return best if one is None else [one] * len(matrices)

    def worth_it(self, outputs: int, n: int) -> bool:
        """Return whether a tile computes at most eight results for each weight of a matrix."""
        return min(tile.padded(outputs, n) for tile in self.weights) <= 8 * outputs * n

    def slices_of(self, sums: list[tuple[Tile, int, int]], parameters: int) -> list[int]:
        """Return the slices of sums of so many blocks and steps of a block, so that all blocks end together."""
        work = sum(tile.down * tile.across * blocks * steps for tile, blocks, steps in sums)
        each = max(1, -(-work // self.threads))
        most = max(1, min(self.slices, self.parts // max(1, parameters)))
        return [min(-(-steps // each), most) for _, _, steps in sums]

    def _enough(self, tiles: list[Tile], results: dict[Tile, int]) -> Tile | None:
        blocks = {tile: results[tile] // (tile.high * tile.wide) for tile in tiles}
        enough = [tile for tile in tiles if blocks[tile] >= self.blocks]
        return enough[0] if enough else max(tiles, key=blocks.__getitem__, default=None)

    def takes(self, weights: int, lanes: int) -> bool:
        """Return whether tiles are worth it for a layer with `weights` weights on `lanes` lanes, a multiple of four."""
        return weights >= self.least and lanes >= self.lanes and lanes % 4 == 0


TILING = Tiling()


Name = Literal["values", "adjoints", "theta", "grad", "pool", "numbers", "sums"]
"""The buffers that calls may name: values, gradients, parameters and their gradients, tables, sums over the batch."""

MEAN_SLICES = 32
"""The number of slices of the lanes for a mean."""


class KernelLaunch(NamedTuple):
    """One launch, for a chunk of lanes."""

    kernel: str  # name as in ``catalog``
    rows: int  # rows of threads, one thread per lane in each; of blocks with a tile
    arguments: tuple[str | int | float, ...]  # names of buffers, and numbers; stride and lanes follow
    tile: Tile | None = None  # None if each thread computes one number


class Sum(NamedTuple):
    """One launch that sums gradients of weights over lanes in tiles."""

    tile: Tile
    at: int  # the place of its blocks' numbers in the pool, see ``kernels/tiles.tile_weights``
    blocks: int  # number of blocks: of each slice its own


SORTED = 4096
"""For tables with more rows, gradients are summed over sorted ids; see ``kernels/tables``."""


class Scatter(NamedTuple):
    """The gradients of a table that a gather reads."""

    ids: int  # the place of the rows of ids in the pool
    positions: int  # number of these rows
    weights: int  # the place in the pool of the parameters that id 0 selects
    columns: int  # number of these parameters
    rows: int  # rows of the table
    step: int  # distance of the parameters in a column
    dst: int  # first row of the results


class Squares(NamedTuple):
    """A squared error that is the loss and is computed with the sum of the losses: its rows, in the pool."""

    # ``2 * n`` rows: outputs (no one else writes their adjoints), then targets; n more: operands of joined operations
    args: int
    n: int
    number: int  # the place of its factor in the numbers
    scale: int  # the parameter by which its gradient is scaled; -1: by none
    kernel: str  # names the joined operations
    numbers: tuple[float, float]  # other operands of these


@dataclass
class Encoded:
    """An encoded program.

    The pairs of parameter ``which[i]`` are those from ``first[i]`` to ``first[i + 1]``: its gradient is the
    sum of gradient times value over them (value row -1: times 1). The gradients of the other parameters are
    the `sums`.
    """

    pool: list[int] = field(default_factory=list)  # rows and tables of indices
    numbers: list[float] = field(default_factory=list)  # constants, then factors and offsets
    forward: list[KernelLaunch] = field(default_factory=list)
    backward: list[KernelLaunch] = field(default_factory=list)
    constants_at: int = 0  # in the pool, like all places here
    inputs_at: int = 0
    outputs_at: int = 0
    # the given adjoints, a list of targets: its place and length; items are their numbers
    seeds_at: tuple[int, int] = (0, 0)
    squares: Squares | None = None  # the loss, if it is joined with its sum
    which: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    first: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64))
    adjoint_rows: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    value_rows: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    sums: list[Sum] = field(default_factory=list)
    # the slices of each parameter's gradient; 0: as many as pairs have; -1: nothing adds to it
    slices: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    scatters: list[Scatter] = field(default_factory=list)  # additions to the gradients, in order
    means: int = 0  # the most rows whose batch means one instruction takes

    def counts(self, slices: int) -> NDArray[np.int32]:
        """Return the number of slices of each parameter's gradient, if pairs have `slices`."""
        return np.where(self.slices == 0, slices, np.maximum(self.slices, 0)).astype(np.int32)

    def scattered(self) -> NDArray[np.int64]:
        """Return the parameters of tables, to whose gradients scatters add."""
        found = [np.zeros(0, np.int64)]
        for of in self.scatters:
            columns = np.array(self.pool[of.weights : of.weights + of.columns], np.int64)
            found.append((columns + of.step * np.arange(of.rows)[:, None]).ravel())
        return np.concatenate(found)

    def targets(
        self, operands: NDArray[np.int64], items: NDArray[np.int64], written: set[int],
        through: Callable[[NDArray[np.int64]], NDArray[np.int64]] = lambda rows: rows,
    ) -> tuple[int, int]:  # fmt: skip
        """Put a list of targets into the pool (see ``kernels/rows``); return its offset and length.

        A row's gradient is given to the row that `through` names for it.
        """
        order = np.argsort(operands[items], kind="stable")
        items = items[order]
        rows, starts = np.unique(operands[items], return_index=True)
        rows = through(rows)
        at = self.table([-1 - row if row in written else row for row in rows.tolist()])
        self.table([*starts, len(items)])
        self.table(items)
        written.update(rows.tolist())
        return at, len(rows)

    def table(self, indices: Any) -> int:
        """Put indices into the pool; return their offset."""
        at = len(self.pool)
        self.pool.extend(np.asarray(indices, np.int64).ravel().tolist())
        return at


Pairs = list[tuple[Any, Any, Any]]
"""Parameters, gradient rows, value rows (-1: the number 1)."""


class Written(NamedTuple):
    """An instruction: its forward call, and the function that makes its backward call."""

    forward: KernelLaunch | None  # None if another instruction's call does it
    back: Callable[[int, int], KernelLaunch] | None  # from the targets' place and number; None: no gradients
    operands: NDArray[np.int64]  # the rows of the items
    pairs: Callable[[], Pairs]  # the terms of its parameters' gradients
    # replaces `back`: from the rows that have an adjoint; adds its own
    tiles: Callable[[set[int]], list[KernelLaunch]] | None = None
    scatter: Scatter | None = None  # added to gradients after the pairs
    before: KernelLaunch | None = None  # runs before the forward call
    before_back: KernelLaunch | None = None  # runs before the backward call
