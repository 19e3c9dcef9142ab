"""A program as a table that blocks of threads walk along, a line a call of a plain kernel; the shape of the blocks.

A block keeps the rows of its lanes, values and adjoints, in shared memory, and the weights of layers, so a program must
fit there with a few lanes. Its gradients leave it once, a number a parameter and block: with many blocks that is more
to write and to join than the rows themselves, so the batch must be small. A small net's batch is one block, which does
whole steps without another launch: its update is the work of one multiprocessor, so the parameters must be few. A long
program of small instructions is computed in blocks even where its rows are in the device's memory. The sizes of the
problem alone decide, never the GPU at hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....tape import Instruction, Plan, Program
from ...problem import Array
from ..calls import Encoded, KernelLaunch
from ..device import Buffer, Device
from ..machine import Machine, Shape
from .text import whole_numbers

WIDTH = 12
"""Numbers of a line: which kind, whether it waits until all threads are through the lines before, and what the kernel
is given."""


TABLE_WIDTH = 7
"""Numbers of a line of the tables that are read by number: those of ``calls.Scatter``."""


@dataclass(frozen=True)
class Task:
    """A call, and the rows that it reads and writes: of values forward, of adjoints backward."""

    call: KernelLaunch
    reads: frozenset[int]
    writes: frozenset[int]


def plain_lines(program: Program, encoded: Encoded) -> tuple[list[Task], list[Task]]:
    """The calls of a program that is encoded in the plain form, forward and backward."""
    by_row = {i.dst: i for i in program.instructions}
    forward, backward = [], []
    for call in encoded.forward:
        i = by_row[given(call)["dst"]]
        forward.append(Task(call, _rows(i.args.ravel()), _rows(range(i.dst, i.dst + i.count))))
    for call in encoded.backward:
        numbers = given(call)
        i, at = by_row[numbers["dst"]], numbers["at"]
        targets = (-1 - row if row < 0 else row for row in encoded.pool[at : at + numbers["targets"]])
        backward.append(Task(call, _rows(range(i.dst, i.dst + i.count)), _rows(targets)))
    return forward, backward


def given(call: KernelLaunch) -> dict[str, int]:
    """The whole numbers of a call by the names of the kernel's parameters."""
    found = [int(number) for number in call.arguments if not isinstance(number, str)]
    return dict(zip(whole_numbers(call.kernel), found, strict=True))


def _rows(rows: Iterable[int]) -> frozenset[int]:
    return frozenset(int(row) for row in rows)


def numbered(lines: Sequence[Task], kinds: tuple[str, ...], written: Iterable[int] = ()) -> NDArray[np.int32]:
    """The lines, shape (lines, WIDTH); some rows are `written` and the threads have not met since."""
    found = np.zeros((len(lines), WIDTH), np.int32)
    for row, line, waits in zip(found, lines, _waits(lines, written), strict=True):
        numbers = [number for number in line.call.arguments if not isinstance(number, str)]
        row[0], row[1] = kinds.index(line.call.kernel), waits
        row[2 : 2 + len(numbers)] = numbers
    return found


def _waits(lines: Sequence[Task], before: Iterable[int]) -> list[bool]:
    """Whether a line uses what was written, or writes what was read, since all threads met last."""
    read, written = set[int](), {int(row) for row in before}
    found = []
    for line in lines:
        waits = not written.isdisjoint(line.reads | line.writes) or not read.isdisjoint(line.writes)
        if waits:
            read, written = set(), set()
        read |= line.reads
        written |= line.writes
        found.append(waits)
    return found


LAYER_WIDTH = 6
"""Numbers of a line of the table of layers."""


@dataclass(frozen=True)
class Layer:
    """A layer whose operands are neighbours, and each of whose parameters gets its gradient from it alone, and once."""

    first: int  # operand row, of `n`
    n: int
    weight: int  # the first in theta
    bias: int  # the first in theta; -1 without
    dst: int  # first result row, of `outputs`
    outputs: int
    place: int  # where the weights begin in shared memory, in numbers
    width: int  # how long a row of them is there, in numbers

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


def tiled(encoded: Encoded, lines: list[Task], found: list[Layer]) -> list[Task]:
    """Lines, forward or backward, with those of these layers in tiles."""
    by_row = {layer.dst: layer for layer in found}
    return [replace(line, call=_call(line.call, by_row, encoded.pool)) for line in lines]


def _call(call: KernelLaunch, by_row: dict[int, Layer], pool: list[int]) -> KernelLaunch:
    if call.kernel not in ("layer", "layer_back"):
        return call
    numbers = given(call)
    it = by_row.get(numbers["dst"])
    if it is None:
        return call
    if call.kernel == "layer":
        return KernelLaunch("layer_tile", 0, (it.first, it.n, it.place, it.width, it.bias, it.dst, it.outputs))
    rows = np.array(pool[numbers["at"] : numbers["at"] + numbers["targets"]])
    fresh = bool(rows[0] >= 0)
    whole = np.array_equal(np.where(rows < 0, -1 - rows, rows), np.arange(it.first, it.first + it.n))
    if not whole or np.any((rows >= 0) != fresh):
        return call
    return KernelLaunch("layer_tile_back", 0, (it.first, it.n, it.place, it.width, it.dst, it.outputs, int(fresh)))


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


MOST_BLOCKS = 256
"""The most blocks: two for each multiprocessor of a large GPU."""
MOST_TERMS = 1024
"""Of the gradient of a parameter: one thread adds them, for a lane or for all."""
ALONE_PARAMETERS, ALONE_PRODUCTS = 2048, 1 << 16
"""The most parameters, and parameters times lanes, of a block that does whole steps: a step of it then takes about as
long as launching two kernels, by arithmetic."""
ALIGNED = 32
"""Bytes: what begins there begins at a multiple of four numbers in both dtypes, as ``load4`` wants it."""


LONG, SHORT = 64, 64
"""A program is long if it has so many instructions, of so little work on average: a launch each would take longer than
the work, wherever its rows are."""


@dataclass(frozen=True)
class Form:
    """How a batch is divided into blocks; places are bytes of shared memory."""

    lanes: int  # of a block: a power of two that divides the threads
    threads: int  # of a block
    blocks: int
    sums_at: int
    rows_at: int
    prologue_at: int  # rows of the prologue
    weights_at: int  # weights of layers
    shared: int  # where all ends
    tiles: bool  # whether layers are computed in tiles, from weights in shared memory
    alone: bool = False  # whether the block does the steps of a call in one launch
    in_memory: bool = False  # whether rows are in the device's memory, since they do not fit into shared memory


def form_of(plan: Plan, batch: int, itemsize: int, shape: Shape) -> Form | None:
    """How blocks compute a batch of numbers of `itemsize` bytes; None if they cannot."""
    other = plan.body.has_masks or plan.body.couples or plan.body.tracks
    if shape.lanes == 0 or other or _terms(plan.body) > MOST_TERMS or _reads_large_tables(plan, shape):
        return None
    layers = _layers(plan.body)
    few = plan.n_parameters <= ALONE_PARAMETERS and plan.n_parameters * batch <= ALONE_PRODUCTS
    if few and batch <= shape.alone:
        lanes = max(4 if layers else 1, 1 << (batch - 1).bit_length())
        form = _fitted(plan, batch, lanes, itemsize, shape, alone=True)
        if form is not None:
            return form
    lanes = shape.lanes
    while lanes > 0:
        form = _fitted(plan, batch, lanes, itemsize, shape)
        if form is not None or (layers and lanes <= 4):
            break
        lanes //= 2
    return form if form is not None or not _is_long(plan.body) else _spread(plan, batch, itemsize, shape)


def _fitted(plan: Plan, batch: int, lanes: int, itemsize: int, shape: Shape, alone: bool = False) -> Form | None:
    """Rows in shared memory."""
    layers, threads = _layers(plan.body), max(lanes, shape.block_threads)
    sums_at = _aligned(8 * lanes)
    rows_at = sums_at + _aligned(threads * itemsize)
    prologue_at = rows_at + _aligned(2 * plan.body.n_rows * lanes * itemsize)
    prologue = 2 * plan.prologue.n_rows * itemsize if alone and plan.prologue is not None else 0
    weights_at = prologue_at + _aligned(prologue)
    tiles = bool(layers) and lanes % 4 == 0
    weights = sum(i.count * row_width(i.args.shape[1]) for i in layers) * itemsize if tiles else 0
    shared, blocks = weights_at + weights, -(-batch // lanes)
    if shared > shape.shared_bytes or blocks > MOST_BLOCKS:
        return None
    return Form(lanes, threads, blocks, sums_at, rows_at, prologue_at, weights_at, shared, tiles, alone)


def _spread(plan: Plan, batch: int, itemsize: int, shape: Shape) -> Form | None:
    """Rows in the device's memory."""
    lanes, threads = shape.lanes, max(shape.lanes, shape.block_threads)
    blocks = -(-batch // lanes)
    block_bytes, sums_at = 2 * plan.body.n_rows * lanes * itemsize, _aligned(8 * lanes)
    if blocks > MOST_BLOCKS or blocks * block_bytes > shape.chunk_bytes or block_bytes >= 2**31:
        return None
    end = sums_at + _aligned(threads * itemsize)
    return Form(lanes, threads, blocks, sums_at, end, end, end, end, tiles=False, in_memory=True)


def _is_long(program: Program) -> bool:
    products = sum(i.count * i.args.shape[1] if i.kind == "layer" else i.args.size for i in program.instructions)
    count = len(program.instructions)
    return count >= LONG and products + program.n_rows <= SHORT * count


def _reads_large_tables(plan: Plan, shape: Shape) -> bool:
    """Whether the gradients of a table go another way than a block's."""
    if plan.prologue is not None and any(i.table is not None for i in plan.prologue.instructions):
        return True
    return any(i.table is not None and i.table.rows > shape.sorted_rows for i in plan.body.instructions)


def _layers(program: Program) -> list[Instruction]:
    return [i for i in program.instructions if i.kind == "layer"]


def _terms(program: Program) -> int:
    """Of the gradient of the parameter that occurs most often."""
    counts = np.zeros(program.n_theta, np.int64)
    for i in program.instructions:
        if i.kind in ("layer", "conv"):
            positions, n = i.args.shape
            counts[i.weights[0] : i.weights[0] + n * len(i.weights)] += positions
        elif i.kind in ("dot", "param"):
            np.add.at(counts, i.weights, 1)
        if i.bias >= 0:
            biases = len(i.weights) if i.kind in ("layer", "conv") else 1
            counts[i.bias : i.bias + biases] += i.count // biases
    return int(counts.max(initial=0))


def _aligned(size: int) -> int:
    return -(-size // ALIGNED) * ALIGNED


class Blocks(Machine):
    """A :class:`~scalarviz.engine.cuda.machine.Machine` with its rows where the form says.

    `ways` are the lines forward and backward, `memory` the rows that do not fit into shared memory, block by
    block. `others` is how many parameters have gradients that are no layer's; `which`, `first` and the pairs
    are theirs alone.
    """

    def __init__(self, program: Program, device: Device, dtype: Any, shape: Shape, form: Form) -> None:
        self.form = form
        super().__init__(program, device, dtype, 1, replace(shape, joined=False, tiles=None), (program.loss,))
        forward, backward = plain_lines(program, self.encoded)
        self.ways = tiled(self.encoded, forward, self.layers), tiled(self.encoded, backward, self.layers)
        self.block_numbers = 2 * program.n_rows * form.lanes if form.in_memory else 0
        self.memory = device.empty(max(1, self.block_numbers * form.blocks), dtype)
        fours, ones = copies(self.layers, program.n_theta)
        self.quarters, self.singles = len(fours), len(ones)
        self.fours = self.constant(np.append(fours, np.int32(0)))
        self.ones = self.constant(np.append(ones, np.int32(0)))

    def _load_pairs(self, which: Array, kept: Array) -> None:
        """Those of parameters that are no layer's: layers compute their own gradients."""
        form = self.form
        self.slices = form.blocks
        self.layers = layers(self.encoded, form.weights_at // self.dtype.itemsize) if form.tiles else []
        kept = others(self.layers, len(which))
        self.others = int(kept.sum())
        super()._load_pairs(which, kept)

    def _fill_constants(self) -> None:
        """Each block does that by itself."""

    def table(self, forward: tuple[str, ...], backward: tuple[str, ...]) -> Buffer:
        """What the kernel of these kinds walks along; see ``kernel.HEAD``."""
        program, encoded, form, item = self.program, self.encoded, self.form, self.dtype.itemsize
        values = 0 if form.in_memory else form.rows_at // item
        head = [
            program.loss, encoded.inputs_at, len(program.input_rows), encoded.constants_at,
            len(program.constant_rows), values, values + program.n_rows * form.lanes, self.block_numbers,
            form.sums_at // item, self.others, self.quarters, self.singles,
        ]  # fmt: skip
        parts = [table(self.layers), numbered(self.ways[0], forward), numbered(self.ways[1], backward)]
        parts.append(np.array(encoded.scatters, np.int32).reshape(-1, TABLE_WIDTH))
        return self.constant(joined(head, parts))


def joined(head: list[int], parts: list[Array]) -> Array:
    """A table: its head, behind it where each part begins and ends, behind that the parts."""
    begin = len(head) + 2 * len(parts)
    ends = begin + np.cumsum([0, *(part.size for part in parts)])
    places = [place for span in pairwise(ends) for place in span]
    return np.concatenate([np.array([*head, *places], np.int32), *(part.ravel() for part in parts)])


def kinds(*machines: tuple[list[Task], list[Task]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the kernels that occur in several programs, forward and backward; a line names one by its place."""
    forward, backward = ({line.call.kernel for ways in machines for line in ways[way]} for way in (0, 1))
    return tuple(sorted(forward)), tuple(sorted(backward))
