"""The name of a version of the kernels: a hash of what becomes machine code. Loads no numba.

numba's own cache looks at the file of the kernel alone, so a changed callee would go on giving the numbers of the old
one. The hash covers the text of every file that is compiled or that writes vector code, the versions, the processor
and numba's settings, and nothing else: no path and no time, so all copies of one version share their kernels, and no
file that only calls them. What is written from the ops table is hashed into the name of its unit (see ``units``).
"""

from __future__ import annotations

import platform
import sys
from functools import cache

from ...cache.version import PACKAGE, digest, installed, settings, settings_file, sources

SOURCES = ("engine/cpu/compiled/*.py", "engine/cpu/vector/*.py", "engine/cpu/wire.py", "rng.py", "scalar/erf.py")
FORM = 2
"""How `loader` and `locator` name and write the files of a unit: counts on when that changes."""
SETTINGS = (
    "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_ENABLE_AVX", "NUMBA_OPT", "NUMBA_LOOP_VECTORIZE",
    "NUMBA_SLP_VECTORIZE", "NUMBA_BOUNDSCHECK", "NUMBA_DEBUGINFO", "NUMBA_DISABLE_INTEL_SVML",
    "NUMBA_ENABLE_PROFILING", "NUMBA_EXTEND_VARIABLE_LIFETIMES", "NUMBA_LLVM_REFPRUNE_PASS",
    "NUMBA_LLVM_REFPRUNE_FLAGS",
)  # fmt: skip
"""Variables of numba that change the code it makes."""


@cache
def key() -> str:
    """Hash of all that the machine code depends on, generated sources apart.

    Raises
    ------
    RuntimeError
        The sources are not there.
    """
    versions = sys.version, installed("numba"), installed("llvmlite")
    said = FORM, versions, _processor(), settings(SETTINGS), settings_file()
    return digest(said, sources(PACKAGE, SOURCES))


def _processor() -> str:
    """Model and features of the processor: one folder may be shared by machines."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            lines = file.read(8192).split("\n\n", 1)[0].splitlines()
        return "\n".join(line for line in lines if line.startswith(("model name", "flags", "Features", "CPU part")))
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
