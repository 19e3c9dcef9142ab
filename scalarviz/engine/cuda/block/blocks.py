"""`Blocks`: a program in a device's memory, for blocks that walk along it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from ....tape import Program
from ...problem import Array
from ..device import Buffer, Device
from ..encode import Call
from ..machine import Machine, Shape
from . import tiles
from .form import Form
from .table import kinds_of, lines


class Blocks(Machine):
    """See :class:`~scalarviz.engine.cuda.machine.Machine`; rows are nowhere but in shared memory.

    Attributes
    ----------
    ways : (list of Call, list of Call)
        Forward and backward.
    other : Buffer of int32
        Parameters whose gradients are no layer's; `first` and the rows of the pairs are theirs alone.
    """

    def __init__(self, program: Program, device: Device, dtype: Any, shape: Shape, form: Form) -> None:
        super().__init__(program, device, dtype, 1, replace(shape, joined=False), (program.loss,))
        self.form, self.slices = form, form.blocks
        self.parts = device.empty(max(1, program.n_theta * form.blocks), dtype)
        encoded = self.encoded
        self.layers = tiles.layers(encoded, form.weights_at // self.dtype.itemsize) if form.tiles else []
        self.ways = tiles.tiled(encoded, self.layers)
        others = tiles.others(encoded, self.layers)
        counts = np.diff(encoded.first)
        kept = np.repeat(np.isin(np.arange(len(counts)), others), counts)
        self.others = len(others)
        self.other = self.constant(np.append(others, np.int32(0)))
        self.first = self.constant(np.append(0, np.cumsum(counts[others])).astype(np.int64))
        self.adjoint_rows = self.constant(np.append(encoded.adjoint_rows[kept], np.int32(0)))
        self.value_rows = self.constant(np.append(encoded.value_rows[kept], np.int32(0)))

    def _fill_constants(self) -> None:
        """Each block does that by itself."""

    def table(self, forward: tuple[str, ...], backward: tuple[str, ...]) -> Buffer:
        """What the kernel of these kinds walks along; see ``kernel.HEAD``."""
        program, encoded, values = self.program, self.encoded, self.form.rows_at // self.dtype.itemsize
        head = [
            program.loss, encoded.inputs_at, len(program.input_rows), encoded.constants_at,
            len(program.constant_rows), values, values + program.n_rows * self.form.lanes, self.others,
        ]  # fmt: skip
        parts = [tiles.table(self.layers), lines(self.ways[0], forward), lines(self.ways[1], backward)]
        return self.constant(joined(head, parts))


def joined(head: list[int], parts: list[Array]) -> Array:
    """A table: its head, behind it where each part begins and ends, behind that the parts."""
    begin = len(head) + 2 * len(parts)
    ends = begin + np.cumsum([0, *(part.size for part in parts)])
    places = [place for span in pairwise(ends) for place in span]
    return np.concatenate([np.array([*head, *places], np.int32), *(part.ravel() for part in parts)])


def kinds(*machines: tuple[list[Call], list[Call]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The kinds of several programs, forward and backward."""
    return kinds_of(*(ways[0] for ways in machines)), kinds_of(*(ways[1] for ways in machines))
