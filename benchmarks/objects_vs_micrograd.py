"""Objects against micrograd: forward and backward of one sample of MLP(2, [16, 16, 1]), side by side in one run.

    python benchmarks/objects_vs_micrograd.py          (needs the extra `bench`)

Both networks have the same weights and see the same samples, with ReLU between the layers and a squared error, as
in micrograd's demo; a sample is forward, backward and clearing the gradients. They take turns on one pinned core.
The exit code is 1 if this package is less than 5 times as fast.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from _timing import arguments, in_turns, pin_threads, write_report

pin_threads(1)

import numpy as np  # noqa: E402
from micrograd.nn import MLP  # noqa: E402

from scalarviz import nn  # noqa: E402

OURS, THEIRS = "scalarviz objects", "micrograd"
Step = Callable[[list[float]], float]


def networks() -> tuple[Step, Step]:
    """One sample of ours and of theirs, over equal weights; each returns the output."""
    theirs = MLP(2, [16, 16, 1])
    ours = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))
    ours.initialize(seed=0)
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


def main() -> int:
    """Measure, print, write the report."""
    options = arguments(__doc__).parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    ours, theirs = networks()
    samples = np.random.default_rng(0).normal(size=(32, 2)).tolist()
    for x in samples:
        assert abs(ours(x) - theirs(x)) < 1e-12, "the two networks do not compute the same function"

    def many(step: Step) -> Callable[[int], None]:
        def work(count: int) -> None:
            for k in range(count):
                step(samples[k % len(samples)])

        return work

    timings = in_turns({OURS: many(ours), THEIRS: many(theirs)}, rounds=5 if options.quick else 31, seconds=0.1)
    ratio = timings[THEIRS].median / timings[OURS].median
    for name, timing in timings.items():
        print(f"{name:20} {timing} a sample")
    print(f"{ratio:.1f} times as fast as micrograd")
    if not options.quick:
        write_report("objects_vs_micrograd", timings, ("numpy", "micrograd"), ratio=round(ratio, 2))
    return 0 if ratio >= 5 else 1


if __name__ == "__main__":
    sys.exit(main())
