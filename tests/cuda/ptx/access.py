"""Loads and stores of one launch: which memory an address means, and whether that thread may use it now."""

from __future__ import annotations

from typing import Any

import numpy as np

from .memory import Fault, Memory, Region, place, place_rows
from .races import Race, Shadow

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
