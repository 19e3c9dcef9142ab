"""A recording's file while it is written: made anew, and made one whole file at the end."""

from __future__ import annotations

import ctypes
import os
import sqlite3
from contextlib import suppress
from pathlib import Path

from ...errors import InputError
from ...io.atomic import StrPath, check_target, path_text
from ...process import born, place, runs
from .logs import Use, begin, identity
from .schema import APPLICATION, OBJECTS, VERSION

LARGE = 16_384
"""Bytes of a frame from which pages are large."""
_LONGEST = 255 - len("-journal")
"""Bytes of a name."""
_LOG = 64 << 20
"""Bytes that the write-ahead log keeps between two checkpoints at most."""


class FileId:
    """Which file a name means: somebody may remove or move it, or put another one in its place.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path) -> None:
        self.path, self._known, self.use = path, identity(path), Use(path, logged=False)

    @property
    def there(self) -> bool:
        """Whether the name still means the same file."""
        return identity(self.path) == self._known


def create(path: StrPath, frame_bytes: int) -> tuple[sqlite3.Connection, Path]:
    """A new recording without frames.

    Nothing that exists is overwritten, and of two recordings of one path the second is refused: a recording is written
    where it is to stay, so that what a killed program leaves can be read.

    Raises
    ------
    InputError
        There is a file already, or none can be made.
    """
    target = check_new(path).absolute()  # wherever the program goes meanwhile
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        made = os.open(target, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
    except FileExistsError:  # another recording was quicker
        raise _there(path) from None
    except OSError as error:
        raise InputError(f"cannot write {path_text(path)}: {(error.strerror or str(error)).lower()}") from None
    os.close(made)
    for suffix in ("-wal", "-journal", "-shm"):  # of a former file of this name: it would be taken for a part of this
        with suppress(OSError):
            Path(f"{target}{suffix}").unlink(missing_ok=True)
    try:
        return _begun(target, frame_bytes), target
    except sqlite3.Error as error:
        for suffix in ("", "-wal", "-journal", "-shm"):
            with suppress(OSError):
                Path(f"{target}{suffix}").unlink(missing_ok=True)
        raise InputError(f"cannot write {path_text(path)}: {error}") from None


def check_new(path: StrPath) -> Path:
    """Say what would stop a new recording from being made; touches nothing. Returns the file, links followed.

    Raises
    ------
    InputError
        There is a file already, or none can be made.
    """
    target = check_target(path)
    if target.exists():
        raise _there(path)
    check_length(target, path)
    return target


def check_length(target: Path, said: StrPath) -> None:
    """InputError if the names of what SQLite keeps beside a file would be too long."""
    if (size := len(os.fsencode(target.name))) > _LONGEST:
        raise InputError(
            f"cannot write {path_text(said)}: its name has {size} bytes; allowed: {_LONGEST}, since files of that name "
            "and -journal stand beside it while it is written"
        )


def check_apart(path: StrPath, *recordings: Path) -> None:
    """Refuse to write over what is read, or recorded into: a page in its place would be all that is left.

    Raises
    ------
    InputError
        The name means one of the recordings, links followed.
    """
    for recording in recordings:
        try:
            same = os.path.samefile(path, recording)
        except OSError:  # there is no such file: nothing to lose
            continue
        if same:
            raise InputError(f"cannot write {path_text(path)}: it is the recording itself; give another name")


def _there(path: StrPath) -> InputError:
    return InputError(
        f"{path_text(path)} is there already, and a recording overwrites nothing: give another name, or remove it"
    )


def _begun(target: Path, frame_bytes: int) -> sqlite3.Connection:
    database = sqlite3.connect(target, isolation_level=None, check_same_thread=False)
    try:
        _laid_out(database, target, frame_bytes)
    except sqlite3.Error:
        database.close()  # or it would leave its log beside a file that is gone
        raise
    return database


def _laid_out(database: sqlite3.Connection, target: Path, frame_bytes: int) -> None:
    """Tables, and how it is written."""
    database.execute(f"PRAGMA page_size = {32768 if frame_bytes >= LARGE else 4096}")
    with database:
        database.execute("BEGIN")
        database.execute(f"PRAGMA application_id = {APPLICATION}")
        database.execute(f"PRAGMA user_version = {VERSION}")
        for statement in OBJECTS.values():
            database.execute(statement)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = NORMAL")  # a process that is killed loses nothing that was committed
    database.execute(f"PRAGMA journal_size_limit = {_LOG}")
    begin(database, target)


def keep_open(database: sqlite3.Connection) -> None:
    """Nobody closes this connection, which would do something to files: in a child of the process that writes, say."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(database))


def signed() -> str:
    """Who writes, as `meta` says it while a recording is not closed."""
    return f"{os.getpid()} {place()} {born(os.getpid())}".rstrip()


def is_written(signature: str) -> bool:
    """Whether the program that signed a recording so lives, on this machine."""
    number, where, *when = [*signature.split(" "), ""][:3]
    there = number.isascii() and number.isdigit() and len(number) < 10 and where == place() and runs(int(number))
    return there and when[0] in ("", born(int(number)))


def finish(database: sqlite3.Connection, file: FileId) -> None:
    """Make it one file that can be read in a folder where nobody may write."""
    if not file.there:  # SQLite would remove what stands beside its name, which may be another's by now
        keep_open(database)
        return
    with suppress(
        sqlite3.Error
    ):  # a full disk, or somebody reads: whoever opens it next, or closes it last, repairs it
        database.execute("PRAGMA busy_timeout = 2000")
        database.execute("DELETE FROM meta WHERE name = 'writer'")
        database.execute("PRAGMA journal_mode = DELETE").fetchone()
    with suppress(sqlite3.Error):
        database.close()
        file.use.end()
