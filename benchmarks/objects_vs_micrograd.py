"""Objects against micrograd: forward and backward of one sample of MLP(2, [16, 16, 1]), on one pinned core, in turns.

All networks have the same weights and see the same samples, with ReLU between the layers and a squared error, as in
micrograd's demo; a sample is forward, backward and clearing the gradients.

First layers (`nn.Linear`) against micrograd's. Then the same network typed with operators, ``sum(w * x) + b``: over
Values, over Weights and over micrograd's Values. It has 643 nodes, so these figures say what a node costs. Needs the
extra ``bench``.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from _timing import Found, at_most, benchmark, check_losses, in_turns, main, pin_core, pin_threads

pin_threads()

import numpy as np  # noqa: E402
from micrograd.engine import Value as Micro  # noqa: E402
from micrograd.nn import MLP  # noqa: E402

from scalarviz import Value, Weight, nn  # noqa: E402

OURS, THEIRS = "scalarviz objects", "micrograd"
SIZES = (2, 16, 16, 1)
NODES = sum(2 * before * after for before, after in pairwise(SIZES)) + 16 + 16 + 3
Step = Callable[[list[float]], float]


@benchmark("numpy micrograd")
def objects_vs_micrograd(quick: bool) -> Found:
    pin_core()
    samples = np.random.default_rng(0).normal(size=(32, 2)).tolist()
    layers = dict(zip((OURS, THEIRS), networks(), strict=True))
    written = {"Values": typed(Value, Value), "Weights": typed(Weight, Value), "micrograd": typed(Micro, Micro)}
    graphs = {f"typed: {name}": step for name, step in written.items()}
    for steps in (layers, graphs):
        check_losses("outputs", {name: [step(x) for x in samples] for name, step in steps.items()}, 1e-9)

    def many(step: Step) -> Callable[[int], None]:
        def work(count: int) -> None:
            for k in range(count):
                step(samples[k % len(samples)])

        return work

    contestants = {name: many(step) for name, step in {**layers, **graphs}.items()}
    timings = in_turns(contestants, rounds=5 if quick else 31, seconds=0.1)
    ratio = timings[THEIRS].median / timings[OURS].median
    print(f"{ratio:.1f} times as fast as micrograd")
    nodes = {name: 1e9 * timings[name].median / NODES for name in graphs}
    goals = {f"objects, {name}": at_most(nodes[name], 600, "ns a node") for name in ("typed: Values", "typed: Weights")}
    rounded = {name: round(figure) for name, figure in nodes.items()}
    return timings, {"ratio": round(ratio, 2), "ns_a_node": rounded, "goals": goals}


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

    def step_of(net: Any, output: Callable[[list[float]], Any]) -> Step:
        def step(x: list[float]) -> float:
            out = output(x)
            ((out - 1.0) ** 2).backward()
            net.zero_grad()
            return float(out.data)

        return step

    return step_of(ours, lambda x: ours(x)[0]), step_of(theirs, theirs)


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


if __name__ == "__main__":
    main()
