"""What a step costs, estimated before the first one: its work, its time on numba, whether a GPU repays its launches.

The estimates are good to a factor of two, which is enough to choose an engine.
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
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def has_package(name: str) -> bool:
    """Whether a package is there to be imported; nothing is loaded."""
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):  # somebody blocks it; or there is no package of which it is a part
        return False


@cache
def processor_type() -> str:
    """The processor's name, as its maker writes it, and its numbers; or that of its family (``"x86_64"``)."""
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


ROW = 50
"""Operations that take as long as a row outside of layers."""

NUMBA_SECONDS = 4.4e-12
"""A unit of work by numba on one thread, float32: ten networks of ``benchmarks/results/peers.json`` take 3.3e-12 to
6.2e-12 (a batch of 4 samples, whose step is all beginning and end, takes 20 times that)."""

WEIGHT_SECONDS = 6e-10
"""A weight's gradient and update, likewise: what the CNN of 9,098 weights takes beyond its work at batch 1."""

WORTH = 100e-6
"""Seconds of a step by numba below which no GPU is asked for. A step takes an H200 10e-6 to 48e-6 (12-64x4-3 at batch
1024; ``benchmarks/results/gpu.jsonl``), and calls of few steps, as a window makes them, pay copies."""

LAUNCH = 2e-6
"""Seconds of a launch in a recorded graph (an H200: 1.5e-6 at least): a program of many small ones is all launches."""

LAUNCHES = 3
"""Of an instruction: forward, to its inputs, to its weights."""


def work_of(program: Program) -> int:
    """What a sample costs forward and backward, in additions and multiplications of a layer."""
    return sum(_work_of(instruction) for instruction in program.instructions)


def _work_of(instruction: Instruction) -> int:
    """On a register tile a weighted input costs six; any other row takes the time of some fifty (38 to 91)."""
    if instruction.kind in ("layer", "conv"):
        return 6 * instruction.count * int(instruction.args.shape[-1])
    return ROW * instruction.count + 6 * int(instruction.args.size)


def numba_seconds(plan: Plan, batch: int, dtype: str) -> float:
    """About what a step takes numba on one thread; twice the bytes take twice the time."""
    seconds = work_of(plan.body) * batch * NUMBA_SECONDS + plan.n_parameters * WEIGHT_SECONDS
    return 2 * seconds if dtype == "float64" else seconds


def repays_a_gpu(plan: Plan, seconds: float) -> bool:
    """Whether a step that takes numba so long is longer than what a GPU needs for launches alone."""
    return seconds >= max(WORTH, LAUNCH * LAUNCHES * len(plan.body.instructions))
