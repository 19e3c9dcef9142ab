"""Open a recording's file at one moment: check and repair it before its content is used."""

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
from ....io.atomic import StrPath, check_source, path_text, scratch, unreadable
from ...panels.base import PanelPicture
from .file import FileUse, Stat, address, reading, stat_of
from .index import Branches, Index, read_index, read_networks
from .items import About, read_about
from .programs import Rules
from .tables import DAMAGED, LONGEST_NAME, RECORDING, Format, clean

MOST_PICTURES = 10_000
MOST_BYTES = 32 << 20
MOST_SIDE = 16_384
KINDS = {b"\x89PNG\r\n\x1a\n": "png", b"RIFF": "webp", b"\x78\xda": "list"}
"""First bytes of an image, and its kind; a list is deflated JSON."""


def image_kind(image: bytes) -> str:
    """Return the kind of an image from its first bytes; empty for anything else."""
    return next((kind for begins, kind in KINDS.items() if image.startswith(begins)), "")


def write_pictures(path: StrPath, pictures: Sequence[tuple[int, PanelPicture]]) -> None:
    """Put pictures into a closed recording, each with the row of its frame; InputError if the disk fails."""
    rows = [(frame, one.panel, one.width, one.height, one.image) for frame, one in pictures]
    try:
        with closing(sqlite3.connect(address(path, "rw"), uri=True)) as database, database:
            database.executemany("INSERT INTO picture VALUES (NULL, ?, ?, ?, ?, ?)", rows)
    except sqlite3.Error as error:
        raise InputError(f"cannot write panel pictures to {path_text(path)}: {error}") from None


def read_pictures(database: sqlite3.Connection, steps: Mapping[int, int]) -> tuple[PanelPicture, ...]:
    """Return the pictures of known frames; `steps` maps a frame's id to its step. Invalid pictures are left out."""
    found = []
    with suppress(*DAMAGED):  # a damaged end: earlier pictures stay
        rows = database.execute(
            "SELECT frame, panel, width, height, image FROM picture WHERE typeof(image) = 'blob' AND "
            "length(image) <= ? AND length(panel) <= ? ORDER BY id LIMIT ?", (MOST_BYTES, MOST_BYTES, MOST_PICTURES),
        )  # fmt: skip
        for frame, panel, width, height, image in rows:
            sides = all(isinstance(side, int) and 0 < side <= MOST_SIDE for side in (width, height))
            if frame in steps and isinstance(panel, str) and sides and image_kind(image):
                found.append(PanelPicture(clean(panel, LONGEST_NAME), steps[frame], width, height, image))
    return tuple(sorted(found, key=lambda picture: (picture.panel, picture.step)))


# ---- Open a recording from any source: nothing in it is executed, and everything is checked before use
#
# The file is read only through SQLite. In a process that records it, opening and closing it otherwise would
# drop the locks that keep others from changing it.


_TRIES = 8
SMALLEST = 1024
"""Bytes; SQLite reports nothing about shorter files."""
_BESIDE = ("-wal", "-journal")
"""Files that a killed program leaves beside its file, or that belong to a file in use."""
_NAMES_ANOTHER = bytes.fromhex("d9d505f920a163d7")
"""End of a rollback journal that names a further file, which SQLite would delete after the rollback."""


class OpenDatabase:
    """A read-only database, for one thread at a time; `short`: the end of the file is missing."""

    def __init__(self, path: StrPath, form: Format = RECORDING) -> None:
        self._form = form
        name = check_source(path, form.what).resolve()  # companion files are beside the file, not beside a link
        self._said, self._name = path_text(path), name
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        self._logged, self.left_out = False, ""
        self._use: FileUse | None = None
        self.database: sqlite3.Connection
        try:
            if (size := name.stat().st_size) < SMALLEST:
                what = "empty" if not size else f"not a {form.what}, or cut off after byte {size}"
                raise FileFormatError(f"{self._said} is {what}; nothing can be read")
            if not os.access(name, os.R_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            self.stamp = stamp(name)
            self.short = self._open(name)
            self.database.execute("BEGIN")  # all reads see one moment, even while it is written
            _check_tables(self.database, form, self._said, self.version)
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
            self.left_out = f"the log {path.name}-wal belongs to another {self._form.what} and was not read"
            self.database = reading(path, alone=True)
            return self._check()
        self._logged = logged
        if logged and not mine:
            path = self._copied(path)
        if logged:
            _repair(path, self._form)
        self.database = reading(path, alone=not mine and not logged)
        short = self._check()
        if mine and not logged and self._mode() == "wal":  # killed while it was closed, or read meanwhile
            self.database.close()  # otherwise it could not be repaired
            _repair(path, self._form)
            self.database = reading(path, alone=False)
            short = self._check()
        return short

    def _check_journal(self, path: Path) -> None:
        """Refuse a journal that names another file; those of recordings never do."""
        journal = path.with_name(f"{path.name}-journal")
        if journal.exists() and _ends_with(check_source(journal, "journal"), _NAMES_ANOTHER):
            raise FileFormatError(
                f"cannot read {self._said}: {path_text(journal.name)} would delete another file, which the journal of "
                f"a {self._form.what} never does; remove {path_text(journal.name)} and try again"
            )

    def _mode(self) -> str:
        with suppress(*DAMAGED):
            return str(self.database.execute("PRAGMA journal_mode").fetchone()[0])
        return ""

    def _check(self) -> bool:
        """Check that it is a recording of this version; return whether its end is missing."""
        short = False
        try:
            application = self._pragma("application_id")
        except DAMAGED as error:
            if "not a database" in str(error):
                raise FileFormatError(f"{self._said} is not a {self._form.what} ({self._form.made})") from None
            if isinstance(error, sqlite3.OperationalError):  # it is locked, or its folder is
                raise InputError(f"cannot read {self._said}: {error}") from None
            # SQLite reads nothing of a truncated file without this; nothing can be written anyway
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
        self.version = version
        if version != ours and version not in self._form.former:
            why = "made by a newer scalarviz; update scalarviz" if version > ours else "which is too old"
            raise FileFormatError(
                f"{self._said} is a {what} of version {version}, {why} (this scalarviz reads version {ours})"
            )
        return short

    def _pragma(self, name: str) -> int:
        return int(self.database.execute(f"PRAGMA {name}").fetchone()[0])

    def _copied(self, path: Path) -> Path:
        """Copy the file and its log; reading the log needs a writable folder."""
        self._copy = tempfile.TemporaryDirectory(prefix=scratch())
        copy = Path(self._copy.name) / "run.svz"
        for _ in range(_TRIES):
            before = stamp(path)
            for source, target in zip((path, *_log_files(path)), (copy, *_log_files(copy)), strict=True):
                target.unlink(missing_ok=True)
                if source.exists():
                    shutil.copyfile(source, target)
            if stamp(path) == before:  # otherwise it is being written, and the two may not match
                return copy
        raise InputError(
            f"cannot read {self._said}: another program is writing it, in a folder where you cannot write; try later"
        )

    @property
    def changed(self) -> bool:
        """True if anything was written since the file was opened."""
        return stamp(self._name) != self.stamp

    @property
    def altered(self) -> bool:
        """True if the file itself was written since it was opened; a file that replaced it does not count."""
        now, before = stat_of(self._name), self.stamp[0]
        return now is not None and before is not None and now[:2] == before[:2] and now != before

    @property
    def replaced(self) -> bool:
        """True if the path now leads to another file."""
        now, before = stat_of(self._name), self.stamp[0]
        return now is not None and (before is None or now[:2] != before[:2])

    def close(self) -> None:
        """Close the database and remove copies."""
        with suppress(AttributeError, sqlite3.Error):
            self.database.close()
        if self._use is not None:
            self._use.end()
        if self._copy is not None:
            self._copy.cleanup()
        elif self._logged and _mine(self._name) and any(part.exists() for part in _log_files(self._name)):
            with suppress(FileFormatError, InputError, OSError):
                self._check_journal(self._name)
                _repair(self._name, self._form)  # a program that closed it meanwhile could not merge its log


def _mine(path: Path) -> bool:
    return os.access(path.parent, os.W_OK) and os.access(path, os.W_OK)


def _log_files(path: Path) -> list[Path]:
    return [path.with_name(f"{path.name}{suffix}") for suffix in _BESIDE]


def _ends_with(path: Path, end: bytes) -> bool:
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - len(end)))
        return file.read() == end


def stamp(path: Path) -> list[Stat | None]:
    """Return the state of a file and of its companions."""
    return [stat_of(part) for part in (path, *_log_files(path))]


def _repair(path: Path, form: Format) -> None:
    """Merge the log of a file that was not closed; if others have it open, nothing changes."""
    with suppress(*DAMAGED), closing(sqlite3.connect(address(path, "rw"), timeout=0, uri=True,
                                                     isolation_level=None)) as database:  # fmt: skip
        # if this fails, it is being written or damaged, and is read as it is
        database.execute("PRAGMA trusted_schema = OFF")
        if database.execute("PRAGMA application_id").fetchone()[0] == form.application:
            database.execute("PRAGMA journal_mode = DELETE").fetchone()


def _check_tables(database: sqlite3.Connection, form: Format, said: str, version: int) -> None:
    """Check that the tables are exactly ours: no view, trigger, or computed column."""
    ours = form.former.get(version, form.objects)
    try:
        found = database.execute("SELECT name, sql FROM sqlite_schema LIMIT ?", (len(ours) + 1,)).fetchall()
    except DAMAGED as error:
        raise FileFormatError(f"{said} is damaged: {error}") from None
    if dict(found) != ours or len(found) != len(ours):
        raise FileFormatError(f"{said} cannot be read: its tables are not those of a {form.what}")


def closed_error(path: StrPath) -> StateError:
    """Return the error of a closed recording."""
    return StateError(f"{path_text(path)} is closed; load it again")


class Contents:
    """The content of a recording except the arrays of frames. Readers hold `lock`.

    All of it is from the moment of opening: a read transaction of SQLite lasts until :meth:`close` or
    :meth:`release`. `known` maps ids of frames to checksums. `current` is the branch that the run was last on.
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
        self.index: Index = read_index(database, self.networks, self.branches.twigs, short, known)
        self.rules = Rules(database, former=self.opened.version != RECORDING.version)
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
        """Return a whole number with fewer than `digits` digits from the table ``meta``; -1 if there is none."""
        said = self.meta.get(name, "")
        return int(said) if said.isascii() and said.isdigit() and len(said) < digits else -1

    @property
    def complete(self) -> bool:
        """True if the writer closed the file."""
        return "writer" not in self.meta

    @property
    def altered(self) -> bool:
        """True if a closed file was written since it was opened."""
        return self.complete and self.opened.altered

    def newer(self) -> Contents | None:
        """Return the same file as it is now; None if nothing was written since."""
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
        """The open file; StateError if it is closed."""
        if self._opened is None:
            raise closed_error(self.path)
        return self._opened

    @property
    def database(self) -> sqlite3.Connection:
        """The database, to read while `lock` is held."""
        return self.opened.database

    def release(self) -> None:
        """End the read transaction; while it lasts, the writer's log cannot be cleared, and grows."""
        with self.lock:
            if self._pinned:
                self._pinned = False
                with suppress(*DAMAGED):
                    self.database.execute("COMMIT")

    def shared(self) -> Contents:
        """Return this object for one more reader, who also closes it."""
        with self.lock:
            self.opened  # noqa: B018 (whether it is open)
            self._users += 1
        return self

    def close(self) -> None:
        """Close it for one reader; the last one closes the file."""
        with self.lock:
            self._users -= 1
            if self._users > 0 or self._opened is None:
                return
            opened, self._opened = self._opened, None
            opened.close()
