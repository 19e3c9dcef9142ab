"""A process that makes a Run of one network and does its first step, for `making`.

    python benchmarks/_making_networks.py NETWORK NODES ENGINE

Prints nodes of the recorded graph and processor seconds from ``sv.Run(`` to the end of the first step. Kernels are
loaded before, by a small network of the same kind; the network itself is made before, too.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

from _timing import pin_threads


def networks() -> dict[str, Callable[[int], tuple[Any, tuple[int, ...]]]]:
    """By name, a function of the number of nodes that makes a network, and the shape of a sample."""
    import scalarviz as sv
    from scalarviz import nn

    class Layers(nn.Module):  # type: ignore[misc]
        def __init__(self, n: int) -> None:
            width = max(2, int((n / 9) ** 0.5))  # three layers; a weight, a product and a sum each
            start = 1 / width
            self.w = [[[sv.Weight(start) for _ in range(width)] for _ in range(width)] for _ in range(3)]

        def forward(self, x: Any) -> Any:
            for layer in self.w:
                x = [sv.tanh(sum(w * v for w, v in zip(row, x, strict=True))) for row in layer]
            return sum(x)

    class Unit(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            self.w, self.b = sv.Weight(0.5), sv.Weight(0.1)

        def forward(self, x: Any) -> Any:
            return sv.sin(self.w * x[0] + self.b) * x[1]

    class Units(nn.Module):  # type: ignore[misc]
        def __init__(self, n: int) -> None:
            self.units = [Unit() for _ in range(max(2, n // 7))]

        def forward(self, x: Any) -> Any:
            return sum(unit(x) for unit in self.units)

    class Chain(nn.Module):  # type: ignore[misc]
        def __init__(self, n: int) -> None:
            self.n, self.w, self.b = n, sv.Weight(0.9), sv.Weight(0.1)

        def forward(self, x: Any) -> Any:
            h = x[0] * x[1]
            for _ in range(self.n // 3):
                h = sv.sin(h * self.w + self.b)
            return h

    class Wide(nn.Module):  # type: ignore[misc]
        def __init__(self, n: int) -> None:
            self.w = [sv.Weight(0.5) for _ in range(max(2, n // 4))]

        def forward(self, x: Any) -> Any:
            return sum(sv.tanh(w * x[0]) for w in self.w)

    def picture(n: int) -> tuple[Any, tuple[int, ...]]:
        side = max(8, int((n / 28) ** 0.5) // 4 * 4)
        layers = (nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1), nn.ReLU())
        return nn.Sequential(*layers, nn.MaxPool2d(2), nn.Flatten(), nn.Linear(side * side, 1)), (1, side, side)

    def linear(n: int) -> tuple[Any, tuple[int, ...]]:
        width = max(2, int(n**0.5))
        return nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1)), (width,)

    def square(n: int) -> tuple[Any, tuple[int, ...]]:
        net = Layers(n)
        return net, (len(net.w[0]),)

    return {
        "layers typed with loose Weights": square,
        "hand-made modules": lambda n: (Units(n), (2,)),
        "a chain": lambda n: (Chain(n), (2,)),
        "a wide sum": lambda n: (Wide(n), (1,)),
        "a CNN": picture,
        "one Linear": linear,
    }


def first_step(name: str, nodes: int, engine: str) -> dict[str, float]:
    """Nodes, weights, and processor seconds until the first step is done."""
    import numpy as np

    import scalarviz as sv
    from scalarviz import nn, optim

    net, shape = networks()[name](nodes)
    dice = np.random.default_rng(0)
    data = dice.normal(size=(8, *shape)), dice.normal(size=(8, 1))
    optimizer = optim.SGD(net.parameters(), lr=1e-3)
    start = time.process_time()
    run = sv.Run(net, nn.MSELoss(), optimizer, data, engine=engine)
    run.step()
    return {
        "seconds": time.process_time() - start,
        "nodes": len(run._tape.nodes),
        "weights": run.n_weights,
    }


def main() -> None:
    pin_threads(1)
    name, nodes, engine = sys.argv[1:]
    first_step(name, 50, engine)
    print(json.dumps(first_step(name, int(nodes), engine)), flush=True)


if __name__ == "__main__":
    main()
