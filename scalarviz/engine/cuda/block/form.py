"""Which problems blocks of threads compute, and in what shape: by their sizes alone, never by the GPU at hand.

A block keeps the rows of its lanes, values and adjoints, in shared memory, and the weights of layers, so a program must
fit there with a few lanes. Its gradients leave it once, a number a parameter and block: with many blocks that is more
to write and to join than the rows themselves, so the batch must be small. A small net's batch is one block, which does
whole steps without another launch: its update is the work of one multiprocessor, so the parameters must be few. A long
program of small instructions is computed in blocks even where its rows are in the device's memory.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....tape import Instruction, Plan, Program
from ..machine import Shape
from .tiles import row_width

MOST_BLOCKS = 256
"""Two for each multiprocessor of a large GPU."""
MOST_TERMS = 1024
"""Of the gradient of a parameter: one thread adds them, for a lane or for all."""
ALONE_PARAMETERS, ALONE_PRODUCTS = 2048, 1 << 16
"""The most parameters, and parameters times lanes, of a block that does whole steps: a step of it then takes about as
long as launching two kernels, by arithmetic."""
ALIGNED = 32
"""Bytes: what begins there begins at a multiple of four numbers in both dtypes, as ``wide`` wants it."""


LONG, SHORT = 64, 64
"""A program is long if it has so many instructions, of so little work on average: a launch each would take longer than
the work, wherever its rows are."""


@dataclass(frozen=True)
class Form:
    """How a batch is cut into blocks.

    Attributes
    ----------
    lanes, threads : int
        Of a block; lanes are a power of two that divides the threads.
    blocks : int
    sums_at, rows_at, prologue_at, weights_at, shared : int
        In bytes of shared memory: where sums begin, the rows, those of the prologue, the weights of layers; where it
        ends.
    tiles : bool
        Whether layers are computed in tiles, from weights in shared memory.
    alone : bool
        Whether the block does the steps of a call in one launch.
    in_memory : bool
        Whether rows are in the device's memory, since they do not fit into shared memory.
    """

    lanes: int
    threads: int
    blocks: int
    sums_at: int
    rows_at: int
    prologue_at: int
    weights_at: int
    shared: int
    tiles: bool
    alone: bool = False
    in_memory: bool = False


def form_of(plan: Plan, batch: int, itemsize: int, shape: Shape) -> Form | None:
    """How blocks compute a batch; None where they do not.

    Parameters
    ----------
    plan : Plan
    batch : int
    itemsize : int
        Bytes of a number.
    shape : Shape
    """
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
