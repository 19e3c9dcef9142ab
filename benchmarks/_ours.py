"""The package itself as a contestant: its engines, and the hand-written chain of scalars."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from _workloads import CHAIN, LEAK, LR, Workload

import scalarviz as sv
from scalarviz import Run, nn, optim

Steps = Callable[[int], Any]
ACTIVATIONS = {"tanh": nn.Tanh, "relu": nn.ReLU, "sigmoid": nn.Sigmoid, "leaky": lambda: nn.LeakyReLU(LEAK)}


class Chain(nn.Module):
    """Scalars without layers."""

    def __init__(self) -> None:
        self.w = [sv.Weight(w) for w in np.random.default_rng(1).normal(0, 0.5, 3 * CHAIN)]

    def forward(self, x: Any) -> Any:
        h = x[0]
        for a, b, c in zip(self.w[0::3], self.w[1::3], self.w[2::3], strict=True):
            h = (a * h + b * x[0]).tanh() * (c * x[1]).sin() + h
        return [h]


def network(work: Workload) -> Any:
    """The module, with the workload's weights."""
    if work.kind == "graph":
        return Chain()
    if work.kind == "cnn":
        _, first, second, classes = work.sizes
        layers: list[Any] = [
            nn.Unflatten((1, 28, 28)), nn.Conv2d(1, first, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(first, second, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
            nn.Linear(49 * second, classes),
        ]  # fmt: skip
    else:
        layers = []
        for (matrix, _), activation in zip(work.weights(), work.activations(), strict=True):
            layers.append(nn.Linear(matrix.shape[1], matrix.shape[0]))
            layers += [ACTIVATIONS[activation]()] if activation != "none" else []
    model = nn.Sequential(*layers)
    for parameter, array in zip(model.parameters(), [a for pair in work.weights() for a in pair], strict=True):
        parameter.data = array
    return model


def build(work: Workload, name: str, batch: int | None = None, threads: int = 1, dtype: str = "float32") -> Run:
    """A `Run` on one engine, on the first `batch` samples."""
    model = network(work)
    x, y = (a[: batch or work.batch] for a in work.data())
    weights = model.w if work.kind == "graph" else model.parameters()
    optimiser = getattr(optim, work.optimiser)(weights, lr=LR)
    options: dict[str, Any] = {"engine": name, "threads": threads, "dtype": dtype}
    return Run(model, nn.MSELoss(), optimiser, (x, y), batch_size=len(x), **options)


def steps(run: Run) -> Steps:
    """So many steps of a run; returns the loss of the last one."""

    def some(count: int) -> float:
        run.step(count)
        return run.loss

    return some


def engine(work: Workload, name: str, batch: int | None = None) -> Steps:
    """Steps of a new run on one engine, on the first `batch` samples."""
    return steps(build(work, name, batch))
