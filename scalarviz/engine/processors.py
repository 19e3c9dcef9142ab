"""How many processors there are for this process, and of what type."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path


def processors() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def processor_type() -> str:
    """The processor's name, as its maker writes it, and its numbers where the name is that of many.

    Where nobody says it, that of its family (``"x86_64"``).
    """
    found = ""
    with suppress(OSError):
        if sys.platform == "linux":
            found = _of_linux(Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace"))
        elif sys.platform == "darwin":
            asked = ["sysctl", "-n", "machdep.cpu.brand_string"]
            found = subprocess.run(asked, capture_output=True, text=True, check=False).stdout
        else:
            found = platform.processor()
    return " ".join(found.split()) or platform.machine()


def _of_linux(text: str) -> str:
    """``AMD EPYC 9B14 (25.17.1)`` out of /proc/cpuinfo: virtual machines leave all but the maker out of the name."""
    said: dict[str, str] = {}
    for line in text.splitlines():
        name, _, value = line.partition(":")
        said.setdefault(name.strip(), value.strip())
    numbers = [said[name] for name in ("cpu family", "model", "stepping") if said.get(name)]
    return f"{said.get('model name', '')} {'(' + '.'.join(numbers) + ')' if numbers else ''}"
