"""Processes, as far as files tell of them: whether the one that wrote a name is still there. Standard library only."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import zlib
from contextlib import suppress
from pathlib import Path


def is_running(pid: int) -> bool:
    """Whether a process with this id runs on this machine; one that is over and not waited for does not."""
    if sys.platform == "win32":  # os.kill(pid, 0) would end it there
        listed = subprocess.run(
            ["tasklist", "/FI", f"PID eq {pid}", "/NH"], capture_output=True, text=True, check=False
        )
        return str(pid) in listed.stdout.split()
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # somebody else's
        return True
    return not _has_ended(pid)


def born(pid: int) -> str:
    """When a process began, as its system counts; empty where nobody says. Ids are given again, after a restart too."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def machine_id() -> str:
    """Eight hex digits for the machine, or the container, whose process ids this process sees."""
    name = socket.gethostname()
    with suppress(OSError):  # containers may share the name of their machine, and have process ids of their own
        name += os.readlink("/proc/self/ns/pid")
    return f"{zlib.crc32(name.encode()):08x}"


def _has_ended(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0]
    except (OSError, IndexError):  # no such file system
        return False
    return state in "ZX"
