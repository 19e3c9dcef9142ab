"""What a sweep does in the processes of somebody else's cluster: it is imported there, by its name.

Several runs go there at once: to hand out one costs a scheduler about a millisecond, and a small run takes ten.
"""

from __future__ import annotations

import platform
import re
import sys
import threading
import time
import warnings
from collections.abc import Sequence
from functools import cache
from importlib import metadata
from typing import NamedTuple

from ..errors import InputError
from ..tape.trace import SAID
from .job import Job, compute
from .result import Result

PACKAGES = ("scalarviz", "numpy", "numba", "llvmlite")
"""Those whose versions are in the bits of a result."""
ABSENT = "none"

_LOCK = threading.Lock()


class Computed(NamedTuple):
    """The results of some jobs, in their order, and the seconds that they took."""

    results: list[Result]
    seconds: float


@cache
def versions() -> dict[str, str]:
    """What has to be the same where runs are computed and where their results are read, by name."""
    found = {"python": f"{sys.version_info[0]}.{sys.version_info[1]}"}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = ABSENT
    return found


def differences(here: dict[str, str], there: dict[str, str]) -> str:
    """``numpy 2.4.1 there, 2.5.0 here``: what is not the same; empty if all is."""
    return "; ".join(f"{name} {there.get(name, ABSENT)} there, {here[name]} here" for name in here
                     if there.get(name, ABSENT) != here[name])  # fmt: skip


def work(jobs: Sequence[Job], wanted: dict[str, str]) -> Computed:
    """Compute some runs, one after the other, in a process with the versions that are `wanted`.

    Raises
    ------
    InputError
        Another version of a package is here.
    """
    if other := differences(wanted, versions()):
        raise InputError(f"a worker on {platform.node()} has other versions than the sweep: {other}")
    _others_draw()
    began = time.perf_counter()
    return Computed([compute(job) for job in jobs], time.perf_counter() - began)


@cache
def _others_draw() -> None:
    """Threads of the cluster draw random numbers while a graph is recorded, which is not that graph's doing."""
    warnings.filterwarnings("ignore", re.escape(SAID.partition("(")[0]), RuntimeWarning)
