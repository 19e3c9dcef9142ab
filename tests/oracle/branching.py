"""Compositions and random graphs with branches, and their gradients by PyTorch: a part of `make_oracle`."""

from __future__ import annotations

import itertools
from operator import add, mul, sub, truediv
from random import Random
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray]

# Compositions of functions with branches, written with the names of a namespace `m`: scalarviz itself, or PyTorch's.
INSIDE = {
    "x": lambda m, x: x, "log": lambda m, x: m.log(x), "sqrt": lambda m, x: m.sqrt(x),
    "square": lambda m, x: m.square(-x),
}  # fmt: skip
# ... + 0.0 where the larger of 0 and -0 is taken: which of them that is depends on the length of the row in PyTorch.
BRANCHES = {
    "relu": lambda m, x: m.relu(x) + 0.0, "leaky_relu": lambda m, x: m.leaky_relu(x, 0.1), "abs": lambda m, x: m.abs(x),
    "clip": lambda m, x: m.clip(x, 0.0, 1.0) + 0.0, "clip from below": lambda m, x: m.clip(x, -2.0, np.inf),
    "minimum": lambda m, x: m.minimum(x, 0.5), "maximum": lambda m, x: m.maximum(0.0, x) + 0.0,
    "largest": lambda m, x: m.max([-2.0, x, 0.0, 0.0]), "smaller": lambda m, x: m.where(x > 0, x, 0.0),
    "larger": lambda m, x: m.where(x < 1, 1.0, x),
    "both": lambda m, x: m.where(x > 0, m.minimum(x, 1.0), m.relu(x)) + 0.0,
    "condition": lambda m, x: m.where(m.sqrt(x) < 1, 2.0 * x, x),
}  # fmt: skip
OUTSIDE = {
    "x": lambda m, x: x, "sqrt": lambda m, x: m.sqrt(x), "log": lambda m, x: m.log(x), "div": lambda m, x: 1.0 / x,
    "exp": lambda m, x: m.exp(x), "square": lambda m, x: m.square(x),
}  # fmt: skip
UPSTREAMS = [-2.0, 0.0, np.inf, np.nan]


def special(dtype: str) -> np.ndarray:
    """Zeros, denormals, kinks, ordinary numbers, the largest, infinities, NaN."""
    info = np.finfo(dtype)
    positive = [0.0, float(info.smallest_subnormal), 0.5, 1.0, 2.0, float(info.max), np.inf]
    return np.array([*positive, *(-x for x in positive), np.nan], dtype)


class Torch:
    """PyTorch under the names of this package, element by element."""

    def __init__(self, dtype: str) -> None:
        import torch as t

        self.t = t
        self.real = getattr(t, dtype)
        self.log, self.sqrt, self.exp, self.square, self.relu, self.abs = t.log, t.sqrt, t.exp, t.square, t.relu, t.abs
        self.leaky_relu = t.nn.functional.leaky_relu

    def tensor(self, x: Any) -> Any:
        return x if isinstance(x, self.t.Tensor) else self.t.tensor(x, dtype=self.real)

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


def branches() -> Arrays:
    """A composition a row, ``OUTSIDE x BRANCHES x INSIDE``: what is read outside, then each upstream's gradients."""
    out = {}
    for dtype in ("float64", "float32"):
        m, rows = Torch(dtype), []
        for outside, branch, inside in itertools.product(OUTSIDE.values(), BRANCHES.values(), INSIDE.values()):
            x = m.tensor(special(dtype)).requires_grad_()
            read = branch(m, inside(m, x))
            value = outside(m, read)
            rows.append([read.detach().numpy().copy()])
            for upstream in UPSTREAMS:
                (grad,) = m.t.autograd.grad(value, x, m.t.full_like(value, upstream), retain_graph=True)
                rows[-1].append(grad.numpy())
        out[dtype] = np.array(rows)
    return out


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
    m, found = Torch("float64"), np.full((GRAPHS, WEIGHTS), np.nan)
    for seed in range(GRAPHS):
        steps, weights, inputs, upstream = recipe(Random(seed))
        leaves = [m.tensor(w).requires_grad_() for w in weights]
        value, read = graph(m, steps, [*map(m.tensor, inputs), *leaves])
        if not any(np.isnan(x.detach().numpy()) for x in read):
            if value.requires_grad:
                value.backward(m.tensor(upstream))
            found[seed] = [0.0 if w.grad is None else float(w.grad) for w in leaves]
    return {"gradients": found}
