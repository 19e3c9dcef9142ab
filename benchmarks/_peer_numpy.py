"""NumPy by hand as a contestant: backpropagation as one writes it with matrices, float32."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from _workloads import CHAIN, LEAK, LR, Workload

VALUE: dict[str, Callable[[Any], Any]] = {
    "tanh": np.tanh, "relu": lambda z: np.maximum(z, 0), "none": lambda z: z,
    "sigmoid": lambda z: 1 / (1 + np.exp(-z)), "leaky": lambda z: np.where(z > 0, z, np.float32(LEAK) * z),
}  # fmt: skip
SLOPE: dict[str, Callable[[Any, Any], Any]] = {  # of the sum z and the result y
    "tanh": lambda z, y: 1 - y * y, "relu": lambda z, y: z > 0, "none": lambda z, y: np.float32(1),
    "sigmoid": lambda z, y: y * (1 - y), "leaky": lambda z, y: np.where(z > 0, np.float32(1), np.float32(LEAK)),
}  # fmt: skip
DECAY1, DECAY2, EPSILON = np.float32(0.9), np.float32(0.999), np.float32(1e-8)


Gradient = Callable[[list[Any]], tuple[float, list[Any]]]  # numbers of the model -> loss and gradients


def numpy_steps(work: Workload) -> Callable[[int], float]:
    """Steps of a workload."""
    if work.kind == "graph":
        theta = [np.random.default_rng(1).normal(0, 0.5, 3 * CHAIN).astype(np.float32)]
    else:
        theta = [a.copy() for pair in work.weights() for a in pair]
    gradient = {"mlp": _perceptron, "cnn": _convolutions, "graph": _chain}[work.kind](work)
    m, v = ([np.zeros_like(a) for a in theta] for _ in range(2))
    lr, done = np.float32(LR), 0

    def run(count: int) -> float:
        nonlocal done
        for _ in range(count):
            loss, grads = gradient(theta)
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


def _perceptron(work: Workload) -> Gradient:
    x, y = work.data()
    kinds = work.activations()

    def gradient(theta: list[Any]) -> tuple[float, list[Any]]:
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

    return gradient


def _chain(work: Workload) -> Gradient:
    """``h = tanh(a*h + b*x[0]) * sin(c*x[1]) + h``, again and again."""
    (x0, x1), y = work.data()[0].T, work.data()[1][:, 0]

    def gradient(theta: list[Any]) -> tuple[float, list[Any]]:
        a, b, c = theta[0].reshape(-1, 3).T
        h, kept = x0, []
        for k in range(CHAIN):
            t, s = np.tanh(a[k] * h + b[k] * x0), np.sin(c[k] * x1)
            kept.append((h, t, s))
            h = t * s + h
        error = h - y
        upstream, grad = error * np.float32(2 / len(y)), np.empty((CHAIN, 3), np.float32)
        for k in range(CHAIN - 1, -1, -1):
            h, t, s = kept[k]
            inner = upstream * s * (1 - t * t)
            grad[k] = inner @ h, inner @ x0, (upstream * t * np.cos(c[k] * x1)) @ x1
            upstream = upstream + inner * a[k]
        return float(np.mean(error * error)), [grad.ravel()]

    return gradient


def _convolutions(work: Workload) -> Gradient:
    """Twice a convolution of 3 x 3, ReLU and the largest of 2 x 2; then a layer."""
    x, y = work.data()
    pictures = x.reshape(-1, 1, 28, 28)

    def gradient(theta: list[Any]) -> tuple[float, list[Any]]:
        below, kept = pictures, []
        for kernels, bias in (theta[0:2], theta[2:4]):
            windows = _windows(below)
            z = np.tensordot(windows, kernels, ((1, 4, 5), (1, 2, 3))).transpose(0, 3, 1, 2) + bias[:, None, None]
            below, chosen = _largest(np.maximum(z, 0))
            kept.append((windows, z, chosen))
        flat = below.reshape(len(x), -1)
        error = flat @ theta[4].T + theta[5] - y
        upstream = error * np.float32(2 / error.size)
        grads = [upstream.T @ flat, upstream.sum(axis=0)]
        wide = (upstream @ theta[4]).reshape(below.shape)
        for k in (1, 0):
            windows, z, chosen = kept[k]
            wide = wide[:, :, :, None, :, None] * chosen
            wide = wide.reshape(z.shape) * (z > 0)
            grads[:0] = [np.tensordot(wide, windows, ((0, 2, 3), (0, 2, 3))), wide.sum(axis=(0, 2, 3))]
            if k:
                turned = theta[2][:, :, ::-1, ::-1]
                wide = np.tensordot(_windows(wide), turned, ((1, 4, 5), (0, 2, 3))).transpose(0, 3, 1, 2)
        return float(np.mean(error * error)), grads

    return gradient


def _windows(planes: Any) -> Any:
    """The 3 x 3 windows around every number, zeros behind the border: N x C x H x W x 3 x 3."""
    padded = np.pad(planes, ((0, 0), (0, 0), (1, 1), (1, 1)))
    return np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))


def _largest(planes: Any) -> tuple[Any, Any]:
    """The largest of every 2 x 2 numbers, and which one that is: N x C x H/2 x 2 x W/2 x 2."""
    n, channels, height, width = planes.shape
    fours = planes.reshape(n, channels, height // 2, 2, width // 2, 2)
    found = fours.max(axis=(3, 5), keepdims=True)
    flat = (fours == found).transpose(0, 1, 2, 4, 3, 5).reshape(-1, 4)
    first = flat & (np.cumsum(flat, axis=1) == 1)
    chosen = first.reshape(n, channels, height // 2, width // 2, 2, 2).transpose(0, 1, 2, 4, 3, 5)
    return found[:, :, :, 0, :, 0], chosen
