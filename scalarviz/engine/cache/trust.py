"""Whether a file or folder can be changed by others. Who can write where code is read runs code as this user."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from shlex import quote

ROOT = 0
"""Number of the user who may do everything anyway."""


def foreign(path: Path) -> str:
    """Why a file or folder is not this user's alone, as one clause; empty if it is, or is not there.

    (Windows has no such modes: there the folders above answer for it.)
    """
    if not hasattr(os, "getuid"):
        return ""
    try:
        found = os.stat(path)
    except OSError:
        return ""
    if found.st_uid != os.getuid():
        return _others(found)
    return _writable(path, found, "-R ") if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) else ""


def intruder(path: Path) -> str:
    """The first of a file and the folders above it that others than this user and root can change, and why.

    The way that `path` names is looked at and the one that links lead to. A folder where all may write but only owners
    may rename and remove (``/tmp``) is passed, and one that root has opened to a group of his own. Empty if there is
    none.
    """
    if not hasattr(os, "getuid"):
        return ""
    for part in _ways(path):
        found = os.stat(part)
        if found.st_uid not in (os.getuid(), ROOT):
            return f"{part} {_others(found)}"
        group = found.st_mode & stat.S_IWGRP and found.st_uid != ROOT
        sticky = stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX
        if (group or found.st_mode & stat.S_IWOTH) and not sticky:
            return f"{part} {_writable(part, found)}"
    return ""


def _ways(path: Path) -> Iterator[Path]:
    named = Path(os.path.abspath(path))
    yield from dict.fromkeys(part for way in (named, named.resolve()) for part in (way, *way.parents))


def _others(found: os.stat_result) -> str:
    return f"belongs to another user (number {found.st_uid})"


def _writable(path: Path, found: os.stat_result, whole: str = "") -> str:
    remedy = f"chmod {whole}go-w {quote(str(path))}"
    return f"can be written by others (mode {stat.S_IMODE(found.st_mode):o}), which `{remedy}` ends"
