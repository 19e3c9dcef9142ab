"""The name of a version of the kernels: a hash of what becomes machine code. Loads no numba.

numba's own cache looks at the file of the kernel alone, so a changed callee would go on giving the numbers of the old
one. The hash covers the text of every file that is compiled or that writes vector code, the versions, the processor
and numba's settings, and nothing else: no path and no time, so all copies of one version share their kernels, and no
file that only calls them. What is written from the ops table is hashed into the name of its unit (see ``units``).
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from functools import cache
from importlib import metadata
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[3]
SOURCES = ("engine/cpu/compiled/*.py", "engine/cpu/vector/*.py", "engine/cpu/wire.py", "rng.py")
FORM = 2
"""How `loader` and `locator` name and write the files of a unit: counts on when that changes."""
SETTINGS = (
    "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_ENABLE_AVX", "NUMBA_OPT", "NUMBA_LOOP_VECTORIZE",
    "NUMBA_SLP_VECTORIZE", "NUMBA_BOUNDSCHECK", "NUMBA_DEBUGINFO", "NUMBA_DISABLE_INTEL_SVML",
    "NUMBA_ENABLE_PROFILING", "NUMBA_EXTEND_VARIABLE_LIFETIMES", "NUMBA_LLVM_REFPRUNE_PASS",
    "NUMBA_LLVM_REFPRUNE_FLAGS",
)  # fmt: skip
"""Variables of numba that change the code it makes."""
SETTINGS_FILE = ".numba_config.yaml"
"""numba reads the same settings from this file where the process was started."""


@cache
def key() -> str:
    """Hash of all that the machine code depends on, generated sources apart.

    Raises
    ------
    RuntimeError
        The sources are not there: a hash of nothing would stand for any version.
    """
    settings = [os.environ.get(name) for name in SETTINGS]
    versions = sys.version, _version("numba"), _version("llvmlite")
    hasher = hashlib.sha256(repr((FORM, versions, _processor(), settings, _settings_file())).encode())
    for name, text in sources(PACKAGE):
        hasher.update(f"\0{name}\0{text}".encode())
    return hasher.hexdigest()[:16]


def sources(package: Path) -> list[tuple[str, str]]:
    r"""Name inside the package and text of every file that becomes machine code.

    Line endings are read as ``\n``: a checkout with others is the same program.
    """
    found = []
    for pattern in SOURCES:
        paths = sorted(package.glob(pattern))
        if not paths:
            raise RuntimeError(f"no {pattern} in {package}: without the sources nobody knows which kernels are theirs")
        found += [(path.relative_to(package).as_posix(), path.read_text(encoding="utf-8")) for path in paths]
    return found


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "none"


def _settings_file() -> str:
    try:
        return Path(SETTINGS_FILE).read_text(encoding="utf-8")
    except (OSError, UnicodeError):
        return ""


def _processor() -> str:
    """Model and features of the processor: one folder may be shared by machines."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            lines = file.read(8192).split("\n\n", 1)[0].splitlines()
        return "\n".join(line for line in lines if line.startswith(("model name", "flags", "Features", "CPU part")))
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
