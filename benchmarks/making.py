"""Making a Run: processor time from ``sv.Run(...)`` to the first step done, per node, and the peak of memory.

Each is a fresh process; processor time, so that it means something on a machine that is busy. What is recorded,
named, lowered and encoded is all counted; kernels are loaded and the network itself is made before. A node is one
scalar of the recorded graph. Peaks include the libraries and the network (a loose Weight alone takes a kilobyte).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from _timing import (
    SCALARVIZ,
    Found,
    Timing,
    at_most,
    benchmark,
    child,
    command_of,
    fresh,
    main,
    pin_threads,
    say,
    timing_of,
)  # fmt: skip

TYPED = ("layers typed with loose Weights", "hand-made modules", "a chain", "a wide sum")
SMALL, LARGE, LINEAR = "100,000 nodes", "a million nodes", "ten million weights in one Linear"


@benchmark("numpy numba", "to the first step")
def making(quick: bool) -> Found:
    fresh((*SCALARVIZ, "warmup"))
    rounds, part = (1, 100) if quick else (3, 1)
    asked = {
        **{f"{SMALL}, {engine}: {name}": (rounds, name, 100_000 // part, engine)
           for engine in ("numba", "numpy") for name in (*TYPED, "a CNN")},
        **{f"{LARGE}: {name}": (1, name, 1_000_000 // part, "numba") for name in TYPED},
        LINEAR: (rounds, "one Linear", 10_000_000 // part, "numba"),
    }  # fmt: skip
    timings, made = dict[str, Timing](), {}
    for title, (count, *what) in asked.items():
        ended = [fresh(command_of(first_step, *what)) for _ in range(count)]
        timing, nodes = timing_of([one.json()["seconds"] for one in ended]), ended[0].json()["nodes"]
        node, peak = 1e6 * timing.median / nodes, max(one.peak for one in ended)
        timings[title], made[title] = timing, {"nodes": nodes, "us_a_node": node, "peak_bytes": peak}
        print(f"{title:62} {node:7.1f} us a node {peak / 1e9:7.2f} GB", flush=True)
    dearest = max(one["us_a_node"] for title, one in made.items() if title.startswith(SMALL))
    longest = max(timing.median for title, timing in timings.items() if title.startswith(LARGE))
    peak = max(one["peak_bytes"] for title, one in made.items() if title.startswith(LARGE))
    goals = {
        "making a Run of 100,000 nodes, the dearest of ten": at_most(dearest, 50, "us a node"),
        "making a Run of a million nodes, the dearest of four": at_most(longest, 60, "s"),
        "making a Run of a million nodes: peak": at_most(peak / 1e9, 2, "GB"),
        f"making a Run of {LINEAR}": at_most(timings[LINEAR].median, 5, "s"),
    }
    return timings, {"made": made, "goals": goals, "clock": "processor time"}


@child
def first_step(name: str, nodes: str, engine: str) -> None:
    """Make a Run and do its first step; a small network of the same kind loads the kernels before."""
    pin_threads()
    import numpy as np

    import scalarviz as sv
    from scalarviz import nn, optim

    for size in (50, int(nodes)):
        net, shape = networks()[name](size)
        dice = np.random.default_rng(0)
        data = dice.normal(size=(8, *shape)), dice.normal(size=(8, 1))
        optimizer = optim.SGD(net.parameters(), lr=1e-3)
        start = time.process_time()
        run = sv.Run(net, nn.MSELoss(), optimizer, data, engine=engine)
        run.step()
        seconds = time.process_time() - start
    say(seconds=seconds, nodes=len(run._tape.nodes))


def networks() -> dict[str, Callable[[int], tuple[Any, tuple[int, ...]]]]:
    """By name, a function of the number of nodes that makes a network, and the shape of a sample."""
    import scalarviz as sv
    from scalarviz import nn

    class Typed(nn.Module):
        """Weights in lists, and what is typed over them."""

        def __init__(self, weights: Any, forward: Callable[[Any, Any], Any]) -> None:
            self.w, self.typed = weights, forward

        def forward(self, x: Any) -> Any:
            return self.typed(self.w, x)

    class Unit(nn.Module):
        def __init__(self) -> None:
            self.w, self.b = sv.Weight(0.5), sv.Weight(0.1)

        def forward(self, x: Any) -> Any:
            return sv.sin(self.w * x[0] + self.b) * x[1]

    def layers(n: int) -> tuple[Any, tuple[int, ...]]:
        width = max(2, int((n / 9) ** 0.5))  # three layers; a weight, a product and a sum each

        def forward(w: Any, x: Any) -> Any:
            for layer in w:
                x = [sv.tanh(sum(w * v for w, v in zip(row, x, strict=True))) for row in layer]
            return sum(x)

        weights = [[[sv.Weight(1 / width) for _ in range(width)] for _ in range(width)] for _ in range(3)]
        return Typed(weights, forward), (width,)

    def modules(n: int) -> tuple[Any, tuple[int, ...]]:
        return Typed([Unit() for _ in range(max(2, n // 7))], lambda units, x: sum(unit(x) for unit in units)), (2,)

    def chain(n: int) -> tuple[Any, tuple[int, ...]]:
        def forward(w: Any, x: Any) -> Any:
            h = x[0] * x[1]
            for _ in range(n // 3):
                h = sv.sin(h * w[0] + w[1])
            return h

        return Typed([sv.Weight(0.9), sv.Weight(0.1)], forward), (2,)

    def wide(n: int) -> tuple[Any, tuple[int, ...]]:
        weights = [sv.Weight(0.5) for _ in range(max(2, n // 4))]
        return Typed(weights, lambda weights, x: sum(sv.tanh(w * x[0]) for w in weights)), (1,)

    def picture(n: int) -> tuple[Any, tuple[int, ...]]:
        side = max(8, int((n / 28) ** 0.5) // 4 * 4)
        layers = (nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1), nn.ReLU())
        return nn.Sequential(*layers, nn.MaxPool2d(2), nn.Flatten(), nn.Linear(side * side, 1)), (1, side, side)

    def linear(n: int) -> tuple[Any, tuple[int, ...]]:
        width = max(2, int(n**0.5))
        return nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1)), (width,)

    return {**dict(zip(TYPED, (layers, modules, chain, wide), strict=True)), "a CNN": picture, "one Linear": linear}


if __name__ == "__main__":
    main()
