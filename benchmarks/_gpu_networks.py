"""What `gpu.py` trains beside the networks of `_workloads`, and in which forms the engine can compute a problem.

A `Case` builds the same run on any engine, so that engines can be compared and the kernels that it needs be listed.
Forms are found by asking the engine: as it chooses, and with its switches set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise, product
from typing import Any

import _contestants as by
import numpy as np
from _gpu_launches import launches
from _workloads import WORKLOADS, Workload

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.engine.cuda import trainer
from scalarviz.engine.problem import Problem
from scalarviz.scalar.batch import batch_mean, track


@dataclass(frozen=True)
class Case:
    """A run that can be made on every engine: ``build(engine, dtype)`` makes a new one with the same numbers."""

    name: str
    build: Callable[[str, str], Run]
    reference: str = "objects"  # in float64; NumPy's where the objects would take minutes


class Kinds(nn.Module):
    """Every kind of instruction that is no layer: sums of all sorts, maxima, derived weights, weights as outputs."""

    def __init__(self) -> None:
        self.w = [sv.Weight(x) for x in (0.3, -0.7, 1.1, 0.2, 0.5)]

    def forward(self, x: Any) -> Any:
        w = self.w
        product = w[0] * w[1]
        encoded = [(3.0 * v).sin() for v in x]
        a = product * x[0] + w[2] * encoded[1] + w[3]
        b = sv.dot([0.5, -1.5, 2.0], [a, x[1], encoded[2]])
        c = sv.dot([a, b], [b.tanh(), x[2]], w[4])
        d = sv.logsumexp([a, b, c]) + sv.max([a, c]) + sv.where(a < c, a * b, w[0] * c + 2.0)
        return [d / (1.0 + c.square()), w[1], sv.dot([w[3], w[2]], [a, c]), product.exp() * x[2]]


class Tables(nn.Module):
    """Rows of a table, chosen by numbers that are computed, and a layer behind them."""

    def __init__(self, rows: int) -> None:
        self.table, self.out = nn.Embedding(rows, 3, seed=1), nn.Linear(6, 2, seed=2)
        self.rows = rows

    def forward(self, x: Any) -> Any:
        first, second = (x[0] > 0) + 2.0 * (x[1] > 0), (x[2] > 0) * float(self.rows - 1)
        return self.out(sv.cat([self.table(first), self.table(second)]))


class Long(optim.Optimizer):
    """An update of more operations than one kernel takes."""

    def update(self, w: Any, g: Any, state: Any, lr: Any, t: Any) -> Any:
        """Each gradient through a hundred functions."""
        for _ in range(100):
            g = (1.5 * g).tanh() + 0.5 * g
        return w - lr * g, {}


def picture() -> Any:
    """Convolutions, pools, and layers behind them."""
    return nn.Sequential(
        nn.Unflatten((1, 6, 6)), nn.Conv2d(1, 2, 3, padding=1, seed=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(2, 3, 2, seed=2), nn.Tanh(), nn.Flatten(), nn.Linear(12, 3, seed=3), nn.Sigmoid(),
    )  # fmt: skip


def layers() -> Any:
    return nn.Sequential(nn.Linear(3, 7, seed=1), nn.LeakyReLU(), nn.Linear(7, 5, seed=2), nn.Tanh(), nn.Linear(5, 2))


def dropped() -> Any:
    return nn.Sequential(nn.Linear(3, 7, seed=1), nn.Tanh(), nn.Dropout(0.5), nn.Linear(7, 2, seed=2))


class Centred(nn.Module):
    """A layer whose outputs lose their mean over the batch; numbers that nobody trains follow it."""

    def __init__(self) -> None:
        self.first, self.out = nn.Linear(3, 7, bias=False, seed=1), nn.Linear(7, 2, seed=2)
        self.seen, self.count = nn.Parameter(np.zeros(7)), nn.Parameter([0.0])

    def forward(self, x: Any) -> Any:
        rows = self.first(x)
        means = [batch_mean(row) for row in rows]
        track(self.count[0], None)
        for k, mean in enumerate(means):
            track(self.seen[k], mean, None if k % 2 else 0.25, positions=3, count=self.count[0])
        return self.out((rows - sv.stack(means)).tanh())


def wide(activation: Any) -> Any:
    """Layers that are computed in tiles, each with what stands behind it or without."""
    sides = list(pairwise((12, 64, 64, 3)))
    found: list[Any] = []
    for k, (n, m) in enumerate(sides):
        found += [nn.Linear(n, m, seed=k), *([activation()] if activation else [])]
    return nn.Sequential(*found)


def made(model: Callable[[], Any], sides: tuple[int, int], optimiser: str, **options: Any) -> Callable[..., Run]:
    """How a small run is built: random data of so many inputs and outputs; the second weight is frozen."""

    def build(engine: str, dtype: str) -> Run:
        nn.init.manual_seed(7)
        make = np.random.default_rng(11)
        samples = options.get("samples", 37)
        net = model()
        weights = net.w if hasattr(net, "w") else net.parameters()
        if isinstance(net, Centred):
            weights = [*net.first.parameters(), *net.out.parameters()]
        kinds = {"SGD": optim.SGD, "Adam": optim.Adam, "Long": Long}
        data = make.uniform(-1, 1, (samples, sides[0])), make.uniform(0.1, 0.9, (samples, sides[1]))
        chosen = {"batch_size": options.get("batch", samples), "seed": 3, "engine": engine, "dtype": dtype}
        chosen |= options.get("limits", {})
        return Run(net, options.get("loss", nn.MSELoss)(), kinds[optimiser](weights, lr=0.01), data, **chosen)

    return build


def checks() -> Iterator[Case]:
    """Small runs that need every structural kernel."""
    yield Case("layers, SGD", made(layers, (3, 2), "SGD"))
    yield Case("layers, batches in random order, Adam", made(layers, (3, 2), "Adam", batch=10))
    yield Case("layers, a long update", made(layers, (3, 2), "Long", batch=10))
    yield Case("convolutions and pools, Adam", made(picture, (36, 3), "Adam", batch=10))
    yield Case("every kind of sum, derived weights", made(Kinds, (3, 4), "Adam", batch=10))
    yield Case("a table of many rows", made(partial(Tables, 5000), (3, 2), "SGD", batch=10))
    yield Case("a table", made(partial(Tables, 5), (3, 2), "Adam", batch=10))
    yield Case("L1", made(layers, (3, 2), "SGD", loss=nn.L1Loss))
    yield Case("dropout, batches in random order", made(dropped, (3, 2), "Adam", batch=10))
    yield Case("means over the batch, and what follows them", made(Centred, (3, 2), "Adam", batch=10))
    limits = {"l1": 0.01, "l2": 0.01, "clip_norm": 0.1, "clip_value": 0.05}
    yield Case("penalties and limits of the gradient", made(layers, (3, 2), "Adam", batch=10, limits=limits))
    yield Case("one sample", made(layers, (3, 2), "SGD", batch=1))
    for activation, samples in product((None, nn.LeakyReLU, nn.Tanh), (200, 3000)):
        name = f"64 wide, {activation.__name__ if activation else 'no activation'}, {samples}"
        build = made(partial(wide, activation), (12, 3), "Adam", samples=samples)
        yield Case(name, build, reference="numpy")


def workloads(tiny: bool) -> Iterator[Workload]:
    """Those of the benchmarks; or one of a few weights."""
    if tiny:
        yield Workload("tiny 2-3-1", (2, 3, 1), "tanh", "sigmoid", "Adam", 3)
    else:
        yield from WORKLOADS


def case_of(work: Workload) -> Case:
    return Case(work.name, lambda engine, dtype: by.build(work, engine, dtype=dtype))


def graph(tiny: bool) -> Case:
    """A typed graph of 16,000 operations, eight a unit."""
    nodes, samples = (24, 2) if tiny else (16_000, 128)
    weights = np.random.default_rng(1).normal(0, 0.5, 3 * (nodes // 8)).tolist()
    build = made(partial(by.chain, weights, (nodes // 8) ** -0.5), (2, 1), "SGD", samples=samples)
    return Case(f"graph of {nodes} nodes, {samples}", build)


def large(tiny: bool) -> Case:
    """A million weights."""
    side, samples = (3, 2) if tiny else (1000, 64)
    build = made(partial(nn.Linear, side, side, seed=1), (side, side), "Adam", samples=samples)
    return Case(f"{side}-{side} Adam, {samples}", build)


def every_case() -> list[Case]:
    """All that is trained, but for the operations one by one: what kernels are compiled for elsewhere."""
    return [*checks(), *(case_of(work) for work in WORKLOADS), graph(False), large(False)]


# ---- forms

OWN, PLAIN, TILES, BLOCKS = "cuda", "cuda, plain", "cuda, tiles", "cuda, blocks of {} lanes"
"""As the engine chooses; an instruction a kernel, which is the reference; tiles and no blocks; blocks."""
CHUNKS, MEGABYTES = "cuda, chunks of {} MB", (32, 128)
"""Chunks of lanes whose rows stay in a second-level cache, at the price of more launches."""
LANES = (8, 16, 32)


def forms() -> dict[str, Any]:
    """Configurations by name."""
    own = trainer.SHAPE
    found = {OWN: own, TILES: replace(own, lanes=0)}
    found |= {BLOCKS.format(lanes): replace(own, lanes=lanes) for lanes in LANES}
    found |= {CHUNKS.format(size): replace(own, chunk_bytes=size << 20) for size in MEGABYTES}
    found[PLAIN] = replace(own, joined=False, tiles=None, lanes=0)
    return {name: shape for name, shape in found.items() if name == OWN or shape != own}


def forms_of(problem: Problem, tiny: bool = False) -> dict[str, Any]:
    """Those in which it is launched differently: a form that cannot do it is another one under its name.

    In a trial (`tiny`) the first and the last are enough.
    """
    found: dict[Any, tuple[str, Any]] = {}
    for name, shape in forms().items():
        if tiny and name not in (OWN, PLAIN):
            continue
        with taken(shape):
            launched = [(each.kernel.name, each.grid, each.block, each.shared) for each in launches(problem)]
        found.setdefault(tuple(launched), (name, shape))
    return dict(found.values())


@contextmanager
def taken(shape: Any) -> Iterator[None]:
    """Trainers that are made meanwhile are made so."""
    before = trainer.SHAPE
    trainer.SHAPE = shape
    try:
        yield
    finally:
        trainer.SHAPE = before
