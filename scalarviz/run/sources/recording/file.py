"""The file format of a recording: one SQLite file with exactly these tables.

A frame has a *place*: a branch, a step of it, and the number of edits on the way there. Blobs are
little-endian; numbers of weights are float32, curves int64 and float64.
"""

from __future__ import annotations

import ctypes
import os
import sqlite3
import struct
import threading
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from ....errors import InputError
from ....io.atomic import StrPath, born, check_target, is_running, machine_id, path_text

APPLICATION = 0x73767A72  # "svzr"
VERSION = 3
"""Version of the tables; ``PRAGMA user_version`` of a file."""

TABLES = {
    "meta": "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "tensor": (
        "CREATE TABLE tensor (network INTEGER NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL, "
        "shape TEXT NOT NULL, start INTEGER NOT NULL, role TEXT NOT NULL, "
        "PRIMARY KEY (network, number)) WITHOUT ROWID"
    ),
    "stage": (
        "CREATE TABLE stage (network INTEGER NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL, "
        "kind TEXT NOT NULL, outputs INTEGER NOT NULL, weight TEXT, bias TEXT, shape TEXT NOT NULL, "
        "input_shape TEXT NOT NULL, sources TEXT NOT NULL, whole INTEGER NOT NULL, "
        "PRIMARY KEY (network, number)) WITHOUT ROWID"
    ),
    "branch": (
        "CREATE TABLE branch (number INTEGER PRIMARY KEY, parent INTEGER, first INTEGER NOT NULL, "
        "before INTEGER NOT NULL, why TEXT NOT NULL, jumped INTEGER NOT NULL)"
    ),
    "edit": (
        "CREATE TABLE edit (branch INTEGER NOT NULL, number INTEGER NOT NULL, step INTEGER NOT NULL, "
        "what TEXT NOT NULL, gesture TEXT NOT NULL, written TEXT, PRIMARY KEY (branch, number)) WITHOUT ROWID"
    ),
    "flag": (
        "CREATE TABLE flag (branch INTEGER NOT NULL, step INTEGER NOT NULL, name TEXT NOT NULL, "
        "PRIMARY KEY (branch, step)) WITHOUT ROWID"
    ),
    "curve": (
        "CREATE TABLE curve (id INTEGER PRIMARY KEY, branch INTEGER NOT NULL, count INTEGER NOT NULL, "
        "step BLOB NOT NULL, loss BLOB NOT NULL, lr BLOB NOT NULL)"
    ),
    "frame": (
        "CREATE TABLE frame (id INTEGER PRIMARY KEY, branch INTEGER NOT NULL, step INTEGER NOT NULL, "
        "edits INTEGER NOT NULL, network INTEGER NOT NULL, kept INTEGER NOT NULL, loss REAL, lr REAL, next_lr REAL, "
        "whole REAL, own REAL, batch INTEGER NOT NULL, optimizer TEXT NOT NULL, edited INTEGER NOT NULL, "
        "stopped TEXT NOT NULL, computed BLOB, frozen BLOB, value BLOB NOT NULL, gradient BLOB, moved BLOB, "
        "activation BLOB, delta BLOB, units BLOB, checksum INTEGER NOT NULL)"
    ),
    "program": "CREATE TABLE program (id INTEGER PRIMARY KEY, said BLOB NOT NULL)",
    "rule": "CREATE TABLE rule (id INTEGER PRIMARY KEY, said BLOB NOT NULL)",
    "data": (
        "CREATE TABLE data (number INTEGER NOT NULL, part INTEGER NOT NULL, rows INTEGER NOT NULL, "
        "samples INTEGER NOT NULL, kind TEXT NOT NULL, numbers BLOB NOT NULL, PRIMARY KEY (number, part)) WITHOUT ROWID"
    ),
    "moment": (
        "CREATE TABLE moment (frame INTEGER PRIMARY KEY, rule INTEGER NOT NULL, rates BLOB NOT NULL, state BLOB, "
        "checksum INTEGER NOT NULL)"
    ),
    "picture": (
        "CREATE TABLE picture (id INTEGER PRIMARY KEY, frame INTEGER NOT NULL, panel TEXT NOT NULL, "
        "width INTEGER NOT NULL, height INTEGER NOT NULL, image BLOB NOT NULL)"
    ),
}
"""Tables by name.

* ``frame.kept``: thinning leaves it (the run was edited, jumped, began or ended there).
* A NULL loss or rate is NaN. ``whole``: the shown loss, of the weights of the frame;
  ``own``: the loss of the probe alone, if its rows are kept.
* ``batch`` and ``optimizer``: samples per step and the optimiser's class, which an edit may have changed.
* ``computed`` and ``frozen``: NULL is none of them, an empty blob all weights (no buffers), otherwise one bit each,
  the first weight the highest bit.
* ``activation`` and ``delta``: the probe's rows, ``"input"`` first, one after the other.
* ``units``: their step (int64), then for every rectifier, sigmoid and tanh stage a float32 per unit: dead or
  not, or the share of samples at which it is flat.
* ``checksum``: of the other columns except ``id``, ``kept`` and ``stopped``, see :func:`checksum`.
* ``program`` and ``rule``: deflated JSON, what a step is made of (:mod:`.programs`); ``data``: the samples that a rule
  names, deflated, one row per part (``kind`` is its type; "" if they are left out, and ``numbers`` says why).
* ``moment``: what a frame lacks for its coming step: the rule, the optimiser's step number and rates (float64), and at
  keyframes its state, in the run's dtype; with float64, the weights first.
* ``edit.written``: JSON of :mod:`scalarviz.run.edits.base`, NULL if an edit cannot be written.
"""

INDEXES = {"frame_place": "CREATE UNIQUE INDEX frame_place ON frame (branch, step, edits)"}

OBJECTS = {**TABLES, **INDEXES}
_MICRO = {
    "plan": "CREATE TABLE plan (id INTEGER PRIMARY KEY, network INTEGER NOT NULL, said TEXT NOT NULL)",
    "micro": (
        "CREATE TABLE micro (frame INTEGER NOT NULL, alone INTEGER NOT NULL, plan INTEGER NOT NULL, "
        "step INTEGER NOT NULL, batch INTEGER NOT NULL, divisor REAL NOT NULL, loss REAL, lr REAL, "
        "numbers BLOB NOT NULL, PRIMARY KEY (frame, alone)) WITHOUT ROWID"
    ),
}
FORMER = 2
"""The version before: it has micro-steps in place of programs, and plays."""
FORMER_OBJECTS = {k: made for k, made in OBJECTS.items() if k not in ("program", "rule", "data", "moment")} | _MICRO


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of our SQLite files; `what` (its name) and `made` (how to make one) are words for messages.

    `former` are the objects of older versions that can still be read.
    """

    what: str
    made: str
    application: int
    version: int
    objects: Mapping[str, str]
    former: Mapping[int, Mapping[str, str]] = field(default_factory=dict)


RECORDING = Format(
    "recording", "make one with scalarviz SCENE --recording FILE", APPLICATION, VERSION, OBJECTS,
    {FORMER: FORMER_OBJECTS},
)  # fmt: skip

LONGEST_EDIT = 1 << 20
"""Most characters of an edit's JSON; of a longer one (new data) only the words are kept."""
LONGEST_NAME = 200
LONGEST_TEXT = 2000
DAMAGED = (sqlite3.Error, UnicodeError, OverflowError, MemoryError)
"""Errors of reading a damaged file; SQLite's own messages may contain parts of it that are no text."""

MOST_BLOB = 1 << 30
"""Most bytes of one blob, SQLite's own default."""
MOST_FRAMES = 5_000_000
MOST_TENSORS = 20_000
MOST_NUMBERS = 1 << 31
"""Most scalars of a network."""


def clean(words: str, most: int = LONGEST_TEXT) -> str:
    """Return a text in one line of at most `most` characters; unprintable ones become blanks."""
    line = "".join(c if c.isprintable() else " " for c in words[: most + 1])
    return line if len(line) <= most else f"{line[: most - 3]}..."


def distinct(names: Collection[str], most: int = LONGEST_NAME) -> dict[str, str]:
    """Return, by name, a text as of :func:`clean` that is not empty; texts that would be equal get numbers."""
    found = dict[str, str]()
    taken = {name for name in names if name == clean(name, most).strip() != ""}
    for name in names:
        line, number = clean(name, most).strip() or "(no name)", 1
        while line in taken and line != name:
            number += 1
            line = f"{clean(name, most - 10).strip() or '(no name)'} ({number})"
        found[name] = line
        taken.add(line)
    return found


# ---- The checksum of a frame: a flipped bit on a disk is noticed, not shown
#
# CRC-32 (zlib's) of the columns in `SUMMED`, one after the other. Each gives a byte for its kind (0 none,
# 1 a whole number, 2 a real one, 3 a text, 4 a blob), then eight bytes, little-endian: the number, or the byte count
# of the rest, and the rest. It is no signature: whoever changes a file on purpose can write another.


SUMMED = (
    "branch", "step", "edits", "network", "loss", "lr", "next_lr", "whole", "own", "batch", "optimizer", "edited",
    "computed", "frozen", "value", "gradient", "moved", "activation", "delta", "units",
)  # fmt: skip
"""Columns of a frame, without those that may change later or do not describe it."""

_WHOLE, _REAL, _LONG = struct.Struct("<Bq"), struct.Struct("<Bd"), struct.Struct("<BQ")
Cell = int | float | str | bytes | None


def checksum(cells: Iterable[Cell]) -> int:
    """Return the checksum of a row's cells in the order of `SUMMED`, as SQLite stores them."""
    parts = []
    for cell in cells:
        if cell is None:
            parts.append(b"\0")
        elif isinstance(cell, int):
            parts.append(_WHOLE.pack(1, cell))
        elif isinstance(cell, float):
            parts.append(_REAL.pack(2, cell + 0.0))  # SQLite keeps no -0.0
        else:
            data, kind = (cell.encode("utf-8", "replace"), 3) if isinstance(cell, str) else (cell, 4)
            parts += [_LONG.pack(kind, len(data)), data]
    return zlib.crc32(b"".join(parts))


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
    """Store the number of its first log in a new recording, not in its log."""
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
_LOG = 64 << 20
"""Most bytes that the write-ahead log keeps between two checkpoints."""


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
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")  # a killed process loses nothing that was committed
        database.execute(f"PRAGMA journal_size_limit = {_LOG}")
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
