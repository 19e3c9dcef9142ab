"""A machine that executes PTX without a GPU: modules, launches, threads in step.

All threads of some blocks run together as vectors. The threads that stand at the lowest address go on until they
meet the others, so branches that diverge and loops of different lengths come together again behind. What the
hardware would punish, and what it would let pass with a wrong number now and then, raises: see
:class:`~ptx.memory.Fault` and :class:`~ptx.memory.Race`.

It does not show what only the hardware has: the last bits of ``.approx`` instructions, which products and sums
ptxas fuses, warps, speed.
"""

import heapq

import numpy as np

from . import instructions
from .instructions import CC, Emitter, Words, code, local
from .memory import Access, Fault, Rows
from .text import Flat, Reader, blocks

NAMESPACE = {**vars(instructions), "F4": np.float32}
PATIENCE = 20_000_000  # blocks of instructions, after which a launch is said not to end
TOGETHER = 1 << 15  # threads in step
DYNAMIC = "dynamic shared memory"


class Program:
    """What a launch needs of a kernel: basic blocks as functions, and the registers that live at their beginnings."""

    def __init__(self, reader, name):
        self.name, self.flat, self.size = name, Flat(reader, name), 0
        self.blocks, self.parameters = blocks(self.flat), {}  # of a parameter: offset and declaration
        for declared in self.flat.entry.parameters:
            at = -(-self.size // declared.align) * declared.align
            self.parameters[declared.name] = (at, declared)
            self.size = at + declared.nbytes
        spaces = dict.fromkeys(self.flat.locals, "local") | dict.fromkeys(self.flat.shared, "shared")
        words = Words({**self.flat.registers, CC: "pred"}, spaces | dict.fromkeys(reader.variables, ""))
        emitters, returned = [], []
        for block in self.blocks:
            emitters.append(emitter := Emitter(words))
            for statement in block.statements:
                emitter.emit(statement)
            returned.append(emitter.read(block.last.guard, "pred") if block.end == "bra" else "None")
        live, changed = [set() for _ in self.blocks], True
        while changed:
            changed = False
            for k in reversed(range(len(live))):
                now = emitters[k].uses | ({n for f in self.blocks[k].follow for n in live[f]} - emitters[k].defs)
                live[k], changed = now, changed or now != live[k]
        self.live, self.registers, self.sources = [sorted(found) for found in live], words.registers, []
        for k, (block, emitter) in enumerate(zip(self.blocks, emitters, strict=True)):
            after = {n for f in block.follow for n in live[f]}
            lines = [f"def b{k}(x, R, T):", *(f"    {local(name)} = R[{name!r}]" for name in sorted(emitter.uses))]
            lines += ["    " + line for line in emitter.lines]
            lines += [f"    R[{name!r}] = {local(name)}" for name in sorted(emitter.defs & after)]
            self.sources.append("\n".join([*lines, f"    return {returned[k]}"]))
            block.statements.clear()  # the texts say all of it; tens of thousands of objects would stay
        self.flat.items.clear()
        self.namespace = {**NAMESPACE, **words.constants}

    def function(self, k):
        """Block k: ``function(x, registers, threads)`` changes the registers and returns what its branch depends on."""
        found = self.namespace.get(f"b{k}")
        if found is None:  # compiled when it is first reached
            exec(compile(self.sources[k], f"<ptx {self.name} {k}>", "exec"), self.namespace)
            found = self.namespace[f"b{k}"]
        return found

    def poison(self, name):
        """What a register holds that nothing was written to: NaN, a wild index, or False."""
        dtype = code(self.registers[name])
        return np.zeros(1, bool) if dtype == "b1" else np.full(int(dtype[1:]), 0xFF, np.uint8).view(dtype)


class Group:
    """Threads at one place, with their registers: arrays of a number each, or of one number for all."""

    __slots__ = ("registers", "threads")

    def __init__(self, threads, registers):
        self.threads, self.registers = threads, registers

    def part(self, chosen, names):
        kept = self.registers
        return Group(self.threads[chosen], {n: v if (v := kept[n]).size == 1 else v[chosen] for n in names})


def merge(groups, names):
    """The threads of several groups as one."""
    if len(groups) == 1:
        return groups[0]
    sizes, registers = [g.threads.size for g in groups], {}
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

    def __init__(self, launch):
        self.launch, self.program = launch, launch.program
        self.ready, self.order, self.waiting = {}, [], []
        self.polling, self.idle, self.arrivals = [], 0, 0  # threads at a barrier of the grid, block by block

    def put(self, at, group):
        if at not in self.ready:
            self.ready[at] = []
            heapq.heappush(self.order, at)
        self.ready[at].append(group)

    def run(self, group):
        self.put(0, group)
        for _ in range(PATIENCE):
            if not self.order:
                if not self.waiting and not self.polling:
                    return
                if self.release():
                    self.idle = 0
                else:
                    self.look_again()
            at = heapq.heappop(self.order)
            self.step(at, merge(self.ready.pop(at), self.program.live[at]))
        raise Fault(f"no end after {PATIENCE} blocks of instructions")

    def step(self, at, group):
        block, live = self.program.blocks[at], self.program.live
        value = self.program.function(at)(self.launch, group.registers, group.threads)
        if block.end == "next":
            self.put(block.follow[0], group)
        elif block.end == "bra":
            if value.size == 1 or value.all() or not value.any():
                self.put(block.follow[0 if value[0] else 1], group)
            else:
                for target, chosen in zip(block.follow, (value, ~value), strict=True):
                    self.put(target, group.part(chosen, live[target]))
        elif block.end == "bar":
            self.waiting.append((at, group))
        elif block.end == "poll":
            for b in np.unique(group.threads // self.launch.size)[::-1]:
                part = group.part(group.threads // self.launch.size == b, live[block.follow[0]])
                self.polling.insert(0, (block.follow[0], part))
        elif block.end == "trap":
            raise Fault("trap", linear=int(group.threads[0]))

    def release(self):
        """Nobody can go on without a barrier: blocks must stand at one, whole, at the same; whether some go on.

        A block some of whose threads look for other blocks waits for these.
        """
        size, seen = self.launch.size, {}
        for at, group in self.waiting:
            found, counts = np.unique(group.threads // size, return_counts=True)
            for b, n in zip(found.tolist(), counts.tolist(), strict=True):
                where, before = seen.get(b, (at, 0))
                if where != at:
                    self.broken("threads of a block wait at two different barriers", at, group, b)
                seen[b] = (at, before + n)
        looking = {int(t) // size for _, group in self.polling for t in group.threads}
        whole = [b for b in seen if b not in looking]
        for at, group in self.waiting:
            for b in np.unique(group.threads // size).tolist():
                if b in whole and (gone := size - seen[b][1]):
                    self.broken(f"{gone} threads of the block have ended and never reach the barrier", at, group, b)
        self.launch.epochs[whole] += 1
        waiting, self.waiting = self.waiting, []
        for at, group in waiting:
            free = np.isin(group.threads // size, whole)
            following = self.program.blocks[at].follow[0]
            for chosen in (free, ~free):
                if chosen.all():
                    part = group
                elif chosen.any():
                    part = group.part(chosen, self.program.live[following])
                else:
                    continue
                if chosen is free:
                    self.put(following, part)
                else:
                    self.waiting.append((at, part))
        return bool(whole)

    def look_again(self):
        """Let half of the blocks come to the barrier of the grid, or look who has come; nobody else can go on.

        So whoever does not wait for the others meets what they have not published.
        """
        self.idle = 0 if self.launch.arrivals > self.arrivals else self.idle + 1
        self.arrivals = self.launch.arrivals
        if self.idle > 2 * len(self.polling):
            raise Fault("blocks wait for others that never come", linear=int(self.polling[0][1].threads[0]))
        for _ in range(max(1, len(self.polling) // 2)):
            self.put(*self.polling.pop())

    def broken(self, what, at, group, block):
        self.launch.line = self.program.blocks[at].last.line
        raise Fault(what, linear=int(group.threads[group.threads // self.launch.size == block][0]))


class Launch(Access):
    """One launch: ``x`` of the emitted lines."""

    def __init__(self, module, program, grid, block, shared, packed, memory):
        self.size, self.blocks = int(np.prod(block)), int(np.prod(grid))
        super().__init__(memory, self.size, self.blocks)
        self.module, self.program, self.grid, self.shape, self.dynamic = module, program, grid, block, shared
        self.packed, self._parameters = packed, {}

    def run(self):
        """All blocks, as many at a time as make some ten thousand threads."""
        at_once, flat = max(1, TOGETHER // self.size), self.program.flat
        depots = [(n, v.nbytes, v.align) for n, v in flat.locals.items()]
        with np.errstate(all="ignore"):
            for first in range(0, self.blocks, at_once):
                count = min(at_once, self.blocks - first)
                self.first = first * self.size
                self.spaces["shared"] = Rows(self.module.shared_variables(self.program, self.dynamic), count, self.size)
                self.spaces["local"] = Rows(depots, count * self.size if depots else 0, 1)
                self.shadows = {key: shadow for key, shadow in self.shadows.items() if key[0] != "shared"}
                threads = np.arange(self.first, (first + count) * self.size, dtype=np.int64)
                start = {name: self.program.poison(name) for name in self.program.live[0]}
                Scheduler(self).run(Group(threads, start))

    def nonzero(self, divisor, threads):
        if not divisor.all():
            at = int(np.flatnonzero(divisor == 0)[0]) if divisor.size > 1 else 0
            raise Fault("integer division by zero", linear=int(threads[at]))
        return divisor

    def parameter(self, name, offset, dtype):
        key = (name, offset, dtype)
        if key not in self._parameters:
            at = self.program.parameters[name][0] + offset
            self._parameters[key] = np.frombuffer(self.packed, dtype, 1, at)
        return self._parameters[key]

    def symbol(self, name, offset):
        """The address of a variable in its own space."""
        flat = self.program.flat
        if name in flat.locals:
            base = self.spaces["local"].address[name]
        elif name in flat.shared or self.module.reader.variables[name].space == "shared":
            base = self.spaces["shared"].address[self.module.shared_name(name)]
        else:
            base = self.module.address(name, self.memory)
        return np.array([base + offset], np.uint64)

    def special(self, name, threads):
        """A special register, uint32."""
        which, _, axis = name.partition(".")
        k, shape = "xyz".find(axis), self.grid if "cta" in which else self.shape
        if which[0] == "n":
            return np.array([shape[k]], np.uint32)
        if shape[k] == 1:
            return np.zeros(1, np.uint32)
        linear = threads // self.size if "cta" in which else threads % self.size
        return (linear // int(np.prod(shape[:k], dtype=np.int64)) % shape[k]).astype(np.uint32)


class Module:
    """The kernels of one PTX text."""

    def __init__(self, text):
        self.text, self.reader, self._programs = text, Reader(text), {}
        self.kernels = [name for name, function in self.reader.functions.items() if function.entry]

    def program(self, name):
        if name not in self._programs:
            self._programs[name] = Program(self.reader, name)
            if len(self._programs) == len(self.kernels):
                self.reader.forget()
        return self._programs[name]

    def shared_name(self, name):
        """All dynamic shared arrays are one."""
        declared = self.reader.variables.get(name)
        return DYNAMIC if declared is not None and declared.nbytes is None else name

    def shared_variables(self, program, dynamic):
        """Name, size and alignment of the shared variables that a kernel uses."""
        flat = program.flat
        used = [*flat.shared.items(), *((n, self.reader.variables[n]) for n in sorted(flat.symbols))]
        used = [(n, v.nbytes, v.align) for n, v in used if v.space == "shared"]
        static = [row for row in used if row[1] is not None]
        align = max((align for _, size, align in used if size is None), default=1)
        return [*static, (DYNAMIC, dynamic, align)] if dynamic else static

    def shared_bytes(self, name):
        """Static shared memory of a kernel, in bytes."""
        return sum(size for _, size, _ in self.shared_variables(self.program(name), 0))

    def address(self, name, memory):
        """Where a global variable lies in that memory; it is laid there when it is first asked for."""
        if (id(self), name) not in memory.symbols:
            declared = self.reader.variables[name]
            place = memory.symbols[id(self), name] = memory.allocate(declared.nbytes, name)
            data = declared.data.ljust(declared.nbytes, b"\0")
            memory.view(place, declared.nbytes, np.uint8)[:] = np.frombuffer(data, np.uint8)
        return memory.symbols[id(self), name]

    def launch(self, name, grid, block, shared, packed, memory):
        """Run a kernel; `packed` is its parameters as they lie in memory. Fault and Unsupported say why not."""
        launch = Launch(self, self.program(name), grid, block, shared, packed, memory)
        try:
            launch.run()
        except Fault as fault:
            fault.args += (name, self.text.splitlines()[launch.line - 1].strip())
            raise
