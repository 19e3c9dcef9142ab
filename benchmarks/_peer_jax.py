"""JAX as a contestant: one compiled step a call, and many steps in one call (`scan`)."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import numpy as np
from _workloads import CHAIN, LEAK, LR, Workload

ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "tanh": jnp.tanh, "relu": jax.nn.relu, "sigmoid": jax.nn.sigmoid, "none": lambda x: x,
    "leaky": lambda x: jax.nn.leaky_relu(x, LEAK),
}  # fmt: skip
DECAY1, DECAY2, EPSILON = 0.9, 0.999, 1e-8


def _forward(work: Workload, theta: Any, x: Any) -> Any:
    if work.kind == "graph":
        h = x[:, 0]
        for k in range(CHAIN):
            h = jnp.tanh(theta[3 * k] * h + theta[3 * k + 1] * x[:, 0]) * jnp.sin(theta[3 * k + 2] * x[:, 1]) + h
        return h[:, None]
    if work.kind == "cnn":
        x = x.reshape(-1, 1, 28, 28)
        for weight, bias in theta[:2]:
            x = jax.lax.conv_general_dilated(x, weight, (1, 1), "SAME") + bias[:, None, None]
            x = jax.lax.reduce_window(jax.nn.relu(x), -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
        weight, bias = theta[2]
        return x.reshape(len(x), -1) @ weight.T + bias
    for (weight, bias), activation in zip(theta, work.activations(), strict=True):
        x = ACTIVATIONS[activation](x @ weight.T + bias)
    return x


def _step(work: Workload, x: Any, y: Any) -> Callable[[Any], tuple[Any, Any]]:
    def loss_of(theta: Any) -> Any:
        return jnp.mean((_forward(work, theta, x) - y) ** 2)

    def step(state: Any) -> tuple[Any, Any]:
        theta, m, v, t = state
        loss, grad = jax.value_and_grad(loss_of)(theta)
        if work.optimiser == "SGD":
            return (jax.tree.map(lambda w, g: w - LR * g, theta, grad), m, v, t + 1), loss
        t = t + 1
        m = jax.tree.map(lambda a, g: DECAY1 * a + (1 - DECAY1) * g, m, grad)
        v = jax.tree.map(lambda a, g: DECAY2 * a + (1 - DECAY2) * g * g, v, grad)
        c1, c2 = 1 - DECAY1**t, 1 - DECAY2**t
        theta = jax.tree.map(lambda w, a, b: w - LR * (a / c1) / (jnp.sqrt(b / c2) + EPSILON), theta, m, v)
        return (theta, m, v, t), loss

    return step


def steps(work: Workload, scan: int = 0) -> Callable[[int], float]:
    """Steps; with `scan` that many in each compiled call (a count is rounded up to a multiple)."""
    x, y = (jnp.asarray(a) for a in work.data())
    if work.kind == "graph":
        theta: Any = [jnp.float32(w) for w in np.random.default_rng(1).normal(0, 0.5, 3 * CHAIN)]
    else:
        theta = [(jnp.asarray(a), jnp.asarray(b)) for a, b in work.weights()]
    zeros = jax.tree.map(jnp.zeros_like, theta)
    one = _step(work, x, y)
    call = jax.jit(lambda s: jax.lax.scan(lambda c, _: one(c), s, None, length=scan)) if scan else jax.jit(one)
    state = [(theta, zeros, zeros, jnp.float32(0))]

    def run(count: int) -> float:
        loss = None
        for _ in range(-(-count // scan) if scan else count):
            state[0], loss = call(state[0])
        return float(np.asarray(jax.block_until_ready(loss)).ravel()[-1])

    return run
