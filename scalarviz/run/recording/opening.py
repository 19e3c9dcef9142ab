"""Opening a recording that anybody may have made: nothing in it is run, nothing is believed before it was checked."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from ...errors import FileFormatError, InputError
from ...io.atomic import StrPath, path_text
from ...io.readable import check_source, unreadable
from .schema import APPLICATION, OBJECTS, VERSION

MAGIC = b"SQLite format 3\0"
_HEADER = 100
_LOGGED = 2  # what the header says where a write-ahead log belongs to the file


@dataclass(frozen=True, slots=True)
class Header:
    """What the first bytes say.

    Attributes
    ----------
    logged : bool
        Whether a write-ahead log belongs to it: it is being written, or was not closed.
    pages, page_size, size : int
        What should be there, and the bytes that are.
    """

    logged: bool
    pages: int
    page_size: int
    size: int

    @property
    def short(self) -> bool:
        """Whether the end is missing."""
        return not self.logged and self.size < self.pages * self.page_size


def header_of(path: StrPath) -> Header:
    """Look at the first bytes of a file, before SQLite does.

    Raises
    ------
    InputError
        There is no such file, it is a folder, or it cannot be read.
    FileFormatError
        It is no recording, or one of another version.
    """
    name = check_source(path, "recording")
    said = path_text(name)
    try:
        with open(name, "rb") as file:
            head, size = file.read(_HEADER), os.fstat(file.fileno()).st_size
    except OSError as error:
        raise unreadable(path, error) from None
    if not head:
        raise FileFormatError(f"{said} is empty: nothing was recorded in it")
    if not head.startswith(MAGIC):
        raise FileFormatError(f"{said} is no recording (scalarviz SCENE --recording FILE makes one)")
    if len(head) < _HEADER:
        raise FileFormatError(f"{said} is cut off after {len(head)} bytes: nothing of it can be read")
    application, version = int.from_bytes(head[68:72], "big"), int.from_bytes(head[60:64], "big")
    if application != APPLICATION:
        raise FileFormatError(f"{said} is an SQLite file of another program, no recording")
    if version != VERSION:
        newer = "made by a newer scalarviz: update this one" if version > VERSION else "older than this scalarviz reads"
        raise FileFormatError(f"{said} is a recording of version {version}, {newer} (this one reads {VERSION})")
    page = int.from_bytes(head[16:18], "big")
    return Header(_LOGGED in head[18:20], int.from_bytes(head[28:32], "big"), 65536 if page == 1 else page, size)


class Opened:
    """A database to read from, and what has to be cleared away after it.

    Attributes
    ----------
    database : sqlite3.Connection
        Read-only; any thread may use it, one at a time.
    header : Header
    """

    def __init__(self, path: StrPath) -> None:
        self.header = header_of(path)
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        source = Path(path).absolute()
        if self.header.logged and not _repaired(source):
            self.header = header_of(path)
            source = self._readable(source)
        try:
            self.database = _connected(source)
            _check_tables(self.database, path)
        except BaseException:
            self.close()
            raise

    def _readable(self, path: Path) -> Path:
        """The file itself where its log can be used there, else a copy of both: the folder is not to be written to."""
        if os.access(path.parent, os.W_OK) and os.access(path, os.W_OK):
            return path
        self._copy = tempfile.TemporaryDirectory(prefix="scalarviz-")
        copy = Path(self._copy.name) / path.name
        try:
            shutil.copyfile(path, copy)
            log = path.with_name(f"{path.name}-wal")
            if log.exists():
                shutil.copyfile(log, copy.with_name(f"{copy.name}-wal"))
        except OSError as error:
            self._copy.cleanup()
            raise InputError(f"cannot read {path_text(path)}: {error}") from None
        return copy

    def close(self) -> None:
        """Let go of it."""
        with suppress(AttributeError, sqlite3.Error):
            self.database.close()
        if self._copy is not None:
            self._copy.cleanup()


def _repaired(path: Path) -> bool:
    """Put the log of a recording that was not closed into the file, where nobody else has it open."""
    if not (os.access(path.parent, os.W_OK) and os.access(path, os.W_OK)):
        return False
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=rw", uri=True, isolation_level=None)) as database:
            database.execute("PRAGMA trusted_schema = OFF")
            database.execute("PRAGMA busy_timeout = 0")
            (mode,) = database.execute("PRAGMA journal_mode = DELETE").fetchone()
    except sqlite3.Error:  # it is being written, or it is damaged: then it is read as it is
        return False
    return bool(mode == "delete")


def _connected(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(
        f"file:{quote(str(path))}?mode=ro",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=64,
    )
    for setting in ("query_only = ON", "trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0"):
        database.execute(f"PRAGMA {setting}")
    return database


def _check_tables(database: sqlite3.Connection, path: StrPath) -> None:
    """Exactly ours, to the letter: no view, trigger, or column that computes anything."""
    said = path_text(path)
    try:
        found = database.execute("SELECT name, sql FROM sqlite_schema LIMIT ?", (len(OBJECTS) + 1,)).fetchall()
    except sqlite3.Error as error:
        raise FileFormatError(f"{said} is damaged: {error}") from None
    if dict(found) != OBJECTS or len(found) != len(OBJECTS):
        raise FileFormatError(f"{said} has other tables than a recording has: it is not read")
