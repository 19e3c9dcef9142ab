"""What recording costs a training that somebody watches.

    python benchmarks/recording.py [--rounds 24] [--seconds 0.4]

A worker trains without a limit while this thread asks for a frame every 1/30 s, as a window does. Spells with a
recording of 30 frames a second (values, gradients, updates and the probe's rows) and without one take turns on the same
run. What is asked for is held against the seconds that the training thread computes a step: wall time, which stands
beside it, means little where others are at work.
"""

from __future__ import annotations

import itertools
import statistics
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from _timing import arguments, at_most, pin_threads, show_goals, timing_of, write_report

pin_threads(1)

import numpy as np  # noqa: E402

import scalarviz as sv  # noqa: E402
from scalarviz import nn, optim  # noqa: E402
from scalarviz.run.worker import Worker  # noqa: E402

FRAMES = 30
MOST = 3.0
"""Per cent of the watched speed that a recording may cost, up to ten thousand weights."""
SIDES = {12: (3, ()), 1_153: (2, (32, 32)), 10_401: (2, (100, 100)), 101_101: (100, (500, 100))}
"""By the count of weights: inputs and hidden layers. The last one is beyond what is asked for."""


def made(weights: int, batch: int = 64) -> sv.Run:
    """A network of about so many weights, on numba."""
    inputs, hidden = SIDES[weights]
    widths = [inputs, *hidden, inputs if weights == 12 else 1]
    layers: list[Any] = []
    for before, after in itertools.pairwise(widths):
        layers += [nn.Linear(before, after), nn.Tanh()]
    net = nn.Sequential(*layers[:-1])
    net.initialize(seed=0)
    x = np.random.default_rng(0).normal(size=(1024, inputs))
    run = sv.Run(net, nn.MSELoss(), optim.Adam(net.parameters()), (x, x[:, : widths[-1]]), batch_size=batch,
                 engine="numba")  # fmt: skip
    run.step(50)
    return run


def spell(worker: Worker, seconds: float) -> tuple[float, float]:
    """Wall seconds and seconds of the training thread a step, while somebody looks 30 times a second."""
    run, thread = worker.run, time.pthread_getcpuclockid(worker.call(threading.get_ident))
    first, wall, busy = run.steps, time.perf_counter(), time.clock_gettime(thread)
    end = wall + seconds
    while (left := end - time.perf_counter()) > 0:
        worker.request().result()
        time.sleep(max(0.0, min(left, 1 / FRAMES)))
    steps, wall, busy = run.steps - first, time.perf_counter() - wall, time.clock_gettime(thread) - busy
    return wall / steps, busy / steps


def recorded(worker: Worker, seconds: float, every: int, path: Path) -> tuple[float, float]:
    """The same while it is recorded."""
    with sv.Recording(worker.run, every, gradients=True, updates=True, activations=True, path=path) as recording:
        recording.flush()  # what is written once, at its beginning, is no part of a frame
        found = spell(worker, seconds)
    assert not recording.trouble
    path.unlink()
    return found


def measured(weights: int, rounds: int, seconds: float, path: Path) -> tuple[dict[str, list[float]], dict[str, Any]]:
    """Seconds a step with and without, and what stands beside them."""
    found: dict[str, list[float]] = {"watched": [], "recorded": []}
    busy: dict[str, list[float]] = {"watched": [], "recorded": []}
    with Worker(made(weights)) as worker:
        worker.train_to(10**12)
        wall, _ = min(spell(worker, seconds) for _ in range(3))
        every = max(1, round(1 / (wall * FRAMES)))
        for _ in range(rounds):
            plain = spell(worker, seconds)
            taken = recorded(worker, seconds, every, path)
            for name, pair in (("watched", plain), ("recorded", taken)):
                found[name].append(pair[0])
                busy[name].append(pair[1])
        worker.pause()
    wall, cost = (
        100 * (statistics.median(b / a for a, b in zip(each["watched"], each["recorded"], strict=True)) - 1)
        for each in (found, busy)
    )
    return found, {"every": every, "cost_%": cost, "cost_of_wall_%": wall}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=24)
    parser.add_argument("--seconds", type=float, default=0.4, help="of each spell")
    options = parser.parse_args()
    rounds, seconds = (2, 0.2) if options.quick else (options.rounds, options.seconds)
    timings, networks, goals = {}, {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for weights in SIDES:
            found, more = measured(weights, rounds, seconds, Path(folder) / "run.svz")
            timings |= {f"{weights:,} weights, {name}": timing_of(times) for name, times in found.items()}
            networks[f"{weights:,}"] = more
            print(
                f"{weights:>8,} weights: every {more['every']:>6,} steps, {more['cost_%']:+.1f} % of the thread that "
                f"trains, {more['cost_of_wall_%']:+.1f} % of wall time"
            )
            if weights < 10_500:
                goals[f"recording {weights:,} weights"] = at_most(more["cost_%"], MOST, "%")
    show_goals(goals)
    if not options.quick:
        print("written", write_report("recording", timings, ("numpy", "numba"), networks=networks, goals=goals))


if __name__ == "__main__":
    main()
