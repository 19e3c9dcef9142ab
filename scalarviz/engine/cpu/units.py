"""The units that compiled kernels are kept in: their names, their version, and whether they are there. Loads no numba.

::

    <user's cache>/scalarviz/<key>/<unit>/      numba's files of one unit, and a checksum over them

A unit is one kernel, or the row kernels of one operation, in one dtype. It is moved into place when it is complete,
so processes that compile at the same time do not disturb each other. A folder never changes.

numba's own cache compares only the kernel's own file. Our key is a hash of all compiled sources, of versions
and of settings; the name of a unit with generated source has a hash of that source.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import platform
import sys
import threading
import warnings
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from ...errors import listing
from ...scalar import ops
from ..cache import PACKAGE, SETTINGS_FILE, CacheFolder, digest, installed, settings, settings_file, sources
from ..cost import has_package
from ..problem import DTYPES
from .source import UPDATES, module_source, update_source
from .wire import KERNELS

_forking = threading.local()


def _hold_compiler() -> None:
    """Wait until no thread imports or runs the compiler, whose locks a forked process could never get."""
    if (name := f"{__package__}.loader") in sys.modules:
        _forking.held = importlib.import_module(name).LOCK
        _forking.held.acquire()


def _let_go() -> None:
    if (lock := vars(_forking).pop("held", None)) is not None:  # of this thread: several may fork at once
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_hold_compiler, after_in_parent=_let_go, after_in_child=_let_go)

SOURCES = ("engine/cpu/compiled/*.py", "engine/cpu/vector/*.py", "engine/cpu/wire.py", "rng.py", "scalar/erf.py")
FORM = 2
"""The version of the file layout of a unit; it is increased when names or contents change."""
SETTINGS = (
    "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_ENABLE_AVX", "NUMBA_OPT", "NUMBA_LOOP_VECTORIZE",
    "NUMBA_SLP_VECTORIZE", "NUMBA_BOUNDSCHECK", "NUMBA_DEBUGINFO", "NUMBA_DISABLE_INTEL_SVML",
    "NUMBA_ENABLE_PROFILING", "NUMBA_EXTEND_VARIABLE_LIFETIMES", "NUMBA_LLVM_REFPRUNE_PASS",
    "NUMBA_LLVM_REFPRUNE_FLAGS",
)  # fmt: skip
"""Environment variables of numba that change its code."""


@cache
def key() -> str:
    """Return a hash of everything that the machine code depends on, except generated sources."""
    versions = sys.version, installed("numba"), installed("llvmlite")
    said = FORM, versions, _processor(), settings(SETTINGS), settings_file()
    return digest(said, sources(PACKAGE, SOURCES))


def _processor() -> str:
    """Return model and features of the processor, because several machines may share a folder."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            lines = file.read(8192).split("\n\n", 1)[0].splitlines()
        return "\n".join(line for line in lines if line.startswith(("model name", "flags", "Features", "CPU part")))
    except OSError:
        return f"{platform.machine()} {platform.processor()}"


PLACE = CacheFolder(key)
folder, make_folder, closed, refusal = PLACE.folder, PLACE.make, PLACE.closed, PLACE.refusal


_SEAL = "checksum"
Unit = tuple[str, str, str]
"""Kind (``"kernel"``, or ``"rows"`` of an operation), name, dtype."""


def core_unit(name: str, dtype: str) -> str:
    """Return the unit of a kernel that any program may need."""
    written = f"-{_digest(update_source(name, dtype))}" if name in UPDATES else ""
    return f"core-{name}{written}-{dtype}"


def rows_unit(op: ops.Op, dtype: str) -> str:
    """Return the unit of an operation's row kernels."""
    return f"{op.name}-{_digest(module_source(op, dtype))}-{dtype}"


@lru_cache(maxsize=1024)
def _digest(source: str) -> str:
    return hashlib.sha256(source.encode()).hexdigest()[:12]


def cache_is_warm(dtype: str, names: Iterable[str]) -> bool:
    """Return whether a program with these operations can start without compiling."""
    if dtype not in DTYPES or closed():
        return False
    units = [*(("kernel", name, dtype) for name in KERNELS), *(("rows", name, dtype) for name in set(names))]
    return all(map(is_there, units))


def is_there(unit: Unit) -> bool:
    """Return whether a unit is in the cache and may be loaded."""
    found, name = _found(), _name_of(unit)
    if name not in found:
        if closed(name) or not (folder() / name / _SEAL).is_file():
            return False
        found.add(name)
    return True


def _name_of(unit: Unit) -> str:
    kind, name, dtype = unit
    return rows_unit(ops.get(name), dtype) if kind == "rows" else core_unit(name, dtype)


LOADED: dict[str, dict[str, Any]] = {}
"""The loaded units by name: functions, and addresses of kernels."""
_here = threading.local()


@contextmanager
def noting() -> Iterator[list[Unit]]:
    """Note missing units in the block instead of compiling them; see :func:`noted`."""
    found: list[Unit] = []
    _here.units = found
    try:
        yield found
    finally:
        _here.units = None


def noted(unit: Unit) -> bool:
    """Return whether `noting` is on and a unit is missing; then the unit is noted."""
    found: list[Unit] | None = getattr(_here, "units", None)
    if found is None or _name_of(unit) in LOADED or is_there(unit):
        return False
    if unit not in found:
        found.append(unit)
    return True


def _found() -> set[str]:
    """Return the units in the cache's folder; empty if the folder has changed since they were listed.

    A thousand runs ask for it a thousand times. Loading checks a unit again (see `loader`).
    """
    try:
        state = os.stat(folder())
    except OSError:
        return set()
    return _found_in(state.st_dev, state.st_ino, state.st_mtime_ns)


@lru_cache(maxsize=1)
def _found_in(device: int, inode: int, changed: int) -> set[str]:
    return set()


def seal(unit: Path) -> None:
    """Write the checksum over a unit's files, and make them private to this user."""
    (unit / _SEAL).write_text(_checksum(unit), encoding="ascii")
    for path in unit.iterdir():
        path.chmod(0o600)


def intact(unit: Path) -> bool:
    """Return whether a unit's files match their checksum (a half-written object file would crash the process)."""
    try:
        return (unit / _SEAL).read_text(encoding="ascii") == _checksum(unit)
    except (OSError, UnicodeError):
        return False


def _checksum(unit: Path) -> str:
    total = 0
    for path in sorted(p for p in unit.iterdir() if p.is_file() and p.name != _SEAL):
        total = zlib.crc32(path.read_bytes(), zlib.crc32(path.name.encode(), total))
    return f"{total:08x}"


# ---- Whether numba can be used; its settings may prevent that. Loads numba only if there are settings.


INSTEAD = 'or use engine="numpy"'


def no_numba() -> str:
    """Return why numba cannot be used, as one clause that follows its name; empty if it can."""
    if not has_package("numba"):
        return f"needs numba, which is not installed here: pip install numba; {INSTEAD}"
    given = tuple(f"{name}={os.environ.get(name, '')}" for name in sorted(os.environ) if name.startswith("NUMBA_"))
    return _refused(given) if given or Path(SETTINGS_FILE).is_file() else ""


@lru_cache(maxsize=8)
def _refused(settings: tuple[str, ...]) -> str:
    """Return the reason why numba refuses its settings; empty if it accepts them."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            config = importlib.import_module("numba").config
        except Exception as error:  # numba raises anything, such as ValueError for no threads
            given = listing(settings) or f"the file {SETTINGS_FILE}"
            return f"cannot be loaded with {given}: {' '.join(str(error).split())}; correct or unset them, {INSTEAD}"
    for warning in said:  # numba's text ends in a traceback
        warnings.warn_explicit(str(warning.message).partition("\n")[0], RuntimeWarning, filename="numba", lineno=0)
    if config.DISABLE_JIT:
        return f"cannot compile while NUMBA_DISABLE_JIT={config.DISABLE_JIT}: unset it, {INSTEAD}"
    return ""
