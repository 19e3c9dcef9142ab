"""Which problems blocks of threads compute, and in what shape: by their sizes alone, never by the GPU at hand.

A block keeps the rows of its lanes, values and adjoints, in shared memory, so a program must fit there with a few
lanes. Its gradients leave it once, a number a parameter and block: with many blocks that is more to write and to join
than the rows themselves, so the batch must be small. A batch of one block needs no other one: it does whole steps.
"""

from __future__ import annotations

from dataclasses import dataclass

from ....tape import Plan
from ..machine import Shape
from .tiles import row_width

MOST_BLOCKS = 256
"""Two for each multiprocessor of a large GPU."""
ALONE = 1 << 17
"""The most products, weights times lanes, of a step of a lonely block: as long as launching two kernels takes."""
ALIGNED = 32
"""Bytes: what begins there begins at a multiple of four numbers in both dtypes, as ``wide`` wants it."""


@dataclass(frozen=True)
class Form:
    """How a batch is cut into blocks.

    Attributes
    ----------
    lanes, threads : int
        Of a block; lanes are a power of two that divides the threads.
    blocks : int
    rows_at, prologue_at, weights_at, shared : int
        In bytes of shared memory: where the rows begin, those of the prologue, the weights of layers; where it ends.
    tiles : bool
        Whether layers are computed in tiles, from weights in shared memory.
    alone : bool
        Whether the block does the steps of a call in one launch.
    """

    lanes: int
    threads: int
    blocks: int
    rows_at: int
    prologue_at: int
    weights_at: int
    shared: int
    tiles: bool
    alone: bool


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
    if shape.lanes == 0:
        return None
    alone = batch <= shape.alone and plan.n_parameters * batch <= ALONE
    lanes = max(4, 1 << (batch - 1).bit_length()) if alone else shape.lanes
    threads = max(lanes, shape.block_threads)
    blocks = -(-batch // lanes)
    rows_at = _aligned(8 * lanes)
    prologue_at = rows_at + _aligned(2 * plan.body.n_rows * lanes * itemsize)
    prologue = 2 * plan.prologue.n_rows * itemsize if alone and plan.prologue is not None else 0
    weights_at = prologue_at + _aligned(prologue)
    layers = (i for i in plan.body.instructions if i.kind == "layer")
    end = weights_at + sum(i.count * row_width(i.args.shape[1]) for i in layers) * itemsize
    tiles = lanes % 4 == 0 and end <= shape.shared_bytes
    shared = end if tiles else weights_at
    if shared > shape.shared_bytes or blocks > MOST_BLOCKS:
        return None
    return Form(lanes, threads, blocks, rows_at, prologue_at, weights_at, shared, tiles, alone)


def _aligned(size: int) -> int:
    return -(-size // ALIGNED) * ALIGNED
