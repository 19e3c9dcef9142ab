"""Start-up: from the start of a process to what somebody waits for, beside PyTorch and JAX.

    python benchmarks/startup.py [--rounds 5]

Fresh processes take turns; each time is wall time from starting Python to the line that says that it is done, or to
the end. The first trained step is that of 3-16-16-3 with Adam on 1,024 samples. "Empty cache" is somebody's very
first start: no compiled kernels are there, and the NumPy tier trains.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from _processes import FIRST_STEP, SCALARVIZ, fresh, in_turns
from _timing import arguments, at_most, show_goals, write_report

WORKLOAD = "3-16-16-3"
WARM, COLD = "scalarviz: first trained step, warm cache", "scalarviz: first trained step, empty cache"
PICTURE = "scalarviz rgb --headless --steps 100 --out x.png"
GOALS = {WARM: 1.0, "scalarviz --help": 0.4, PICTURE: 2.5}
"""Seconds that were asked for."""
COMMANDS = {
    "python -c pass": (sys.executable, "-c", "pass"),
    "import scalarviz": (sys.executable, "-c", "import scalarviz; scalarviz.Run"),  # names are loaded when used
    "scalarviz --help": (*SCALARVIZ, "--help"),
    WARM: (*FIRST_STEP, "scalarviz", WORKLOAD),
    COLD: (*FIRST_STEP, "scalarviz", WORKLOAD),
    PICTURE: (*SCALARVIZ, *PICTURE.split()[1:]),
    "import torch": (sys.executable, "-c", "import torch"),
    "PyTorch: first trained step": (*FIRST_STEP, "PyTorch", WORKLOAD),
    "import jax": (sys.executable, "-c", "import jax"),
    "JAX: first trained step, jit": (*FIRST_STEP, "JAX", WORKLOAD),
}
ENGINES = {WARM: "numba", COLD: "numpy"}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    fresh((*SCALARVIZ, "warmup"))
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        environments = {COLD: {"SCALARVIZ_CACHE_DIR": str(place / "empty")}}
        found = in_turns(COMMANDS, 1 if options.quick else options.rounds, environments, place)
    for name, engine in ENGINES.items():
        trained = {ended.json()["engine"] for ended in found[name][1]}
        if trained != {engine}:
            raise SystemExit(f"{name}: trained by {', '.join(trained)}, not by {engine}")
    timings = {name: timing for name, (timing, _) in found.items()}
    goals = {name: at_most(timings[name].median, most, "s") for name, most in GOALS.items()}
    for name, timing in timings.items():
        print(f"{name:50} {timing}")
    show_goals(goals)
    if not options.quick:
        packages = ("numpy", "numba", "torch", "jax", "vispy")
        print("written", write_report("startup", timings, packages, unit="one start", goals=goals))


if __name__ == "__main__":
    main()
