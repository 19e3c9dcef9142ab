"""`Blocks`: a program in a device's memory, for blocks that walk along it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from ....tape import Program
from ...problem import Array
from ..device import Buffer, Device
from ..machine import Machine, Shape
from . import tiles
from .form import Form
from .table import TABLE_WIDTH, Line, kinds_of, numbered, plain_lines


class Blocks(Machine):
    """See :class:`~scalarviz.engine.cuda.machine.Machine`; rows are where the form says.

    Attributes
    ----------
    ways : (list of Line, list of Line)
        Forward and backward.
    memory : Buffer
        Rows that do not fit into shared memory, block by block.
    others : int
        Parameters whose gradients are no layer's; `which`, `first` and the rows of the pairs are theirs alone.
    """

    def __init__(self, program: Program, device: Device, dtype: Any, shape: Shape, form: Form) -> None:
        self.form = form
        super().__init__(program, device, dtype, 1, replace(shape, joined=False, tiles=None), (program.loss,))
        forward, backward = plain_lines(program, self.encoded)
        self.ways = tiles.tiled(self.encoded, forward, self.layers), tiles.tiled(self.encoded, backward, self.layers)
        self.block_numbers = 2 * program.n_rows * form.lanes if form.in_memory else 0
        self.memory = device.empty(max(1, self.block_numbers * form.blocks), dtype)
        fours, ones = tiles.copies(self.layers, program.n_theta)
        self.quarters, self.singles = len(fours), len(ones)
        self.fours = self.constant(np.append(fours, np.int32(0)))
        self.ones = self.constant(np.append(ones, np.int32(0)))

    def _load_pairs(self, which: Array, kept: Array) -> None:
        """Those of parameters that are no layer's: layers compute their own gradients."""
        form = self.form
        self.slices = form.blocks
        self.layers = tiles.layers(self.encoded, form.weights_at // self.dtype.itemsize) if form.tiles else []
        kept = tiles.others(self.layers, len(which))
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
        parts = [tiles.table(self.layers), numbered(self.ways[0], forward), numbered(self.ways[1], backward)]
        parts.append(np.array(encoded.scatters, np.int32).reshape(-1, TABLE_WIDTH))
        return self.constant(joined(head, parts))


def joined(head: list[int], parts: list[Array]) -> Array:
    """A table: its head, behind it where each part begins and ends, behind that the parts."""
    begin = len(head) + 2 * len(parts)
    ends = begin + np.cumsum([0, *(part.size for part in parts)])
    places = [place for span in pairwise(ends) for place in span]
    return np.concatenate([np.array([*head, *places], np.int32), *(part.ravel() for part in parts)])


def kinds(*machines: tuple[list[Line], list[Line]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The kinds of several programs, forward and backward."""
    return kinds_of(*(ways[0] for ways in machines)), kinds_of(*(ways[1] for ways in machines))
