"""Memory of a device and of blocks and threads: who may use which number now, and when two threads are in a race.

A thread may use what another thread wrote only behind a barrier of the block that both belong to. For every cell the
shadow keeps the last writer and the readers, each with the number of barriers that its block had passed:
who = thread + 1; readers of one block, several: -(block + 2); of several blocks: MANY.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy as np
from numba import njit

ALIGN, GUARD = 512, 4096  # an address is a multiple of the one; between two allocations lie at least so many bytes
POISON = 0xFF  # NaN as a float, -1 as an index: memory that nobody has written yet


class Fault(Exception):
    """An instruction did what the hardware would punish, or what makes the result a matter of luck.

    Attributes
    ----------
    kernel, line, text
        The kernel, and the line of the PTX.
    thread
        ``(block x y z, thread x y z)`` of the first thread that does it, or None.
    address
        What it reached for, or None.
    """

    def __init__(self, what: str, address: int | None = None) -> None:
        super().__init__(what)
        self.what, self.address = what, address
        self.kernel, self.line, self.text = "", 0, ""
        self.thread: tuple[tuple[int, ...], tuple[int, ...]] | None = None
        self.linear: int | None = None  # the thread's number in the grid, until the machine knows its coordinates

    def __str__(self) -> str:
        where = "" if self.address is None else f" at address {self.address:#x}"
        who = "" if self.thread is None else f", block {self.thread[0]} thread {self.thread[1]}"
        return f"{self.what}{where} in {self.kernel}{who}, line {self.line}: {self.text}"


class Region:
    """A range of addresses with bytes behind it."""

    def __init__(self, base: int, size: int, name: str = "", rows: int = 1) -> None:
        self.base, self.size, self.name = base, size, name
        self.origin = base - base % 16  # where its bytes begin, those before `base` unused
        self.row = -(-max(size + base - self.origin, 1) // 16) * 16  # bytes from one copy to the next
        self.bytes = np.full(self.row * rows, POISON, np.uint8)
        self._views: dict[Any, np.ndarray] = {}

    def cells(self, dtype: np.dtype[Any]) -> np.ndarray:
        view = self._views.get(dtype)
        if view is None:
            view = self._views[dtype] = self.bytes.view(dtype)
        return view


class Memory:
    """What ``cuMemAlloc`` hands out.

    Parameters
    ----------
    limit : int or None
        Bytes there are in all; more is a MemoryError.
    """

    def __init__(self, limit: int | None = None) -> None:
        self.limit, self.used = limit, 0
        self.regions: dict[int, Region] = {}
        self.symbols: dict[tuple[int, str], int] = {}
        self._bases: list[int] = []
        self._freed: list[tuple[int, int]] = []
        self._next = 0x7F2000000000

    def start(self, address: int) -> None:
        """Where the first allocation will lie."""
        self._next = address

    def allocate(self, nbytes: int, name: str = "") -> int:
        """An address that was never given before, so that a use after free is seen."""
        if self.limit is not None and self.used + nbytes > self.limit:
            raise MemoryError(f"{nbytes} bytes asked for, {self.limit - self.used} of {self.limit} are free")
        base = self._next
        self._next += -(-(nbytes + GUARD) // ALIGN) * ALIGN
        self.regions[base] = Region(base, nbytes, name)
        self._bases.append(base)
        self.used += nbytes
        return base

    def free(self, address: int) -> None:
        region = self.regions.pop(address, None)
        if region is None:
            raise Fault("free of what is no allocation", address)
        self._bases.remove(address)
        self._freed.append((address, region.size))
        self.used -= region.size

    def find(self, address: int) -> Region | None:
        """The allocation that holds the address."""
        k = bisect_right(self._bases, address) - 1
        if k < 0:
            return None
        region = self.regions[self._bases[k]]
        return region if address < region.base + region.size else None

    def why(self, address: int, nbytes: int) -> str:
        """What is wrong with an address."""
        if address < 4096:
            return "NULL pointer"
        region = self.find(address)
        if region is not None:
            return f"access of {nbytes} bytes past the end of {_named(region)}"
        if any(base <= address < base + size for base, size in self._freed):
            return "use after free"
        k = bisect_right(self._bases, address) - 1
        before = f"{address - self._bases[k]} bytes after the start of {_named(self.regions[self._bases[k]])}"
        return f"out of bounds ({before})" if k >= 0 else "out of bounds"

    def view(self, address: int, n: int, dtype: Any) -> np.ndarray:
        """`n` numbers as an array that is the memory itself.

        Raises
        ------
        Fault
            They do not lie in one allocation.
        """
        kind = np.dtype(dtype)
        region = self.find(address)
        if region is None or address + n * kind.itemsize > region.base + region.size:
            raise Fault(self.why(address, n * kind.itemsize), address)
        offset = address - region.origin
        return region.bytes[offset : offset + n * kind.itemsize].view(kind)


def _named(region: Region) -> str:
    return f"{region.name or 'an allocation'} of {region.size} bytes"


@njit(cache=True)
def place(address, base, top, width, shift, origin, out):  # type: ignore[no-untyped-def]
    """Addresses -> numbers of cells from `origin` on; the first access beyond ``base + top`` or misaligned, or -1."""
    for i in range(address.size):
        if address[i] - base > top or address[i] & (width - np.uint64(1)):
            return i
        out[i] = np.int64((address[i] - origin) >> shift)
    return -1


@njit(cache=True)
def place_rows(  # type: ignore[no-untyped-def]
    address, base, top, width, shift, origin, threads, first, group, row, out
):
    """The same where each `group` of threads has a copy of its own, `row` cells apart."""
    for i in range(out.size):
        at = address[i if address.size > 1 else 0]
        if at - base > top or at & (width - np.uint64(1)):
            return i
        out[i] = np.int64((at - origin) >> shift) + (threads[i] - first) // group * row
    return -1


MANY = -1


class Race(Fault):
    """Two threads use a cell, one of them writes, and no barrier stands between."""


class Shadow:
    """The uses of `cells` cells of `width` bytes."""

    def __init__(self, nbytes: int, width: int) -> None:
        self.width = width
        cells = -(-nbytes // width)
        self.writer, self.written = np.zeros(cells, np.int32), np.zeros(cells, np.int32)
        self.reader, self.read = np.zeros(cells, np.int32), np.zeros(cells, np.int32)

    def finer(self, width: int) -> None:
        """Split every cell, because a narrower access comes."""
        k = self.width // width
        self.writer, self.written = np.repeat(self.writer, k), np.repeat(self.written, k)
        self.reader, self.read = np.repeat(self.reader, k), np.repeat(self.read, k)
        self.width = width

    def note(
        self,
        index: np.ndarray,
        width: int,
        count: int,
        threads: np.ndarray,
        block: int,
        epochs: np.ndarray,
        writes: bool,
        constant: bool = False,
    ) -> int:
        """Note `count` times `width` bytes from ``index * width`` on as used; the first thread that races, or -1."""
        if width < self.width:
            self.finer(width)
        unit = width // self.width
        function = note_write if writes else note_read
        return int(
            function(
                self.writer,
                self.written,
                self.reader,
                self.read,
                index,
                unit,
                unit * count,
                threads,
                block,
                epochs,
                constant,
            )
        )


@njit(cache=True)
def note_read(  # type: ignore[no-untyped-def]
    writer, written, reader, read, index, unit, parts, threads, block, epochs, constant
):
    for i in range(threads.size):
        thread = np.int32(threads[i] + 1)
        mine = threads[i] // block
        epoch = epochs[mine]
        for k in range(parts):
            at = index[i if index.size > 1 else 0] * unit + k
            w = writer[at]
            if w != 0 and (constant or (w != thread and ((w - 1) // block != mine or written[at] >= epoch))):
                return i
            r = reader[at]
            if r == MANY:
                continue
            if r == thread:
                read[at] = epoch
                continue
            owner = -1 if r == 0 else ((r - 1) // block if r > 0 else -r - 2)
            if r == 0 or (owner == mine and read[at] < epoch):
                reader[at], read[at] = thread, epoch
            elif owner == mine:
                reader[at] = np.int32(-mine - 2)
            else:
                reader[at] = MANY
    return -1


@njit(cache=True)
def note_write(  # type: ignore[no-untyped-def]
    writer, written, reader, read, index, unit, parts, threads, block, epochs, constant
):
    for i in range(threads.size):
        thread = np.int32(threads[i] + 1)
        mine = threads[i] // block
        epoch = epochs[mine]
        for k in range(parts):
            at = index[i if index.size > 1 else 0] * unit + k
            w, r = writer[at], reader[at]
            if w != 0 and w != thread and ((w - 1) // block != mine or written[at] >= epoch):
                return i
            if r == MANY:
                return i
            if r != 0 and r != thread:
                owner = (r - 1) // block if r > 0 else -r - 2
                if owner != mine or read[at] >= epoch:
                    return i
            writer[at], written[at] = thread, epoch
    return -1


SHARED_WINDOW, LOCAL_WINDOW, WINDOW = 0x100000000000, 0x200000000000, 1 << 32  # in the generic address space
FIRST, GAP = 1024, 256  # the first address of shared and local memory; bytes between two variables, nobody's
SHIFTS = {1: 0, 2: 1, 4: 2, 8: 3}


class Rows:
    """Shared or local memory: variables of which every block (or thread) has a copy.

    Each lies where its declaration allows it and no better: what is declared with 4 bytes of alignment is not at a
    multiple of 8, so that an access of more shows.
    """

    def __init__(self, variables: list[tuple[str, int, int]], rows: int, threads: int) -> None:
        self.threads = threads  # that use a copy together
        self.address: dict[str, int] = {}
        self.regions: list[Region] = []
        at = FIRST
        for name, size, align in variables:
            self.address[name] = at + align
            self.regions.append(Region(at + align, size, name, rows))
            at += -(-(size + align + GAP) // FIRST) * FIRST

    def find(self, address: int) -> Region | None:
        return next((r for r in self.regions if r.base <= address < r.base + r.size), None)

    def why(self, address: int, nbytes: int) -> str:
        region = self.find(address)
        if region is not None:
            return f"access of {nbytes} bytes past the end of {region.name} ({region.size} bytes)"
        return "out of bounds of shared or local memory"


class Access:
    """What the emitted lines call as ``x``, as far as it is about memory."""

    shared_window, local_window = np.uint64(SHARED_WINDOW), np.uint64(LOCAL_WINDOW)

    def __init__(self, memory: Memory, block: int, blocks: int, races: bool) -> None:
        self.memory, self.block, self.races = memory, block, races
        self.epochs = np.zeros(blocks, np.int32)  # barriers that each block has passed
        self.first = 0  # of the threads that run now
        self.spaces: dict[str, Any] = {"global": memory}
        self.shadows: dict[tuple[str, int], Shadow] = {}
        self.line = 0

    def load(
        self, space: str, threads: np.ndarray, address: np.ndarray, dtype: str, count: int, constant: bool = False
    ) -> list[np.ndarray]:
        """Numbers at the addresses: `count` arrays."""
        kind = np.dtype(dtype)
        found = self._cells(space, threads, address, kind, count)
        if found is None:
            return self._apart(space, threads, address, kind, count, None)
        name, region, index = found
        if self.races and name != "local":
            self._note(name, region, index, kind.itemsize, count, threads, False, constant)
        cells = region.cells(kind)
        return [cells.take(index if k == 0 else index + k) for k in range(count)]

    def store(
        self, space: str, threads: np.ndarray, address: np.ndarray, dtype: str, values: tuple[np.ndarray, ...]
    ) -> None:
        kind = np.dtype(dtype)
        found = self._cells(space, threads, address, kind, len(values))
        if found is None:
            self._apart(space, threads, address, kind, len(values), values)
            return
        name, region, index = found
        if self.races and name != "local":
            self._note(name, region, index, kind.itemsize, len(values), threads, True, False)
        cells = region.cells(kind)
        for k, value in enumerate(values):
            cells[index + k] = value if index.size > 1 or value.size == 1 else value[-1:]

    def _cells(
        self, space: str, threads: np.ndarray, address: np.ndarray, kind: np.dtype[Any], count: int
    ) -> tuple[str, Region, np.ndarray] | None:
        """The region and the numbers of its cells, if all addresses lie in one; Fault if the only one lies in none."""
        lowest = int(address.min())
        if space == "":
            space, moved = self._window(lowest)
            address = address - np.uint64(moved)
            lowest -= moved
        where = self.spaces[space]
        region = where.find(lowest)
        width = kind.itemsize * count
        if region is not None and region.size >= width:
            fits = np.uint64(region.base), np.uint64(region.size - width), np.uint64(width)
            shift, origin = np.uint64(SHIFTS[kind.itemsize]), np.uint64(region.origin)
            if space == "global":
                index = np.empty(address.size, np.int64)
                bad = place(address, *fits, shift, origin, index)
            else:
                index = np.empty(threads.size, np.int64)
                row = region.row // kind.itemsize
                bad = place_rows(address, *fits, shift, origin, threads, self.first, where.threads, row, index)
            if bad < 0:
                return space, region, index
        if address.size == 1:
            misaligned = region is not None and lowest % width and lowest + width <= region.base + region.size
            fault = Fault("misaligned address" if misaligned else where.why(lowest, width), lowest)
            fault.linear = int(threads[0])
            raise fault
        return None

    @staticmethod
    def _window(address: int) -> tuple[str, int]:
        """The space of a generic address, and where its window begins."""
        for name, start in (("shared", SHARED_WINDOW), ("local", LOCAL_WINDOW)):
            if start <= address < start + WINDOW:
                return name, start
        return "global", 0

    def _apart(
        self,
        space: str,
        threads: np.ndarray,
        address: np.ndarray,
        kind: np.dtype[Any],
        count: int,
        values: tuple[np.ndarray, ...] | None,
    ) -> list[np.ndarray]:
        """The same in parts, one a region; an address that no region holds is a fault by itself."""
        out = [np.empty(address.size, kind) for _ in range(count)]
        open_still = np.arange(address.size)
        while open_still.size:
            chosen = self._together(space, address[open_still])
            at, open_still = open_still[chosen], open_still[~chosen]
            if at.size == address.size:  # one region, but some access is wrong: find it by halves
                half = at.size // 2
                pieces = [at[:half], at[half:]]
            else:
                pieces = [at]
            for piece in pieces:
                who = threads[piece] if threads.size > 1 else threads
                if values is None:
                    for k, part in enumerate(self.load(space, who, address[piece], kind.str[1:], count)):
                        out[k][piece] = part
                else:
                    given = tuple(v if v.size == 1 else v[piece] for v in values)
                    self.store(space, who, address[piece], kind.str[1:], given)
        return out

    def _together(self, space: str, address: np.ndarray) -> np.ndarray:
        """Which addresses lie in the region of the first of them."""
        first = int(address[0])
        moved = 0
        if space == "":
            space, moved = self._window(first)
        region = self.spaces[space].find(first - moved)
        if region is None:
            chosen: np.ndarray = address == address[0]
            return chosen
        return (address >= np.uint64(region.base + moved)) & (address < np.uint64(region.base + region.size + moved))

    def _note(
        self,
        space: str,
        region: Region,
        index: np.ndarray,
        width: int,
        count: int,
        threads: np.ndarray,
        writes: bool,
        constant: bool,
    ) -> None:
        """Tell the shadow, and raise if two threads get into each other's way."""
        key = (space, region.base)
        shadow = self.shadows.get(key)
        if shadow is None:
            shadow = self.shadows[key] = Shadow(region.bytes.size, min(width, 4))
        bad = shadow.note(index, width, count, threads, self.block, self.epochs, writes, constant)
        if bad >= 0:
            at = int(index[bad if index.size > 1 else 0]) * width % region.row
            what = "writes" if writes else "reads"
            race = Race(
                f"race in {space} memory: {what} what another thread uses without a barrier", region.origin + at
            )
            race.linear = int(threads[bad])
            raise race

    def is_space(self, space: str, address: np.ndarray) -> np.ndarray:
        starts = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}
        if space == "global":
            return (address < SHARED_WINDOW) | (address >= LOCAL_WINDOW + WINDOW)
        return (address >= starts[space]) & (address < starts[space] + WINDOW)
