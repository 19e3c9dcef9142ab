"""The SQLite file of a recording or a sweep: who owns its log, how it is created, read, and merged into one file."""

from __future__ import annotations

import ctypes
import os
import sqlite3
import threading
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote

from ....errors import InputError
from ....io.atomic import StrPath, born, check_target, is_running, machine_id, path_text
from .tables import APPLICATION, DAMAGED, MOST_BLOB, OBJECTS, TABLES, VERSION

# ---- The owner of the log beside a recording: SQLite takes any log of that name, and merges it into the file
#
# A closed recording has none. An open one stores in its file (`meta`, ``log``) the number of its
# first log; SQLite adds one for each further log (*salt-1*, https://www.sqlite.org/fileformat2.html#walformat).


Identity = tuple[int, int]

_HEAD = 32
"""Bytes of a log before its first frame."""
_NUMBERS = 1 << 32
_LOGS = 1 << 20
"""Most logs of one recording."""
_LOG = 64 << 20
"""Most bytes that the write-ahead log keeps between two checkpoints."""
_CLOSED = b"\1\1"
"""Bytes 18 and 19 of an SQLite file without a log, such as a closed recording."""

_lock = threading.Lock()
_used: Counter[Identity] = Counter()


Stat = tuple[int, int, int, int]


def stat_of(path: Path) -> Stat | None:
    """Return the identity of the file at a path (two numbers), its size and time, or None without a file."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns


class FileUse:
    """Marks a file as used through SQLite in this process, until :meth:`end`."""

    def __init__(self, path: Path, *, logged: bool = False) -> None:
        self.path, stat = path, stat_of(path)
        self._of = stat and stat[:2]
        with _lock:
            # closing a file drops all locks of this process on it, so a used file is not opened here
            known = self._of is not None and _used[self._of] > 0
            self.foreign = logged and not known and is_foreign(path)
            self._counts = self._of is not None and not self.foreign
            if self._of is not None and self._counts:
                _used[self._of] += 1

    @property
    def is_same_file(self) -> bool:
        """True if the path still leads to the same file; another program may remove or replace it."""
        stat = stat_of(self.path)
        return (stat and stat[:2]) == self._of

    def end(self) -> None:
        """End the use; a second call does nothing."""
        with _lock:
            if self._of is not None and self._counts:
                self._counts = False
                _used[self._of] -= 1
                if not _used[self._of]:
                    del _used[self._of]


def is_foreign(path: Path) -> bool:
    """Return whether the log beside a file belongs to another recording. This process must not have the file open."""
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
        return log.exists()  # otherwise it was closed at this moment
    first = _first(path)
    return first is not None and (number - first) % _NUMBERS >= _LOGS


def _number(log: Path) -> int:
    with log.open("rb") as file:
        return int.from_bytes(file.read(20)[16:], "big")


_SETTINGS = ("query_only = ON", "trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0")


def address(path: StrPath, mode: str) -> str:
    """Return the address of a file for SQLite, to read ("ro") or write ("rw")."""
    return f"file:{quote(os.fsencode(path))}?mode={mode}"


def reading(path: Path, *, alone: bool) -> sqlite3.Connection:
    """Return a read-only connection; `alone`: in a folder without write permission that no one else writes to."""
    found = address(path, "ro&immutable=1" if alone else "ro")
    database = sqlite3.connect(found, uri=True, isolation_level=None, check_same_thread=False)
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_BLOB)
    database.text_factory = lambda given: given.decode("utf-8", "replace")
    for setting in _SETTINGS:
        database.execute(f"PRAGMA {setting}")
    return database


def _first(path: Path) -> int | None:
    """Return the number of a recording's first log, from the file itself, or None."""
    with suppress(*DAMAGED), closing(reading(path, alone=True)) as database:
        found = database.execute("SELECT sql FROM sqlite_schema WHERE name = 'meta' LIMIT 1").fetchone()
        if found == (TABLES["meta"],):
            said = database.execute("SELECT value FROM meta WHERE name = 'log' AND length(value) < 11").fetchone()
            if said is not None and str(said[0]).isascii() and str(said[0]).isdigit():
                return int(said[0])
    return None


def begin(database: sqlite3.Connection, path: Path) -> None:
    """Let writes go to a log. Store the number of the first one in the file itself, not in its log."""
    database.execute("PRAGMA journal_mode = WAL").fetchone()
    database.execute("PRAGMA synchronous = NORMAL")  # a killed process loses nothing that was committed
    database.execute(f"PRAGMA journal_size_limit = {_LOG}")
    database.execute("INSERT INTO meta VALUES ('log', '')")
    with suppress(OSError):  # a disk without logs
        number = _number(path.with_name(f"{path.name}-wal"))
        database.execute("UPDATE meta SET value = ? WHERE name = 'log'", (str(number),))
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()


# ---- The file of a recording: create it, and merge it into one file at the end


LARGE = 16_384
"""Bytes of a frame above which pages are large."""
_LONGEST = 255 - len("-journal")
"""Most bytes of a name."""


def create(path: StrPath, frame_bytes: int) -> tuple[sqlite3.Connection, Path]:
    """Create a recording without frames at its final path, so that a killed program leaves a readable file."""
    target = check_new(path).absolute()  # the program may change its folder
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666))
    except FileExistsError:  # another recording was quicker
        raise _exists_error(path) from None
    except OSError as error:
        raise InputError(f"cannot write {path_text(path)}: {(error.strerror or str(error)).lower()}") from None
    _remove(target, "-wal", "-journal", "-shm")  # of a former file: SQLite would take it for a part of this one
    database: sqlite3.Connection | None = None
    try:
        database = sqlite3.connect(target, isolation_level=None, check_same_thread=False)
        database.execute(f"PRAGMA page_size = {32768 if frame_bytes >= LARGE else 4096}")
        with database:
            database.execute("BEGIN")
            database.execute(f"PRAGMA application_id = {APPLICATION}")
            database.execute(f"PRAGMA user_version = {VERSION}")
            for statement in OBJECTS.values():
                database.execute(statement)
        begin(database, target)
    except sqlite3.Error as error:
        if database is not None:
            database.close()  # otherwise it would leave its log beside a deleted file
        _remove(target, "", "-wal", "-journal", "-shm")
        raise InputError(f"cannot write {path_text(path)}: {error}") from None
    return database, target


def _remove(target: Path, *suffixes: str) -> None:
    for suffix in suffixes:
        with suppress(OSError):
            Path(f"{target}{suffix}").unlink(missing_ok=True)


def check_new(path: StrPath) -> Path:
    """Raise the error that would stop a new recording; touch nothing. Return the file, links followed."""
    target = check_target(path)
    if target.exists():
        raise _exists_error(path)
    check_length(target, path)
    return target


def check_length(target: Path, said: StrPath) -> None:
    """Raise InputError if the names of SQLite's companion files would be too long."""
    if (size := len(os.fsencode(target.name))) > _LONGEST:
        raise InputError(
            f"cannot write {path_text(said)}: its name has {size} bytes; allowed: {_LONGEST}, because SQLite adds "
            "-journal to it; give a shorter name"
        )


def check_apart(path: StrPath, *recordings: Path) -> None:
    """Refuse to overwrite a recording that is being read or written."""
    for recording in recordings:
        with suppress(OSError):  # no such file: nothing to lose
            if os.path.samefile(path, recording):
                raise InputError(
                    f"cannot write {path_text(path)}: this file is the recording itself; give another name"
                )


def _exists_error(path: StrPath) -> InputError:
    return InputError(
        f"{path_text(path)} exists; recordings never overwrite a file; give another name, or remove the file"
    )


def keep_open(database: sqlite3.Connection) -> None:
    """Keep a connection from being closed, which would change files: for a forked child of the writer."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(database))


def signed() -> str:
    """Return the signature of this process, for `meta` while a recording is open."""
    return f"{os.getpid()} {machine_id()} {born(os.getpid())}".rstrip()


def is_written(signature: str) -> bool:
    """Return whether the program with this signature is alive, on this machine."""
    number, where, *when = [*signature.split(" "), ""][:3]
    if not (number.isascii() and number.isdigit() and len(number) < 10 and where == machine_id()):
        return False
    return is_running(int(number)) and when[0] in ("", born(int(number)))


def finish(database: sqlite3.Connection, file: FileUse) -> None:
    """Merge the log into the file, which can then be read in a folder without write permission."""
    if not file.is_same_file:  # SQLite would remove the files beside its name, which may belong to another by now
        keep_open(database)
        return
    with suppress(sqlite3.Error):  # a full disk, or a reader: the next to open it, or the last to close it, repairs it
        database.execute("PRAGMA busy_timeout = 2000")
        database.execute("DELETE FROM meta WHERE name = 'writer'")
        database.execute("PRAGMA journal_mode = DELETE").fetchone()
    with suppress(sqlite3.Error):
        database.close()
        file.end()
