"""Random graphs with branches, and their gradients by PyTorch: a part of `make_oracle`."""

from __future__ import annotations

from operator import add, mul, sub, truediv
from random import Random
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray]


class Torch:
    """PyTorch under the names of this package, element by element."""

    def __init__(self) -> None:
        import torch as t

        self.t = t
        self.log, self.sqrt, self.exp, self.square, self.relu = t.log, t.sqrt, t.exp, t.square, t.relu

    def tensor(self, x: Any) -> Any:
        return x if isinstance(x, self.t.Tensor) else self.t.tensor(x, dtype=self.t.float64)

    def where(self, c: Any, a: Any, b: Any) -> Any:
        return self.t.where(c, self.tensor(a), self.tensor(b))

    def clip(self, x: Any, low: Any, high: Any) -> Any:
        return self.t.clamp(x, self.tensor(low), self.tensor(high))

    def minimum(self, a: Any, b: Any) -> Any:
        return self.t.minimum(self.tensor(a), self.tensor(b))

    def maximum(self, a: Any, b: Any) -> Any:
        return self.t.maximum(self.tensor(a), self.tensor(b))

    def max(self, xs: Any) -> Any:
        every = self.t.stack(self.t.broadcast_tensors(*[self.tensor(x) for x in xs]))
        first = self.t.tensor(np.argmax(every.detach().numpy(), axis=0))
        return every.gather(0, first[None])[0]


NUMBERS = [0.0, 1.0, -1.0, 0.5, 2.0, -3.0, 0.7, -0.2]
GRAPHS, INPUTS, WEIGHTS = 150, 2, 3
ONE = {"relu": "relu", "sqrt": "sqrt", "log": "log", "square": "square", "exp": "exp"}


def recipe(draw: Random) -> tuple[list[tuple[Any, ...]], list[float], list[float], float]:
    """A random graph as a list of steps over rows, its weights and inputs, and its upstream gradient."""
    steps: list[tuple[Any, ...]] = []
    for count in range(INPUTS + WEIGHTS, INPUTS + WEIGHTS + draw.randint(3, 14)):
        rows = [draw.randrange(count) for _ in range(4)]
        kind = draw.choice([*ONE, "clip", "minimum", "maximum", "max", "where", "where", "where", "+", "*", "-", "/"])
        steps.append((kind, *rows))
    numbers = [draw.choice(NUMBERS) for _ in range(WEIGHTS + INPUTS)]
    return steps, numbers[:WEIGHTS], numbers[WEIGHTS:], draw.choice([1.0, 1.0, -2.0, 0.0, np.inf, np.nan])


def graph(m: Any, steps: list[tuple[Any, ...]], rows: list[Any]) -> Any:
    """The last row of a recipe whose first rows are given, and the operands of all its branches."""
    rows, read = list(rows), []
    for kind, *places in steps:
        a, b, c, d = (rows[k] for k in places)
        if kind in ONE:
            read += [a] if kind == "relu" else []
            rows.append(getattr(m, kind)(a))
        elif kind == "where":
            rows.append(m.where(a < b, c, d))
        elif kind in ("+", "-", "*", "/"):
            rows.append({"+": add, "-": sub, "*": mul, "/": truediv}[kind](a, b))
        else:
            read += [a, b, c]
            given = {"clip": (a, -1.0, 1.0), "max": ([a, b, c],)}
            rows.append(getattr(m, kind)(*given.get(kind, (a, b))))
    return rows[-1], read


def graphs() -> Arrays:
    """Gradients of random graphs by their weights; a row of NaN where a NaN comes to a branch: a rule of our own."""
    m, found = Torch(), np.full((GRAPHS, WEIGHTS), np.nan)
    for seed in range(GRAPHS):
        steps, weights, inputs, upstream = recipe(Random(seed))
        leaves = [m.tensor(w).requires_grad_() for w in weights]
        value, read = graph(m, steps, [*map(m.tensor, inputs), *leaves])
        if not any(np.isnan(x.detach().numpy()) for x in read):
            if value.requires_grad:
                value.backward(m.tensor(upstream))
            found[seed] = [0.0 if w.grad is None else float(w.grad) for w in leaves]
    return {"gradients": found}
