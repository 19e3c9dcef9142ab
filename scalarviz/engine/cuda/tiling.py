"""The sizes of tiles (see ``kernels/tiles``), and which of them an instruction gets: a function of its sizes alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...errors import InputError

KERNELS = ("tile_layer", "tile_back", "tile_weights")


@dataclass(frozen=True)
class Tile:
    """The rectangle of results that a block computes.

    Attributes
    ----------
    rows, columns : int
        Of a thread; columns are fours but for weights.
    down, across : int
        Threads of a block.
    depth : int
        Terms that lie in shared memory at a time.
    """

    rows: int
    columns: int
    down: int
    across: int
    depth: int

    def __str__(self) -> str:
        return f"{self.rows}x{self.columns}x{self.down}x{self.across}x{self.depth}"

    @classmethod
    def parse(cls, text: str) -> Tile:
        """The tile that `text` is the name of."""
        return cls(*map(int, text.split("x")))

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
        """Threads, and how many blocks a multiprocessor shall hold where they would take too many registers."""
        return (self.down * self.across, 3) if self.rows * self.columns > 32 else None

    @property
    def _span(self) -> int:
        """How many operands' weights are loaded side by side: eight neighbours in memory, in different banks."""
        return min(self.high, max(8, self.down * self.across // self.depth))

    def constants(self, which: str) -> dict[str, Any]:
        """What the kernel of that name calls its sizes.

        Raises
        ------
        InputError
            Its threads cannot share the work evenly.
        """
        threads, pitch = self.down * self.across, self.depth + 4
        fours, moved = (self.depth, (self.high, self.wide)) if which == "tile_weights" else (self.columns, (self.high,))
        each = threads * 4 if which == "tile_weights" else threads
        even = fours % 4 == 0 and all(rows * self.depth % each == 0 for rows in moved)
        layers = self.depth % self.down == self._span * self.depth % threads == 0
        if not even or not (threads >= self.high if which == "tile_weights" else layers):
            raise InputError(f"{which}: a block of {threads} threads cannot fill a tile {self} evenly")
        return {
            "ROWS": self.rows, "GROUPS": self.columns // 4, "DOWN": self.down, "ACROSS": self.across,
            "DEPTH": self.depth, "HIGH": self.high, "WIDE": self.wide, "THREADS": threads, "PITCH": pitch,
            "COLUMNS": self.columns, "LEFT_SIZE": self.high * pitch,
            "QUADS": 4 * self.rows, "SUMS": self.rows * self.columns, "SPAN": self._span,
        }  # fmt: skip

    def shared(self, which: str, itemsize: int) -> int:
        """Bytes of shared memory that a block of that kernel needs."""
        pitch = self.depth + 4
        right = self.wide * (pitch if which == "tile_weights" else self.depth)
        return (self.high * pitch + right) * itemsize

    def padded(self, rows: int, columns: int) -> int:
        """How many results are computed for so many."""
        return -(-rows // self.high) * self.high * -(-columns // self.wide) * self.wide


@dataclass(frozen=True)
class Tiling:
    """Which tiles there are, from the largest on. Part of the configuration.

    Attributes
    ----------
    layer, weights : tuple of Tile
        For values and adjoints, and for gradients of weights.
    wide_layer : tuple of Tile
        The first for float64, whose numbers fill twice the memory.
    blocks : int
        How many are wanted, so that a GPU has something to do everywhere: a smaller tile is taken where there are
        fewer.
    least : int
        Weights of the smallest layer that is worth a tile.
    lanes : int
        The fewest lanes.
    """

    layer: tuple[Tile, ...] = (
        Tile(8, 8, 8, 16, 16), Tile(4, 4, 16, 8, 32), Tile(4, 8, 4, 16, 32), Tile(2, 4, 8, 8, 32),
        Tile(4, 4, 1, 32, 32), Tile(1, 4, 4, 8, 32),
    )  # fmt: skip
    wide_layer: tuple[Tile, ...] = (
        Tile(4, 4, 16, 16, 16), Tile(4, 4, 16, 8, 16), Tile(2, 4, 8, 8, 16), Tile(1, 4, 4, 8, 16)
    )  # fmt: skip
    weights: tuple[Tile, ...] = (
        Tile(8, 4, 8, 16, 32), Tile(4, 4, 8, 8, 32), Tile(4, 2, 16, 8, 32), Tile(2, 2, 8, 8, 32),
        Tile(1, 4, 4, 8, 32),
    )  # fmt: skip
    blocks: int = 128
    least: int = 32
    lanes: int = 32

    def for_both(self) -> list[Tile]:
        """Those for values and adjoints whose numbers stay in registers in float64 too."""
        tiles = dict.fromkeys((*self.wide_layer, *self.layer))
        return [tile for tile in tiles if tile.rows * tile.columns <= max(t.rows * t.columns for t in self.wide_layer)]

    def of_lanes(self, rows: int, lanes: int, itemsize: int) -> Tile | None:
        """For so many rows of results on so many lanes.

        The first that computes at most half as many rows again and has enough blocks, else the one of those with the
        most blocks. None where the least that can be computed is more than twice what is wanted.
        """
        tiles = self.layer if itemsize == 4 else self.wide_layer
        spare = {tile: tile.padded(rows, tile.wide) // tile.wide for tile in tiles}
        fitting = [tile for tile in tiles if 2 * spare[tile] <= 3 * rows]
        fitting = fitting or [tile for tile in tiles if spare[tile] == min(spare.values()) <= 2 * rows]
        return self._enough(fitting, {tile: tile.padded(rows, lanes) for tile in fitting})

    def of_weights(self, outputs: int, n: int, slices: int) -> Tile | None:
        """For a matrix of weights: the same by its area; None where there are 8 results for each that is wanted."""
        areas = {tile: tile.padded(outputs, n) for tile in self.weights}
        fitting = [tile for tile in self.weights if 2 * areas[tile] <= 3 * outputs * n]
        fitting = fitting or [tile for tile in self.weights if areas[tile] == min(areas.values()) <= 8 * outputs * n]
        return self._enough(fitting, {tile: areas[tile] * slices for tile in fitting})

    def together(self, tiles: list[tuple[Tile, int, int]]) -> Tile | None:
        """One tile for all matrices of so many outputs and operands, and so one launch; None if that is not worth it.

        It is the one of the largest matrix, if with it no more than half as many results again are computed.
        """
        alone = sum(tile.padded(outputs, n) for tile, outputs, n in tiles)
        largest = max(tiles, key=lambda given: given[1] * given[2])[0]
        return largest if 2 * sum(largest.padded(outputs, n) for _, outputs, n in tiles) <= 3 * alone else None

    def _enough(self, tiles: list[Tile], results: dict[Tile, int]) -> Tile | None:
        blocks = {tile: results[tile] // (tile.high * tile.wide) for tile in tiles}
        enough = [tile for tile in tiles if blocks[tile] >= self.blocks]
        return enough[0] if enough else max(tiles, key=blocks.__getitem__, default=None)

    def takes(self, weights: int, lanes: int) -> bool:
        """Whether a layer of so many weights is worth tiles on so many lanes, which have to be fours."""
        return weights >= self.least and lanes >= self.lanes and lanes % 4 == 0


TILING = Tiling()
