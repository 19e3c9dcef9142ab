"""One thread for BLAS while the NumPy tier computes.

The OpenBLAS in NumPy's wheels splits products over all cores and lets its threads spin while they wait for each
other. Beside anything else that wants a core, a window above all, that collapses: 58 steps a second instead of 362
were measured for the digits. The products of the networks that people watch are too small to gain by it.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np

Threads = tuple[Callable[[], int], Callable[[int], object]]


@dataclass
class _Room:
    """Who is inside, and how many threads there were before the first one came."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    inside: int = 0
    before: int = 1


_room = _Room()


@cache
def _openblas() -> Threads | None:
    """Reading and setting the number of threads; None where NumPy has another BLAS."""
    package = Path(np.__file__).parent
    for folder in (package.parent / "numpy.libs", package / ".dylibs"):
        for path in sorted(folder.glob("*openblas*")):
            library = ctypes.CDLL(str(path))  # the copy that NumPy has loaded
            for before, after in product(("scipy_openblas_", "openblas_"), ("64_", "")):
                names = [f"{before}{verb}_num_threads{after}" for verb in ("get", "set")]
                if all(hasattr(library, name) for name in names):
                    return getattr(library, names[0]), getattr(library, names[1])
    return None


def blas_threads() -> int | None:
    """Threads that a product takes now; None where that is not known."""
    found = _openblas()
    return None if found is None else int(found[0]())


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Products take one thread inside; what was set before holds again when the last thread has left."""
    found = _openblas()
    if found is None:
        yield
        return
    read, write = found
    with _room.lock:
        if _room.inside == 0:
            _room.before = int(read())
            write(1)
        _room.inside += 1
    try:
        yield
    finally:
        with _room.lock:
            _room.inside -= 1
            if _room.inside == 0:
                write(_room.before)
