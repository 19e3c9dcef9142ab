"""Programs ready to run: encoded, and with a workspace of their own."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np

from ...tape import Program
from ..problem import Array
from .cache.loader import kernel_address, row_addresses
from .encode.pictures import can_be_compact
from .encode.program import encode
from .source.updates import name_of
from .vector.capability import VECTOR_KERNELS, vector_bytes
from .vector.emitter import VECTOR_BYTES
from .wire import LINE, SEVERAL

MARGIN = 4096
"""Bytes before the first row, written once. A vector whose first lanes are masked may begin there: nothing is read,
but where no memory is, the processor takes microseconds to find that out."""


class Workspace:
    """Rows of lanes in memory, starting at a cache line."""

    def __init__(self, rows: int, lanes: int, dtype: Any) -> None:
        stride = -(-lanes * np.dtype(dtype).itemsize // LINE) * LINE + LINE
        self.memory = np.zeros(MARGIN + rows * stride + LINE, np.uint8)
        self.memory[:MARGIN] = 0
        start: int = self.memory.ctypes.data + MARGIN
        self.address = -(-start // LINE) * LINE


class Loaded:
    """A program encoded for the interpreter.

    Parameters
    ----------
    program : Program or None
        None makes a machine that is never run.
    dtype : dtype-like
    block : int
        Lanes that go through together.
    seeds : tuple of int
        Rows whose adjoints are given; empty for forward only.
    plain : bool
        True: no vector kernels (they are tested against the plain ones).

    Attributes
    ----------
    machine : ndarray of int64
        As :mod:`scalarviz.engine.cpu.wire` describes it. Valid while this object lives.
    """

    def __init__(
        self, program: Program | None, dtype: Any, block: int, seeds: tuple[int, ...] = (), plain: bool = False
    ) -> None:  # fmt: skip
        if program is None:
            program = _NOTHING
        dtype = np.dtype(dtype)

        @cache  # as long as this program is encoded: each instruction asks
        def kernel(name: str) -> int:
            return kernel_address(f"{name}_plain" if plain and name in VECTOR_KERNELS else name, dtype.name)

        # one sample: its rows lie side by side, so that there are vectors to compute with
        compact = block == 1 and not plain and can_be_compact(program)
        vector = VECTOR_BYTES // dtype.itemsize
        few = block <= vector and not (compact or plain) and vector_bytes() > 0
        rows = cache(partial(row_addresses, dtype=dtype.name))
        several = block if 1 < block <= SEVERAL and not plain and vector_bytes() > 0 else 0
        encoded = encode(program, seeds, rows, kernel, dtype, vector if compact else 0, few, several)
        self.workspace = Workspace(encoded.rows, block, dtype)
        self.tile = np.zeros(16, dtype)
        height = program.n_rows
        # in the order of the names in layout
        space = [
            self.workspace.address,
            0,
            2 * height,
            self.tile.ctypes.data,
            height,
            block,
            program.loss,
            0,
            int(compact),
            kernel(fused) if (fused := name_of(program)) and not plain else 0,
            0,
            0,
            0,
        ]
        self._lists = [
            np.ascontiguousarray(part)
            for part in (
                encoded.forward, encoded.backward, encoded.pool, encoded.numbers, program.constant_rows,
                program.constants.astype(dtype), program.input_rows, program.input_index, program.outputs,
            )
        ]  # fmt: skip
        ends = [number for part in self._lists for number in (part.ctypes.data, len(part))]
        self.machine: Array = np.array([*space, *ends], np.int64)


_EMPTY = np.zeros(0, np.int64)
_NOTHING = Program(
    n_rows=0, n_theta=0, instructions=(), input_rows=_EMPTY, input_index=_EMPTY, constant_rows=_EMPTY,
    constants=np.zeros(0), outputs=_EMPTY, loss=-1, taps=(), needs_gradient=np.zeros(0, np.bool_),
)  # fmt: skip
