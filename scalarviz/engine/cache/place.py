"""Where compiled kernels are kept, and whether what lies there may be loaded: it is code.

::

    <user's cache>/scalarviz/<version>/      one folder for each version of all that becomes machine code

A folder is never changed in its meaning, only left behind; what nobody has used for a month is removed by others.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from ...errors import InputError
from .trust import foreign

OWN = "SCALARVIZ_CACHE_DIR"
"""Environment variable that names another folder."""
PRIVATE = 0o700
"""Mode of the folders that are made here; others neither write nor read them."""
BUILD = "build-"
"""Begins the names of what is not whole yet."""
UNUSED_DAYS, UNFINISHED_DAYS = 30, 1
SAMPLE = bytes(1 << 16)
"""What is written to see: on a full disk a few bytes may still find a place."""


def user_cache() -> Path:
    """The folder of the user's caches; ``SCALARVIZ_CACHE_DIR`` names another one.

    Raises
    ------
    InputError
        There is no such home folder.
    """
    own = os.environ.get(OWN)
    try:
        if own:
            return Path(own).expanduser()
        if sys.platform == "win32":
            return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "scalarviz"
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches" / "scalarviz"
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "scalarviz"
    except RuntimeError:  # pathlib's word for a home folder that nobody knows
        if own:
            raise InputError(f"{OWN} is {own!r}, and there is no home folder of that user; name a folder") from None
        raise InputError(f"there is no home folder to keep compiled kernels in; {OWN} names a folder") from None


class Place:
    """The folders of the versions of one engine's code.

    Parameters
    ----------
    key : callable
        The hash that names this version's folder; asked when it is needed.
    prefix : str
        Begins the names of the folders, so that no two engines take one for their own.
    """

    def __init__(self, key: Callable[[], str], prefix: str = "") -> None:
        self.key, self.prefix = key, prefix

    def folder(self) -> Path:
        """The folder of this version (it may not exist yet)."""
        return user_cache() / (self.prefix + self.key())

    def make(self) -> Path:
        """The same, made where it was not there, for nobody but this user; OSError if that cannot be done."""
        path = self.folder()
        path.parent.parent.mkdir(parents=True, exist_ok=True)
        for made in (path.parent, path):
            made.mkdir(mode=PRIVATE, exist_ok=True)
        return path

    def closed(self, unit: str = "") -> str:
        """Why nothing may be loaded from the folder, or a unit in it: one clause; empty if it may.

        Whoever can write there can run code as this user. So every folder from the user's cache down, and the unit, a
        file or a folder with its files, has to belong to this user and be writable by nobody else.
        """
        try:
            root = user_cache()
        except InputError as error:
            return str(error)
        for path in self._on_the_way(root, unit):
            if reason := foreign(path):
                why = f"{path} {reason}; {OWN} names another folder"
                return f"the cache folder {root} is not used, since compiled kernels are code: {why}"
        return ""

    def _on_the_way(self, root: Path, unit: str) -> Iterator[Path]:
        here = self.folder()
        yield from (root, here)
        if unit:
            yield here / unit
            with suppress(OSError):  # a file; or it is not there, or cannot be read, which its reader finds out
                yield from sorted((here / unit).iterdir())

    def refusal(self) -> str:
        """Why kernels are not kept or not loaded: the folder, the reason and what to do, as one clause; or nothing.

        A folder that is not there yet is not made.
        """
        if reason := self.closed():
            return reason
        folder = user_cache()
        nearest = next(path for path in (folder, *folder.parents) if os.path.exists(path))  # Path.exists() may raise
        try:
            if nearest != folder:
                if not nearest.is_dir():
                    raise NotADirectoryError(None, "not a directory")
                if not os.access(nearest, os.W_OK | os.X_OK):
                    raise PermissionError(None, "permission denied")
            else:
                with tempfile.TemporaryFile(dir=folder) as file:
                    file.write(SAMPLE)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            return f"the cache folder {folder} cannot be written ({reason}); {OWN} names another one"
        return ""

    def prune(self) -> None:
        """Remove other versions that nobody has used for a month, and what was never finished."""
        here = self.folder()
        with suppress(OSError):  # tidying is a courtesy
            os.utime(here)
            old = [p for p in here.parent.iterdir() if p != here and self._is_version(p) and _age(p) > UNUSED_DAYS]
            for path in (*old, *(p for p in here.glob(f"{BUILD}*") if _age(p) > UNFINISHED_DAYS)):
                remove(path)

    def _is_version(self, path: Path) -> bool:
        return path.name.startswith(self.prefix) and len(path.name) == len(self.folder().name)

    def used(self) -> None:
        """Say, once a process, that this version is in use."""
        _touch(self.folder())


def remove(path: Path) -> None:
    """Take a folder or a file away, as far as that is allowed."""
    shutil.rmtree(path, ignore_errors=True)
    with suppress(OSError):
        path.unlink(missing_ok=True)


@cache
def warn_once(message: str) -> None:
    """Warn in one line (without a line of source), once a process."""
    warnings.warn_explicit(message, RuntimeWarning, filename="scalarviz", lineno=0)


@cache
def _touch(folder: Path) -> None:
    with suppress(OSError):
        os.utime(folder)


def _age(path: Path) -> float:
    return (time.time() - path.stat().st_mtime) / 86400
