"""Hashes that name a version of the kernels: of the texts that machine code is made of, the compilers, the settings.

A cache that looks at the kernel's file alone would go on giving the numbers of a callee that was changed. No path and
no time is hashed, so all copies of one version share their kernels.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2]
SETTINGS_FILE = ".numba_config.yaml"
"""numba reads its settings from this file, too, where the process was started."""


def digest(said: object, texts: Iterable[tuple[str, str]]) -> str:
    """Hash of what has a `repr` and of named texts, 16 letters."""
    hasher = hashlib.sha256(repr(said).encode())
    for name, text in texts:
        hasher.update(f"\0{name}\0{text}".encode())
    return hasher.hexdigest()[:16]


def sources(package: Path, patterns: Sequence[str]) -> list[tuple[str, str]]:
    r"""Name inside the package and text of every file that becomes machine code.

    Line endings are read as ``\n``: a checkout with others is the same program.

    Raises
    ------
    RuntimeError
        The sources are not there: a hash of nothing would stand for any version.
    """
    found = []
    for pattern in patterns:
        paths = sorted(package.glob(pattern))
        if not paths:
            raise RuntimeError(f"no {pattern} in {package}: without the sources nobody knows which kernels are theirs")
        found += [(path.relative_to(package).as_posix(), path.read_text(encoding="utf-8")) for path in paths]
    return found


def installed(package: str) -> str:
    """Version of a package of others."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "none"


def settings(names: Sequence[str]) -> list[str | None]:
    """Values of environment variables."""
    return [os.environ.get(name) for name in names]


def settings_file() -> str:
    """Text of numba's file of settings; empty if there is none."""
    try:
        return Path(SETTINGS_FILE).read_text(encoding="utf-8")
    except (OSError, UnicodeError):
        return ""
