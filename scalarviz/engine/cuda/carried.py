"""Kernels that were compiled on another machine, for one that has a GPU and no compiler.

``SCALARVIZ_CUBINS`` names their folder. A file's name says the kernel, the version of all that becomes machine code and
the architecture; its first line is a hash of its name and of what follows. It is code: nothing is loaded from a folder
where others can write. Whoever compiles elsewhere has to take the same checkout; what is not there is compiled here.
Loads no numba.
"""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..cache.place import warn_once
from ..cache.trust import intruder
from ..cache.version import PACKAGE, digest, sources
from .kept.key import FORM, SOURCES

if TYPE_CHECKING:
    from .catalog import Kernel

NAMED = "SCALARVIZ_CUBINS"
"""Environment variable: the folder."""
SEAL = 64


def load(kernel: Kernel, name: str, capability: tuple[int, int]) -> bytes | None:
    """Machine code of a kernel that the GPU can run: made for it, or for a smaller one of its generation.

    Parameters
    ----------
    kernel : Kernel
    name : str
        What it is called in its code.
    capability : (int, int)
        Of the GPU.

    Returns
    -------
    bytes or None
        None where no folder is named, or none of its files may be used.
    """
    if not (folder := named()):
        return None
    for minor in range(capability[1], -1, -1):
        path = folder / file_name(kernel, name, (capability[0], minor))
        if path.is_file():
            if reason := intruder(path):
                warn_once(f"kernels of {folder} ({NAMED}) are not loaded, since they are code: {reason}")
                return None
            code = _unsealed(path.name, path.read_bytes())
            if code is None:
                warn_once(f"{path} is damaged and is not loaded; compile it anew")
            return code
    return None


def named() -> Path | None:
    """The folder that is named."""
    given = os.environ.get(NAMED, "")
    return Path(os.path.expanduser(given)) if given else None


def store(folder: Path, kernel: Kernel, name: str, capability: tuple[int, int], code: bytes) -> Path:
    """Write a file as :func:`load` reads it; returns its path."""
    path = folder / file_name(kernel, name, capability)
    beside = path.with_suffix(".new")
    beside.write_bytes(_seal(path.name, code) + b"\n" + code)
    os.replace(beside, path)
    return path


def file_name(kernel: Kernel, name: str, capability: tuple[int, int]) -> str:
    """Of a kernel for an architecture."""
    return f"{name}-{kernel.key}-{_version()}-sm_{capability[0]}{capability[1]}.cubin"


@cache
def _version() -> str:
    """Of all sources that become machine code, the compilers apart: they need not be here."""
    return digest(("carried", FORM), sources(PACKAGE, SOURCES))


def _seal(name: str, code: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\0" + code).hexdigest().encode()


def _unsealed(name: str, content: bytes) -> bytes | None:
    code = content[SEAL + 1 :]
    return code if content[: SEAL + 1] == _seal(name, code) + b"\n" else None
