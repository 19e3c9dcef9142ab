"""Compile times: the kernels once, and then what a new network costs, beside JAX's and PyTorch's compilers.

    python benchmarks/compile_times.py [--rounds 3]

`scalarviz warmup` fills an empty cache folder once, on all cores. From then on a network is recorded, lowered and
encoded; a shape and an expression that nobody had before must neither run the compiler nor add a file. JAX and PyTorch
compile each network anew: what is compared is a process's time from the module being imported to its first trained
step of 3-16-16-3 with Adam. PyTorch keeps what it compiled; its first and its later processes are told apart.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from _processes import FIRST_STEP, PROBE, SCALARVIZ, Ended, fresh, in_turns
from _timing import Timing, arguments, at_most, show_goals, timing_of, write_report

WORKLOAD = "3-16-16-3"
NEW = "new shape and new expression"
LARGE, LARGE_SECONDS = "nn.Linear(1024, 1024): record and lower", 1.0
"""What is asked for."""
COMMANDS = {
    "scalarviz": (*FIRST_STEP, "scalarviz", WORKLOAD),
    "PyTorch eager": (*FIRST_STEP, "PyTorch", WORKLOAD),
    "JAX jit": (*FIRST_STEP, "JAX", WORKLOAD),
    "PyTorch compiled, from its cache": (*FIRST_STEP, "compiled", WORKLOAD),
}


def cold(place: Path) -> tuple[dict[str, Timing], dict[str, Any]]:
    """Filling empty caches, once each: `scalarviz warmup`, and PyTorch's compiler on one network."""
    kernels = place / "kernels"
    warm = fresh((*SCALARVIZ, "warmup"), {"SCALARVIZ_CACHE_DIR": str(kernels)}).seconds
    timings = {"scalarviz warmup, empty cache": timing_of([warm])}
    sizes = [path.stat().st_size for path in kernels.rglob("*") if path.is_file()]
    more: dict[str, Any] = {"cache": {"files": len(sizes), "bytes": sum(sizes)}, "not_measured": {}}
    try:
        first = fresh((*FIRST_STEP, "compiled", WORKLOAD), {"TORCHINDUCTOR_CACHE_DIR": str(place / "inductor")})
        timings["3-16-16-3 to the first step: PyTorch compiled, empty cache"] = timing_of([_compiling(first)])
    except SystemExit as error:  # no C++ compiler
        more["not_measured"]["PyTorch compiled"] = " ".join(str(error).strip().splitlines()[-2:])
    return timings, more


def _compiling(ended: Ended) -> float:
    said = ended.json()
    return float(said["build"] + said["step"])


def ours(place: Path, rounds: int) -> tuple[dict[str, Timing], dict[str, Any]]:
    """What the warm kernels leave to do."""
    around = {"SCALARVIZ_CACHE_DIR": str(place / "kernels")}
    asked = {
        name: [fresh((*PROBE, name), around).json() for _ in range(rounds)] for name in ("kernels", "new", "large")
    }
    timings = {"all kernels of float32, from the cache": timing_of([a["seconds"] for a in asked["kernels"]])}
    for what in ("new shape", "new expression"):
        for part in asked["new"][0][what]:
            timings[f"{what}: {part}"] = timing_of([a[what][part] for a in asked["new"]])
    for part in ("record", "lower"):
        timings[f"nn.Linear(1024, 1024): {part}"] = timing_of([a[part] for a in asked["large"]])
    both = timing_of([a["record"] + a["lower"] for a in asked["large"]]).median
    # the compiler's passes, and files that were added to the cache
    compiled = sum(max(a[part] for a in asked["new"]) for part in ("compiler passes", "new files"))
    goals = {LARGE: at_most(both, LARGE_SECONDS, "s"), NEW: at_most(compiled, 0, "compilations")}
    return timings, {"goals": goals}


def beside(place: Path, rounds: int, missing: Mapping[str, object]) -> dict[str, Timing]:
    """To the first step of a network, in turns."""
    commands = {name: command for name, command in COMMANDS.items() if name.split(",")[0] not in missing}
    environment = {"SCALARVIZ_CACHE_DIR": str(place / "kernels"), "TORCHINDUCTOR_CACHE_DIR": str(place / "inductor")}
    found = in_turns(commands, rounds, dict.fromkeys(commands, environment))
    return {
        f"{WORKLOAD} to the first step: {name}": timing_of([_compiling(e) for e in ended])
        for name, (_, ended) in found.items()
    }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    rounds = 1 if options.quick else options.rounds
    with tempfile.TemporaryDirectory() as name:
        timings, more = cold(Path(name))
        measured, figures = ours(Path(name), rounds)
        timings |= measured | beside(Path(name), rounds, more["not_measured"])
    for label, timing in timings.items():
        print(f"{label:62} {timing}")
    show_goals(figures["goals"])
    for label, reason in more["not_measured"].items():
        print(f"{label}: not measured: {reason}")
    if not options.quick:
        packages = ("numpy", "numba", "llvmlite", "torch", "jax", "jaxlib")
        print("written", write_report("compile_times", timings, packages, unit="once", **more, **figures))


if __name__ == "__main__":
    main()
