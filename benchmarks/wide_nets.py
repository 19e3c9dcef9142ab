"""Networks 2 to 1,024 wide at batches of 1 to 8,192: a step of the numba engine beside one of PyTorch, over a grid.

    python benchmarks/wide_nets.py [--only TEXT]

Two layers as wide as their input with a ReLU between, SGD and Adam, float32 and float64, on one pinned thread, in
seconds of the processor. Losses after the same steps must agree before anything is timed. Ends with the geometric mean
and the worst point, and writes ``results/wide_nets.json``.
"""

from __future__ import annotations

import gc
import math
import os
import time
from collections.abc import Callable, Iterable, Mapping
from itertools import product
from typing import Any

from _timing import Timing, arguments, in_turns, pin_threads, write_report

pin_threads(1)

import _ours  # noqa: E402
import _peer_torch  # noqa: E402
import numpy as np  # noqa: E402
from _workloads import Workload  # noqa: E402

from scalarviz.run.training import CALL_SECONDS  # noqa: E402

WIDTHS = tuple(2**k for k in range(1, 11))
BATCHES = (1, 8, 64, 512, 8192)
OPTIMISERS, DTYPES = ("SGD", "Adam"), ("float32", "float64")
WIDE = 256
"""Width from which on there are goals."""
WORST, MEAN = 1.3, 1.6
"""What is asked for there: how many times as fast as PyTorch."""
OURS, EAGER = "numba", "PyTorch eager"
AGREED = {"float32": 2e-3, "float64": 1e-8}
CHECKED = 2
"""Steps after which losses are compared."""


def workload(width: int, batch: int, optimiser: str) -> Workload:
    """A point of the grid."""
    return Workload(f"{width} wide, {batch}, {optimiser}", (width,) * 3, "relu", "none", optimiser, batch)


def measure(work: Workload, dtype: str, seconds: float) -> dict[str, Timing]:
    """Timings of one step of each, in turns of a quarter of `seconds`."""
    run = _ours.build(work, OURS, dtype=dtype)
    entered: dict[str, Callable[[int], Any]] = {OURS: _ours.steps(run), EAGER: _peer_torch.steps(work, dtype=dtype)}
    losses, start = {name: some(CHECKED) for name, some in entered.items()}, time.process_time()
    if not np.allclose(list(losses.values()), losses[EAGER], rtol=AGREED[dtype]):
        raise SystemExit(f"{work.name}, {dtype}: the losses after {CHECKED} steps differ: {losses}")
    for some in entered.values():
        some(1)
    gc.collect()  # a collection in the middle of a warm-up would make turns of one step
    rounds = 3 if time.process_time() - start > seconds else 5
    timings = in_turns(entered, rounds=rounds, seconds=seconds / 4, clock=time.process_time)
    run.close()
    return timings


def geometric_mean(ratios: Iterable[float]) -> float:
    """Of how many times as fast."""
    logs = [math.log(ratio) for ratio in ratios]
    return math.exp(sum(logs) / len(logs))


def summary(ratios: Mapping[str, float]) -> dict[str, Any]:
    """Mean and worst of some points."""
    worst = min(ratios, key=lambda point: ratios[point])
    return {
        "points": len(ratios), "mean": round(geometric_mean(ratios.values()), 2), "worst": round(ratios[worst], 2),
        "worst_at": worst,
    }  # fmt: skip


def summaries(seconds: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Of all points, and of those with goals; from the medians of a report."""
    points: dict[str, dict[str, float]] = {}
    for key, timing in seconds.items():
        point, name = key.rsplit(": ", 1)
        points.setdefault(point, {})[name] = timing["median"]
    ratios = {point: found[EAGER] / found[OURS] for point, found in points.items()}
    wide = {point: ratio for point, ratio in ratios.items() if width_of(point) >= WIDE}
    chosen = {
        "all": ratios,
        "wide": wide,
        "wide, float32": {point: ratio for point, ratio in wide.items() if point.endswith("float32")},
    }
    return {name: summary(of) for name, of in chosen.items() if of}


def width_of(point: str) -> int:
    """The width in a point's name."""
    return int(point.split(maxsplit=1)[0])


def goals(found: Mapping[str, Any]) -> dict[str, Any]:
    """What was asked for beside what was measured."""
    wide = found["wide"]
    return {
        f"{WIDE} to {WIDTHS[-1]} wide, {name}": {
            "measured": wide[part], "at_least": least, "reached": wide[part] >= least
        }
        for name, part, least in (("worst against PyTorch eager", "worst", WORST), ("geometric mean", "mean", MEAN))
    }  # fmt: skip


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--only", default="", help="points whose name holds this text")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    widths, batches = ((16, 512), (1, 64, 512)) if options.quick else (WIDTHS, BATCHES)
    timings: dict[str, Timing] = {}
    for width, batch, optimiser, dtype in product(widths, batches, OPTIMISERS, DTYPES):
        work = workload(width, batch, optimiser)
        name = f"{work.name}, {dtype}"
        if options.only not in name:
            continue
        found = measure(work, dtype, 0.1 if options.quick else 4 * CALL_SECONDS)
        timings |= {f"{name}: {who}": timing for who, timing in found.items()}
        others = "  ".join(f"{who} {t.median / found[OURS].median:6.2f}" for who, t in found.items() if who != OURS)
        print(f"{name:36} {found[OURS]!s:40} {others}", flush=True)
    results = summaries({name: {"median": timing.median} for name, timing in timings.items()})
    for name, of in results.items():
        print(f"{name:28} {of['points']:4} points: mean {of['mean']:.2f}, worst {of['worst']:.2f} ({of['worst_at']})")
    if options.quick or options.only:
        return
    more = {"summaries": results, "goals": goals(results)}
    print(
        "written",
        write_report("wide_nets", timings, ("numpy", "numba", "llvmlite", "torch"), unit="one training step", **more),
    )


if __name__ == "__main__":
    main()
