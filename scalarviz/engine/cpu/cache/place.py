"""Where compiled kernels are kept, and whether what lies there may be loaded: it is code. Loads no numba."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ....errors import InputError
from ...cache.trust import foreign
from .key import key

OWN = "SCALARVIZ_CACHE_DIR"
"""Environment variable that names another folder."""
PRIVATE = 0o700
"""Mode of the folders that are made here; others neither write nor read them."""


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


def folder() -> Path:
    """The folder of this version of the kernels (it may not exist yet)."""
    return user_cache() / key()


def make_folder() -> Path:
    """The same, made where it was not there, for nobody but this user; OSError if that cannot be done."""
    path = folder()
    path.parent.parent.mkdir(parents=True, exist_ok=True)
    for made in (path.parent, path):
        made.mkdir(mode=PRIVATE, exist_ok=True)
    return path


def closed(unit: str = "") -> str:
    """Why nothing may be loaded from the folder, or from a unit in it: one clause; empty if it may.

    Whoever can write there can run code as this user. So every folder from the user's cache down and every file of
    the unit has to belong to this user and be writable by nobody else. (Windows has no such modes: there the folders
    above answer for it.)
    """
    try:
        root = user_cache()
    except InputError as error:
        return str(error)
    for path in _on_the_way(root, unit):
        if reason := foreign(path):
            why = f"{path} {reason}; {OWN} names another folder"
            return f"the cache folder {root} is not used, since compiled kernels are code: {why}"
    return ""


def _on_the_way(root: Path, unit: str) -> Iterator[Path]:
    here = root / key()
    yield from (root, here)
    if unit:
        yield here / unit
        with suppress(OSError):  # it is not there; or it cannot be read, which its reader finds out
            yield from sorted((here / unit).iterdir())
