"""The name of a version of the kernels: a hash of what becomes machine code. Loads libNVVM, to ask for its version.

What a kernel is written from (the ops table, a program) is in the name of its file, see ``images``.
"""

from __future__ import annotations

import sys
from functools import cache

from ...cache.version import PACKAGE, digest, installed, settings, settings_file, sources
from ..nvvm import toolkit

SOURCES = (
    "engine/cuda/kernels/*.py", "engine/cuda/jit.py", "engine/cuda/typed.py", "engine/cuda/wide.py",
    "engine/cuda/catalog.py", "engine/cuda/images.py", "rng.py",
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
    """Hash of all that the machine code depends on, generated sources apart.

    Raises
    ------
    MissingDependencyError
        There is no libNVVM.
    """
    versions = sys.version, *(installed(name) for name in ("numba", "numba-cuda", "llvmlite")), toolkit()
    return digest((FORM, versions, settings(SETTINGS), settings_file()), sources(PACKAGE, SOURCES))
