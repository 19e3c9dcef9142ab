"""Which threads go on: those at the lowest address, until they meet the others; barriers; branches."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

from .memory import Fault

if TYPE_CHECKING:
    from .launch import Launch

PATIENCE = 20_000_000  # blocks of instructions, after which a launch is said not to end


class Group:
    """Threads at one place, with their registers: arrays of a number each, or of one number for all."""

    __slots__ = ("registers", "threads")

    def __init__(self, threads: np.ndarray, registers: dict[str, np.ndarray]) -> None:
        self.threads, self.registers = threads, registers

    def part(self, chosen: np.ndarray, names: list[str]) -> Group:
        kept = self.registers
        return Group(self.threads[chosen], {n: v if (v := kept[n]).size == 1 else v[chosen] for n in names})


def merge(groups: list[Group], names: list[str]) -> Group:
    """The threads of several groups as one."""
    if len(groups) == 1:
        return groups[0]
    sizes = [g.threads.size for g in groups]
    registers = {}
    for name in names:
        parts = [g.registers[name] for g in groups]
        first = parts[0]
        if all(p is first for p in parts) or all(p.size == 1 and p.tobytes() == first.tobytes() for p in parts):
            registers[name] = first
        else:
            spread = [p if p.size == n else np.broadcast_to(p, n) for p, n in zip(parts, sizes, strict=True)]
            registers[name] = np.concatenate(spread)
    return Group(np.concatenate([g.threads for g in groups]), registers)


class Scheduler:
    """Which threads go on."""

    def __init__(self, launch: Launch) -> None:
        self.launch, self.program = launch, launch.program
        self.ready: dict[int, list[Group]] = {}
        self.order: list[int] = []
        self.waiting: list[tuple[int, Group]] = []

    def put(self, at: int, group: Group) -> None:
        if at in self.ready:
            self.ready[at].append(group)
        else:
            self.ready[at] = [group]
            heapq.heappush(self.order, at)

    def run(self, group: Group) -> None:
        self.put(0, group)
        live = self.program.live
        for _ in range(PATIENCE):
            if not self.order:
                if not self.waiting:
                    return
                self.release()
            at = heapq.heappop(self.order)
            self.step(at, merge(self.ready.pop(at), live[at]))
        raise Fault(f"no end after {PATIENCE} blocks of instructions")

    def step(self, at: int, group: Group) -> None:
        block = self.program.blocks[at]
        value = self.program.function(at)(self.launch, group.registers, group.threads)
        if block.end == "next":
            self.put(block.follow[0], group)
        elif block.end == "bra":
            self.branch(block.follow, value, group)
        elif block.end == "brx":
            self.indexed(block.follow, value, group)
        elif block.end == "bar":
            self.arrive(at, group)
        elif block.end == "trap":
            fault = Fault("trap")
            fault.linear = int(group.threads[0])
            raise fault

    def branch(self, follow: list[int], taken: np.ndarray, group: Group) -> None:
        if taken.size == 1 or taken.all() or not taken.any():
            self.put(follow[0] if taken[0] else follow[1], group)
            return
        live = self.program.live
        self.put(follow[0], group.part(taken, live[follow[0]]))
        self.put(follow[1], group.part(~taken, live[follow[1]]))

    def indexed(self, follow: list[int], index: np.ndarray, group: Group) -> None:
        for k in np.unique(index):
            if k >= len(follow):
                raise Fault(f"an indexed branch to {k} of {len(follow)} targets")
            chosen = np.broadcast_to(index == k, group.threads.shape)
            self.put(follow[k], group.part(chosen, self.program.live[follow[k]]))

    def arrive(self, at: int, group: Group) -> None:
        last = self.program.blocks[at].last
        assert last is not None
        operands = [o for o in last.operands if o]
        if "red" in last.opcode or "arrive" in last.opcode or len(operands) > 1:
            raise Fault(f"{'.'.join(last.opcode)} {', '.join(operands)}: barriers of all threads of a block alone")
        self.waiting.append((at, group))

    def release(self) -> None:
        """Nobody can go on without a barrier: every block must stand at one, whole, at the same."""
        launch = self.launch
        seen: dict[int, tuple[int, int]] = {}
        for at, group in self.waiting:
            blocks, counts = np.unique(group.threads // launch.size, return_counts=True)
            for b, n in zip(blocks.tolist(), counts.tolist(), strict=True):
                where, before = seen.get(b, (at, 0))
                if where != at:
                    self.broken("threads of a block wait at two different barriers", at, group, b)
                seen[b] = (at, before + n)
        for at, group in self.waiting:
            for b in np.unique(group.threads // launch.size).tolist():
                if seen[b][1] != launch.size:
                    gone = launch.size - seen[b][1]
                    self.broken(f"{gone} threads of the block have ended and never reach the barrier", at, group, b)
        launch.epochs[list(seen)] += 1
        waiting, self.waiting = self.waiting, []
        for at, group in waiting:
            self.put(self.program.blocks[at].follow[0], group)

    def broken(self, what: str, at: int, group: Group, block: int) -> None:
        last = self.program.blocks[at].last
        assert last is not None
        self.launch.line = last.line
        fault = Fault(what)
        fault.linear = int(group.threads[group.threads // self.launch.size == block][0])
        raise fault
