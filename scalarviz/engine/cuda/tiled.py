"""Layers and convolutions of a program as calls of tiles, instead of the plain form, if that is faster.

An operation on the results of a layer costs a launch, and two or three memory accesses per number; a tile has the
numbers in registers. It can be *joined* with the layer before or after it, if each of its results depends on one row
and its other operands are constants. So can a chain of operations, such as rounding, activation and rounding: backward,
the tile of the layer after it computes what lies between from the numbers in front.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...scalar import ops
from ...tape import Instruction, Program
from .calls import Encoded, KernelLaunch, Pairs, Sum, Tile, Tiling, Written
from .source import derivative_names, tells_by_result

MANY = -2


@dataclass(frozen=True)
class Join:
    """An operation that can be joined to a layer."""

    index: int  # index of the operation in the program
    op: str
    operand: int  # index of its operand that is no constant
    numbers: tuple[float, float]  # the other operands; 0 for a missing one

    @property
    def name(self) -> str:
        """The join's part of a kernel name."""
        return f"{self.op}.{self.operand}"

    @property
    def by_result(self) -> bool:
        """True if the derivative can use the result instead of the operand."""
        return tells_by_result(ops.get(self.op), self.operand, self.numbers)


class Chain(NamedTuple):
    """Operations one after another, each on the results of the one before; at most one has other operands."""

    links: tuple[Join, ...]

    @property
    def name(self) -> str:
        """The chain's part of a kernel name."""
        return "+".join(link.name for link in self.links)

    @property
    def indices(self) -> tuple[int, ...]:
        """Indices of the operations in the program."""
        return tuple(link.index for link in self.links)

    @property
    def numbers(self) -> tuple[float, float]:
        """The other operands; 0 for a missing one."""
        return next((link.numbers for link in self.links if len(ops.get(link.op).args) > 1), (0.0, 0.0))

    @property
    def by_result(self) -> bool:
        """True if the derivative can use the result instead of the operand."""
        return len(self.links) == 1 and self.links[0].by_result

    @property
    def back(self) -> str:
        """The part of a kernel name for the chain's derivative."""
        return self.name + (".result" if self.by_result else "")

    def operands(self, program: Program, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows that the chain reads for some rows of its results."""
        for link in self.links[::-1]:
            made = program.instructions[link.index]
            rows = made.args[link.operand][rows - made.dst]
        return rows


@dataclass
class Joins:
    """The joins of instructions; all numbers are indices in the program."""

    # operations on all results of an instruction, without other readers
    behind: dict[int, Chain] = field(default_factory=dict)
    # operations that compute, for no other reader, all operands that get a gradient, and no other results that do
    before: dict[int, Chain] = field(default_factory=dict)


def find_joins(program: Program, seeds: tuple[int, ...], squares: Instruction | None = None) -> Joins:
    """Return the operations that can be joined to others.

    Behind layers and convolutions; before these, before the largest of rows, and before `squares`, which is the loss
    alone. Gradients of the rows `seeds` are given.
    """
    found, needs, reader = Joins(), program.needs_gradient, only_readers(program)
    reader[[*program.outputs, *seeds, *(track.row for track in program.tracks if track.row >= 0)]] = MANY
    numbers = dict(zip(program.constant_rows.tolist(), program.constants.tolist(), strict=True))
    joins = {o: join for o, i in enumerate(program.instructions) if (join := _join(o, i, numbers)) is not None}
    maker = np.full(program.n_rows, -1, np.int64)
    for o in joins:
        made = program.instructions[o]
        maker[made.dst : made.dst + made.count] = o

    def behind(rows: NDArray[np.int64]) -> Iterator[Join]:
        while (join := joins.get(_same(reader[rows]))) is not None:
            made = program.instructions[join.index]
            if not np.array_equal(made.args[join.operand], rows):
                return
            yield join
            rows = np.arange(made.dst, made.dst + made.count)

    def before(rows: NDArray[np.int64], read_by: int) -> Iterator[Join]:
        while (join := joins.get(_same(maker[rows]))) is not None:
            made = program.instructions[join.index]
            others = np.setdiff1d(np.arange(made.dst, made.dst + made.count), rows)
            if (reader[rows] != read_by).any() or (reader[others] != -1).any():
                return
            operands = made.args[join.operand]
            if len(np.unique(operands)) < len(operands):
                return
            yield join
            rows, read_by = operands[rows - made.dst], join.index

    for index, i in enumerate(program.instructions):
        tiled = i.kind in ("layer", "conv")
        if tiled and (links := _with_numbers_once(behind(np.arange(i.dst, i.dst + i.count)))):
            found.behind[index] = Chain(tuple(links))
        rows = i.args[0] if i is squares else np.unique(i.args[needs[i.args]])
        if (tiled or i.kind == "max" or i is squares) and (links := _with_numbers_once(before(rows, index))):
            found.before[index] = Chain(tuple(links[::-1]))
    return found


def _with_numbers_once(links: Iterable[Join]) -> list[Join]:
    """Return the first links, up to a second one with other operands."""
    found: list[Join] = []
    for link in links:
        if len(ops.get(link.op).args) > 1 and any(len(ops.get(one.op).args) > 1 for one in found):
            break
        found.append(link)
    return found


def _same(numbers: NDArray[np.int64]) -> int:
    """Return the number that all of them equal; -1 if they differ."""
    return int(numbers[0]) if len(numbers) and (numbers == numbers[0]).all() else -1


def only_readers(program: Program) -> NDArray[np.int64]:
    """Return the only instruction that reads a row; -1 for none."""
    reader = np.full(program.n_rows, -1, np.int64)
    for index, i in enumerate(program.instructions):
        rows = np.unique(i.args)
        reader[rows] = np.where(reader[rows] == -1, index, MANY)
    return reader


def _join(index: int, i: Instruction, numbers: dict[int, float]) -> Join | None:
    """Return an operation with one operand that is not a constant; None if it has more or none."""
    if i.kind != "op":
        return None
    fixed = [{numbers.get(row) for row in rows.tolist()} for rows in i.args]
    rest = [k for k, found in enumerate(fixed) if len(found) > 1 or None in found]
    if len(rest) != 1 or ops.get(i.op).partials[rest[0]] is None:
        return None
    others = [number for k, (number, *_) in enumerate(fixed) if k != rest[0] and number is not None]
    one, two = [*others, 0.0, 0.0][:2]
    return Join(index, i.op, rest[0], (one, two))


class Cut(NamedTuple):
    """The division of work; see ``machine.Shape``."""

    tiling: Tiling
    lanes: int  # lanes of a chunk, also the stride of rows
    itemsize: int  # bytes of a number
    slices: int
    halves: bool = False  # whether layers and convolutions have halves, which tensor cores multiply

    def of(self, tile: Tile, which: str) -> Tile:
        """Return a tile of these numbers: tensor cores wait for memory, so it has many terms of halves at a time."""
        return tile.of_halves.deep(which) if self.halves else tile

    def of_lanes(self, which: str, rows: int, lanes: int) -> Tile | None:
        """Return the tile for so many rows and lanes; None if the plain form is better."""
        tile = self.tiling.of_lanes(rows, lanes, self.itemsize)
        return None if tile is None else self.of(tile, which)


class _Group(NamedTuple):
    """Operands that occur at the same positions."""

    positions: NDArray[np.int64]
    rows: list[int]
    operands: list[NDArray[np.int64]]  # for each row, its index among the operands at each position


@dataclass(frozen=True)
class _Tiles:
    """The parts of an instruction that are computed in tiles."""

    layer: Tile | None
    back: Tile | None
    weights: bool
    groups: list[_Group]
    behind: Chain | None
    before: Chain | None


class OperandBlock(NamedTuple):
    """A block of a layer's operands that get a gradient; see ``kernels/tiles.tile_back``. Places are of tables."""

    targets: int  # place of their rows; -1 - row where an adjoint is written already
    rows: int  # number of targets
    positions: int  # number of positions
    at: int  # place of the positions
    numbers: int  # place of each target's number among the operands: at each position, or at the first with a step
    step: int


class WeightBlock(NamedTuple):
    """A block of a layer's weights; see ``kernels/tiles.tile_weights``."""

    args: int  # place of the operands' rows; -1: they are consecutive, from `first` on
    first: int
    inputs: int
    positions: int
    weight: int  # its first parameter
    bias: int
    row: int  # the first row of results
    outputs: int
    top: int  # the first output of the block; `start`: its first input
    start: int
    adds: bool  # to a gradient that is there already
    slice: int  # which of the `slices`
    slices: int


class Tiled:
    """The tiles of a program."""

    def __init__(
        self, found: Encoded, program: Program, seeds: tuple[int, ...], cut: Cut, joined: bool,
        squares: Instruction | None,
    ) -> None:  # fmt: skip
        self.found, self.program, self.cut, self.seeds = found, program, cut, seeds
        self.joins = find_joins(program, seeds, squares) if joined else Joins()
        self.entries: list[tuple[Instruction, int]] = []
        self.tiles = {index: self._tiles(index, i) for index, i in enumerate(program.instructions) if self._worth_it(i)}
        self.chains = {tiles.before.indices for tiles in self.tiles.values() if tiles.before is not None}
        if seeds:
            others = [(program.instructions[index], chain) for index, chain in self.joins.before.items()]
            self.chains |= {chain.indices for i, chain in others if i.kind in ("max", "squares")}
        self.tiles = {index: self._with_all_it_needs(index, tiles) for index, tiles in self.tiles.items()}
        self.forward_done = {k for tiles in self.tiles.values() if tiles.behind for k in tiles.behind.indices}
        self.backward_done = {k for chain in self.chains for k in chain}

    def _worth_it(self, i: Instruction) -> bool:
        if i.kind not in ("layer", "conv"):
            return False
        return self.cut.tiling.takes(len(i.weights) * i.args.shape[1], self.cut.lanes)

    def _tiles(self, index: int, i: Instruction) -> _Tiles:
        cut, (positions, n), outputs = self.cut, i.args.shape, _outputs(i)
        layer = cut.of_lanes("tile_layer", outputs, cut.lanes * positions)
        groups: list[_Group] = []
        back, weights = None, False
        if self.seeds and self.program.needs_gradient[i.dst]:
            weights = cut.tiling.worth_it(outputs, n)
            groups = _groups(i.args, self.program.needs_gradient)
            if groups:
                rows = -(-sum(len(group.rows) for group in groups) // len(groups))
                back = cut.of_lanes("tile_back", rows, cut.lanes * len(groups))
        return _Tiles(
            layer, back, weights, groups, self.joins.behind.get(index) if layer is not None else None,
            self.joins.before.get(index) if back is not None else None,
        )  # fmt: skip

    def _with_all_it_needs(self, index: int, tiles: _Tiles) -> _Tiles:
        """Return the tiles without the operations behind the first one whose derivatives need numbers in between."""
        behind = tiles.behind
        if behind is None or not self._has_gradient(index) or behind.indices in self.chains:
            return tiles
        return replace(tiles, behind=Chain(behind.links[:1]))

    def _has_gradient(self, index: int) -> bool:
        return bool(self.seeds) and bool(self.program.needs_gradient[self.program.instructions[index].dst])

    def _kept(self, index: int, chain: Chain) -> bool:
        """Return whether the results in front of a chain are stored: derivatives use them."""
        if not self._has_gradient(index) or (chain.by_result and chain.indices in self.chains):
            return False
        first = chain.links[0]
        if any(own[0] == first.index and len(own) > 1 for own in self.chains):
            return True
        return ops.get(first.op).args[first.operand] in derivative_names(ops.get(first.op), first.operand)

    def replaced(self, index: int, plain: Written) -> Written:
        """Return an instruction with its parts in tiles."""
        if index in self.forward_done:
            plain = plain._replace(forward=None)
        if index in self.backward_done:
            plain = plain._replace(back=None)
        tiles, i = self.tiles.get(index), self.program.instructions[index]
        if self.seeds and i.kind == "max" and index in self.joins.before:
            return plain._replace(tiles=partial(self._largest_back, plain, self.joins.before[index]))
        if tiles is None or plain.forward is None:
            return plain
        args = plain.forward.arguments[3]
        assert isinstance(args, int)
        if tiles.weights:
            plain = plain._replace(pairs=partial(self._enter, i, args))
        if tiles.back is not None:
            tile = tiles.back
            plain = plain._replace(tiles=lambda written: [self._back(i, tile, tiles, written)])
        if tiles.layer is not None:
            plain = plain._replace(forward=self._layer(index, tiles.layer, tiles.behind, args))
        return plain

    def _enter(self, i: Instruction, args: int) -> Pairs:
        """Compute the gradients of an instruction's weights in tiles, without pairs."""
        self.entries.append((i, args))
        return []

    def _layer(self, index: int, tile: Tile, chain: Chain | None, args: int) -> KernelLaunch:
        i = self.program.instructions[index]
        outputs = _outputs(i)
        name, out, (one, two) = f"tile_layer:{tile}", i.dst, (0.0, 0.0)
        if chain is not None:
            name += f":{chain.name}" + (".kept" if self._kept(index, chain) else "")
            out, (one, two) = self.program.instructions[chain.indices[-1]].dst, chain.numbers
        positions, n = i.args.shape
        given = (
            "values", "theta", "pool", *_operands(i, args), n, positions, int(i.weights[0]), i.bias, i.dst, outputs,
            out, one, two,
        )  # fmt: skip
        return KernelLaunch(name, -(-outputs // tile.high) * positions, given, tile)

    def _back(self, i: Instruction, tile: Tile, tiles: _Tiles, written: set[int]) -> KernelLaunch:
        found, chain = self.found, tiles.before
        name, (one, two) = f"tile_back:{tile}", (0.0, 0.0)
        if chain is not None:
            name += f":{chain.back}"
            one, two = chain.numbers
        blocks: list[OperandBlock] = []
        for group in tiles.groups:
            places = found.table(group.positions)
            for first in range(0, len(group.rows), tile.high):
                rows = np.array(group.rows[first : first + tile.high])
                results, targets = rows, rows
                if chain is not None:
                    targets = chain.operands(self.program, rows)
                at = found.table([-1 - row if row in written else row for row in targets.tolist()])
                if chain is not None:
                    found.table([results, targets])
                written.update(targets.tolist())
                operands = np.transpose(group.operands[first : first + tile.high])
                step = _step(operands)
                where = found.table(operands[:, 0] if step else operands)
                blocks.append(OperandBlock(at, len(rows), len(group.positions), places, where, step))
        positions, n = i.args.shape
        given = (
            "adjoints", "values", "theta", "pool", found.table(blocks), n, positions, int(i.weights[0]), i.dst,
            _outputs(i), one, two,
        )  # fmt: skip
        return KernelLaunch(name, len(blocks), given, tile)

    def _largest_back(self, plain: Written, chain: Chain, written: set[int]) -> list[KernelLaunch]:
        """Return the launch that gives the gradients of a maximum to what the chain in front of it reads."""
        assert plain.back is not None
        through = partial(chain.operands, self.program)
        items = np.flatnonzero(self.program.needs_gradient[plain.operands])
        launch = plain.back(*self.found.targets(plain.operands, items, written, through))
        results = np.unique(plain.operands[items])
        joined = self.found.table([results, through(results)])
        return [launch._replace(
            kernel=f"{launch.kernel}_joined:{chain.back}", arguments=(*launch.arguments, joined, *chain.numbers)
        )]  # fmt: skip

    def _slices(self, tiles: list[Tile], paired: NDArray[np.bool_]) -> list[int]:
        """Return the slices of each matrix of weights; those that share parameters have as many as pairs have."""
        uses, every = np.zeros(self.program.n_theta, np.int64), [_parameters(i) for i, _ in self.entries]
        for mine in every:
            uses[mine] += 1
        works = []
        for tile, (i, _) in zip(tiles, self.entries, strict=True):
            (positions, n), outputs = i.args.shape, _outputs(i)
            blocks = tile.padded(outputs, n) // (tile.high * tile.wide)
            works.append((tile, blocks, positions * -(-self.cut.lanes // tile.depth)))
        found = self.cut.tiling.slices_of(works, self.program.n_theta)
        shared = [bool((paired[mine] | (uses[mine] > 1)).any()) for mine in every]
        return [self.cut.slices if one else own for own, one in zip(found, shared, strict=True)]

    def sum_up(self, pairs: Pairs) -> NDArray[np.int64]:
        """Add the launches that sum gradients of weights; return the parameters that still need pairs.

        The pairs of the plain form are summed first, and tiles add to them. If several instructions share a parameter,
        the first of their launches stores and the others add.
        """
        launch = np.full(self.program.n_theta, -1)
        paired = np.zeros(self.program.n_theta, np.bool_)
        for parameters, *_ in pairs:
            paired[np.asarray(parameters, np.int64).ravel()] = True
        blocks: dict[tuple[int, Tile], list[WeightBlock]] = {}
        lanes = self.cut.lanes
        sizes = [(_outputs(i), i.args.shape[1], len(i.args) * lanes) for i, _ in self.entries]
        tiles = [self.cut.of(tile, "tile_weights") for tile in self.cut.tiling.of_weights(sizes)] if sizes else []
        for tile, slices, (i, args) in zip(tiles, self._slices(tiles, paired), self.entries, strict=True):
            mine = _parameters(i)
            number = int(launch[mine].max()) + 1
            adds = number > 0 or bool(paired[mine].any())
            if adds:
                paired[mine[launch[mine] < 0]] = True
            launch[mine], self.found.slices[mine] = number, slices
            blocks.setdefault((number, tile), []).extend(_blocks(tile, i, args, adds, slices))
        for number, tile in sorted(blocks, key=lambda key: key[0]):
            mine_ = blocks[number, tile]
            self.found.sums.append(Sum(tile, self.found.table(mine_), len(mine_)))
        paired[self.found.scattered()] = True
        self.found.slices[~paired & (launch < 0)] = -1
        return np.flatnonzero(paired)


def _outputs(i: Instruction) -> int:
    return i.count // len(i.args)


def _step(operands: NDArray[np.int64]) -> int:
    """Return the step of all targets' numbers at each position, shape (positions, targets); 0 if it is not constant."""
    steps = np.unique(np.diff(operands)) if operands.shape[1] > 1 else np.ones(1, np.int64)
    return max(0, int(steps[0])) if len(steps) == 1 else 0


def _operands(i: Instruction, args: int) -> tuple[int, int]:
    """Return a table of operands and -1; or -1 and the first row, if the rows are consecutive."""
    rows = i.args.ravel()
    if len(i.args) == 1 and np.array_equal(rows, np.arange(rows[0], rows[0] + len(rows))):
        return -1, int(rows[0])
    return args, 0


def _parameters(i: Instruction) -> NDArray[np.int64]:
    outputs, weight = _outputs(i), int(i.weights[0])
    weights = np.arange(weight, weight + outputs * i.args.shape[1])
    return np.append(weights, np.arange(i.bias, i.bias + outputs) if i.bias >= 0 else weights[:0])


def _blocks(tile: Tile, i: Instruction, args: int, adds: bool, slices: int) -> list[WeightBlock]:
    """Return the blocks of a layer's weights."""
    (positions, n), outputs, operands = i.args.shape, _outputs(i), _operands(i, args)
    return [
        WeightBlock(*operands, n, positions, int(i.weights[0]), i.bias, i.dst, outputs, top, start, adds, q, slices)
        for q in range(slices) for top in range(0, outputs, tile.high) for start in range(0, n, tile.wide)
    ]  # fmt: skip


def _groups(args: NDArray[np.int64], needs: NDArray[np.bool_]) -> list[_Group]:
    """Return the operands that get a gradient, grouped by the positions at which they occur."""
    flat, n = args.ravel(), args.shape[1]
    items = np.flatnonzero(needs[flat])
    items = items[np.argsort(flat[items], kind="stable")]
    rows, starts = np.unique(flat[items], return_index=True)
    found: dict[bytes, _Group] = {}
    for row, start, end in zip(rows.tolist(), starts, np.append(starts, len(items))[1:], strict=True):
        mine = items[start:end]
        positions = mine // n
        group = found.setdefault(positions.tobytes(), _Group(positions, [], []))
        group.rows.append(row)
        group.operands.append(mine % n)
    return list(found.values())
