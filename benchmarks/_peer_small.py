"""NumPy by hand and micrograd as contestants (multi-layer perceptrons alone)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from _workloads import LEAK, LR, Workload

VALUE: dict[str, Callable[[Any], Any]] = {
    "tanh": np.tanh, "relu": lambda z: np.maximum(z, 0), "none": lambda z: z,
    "sigmoid": lambda z: 1 / (1 + np.exp(-z)), "leaky": lambda z: np.where(z > 0, z, np.float32(LEAK) * z),
}  # fmt: skip
SLOPE: dict[str, Callable[[Any, Any], Any]] = {  # of the sum z and the result y
    "tanh": lambda z, y: 1 - y * y, "relu": lambda z, y: z > 0, "none": lambda z, y: np.float32(1),
    "sigmoid": lambda z, y: y * (1 - y), "leaky": lambda z, y: np.where(z > 0, np.float32(1), np.float32(LEAK)),
}  # fmt: skip
DECAY1, DECAY2, EPSILON = np.float32(0.9), np.float32(0.999), np.float32(1e-8)


def numpy_steps(work: Workload) -> Callable[[int], float]:
    """Backpropagation as one writes it with matrices, float32."""
    x, y = work.data()
    theta = [a.copy() for pair in work.weights() for a in pair]
    m, v = ([np.zeros_like(a) for a in theta] for _ in range(2))
    kinds, lr, done = work.activations(), np.float32(LR), 0

    def gradient() -> tuple[float, list[Any]]:
        sums, results = [], [x]
        for k, kind in enumerate(kinds):
            sums.append(results[-1] @ theta[2 * k].T + theta[2 * k + 1])
            results.append(VALUE[kind](sums[-1]))
        error = results[-1] - y
        upstream = error * np.float32(2 / error.size)
        grads: list[Any] = []
        for k in range(len(kinds) - 1, -1, -1):
            upstream = upstream * SLOPE[kinds[k]](sums[k], results[k + 1])
            grads[:0] = [upstream.T @ results[k], upstream.sum(axis=0)]
            upstream = upstream @ theta[2 * k] if k else upstream
        return float(np.mean(error * error)), grads

    def run(count: int) -> float:
        nonlocal done
        for _ in range(count):
            loss, grads = gradient()
            done += 1
            c1, c2 = 1 - DECAY1**done, 1 - DECAY2**done
            for w, g, a, b in zip(theta, grads, m, v, strict=True):
                if work.optimiser == "SGD":
                    w[...] -= lr * g
                    continue
                a[...] += (1 - DECAY1) * (g - a)
                b[...] += (1 - DECAY2) * (g * g - b)
                w[...] -= lr * (a / c1) / (np.sqrt(b / c2) + EPSILON)
        return loss

    return run


def micrograd_sample(work: Workload) -> Callable[[int], None]:
    """Forward, squared error and backward of single samples on micrograd's own MLP (ReLU: it has nothing else)."""
    from micrograd.nn import MLP

    net = MLP(work.sizes[0], list(work.sizes[1:]))
    x, y = (a[:8].tolist() for a in work.data())

    def run(count: int) -> None:
        for k in range(count):
            out = net(x[k % len(x)])
            outs = out if isinstance(out, list) else [out]
            sum(((o - t) ** 2 for o, t in zip(outs, y[k % len(y)], strict=True)), start=0.0).backward()
            net.zero_grad()

    return run
