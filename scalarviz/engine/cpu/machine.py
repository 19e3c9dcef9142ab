"""Programs ready to run: encoded, and with a workspace of their own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...tape import Program
from ...tape.known import SMALL, Kept
from ..problem import Array
from .cache.loader import kernel_address, row_addresses
from .encode.pictures import can_be_compact
from .encode.program import Encoded, encode
from .source.updates import name_of
from .vector.capability import VECTOR_KERNELS, vector_bytes
from .vector.emitter import VECTOR_BYTES
from .wire import LINE, ROOM_COLUMNS, ROOM_NUMBERS, SEVERAL

A = TypeVar("A")

MARGIN = 4096
"""Bytes before the first row, written once. A vector whose first lanes are masked may begin there: nothing is read,
but where no memory is, the processor takes microseconds to find that out."""


NARROW_FROM = 64
"""Lanes from which on rows that are the same on all of them are computed on one: below, that is as much work."""


class Workspace:
    """Rows of lanes in memory, starting at a cache line; those of several blocks `apart` bytes from each other."""

    def __init__(self, rows: int, lanes: int, dtype: Any, blocks: int = 1) -> None:
        stride = -(-lanes * np.dtype(dtype).itemsize // LINE) * LINE + LINE
        self.apart = rows * stride
        self.memory = np.zeros(MARGIN + blocks * self.apart + LINE, np.uint8)
        self.memory[:MARGIN] = 0
        start: int = self.memory.ctypes.data + MARGIN
        self.address = -(-start // LINE) * LINE


class Addresses(Generic[A]):
    """Where kernels are, by name: each is asked for once while a program is encoded, since every instruction asks.

    Attributes
    ----------
    known : dict
        What was asked for.
    """

    def __init__(self, find: Callable[[str], A]) -> None:
        self._find = find
        self.known: dict[str, A] = {}

    def __call__(self, name: str) -> A:
        """What the name stands for."""
        if name not in self.known:
            self.known[name] = self._find(name)
        return self.known[name]

    def same(self, before: dict[str, A]) -> bool:
        """Whether all of these are still where they were."""
        return all(self(name) == address for name, address in before.items())


Part = tuple[Program, dict[str, dict[str, int]], dict[str, int], Encoded]
_ENCODED: Kept[tuple[Any, ...], Part] = Kept()


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
    blocks : int
        Of a batch whose samples depend on each other: each has rows of its own.
    other : Loaded, optional
        The same program, whose rows and sums this one works in too: another thread's.

    Attributes
    ----------
    machine : ndarray of int64
        As :mod:`scalarviz.engine.cpu.wire` describes it. Valid while this object lives.
    """

    def __init__(
        self, program: Program | None, dtype: Any, block: int, seeds: tuple[int, ...] = (), plain: bool = False,
        blocks: int = 1, other: Loaded | None = None,
    ) -> None:  # fmt: skip
        if program is None:
            program = _NOTHING
        dtype = np.dtype(dtype)

        kernel = Addresses(
            lambda name: kernel_address(f"{name}_plain" if plain and name in VECTOR_KERNELS else name, dtype.name)
        )
        # one sample: its rows lie side by side, so that there are vectors to compute with
        compact = block == 1 and not plain and can_be_compact(program)
        vector = VECTOR_BYTES // dtype.itemsize
        few = block <= vector and not (compact or plain) and vector_bytes() > 0
        rows = Addresses(partial(row_addresses, dtype=dtype.name))
        several = block if 1 < block <= SEVERAL and not plain and vector_bytes() > 0 else 0
        taken = not plain and vector_bytes() > 0
        narrow = program.couples and block >= NARROW_FROM and not plain
        encoded = _encoded(program, rows, kernel, (seeds, dtype, vector if compact else 0, few, several, taken, narrow))
        coupled = blocks if encoded.places else 0
        self.workspace: Workspace
        self.sums: NDArray[np.float64]
        if other is None:
            self.workspace = Workspace(encoded.rows, block, dtype, max(1, coupled))
            self.sums = np.zeros((max(1, coupled), encoded.places))
        else:
            self.workspace, self.sums = other.workspace, other.sums
        self.tile = np.zeros(16, dtype)
        self.room = np.zeros(ROOM_NUMBERS + ROOM_COLUMNS * SEVERAL if len(encoded.alone) else 0, dtype)
        height = program.n_rows
        whole = kernel(fused) if (fused := name_of(program)) and not plain else 0
        # in the order of the names in layout
        space = [
            self.workspace.address, 0, 2 * height, self.tile.ctypes.data, height, block, program.loss, 0, int(compact),
            whole, 0, 0, 0, 0, coupled, self.workspace.apart, 0, self.sums.ctypes.data, encoded.places,
            *[0] * 6, self.room.ctypes.data,
        ]  # fmt: skip
        self._lists = [
            np.array(part, order="C")  # its own: what is encoded once may be loaded by many
            for part in (
                encoded.forward, encoded.backward, encoded.pool, encoded.numbers, program.constant_rows,
                program.constants.astype(dtype), program.input_rows, program.input_index, program.outputs,
                *encoded.cuts, encoded.alone,
            )
        ]  # fmt: skip
        ends = [number for part in self._lists for number in (part.ctypes.data, len(part))]
        self.machine: Array = np.array([*space, *ends, 0, 0], np.int64)


def _encoded(
    program: Program, rows: Addresses[dict[str, int]], kernel: Addresses[int], how: tuple[Any, ...]
) -> Encoded:
    """The numbers of a program, made once while its kernels stay where they are."""
    seeds, dtype, lanes, *switches = how
    key = (id(program), *how)
    before = _ENCODED.get(key)
    if before is not None and before[0] is program and rows.same(before[1]) and kernel.same(before[2]):
        return before[3]
    made = encode(program, seeds, rows, kernel, dtype, lanes, *switches)
    if program.n_rows <= SMALL:
        _ENCODED.put(key, (program, rows.known, kernel.known, made))
    return made


_EMPTY = np.zeros(0, np.int64)
_NOTHING = Program(
    n_rows=0, n_theta=0, instructions=(), input_rows=_EMPTY, input_index=_EMPTY, constant_rows=_EMPTY,
    constants=np.zeros(0), outputs=_EMPTY, loss=-1, taps=(), needs_gradient=np.zeros(0, np.bool_),
)  # fmt: skip
