"""Where compiled kernels are kept, and whether they are there. Loads no numba.

numba's own cache looks at the file of the kernel alone, so a changed callee would go on giving the numbers of the old
one. Here the folder's name is a hash over every file that a kernel is made of, the versions and the processor; a
folder is never changed, only left behind.

::

    <user's cache>/scalarviz/<hash>/rows/sigmoid-....py     source of the row kernels (numba caches code from files)
    <user's cache>/scalarviz/<hash>/<unit>/                 numba's files of one unit, and a checksum over them

A unit (one kernel, or the rows of one operation, in one dtype) is compiled in a folder of its own name
and moved into place when it is whole, so processes that compile at the same time do not meet.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import sys
import tempfile
import time
import warnings
import zlib
from collections.abc import Iterable
from functools import cache
from importlib import metadata
from pathlib import Path

from ....scalar import ops
from ..source.rows import DTYPES, digest
from ..wire import CALLS, KERNELS

PACKAGE = Path(__file__).resolve().parents[3]
SOURCES = ("engine/cpu/**/*.py", "rng.py", "scalar/emit.py", "scalar/ops.py")
SETTINGS = (
    "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_ENABLE_AVX", "NUMBA_OPT", "NUMBA_LOOP_VECTORIZE",
    "NUMBA_SLP_VECTORIZE", "NUMBA_BOUNDSCHECK", "NUMBA_DEBUGINFO",
)  # fmt: skip
"""Variables of numba that change the code it makes."""
CORE = (*CALLS, *KERNELS)
UNUSED_DAYS = 30
_SEAL = "checksum"


def user_cache() -> Path:
    """The folder of the user's caches; ``SCALARVIZ_CACHE_DIR`` names another one."""
    own = os.environ.get("SCALARVIZ_CACHE_DIR")
    if own:
        return Path(own).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "scalarviz"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "scalarviz"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "scalarviz"


@cache
def key() -> str:
    """Hash of all that the machine code depends on, the formulas of the ops apart (their files carry their own)."""
    settings = [os.environ.get(name) for name in SETTINGS]
    versions = sys.version, _version("numba"), _version("llvmlite")
    hasher = hashlib.sha256(repr((versions, _processor(), settings)).encode())
    for pattern in SOURCES:
        for path in sorted(PACKAGE.glob(pattern)):
            # the time too: numba looks at it, and would compile again behind our back
            hasher.update(f"\0{path}\0{path.stat().st_mtime_ns}\0".encode())
            hasher.update(path.read_bytes())
    return hasher.hexdigest()[:16]


def folder() -> Path:
    """The folder of this version of everything (it may not exist yet)."""
    return user_cache() / key()


def core_unit(name: str, dtype: str) -> str:
    """Name of the unit of a kernel or function that every program may need."""
    return f"core-{name}-{dtype}"


def rows_unit(op: ops.Op, dtype: str) -> str:
    """Name of the unit of an operation's row kernels."""
    return f"{op.name}-{digest(op)}-{dtype}"


def cache_is_warm(dtype: str, names: Iterable[str]) -> bool:
    """Whether a program with these operations can start without compiling.

    Parameters
    ----------
    dtype : {"float32", "float64"}
    names : iterable of str
        Operations of the table.
    """
    if dtype not in DTYPES:
        return False
    return all(has(core_unit(name, dtype)) for name in CORE) and all(has_rows(name, dtype) for name in set(names))


def has(unit: str) -> bool:
    """Whether a unit is in the cache."""
    return (folder() / unit / _SEAL).is_file()


def has_rows(name: str, dtype: str) -> bool:
    """Whether the row kernels of an operation are in the cache."""
    return has(rows_unit(ops.get(name), dtype))


def seal(unit: Path) -> None:
    """Write the checksum over a unit's files."""
    (unit / _SEAL).write_text(_checksum(unit), encoding="ascii")


def intact(unit: Path) -> bool:
    """Whether a unit's files are those that were sealed (a half-written object file would crash the process)."""
    try:
        return (unit / _SEAL).read_text(encoding="ascii") == _checksum(unit)
    except (OSError, UnicodeError):
        return False


def write_source(name: str, text: str) -> Path:
    """Write the module file of some row kernels (unless it is there) and return its path.

    Raises
    ------
    OSError
        The folder cannot be written.
    """
    path = folder() / "rows" / f"{name}.py"
    try:
        if path.read_text(encoding="utf-8") == text:
            return path
    except (OSError, UnicodeError):
        pass
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    os.utime(temporary, (0, 0))  # numba compares times; whoever writes this text writes the same file
    os.replace(temporary, path)
    return path


def remove(unit: Path) -> None:
    """Take a unit away, as far as that is allowed."""
    shutil.rmtree(unit, ignore_errors=True)


def prune() -> None:
    """Remove the folders of other versions that nobody has used for a month."""
    limit = time.time() - UNUSED_DAYS * 86400
    here = folder()
    try:
        os.utime(here)
        others = [p for p in here.parent.iterdir() if p != here and len(p.name) == len(here.name)]
        for old in others:
            if old.stat().st_mtime < limit:
                shutil.rmtree(old, ignore_errors=True)
    except OSError:
        pass  # tidying is a courtesy


@cache
def warn_once(message: str) -> None:
    """Warn in one line (without a line of source), once a process."""
    warnings.warn_explicit(message, RuntimeWarning, filename="scalarviz", lineno=0)


def _checksum(unit: Path) -> str:
    total = 0
    for path in sorted(p for p in unit.rglob("*") if p.is_file() and p.name != _SEAL):
        total = zlib.crc32(path.read_bytes(), zlib.crc32(path.name.encode(), total))
    return f"{total:08x}"


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "none"


def _processor() -> str:
    """Model and features of the processor: one folder may be shared by machines."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            lines = file.read(8192).split("\n\n", 1)[0].splitlines()
        return "\n".join(line for line in lines if line.startswith(("model name", "flags", "Features", "CPU part")))
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
