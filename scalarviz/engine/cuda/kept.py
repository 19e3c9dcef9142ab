"""GPU code on disk: PTX, which needs no GPU, and what the driver made of it. One sealed file for each piece.

A file is written beside its place and moved there when it is whole, so processes that compile at the same time do not
meet, and one that is killed leaves nothing that is taken for code. A file that does not match its seal (a hash of its
name and its content) is made anew.

The folder's name is a hash of what becomes machine code, libNVVM's version included. What a kernel is written from (the
ops table, a program) is in the name of its file, see ``images``.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tempfile
from functools import cache
from pathlib import Path

from ..cache import (
    BUILD,
    OWN,
    PACKAGE,
    Place,
    digest,
    installed,
    remove,
    settings,
    settings_file,
    sources,
    user_cache,
    warn_once,
)
from .nvvm import toolkit

SOURCES = (
    "engine/cuda/kernels/*.py", "engine/cuda/jit.py", "engine/cuda/catalog.py", "engine/cuda/images.py", "rng.py",
)  # fmt: skip
FORM = 1
"""How `files` and ``images`` name and write the files: counts on when that changes."""
SETTINGS = (
    "NUMBA_OPT", "NUMBA_LOOP_VECTORIZE", "NUMBA_SLP_VECTORIZE", "NUMBA_BOUNDSCHECK", "NUMBA_DEBUGINFO",
    "NUMBA_CUDA_DEBUGINFO", "NUMBA_ENABLE_PROFILING", "NUMBA_EXTEND_VARIABLE_LIFETIMES",
)  # fmt: skip
"""Variables of numba that change the code it makes."""


@cache
def key() -> str:
    """Hash of all that the machine code depends on, generated sources apart; MissingDependencyError without libNVVM."""
    versions = sys.version, *(installed(name) for name in ("numba", "numba-cuda", "llvmlite")), toolkit()
    return digest((FORM, versions, settings(SETTINGS), settings_file()), sources(PACKAGE, SOURCES))


PLACE = Place(key, "cuda-")
_MARK = b"scalarviz GPU code\n"


def load(name: str) -> bytes | None:
    """What was kept under a name; None if there is nothing that may be used."""
    path = _path(name)
    if reason := PLACE.closed(name):
        warn_once(f"{reason}; compiling in memory")
        return None
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        warn_once(f"cannot read compiled kernels in {path.parent} ({error.strerror or error}); compiling them anew")
        return None
    PLACE.used()
    image = _unsealed(name, content)
    if image is None:
        warn_once(f"compiled kernels in {path.parent} are damaged and are made anew")
        remove(path)
    return image


def store(name: str, image: bytes) -> None:
    """Keep a piece of machine code; where that cannot be done, this process goes on without, and says so once."""
    path = _path(name)
    if reason := PLACE.closed(name):
        warn_once(f"{reason}; compiling in memory")
        return
    try:
        _write(PLACE.make() / path.name, _MARK + _seal(name, image) + image)
    except OSError as error:
        warn_once(
            f"cannot keep compiled kernels in {user_cache()} ({error.strerror or error}); compiling in memory. "
            f"Free some space, or set {OWN} to a folder that can be written"
        )
        return
    _tidied(path.parent)


def has(name: str) -> bool:
    """Whether there is a file of that name, and it may be loaded."""
    return os.path.isfile(_path(name)) and not PLACE.closed(name)


def _path(name: str) -> Path:
    if not re.fullmatch(r"\w[\w.-]*", name, re.ASCII) or name.startswith(BUILD):
        raise ValueError(f"{name!r} names no piece of machine code")
    return PLACE.folder() / name


def _write(path: Path, content: bytes) -> None:
    handle, made = tempfile.mkstemp(prefix=BUILD, dir=path.parent)  # this user's alone
    try:
        with open(handle, "wb") as file:
            file.write(content)
        os.replace(made, path)
    except BaseException:
        remove(Path(made))
        raise


def _seal(name: str, image: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\0" + image).hexdigest().encode() + b"\n"


def _unsealed(name: str, content: bytes) -> bytes | None:
    start = len(_MARK) + 65
    image = content[start:]
    return image if content[:start] == _MARK + _seal(name, image) else None


@cache
def _tidied(folder: Path) -> None:
    PLACE.prune()
