"""Who wrote and who read a cell since the last barrier that tells.

A thread may use what another thread wrote only behind a barrier of the block that both belong to. For every cell the
shadow keeps the last writer and the readers, each with the number of barriers that its block had passed:
who = thread + 1; readers of one block, several: -(block + 2); of several blocks: MANY.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .memory import Fault

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
