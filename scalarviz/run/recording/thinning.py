"""`Thinning`: keeps a recording within its budget of bytes, by letting go of every second frame."""

from __future__ import annotations

import sqlite3

LOOKS = 64
"""Looks at the size while the budget is filled once."""
SLICE = 256
"""Frames that are let go of between two transactions: nobody waits long for a large file."""


class Thinning:
    """Where the file is larger than its budget, `every` doubles and the frames between go.

    Frames at which the run was edited, began, jumped or ended stay. The room of those that went is used again.

    Parameters
    ----------
    database : sqlite3.Connection
    every : int
    budget : int
        Bytes.

    Attributes
    ----------
    every : int
        Frames are of the steps that this divides.
    due : bool
        Whether there are frames to let go of.
    """

    def __init__(self, database: sqlite3.Connection, every: int, budget: int) -> None:
        self._database, self.every, self.budget = database, every, budget
        self.due = False
        self._page = int(database.execute("PRAGMA page_size").fetchone()[0])
        self._unseen = 0  # bytes since the last look
        self._frames = 0  # as many as there were when nothing more could be let go of

    def measure(self, written: int) -> None:
        """Look how large the file is, where so many bytes more may have filled it."""
        self._unseen += written
        if self.due or self._unseen < self.budget // LOOKS:
            return
        self._unseen = 0
        pages, free = (int(self._database.execute(f"PRAGMA {what}").fetchone()[0])
                       for what in ("page_count", "freelist_count"))  # fmt: skip
        if (pages - free) * self._page > self.budget:
            self._double()

    def _double(self) -> None:
        (count,) = self._database.execute("SELECT count(*) FROM frame WHERE kept = 0").fetchone()
        if count >= 2 and count != self._frames:
            self.every *= 2
            self.due = True
        self._frames = count

    def some(self, written: int) -> None:
        """Let go of some within a transaction, of more than were `written` in it."""
        if not self.due:
            return
        most = SLICE + 2 * written
        chosen = self._database.execute(
            "SELECT id FROM frame WHERE kept = 0 AND step % ? != 0 LIMIT ?", (self.every, most)
        ).fetchall()
        for table, column in (("micro", "frame"), ("frame", "id")):
            self._database.executemany(f"DELETE FROM {table} WHERE {column} = ?", chosen)
        gone = len(chosen)
        self.due = gone == most
