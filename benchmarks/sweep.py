"""A thousand runs of XOR from the command line, beside the same sweep in PyTorch processes and on a dask cluster.

    python benchmarks/sweep.py [--rounds 3]

``scalarviz sweep xor --seeds 1000`` is timed as a whole, from the command's start to its end: two processes, 20,000
steps of single samples a run, every result in a file; bytecode and kernels are there from an earlier start. What the
processors worked for it stands beside, since a busy machine shows there less.

PyTorch trains the same network in a pool of two processes. It does so for few runs, and what a thousand take is what
one more costs, a thousand times. That both train the same thing is tried first, on a hundred steps with the same
weights and the same order.

A cluster is a scheduler and 2 or 8 workers on this machine; what is counted is what the processor worked for the
scheduler and for the client, a parcel of nothing and a run. `docs/clusters.md` says what follows from that.
"""

from __future__ import annotations

import json
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from _processes import HERE, SCALARVIZ, as_users_have_it, fresh
from _timing import Timing, arguments, at_most, pin_threads, show_goals, timing_of, write_report

pin_threads(1)

RUNS, STEPS = 1000, 20_000
FEW, MORE = 2, 10
"""Runs of PyTorch: what one costs is an eighth of the difference."""
SECONDS = 15.0
"""For all, as was asked for."""
CHECKED = 100


def ours(runs: int, steps: int, folder: Path) -> tuple[float, float]:
    """Seconds of the command, from its start to its end, and of the processors for it and its processes."""
    path = folder / "xor.svs"
    path.unlink(missing_ok=True)
    line = [*SCALARVIZ, "sweep", "xor", "--seeds", str(runs), "--steps", str(steps), "--results", str(path)]
    start, worked = time.perf_counter(), _worked()
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": as_users_have_it()}
    subprocess.run([*line, "--workers", "2"], check=True, **quiet)
    seconds, worked = time.perf_counter() - start, _worked() - worked
    with sqlite3.connect(path) as database:
        (found,) = database.execute("SELECT count(*) FROM result WHERE state = 'done'").fetchone()
    if found != runs:
        raise SystemExit(f"{found} of {runs} runs are done")
    return seconds, worked


def _worked() -> float:
    """Seconds that the processors worked for processes that were started from here and have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def torch(runs: int, steps: int) -> float:
    """Seconds of the same in PyTorch, from the start of Python to its end."""
    ended = fresh([sys.executable, str(HERE / "_sweep_torch.py"), str(runs), str(steps)])
    if not ended.json()["loss"] < 0.2:
        raise SystemExit(f"PyTorch did not learn: {ended.said}")
    return ended.seconds


def check() -> None:
    """That both train the same thing."""
    import numpy as np
    from _sweep_torch import train

    from scalarviz.run.scene_file import load_scene

    loaded = load_scene("xor")
    run = loaded.build(loaded.options(seed=3, headless=True)).run
    weights = list(run.state_dict().values())
    order = [int(run.problem.indices(step)[0]) for step in range(CHECKED)]
    run.step(CHECKED)
    theirs = train(weights, np.array(order))
    if not np.allclose(run.history.loss, theirs, rtol=1e-4, atol=1e-6):
        raise SystemExit("PyTorch trains something else")


def clusters(runs: int, steps: int) -> dict[str, Any]:
    """Seconds of the processor for a parcel and a run, by number of workers."""
    script = str(HERE / "_sweep_cluster.py")
    return {str(n): fresh([sys.executable, script, str(n), str(runs), str(steps)]).json() for n in (2, 8)}


def measured(quick: bool, rounds: int) -> tuple[dict[str, Timing], dict[str, Any]]:
    """All timings, and what follows from them."""
    runs, steps = (20, 2000) if quick else (RUNS, STEPS)
    found: dict[str, list[float]] = {"scalarviz": [], "few": [], "more": []}
    worked: list[float] = []
    with tempfile.TemporaryDirectory() as name:
        ours(2, 20, Path(name))  # the system's file cache
        torch(2, 4000)
        for _ in range(1 if quick else rounds):
            seconds, processor = ours(runs, steps, Path(name))
            found["scalarviz"].append(seconds)
            worked.append(processor)
            found["few"].append(torch(FEW, max(steps, 8000)))
            found["more"].append(torch(MORE, max(steps, 8000)))
    times = {
        f"scalarviz: {runs:,} runs": timing_of(found["scalarviz"]),
        f"PyTorch: {FEW} runs": timing_of(found["few"]),
        f"PyTorch: {MORE} runs": timing_of(found["more"]),
    }
    whole, few, more = (timing.median for timing in times.values())
    theirs = few + (runs - FEW) * (more - few) / (MORE - FEW)
    return times, {
        "processor_seconds": round(median(worked), 1), "pytorch_all_runs": round(theirs, 1),
        "times_as_fast": round(theirs / whole, 1),
    }  # fmt: skip


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    check()
    fresh((*SCALARVIZ, "warmup"))
    timings, more = measured(options.quick, options.rounds)
    more["clusters"] = clusters(*((40, 200) if options.quick else (RUNS, STEPS)))
    first = next(iter(timings))
    goals = {f"sweep of XOR, {first.partition(': ')[2]}": at_most(timings[first].median, SECONDS, "s")}
    for name, timing in timings.items():
        print(f"{name:24} {timing}")
    print(json.dumps(more, indent=1))
    show_goals(goals)
    if not options.quick:
        packages = ("numpy", "numba", "torch", "distributed")
        print("written", write_report("sweep", timings, packages, unit="one sweep", **more, goals=goals))


if __name__ == "__main__":
    main()
