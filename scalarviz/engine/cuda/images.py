"""Machine code of kernels: carried here from another machine, from the cache on disk, or compiled.

``SCALARVIZ_CUBINS`` names a folder of kernels that were compiled on another machine, for one that has a GPU and no
compiler. A file's name says the kernel, the version of all that becomes machine code and the architecture; its first
line is a hash of its name and of what follows. It is code: nothing is loaded from a folder where others can write.
Compile from the same checkout; what is not there is compiled here.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..cache import PACKAGE, digest, intruder, sources, warn_once
from . import kept
from .kept import FORM, SOURCES

if TYPE_CHECKING:
    from .catalog import Kernel


NAMED = "SCALARVIZ_CUBINS"
"""Environment variable: the folder."""
SEAL = 64


def load_carried(kernel: Kernel, name: str, capability: tuple[int, int]) -> bytes | None:
    """Code of a kernel from the folder that is named: made for this GPU, or a smaller one of its generation."""
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


def store_carried(folder: Path, kernel: Kernel, name: str, capability: tuple[int, int], code: bytes) -> Path:
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


def image(kernel: Kernel, capability: tuple[int, int], driver: int, link: Callable[[str], bytes]) -> bytes:
    """What the driver of that version loads for a device of that capability; `link` makes machine code of PTX."""
    if (made := load_carried(kernel, entry(kernel), capability)) is not None:
        return made
    name = image_name(kernel, capability, driver)
    found = kept.load(name)
    if found is None:
        found = link(text(kernel, capability))
        kept.store(name, found)
    return found


@lru_cache(maxsize=1024)
def text(kernel: Kernel, capability: tuple[int, int]) -> str:
    """The kernel's PTX, its entry under the name of :func:`entry`."""
    name = text_name(kernel, capability)
    found = kept.load(name)
    if found is None:
        found = _compiled(kernel, capability).encode()
        kept.store(name, found)
    return found.decode()


def _compiled(kernel: Kernel, capability: tuple[int, int]) -> str:
    found = kernel.ptx(capability)
    mangled = re.search(r"\.visible \.entry (\w+)\(", found)
    if mangled is None:
        raise AssertionError(f"no entry in the code of {kernel.name}")
    return found.replace(mangled.group(1), entry(kernel))


def entry(kernel: Kernel) -> str:
    """What the kernel is called in its code, where names are of English letters."""
    return re.sub(r"\W", "_", f"{kernel.name}_{kernel.dtype}", flags=re.ASCII)


def text_name(kernel: Kernel, capability: tuple[int, int]) -> str:
    """Under which name :func:`text` is kept."""
    return f"{_file(kernel, capability)}.ptx"


def image_name(kernel: Kernel, capability: tuple[int, int], driver: int) -> str:
    """Under which name :func:`image` is kept."""
    return f"{_file(kernel, capability)}-{driver}.cubin"


def _file(kernel: Kernel, capability: tuple[int, int]) -> str:
    return f"{entry(kernel)}-{kernel.key}-sm_{capability[0]}{capability[1]}"
