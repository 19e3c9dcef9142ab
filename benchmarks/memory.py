"""Memory: the peak of processes that train, beside PyTorch and JAX, and the bytes of one weight.

    python benchmarks/memory.py

Each is a fresh process; its peak is what the system counted as resident. Ten million weights are a layer of
3162 x 3162 with bias, trained for three steps by Adam on 64 samples. Bytes of one weight are those that Python's own
count of its memory grows by.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from _processes import FIRST_STEP, PROBE, SCALARVIZ, fresh
from _timing import arguments, at_most, show_goals, timing_of, write_report

LARGE, SMALL, STEPS = "ten million weights", "3-16-16-3", "3"
GIGABYTE = 1e9
GOALS = {f"{LARGE}: scalarviz": 4}
"""Gigabytes that were asked for."""
PEERS = {"scalarviz": "scalarviz", "PyTorch eager": "PyTorch", "JAX jit": "JAX"}
COMMANDS = {
    "python -c pass": (sys.executable, "-c", "pass"),
    "import scalarviz": (sys.executable, "-c", "import scalarviz; scalarviz.Run"),  # names are loaded when used
    "import torch": (sys.executable, "-c", "import torch"),
    "import jax": (sys.executable, "-c", "import jax"),
    "scalarviz rgb --headless": (*SCALARVIZ, "rgb", "--headless", "--steps", "100", "--out", "x.png"),
    **{f"{SMALL}: {name}": (*FIRST_STEP, who, SMALL, STEPS) for name, who in PEERS.items()},
    **{f"{LARGE}: {name}": (*FIRST_STEP, who, LARGE, STEPS) for name, who in PEERS.items()},
}


def main() -> None:
    options = arguments(__doc__).parse_args()
    fresh((*SCALARVIZ, "warmup"))
    with tempfile.TemporaryDirectory() as place:
        chosen = {name: c for name, c in COMMANDS.items() if not (options.quick and name.startswith(LARGE))}
        found = {name: fresh(command, folder=Path(place)) for name, command in chosen.items()}
    each = fresh((*PROBE, "objects")).json()
    peaks = {name: ended.peak for name, ended in found.items()}
    goals = {name: at_most(peaks[name] / GIGABYTE, most, "GB") for name, most in GOALS.items() if name in peaks}
    for name, peak in peaks.items():
        print(f"{name:40} {peak / GIGABYTE:8.3f} GB at its peak")
    for name, size in each.items():
        print(f"{name:45} {size:8.0f} bytes each")
    show_goals(goals)
    if not options.quick:
        timings = {name: timing_of([ended.seconds]) for name, ended in found.items()}
        more = {"peak_bytes": peaks, "bytes_each": each, "goals": goals}
        packages = ("numpy", "numba", "torch", "jax", "micrograd")
        print("written", write_report("memory", timings, packages, unit="to the first step", **more))


if __name__ == "__main__":
    main()
