"""How much memory there is, and one refusal for all that would need more: before it is tried."""

from __future__ import annotations

import os
from contextlib import suppress

from .errors import InputError, shown

__all__ = ["check_memory", "free_memory"]

GB = 10**9


def check_memory(needed: int, what: str, remedy: str) -> None:
    """InputError, which says both numbers, if `what` needs more bytes than are free.

    A system lets a program take more than there is and kills it later, with all that it has trained.
    """
    there = free_memory()
    if needed > there:
        raise InputError(f"{what}: this needs {shown(needed // GB)} GB of memory, {there // GB} GB are free; {remedy}")


def free_memory() -> int:
    """Bytes of memory that a program can still have, or that the computer has; 64 GB where the system does not say."""
    with suppress(OSError, ValueError, IndexError), open("/proc/meminfo", encoding="ascii") as lines:
        for line in lines:
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    with suppress(AttributeError, ValueError, OSError):  # Windows has no sysconf, other systems not these names
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return 1 << 36
