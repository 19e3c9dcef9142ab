"""`Contents`: one recording's file as it was at one moment, for all who read it then: its branches share it."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from ...errors import FileFormatError, StateError
from ...io.atomic import StrPath, path_text
from .about import About, read_about
from .branches import Branches
from .files import is_written
from .index import Index, checked, read_index
from .networks import read_networks
from .opening import Opened
from .schema import DAMAGED
from .step_table import MicroTable


class Contents:
    """What is read at once: all but the numbers of frames, which are read when they are asked for.

    Whatever is written meanwhile, and whatever thinning lets go of, what is read is of the moment at which it was
    opened: a read transaction of SQLite lasts until it is closed, or until :meth:`release`.

    Parameters
    ----------
    path : path
    known : mapping of int to int, optional
        Checksums of frames that were looked at before, by their ids.

    Attributes
    ----------
    lock : RLock
        Held by whoever reads.
    meta : dict of str to str
    about : About
    networks : mapping of int to Shapes
    branches : Branches
    index : Index
    micro : MicroTable or None
        None where the file is older than they are.
    remark : str
        What could not be read, one clause; empty where all could.
    newest : dict of int to int
        The last step of a frame of each branch.
    current : int
        The branch on which the run stood last.

    Raises
    ------
    InputError
        There is no such file.
    FileFormatError
        It is no recording, one of another version, or so damaged that nothing can be read.
    """

    def __init__(self, path: StrPath, known: Mapping[int, int] | None = None) -> None:
        self.path, self.lock, self._users, self._pinned = path, threading.RLock(), 1, True
        self._opened: Opened | None = Opened(path)
        short = self._opened.short
        try:
            self._read(short, known)
        except (*DAMAGED, FileFormatError) as error:
            self.close()
            what = "is cut off, and nothing of it can be read" if short else "cannot be read"
            raise FileFormatError(f"{path_text(path)} {what}: {error}") from None
        except BaseException:
            self.close()
            raise

    def _read(self, short: bool, known: Mapping[int, int] | None) -> None:
        database = self.database
        meta = dict(
            database.execute("SELECT name, value FROM meta WHERE length(value) < 1048576 LIMIT 1000").fetchall()
        )
        self.meta = {name: text for name, text in meta.items() if isinstance(text, str)}
        self.about: About = read_about(self.meta.get("about", "{}"))
        self.networks = read_networks(database, self.about.inputs)
        self.branches = Branches(database)
        self.index: Index = read_index(database, self.networks, self.branches.twigs, doubted=short, known=known)
        self.micro = MicroTable(database)
        index = self.index
        lost = index.remarks
        if not len(index.id):
            why = "; ".join(filter(None, [index.broken, *lost, self.opened.left_out]))
            raise FileFormatError(why or "it holds no frame that can be read")
        if index.broken or self.branches.broken or short:
            what = "its end is missing" if short else "it is damaged"
            lost.append(f"{what}: {len(index.id):,} frames could be read")
        self.remark = "; ".join([*lost, *filter(None, [self.opened.left_out])])
        self._sums = index.known
        self.newest = {int(b): int(index.step[index.branch == b].max()) for b in np.unique(index.branch)}
        now = self.number("branch", 10)
        self.current = now if now in self.branches.twigs else int(index.branch[-1])

    def number(self, name: str, digits: int = 16) -> int:
        """A whole number of less than so many digits among what is said of it; -1 where there is none."""
        said = self.meta.get(name, "")
        return int(said) if said.isascii() and said.isdigit() and len(said) < digits else -1

    @property
    def complete(self) -> bool:
        """Whether whoever wrote it had closed it."""
        return "writer" not in self.meta

    @property
    def growing(self) -> bool:
        """Whether the program that writes it lives and had not closed it."""
        return is_written(self.meta.get("writer", ""))

    @property
    def altered(self) -> bool:
        """Whether somebody has written into the file since it was opened, though it was closed."""
        return self.complete and self.opened.altered

    def newer(self) -> Contents | None:
        """The same file as it is now; None where nothing was written since.

        Raises
        ------
        InputError, FileFormatError
            It is there no more, or cannot be read any more.
        """
        with self.lock:
            opened = self.opened
            if not opened.changed:
                return None
        found = None if opened.replaced else Contents(self.path, self._sums)
        if found is not None and found.meta.get("log") == self.meta.get("log"):
            return found
        if found is not None:
            found.close()
        raise FileFormatError(f"{path_text(self.path)} is another file by now")

    @property
    def opened(self) -> Opened:
        """The file.

        Raises
        ------
        StateError
            It is closed.
        """
        if self._opened is None:
            raise StateError(f"{path_text(self.path)} is closed; load it again")
        return self._opened

    @property
    def database(self) -> sqlite3.Connection:
        """To read from, while `lock` is held."""
        return self.opened.database

    def release(self) -> None:
        """Hold the moment no longer: as long as anybody does, the log of who writes cannot be cleared, and grows.

        What was read stays. Numbers are from now on those of the file as it is then, of frames that are still the same.
        """
        with self.lock:
            if self._pinned:
                self._pinned = False
                with suppress(*DAMAGED):
                    self.database.execute("COMMIT")

    def row(self, number: int, columns: str) -> tuple[Any, ...] | None:
        """Columns of a frame by its id; None where it is gone.

        Raises
        ------
        FileFormatError
            They cannot be read.
        """
        # another frame may have its id by now: of this file, or of one that was written over it
        asked, wanted = f"SELECT {columns} FROM frame WHERE id = ? AND checksum = ?", (number, self._sums[number])
        with self.lock:
            try:
                found = self.database.execute(asked, wanted).fetchone()
                if self.altered and checked(self.database, number) is None:
                    return None
            except DAMAGED as error:
                raise FileFormatError(str(error)) from None
        return None if found is None else tuple(found)

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
