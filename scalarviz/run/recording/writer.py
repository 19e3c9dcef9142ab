"""`Writer`: the thread that writes a recording, and the queue before it."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from itertools import islice

from ...errors import StateError
from .files import FileId
from .rows import Rows
from .taken import Item
from .thinning import Thinning

ROOM = 32 << 20
"""Bytes that may wait to be written; whoever brings more waits until there is room."""
LOOK = 0.1
LOST_AFTER = 1.0
"""Seconds between two looks whether the file is still there."""


class Writer:
    """Writes what it is told, in order; what waits goes into one transaction, and what was told at once stays together.

    Where the disk refuses, it says so in :attr:`trouble`, and all that it is told later is let go of: what was written
    stays.

    Parameters
    ----------
    database : sqlite3.Connection
        With the tables; the thread's alone from now on.
    rows : Rows
        What becomes of an item.
    thinning : Thinning
    file : FileId
        Where it is: nothing is recorded into a file that somebody removed.

    Attributes
    ----------
    trouble : str
        Empty where nothing is wrong.
    """

    def __init__(self, database: sqlite3.Connection, rows: Rows, thinning: Thinning, file: FileId) -> None:
        self._database, self._rows, self._thinning, self._file = database, rows, thinning, file
        self.trouble, self._seen = "", time.monotonic()
        self._queue: deque[tuple[int, list[Item]]] = deque()  # what belongs together, and its bytes
        self._bytes = self._told = self._written = 0
        self._closing = self._gone = False
        self._then: Callable[[], None] = _nothing
        self._condition = threading.Condition()
        self._process = os.getpid()
        self._thread = threading.Thread(target=self._loop, name="scalarviz-recording", daemon=True)
        self._thread.start()

    @property
    def mine(self) -> bool:
        """Whether this is the process that writes: a child of it has neither the thread nor a right to the file."""
        return os.getpid() == self._process

    # ---- for whoever brings something

    def put(self, items: list[Item]) -> None:
        """Let items be written; waits only where more than `ROOM` bytes wait already."""
        if not self.mine:
            return
        size = sum(item.nbytes for item in items)
        with self._condition:
            while self._bytes > ROOM and not self._deaf():
                self._condition.wait(LOOK)
            if self._deaf():
                return
            self._queue.append((size, items))
            self._bytes += size
            self._told += 1
            self._condition.notify_all()

    def _deaf(self) -> bool:
        return bool(self.trouble) or self._gone or not self._thread.is_alive()

    def flush(self, timeout: float) -> None:
        """Wait until what was told so far is in the file.

        Raises
        ------
        StateError
            It takes longer than `timeout` seconds.
        """
        if not self.mine:
            return
        with self._condition:
            told = self._told
            if not self._condition.wait_for(lambda: self._written >= told or self._deaf(), timeout):
                raise StateError(f"the recording is not written within {timeout:g} s: the disk is slow; try again")

    def close(self, then: Callable[[], None] | None = None) -> None:
        """Write what waits, and end the thread; the database is the caller's again, who does `then` with it.

        The thread itself does that at its end, where it was in there that a recording was found which nobody has.
        """
        if not self.mine:
            return
        itself = threading.current_thread() is self._thread
        with self._condition:
            self._closing = True
            if itself and then is not None:
                self._then = then
            self._condition.notify_all()
        if not itself:
            self._thread.join()
            if then is not None:
                then()

    # ---- the thread

    def _loop(self) -> None:
        try:
            while True:
                with self._condition:
                    self._condition.wait_for(lambda: self._queue or self._closing or self._thins())
                    count = self._first()
                    items = [item for _, group in islice(self._queue, count) for item in group]
                    if not items and self._closing:
                        return
                self._write(items)
                with self._condition:
                    for _ in range(count):
                        self._bytes -= self._queue.popleft()[0]
                    self._written += count
                    self._condition.notify_all()
        finally:
            with self._condition:
                self._gone = True
                self._condition.notify_all()
            self._then()

    def _first(self) -> int:
        """How many go into one transaction: what waits, as far as the budget may be passed before anybody looks."""
        room, count = max(self._thinning.budget // 16, 1 << 14), 0
        for size, _ in self._queue:
            room, count = room - size, count + 1
            if room < 0:
                break
        return count

    def _thins(self) -> bool:
        return self._thinning.due and not self.trouble

    def _write(self, items: list[Item]) -> None:
        if self.trouble:
            return
        try:
            with self._database:
                self._database.execute("BEGIN")
                for item in items:
                    self._rows.write(item)
                self._rows.end()
                self._thinning.some(len(items))
            self._thinning.measure(sum(item.nbytes for item in items))
            self._look_for_it()
        except Exception as error:  # a full disk, no memory, a network's own bug: training goes on
            self._refused(f"{type(error).__name__}: {error}; what was written stays")

    def _look_for_it(self) -> None:
        """A file that was removed can be written to, but by nobody read."""
        now = time.monotonic()
        if now - self._seen >= LOST_AFTER:
            self._seen = now
            if not self._file.there:
                self._refused("somebody removed it, moved it, or put another file in its place")

    def _refused(self, why: str) -> None:
        self.trouble = f"{self._file.path.name} is recorded no further: {why}"


def _nothing() -> None:
    """Of whoever waits for the thread."""
