"""A small network that trains in NumPy and offers what the views ask of a Run. Its loss is the mean square."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from scalarviz.run.frame import Frame, Stage, Tensor


class SGD:
    """Only its name is looked at."""


@dataclass
class History:
    step: Any = field(default_factory=lambda: np.empty(0, np.int64))
    loss: Any = field(default_factory=lambda: np.empty(0))
    lr: Any = field(default_factory=lambda: np.empty(0))


class FakeRun:
    """``widths`` (3, 3) is the single layer; (3, 16, 16, 3) an MLP with tanh between."""

    def __init__(self, widths: tuple[int, ...] = (3, 3), lr: float = 0.5, batch: int = 256, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.widths, self.lr, self.batch_size, self.seed, self.dtype = widths, lr, batch, seed, "float32"
        self.engine, self.optimizer, self.steps, self.loss = "numba, 1 thread", SGD(), 0, float("nan")
        self.history = History()
        tensors, stages, start = [], [], 0
        for k, (n, m) in enumerate(pairwise(widths)):
            weight = Tensor(f"{2 * k}.weight", (m, n), start, "weight")
            bias = Tensor(f"{2 * k}.bias", (m,), start + m * n, "bias")
            start += m * n + m
            tensors += [weight, bias]
            last = k == len(widths) - 2
            stages.append(Stage(f"{2 * k}", "linear", m, weight, bias))
            stages.append(Stage(f"{2 * k + 1}", "sigmoid" if last else "tanh", m))
        self.tensors, self.stages = tuple(tensors), tuple(stages)
        self.values = np.zeros(start)
        for t in tensors:
            if t.role == "weight":
                scale = 1.0 if len(widths) == 2 else 1.5 / np.sqrt(t.shape[1])
                t.of(self.values)[:] = self.rng.normal(0, scale, t.shape)
        self.gradient, self.update = np.zeros(start), np.zeros(start)

    def _forward(self, x: Any, values: Any) -> list[Any]:
        rows = [np.asarray(x, float)]
        for stage in self.stages:
            if stage.weight is not None and stage.bias is not None:
                rows.append(rows[-1] @ stage.weight.of(values).T + stage.bias.of(values))
            else:
                rows.append(1 / (1 + np.exp(-rows[-1])) if stage.kind == "sigmoid" else np.tanh(rows[-1]))
        return rows

    def step(self, n: int = 1) -> None:
        for _ in range(n):
            x = self.rng.random((self.batch_size, self.widths[0]))
            target = 1 - x if self.widths[0] == self.widths[-1] else x[:, : self.widths[-1]]
            rows = self._forward(x, self.values)
            self.loss = float(np.mean((rows[-1] - target) ** 2))
            self._backward(rows, 2 * (rows[-1] - target) / target.size)
            self.steps += 1
            self.history = History(np.append(self.history.step, self.steps), np.append(self.history.loss, self.loss),
                                   np.append(self.history.lr, self.lr))

    def _backward(self, rows: list[Any], delta: Any) -> None:
        for k in range(len(self.stages) - 1, -1, -1):
            stage = self.stages[k]
            if stage.weight is not None and stage.bias is not None:
                stage.weight.of(self.gradient)[:] = delta.T @ rows[k]
                stage.bias.of(self.gradient)[:] = delta.sum(0)
                delta = delta @ stage.weight.of(self.values)
            else:
                y = rows[k + 1]
                delta = delta * (y * (1 - y) if stage.kind == "sigmoid" else 1 - y**2)
        self.update = -self.lr * self.gradient
        self.values = self.values + self.update

    def frame(self, probe: Any = None) -> Frame:
        acts = {}
        if probe is not None:
            rows = self._forward(np.asarray(probe)[None], self.values)
            acts = {"input": rows[0][0]} | {s.name: r[0] for s, r in zip(self.stages, rows[1:], strict=True)}
        size = len(self.values)
        return Frame(self.steps, self.loss, self.lr, self.values.copy(), self.gradient.copy(), self.update.copy(),
                     np.full(size, self.steps > 0), np.zeros(size, bool), acts)

    def predict(self, x: Any, values: Any = None) -> Any:
        return self._forward(x, self.values if values is None else values)[-1]

    def evaluate(self, x: Any, y: Any, values: Any = None) -> float:
        return float(np.mean((self.predict(x, values) - y) ** 2))
