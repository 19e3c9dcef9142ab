"""The sweep of `sweep.py` in PyTorch, as its users write one: processes that each train one run after the other.

    python benchmarks/_sweep_torch.py RUNS STEPS

Prints its seconds from the first line to the last loss, and what a loss came to.
"""

from __future__ import annotations

import time

BEGUN = time.perf_counter()

import json  # noqa: E402
import os  # noqa: E402
import sys  # noqa: E402
from concurrent.futures import ProcessPoolExecutor  # noqa: E402
from multiprocessing import get_context  # noqa: E402

import numpy as np  # noqa: E402
import torch  # noqa: E402

WORKERS = 2
X = torch.tensor([[0.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 1.0]])
Y = torch.tensor([[0.0], [1.0], [1.0], [0.0]])


def train(weights: list[np.ndarray], order: np.ndarray, lr: float = 0.1) -> list[float]:
    """The loss of every step, of single samples in this order (steps,); see ``scenes/xor.py``."""
    torch.set_num_threads(1)
    net = torch.nn.Sequential(
        torch.nn.Linear(3, 3, bias=False), torch.nn.Tanh(), torch.nn.Linear(3, 1, bias=False), torch.nn.Tanh()
    )
    for parameter, array in zip(net.parameters(), weights, strict=True):
        parameter.data = torch.tensor(array, dtype=torch.float32)
    optimiser = torch.optim.SGD(net.parameters(), lr=lr, fused=True)
    rows = [(X[k : k + 1], Y[k : k + 1]) for k in range(4)]
    losses = []
    for k in order.tolist():
        x, y = rows[k]
        optimiser.zero_grad()
        loss = 0.5 * (net(x) - y).square().sum()
        loss.backward()
        optimiser.step()
        losses.append(loss.detach())
    return [float(loss) for loss in losses]


def run(seed: int, steps: int) -> float:
    """Mean loss of the last hundred steps of a run."""
    random = np.random.default_rng(seed)
    order = np.concatenate([random.permutation(4) for _ in range(-(-steps // 4))])[:steps]
    losses = train([random.uniform(-1, 1, (3, 3)), random.uniform(-1, 1, (1, 3))], order)
    return float(np.mean(losses[-100:]))


def main() -> None:
    runs, steps = map(int, sys.argv[1:])
    os.environ["OMP_NUM_THREADS"] = "1"
    with ProcessPoolExecutor(WORKERS, get_context("spawn")) as pool:
        losses = list(pool.map(run, range(runs), [steps] * runs))
    print(json.dumps({"seconds": time.perf_counter() - BEGUN, "loss": float(np.mean(losses))}))


if __name__ == "__main__":
    main()
