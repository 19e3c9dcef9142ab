"""Opening a recording that anybody may have made: nothing in it is run, nothing is believed before it was checked.

The file is looked at through SQLite alone: whoever opens and closes it beside SQLite, in a process that records it,
lets go of the locks that keep others from changing it meanwhile.
"""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import tempfile
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote

from ...errors import FileFormatError, InputError
from ...io.atomic import StrPath, path_text
from ...io.readable import check_source, unreadable
from ...io.scratch import scratch
from .logs import Use, identity
from .schema import DAMAGED, MOST_BLOB, RECORDING, Format

_SETTINGS = ("query_only = ON", "trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0")
_TRIES = 8
SMALLEST = 1024
"""Bytes; SQLite says nothing of what is shorter."""
_BESIDE = ("-wal", "-journal")
"""What a program that was killed leaves beside a file, and what belongs to one that is written."""
_NAMES_ANOTHER = bytes.fromhex("d9d505f920a163d7")
"""How a rollback journal ends that names a further file, which SQLite would delete after it has rolled back."""


class Opened:
    """A database to read from, and what has to be cleared away after it.

    Parameters
    ----------
    path : path
    form : Format
        What it should be; a recording, where nothing is said.

    Attributes
    ----------
    database : sqlite3.Connection
        Read-only; any thread may use it, one at a time.
    short : bool
        Whether the end of the file is missing.
    left_out : str
        What stands beside it and was not read, in words; empty for nothing.
    stamp : list
        Sizes and times of the file when it was opened: others mean that something was written since.

    Raises
    ------
    InputError
        There is no such file, it is a folder, or it cannot be read.
    FileFormatError
        It is no recording, or one of another version.
    """

    def __init__(self, path: StrPath, form: Format = RECORDING) -> None:
        self._form = form
        name = check_source(path, form.what).resolve()  # what stands beside it stands beside the file, not a link
        self._said, self._name = path_text(path), name
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        self._logged, self.left_out = False, ""
        self._use: Use | None = None
        self.database: sqlite3.Connection
        try:
            if (size := name.stat().st_size) < SMALLEST:
                what = "empty" if not size else f"no {form.what}, or the first {size} bytes of one"
                raise FileFormatError(f"{self._said} is {what}: nothing can be read")
            if not os.access(name, os.R_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            self.stamp, self._identity = stamp(name), identity(name)
            self.short = self._open(name)
            self.database.execute("BEGIN")  # what is read from here on is of one moment, whoever writes meanwhile
            _check_tables(self.database, form, self._said)
        except OSError as error:
            self.close()
            raise unreadable(path, error) from None
        except BaseException:
            self.close()
            raise

    def _open(self, path: Path) -> bool:
        mine = _mine(path)
        logged = any(part.exists() for part in _beside(path))
        if logged:
            self._check_journal(path)
        self._use = Use(path, logged=logged)
        if self._use.foreign:
            self.left_out = f"the log of another {self._form.what} stands beside it ({path.name}-wal) and was left out"
            self.database = _connected(path, alone=True)
            return self._check()
        self._logged = logged
        if logged and not mine:
            path = self._copied(path)
        if logged:
            _repair(path, self._form)
        self.database = _connected(path, alone=not mine and not logged)
        short = self._check()
        if mine and not logged and self._mode() == "wal":  # it was killed while it was closed, or read meanwhile
            self.database.close()  # else nobody could repair it
            _repair(path, self._form)
            self.database = _connected(path, alone=False)
            short = self._check()
        return short

    def _check_journal(self, path: Path) -> None:
        """Recordings are changed alone, so no journal of theirs names another file."""
        journal = path.with_name(f"{path.name}-journal")
        if journal.exists() and _ends_with(check_source(journal, "journal"), _NAMES_ANOTHER):
            raise FileFormatError(
                f"{self._said} is not read: beside it stands {path_text(journal.name)}, which names another file to "
                f"be deleted, as no {self._form.what} does; remove it, and what the file itself holds is read"
            )

    def _mode(self) -> str:
        with suppress(*DAMAGED):
            return str(self.database.execute("PRAGMA journal_mode").fetchone()[0])
        return ""

    def _check(self) -> bool:
        """Whether it is a recording of this version; returns whether its end is missing."""
        short = False
        try:
            application = self._pragma("application_id")
        except DAMAGED as error:
            if "not a database" in str(error):
                raise FileFormatError(f"{self._said} is no {self._form.what} ({self._form.made})") from None
            if isinstance(error, sqlite3.OperationalError):  # it is locked, or its folder is
                raise InputError(f"cannot read {self._said}: {error}") from None
            # SQLite reads nothing of a file that is shorter than it says, but for this; nothing can be written anyway
            self.database.execute("PRAGMA writable_schema = ON")
            short = True
            try:
                application = self._pragma("application_id")
            except DAMAGED:
                raise FileFormatError(f"{self._said} is cut off, and nothing of it can be read: {error}") from None
        version = self._pragma("user_version")
        what, ours = self._form.what, self._form.version
        if application != self._form.application:
            raise FileFormatError(f"{self._said} is an SQLite file of another program, no {what}")
        if version != ours:
            why = "made by a newer scalarviz: update this one" if version > ours else "older than what is read"
            raise FileFormatError(f"{self._said} is a {what} of version {version}, {why} (this reads {ours})")
        return short

    def _pragma(self, name: str) -> int:
        return int(self.database.execute(f"PRAGMA {name}").fetchone()[0])

    def _copied(self, path: Path) -> Path:
        """A copy of the file and its log: the folder is not to be written to, which reading the log would need."""
        self._copy = tempfile.TemporaryDirectory(prefix=scratch())
        copy = Path(self._copy.name) / "run.svz"
        for _ in range(_TRIES):
            before = stamp(path)
            for source, target in zip((path, *_beside(path)), (copy, *_beside(copy)), strict=True):
                target.unlink(missing_ok=True)
                if source.exists():
                    shutil.copyfile(source, target)
            if stamp(path) == before:  # else it is being written, and the two may not belong together
                return copy
        raise InputError(f"cannot read {self._said}: it is being written in a folder where this program may not write")

    @property
    def changed(self) -> bool:
        """Whether something was written since it was opened."""
        return stamp(self._name) != self.stamp

    @property
    def altered(self) -> bool:
        """Whether the file itself was written to since it was opened; another one in its place changes nothing here."""
        with suppress(OSError):
            stat = self._name.stat()
            return (stat.st_dev, stat.st_ino) == self._identity and (stat.st_size, stat.st_mtime_ns) != self.stamp[0]
        return False

    @property
    def replaced(self) -> bool:
        """Whether its name means another file by now."""
        return identity(self._name) not in (None, self._identity)

    def close(self) -> None:
        """Let go of it."""
        with suppress(AttributeError, sqlite3.Error):
            self.database.close()
        if self._use is not None:
            self._use.end()
        if self._copy is not None:
            self._copy.cleanup()
        elif self._logged and _mine(self._name) and any(part.exists() for part in _beside(self._name)):
            with suppress(FileFormatError, InputError, OSError):
                self._check_journal(self._name)
                _repair(
                    self._name, self._form
                )  # who wrote it may have closed it meanwhile: then it could not become one file


def _mine(path: Path) -> bool:
    """Whether this program may write to a file and beside it."""
    return os.access(path.parent, os.W_OK) and os.access(path, os.W_OK)


def _beside(path: Path) -> list[Path]:
    return [path.with_name(f"{path.name}{suffix}") for suffix in _BESIDE]


def _ends_with(path: Path, end: bytes) -> bool:
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - len(end)))
        return file.read() == end


def stamp(path: Path) -> list[tuple[int, int] | None]:
    """Sizes and times of a file and of what is beside it."""
    found: list[tuple[int, int] | None] = []
    for part in (path, *_beside(path)):
        try:
            stat = part.stat()
            found.append((stat.st_size, stat.st_mtime_ns))
        except FileNotFoundError:
            found.append(None)
    return found


def _repair(path: Path, form: Format) -> None:
    """Put the log of a file that was not closed into the file; where others have it open it stays as it is."""
    with suppress(*DAMAGED):  # it is being written, or it is damaged: then it is read as it is
        address = f"file:{quote(os.fsencode(path))}?mode=rw"
        with closing(sqlite3.connect(address, uri=True, isolation_level=None, timeout=0)) as database:
            database.execute("PRAGMA trusted_schema = OFF")
            if database.execute("PRAGMA application_id").fetchone()[0] == form.application:
                database.execute("PRAGMA journal_mode = DELETE").fetchone()


def _connected(path: Path, *, alone: bool) -> sqlite3.Connection:
    """A connection that writes nothing; `alone`: in a folder where we may write nothing, and nobody else does."""
    address = f"file:{quote(os.fsencode(path))}?mode=ro{'&immutable=1' if alone else ''}"
    database = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_BLOB)
    database.text_factory = _text
    for setting in _SETTINGS:
        database.execute(f"PRAGMA {setting}")
    return database


def _text(given: bytes) -> str:
    return given.decode("utf-8", "replace")


def _check_tables(database: sqlite3.Connection, form: Format, said: str) -> None:
    """Exactly ours, to the letter: no view, trigger, or column that computes anything."""
    ours = form.objects
    try:
        found = database.execute("SELECT name, sql FROM sqlite_schema LIMIT ?", (len(ours) + 1,)).fetchall()
    except DAMAGED as error:
        raise FileFormatError(f"{said} is damaged: {error}") from None
    if dict(found) != ours or len(found) != len(ours):
        raise FileFormatError(f"{said} has other tables than a {form.what} has, or lost them: it is not read")
