"""Going back in a run: jumps to any step, the Left key held, an opened step, and what keeping the past costs.

    python benchmarks/going_back.py [--steps 20000]

12-64x4-3 with Adam and a batch of 1,024, the usual budget of 64 MB, one thread. A jump is ``run.to`` of a random step.
Left is held: a worker is asked for the step before at every 33 ms, from the newest step on and from the middle. What
keeping the past costs is the speed of training with keyframes and without any, in turns.
"""

from __future__ import annotations

import time
from typing import Any

from _timing import Timing, arguments, at_most, pin_threads, show_goals, timing_of, write_report

pin_threads(1)

import _ours  # noqa: E402
import numpy as np  # noqa: E402
from _workloads import named  # noqa: E402

from scalarviz import Run  # noqa: E402
from scalarviz.run.timeline.keyframes import SPACING  # noqa: E402
from scalarviz.run.worker import Worker  # noqa: E402

WORK = "UV 12-64x4-3 Adam, 1024"
REPEAT = 0.033
"""Seconds between two presses of a key that is held."""


def jumps(run: Run, count: int) -> list[float]:
    """Seconds of jumps to random steps."""
    random, times = np.random.default_rng(0), []
    for step in random.integers(0, run.span[1] + 1, count).tolist():
        start = time.perf_counter()
        run.to(step)
        times.append(time.perf_counter() - start)
    return times


def left_held(worker: Worker, start: int, count: int) -> list[float]:
    """Seconds from each press to the frame of its step."""
    worker.travel(start)
    worker.settle()
    time.sleep(1.0)  # a hand takes longer from one key to another
    times = []
    for step in range(start - 1, start - 1 - count, -1):
        begun = time.perf_counter()
        worker.travel(step)
        while worker.latest.step != step:
            time.sleep(0.0002)
        times.append(time.perf_counter() - begun)
        time.sleep(max(0.0, REPEAT - times[-1]))
    return times


def kept_speed(run: Run, rounds: int, steps: int) -> tuple[list[float], list[float]]:
    """Seconds a step with keyframes and without, in turns."""
    keyframes, found = run.timeline.keyframes, ([], [])
    for _ in range(rounds):
        for spacing, times in zip((SPACING, 1e9), found, strict=True):
            keyframes.spacing = spacing
            start = time.perf_counter()
            run.step(steps)
            times.append((time.perf_counter() - start) / steps)
    keyframes.spacing = SPACING
    return found


def opened(run: Run, count: int) -> list[float]:
    """Seconds to open the coming step, down to its gradient."""
    times = []
    for _ in range(count):
        start = time.perf_counter()
        _ = run.open().gradient
        times.append(time.perf_counter() - start)
    return times


def measured(steps: int, count: int) -> tuple[dict[str, Timing], dict[str, Any]]:
    """All timings, and the goals."""
    run = _ours.build(named(WORK), "numba")
    run.step(steps)
    times = {"jump": jumps(run, count)}
    run.to(run.span[1])
    times["opened"] = opened(run, 10)
    with Worker(run) as worker:
        newest = run.span[1]
        times["Left held"] = left_held(worker, newest, count) + left_held(worker, newest // 2, count)
    with_keys, without = kept_speed(run, 7, max(200, steps // 40))  # last: it leaves gaps without keyframes
    cost = float(np.median(with_keys) / np.median(without)) - 1
    goals = {
        "going back: the longest jump": at_most(max(times["jump"]), 0.2, "s"),
        "going back: Left held, 95 of 100": at_most(1e3 * float(np.quantile(times["Left held"], 0.95)), 33, "ms"),
        "going back: Left held, the longest": at_most(1e3 * max(times["Left held"]), 60, "ms"),
        "going back: what it costs while training": at_most(100 * max(cost, 0.0), 3, "%"),
    }
    times |= {"step, kept": with_keys, "step, not kept": without}
    print(run.timeline)
    return {name: timing_of(found) for name, found in times.items()}, goals


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--steps", type=int, default=20_000, help="how long the past is")
    options = parser.parse_args()
    timings, goals = measured(2000 if options.quick else options.steps, 30 if options.quick else 200)
    for name, timing in timings.items():
        print(f"{name:16} {timing}")
    show_goals(goals)
    if not options.quick:
        print("written", write_report("going_back", timings, ("numpy", "numba", "llvmlite"), unit="one", goals=goals))


if __name__ == "__main__":
    main()
