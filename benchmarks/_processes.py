"""Fresh processes, seen from outside: how long they take, and their peak of memory.

The system keeps a process's peak over its exec, so whoever measures memory here must be small itself: these scripts
import the standard library alone. Linux and macOS.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from _timing import Timing, timing_of

HERE = Path(__file__).parent
SCALARVIZ = (sys.executable, "-m", "scalarviz")
FIRST_STEP = (sys.executable, str(HERE / "_first_step.py"))
PROBE = (sys.executable, str(HERE / "_probe.py"))
NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
KILOBYTE = 1 if sys.platform == "darwin" else 1024
"""Unit of the system's peak of memory."""


@dataclass(frozen=True)
class Ended:
    """A process that has ended.

    Attributes
    ----------
    seconds : float
        Wall time from its start to its first line, or to its end if it printed none.
    peak : int
        Most bytes of memory that it held.
    said : str
        Its first line.
    """

    seconds: float
    peak: int
    said: str

    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.said)
        return found


def fresh(command: Sequence[str], environment: Mapping[str, str] | None = None, folder: Path | None = None) -> Ended:
    """Run a command to its end, with no kernels compiled in the background.

    Python keeps what it makes of sources, as it does unless it is told not to (``PYTHONDONTWRITEBYTECODE``): for the
    length of one script, in a folder of its own. `environment` may say otherwise.

    Raises
    ------
    SystemExit
        It failed.
    """
    around = {**as_users_have_it(), **(environment or {})}
    with tempfile.TemporaryFile("w+") as errors:
        start = time.perf_counter()
        process = subprocess.Popen(command, env=around, cwd=folder, stdout=subprocess.PIPE, stderr=errors, text=True)
        assert process.stdout is not None
        with process.stdout as stream:
            first = stream.readline()
            seconds = time.perf_counter() - start
            stream.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            raise SystemExit(f"{errors.read()}\n{' '.join(command)} failed with exit code {process.returncode}")
    return Ended(seconds, usage.ru_maxrss * KILOBYTE, first.strip())


def as_users_have_it() -> dict[str, str]:
    """The environment of a process that keeps bytecode and compiles no kernels in the background."""
    around = {name: value for name, value in os.environ.items() if name != NO_BYTECODE}
    return around | {"PYTHONPYCACHEPREFIX": _bytecode(), "JAX_PLATFORMS": "cpu"}


@cache
def _bytecode() -> str:
    """A folder that goes when this process ends."""
    folder = tempfile.TemporaryDirectory(prefix="scalarviz-bytecode-")
    atexit.register(folder.cleanup)
    return folder.name


def in_turns(
    commands: Mapping[str, Sequence[str]],
    rounds: int,
    environments: Mapping[str, Mapping[str, str]] | None = None,
    folder: Path | None = None,
) -> dict[str, tuple[Timing, list[Ended]]]:
    """Run commands in turns; one turn before that fills the system's file cache and does not count."""
    found: dict[str, list[Ended]] = {name: [] for name in commands}
    for number in range(rounds + 1):
        for name, command in commands.items():
            ended = fresh(command, (environments or {}).get(name), folder)
            if number:
                found[name].append(ended)
    return {name: (timing_of([e.seconds for e in ended]), ended) for name, ended in found.items()}
