"""Whose log stands beside a recording: SQLite takes any of that name, and writes it into the file for good.

A closed recording has none. One that was not closed says in its file (`meta`, ``log``) with which number its first log
began; SQLite counts one up with each further one (*salt-1*, https://www.sqlite.org/fileformat2.html#walformat).
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote

from .schema import DAMAGED, TABLES

Identity = tuple[int, int]

_HEAD = 32
"""Bytes of a log before its first frame."""
_NUMBERS = 1 << 32
_LOGS = 1 << 24
"""So many logs one recording has at most."""
_CLOSED = b"\1\1"
"""Bytes 18 and 19 of an SQLite file that has no log, as a recording that was closed."""

_lock = threading.Lock()
_used: Counter[Identity] = Counter()


def identity(path: Path) -> Identity | None:
    """Which file a name means now; None where there is none."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino


class Use:
    """Somebody in this process reads or writes a file through SQLite, until :meth:`end`.

    Parameters
    ----------
    path : Path
    logged : bool
        Whether something stands beside it.

    Attributes
    ----------
    foreign : bool
        Whether that is the log of another recording.
    """

    def __init__(self, path: Path, *, logged: bool) -> None:
        self._of = identity(path)
        with _lock:
            # whoever closes a file lets go of all locks that this process has on it: then it is not looked into
            self.foreign = logged and not self._there() and is_foreign(path)
            if self._of is not None and not self.foreign:
                _used[self._of] += 1

    def _there(self) -> bool:
        return self._of is not None and _used[self._of] > 0

    def end(self) -> None:
        """Nothing of it is open any more; twice is once."""
        with _lock:
            if self._of is not None and not self.foreign:
                _used[self._of] -= 1
                if not _used[self._of]:
                    del _used[self._of]
            self._of = None


def is_foreign(path: Path) -> bool:
    """Whether the log beside a file is of another recording. Nobody in this process may have the file open."""
    log = path.with_name(f"{path.name}-wal")
    try:
        if log.stat().st_size <= _HEAD:
            return False
        with path.open("rb") as file:
            closed = file.read(20)[18:] == _CLOSED
        number = _number(log)
    except OSError:
        return False
    if closed:
        return log.exists()  # else it was closed in this moment
    first = _first(path)
    return first is not None and (number - first) % _NUMBERS >= _LOGS


def _number(log: Path) -> int:
    with log.open("rb") as file:
        return int.from_bytes(file.read(20)[16:], "big")


def _first(path: Path) -> int | None:
    """With which number the first log of a recording began, as the file itself says; None where it does not."""
    address = f"file:{quote(os.fsencode(path))}?mode=ro&immutable=1"
    with suppress(*DAMAGED), closing(sqlite3.connect(address, uri=True, isolation_level=None)) as database:
        for setting in ("query_only = ON", "trusted_schema = OFF", "cell_size_check = ON"):
            database.execute(f"PRAGMA {setting}")
        found = database.execute("SELECT sql FROM sqlite_schema WHERE name = 'meta' LIMIT 1").fetchone()
        if found == (TABLES["meta"],):
            said = database.execute("SELECT value FROM meta WHERE name = 'log' AND length(value) < 11").fetchone()
            if said is not None and str(said[0]).isascii() and str(said[0]).isdigit():
                return int(said[0])
    return None


def begin(database: sqlite3.Connection, path: Path) -> None:
    """Write into a new recording, not into its log, with which number its logs begin."""
    database.execute("INSERT INTO meta VALUES ('log', '')")
    with suppress(OSError):  # a disk on which there are no logs
        number = _number(path.with_name(f"{path.name}-wal"))
        database.execute("UPDATE meta SET value = ? WHERE name = 'log'", (str(number),))
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
