"""`Machine`: a program in a device's memory, and the launches that run it.

First the program as lists of kernel calls and their tables of indices, with one entry for each kind of instruction.
Calls name their buffers; `Machine` supplies the memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...rng import dropout_key, dropout_threshold
from ...scalar import ops
from ...scalar.mask import scale
from ...tape import Instruction, Program
from ..problem import Array
from .calls import MEAN_SLICES, SORTED, TILING, Encoded, KernelLaunch, Pairs, Scatter, Squares, Tile, Tiling, Written
from .catalog import find
from .device import Buffer, Device, Launch
from .kernels.steps import TREE
from .tiled import Chain, Cut, Tiled, only_readers


def _op(found: Encoded, i: Instruction) -> Written:
    args = found.table(i.args)
    forward = KernelLaunch(f"forward:{i.op}", i.count, ("values", "pool", args, i.dst, i.count))

    def back(at: int, count: int) -> KernelLaunch:
        given = ("adjoints", "values", "pool", at, count, args, i.dst, i.count)
        return KernelLaunch(f"backward:{i.op}", count, given)

    flows = np.array([partial is not None for partial in ops.get(i.op).partials])
    operands = np.where(flows[:, None], i.args, -1)
    return Written(forward, back if flows.any() else None, operands.ravel(), list)


def _param(found: Encoded, i: Instruction) -> Written:
    weights = found.table(i.weights)
    forward = KernelLaunch("param", i.count, ("values", "theta", "pool", weights, i.dst, i.count))
    rows = np.arange(i.dst, i.dst + i.count)
    return Written(forward, None, _NONE, lambda: [(i.weights, rows, np.full(i.count, -1))])


def _layer(found: Encoded, i: Instruction) -> Written:
    args, n, weight = found.table(i.args), i.args.shape[1], int(i.weights[0])
    forward = KernelLaunch("layer", i.count, ("values", "theta", "pool", args, n, weight, i.bias, i.dst, i.count))

    def back(at: int, count: int) -> KernelLaunch:
        return KernelLaunch("layer_back", count, ("adjoints", "theta", "pool", at, count, n, weight, i.dst, i.count))

    def pairs() -> Pairs:
        rows = np.arange(i.dst, i.dst + i.count)
        weights = np.arange(weight, weight + i.count * n)
        made = [(weights, np.repeat(rows, n), np.tile(i.args[0], i.count))]
        return made + ([(np.arange(i.bias, i.bias + i.count), rows, np.full(i.count, -1))] if i.bias >= 0 else [])

    return Written(forward, back, i.args[0], pairs)


def _conv(found: Encoded, i: Instruction) -> Written:
    args, (positions, n), weight = found.table(i.args), i.args.shape, int(i.weights[0])
    outputs = len(i.weights)
    forward = KernelLaunch(
        "conv", i.count, ("values", "theta", "pool", args, n, positions, weight, i.bias, i.dst, i.count)
    )

    def back(at: int, count: int) -> KernelLaunch:
        given = ("adjoints", "theta", "pool", at, count, n, positions, weight, i.dst, outputs)
        return KernelLaunch("conv_back", count, given)

    def pairs() -> Pairs:
        rows = np.arange(i.dst, i.dst + i.count).reshape(outputs, 1, positions)
        weights = np.arange(weight, weight + outputs * n).reshape(outputs, n, 1)
        shape = (outputs, n, positions)
        every = [np.broadcast_to(part, shape) for part in (weights, rows, i.args.T[None])]
        made: Pairs = [(every[0], every[1], every[2])]
        if i.bias >= 0:
            made.append((np.repeat(np.arange(i.bias, i.bias + outputs), positions), rows, np.full(i.count, -1)))
        return made

    return Written(forward, back, i.args.ravel(), pairs)


def _max(found: Encoded, i: Instruction) -> Written:
    args, n = found.table(i.args), i.args.shape[1]
    forward = KernelLaunch("largest", i.count, ("values", "pool", args, n, i.dst, i.count))

    def back(at: int, count: int) -> KernelLaunch:
        return KernelLaunch("largest_back", count, ("adjoints", "values", "pool", at, count, args, n, i.dst))

    return Written(forward, back, i.args.ravel(), list)


def _dot(found: Encoded, i: Instruction) -> Written:
    args, weights, n, number = found.table(i.args), found.table(i.weights), i.terms, _offset(found, i)
    given = ("values", "theta", "pool", args, weights, n, i.bias, "numbers", number, i.dst, i.count)
    forward = KernelLaunch("dot", i.count, given)

    def back(at: int, count: int) -> KernelLaunch:
        return KernelLaunch("dot_back", count, ("adjoints", "theta", "pool", at, count, weights, n, i.dst))

    def pairs() -> Pairs:
        return [(i.weights, np.repeat(np.arange(i.dst, i.dst + i.count), n), i.args.ravel()), *_bias(i)]

    return Written(forward, back, i.args.ravel(), pairs)


def _weighted(found: Encoded, i: Instruction) -> Written:
    args, n, number = found.table(i.args), i.terms, _offset(found, i)
    found.numbers.extend(i.numbers.tolist())
    given = ("values", "theta", "pool", args, n, i.bias, "numbers", number, i.dst, i.count)
    forward = KernelLaunch("weighted", i.count, given)

    def back(at: int, count: int) -> KernelLaunch:
        return KernelLaunch("weighted_back", count, ("adjoints", "pool", at, count, n, "numbers", number, i.dst))

    return Written(forward, back, i.args.ravel(), lambda: _bias(i))


def _product(found: Encoded, i: Instruction) -> Written:
    args, n, number = found.table(i.args), i.terms, _offset(found, i)
    given = ("values", "theta", "pool", args, n, i.bias, "numbers", number, i.dst, i.count)
    forward = KernelLaunch("product", i.count, given)

    def back(at: int, count: int) -> KernelLaunch:
        return KernelLaunch("product_back", count, ("adjoints", "values", "pool", at, count, args, n, i.dst, i.count))

    return Written(forward, back, i.args.ravel(), lambda: _bias(i))


def _squares(found: Encoded, i: Instruction) -> Written:
    args, n, number = found.table(i.args), i.args.shape[1], len(found.numbers)
    found.numbers.append(float(i.numbers[0]))
    forward = KernelLaunch("squares", 1, ("values", "pool", args, n, "numbers", number, i.dst))

    def back(at: int, count: int) -> KernelLaunch:
        given = ("adjoints", "values", "pool", at, count, args, n, "numbers", number, i.dst)
        return KernelLaunch("squares_back", count, given)

    return Written(forward, back, i.args.ravel(), list)


def _gather(found: Encoded, i: Instruction) -> Written:
    assert i.table is not None
    ids, weights, columns = found.table(i.args), found.table(i.weights), len(i.weights)
    table = (i.table.rows, i.table.step)
    given = ("values", "theta", "pool", ids, weights, columns, *table, i.dst, i.count)
    of = Scatter(ids, i.args.shape[1], weights, columns, *table, i.dst)
    return Written(KernelLaunch("gather", i.count, given), None, _NONE, list, scatter=of)


def _batch_mean(found: Encoded, i: Instruction) -> Written:
    found.means = max(found.means, i.count)
    args, results = found.table(i.args), found.table(range(i.dst, i.dst + i.count))

    def parts(rows: str, table: int) -> KernelLaunch:
        return KernelLaunch("batch_parts", i.count, ("sums", rows, "pool", table, MEAN_SLICES, i.count))

    def back(at: int, count: int) -> KernelLaunch:
        return KernelLaunch("batch_mean_back", count, ("adjoints", "sums", "pool", at, count, MEAN_SLICES))

    forward = KernelLaunch("batch_mean", i.count, ("values", "sums", MEAN_SLICES, i.dst, i.count))
    first, first_back = parts("values", args), parts("adjoints", results)
    return Written(forward, back, i.args[0], list, before=first, before_back=first_back)


def _offset(found: Encoded, i: Instruction) -> int:
    found.numbers.append(i.offset)
    return len(found.numbers) - 1


def _bias(i: Instruction) -> Pairs:
    rows = np.arange(i.dst, i.dst + i.count)
    return [(np.full(i.count, i.bias), rows, np.full(i.count, -1))] if i.bias >= 0 else []


_NONE = np.zeros(0, np.int64)


WRITERS: dict[str, Callable[[Encoded, Instruction], Written]] = {
    "op": _op, "param": _param, "layer": _layer, "conv": _conv, "max": _max, "dot": _dot, "weighted": _weighted,
    "product": _product, "squares": _squares, "gather": _gather, "batch_mean": _batch_mean,
    "mask": lambda found, i: Written(None, None, _NONE, list),  # `Machine.masks` launches it, since it reads the clock
}  # fmt: skip
"""The functions that encode each kind of instruction."""


def encode(program: Program, seeds: tuple[int, ...] = (), joined: bool = True, cut: Cut | None = None) -> Encoded:
    """Return tables and calls of a program; the gradients of the rows `seeds` are given (empty: forward only).

    `joined` says whether a neighbour may compute an instruction: the squared error with the sum of the losses,
    operations in the tiles of layers. Without a `cut`, everything is in the plain form.
    """
    found = Encoded()
    found.numbers.extend(program.constants.tolist())
    found.constants_at = found.table(program.constant_rows)
    found.inputs_at = found.table(program.input_rows)
    found.outputs_at = found.table(program.outputs)
    squares = _squares_alone(program) if joined else None
    instructions = program.instructions[: None if squares is None else -1 - (squares.dst != program.loss)]
    writers = [WRITERS[i.kind](found, i) for i in instructions]
    tiled = Tiled(found, program, seeds, cut, joined, squares) if cut is not None else None
    if tiled is not None:
        writers = [tiled.replaced(index, plain) for index, plain in enumerate(writers)]
    if squares is not None and (alone := _scale_alone(program, squares)) is not None:
        writers[alone] = writers[alone]._replace(forward=None)
    calls = (call for writer in writers for call in (writer.before, writer.forward))
    found.forward.extend(call for call in calls if call is not None)
    if seeds:
        rows, written = np.array(seeds, np.int64), set[int]()
        found.seeds_at = found.targets(rows, np.flatnonzero(program.needs_gradient[rows]), written)
        if squares is not None:
            chain = None if tiled is None else tiled.joins.before.get(len(instructions))
            found.squares = _loss(found, program, squares, chain, written)
        pairs = _backward(found, program, instructions, writers, written)
        found.slices = np.zeros(program.n_theta, np.int32)
        which = np.arange(program.n_theta) if tiled is None else tiled.sum_up(pairs)
        _pairs(found, which, pairs)
    return found


def _squares_alone(program: Program) -> Instruction | None:
    """Return the loss that is the squared error of different rows and rows without a gradient; None if it is not.

    In float16 its gradient is scaled behind it.
    """
    *others, last = program.instructions
    scaled = last.op == "scale_gradient" and last.count == 1 and bool(others) and others[-1].dst == last.args[0, 0]
    if scaled and _parameter(program, int(last.args[1, 0])) >= 0:
        last = others[-1]
    if last.kind != "squares" or program.loss not in (last.dst, program.instructions[-1].dst):
        return None
    said, wanted = last.args
    needs = program.needs_gradient
    alone = len(set(said.tolist())) == len(said) and bool(needs[said].all()) and not needs[wanted].any()
    return last if alone else None


def _loss(
    found: Encoded, program: Program, squares: Instruction, chain: Chain | None, written: set[int]
) -> Squares:  # fmt: skip
    found.numbers.append(float(squares.numbers[0]))
    args, kernel, targets = found.table(squares.args), "loss_of_squares", squares.args[0]
    if chain is not None:
        targets, kernel = chain.operands(program, targets), f"{kernel}:{chain.back}"
        found.table(targets)
    written.update(targets.tolist())
    scale = -1 if squares.dst == program.loss else _parameter(program, int(program.instructions[-1].args[1, 0]))
    numbers = chain.numbers if chain is not None else (0.0, 0.0)
    return Squares(args, len(targets), len(found.numbers) - 1, scale, kernel, numbers)


def _scale_alone(program: Program, squares: Instruction) -> int | None:
    """Return the instruction whose only row is the scale of the loss, which reads the parameter itself."""
    if squares.dst == program.loss:
        return None
    row = program.instructions[-1].args[1, 0]
    alone = only_readers(program)[row] == len(program.instructions) - 1
    return next((k for k, i in enumerate(program.instructions) if alone and (i.dst, i.count) == (row, 1)), None)


def _parameter(program: Program, row: int) -> int:
    """Return the parameter that a row holds; -1 for a row that is none."""
    for i in program.instructions:
        if i.kind == "param" and i.dst <= row < i.dst + i.count:
            return int(i.weights[row - i.dst])
    return -1


def _backward(
    found: Encoded, program: Program, instructions: Sequence[Instruction], writers: list[Written], written: set[int]
) -> Pairs:  # fmt: skip
    """Add the backward calls, from the last instruction to the first; return the pairs of the parameters."""
    needs = program.needs_gradient
    pairs: Pairs = []
    for i, writer in zip(reversed(instructions), reversed(writers), strict=True):
        if not needs[i.dst]:
            continue
        pairs.extend(writer.pairs())
        if writer.scatter is not None:
            found.scatters.append(writer.scatter)
        if writer.tiles is not None:
            found.backward.extend(writer.tiles(written))
        elif writer.back is not None:
            operands = writer.operands
            items = np.flatnonzero((operands >= 0) & needs[operands])
            if len(items):
                if writer.before_back is not None:
                    found.backward.append(writer.before_back)
                found.backward.append(writer.back(*found.targets(operands, items, written)))
    return pairs


def _pairs(found: Encoded, which: NDArray[np.int64], pairs: Pairs) -> None:
    if pairs:
        columns = [np.concatenate([np.asarray(part[k], np.int64).ravel() for part in pairs]) for k in range(3)]
    else:
        columns = [np.zeros(0, np.int64)] * 3
    order = np.argsort(columns[0], kind="stable")
    found.which = which.astype(np.int32)
    found.first = np.append(0, np.searchsorted(columns[0][order], which, "right")).astype(np.int64)
    found.adjoint_rows = columns[1][order].astype(np.int32)
    found.value_rows = columns[2][order].astype(np.int32)


# ---- The program in a device's memory


@dataclass(frozen=True)
class Shape:
    """The division of work. It is part of the configuration, because it changes bits; it never depends on the GPU.

    `lanes`, `block_threads`, `alone` and `shared_bytes` describe a block that takes some lanes of a small batch
    through a whole program (see ``block``). `joined` says whether neighbours are combined: the update in one
    kernel, the squared error with the sum of the losses, operations with the tiles of layers. The reference
    has neither this nor tiles.
    """

    chunk_bytes: int = 512 << 20  # of rows, values and adjoints: a chunk has to repay its launches, microseconds each
    threads: int = 128  # threads of a block
    slices: int = 32  # parts of the lanes for a gradient that is a sum over them
    loss_slices: int = 4096  # the most blocks of threads that add up losses
    slice_lanes: int = 512  # more lanes per slice give more slices, up to twice as many
    steps: int = 4096  # the most steps between an upload and a download
    loss_parts: int = 1 << 20  # the most loss parts of these steps
    # the most bytes for the batches of a call if the data is larger than the device's memory
    stream_bytes: int = 256 << 20
    lanes: int = 8  # 0: no problem uses blocks of lanes
    block_threads: int = 256
    cores: bool = True  # whether stacks of layers in float16 are trained by tensor cores
    alone: int = 32  # the largest batch for which one block does whole steps
    shared_bytes: int = 96 << 10
    resident: bool = True  # all data stays in the device's memory; otherwise each call loads its samples
    joined: bool = True
    tiles: Tiling | None = TILING
    sorted_rows: int = SORTED  # rows of a table that is read by number; above, gradients are summed over sorted numbers

    def chunk(self, rows: int, itemsize: int, lanes: int, whole: bool = False) -> int:
        """Return the number of lanes in a chunk of a program with `rows` rows; all chunks have about the same size.

        A chunk has all lanes if they depend on each other (`whole`). With tiles, it is a multiple of four, rounded
        up if a few lanes are missing.
        """
        fours = 4 if self.tiles is not None and lanes >= self.tiles.lanes else 1
        fitting = max(1, self.chunk_bytes // max(1, rows * itemsize) // fours) * fours
        if fitting >= lanes or whole:
            return -(-lanes // fours) * fours
        even = -(-lanes // -(-lanes // fitting))
        return min(-(-even // WARP) * WARP, fitting)


WARP = 32
"""Lanes that a GPU processes together; larger chunks are multiples of it."""
IN_ORDER, PICKED, STREAMED = 0, 1, 2
"""The samples of the input rows; see :func:`kernels.rows.inputs`."""


class Feed(NamedTuple):
    """The source of the input rows."""

    data: Buffer
    offsets: Buffer  # int64: start of the numbers of each input row in `data`
    order: Buffer  # int64: the chosen samples
    mode: int
    clock: Buffer
    batch: int


class Machine:
    """A program in memory: `values` and `adjoints` have rows of `chunk` lanes; gradients of the `seeds` are given."""

    def __init__(
        self, program: Program, device: Device, dtype: Any, chunk: int, shape: Shape, seeds: tuple[int, ...] = (),
        *, halves: bool = False,
    ) -> None:  # fmt: skip
        self.program, self.device, self.dtype, self.chunk, self.shape = program, device, np.dtype(dtype), chunk, shape
        self.slices = min(chunk, max(shape.slices, min(2 * shape.slices, chunk // shape.slice_lanes)))
        cut = None if shape.tiles is None else Cut(shape.tiles, chunk, self.dtype.itemsize, self.slices, halves)
        self.encoded = encoded = encode(program, seeds, shape.joined, cut)
        self._units = [(i, encoded.table(i.units)) for i in program.instructions if i.kind == "mask"]
        self.values = device.empty(max(1, program.n_rows * chunk), dtype)
        self.adjoints = device.empty(program.n_rows * chunk if seeds else 1, dtype)
        self.pool = self.constant(np.array([*encoded.pool, 0], np.int32))
        with np.errstate(over="ignore"):  # 1e308 is infinite in float32, as IEEE 754 rounds it
            self.numbers = self.constant(np.array([*encoded.numbers, 0.0]).astype(dtype))
        self.parts: Buffer | None = None
        self.counts: Buffer | None = None
        if seeds:
            self._load_pairs(encoded.which, np.ones(len(encoded.which), np.bool_))
            counts = np.append(encoded.counts(self.slices), np.int32(1))
            self.counts = self.constant(counts)
            self.parts = device.empty(max(1, program.n_theta * int(counts.max())), dtype)
        self.means = device.empty(max(1, encoded.means * MEAN_SLICES), np.float64)
        self._sorting = self._room_to_sort()
        self._fill_constants()

    def _load_pairs(self, which: Array, kept: Array) -> None:
        """Load the pairs of those parameters in `which` whose flag in `kept` is set."""
        encoded = self.encoded
        counts = np.diff(encoded.first)
        pairs = np.repeat(kept, counts)
        self.first = self.constant(np.append(0, np.cumsum(counts[kept])).astype(np.int64))
        self.adjoint_rows = self.constant(np.append(encoded.adjoint_rows[pairs], np.int32(0)))
        self.value_rows = self.constant(np.append(encoded.value_rows[pairs], np.int32(0)))
        self.which = self.constant(np.append(which[kept], np.int32(0)))

    def constant(self, array: Array) -> Buffer:
        """Return a table in the device's memory."""
        buffer = self.device.empty(array.size, array.dtype)
        self.device.upload(buffer, array)
        return buffer

    def _fill_constants(self) -> None:
        count = len(self.program.constant_rows)
        if count:
            given = (self.values, self.pool, self.encoded.constants_at, self.numbers, 0, count)
            self.device.record([self.rows("constants", count, given, self.chunk)]).run()

    # ---- launches

    def rows(self, kernel: str, rows: int, arguments: Sequence[Any], lanes: int) -> Launch:
        """Return a launch with one thread per row and lane; stride and lanes are added to the arguments."""
        threads = self.shape.threads
        across = min(1 << (min(lanes, threads) - 1).bit_length(), threads)
        down = max(1, threads // across)
        grid = (-(-rows // down), -(-lanes // across))
        return Launch(find(kernel, self.dtype.name), grid, (across, down), (*arguments, self.chunk, lanes))

    def line(self, kernel: str, count: int, arguments: Sequence[Any]) -> Launch:
        """Return a launch with one thread for each of `count`."""
        threads = self.shape.threads
        return Launch(find(kernel, self.dtype.name), (-(-count // threads), 1), (threads, 1), tuple(arguments))

    def inputs(self, feed: Feed, start: int, lanes: int) -> list[Launch]:
        """Return the launches that fill the input rows."""
        count = len(self.program.input_rows)
        given = (
            self.values, self.pool, self.encoded.inputs_at, feed.offsets, count, feed.data, feed.order, feed.mode,
            feed.clock, feed.batch, start,
        )  # fmt: skip
        return [self.rows("inputs", count, given, lanes)] if count else []

    def masks(self, seed: int, clock: Buffer, start: int, lanes: int) -> list[Launch]:
        """Return the launches that draw the dropout masks of a step, for the samples ``start ..`` of its batch."""
        launches = []
        for i, at in self._units:
            p = float(i.numbers[0])
            given = (
                self.values, self.pool, at, i.count, i.dst, *dropout_key(seed, i.call), dropout_threshold(p),
                self.dtype.type(scale(p)), clock, start,
            )  # fmt: skip
            launches.append(self.rows("masks", i.count, given, lanes))
        return launches

    def forward(self, theta: Buffer, lanes: int) -> list[Launch]:
        """Return the launches that compute all rows."""
        return [self._launch(call, theta, lanes) for call in self.encoded.forward]

    def backward(self, theta: Buffer, lanes: int) -> list[Launch]:
        """Return the launches of the backward pass; the gradients of the seeds are given."""
        return [self._launch(call, theta, lanes) for call in self.encoded.backward]

    @property
    def loss_slices(self) -> int:
        """The parts of a step's loss."""
        (high, wide), _ = self._loss_shape()
        return high * wide

    def _loss_shape(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return the blocks that share rows and lanes of the losses, and the threads of a block."""
        squares = self.encoded.squares
        across = min(TREE, 1 << (self.chunk - 1).bit_length())
        down, rows = TREE // across, 1 if squares is None else squares.n
        wide = min(-(-self.chunk // (across if squares is not None else TREE)), self.shape.loss_slices)
        return (max(1, min(-(-rows // down), self.shape.loss_slices // wide)), wide), (across, down)

    def loss(self, theta: Buffer, parts: Buffer, scales: Buffer, clock: Buffer, fresh: bool, lanes: int) -> Launch:
        """Return the parts of the loss of a step, and where its backward pass begins."""
        found, (grid, block) = self.encoded.squares, self._loss_shape()
        given = (int(fresh), clock, self.chunk, lanes)
        if found is None:
            one = (parts, self.values, self.adjoints, self.program.loss, scales, grid[1])
            return self.trees("loss", grid, block, (*one, *given))
        rows = (
            parts, self.values, self.adjoints, theta, self.pool, found.args, found.n, self.numbers, found.number,
            found.scale, *map(self.dtype.type, found.numbers),
        )  # fmt: skip
        return self.trees(found.kernel, grid, block, (*rows, *grid, scales, *given))

    def trees(self, kernel: str, grid: tuple[int, int], block: tuple[int, int], arguments: tuple[Any, ...]) -> Launch:
        """Return a launch whose blocks add up what their threads found."""
        return Launch(find(kernel, self.dtype.name), grid, block, arguments, TREE * np.dtype(np.float64).itemsize)

    def sums(self, lanes: int, fresh: bool) -> list[Launch]:
        """Return the parts of the gradients of all parameters; those that are not fresh are added to."""
        encoded, n, threads = self.encoded, self.program.n_theta, self.shape.threads
        rest = (self.slices, int(fresh), self.chunk, lanes)
        launches = []
        if count := len(encoded.which):
            given = (
                self.parts, self.adjoints, self.values, self.which, self.first, self.adjoint_rows, self.value_rows,
                count, n, *rest,
            )  # fmt: skip
            grid = (-(-count // threads), self.slices)
            launches.append(Launch(find("pairs", self.dtype.name), grid, (threads, 1), given))
        for tile, at, blocks in encoded.sums:
            tiled = (self.parts, self.adjoints, self.values, self.pool, at, n, *rest[1:])
            launches.append(self._tiled(f"tile_weights:{tile}", tile, (blocks, 1), tiled))
        return launches + [launch for scatter in encoded.scatters for launch in self._scatter(scatter, lanes)]

    def _scatter(self, of: Scatter, lanes: int) -> list[Launch]:
        n, threads, rest = self.program.n_theta, self.shape.threads, (self.slices, self.chunk, lanes)
        table = (of.weights, of.columns, of.rows, of.step, of.dst, n)
        if of.rows <= self.shape.sorted_rows:
            given = (self.parts, self.adjoints, self.values, self.pool, of.ids, of.positions, *table, *rest)
            grid = (-(-of.rows * of.columns // threads), self.slices)
            return [Launch(find("scatter", self.dtype.name), grid, (threads, 1), given)]
        assert self._sorting is not None
        count, run, (now, later) = of.positions * lanes, 1, self._sorting
        keyed = (*now, self.values, self.pool, of.ids, of.positions, of.rows, *rest)
        launches = [self.line("scatter_keys", count, keyed)]
        while run < count:
            launches.append(self.line("scatter_merge", count, (*now, *later, count, run)))
            run, now, later = 2 * run, later, now
        found = (self.parts, self.adjoints, self.pool, *now, count, *table, *rest)
        return [*launches, self.line("scatter_sorted", count * of.columns, found)]

    def _room_to_sort(self) -> tuple[tuple[Buffer, Buffer], tuple[Buffer, Buffer]] | None:
        """Return buffers for all lanes' numbers and their places, twice; None if no table is that large."""
        found = [of.positions for of in self.encoded.scatters if of.rows > self.shape.sorted_rows]
        if not found:
            return None
        first, second, third, fourth = (self.device.empty(max(found) * self.chunk, np.int64) for _ in range(4))
        return (first, second), (third, fourth)

    def join(self, grad: Buffer, fresh: bool) -> list[Launch]:
        """Return the gradients from their parts."""
        n = self.program.n_theta
        return [self.line("join", n, (grad, self.parts, n, self.counts, int(fresh)))]

    def _launch(self, call: KernelLaunch, theta: Buffer, lanes: int) -> Launch:
        buffers = {
            "values": self.values, "adjoints": self.adjoints, "theta": theta, "pool": self.pool,
            "numbers": self.numbers, "sums": self.means,
        }  # fmt: skip
        with np.errstate(over="ignore"):
            arguments = [self._argument(given, buffers) for given in call.arguments]
        if call.tile is None:
            return self.rows(call.kernel, call.rows, arguments, lanes)
        grid = (call.rows, -(-lanes // call.tile.wide))
        return self._tiled(call.kernel, call.tile, grid, (*arguments, self.chunk, lanes))

    def _tiled(self, kernel: str, tile: Tile, grid: tuple[int, int], arguments: tuple[Any, ...]) -> Launch:
        shared = tile.shared(kernel.partition(":")[0], self.dtype.itemsize)
        return Launch(find(kernel, self.dtype.name), grid, (tile.across, tile.down), arguments, shared)

    def _argument(self, given: str | int | float, buffers: dict[str, Buffer]) -> Any:
        if isinstance(given, str):
            return buffers[given]
        return self.dtype.type(given) if isinstance(given, float) else given
