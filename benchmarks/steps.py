"""A training step where something changes: the width and the batch, the number of threads, the order of the samples.

* ``threads``: ``Run(threads=2)`` against ``threads=1``, not pinned to a core; both must have the same loss to the last
  bit. Where the engine sees too little work for a second thread it takes one. A second thread needs a second core that
  is free: on a busy machine it is slower.
* ``shuffled``: minibatches of 20,000 samples in keyed order, from memory, from bytes and from a mapped file, against a
  batch that never changes. The file is in the system's cache by then: a disk is not measured.
* ``wide_nets``: two layers 2 to 1,024 wide with a ReLU between, batches of 1 to 8,192, SGD and Adam, both dtypes,
  beside PyTorch; the geometric mean of the ratios, and the worst point.
"""

from __future__ import annotations

import gc
import math
import tempfile
import time
from collections.abc import Callable, Mapping
from itertools import pairwise, product
from pathlib import Path
from typing import Any

from _timing import Timing, at_least, at_most, benchmark, check_losses, in_turns, main, pin_core, pin_threads

pin_threads()  # the libraries'; the engine's threads are its own

import _contestants as by  # noqa: E402
import numpy as np  # noqa: E402
from _workloads import Workload, named  # noqa: E402

from scalarviz import Run, nn, optim  # noqa: E402
from scalarviz.engine.cost import work_of  # noqa: E402
from scalarviz.engine.cpu import trainer  # noqa: E402
from scalarviz.run.core.training import CALL_SECONDS  # noqa: E402

OURS, EAGER = "numba", "PyTorch eager"
DTYPES = ("float32", "float64")


# ---- two threads; first, because the others stay on one core

CHOSEN = ("UV 12-64x4-3 Adam, 1024", "UV 12-64x4-3 Adam, 65536", "CNN 8/16 3x3 28x28, 64", "3-16-16-3", "rgb 3-3")


@benchmark("numpy numba llvmlite", "one training step")
def threads(quick: bool) -> tuple[dict[str, Timing], dict[str, Any]]:
    timings, figures = dict[str, Timing](), {}
    for work in map(named, CHOSEN):
        runs = {count: by.build(work, OURS, threads=count) for count in (1, 2)}
        entered = {f"{count} asked for": by.steps_of(run) for count, run in runs.items()}
        check_losses(work.name, {name: steps(10) for name, steps in entered.items()}, 0.0)
        found = in_turns(entered, rounds=5 if quick else 30, seconds=0.1)
        one, two = found.values()
        operations, taken = work_of(runs[2]._problem.plan.body) * work.batch, runs[2].engine.threads
        ratio = round(one.median / two.median, 3)
        figures[work.name] = {"taken": taken, "operations": operations, "times_as_fast": ratio}
        timings |= {f"{work.name}: {name}": timing for name, timing in found.items()}
        slower = ": SLOWER" if taken > 1 and ratio < 1 else ""
        print(f"{work.name}: {operations:,} operations a step, takes {taken}: {ratio:.2f} times as fast{slower}")
    return timings, {"worth": trainer.WORTH, "processors": trainer.processors(), "two_threads": figures}


# ---- shuffled minibatches

SAMPLES, MOST = 20_000, 2.2
"""Samples; and how many times as long as a fixed batch a shuffled one may take, from memory."""


@benchmark("numpy numba llvmlite", "one training step")
def shuffled(quick: bool) -> tuple[dict[str, Timing], dict[str, Any]]:
    pin_core()
    timings, ratios = dict[str, Timing](), {}
    with tempfile.TemporaryDirectory() as folder:
        for sizes, dtype, batch in product(((784, 16, 10), (3, 3)), DTYPES, (1, 32, 256, 1024)):
            name, entered = f"{'-'.join(map(str, sizes))} {dtype}, {batch}", ways(sizes, batch, dtype, Path(folder))
            found = in_turns(entered, rounds=3 if quick else 16, seconds=0.03, clock=time.process_time)
            fixed = found["fixed"].median
            ratios[name] = {way: round(t.median / fixed, 3) for way, t in found.items() if way != "fixed"}
            timings |= {f"{name}: {way}": timing for way, timing in found.items()}
    worst = max(found["shuffled"] for name, found in ratios.items() if name.startswith("784"))
    goals = {"784-16-10 shuffled, worst of its batches": at_most(worst, MOST, "times a fixed batch")}
    return timings, {"goals": goals, "times_as_long_as_fixed": ratios}


def ways(sizes: tuple[int, ...], batch: int, dtype: str, folder: Path) -> dict[str, Callable[[int], object]]:
    """Steps of the same net (SGD, squared error) over the same numbers, kept in several ways."""
    random = np.random.default_rng(0)
    bytes_ = random.integers(0, 256, (SAMPLES, sizes[0]), np.uint8)
    x, y = bytes_.astype(dtype), random.random((SAMPLES, sizes[-1])).astype(dtype)
    path = folder / f"x{sizes[0]}-{dtype}.npy"
    if not path.exists():
        np.save(path, x)
    kept = {
        "fixed": (x[:batch], y[:batch]), "shuffled": (x, y), "shuffled bytes": (bytes_, y),
        "shuffled file": (np.load(path, mmap_mode="r"), y),
    }  # fmt: skip
    found = {}
    for name, data in kept.items():
        layers = [layer for n, m in pairwise(sizes) for layer in (nn.Linear(n, m), nn.Tanh())]
        net = nn.Sequential(*layers[:-1])
        net.initialize(seed=1)
        optimizer = optim.SGD(net.parameters(), lr=1e-6)
        found[name] = Run(net, nn.MSELoss(), optimizer, data, batch_size=batch, engine=OURS, dtype=dtype).step
    return found


# ---- wide networks

WIDTHS, BATCHES = tuple(2**k for k in range(1, 11)), (1, 8, 64, 512, 8192)
WIDE, WORST, MEAN = 256, 1.3, 1.6
"""Width from which on there are goals: how many times as fast as PyTorch."""


@benchmark("numpy numba llvmlite torch", "one training step")
def wide_nets(quick: bool) -> tuple[dict[str, Timing], dict[str, Any]]:
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
