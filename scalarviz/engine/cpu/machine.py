"""Programs ready to run: encoded, with their workspace, and with the feed that fills their input rows.

The feed is a table with one line for each range of a sample's numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...scalar import ops
from ...tape import Program
from ...tape.lower import SMALL, Cached
from ..data import Data
from ..problem import Array
from .encode.pictures import can_be_compact
from .encode.program import Encoded, encode
from .encode.writer import LaneLayout
from .source import kernel_names, name_of
from .units import noted
from .vector.capability import vector_bytes
from .wire import CALL, ENTRIES, FEED, LINE, ROOM_COLUMNS, ROOM_NUMBERS, SEVERAL


def kernel_at(name: str, dtype: str) -> int:
    """Return the address of a kernel; 0 if it is only noted (`units.noting`)."""
    if noted(("kernel", name, dtype)):
        return 0
    from .loader import kernel_address  # loads numba

    return kernel_address(name, dtype)


def rows_at(name: str, dtype: str) -> dict[str, int]:
    """Return the addresses of the row kernels of an operation; 0 if they are only noted."""
    if noted(("rows", name, dtype)):
        return dict.fromkeys(kernel_names(ops.get(name)), 0)
    from .loader import row_addresses  # loads numba

    return row_addresses(name, dtype)


class Feeder:
    """Writes the lines of a program's inputs (``wire.FEED``), for one dtype."""

    def __init__(self, program: Program) -> None:
        self._index, self._rows = program.input_index, program.input_rows
        self._widths: tuple[int, ...] | None = None
        self._held: tuple[Array, ...] = ()
        self._lines = np.zeros((0, FEED), np.int64)
        self.stretches: list[tuple[int, int, int, int]] = []

    def lines(self, data: Data) -> NDArray[np.int64]:
        """Return the lines for these numbers, shape (ranges, FEED); valid until the next call."""
        parts = data.parts  # a new layout leaves these unchanged
        if parts is self._held:
            return self._lines
        widths = tuple(map(len, parts))
        if widths != self._widths:
            self.stretches, self._widths = list(stretches(self._index, self._rows, widths)), widths
        lines = np.zeros((len(self.stretches), FEED), np.int64)
        for line, (k, to, count, row) in zip(lines, self.stretches, strict=True):
            part = parts[k]
            apart, on = part.strides
            kernel = kernel_at(_kernel_for(part.dtype, data.dtype), data.dtype.name)
            line[:] = kernel, to, count, part.ctypes.data + row * apart, apart, on
        self._held, self._lines = parts, lines
        return lines


def stretches(
    index: NDArray[np.int64], rows: NDArray[np.int64], widths: tuple[int, ...]
) -> Iterator[tuple[int, int, int, int]]:
    """Yield part, first row of the program, length, first row of the part: inputs that are consecutive in both."""
    part_of = np.repeat(np.arange(len(widths)), widths)[index]
    starts = np.cumsum([0, *widths])[:-1]
    cuts = np.flatnonzero((np.diff(index) != 1) | (np.diff(rows) != 1) | (np.diff(part_of) != 0)) + 1
    ends = [0, *cuts.tolist(), len(index)]
    for first, end in pairwise(ends):
        if end > first:
            part = int(part_of[first])
            yield part, int(rows[first]), end - first, int(index[first] - starts[part])


@lru_cache(maxsize=64)
def _kernel_for(source: np.dtype[Any], real: np.dtype[Any]) -> str:
    """Return the name of the kernel that loads numbers of a dtype."""
    source = np.dtype(np.uint8) if source.kind == "b" else source  # a bool is a byte, 0 or 1
    return "load" if source == real else f"load_{source.name}"


A = TypeVar("A")

MARGIN = 4096
"""Bytes before the first row, written once. A vector whose first lanes are masked may begin there: nothing is read,
but where no memory is, the processor takes microseconds to find that out."""


NARROW_FROM = 64
"""Rows that are equal on all lanes are computed on one lane, if there are at least this many lanes."""


class Workspace:
    """Rows of lanes in memory, aligned to cache lines; rows of several blocks are `apart` bytes apart."""

    def __init__(self, rows: int, lanes: int, dtype: Any, blocks: int = 1) -> None:
        stride = -(-lanes * np.dtype(dtype).itemsize // LINE) * LINE + LINE
        self.apart = rows * stride
        self.memory = np.zeros(MARGIN + blocks * self.apart + LINE, np.uint8)
        self.memory[:MARGIN] = 0
        start: int = self.memory.ctypes.data + MARGIN
        self.address = -(-start // LINE) * LINE


class Addresses(Generic[A]):
    """Addresses of kernels by name; each is looked up once while a program is encoded."""

    def __init__(self, find: Callable[[str], A]) -> None:
        self._find = find
        self.known: dict[str, A] = {}

    def __call__(self, name: str) -> A:
        """Return the address of the kernel with this name."""
        if name not in self.known:
            self.known[name] = self._find(name)
        return self.known[name]

    def same(self, before: dict[str, A]) -> bool:
        """Return whether all addresses are still valid."""
        return all(self(name) == address for name, address in before.items())


Part = tuple[Program, dict[str, dict[str, int]], dict[str, int], Encoded]
_ENCODED: Cached[tuple[Any, ...], Part] = Cached()


class Loaded:
    """A program encoded for the interpreter; `machine` is as :mod:`scalarviz.engine.cpu.wire` describes it.

    Without a program it is never run. `block` lanes run together. `seeds` are the rows whose gradients are given
    (none for forward only). If the samples of a batch depend on each other, each of the `blocks` has its own rows, and
    the machine of another thread shares the rows of `other`.
    """

    def __init__(
        self, program: Program | None, dtype: Any, block: int, seeds: tuple[int, ...] = (), blocks: int = 1,
        other: Loaded | None = None,
    ) -> None:  # fmt: skip
        if program is None:
            program = _NOTHING
        dtype = np.dtype(dtype)
        kernel, vector = Addresses(partial(kernel_at, dtype=dtype.name)), vector_bytes() // dtype.itemsize
        # one sample: its rows lie side by side, which makes vectors
        compact = block == 1 and can_be_compact(program)
        how = LaneLayout(
            lanes=vector if compact else 0,
            few=block <= vector and not compact,
            samples=block if 1 < block <= SEVERAL else 0,
            narrow=program.couples and block >= NARROW_FROM,
        )
        encoded = _encoded(program, Addresses(partial(rows_at, dtype=dtype.name)), kernel, seeds, dtype, how)
        coupled = blocks if encoded.places else 0
        own = max(1, coupled)
        self.workspace: Workspace = other.workspace if other else Workspace(encoded.rows, block, dtype, own)
        self.sums: NDArray[np.float64] = other.sums if other else np.zeros((own, encoded.places))
        self.tile = np.zeros(16, dtype)
        self.room = np.zeros(ROOM_NUMBERS + ROOM_COLUMNS * SEVERAL if len(encoded.sole_spans) else 0, dtype)
        height = program.n_rows
        whole = kernel(fused) if (fused := name_of(program)) else 0
        # in the order of the names in `layout`
        space = [
            self.workspace.address, 0, 2 * height, self.tile.ctypes.data, height, block, program.loss, 0, int(compact),
            whole, 0, 0, 0, 0, coupled, self.workspace.apart, 0, self.sums.ctypes.data, encoded.places,
            *[0] * 6, self.room.ctypes.data,
        ]  # fmt: skip
        self._lists = [
            np.array(part, order="C")  # a copy: an encoded program may be loaded many times
            for part in (
                encoded.forward, encoded.backward, encoded.pool, encoded.numbers, program.constant_rows,
                program.constants.astype(dtype), program.input_rows, program.input_index, program.outputs,
                *encoded.cuts, encoded.sole_spans,
            )
        ]  # fmt: skip
        ends = [number for part in self._lists for number in (part.ctypes.data, len(part))]
        self.machine: Array = np.zeros(ENTRIES, np.int64)
        self.machine[: CALL - 2] = [*space, *ends]


def _encoded(
    program: Program, rows: Addresses[dict[str, int]], kernel: Addresses[int], seeds: tuple[int, ...],
    dtype: np.dtype[Any], how: LaneLayout,
) -> Encoded:  # fmt: skip
    """Return the numbers of a program, computed once while its kernels keep their addresses."""
    key = (id(program), seeds, dtype, how)
    before = _ENCODED.get(key)
    if before is not None and before[0] is program and rows.same(before[1]) and kernel.same(before[2]):
        return before[3]
    made = encode(program, seeds, rows, kernel, dtype, how)
    if program.n_rows <= SMALL:
        _ENCODED.store(key, (program, rows.known, kernel.known, made))
    return made


_EMPTY = np.zeros(0, np.int64)
_NOTHING = Program(
    n_rows=0, n_theta=0, instructions=(), input_rows=_EMPTY, input_index=_EMPTY, constant_rows=_EMPTY,
    constants=np.zeros(0), outputs=_EMPTY, loss=-1, taps=(), needs_gradient=np.zeros(0, np.bool_),
)  # fmt: skip
