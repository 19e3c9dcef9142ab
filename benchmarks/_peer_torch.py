"""PyTorch as a contestant: eager, compiled, and for the graph of scalars one tensor a scalar."""

from __future__ import annotations

import atexit
import logging
import os
import tempfile
from collections.abc import Callable
from typing import Any

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # in this process: a pinned core has no use for more

import numpy as np
import torch
from _workloads import CHAIN, LEAK, LR, Workload

torch.set_num_threads(1)
ACTIVATIONS = {
    "tanh": torch.nn.Tanh, "relu": torch.nn.ReLU, "sigmoid": torch.nn.Sigmoid,
    "leaky": lambda: torch.nn.LeakyReLU(LEAK),
}  # fmt: skip


class Chain(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        numbers = np.random.default_rng(1).normal(0, 0.5, 3 * CHAIN).astype(np.float32)
        self.w = torch.nn.ParameterList([torch.nn.Parameter(torch.tensor(w)) for w in numbers])

    def forward(self, x: Any) -> Any:
        first, second = x[:, 0], x[:, 1]
        h = first
        for k in range(CHAIN):
            a, b, c = self.w[3 * k], self.w[3 * k + 1], self.w[3 * k + 2]
            h = torch.tanh(a * h + b * first) * torch.sin(c * second) + h
        return h[:, None]


def network(work: Workload, dtype: str = "float32") -> torch.nn.Module:
    if work.kind == "graph":
        return Chain()
    if work.kind == "cnn":
        _, first, second, classes = work.sizes
        layers: list[torch.nn.Module] = [
            torch.nn.Unflatten(1, (1, 28, 28)), torch.nn.Conv2d(1, first, 3, padding=1), torch.nn.ReLU(),
            torch.nn.MaxPool2d(2), torch.nn.Conv2d(first, second, 3, padding=1), torch.nn.ReLU(),
            torch.nn.MaxPool2d(2), torch.nn.Flatten(), torch.nn.Linear(49 * second, classes),
        ]  # fmt: skip
    else:
        layers = []
        for (matrix, _), activation in zip(work.weights(), work.activations(), strict=True):
            layers.append(torch.nn.Linear(matrix.shape[1], matrix.shape[0]))
            layers += [ACTIVATIONS[activation]()] if activation != "none" else []
    model = torch.nn.Sequential(*layers)
    arrays = [a for pair in work.weights() for a in pair]
    for parameter, array in zip(model.parameters(), arrays, strict=True):
        parameter.data = torch.tensor(array, dtype=getattr(torch, dtype))
    return model


def steps(work: Workload, compiled: bool = False, dtype: str = "float32") -> Callable[[int], float]:
    """The usual loop: clear the gradients, forward, loss, backward, update.

    Compiled, model and loss are one compiled function of this shape; so is the update where that pays (Adam: SGD's
    is a single call already). The first step compiles.
    """
    model = network(work, dtype)
    x, y = (torch.tensor(a, dtype=getattr(torch, dtype)) for a in work.data())
    # its quickest form, which a user has to ask for
    optimiser = getattr(torch.optim, work.optimiser)(model.parameters(), lr=LR, fused=True)
    loss_of = torch.nn.MSELoss()

    def forward() -> Any:
        return loss_of(model(x), y)

    update = optimiser.step
    if compiled:
        _quiet_compiler()
        torch._dynamo.reset()  # else the ninth workload is one recompilation too many, and runs eagerly unseen
        forward = torch.compile(forward, dynamic=False)
        update = torch.compile(update, dynamic=False) if work.optimiser == "Adam" else update

    def run(count: int) -> float:
        for _ in range(count):
            optimiser.zero_grad()
            loss = forward()
            loss.backward()
            update()
        return float(loss.item())

    return run


def _quiet_compiler() -> None:
    """Its files into a temporary folder, its warnings away."""
    if "TORCHINDUCTOR_CACHE_DIR" not in os.environ:
        folder = tempfile.TemporaryDirectory(prefix="torchinductor-", ignore_cleanup_errors=True)
        atexit.register(folder.cleanup)
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder.name
    torch._logging.set_logs(all=logging.ERROR)
