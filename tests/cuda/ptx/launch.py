"""One launch: what the emitted lines call as ``x`` beside memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .access import Access, Rows
from .memory import Fault, Memory
from .program import Program
from .schedule import Group, Scheduler

if TYPE_CHECKING:
    from .machine import Module

TOGETHER = 1 << 15  # threads in step


class Launch(Access):
    """One launch: ``x`` of the emitted lines."""

    def __init__(
        self,
        module: Module,
        program: Program,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared: int,
        packed: bytes,
        memory: Memory,
        races: bool,
    ) -> None:
        self.size, self.blocks = int(np.prod(block)), int(np.prod(grid))
        super().__init__(memory, self.size, self.blocks, races)
        self.module, self.program, self.grid, self.shape, self.dynamic = module, program, grid, block, shared
        self.packed = packed
        self._parameters: dict[Any, np.ndarray] = {}
        self._symbols: dict[Any, np.ndarray] = {}

    def run(self) -> None:
        """All blocks, as many at a time as make some ten thousand threads."""
        at_once = max(1, TOGETHER // self.size)
        with np.errstate(all="ignore"):
            for first in range(0, self.blocks, at_once):
                self._some(first, min(at_once, self.blocks - first))

    def _some(self, first: int, count: int) -> None:
        flat = self.program.flat
        self.first = first * self.size
        shared = self.module.shared_variables(self.program, self.dynamic)
        depots = [(n, v.nbytes or 0, v.align) for n, v in flat.locals.items()]
        self.spaces["shared"] = Rows(shared, count, self.size)
        self.spaces["local"] = Rows(depots, count * self.size if depots else 0, 1)
        for key in [key for key in self.shadows if key[0] == "shared"]:
            del self.shadows[key]
        threads = np.arange(self.first, (first + count) * self.size, dtype=np.int64)
        start = {name: self.program.poison(name) for name in self.program.live[0]}
        Scheduler(self).run(Group(threads, start))

    def coordinates(self, linear: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Block and place in it of a thread."""
        return _unravel(linear // self.size, self.grid), _unravel(linear % self.size, self.shape)

    def nonzero(self, divisor: np.ndarray, threads: np.ndarray) -> None:
        if not divisor.all():
            fault = Fault("integer division by zero")
            fault.linear = int(threads[int(np.flatnonzero(divisor == 0)[0]) if divisor.size > 1 else 0])
            raise fault

    def parameter(self, name: str, offset: int, dtype: str) -> np.ndarray:
        key = (name, offset, dtype)
        found = self._parameters.get(key)
        if found is None:
            at = self.program.parameters[name][0] + offset
            found = self._parameters[key] = np.frombuffer(self.packed, dtype, 1, at)
        return found

    def symbol(self, name: str, offset: int) -> np.ndarray:
        """The address of a variable in its own space."""
        flat = self.program.flat
        if name in flat.locals:
            base = self.spaces["local"].address[name]
        elif name in flat.shared or self.module.reader.variables[name].space == "shared":
            base = self.spaces["shared"].address[self.module.shared_name(name)]
        else:
            base = self.module.address(name, self.memory)
        return np.array([base + offset], np.uint64)

    def special(self, name: str, threads: np.ndarray) -> np.ndarray:
        """A special register, uint32."""
        which, _, axis = name.partition(".")
        k = "xyz".find(axis) if axis else 0
        if which in ("ntid", "nctaid"):
            return np.array([(self.shape if which == "ntid" else self.grid)[k]], np.uint32)
        if which in ("tid", "ctaid"):
            shape = self.shape if which == "tid" else self.grid
            if shape[k] == 1:
                return np.zeros(1, np.uint32)
            linear = threads % self.size if which == "tid" else threads // self.size
            below = int(np.prod(shape[:k], dtype=np.int64))
            rest = linear // below if below > 1 else linear
            return (rest if k == 2 else rest % shape[k]).astype(np.uint32)
        if which in ("laneid", "warpid"):
            local = threads % self.size
            return (local % 32 if which == "laneid" else local // 32).astype(np.uint32)
        if which == "nwarpid":
            return np.array([-(-self.size // 32)], np.uint32)
        if which in ("dynamic_smem_size", "total_smem_size"):
            static = self.module.shared_bytes(self.program.name) if which[0] == "t" else 0
            return np.array([static + self.dynamic], np.uint32)
        raise Fault(f"the special register %{name}, which differs from run to run")

    def _warp(self, threads: np.ndarray, mask: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Where each thread's warp begins, and for every thread of these blocks its place in the group or -1."""
        local = threads % self.size
        base = threads - local % 32
        place = np.full(self.blocks * self.size - self.first + 32, -1)
        place[threads - self.first] = np.arange(threads.size)
        if mask is not None:
            bits = np.broadcast_to(mask, threads.shape)
            for lane in range(32):
                named = (bits >> np.uint32(lane) & np.uint32(1)).astype(bool) & (local - local % 32 + lane < self.size)
                missing = named & (place[base - self.first + lane] < 0)
                if missing.any():
                    fault = Fault(f"lane {lane} is named in the mask of a warp instruction and is not there")
                    fault.linear = int(threads[int(np.flatnonzero(missing)[0])])
                    raise fault
        return base, place

    def shuffle(
        self, which: str, threads: np.ndarray, a: np.ndarray, b: np.ndarray, c: np.ndarray, mask: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """``shfl.sync``: another lane's word, and whether that lane lies in the segment."""
        base, place = self._warp(threads, mask)
        lane = (threads % self.size % 32).astype(np.int64)
        by, segment, clamp = (b & 31).astype(np.int64), (c >> 8 & 31).astype(np.int64), (c & 31).astype(np.int64)
        low, high = lane & segment, (lane & segment) | (clamp & ~segment)
        source = {"up": lane - by, "down": lane + by, "bfly": lane ^ by, "idx": low | (by & ~segment)}[which]
        inside = source >= high if which == "up" else source <= high
        source = np.where(inside, source, lane)
        at = place[base - self.first + source]
        if (at < 0).any():
            fault = Fault("a shuffle reads a lane that is not there")
            fault.linear = int(threads[int(np.flatnonzero(at < 0)[0])])
            raise fault
        return np.broadcast_to(a, threads.shape)[at], inside

    def vote(self, which: str, threads: np.ndarray, p: np.ndarray, mask: np.ndarray | None) -> np.ndarray:
        """``vote.sync`` all, any, uni and ballot."""
        base, place = self._warp(threads, mask)
        value = np.broadcast_to(p, threads.shape)
        ballot, there = np.zeros(threads.shape, np.uint32), np.zeros(threads.shape, np.uint32)
        named = np.uint32(0xFFFFFFFF) if mask is None else mask
        for lane in range(32):
            at = place[base - self.first + lane]
            bit = np.uint32(1 << lane)
            ballot |= np.where((at >= 0) & value[at], bit, np.uint32(0))
            there |= np.where(at >= 0, bit, np.uint32(0))
        ballot, there = ballot & named, there & named
        if which == "ballot":
            return ballot
        return {"all": ballot == there, "any": ballot != 0, "uni": (ballot == there) | (ballot == 0)}[which]


def _unravel(linear: int, shape: tuple[int, int, int]) -> tuple[int, int, int]:
    return linear % shape[0], linear // shape[0] % shape[1], linear // (shape[0] * shape[1])
