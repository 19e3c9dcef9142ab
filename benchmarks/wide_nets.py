"""Two layers 2 to 1,024 wide with a ReLU between, batches of 1 to 8,192, SGD and Adam, both dtypes, beside PyTorch.

The report has the geometric mean of the ratios, and the worst point.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Mapping
from itertools import product
from typing import Any

from _timing import Found, Timing, at_least, benchmark, check_losses, in_turns, main, pin_core, pin_threads

pin_threads()

import _contestants as by  # noqa: E402
from _workloads import EAGER, Workload  # noqa: E402

from scalarviz.run.core.training import CALL_SECONDS  # noqa: E402

OURS = "numba"
DTYPES = ("float32", "float64")
WIDTHS, BATCHES = tuple(2**k for k in range(1, 11)), (1, 8, 64, 512, 8192)
WIDE, WORST, MEAN = 256, 1.3, 1.6
"""Width from which on there are goals: how many times as fast as PyTorch."""


@benchmark("numpy numba llvmlite torch", "one training step")
def wide_nets(quick: bool) -> Found:
    pin_core()
    grid = ((16, 512), (1, 64, 512)) if quick else (WIDTHS, BATCHES)
    timings = dict[str, Timing]()
    for width, batch, optimiser, dtype in product(*grid, ("SGD", "Adam"), DTYPES):
        name = f"{width} wide, {batch}, {optimiser}, {dtype}"
        work = Workload(name, (width,) * 3, "relu", "none", optimiser, batch)
        found = beside_torch(work, dtype, 0.025 if quick else CALL_SECONDS)
        timings |= {f"{name}: {who}": timing for who, timing in found.items()}
    found = summaries({name: {"median": timing.median} for name, timing in timings.items()})
    for name, of in found.items():
        print(f"{name:28} {of['points']:4} points: mean {of['mean']:.2f}, worst {of['worst']:.2f} ({of['worst_at']})")
    return timings, {"summaries": found, "goals": goals(found)}


def beside_torch(work: Workload, dtype: str, turn: float) -> dict[str, Timing]:
    """Timings of one step of each; a turn is as long as a call of a Run that nobody watches."""
    run = by.build(work, OURS, dtype=dtype)
    entered = {OURS: by.steps_of(run), EAGER: by.torch_steps(work, dtype=dtype)}
    losses, start = {name: steps(2) for name, steps in entered.items()}, time.process_time()
    check_losses(work.name, losses, {"float32": 2e-3, "float64": 1e-8}[dtype])
    for steps in entered.values():
        steps(1)
    gc.collect()  # a collection in the middle of a warm-up would make turns of one step
    rounds = 3 if time.process_time() - start > 4 * turn else 5
    timings = in_turns(entered, rounds=rounds, seconds=turn, clock=time.process_time)
    run.close()
    return timings


def summaries(seconds: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Mean and worst ratio of all points, and of those with goals; from the medians of a report."""
    ratios = {
        point.removesuffix(f": {OURS}"): seconds[point.replace(f": {OURS}", f": {EAGER}")]["median"] / timing["median"]
        for point, timing in seconds.items() if point.endswith(f": {OURS}")
    }  # fmt: skip
    wide = {point: ratio for point, ratio in ratios.items() if int(point.split(maxsplit=1)[0]) >= WIDE}
    narrow = {point: ratio for point, ratio in wide.items() if point.endswith("float32")}
    found = {}
    for name, chosen in (("all", ratios), ("wide", wide), ("wide, float32", narrow)):
        worst = min(chosen, key=lambda point, of=chosen: of[point])
        mean = math.exp(sum(map(math.log, chosen.values())) / len(chosen))
        figures = {"points": len(chosen), "mean": round(mean, 2), "worst": round(chosen[worst], 2)}
        found[name] = {**figures, "worst_at": worst}
    return found


def goals(found: Mapping[str, Any]) -> dict[str, Any]:
    """What was asked for beside what was measured."""
    sides = f"{WIDE} to {WIDTHS[-1]} wide"
    return {
        f"{sides}, worst against PyTorch eager": at_least(found["wide"]["worst"], WORST),
        f"{sides}, geometric mean": at_least(found["wide"]["mean"], MEAN),
    }


if __name__ == "__main__":
    main()
