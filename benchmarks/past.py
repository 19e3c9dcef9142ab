"""What it costs to keep the past of a run, and how fast one goes back.

* ``going_back``: 12-64x4-3 with Adam and a batch of 1,024, the usual budget of 64 MB, one thread. A jump is ``run.to``
  of a random step. Left is held: a worker is asked for the step before at every 33 ms, from the newest step on and from
  the middle. The speed of training with keyframes and without any, in turns.
* ``recording``: a worker trains without a limit while this thread asks for a frame every 1/30 s, as a window does.
  Spells with a recording of 30 frames a second (values, gradients, updates and the probe's rows) and without one take
  turns on the same run. Goals are against the seconds that the training thread computes a step: wall time, which stands
  beside it, means little where others are at work.
"""

from __future__ import annotations

import contextlib
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path

from _timing import Found, Timing, at_most, benchmark, main, pin_threads, timings_of

pin_threads()

import _contestants as by  # noqa: E402
import numpy as np  # noqa: E402
from _workloads import named  # noqa: E402

import scalarviz as sv  # noqa: E402
from scalarviz import nn, optim  # noqa: E402
from scalarviz.run.past.line import SPACING  # noqa: E402
from scalarviz.run.worker import Worker  # noqa: E402

# ---- going back


@benchmark("numpy numba llvmlite", "one")
def going_back(quick: bool) -> Found:
    steps, count = (2000, 30) if quick else (20_000, 200)
    run = by.build(named("UV 12-64x4-3 Adam, 1024"), "numba")
    run.step(steps)
    chosen = np.random.default_rng(0).integers(0, run.history.step[-1] + 1, count).tolist()
    times = {"jump": timed(run.to, chosen)}
    newest = run.history.step[-1]
    run.to(newest)
    times["opened"] = timed(lambda _: run.open().gradient, range(10))  # the coming step, down to its gradient
    with Worker(run) as worker:
        times["Left held"] = left_held(worker, newest, count) + left_held(worker, newest // 2, count)
    kept, free, keyframes, length = [], [], run.timeline.keyframes, max(200, steps // 40)
    for _ in range(7):  # last: it leaves gaps without keyframes
        for spacing, found in ((SPACING, kept), (1e9, free)):
            keyframes.spacing = spacing
            found += [seconds / length for seconds in timed(run.step, [length])]
    cost = statistics.median(kept) / statistics.median(free) - 1
    print(run.timeline)
    goals = {
        "going back: the longest jump": at_most(max(times["jump"]), 0.2, "s"),
        "going back: Left held, 95 of 100": at_most(1e3 * float(np.quantile(times["Left held"], 0.95)), 33, "ms"),
        "going back: Left held, the longest": at_most(1e3 * max(times["Left held"]), 60, "ms"),
        "going back: what it costs while training": at_most(100 * max(cost, 0.0), 3, "%"),
    }
    return timings_of({**times, "step, kept": kept, "step, not kept": free}), {"goals": goals}


def timed(work: Callable[[int], object], given: Iterable[int]) -> list[float]:
    """Seconds of each call."""
    times = []
    for number in given:
        start = time.perf_counter()
        work(number)
        times.append(time.perf_counter() - start)
    return times


def left_held(worker: Worker, start: int, count: int) -> list[float]:
    """Seconds from each press of a held key to the frame of its step."""
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
        time.sleep(max(0.0, 0.033 - times[-1]))
    return times


# ---- recording

FRAMES = 30
MOST, MOST_WEIGHTS = 3.0, 10_500
"""Per cent of the watched speed that a recording may cost, up to so many weights."""
SIDES = {12: (3, ()), 1_153: (2, (32, 32)), 10_401: (2, (100, 100)), 101_101: (100, (500, 100))}
"""By the count of weights: inputs and hidden layers."""


@benchmark("numpy numba")
def recording(quick: bool) -> Found:
    rounds, seconds = (2, 0.2) if quick else (24, 0.4)
    timings, networks, goals = dict[str, Timing](), {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for weights in SIDES:
            with Worker(made(weights)) as worker:
                worker.train_to(10**12)
                every = max(1, round(1 / (min(spell(worker, seconds) for _ in range(3))[0] * FRAMES)))
                pairs = []
                for _ in range(rounds):
                    pairs.append((spell(worker, seconds), spell(worker, seconds, every, Path(folder, "run.svz"))))
                worker.pause()
            costs = [100 * (statistics.median(kept[k] / plain[k] for plain, kept in pairs) - 1) for k in (0, 1)]
            networks[f"{weights:,}"] = {"every": every, "cost_%": costs[1], "cost_of_wall_%": costs[0]}
            walls = {"watched": [plain[0] for plain, _ in pairs], "recorded": [kept[0] for _, kept in pairs]}
            timings |= timings_of(walls, f"{weights:,} weights, ")
            if weights < MOST_WEIGHTS:
                goals[f"recording {weights:,} weights"] = at_most(costs[1], MOST, "%")
    return timings, {"networks": networks, "goals": goals}


def made(weights: int, batch: int = 64) -> sv.Run:
    """A network of about so many weights, on numba."""
    inputs, hidden = SIDES[weights]
    widths = [inputs, *hidden, inputs if weights == 12 else 1]
    layers = [layer for before, after in pairwise(widths) for layer in (nn.Linear(before, after), nn.Tanh())]
    net = nn.Sequential(*layers[:-1])
    net.initialize(seed=0)
    x = np.random.default_rng(0).normal(size=(1024, inputs))
    run = sv.Run(net, nn.MSELoss(), optim.Adam(net.parameters()), (x, x[:, : widths[-1]]), batch_size=batch,
                 engine="numba")  # fmt: skip
    run.step(50)
    return run


def spell(worker: Worker, seconds: float, every: int = 0, path: Path | None = None) -> tuple[float, float]:
    """Wall seconds and seconds of the training thread per step, watched 30 times a second, and recorded if asked."""
    run, thread = worker.run, time.pthread_getcpuclockid(worker.call(threading.get_ident))
    with contextlib.ExitStack() as stack:
        if path:
            kept = sv.Recording(run, every, gradients=True, updates=True, activations=True, path=path)
            stack.enter_context(kept).flush()  # what is written once, at its beginning, is no part of a frame
        first, wall, busy = run.steps, time.perf_counter(), time.clock_gettime(thread)
        end = wall + seconds
        while (left := end - time.perf_counter()) > 0:
            worker.request().result()
            time.sleep(max(0.0, min(left, 1 / FRAMES)))
        steps, wall, busy = run.steps - first, time.perf_counter() - wall, time.clock_gettime(thread) - busy
    if path:
        assert not kept.trouble
        path.unlink()
    return wall / steps, busy / steps


if __name__ == "__main__":
    main()
