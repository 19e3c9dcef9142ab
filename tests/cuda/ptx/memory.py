"""Memory of a device and of blocks and threads: who may use which number now, and when two threads are in a race.

A thread may use what another thread wrote only behind a barrier of the block that both belong to. For every cell the
shadow keeps the last writer and the readers, each with the number of barriers that its block had passed:
who = thread + 1; readers of one block, several: -(block + 2); of several blocks: MANY.
"""

from bisect import bisect_right

import numpy as np
from numba import njit

ALIGN, GUARD = 512, 4096  # an address is a multiple of the one; between two allocations lie at least so many bytes
POISON = 0xFF  # NaN as a float, -1 as an index: memory that nobody has written yet
FIRST, GAP = 1024, 256  # the first address of shared and local memory; bytes between two variables, nobody's
SHIFTS = {1: 0, 2: 1, 4: 2, 8: 3}
MANY = -1


class Fault(Exception):
    """An instruction did what the hardware would punish, or what makes the result a matter of luck.

    `linear` is the number of the first thread that does it in the grid.
    """

    def __init__(self, what, address=None, linear=None):
        super().__init__(what, address and hex(address), linear)


class Race(Fault):
    """Two threads use a cell, one of them writes, and no barrier stands between."""


class Region:
    """A range of addresses with bytes behind it, once or in several copies."""

    def __init__(self, base, size, name="", rows=1):
        self.base, self.size, self.name = base, size, name
        self.origin = base - base % 16  # where its bytes begin, those before `base` unused
        self.row = -(-max(size + base - self.origin, 1) // 16) * 16  # bytes from one copy to the next
        self.bytes = np.full(self.row * rows, POISON, np.uint8)
        self._views = {}

    def cells(self, dtype):
        if dtype not in self._views:
            self._views[dtype] = self.bytes.view(dtype)
        return self._views[dtype]


class Memory:
    """What ``cuMemAlloc`` hands out, up to `limit` bytes; more is a MemoryError. No address is given twice."""

    def __init__(self, limit=None, start=0x7F2000000000):
        self.limit, self.used, self._next = limit, 0, start
        self.regions, self.symbols, self._bases = {}, {}, []

    def allocate(self, nbytes, name=""):
        if self.limit is not None and self.used + nbytes > self.limit:
            raise MemoryError(f"{nbytes} bytes asked for, {self.limit - self.used} of {self.limit} are free")
        base = self._next
        self._next += -(-(nbytes + GUARD) // ALIGN) * ALIGN
        self.regions[base] = Region(base, nbytes, name)
        self._bases.append(base)
        self.used += nbytes
        return base

    def free(self, address):
        self.used -= self.regions.pop(address).size
        self._bases.remove(address)

    def find(self, address):
        """The allocation that holds the address."""
        k = bisect_right(self._bases, address) - 1
        region = self.regions[self._bases[k]] if k >= 0 else None
        return region if region is not None and address < region.base + region.size else None

    def view(self, address, n, dtype):
        """`n` numbers as an array that is the memory itself; Fault if they do not lie in one allocation."""
        nbytes, region = n * np.dtype(dtype).itemsize, self.find(address)
        if region is None or address + nbytes > region.base + region.size:
            raise Fault("out of bounds", address)
        offset = address - region.origin
        return region.bytes[offset : offset + nbytes].view(dtype)


class Rows:
    """Shared or local memory: variables (name, size, alignment) of which every block (or thread) has a copy.

    Each lies where its declaration allows it and no better: what is declared with 4 bytes of alignment is not at a
    multiple of 8, so that an access of more shows.
    """

    def __init__(self, variables, rows, threads):
        self.threads, self.address, self.regions, at = threads, {}, [], FIRST  # threads that use a copy together
        for name, size, align in variables:
            self.address[name] = at + align
            self.regions.append(Region(at + align, size, name, rows))
            at += -(-(size + align + GAP) // FIRST) * FIRST

    def find(self, address):
        return next((r for r in self.regions if r.base <= address < r.base + r.size), None)


@njit(cache=True)
def place(address, base, top, width, shift, origin, threads, first, group, row, out):
    """Addresses -> numbers of cells from `origin` on, each `group` of threads in a copy of its own, `row` cells apart.

    Returns the first access beyond ``base + top`` or misaligned, or -1.
    """
    for i in range(out.size):
        at = address[i if address.size > 1 else 0]
        if at - base > top or at & (width - np.uint64(1)):
            return i
        out[i] = np.int64((at - origin) >> shift)
        if group:
            out[i] += (threads[i] - first) // group * row
    return -1


@njit(cache=True)
def note_read(shadow, index, unit, parts, threads, block, epochs, constant):
    writer, written, reader, read = shadow
    for i in range(threads.size):
        thread, mine = np.int32(threads[i] + 1), threads[i] // block
        epoch = epochs[mine]
        for k in range(parts):
            at = index[i if index.size > 1 else 0] * unit + k
            w, r = writer[at], reader[at]
            if w != 0 and (constant or (w != thread and ((w - 1) // block != mine or written[at] >= epoch))):
                return i
            if r == MANY:
                continue
            owner = -1 if r == 0 else ((r - 1) // block if r > 0 else -r - 2)
            if r == thread:
                read[at] = epoch
            elif r == 0 or (owner == mine and read[at] < epoch):
                reader[at], read[at] = thread, epoch
            else:
                reader[at] = np.int32(-mine - 2) if owner == mine else MANY
    return -1


@njit(cache=True)
def note_write(shadow, index, unit, parts, threads, block, epochs, constant):
    writer, written, reader, read = shadow
    for i in range(threads.size):
        thread, mine = np.int32(threads[i] + 1), threads[i] // block
        epoch = epochs[mine]
        for k in range(parts):
            at = index[i if index.size > 1 else 0] * unit + k
            w, r = writer[at], reader[at]
            if r == MANY or (w != 0 and w != thread and ((w - 1) // block != mine or written[at] >= epoch)):
                return i
            owner = (r - 1) // block if r > 0 else -r - 2
            if r != 0 and r != thread and (owner != mine or read[at] >= epoch):
                return i
            writer[at], written[at] = thread, epoch
    return -1


class Shadow:
    """The uses of cells of `width` bytes."""

    def __init__(self, nbytes, width):
        self.width = width
        self.cells = tuple(np.zeros(-(-nbytes // width), np.int32) for _ in range(4))

    def note(self, index, width, count, threads, block, epochs, writes, constant=False):
        """Note `count` times `width` bytes from ``index * width`` on as used; the first thread that races, or -1."""
        if width < self.width:  # a narrower access comes: split every cell
            self.cells = tuple(np.repeat(array, self.width // width) for array in self.cells)
            self.width = width
        unit, function = width // self.width, note_write if writes else note_read
        return int(function(self.cells, index, unit, unit * count, threads, block, epochs, constant))


def _back_in(order, numbers):
    """Numbers of warps in the order of the threads."""
    found = np.empty(order.size, numbers.dtype)
    found[order] = numbers.ravel()
    return found


class Access:
    """What the emitted lines call as ``x``, as far as it is about memory."""

    def __init__(self, memory, block, blocks):
        self.memory, self.block = memory, block
        self.epochs = np.zeros(blocks, np.int32)  # barriers that each block has passed
        self.first = 0  # of the threads that run now
        self.spaces, self.shadows, self.line = {"global": memory}, {}, 0
        self.arrivals = 0  # at barriers of the grid

    def load(self, space, threads, address, dtype, count, constant=False):
        """Numbers at the addresses: `count` arrays."""
        return self._use(space, threads, address, np.dtype(dtype), count, None, constant)

    def store(self, space, threads, address, dtype, values):
        self._use(space, threads, address, np.dtype(dtype), len(values), values, False)

    def fragments(self, threads, address, turned):
        """Four matrices of eight by eight halves: lanes 8 k .. 8 k + 7 of a warp give the rows of the k-th."""
        order = self._warps(threads)
        rows = np.stack(self.load("shared", threads, np.broadcast_to(address, threads.size), "u4", 4), -1)[order]
        halves = np.ascontiguousarray(rows).view("u2").reshape(-1, 4, 8, 8)
        halves = np.ascontiguousarray(halves.swapaxes(2, 3) if turned else halves)
        words = halves.reshape(-1, 4, 32, 2).view("u4")[..., 0]
        return [_back_in(order, words[:, k]) for k in range(4)]

    def matrix_product(self, threads, *given):
        """``mma.m16n8k16``: halves times halves plus float32, of each warp; sums in float64, then rounded."""
        order = self._warps(threads)
        parts = [np.broadcast_to(part, threads.size)[order].reshape(-1, 8, 4) for part in given]
        a0, a1, a2, a3, b0, b1 = (np.ascontiguousarray(p).view("f2").reshape(-1, 8, 8).astype("f8") for p in parts[:6])
        a = np.block([[a0, a2], [a1, a3]])
        c = np.concatenate([np.stack(parts[k : k + 2], -1).reshape(-1, 8, 8) for k in (6, 8)], 1)
        found = (c + a @ np.concatenate([b0, b1], 2).swapaxes(1, 2)).astype("f4").reshape(-1, 2, 32, 2)
        return [_back_in(order, np.ascontiguousarray(found[:, k // 2, :, k % 2])) for k in range(4)]

    def _warps(self, threads):
        """The order in which threads are whole warps."""
        order = np.argsort(threads)
        lanes = threads[order]
        if (
            lanes.size % 32
            or (lanes.reshape(-1, 32) != lanes[::32, None] + np.arange(32)).any()
            or (lanes[::32] % 32).any()
        ):
            raise Fault("not all threads of a warp are here", linear=int(lanes[0]))
        return order

    def arrive(self, threads, address):
        """One more at the barrier of the grid. With the last of its blocks, all before it lies before all behind."""
        for thread in threads.tolist():
            self._published(thread)
        counter = self.memory.view(int(address.max()), 1, np.uint32)
        before = counter[0] + np.arange(threads.size, dtype=np.uint32)
        counter[0] += np.uint32(threads.size)
        self.arrivals += threads.size
        if counter[0] % self.epochs.size == 0:
            self.shadows = {key: shadow for key, shadow in self.shadows.items() if key[0] != "global"}
        return before

    def _published(self, thread):
        """What other threads of its block have written must lie before a barrier of the block."""
        mine = thread // self.block
        for (space, base), shadow in self.shadows.items():
            if space == "global":
                writer, written, _, _ = shadow.cells
                fresh = (writer > 0) & (written >= self.epochs[mine]) & (writer != thread + 1)
                if (fresh & ((writer - 1) // self.block == mine)).any():
                    raise Race(
                        "race: a block comes to the grid's barrier, some of its threads still write", base, thread
                    )

    def arrived(self, threads, address):
        return self.memory.view(int(address.max()), 1, np.uint32).copy()

    def _use(self, space, threads, address, kind, count, values, constant):
        where, width = self.spaces[space], kind.itemsize * count
        lowest = int(address.min())
        region, of_all = where.find(lowest), space == "global"
        bad, index = 0, np.empty(address.size if of_all else threads.size, np.int64)
        if region is not None and region.size >= width:
            numbers = region.base, region.size - width, width, SHIFTS[kind.itemsize], region.origin
            copies = (0, 0) if of_all else (where.threads, region.row // kind.itemsize)
            bad = place(address, *map(np.uint64, numbers), threads, self.first, *copies, index)
        if bad >= 0:
            return self._apart(space, threads, address, kind, count, values, bad, constant)
        if space != "local":
            self._note(space, region, index, kind.itemsize, count, threads, values is not None, constant)
        cells = region.cells(kind)
        if values is None:
            return [cells.take(index if k == 0 else index + k) for k in range(count)]
        for k, value in enumerate(values):
            cells[index + k] = value if index.size > 1 or value.size == 1 else value[-1:]
        return None

    def _apart(self, space, threads, address, kind, count, values, bad, constant):
        """The same in two parts, those in the region of the first address and the others; one part is a fault."""
        where, width, start = self.spaces[space], kind.itemsize * count, int(address[0])
        region = where.find(start)
        inside = np.zeros(address.size, bool) if region is None else address - np.uint64(region.base) < region.size
        if region is None or inside.all():
            at = start if region is None or address.size == 1 else int(address[bad])
            who = threads[0 if region is None or threads.size == 1 else bad]
            raise Fault("misaligned address" if at % width else "out of bounds", at, int(who))
        out = [np.empty(address.size, kind) for _ in range(count)]
        for chosen in (inside, ~inside):
            who = threads[chosen] if threads.size > 1 else threads
            given = values if values is None else tuple(v if v.size == 1 else v[chosen] for v in values)
            found = self._use(space, who, address[chosen], kind, count, given, constant)
            for k, part in enumerate(found or ()):
                out[k][chosen] = part
        return out

    def _note(self, space, region, index, width, count, threads, writes, constant):
        """Tell the shadow, and raise if two threads get into each other's way."""
        shadow = self.shadows.get((space, region.base))
        if shadow is None:
            shadow = self.shadows[space, region.base] = Shadow(region.bytes.size, min(width, 4))
        bad = shadow.note(index, width, count, threads, self.block, self.epochs, writes, constant)
        if bad >= 0:
            at = region.origin + int(index[bad if index.size > 1 else 0]) * width % region.row
            what = "writes" if writes else "reads"
            words = f"race in {space} memory: {what} what another thread uses without a barrier"
            raise Race(words, at, int(threads[bad]))
