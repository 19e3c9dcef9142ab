"""Device memory: one flat address space of allocations, every access checked."""

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
