"""Shuffled minibatches against a batch that never changes: what picking other samples at every step costs.

    python benchmarks/shuffled.py [--seconds 2]

A net 784-16-10 (SGD, squared error) and a net 3-3, at several batch sizes: a run over 20,000 samples in keyed order,
the same run with its inputs as bytes, the same from a file that is mapped into memory, and a run whose data is one
batch, which stays where it is. Contestants take turns on one thread, in processor time. The file is in the system's
cache by then: a disk is not measured. At most 2.2 times the fixed batch is asked for, 784-16-10 from memory.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

from _timing import Timing, arguments, at_most, pin_threads, show_goals, timing_of, write_report

pin_threads(1)

import numpy as np  # noqa: E402

from scalarviz import Run, nn, optim  # noqa: E402

SAMPLES = 20_000
NETS = ((784, 16, 10), (3, 3))
BATCHES = (1, 32, 256, 1024)
MOST = 2.2
RATE = 1e-6
TURN = 0.03


def network(sizes: tuple[int, ...]) -> Any:
    """A net with tanh between its layers."""
    layers: list[Any] = []
    for n_in, n_out in pairwise(sizes):
        layers += [nn.Linear(n_in, n_out), nn.Tanh()]
    net = nn.Sequential(*layers[:-1])
    net.initialize(seed=1)
    return net


def steps_of(sizes: tuple[int, ...], data: tuple[Any, Any], batch: int, dtype: str) -> Callable[[int], object]:
    """Training steps of a run over this data."""
    net = network(sizes)
    optimizer = optim.SGD(net.parameters(), lr=RATE)
    run = Run(net, nn.MSELoss(), optimizer, data, batch_size=batch, engine="numba", dtype=dtype)
    return run.step


def contestants(
    sizes: tuple[int, ...], batch: int, dtype: str, folder: Path
) -> dict[str, Callable[[int], object]]:  # fmt: skip
    """The same net over the same numbers, kept in several ways."""
    random = np.random.default_rng(0)
    bytes_ = random.integers(0, 256, (SAMPLES, sizes[0]), np.uint8)
    x, y = bytes_.astype(dtype), random.random((SAMPLES, sizes[-1])).astype(dtype)
    path = folder / f"x{sizes[0]}-{dtype}.npy"
    if not path.exists():
        np.save(path, x)
    kept = {
        "fixed": (x[:batch], y[:batch]),
        "shuffled": (x, y),
        "shuffled bytes": (bytes_, y),
        "shuffled file": (np.load(path, mmap_mode="r"), y),
    }
    return {name: steps_of(sizes, data, batch, dtype) for name, data in kept.items()}


def in_cpu_time(runs: dict[str, Callable[[int], object]], rounds: int) -> dict[str, Timing]:
    """Processor seconds a step, in turns of about `TURN`: another program that wants the core does not count."""
    sizes = {}
    for name, step in runs.items():
        count = 16  # also the warm-up
        while (took := _once(step, count)) < TURN / 2 or count < 256:
            count *= 2
        sizes[name] = max(1, round(count * TURN / took))
    found: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, step in runs.items():
            found[name].append(_once(step, sizes[name]) / sizes[name])
    return {name: timing_of(times) for name, times in found.items()}


def _once(step: Callable[[int], object], count: int) -> float:
    start = time.process_time()
    step(count)
    return time.process_time() - start


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--seconds", type=float, default=2.0, help="for each net, batch and dtype, about")
    options = parser.parse_args()
    timings: dict[str, Timing] = {}
    ratios: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for sizes in NETS:
            for dtype in ("float32", "float64"):
                for batch in BATCHES:
                    name = f"{'-'.join(map(str, sizes))} {dtype}, {batch}"
                    rounds = 3 if options.quick else max(5, int(options.seconds / 4 / TURN))
                    found = in_cpu_time(contestants(sizes, batch, dtype, Path(folder)), rounds)
                    fixed = found["fixed"].median
                    ratios[name] = {k: round(t.median / fixed, 3) for k, t in found.items() if k != "fixed"}
                    timings |= {f"{name}: {label}": timing for label, timing in found.items()}
                    print(f"{name:28}", *(f"{label} {ratio:.2f}" for label, ratio in ratios[name].items()), sep="  ")
    worst = max(found["shuffled"] for name, found in ratios.items() if name.startswith("784"))
    goals = {"784-16-10 shuffled, worst of its batches": at_most(worst, MOST, "times a fixed batch")}
    show_goals(goals)
    if not options.quick:
        more = {"goals": goals, "times_as_long_as_fixed": ratios}
        packages = ("numpy", "numba", "llvmlite")
        print("\nwritten", write_report("shuffled", timings, packages, unit="one training step", **more))


if __name__ == "__main__":
    main()
