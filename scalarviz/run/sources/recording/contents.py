"""A recording's file as it was at one moment: opened, checked and repaired before any of it is believed."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from types import MappingProxyType

from ....errors import FileFormatError, InputError, StateError
from ....io.atomic import StrPath, path_text, scratch
from ....io.readable import check_source, unreadable
from ...panels.base import Picture
from .file import DAMAGED, LONGEST_NAME, RECORDING, FileUse, Format, address, clean, reading
from .index import Branches, Index, read_index, read_networks
from .items import About, read_about
from .recorded_step import MicroTable

MOST_PICTURES = 10_000
MOST_BYTES = 32 << 20
MOST_SIDE = 16_384
KINDS = {b"\x89PNG\r\n\x1a\n": "png", b"RIFF": "webp", b"\x78\xda": "list"}
"""How an image begins, and what it is; a list is JSON, deflated."""


def image_kind(image: bytes) -> str:
    """What an image is by its first bytes; empty for anything else."""
    return next((kind for begins, kind in KINDS.items() if image.startswith(begins)), "")


def write_pictures(path: StrPath, pictures: Sequence[tuple[int, Picture]]) -> None:
    """Put pictures into a closed recording, each with the row of its frame; InputError if the disk refuses."""
    rows = [(frame, one.panel, one.width, one.height, one.image) for frame, one in pictures]
    try:
        with closing(sqlite3.connect(address(path, "rw"), uri=True)) as database, database:
            database.executemany("INSERT INTO picture VALUES (NULL, ?, ?, ?, ?, ?)", rows)
    except sqlite3.Error as error:
        raise InputError(f"cannot write panel pictures to {path_text(path)}: {error}") from None


def read_pictures(database: sqlite3.Connection, steps: Mapping[int, int]) -> tuple[Picture, ...]:
    """Those of frames that there are; `steps` says the step of a frame's id. What is no picture is left out."""
    found = []
    try:
        rows = database.execute(
            "SELECT frame, panel, width, height, image FROM picture WHERE typeof(image) = 'blob' AND "
            "length(image) <= ? AND length(panel) <= ? ORDER BY id LIMIT ?", (MOST_BYTES, MOST_BYTES, MOST_PICTURES),
        )  # fmt: skip
        for frame, panel, width, height, image in rows:
            sides = all(isinstance(side, int) and 0 < side <= MOST_SIDE for side in (width, height))
            if frame in steps and isinstance(panel, str) and sides and image_kind(image):
                found.append(Picture(clean(panel, LONGEST_NAME), steps[frame], width, height, image))
    except DAMAGED:  # a damaged end: what was read so far stays
        pass
    return tuple(sorted(found, key=lambda picture: (picture.panel, picture.step)))


# ---- Opening a recording that anybody may have made: nothing in it is run, nothing is believed before it was checked
#
# The file is looked at through SQLite alone: whoever opens and closes it beside SQLite, in a process that records it,
# lets go of the locks that keep others from changing it meanwhile.


_TRIES = 8
SMALLEST = 1024
"""Bytes; SQLite says nothing of what is shorter."""
_BESIDE = ("-wal", "-journal")
"""What a program that was killed leaves beside a file, and what belongs to one that is written."""
_NAMES_ANOTHER = bytes.fromhex("d9d505f920a163d7")
"""How a rollback journal ends that names a further file, which SQLite would delete after it has rolled back."""


class OpenDatabase:
    """A read-only database, for one thread at a time; `short`: the end of the file is missing."""

    def __init__(self, path: StrPath, form: Format = RECORDING) -> None:
        self._form = form
        name = check_source(path, form.what).resolve()  # what stands beside it stands beside the file, not a link
        self._said, self._name = path_text(path), name
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        self._logged, self.left_out = False, ""
        self._use: FileUse | None = None
        self.database: sqlite3.Connection
        try:
            if (size := name.stat().st_size) < SMALLEST:
                what = "empty" if not size else f"not a {form.what}, or only its first {size} bytes"
                raise FileFormatError(f"{self._said} is {what}; nothing can be read")
            if not os.access(name, os.R_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            self.stamp = stamp(name)
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
        logged = any(part.exists() for part in _log_files(path))
        if logged:
            self._check_journal(path)
        self._use = FileUse(path, logged=logged)
        if self._use.foreign:
            self.left_out = f"the log beside it ({path.name}-wal) belongs to another {self._form.what} and was left out"
            self.database = reading(path, alone=True)
            return self._check()
        self._logged = logged
        if logged and not mine:
            path = self._copied(path)
        if logged:
            _repair(path, self._form)
        self.database = reading(path, alone=not mine and not logged)
        short = self._check()
        if mine and not logged and self._mode() == "wal":  # it was killed while it was closed, or read meanwhile
            self.database.close()  # else nobody could repair it
            _repair(path, self._form)
            self.database = reading(path, alone=False)
            short = self._check()
        return short

    def _check_journal(self, path: Path) -> None:
        """Recordings are changed alone, so no journal of theirs names another file."""
        journal = path.with_name(f"{path.name}-journal")
        if journal.exists() and _ends_with(check_source(journal, "journal"), _NAMES_ANOTHER):
            raise FileFormatError(
                f"cannot read {self._said}: {path_text(journal.name)} beside it asks to delete another file, which no "
                f"{self._form.what} does; remove {path_text(journal.name)} and try again"
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
                raise FileFormatError(f"{self._said} is not a {self._form.what} ({self._form.made})") from None
            if isinstance(error, sqlite3.OperationalError):  # it is locked, or its folder is
                raise InputError(f"cannot read {self._said}: {error}") from None
            # SQLite reads nothing of a file that is shorter than it says, but for this; nothing can be written anyway
            self.database.execute("PRAGMA writable_schema = ON")
            short = True
            try:
                application = self._pragma("application_id")
            except DAMAGED:
                raise FileFormatError(f"{self._said} is cut off; nothing can be read: {error}") from None
        version = self._pragma("user_version")
        what, ours = self._form.what, self._form.version
        if application != self._form.application:
            raise FileFormatError(f"{self._said} is an SQLite file of another program, not a {what}")
        if version != ours:
            why = "made by a newer scalarviz; update yours" if version > ours else "which is too old"
            raise FileFormatError(
                f"{self._said} is a {what} of version {version}, {why} (this scalarviz reads version {ours})"
            )
        return short

    def _pragma(self, name: str) -> int:
        return int(self.database.execute(f"PRAGMA {name}").fetchone()[0])

    def _copied(self, path: Path) -> Path:
        """A copy of the file and its log: reading the log needs a folder that can be written to."""
        self._copy = tempfile.TemporaryDirectory(prefix=scratch())
        copy = Path(self._copy.name) / "run.svz"
        for _ in range(_TRIES):
            before = stamp(path)
            for source, target in zip((path, *_log_files(path)), (copy, *_log_files(copy)), strict=True):
                target.unlink(missing_ok=True)
                if source.exists():
                    shutil.copyfile(source, target)
            if stamp(path) == before:  # else it is being written, and the two may not belong together
                return copy
        raise InputError(
            f"cannot read {self._said}: another program is writing it, in a folder that you cannot write to"
        )

    @property
    def changed(self) -> bool:
        """Whether something was written since it was opened."""
        return stamp(self._name) != self.stamp

    @property
    def altered(self) -> bool:
        """Whether the file itself was written to since it was opened; another one in its place changes nothing here."""
        now, before = _stat(self._name), self.stamp[0]
        return now is not None and before is not None and now[:2] == before[:2] and now != before

    @property
    def replaced(self) -> bool:
        """Whether its name means another file by now."""
        now, before = _stat(self._name), self.stamp[0]
        return now is not None and (before is None or now[:2] != before[:2])

    def close(self) -> None:
        """Let go of it."""
        with suppress(AttributeError, sqlite3.Error):
            self.database.close()
        if self._use is not None:
            self._use.end()
        if self._copy is not None:
            self._copy.cleanup()
        elif self._logged and _mine(self._name) and any(part.exists() for part in _log_files(self._name)):
            with suppress(FileFormatError, InputError, OSError):
                self._check_journal(self._name)
                _repair(self._name, self._form)  # who closed it meanwhile could not make it one file


def _mine(path: Path) -> bool:
    return os.access(path.parent, os.W_OK) and os.access(path, os.W_OK)


def _log_files(path: Path) -> list[Path]:
    return [path.with_name(f"{path.name}{suffix}") for suffix in _BESIDE]


def _ends_with(path: Path, end: bytes) -> bool:
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - len(end)))
        return file.read() == end


Stat = tuple[int, int, int, int]


def _stat(path: Path) -> Stat | None:
    """Which file it is (two numbers), its size and time; None where there is none."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns


def stamp(path: Path) -> list[Stat | None]:
    """Of a file and of what is beside it."""
    return [_stat(part) for part in (path, *_log_files(path))]


def _repair(path: Path, form: Format) -> None:
    """Put the log of a file that was not closed into the file; where others have it open it stays as it is."""
    with suppress(*DAMAGED), closing(sqlite3.connect(address(path, "rw"), timeout=0, uri=True,
                                                     isolation_level=None)) as database:  # fmt: skip
        # where this fails it is being written, or damaged: then it is read as it is
        database.execute("PRAGMA trusted_schema = OFF")
        if database.execute("PRAGMA application_id").fetchone()[0] == form.application:
            database.execute("PRAGMA journal_mode = DELETE").fetchone()


def _check_tables(database: sqlite3.Connection, form: Format, said: str) -> None:
    """Exactly ours, to the letter: no view, trigger, or column that computes anything."""
    ours = form.objects
    try:
        found = database.execute("SELECT name, sql FROM sqlite_schema LIMIT ?", (len(ours) + 1,)).fetchall()
    except DAMAGED as error:
        raise FileFormatError(f"{said} is damaged: {error}") from None
    if dict(found) != ours or len(found) != len(ours):
        raise FileFormatError(f"{said} has other tables than a {form.what}, or lost some; it is not read")


class Contents:
    """What is read at once: all but the arrays of frames. Whoever reads holds `lock`.

    All is of the moment at which it was opened: a read transaction of SQLite lasts until :meth:`close` or
    :meth:`release`. `known`: checksums by the ids of frames. On branch `current` the run stood last.
    """

    def __init__(self, path: StrPath, known: Mapping[int, int] = MappingProxyType({})) -> None:
        self.path, self.lock, self._users, self._pinned = path, threading.RLock(), 1, True
        self._opened: OpenDatabase | None = OpenDatabase(path)
        short = self._opened.short
        try:
            self._read(short, known)
        except (*DAMAGED, FileFormatError) as error:
            self.close()
            what = "is cut off; nothing can be read" if short else "cannot be read"
            raise FileFormatError(f"{path_text(path)} {what}: {error}") from None
        except BaseException:
            self.close()
            raise

    def _read(self, short: bool, known: Mapping[int, int]) -> None:
        database, left_out = self.database, self.opened.left_out
        meta = database.execute("SELECT name, value FROM meta WHERE length(value) < 1048576 LIMIT 1000").fetchall()
        self.meta = {name: text for name, text in meta if isinstance(text, str)}
        self.about: About = read_about(self.meta.get("about", "{}"))
        self.networks = read_networks(database, self.about.inputs)
        self.branches = Branches(database)
        self.index: Index = read_index(database, self.networks, self.branches.twigs, doubted=short, known=known)
        self.micro = MicroTable(database)
        index, lost = self.index, self.index.remarks
        if not len(index.frames):
            why = "; ".join(filter(None, [index.broken, *lost, left_out]))
            raise FileFormatError(why or "it has no readable frame")
        if index.broken or self.branches.broken or short:
            what = "the end is missing" if short else "it is damaged"
            lost.append(f"{what}: {len(index.frames):,} frames could be read")
        self.remark = "; ".join(filter(None, [*lost, left_out]))
        self.branches.reach(index.newest)
        now = self.number("branch", 10)
        self.current = now if now in self.branches.twigs else int(index.frames["branch"][-1])

    def number(self, name: str, digits: int = 16) -> int:
        """A whole number of less than so many digits among what is said of it; -1 where there is none."""
        said = self.meta.get(name, "")
        return int(said) if said.isascii() and said.isdigit() and len(said) < digits else -1

    @property
    def complete(self) -> bool:
        """Whether whoever wrote it had closed it."""
        return "writer" not in self.meta

    @property
    def altered(self) -> bool:
        """Whether somebody has written into the file since it was opened, though it was closed."""
        return self.complete and self.opened.altered

    def newer(self) -> Contents | None:
        """The same file as it is now; None where nothing was written since."""
        with self.lock:
            opened = self.opened
            if not opened.changed:
                return None
        if not opened.replaced:
            found = Contents(self.path, self.index.known)
            if found.meta.get("log") == self.meta.get("log"):
                return found
            found.close()
        raise FileFormatError(f"{path_text(self.path)} was replaced by another file")

    @property
    def opened(self) -> OpenDatabase:
        """The file; StateError if it is closed."""
        if self._opened is None:
            raise StateError(f"{path_text(self.path)} is closed; load it again")
        return self._opened

    @property
    def database(self) -> sqlite3.Connection:
        """To read from, while `lock` is held."""
        return self.opened.database

    def release(self) -> None:
        """Hold the moment no longer: as long as anybody does, the writer's log cannot be cleared, and grows."""
        with self.lock:
            if self._pinned:
                self._pinned = False
                with suppress(*DAMAGED):
                    self.database.execute("COMMIT")

    def shared(self) -> Contents:
        """For one more reader, who closes it, too."""
        with self.lock:
            self.opened  # noqa: B018 (whether it is open)
            self._users += 1
        return self

    def close(self) -> None:
        """One reader less; the last one lets go of the file."""
        with self.lock:
            self._users -= 1
            if self._users > 0 or self._opened is None:
                return
            opened, self._opened = self._opened, None
            opened.close()
