"""Objects against micrograd: forward and backward of one sample of MLP(2, [16, 16, 1]), side by side in one run.

    python benchmarks/objects_vs_micrograd.py          (needs the extra `bench`)

Both networks have the same weights and see the same samples, with ReLU between the layers and a squared error, as
in micrograd's demo. They take turns, round by round, on one pinned core, so that a noisy machine disturbs both; the
figures are the medians of the rounds.
"""

from __future__ import annotations

import gc
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

from scalarviz import nn

ROUNDS, SAMPLES = 15, 50


def networks(seed: int = 0) -> tuple[Callable[[list[float]], float], Callable[[list[float]], float]]:
    """The two steps "forward, backward, clear the gradients", over equal weights; each returns the output."""
    from micrograd.nn import MLP

    theirs = MLP(2, [16, 16, 1])
    ours = nn.Sequential(
        nn.Linear(2, 16, seed=seed), nn.ReLU(), nn.Linear(16, 16, seed=seed + 1), nn.ReLU(), nn.Linear(16, 1, seed=seed)
    )
    for layer, linear in zip(theirs.layers, (ours[0], ours[2], ours[4]), strict=True):
        for neuron, row, bias in zip(layer.neurons, linear.weight, linear.bias, strict=True):
            neuron.b.data = bias.data
            for w, number in zip(neuron.w, row.data.tolist(), strict=True):
                w.data = number

    def step_theirs(x: list[float]) -> float:
        out = theirs(x)
        ((out - 1.0) ** 2).backward()
        theirs.zero_grad()
        return float(out.data)

    def step_ours(x: list[float]) -> float:
        out = ours(x)[0]
        ((out - 1.0) ** 2).backward()
        ours.zero_grad()
        return out.data

    return step_ours, step_theirs


def measure(rounds: int = ROUNDS) -> tuple[float, float, float]:
    """Median seconds a sample of this package and of micrograd, and the median ratio of the rounds."""
    steps = networks()
    samples = np.random.default_rng(0).normal(size=(SAMPLES, 2)).tolist()
    for x in samples:
        a, b = (step(x) for step in steps)
        assert abs(a - b) < 1e-12, "the two networks do not compute the same function"
    times: list[list[float]] = [[], []]
    for _ in range(rounds):
        for k, step in enumerate(steps):
            gc.collect()
            start = time.perf_counter()
            for x in samples:
                step(x)
            times[k].append((time.perf_counter() - start) / SAMPLES)
    ratios = [theirs / ours for ours, theirs in zip(*times, strict=True)]
    return statistics.median(times[0]), statistics.median(times[1]), statistics.median(ratios)


def main() -> int:
    """Print one line; exit code 1 if the ratio is below 5."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    ours, theirs, ratio = measure()
    print(
        f"MLP(2, [16, 16, 1]), forward + backward a sample: scalarviz {ours * 1e6:.0f} us, micrograd "
        f"{theirs * 1e6:.0f} us, {ratio:.1f} times as fast (Python {platform.python_version()}, {platform.machine()})"
    )
    return 0 if ratio >= 5 else 1


if __name__ == "__main__":
    sys.exit(main())
