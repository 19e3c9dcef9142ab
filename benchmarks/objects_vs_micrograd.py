"""Objects against micrograd: forward and backward of one sample of MLP(2, [16, 16, 1]), side by side in one run.

    python benchmarks/objects_vs_micrograd.py          (needs the extra `bench`)

All networks have the same weights and see the same samples, with ReLU between the layers and a squared error, as in
micrograd's demo; a sample is forward, backward and clearing the gradients. They take turns on one pinned core.

First layers (`nn.Linear`) against micrograd's. Then the same network typed with operators, ``sum(w * x) + b``: over
Values, over Weights and over micrograd's Values. It has 643 nodes, so these figures say what a node costs. The exit code is 1 if a goal is missed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from _timing import Timing, arguments, at_most, in_turns, pin_threads, show_goals, write_report

pin_threads(1)

import numpy as np  # noqa: E402
from micrograd.engine import Value as Micro  # noqa: E402
from micrograd.nn import MLP  # noqa: E402

from scalarviz import Value, Weight, nn  # noqa: E402

OURS, THEIRS = "scalarviz objects", "micrograd"
TYPED: dict[str, tuple[Callable[[float], Any], Callable[[float], Any]]] = {
    "typed: Values": (Value, Value), "typed: Weights": (Weight, Value), "typed: micrograd": (Micro, Micro),
}  # fmt: skip
"""Name, and what makes a weight and an input."""
SIZES = (2, 16, 16, 1)
NODES = sum(2 * before * after for before, after in pairwise(SIZES)) + 16 + 16 + 3
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


def typed(weight: Callable[[float], Any], number: Callable[[float], Any]) -> Step:
    """One sample of the network as it is typed without layers."""
    draw = np.random.default_rng(0)
    layers = [
        [([weight(w) for w in draw.normal(size=before).tolist()], weight(0.1)) for _ in range(after)]
        for before, after in pairwise(SIZES)
    ]
    weights = [w for layer in layers for row, bias in layer for w in (*row, bias)]

    def step(x: list[float]) -> float:
        values = [number(v) for v in x]
        for layer in layers:
            sums = [sum((w * v for w, v in zip(row, values, strict=True)), bias) for row, bias in layer]
            values = sums if layer is layers[-1] else [s.relu() for s in sums]
        error = values[0] + -1.0
        (error * error).backward()
        for w in weights:
            w.grad = 0.0
        return float(values[0].data)

    return step


def main() -> int:
    """Measure, print, write the report."""
    options = arguments(__doc__).parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    samples = np.random.default_rng(0).normal(size=(32, 2)).tolist()
    groups = [dict(zip((OURS, THEIRS), networks(), strict=True)), {name: typed(*of) for name, of in TYPED.items()}]
    for steps in groups:
        for x in samples:
            outputs = [step(x) for step in steps.values()]
            assert max(outputs) - min(outputs) < 1e-12, "the networks do not compute the same function"

    def many(step: Step) -> Callable[[int], None]:
        def work(count: int) -> None:
            for k in range(count):
                step(samples[k % len(samples)])

        return work

    contestants = {name: many(step) for steps in groups for name, step in steps.items()}
    timings = in_turns(contestants, rounds=5 if options.quick else 31, seconds=0.1)
    for name, timing in timings.items():
        print(f"{name:22} {timing} a sample")
    ratio = timings[THEIRS].median / timings[OURS].median
    print(f"{ratio:.1f} times as fast as micrograd")
    goals = {f"objects, {name}": at_most(a_node(timings[name]), 600, "ns a node") for name in list(TYPED)[:2]}
    show_goals(goals)
    if not options.quick:
        nodes = {name: round(a_node(timings[name])) for name in TYPED}
        write_report(
            "objects_vs_micrograd", timings, ("numpy", "micrograd"), ratio=round(ratio, 2), ns_a_node=nodes, goals=goals
        )
    return 0 if ratio >= 5 and all(goal["reached"] for goal in goals.values()) else 1


def a_node(timing: Timing) -> float:
    """Nanoseconds a node of the typed network."""
    return 1e9 * timing.median / NODES


if __name__ == "__main__":
    sys.exit(main())
