"""Estimate the cost of a step before the first one: its work, its time with numba, and whether a GPU is faster.

The estimates are right within a factor of two, which is enough to choose an engine.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import subprocess
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

from ..tape import Instruction, Plan, Program


def processors() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def has_package(name: str) -> bool:
    """Return whether a package is there to be imported; nothing is loaded."""
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):  # an import blocker; or the parent package is missing
        return False


@cache
def processor_type() -> str:
    """Return the processor's name and model numbers; otherwise its architecture (``"x86_64"``)."""
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
    """Return ``AMD EPYC 9B14 (25.17.1)`` from /proc/cpuinfo; in virtual machines the name may say only the maker."""
    said: dict[str, str] = {}
    for line in text.splitlines():
        name, _, value = line.partition(":")
        said.setdefault(name.strip(), value.strip())
    numbers = [said[name] for name in ("cpu family", "model", "stepping") if said.get(name)]
    return f"{said.get('model name', '')} {'(' + '.'.join(numbers) + ')' if numbers else ''}"


ROW = 50
"""The cost of a row outside layers, in operations."""

NUMBA_SECONDS, NARROW_SECONDS = 8e-12, 16e-12
"""Seconds per unit of work with numba on one thread, float32: with vectors of 64 bytes, and with narrower ones. Ten
networks of ``benchmarks/results/peers.json`` take 6.6e-12 to 10.2e-12 with AVX-512, those of ``avx2/peers.json``
13e-12 to 25e-12. A batch of 4 samples takes ten times that, because fixed costs dominate its step."""

WEIGHT_SECONDS = 6e-10
"""Seconds for the gradient and the update of one weight, from a CNN with 9,098 weights at batch 1."""

WORTH = 100e-6
"""No GPU is used if numba needs fewer seconds per step. An H200 takes 10e-6 to 48e-6 per step (12-64x4-3 at batch 1024;
``benchmarks/results/gpu.jsonl``), and a window's calls of few steps also pay for copies."""

LAUNCH = 2e-6
"""Seconds per launch in a recorded graph (at least 1.5e-6 on an H200); they dominate many small instructions."""

LAUNCHES = 3
"""Launches per instruction: forward, gradients of its inputs, gradients of its weights."""


def work_of(program: Program) -> int:
    """Return the work of one sample, forward and backward, in additions and multiplications of a layer."""
    return sum(_work_of(instruction) for instruction in program.instructions)


def _work_of(instruction: Instruction) -> int:
    """Return the work of an instruction: a weighted input of a layer costs 6, any other row about 50 (38 to 91)."""
    if instruction.kind in ("layer", "conv"):
        return 6 * instruction.count * int(instruction.args.shape[-1])
    return ROW * instruction.count + 6 * int(instruction.args.size)


def numba_seconds(plan: Plan, batch: int, dtype: str, vector_bytes: int) -> float:
    """Return the estimated seconds per step with numba on one thread; float64 takes twice the time."""
    unit = NUMBA_SECONDS if vector_bytes >= 64 else NARROW_SECONDS
    seconds = work_of(plan.body) * batch * unit + plan.n_parameters * WEIGHT_SECONDS
    return 2 * seconds if dtype == "float64" else seconds


def repays_a_gpu(plan: Plan, seconds: float) -> bool:
    """Return whether a GPU is likely faster: numba's step takes longer than the launches of a GPU."""
    return seconds >= max(WORTH, LAUNCH * LAUNCHES * len(plan.body.instructions))
