"""The units that compiled kernels are kept in: what they are called, and whether they are there. Loads no numba.

::

    <user's cache>/scalarviz/<key>/<unit>/      numba's files of one unit, and a checksum over them

A unit (one kernel, or the rows of one operation, in one dtype) is compiled in a folder of its own name and moved into
place when it is whole, so processes that compile at the same time do not meet. A folder is never changed, only left
behind: the key stands for all that becomes machine code (see ``key``), and a unit whose source is written from the
ops table has a hash of that text in its name, which so covers the formulas and their translator.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path

from ....scalar import ops
from ...problem import DTYPES
from .. import compiled
from ..source.rows import module_source
from ..source.updates import UPDATES, update_source
from ..wire import CALLS, KERNELS
from .place import closed, folder

CORE = (*CALLS, *KERNELS)
_SEAL = "checksum"


@lru_cache(maxsize=1024)
def rows_source(op: ops.Op, dtype: str) -> str:
    """Source of the row kernels of an operation."""
    return module_source(op, dtype, compiled.__name__)


@cache
def updates_source(name: str, dtype: str) -> str:
    """Source of the update of an optimiser."""
    return update_source(name, dtype, compiled.__name__)


def core_unit(name: str, dtype: str) -> str:
    """Name of the unit of a kernel or function that every program may need."""
    written = f"-{_digest(updates_source(name, dtype))}" if name in UPDATES else ""
    return f"core-{name}{written}-{dtype}"


def rows_unit(op: ops.Op, dtype: str) -> str:
    """Name of the unit of an operation's row kernels."""
    return f"{op.name}-{_digest(rows_source(op, dtype))}-{dtype}"


@lru_cache(maxsize=1024)
def _digest(source: str) -> str:
    return hashlib.sha256(source.encode()).hexdigest()[:12]


def cache_is_warm(dtype: str, names: Iterable[str]) -> bool:
    """Whether a program with these operations can start without compiling.

    Parameters
    ----------
    dtype : {"float32", "float64"}
    names : iterable of str
        Operations of the table.
    """
    if dtype not in DTYPES or closed():
        return False
    found = _found()
    for unit in (*_core_units(dtype, tuple(CORE)), *(rows_unit(ops.get(name), dtype) for name in set(names))):
        if unit not in found:
            if not has(unit):
                return False
            found.add(unit)
    return True


@lru_cache(maxsize=len(DTYPES))
def _core_units(dtype: str, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(core_unit(name, dtype) for name in names)


def _found() -> set[str]:
    """The units that were found in the cache's folder as it is now; empty where one came or went since.

    Who makes a thousand runs asks a thousand times. What is loaded is looked at anew then (see `loader`).
    """
    try:
        state = os.stat(folder())
    except OSError:
        return set()
    return _found_in(state.st_dev, state.st_ino, state.st_mtime_ns)


@lru_cache(maxsize=1)
def _found_in(device: int, inode: int, changed: int) -> set[str]:
    return set()


def has(unit: str) -> bool:
    """Whether a unit is in the cache and may be loaded."""
    return not closed(unit) and (folder() / unit / _SEAL).is_file()


def has_rows(name: str, dtype: str) -> bool:
    """Whether the row kernels of an operation are in the cache."""
    return has(rows_unit(ops.get(name), dtype))


def seal(unit: Path) -> None:
    """Write the checksum over a unit's files, which are this user's alone from then on."""
    (unit / _SEAL).write_text(_checksum(unit), encoding="ascii")
    for path in unit.iterdir():
        path.chmod(0o600)


def intact(unit: Path) -> bool:
    """Whether a unit's files are those that were sealed (a half-written object file would crash the process)."""
    try:
        return (unit / _SEAL).read_text(encoding="ascii") == _checksum(unit)
    except (OSError, UnicodeError):
        return False


def _checksum(unit: Path) -> str:
    total = 0
    for path in sorted(p for p in unit.iterdir() if p.is_file() and p.name != _SEAL):
        total = zlib.crc32(path.read_bytes(), zlib.crc32(path.name.encode(), total))
    return f"{total:08x}"
