"""A machine that executes PTX without a GPU: modules, launches, threads in step.

All threads of some blocks run together as vectors. The threads that stand at the lowest address go on until they
meet the others, so branches that diverge and loops of different lengths come together again behind. What the
hardware would punish, and what it would let pass with a wrong number now and then, raises: see
:class:`~ptx.memory.Fault` and :class:`~ptx.memory.Race`.

It does not show what only the hardware has: the last bits of ``.approx`` instructions, which products and sums
ptxas fuses (``contract`` tries all of a basic block), speed.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import numbers
from .instructions import CC, Emitter, Words, code
from .memory import Access, Fault, Memory, Rows
from .text import Block, Flat, Reader, Variable, blocks, flatten

NAMESPACE = {
    **{n: getattr(numbers, n) for n in dir(numbers) if not n.startswith("_")},
    "np": np,
    "F4": np.float32,
    "F8": np.float64,
    "U4": np.uint32,
    "I4": np.dtype("i4"),
}


@dataclass
class Program:
    """What a launch needs of a kernel.

    Attributes
    ----------
    live
        By number of the block: the registers that it or what follows reads.
    sources
        The texts of the blocks' functions.
    namespace
        What they use.
    """

    name: str
    flat: Flat
    blocks: list[Block]
    live: list[list[str]]
    parameters: dict[str, tuple[int, Variable]]
    size: int
    registers: dict[str, str]
    sources: list[str]
    namespace: dict[str, Any]

    def function(self, k: int) -> Callable[..., Any]:
        """Block k: ``function(x, registers, threads)`` changes the registers and returns what its branch depends on.

        It is compiled when it is first reached.
        """
        found: Callable[..., Any] | None = self.namespace.get(f"b{k}")
        if found is None:
            exec(compile(self.sources[k], f"<ptx {self.name} {k}>", "exec"), self.namespace)
            found = self.namespace[f"b{k}"]
        return found

    def poison(self, name: str) -> np.ndarray:
        """What a register holds that nothing was written to: NaN, a wild index, or False."""
        dtype = code(self.registers[name])
        return np.zeros(1, bool) if dtype == "b1" else np.full(int(dtype[1:]), 0xFF, np.uint8).view(dtype)


def place_parameters(variables: list[Variable]) -> tuple[dict[str, tuple[int, Variable]], int]:
    """Offsets of the kernel's parameters, each at a multiple of its alignment, and the size of all."""
    places: dict[str, tuple[int, Variable]] = {}
    at = 0
    for declared in variables:
        at = -(-at // declared.align) * declared.align
        places[declared.name] = (at, declared)
        at += declared.nbytes or 0
    return places, at


def compile_kernel(reader: Reader, name: str, contract: bool) -> Program:
    """Read and emit one kernel of a module."""
    flat = flatten(reader, name)
    parts = blocks(flat)
    parameters, size = place_parameters(flat.entry.parameters)
    spaces = dict.fromkeys(flat.locals, "local") | dict.fromkeys(flat.shared, "shared")
    spaces |= {n: v.space for n, v in reader.variables.items()}
    words = Words({**flat.registers, CC: "pred"}, parameters, spaces, contract)
    emitters, returns = [], []
    for block in parts:
        emitter = Emitter(words)
        for statement in block.statements:
            emitter.emit(statement)
        returns.append(_returned(emitter, block))
        emitters.append(emitter)
    live = _liveness(parts, emitters)
    sources = [
        _function(k, emitters[k], returns[k], {n for f in block.follow for n in live[f]})
        for k, block in enumerate(parts)
    ]
    namespace = {**NAMESPACE, **words.constants}
    names = [sorted(found) for found in live]
    for block in parts:  # the texts say all of it; tens of thousands of objects a kernel would stay as long as it
        block.statements.clear()
    flat.items.clear()
    return Program(name, flat, parts, names, parameters, size, words.registers, sources, namespace)


def _returned(emitter: Emitter, block: Block) -> str:
    """The expression that the end of the block depends on."""
    if block.last is None:
        return "None"
    emitter.line = block.last.line
    if block.end == "bra":
        return emitter.read(block.last.guard, "pred")
    if block.end == "brx":
        return emitter.read(block.last.operands[0], "u32")
    return "None"


def _liveness(parts: list[Block], emitters: list[Emitter]) -> list[set[str]]:
    live: list[set[str]] = [set() for _ in parts]
    changed = True
    while changed:
        changed = False
        for k in reversed(range(len(parts))):
            after = {name for f in parts[k].follow for name in live[f]}
            now = emitters[k].uses | (after - emitters[k].defs)
            if now != live[k]:
                live[k], changed = now, True
    return live


def _function(k: int, emitter: Emitter, returned: str, after: set[str]) -> str:
    """The text of a block's function."""
    lines = [f"def b{k}(x, R, T):"]
    lines += [f"    {Emitter.local(name)} = R[{name!r}]" for name in sorted(emitter.uses)]
    lines += ["    " + line for line in emitter.lines]
    lines += [f"    R[{name!r}] = {Emitter.local(name)}" for name in sorted(emitter.defs & after)]
    return "\n".join([*lines, f"    return {returned}"])


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


DYNAMIC = "dynamic shared memory"


class Module:
    """The kernels of one PTX text.

    Parameters
    ----------
    text : str
        PTX.
    contract : bool
        Whether ``mul`` and ``add`` become one rounding within a basic block. ptxas may do that where neither names a
        rounding; which it takes, only it knows.
    """

    def __init__(self, text: str, contract: bool = False) -> None:
        self.text, self.contract = text, contract
        self.reader = Reader(text)
        self._programs: dict[str, Program] = {}

    @property
    def kernels(self) -> list[str]:
        return [name for name, function in self.reader.functions.items() if function.entry]

    def program(self, name: str) -> Program:
        if name not in self._programs:
            if name not in self.kernels:
                raise KeyError(f"no kernel {name}; there are {', '.join(self.kernels)}")
            self._programs[name] = compile_kernel(self.reader, name, self.contract)
            if len(self._programs) == len(self.kernels):
                self.reader.forget()
        return self._programs[name]

    def parameters(self, name: str) -> list[tuple[int, Variable]]:
        """Offset and declaration of each parameter."""
        return list(self.program(name).parameters.values())

    def pack(self, name: str, args: Sequence[Any]) -> bytes:
        """Numbers as the kernel's parameters lie in memory."""
        program = self.program(name)
        if len(args) != len(program.parameters):
            raise TypeError(f"{name} takes {len(program.parameters)} arguments, got {len(args)}")
        packed = bytearray(program.size)
        for value, (at, declared) in zip(args, program.parameters.values(), strict=True):
            if isinstance(value, bytes):
                raw = value
            else:
                kind = np.dtype(code(declared.type))
                exact = isinstance(value, int | np.integer) and kind.kind == "u"
                raw = (
                    (int(value) % (1 << 8 * kind.itemsize)).to_bytes(kind.itemsize, "little")
                    if exact
                    else (np.array(value).astype(kind, casting="same_kind" if kind.kind == "f" else "no").tobytes())
                )
            packed[at : at + len(raw)] = raw
        return bytes(packed)

    def shared_name(self, name: str) -> str:
        """All dynamic shared arrays are one."""
        declared = self.reader.variables.get(name)
        return DYNAMIC if declared is not None and declared.nbytes is None else name

    def shared_variables(self, program: Program, dynamic: int) -> list[tuple[str, int, int]]:
        """Name, size and alignment of the shared variables that a kernel uses."""
        used = [*program.flat.shared.values(), *(self.reader.variables[n] for n in sorted(program.flat.symbols))]
        shared = [(n, v) for n, v in zip(self._shared_names(program), used, strict=True) if v.space == "shared"]
        static = [(n, v.nbytes, v.align) for n, v in shared if v.nbytes is not None]
        align = max((v.align for _, v in shared if v.nbytes is None), default=1)
        return [*static, (DYNAMIC, dynamic, align)] if dynamic else static

    def _shared_names(self, program: Program) -> list[str]:
        return [*program.flat.shared, *sorted(program.flat.symbols)]

    def shared_bytes(self, name: str) -> int:
        """Static shared memory of a kernel, in bytes."""
        return sum(size for _, size, _ in self.shared_variables(self.program(name), 0))

    def most_threads(self, name: str) -> int:
        """Of a block, by the bounds that the kernel was compiled with."""
        bounds = self.reader.functions[name].directives
        given = bounds.get("reqntid") or bounds.get("maxntid")
        return int(np.prod([int(n) for n in given.split(",")])) if given else 1024

    def local_bytes(self, name: str) -> int:
        return sum(v.nbytes or 0 for v in self.program(name).flat.locals.values())

    def address(self, name: str, memory: Memory) -> int:
        """Where a global variable lies in that memory; it is laid there when it is first asked for."""
        key = (id(self), name)
        if key not in memory.symbols:
            declared = self.reader.variables[name]
            nbytes = declared.nbytes or 0
            memory.symbols[key] = memory.allocate(nbytes, name)
            data = declared.data.ljust(nbytes, b"\0")
            memory.view(memory.symbols[key], nbytes, np.uint8)[:] = np.frombuffer(data, np.uint8)
        return memory.symbols[key]

    def launch(
        self,
        name: str,
        grid: tuple[int, ...] | int,
        block: tuple[int, ...] | int,
        shared_bytes: int,
        args: Sequence[Any] | bytes,
        memory: Memory,
        *,
        races: bool = True,
    ) -> None:
        """Run a kernel.

        Parameters
        ----------
        name : str
        grid, block : int or tuple of one to three int
        shared_bytes : int
            Dynamic shared memory of each block.
        args : sequence of numbers, or bytes
            Matched to the parameters' types, or packed already.
        memory : Memory
        races : bool
            Whether a race raises.

        Raises
        ------
        Fault
            What :class:`Fault` says; Race is one.
        Unsupported
            The kernel has an instruction that this machine does not know.
        """
        program = self.program(name)
        packed = bytes(args) if isinstance(args, bytes | bytearray) else self.pack(name, args)
        launch = Launch(self, program, _three(grid), _three(block), shared_bytes, packed, memory, races)
        try:
            launch.run()
        except Fault as fault:
            fault.kernel, fault.line = name, launch.line
            fault.text = self.text.splitlines()[launch.line - 1].strip() if launch.line else ""
            if fault.linear is not None:
                fault.thread = launch.coordinates(fault.linear)
            raise


def _three(shape: tuple[int, ...] | int) -> tuple[int, int, int]:
    given = (shape,) if isinstance(shape, int) else tuple(int(n) for n in shape)
    x, y, z = (*given, 1, 1)[:3]
    if min(x, y, z) < 1:
        raise ValueError(f"a launch of {given}")
    return x, y, z
