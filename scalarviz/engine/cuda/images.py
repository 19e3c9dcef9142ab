"""Machine code of kernels: carried here from another machine, from the cache on disk, or compiled.

The cache has PTX, which needs no GPU, and what the driver made of it. Its folder's name is a hash of what becomes
machine code, libNVVM's version included. What a kernel is written from (the ops table, a program) is in the name of its
file. A file is written beside its place and moved there when it is whole, so processes that compile at the same time do
not meet, and one that is killed leaves nothing that is taken for code. A file that does not match its seal (a hash of
its name and its content) is made anew.

``SCALARVIZ_CUBINS`` names a folder of kernels that were compiled on another machine, for one that has a GPU and no
compiler. A file's name says the kernel, the version of all that becomes machine code and the architecture. It is code:
nothing is loaded from a folder where others can write. Compile from the same checkout; what is not there is compiled
here.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tempfile
from collections.abc import Callable
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..cache import (
    BUILD,
    OWN,
    PACKAGE,
    CacheFolder,
    digest,
    installed,
    intruder,
    remove,
    settings,
    settings_file,
    sources,
    user_cache,
    warn_once,
)
from .nvvm import toolkit

if TYPE_CHECKING:
    from .kernel import Kernel

SOURCES = (
    "engine/cuda/kernels/*.py", "engine/cuda/jit.py", "engine/cuda/tensor.py", "engine/cuda/kernel.py",
    "engine/cuda/catalog.py", "engine/cuda/images.py", "rng.py",
)  # fmt: skip
SETTINGS = (
    "NUMBA_OPT", "NUMBA_LOOP_VECTORIZE", "NUMBA_SLP_VECTORIZE", "NUMBA_BOUNDSCHECK", "NUMBA_DEBUGINFO",
    "NUMBA_CUDA_DEBUGINFO", "NUMBA_ENABLE_PROFILING", "NUMBA_EXTEND_VARIABLE_LIFETIMES",
)  # fmt: skip
"""Variables of numba that change the code it makes."""


@cache
def key() -> str:
    """Hash of all that the machine code depends on, generated sources apart; MissingDependencyError without libNVVM."""
    versions = sys.version, *(installed(name) for name in ("numba", "numba-cuda", "llvmlite")), toolkit()
    return digest((versions, settings(SETTINGS), settings_file()), sources(PACKAGE, SOURCES))


PLACE = CacheFolder(key, "cuda-")
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
        warn_once(f"cannot read compiled kernels in {path.parent} ({error.strerror or error}); compiling them again")
        return None
    PLACE.used()
    image = _unsealed(name, content)
    if image is None:
        warn_once(f"compiled kernels in {path.parent} are damaged; compiling them again")
        remove(path)
    return image


def store(name: str, image: bytes) -> None:
    """Keep a piece of machine code; where that cannot be done, this process goes on without, and says so once."""
    path = _path(name)
    if reason := PLACE.closed(name):
        warn_once(f"{reason}; compiling in memory")
        return
    try:
        _write(PLACE.make() / path.name, image)
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


def _write(path: Path, image: bytes) -> None:
    handle, made = tempfile.mkstemp(prefix=BUILD, dir=path.parent)  # this user's alone
    try:
        with open(handle, "wb") as file:
            file.write(_seal(path.name, image) + image)
        os.replace(made, path)
    except BaseException:
        remove(Path(made))
        raise


def _seal(name: str, image: bytes) -> bytes:
    return _MARK + hashlib.sha256(name.encode() + b"\0" + image).hexdigest().encode() + b"\n"


def _unsealed(name: str, content: bytes) -> bytes | None:
    image = content[len(_MARK) + 65 :]
    return image if content[: len(_MARK) + 65] == _seal(name, image) else None


@cache
def _tidied(folder: Path) -> None:
    PLACE.prune()


NAMED = "SCALARVIZ_CUBINS"
"""Environment variable: the folder."""


def load_carried(kernel: Kernel, capability: tuple[int, int]) -> bytes | None:
    """Code of a kernel from the folder that is named: made for this GPU, or a smaller one of its generation."""
    if not (folder := named()):
        return None
    for minor in range(capability[1], -1, -1):
        path = folder / file_name(kernel, (capability[0], minor))
        if path.is_file():
            if reason := intruder(path):
                warn_once(f"kernels of {folder} ({NAMED}) are not loaded, since they are code: {reason}")
                return None
            code = _unsealed(path.name, path.read_bytes())
            if code is None:
                warn_once(f"{path} is damaged and is not loaded; compile it again")
            return code
    return None


def named() -> Path | None:
    """The folder that is named."""
    given = os.environ.get(NAMED, "")
    return Path(os.path.expanduser(given)) if given else None


def store_carried(folder: Path, kernel: Kernel, capability: tuple[int, int], code: bytes) -> Path:
    """Write a file as :func:`load_carried` reads it; returns its path."""
    path = folder / file_name(kernel, capability)
    _write(path, code)
    return path


def file_name(kernel: Kernel, capability: tuple[int, int]) -> str:
    """Of a kernel for an architecture."""
    return f"{entry(kernel)}-{kernel.key}-{_version()}-sm_{capability[0]}{capability[1]}.cubin"


@cache
def _version() -> str:
    """Of all sources that become machine code, the compilers apart: they need not be here."""
    return digest(("carried",), sources(PACKAGE, SOURCES))


def image(kernel: Kernel, capability: tuple[int, int], driver: int, link: Callable[[str], bytes]) -> bytes:
    """What the driver of that version loads for a device of that capability; `link` makes machine code of PTX."""
    if (made := load_carried(kernel, capability)) is not None:
        return made
    name = image_name(kernel, capability, driver)
    found = load(name)
    if found is None:
        found = link(text(kernel, capability))
        store(name, found)
    return found


def kept(kernel: Kernel, capability: tuple[int, int], driver: int) -> bool:
    """Return whether a kernel needs no compiler: :func:`image` or :func:`text` has it."""
    if load_carried(kernel, capability) is not None:
        return True
    return has(image_name(kernel, capability, driver)) or has(text_name(kernel, capability))


@lru_cache(maxsize=1024)
def text(kernel: Kernel, capability: tuple[int, int]) -> str:
    """The kernel's PTX, its entry under the name of :func:`entry`."""
    name = text_name(kernel, capability)
    found = load(name)
    if found is None:
        found = _compiled(kernel, capability).encode()
        store(name, found)
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
