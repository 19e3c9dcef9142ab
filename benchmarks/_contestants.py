"""Who trains the networks of `_workloads`: our engines, PyTorch and JAX.

Each is a function of a workload; it returns a function that does so many training steps and returns the last loss.
Libraries are imported by the functions that need them: each has its own processes in which its start is timed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import numpy as np
from _workloads import CHAIN, LEAK, LR, Workload

Steps = Callable[[int], float]
DECAY1, DECAY2, EPSILON = 0.9, 0.999, 1e-8


# ---- scalarviz


def build(work: Workload, engine: str, dtype: str = "float32") -> Any:
    """A `Run` on one engine."""
    from scalarviz import Run, nn, optim

    if work.kind == "graph":
        model: Any = chain(work.scalars().tolist())
    else:
        model = nn.Sequential(*_layers(work, nn, nn.Unflatten(work.picture)))
        for parameter, array in zip(model.parameters(), work.arrays(), strict=True):
            parameter.data = array
    optimiser = getattr(optim, work.optimiser)(model.w if work.kind == "graph" else model.parameters(), lr=LR)
    options: dict[str, Any] = {"batch_size": work.batch, "engine": engine, "dtype": dtype}
    return Run(model, nn.MSELoss(), optimiser, work.data(), **options)


def chain(weights: Sequence[float], scale: float | None = None) -> Any:
    """Scalars without layers: ``h = scale * tanh(a*h + b*x[0]) * sin(c*x[1]) + h``, three weights a unit."""
    import scalarviz as sv
    from scalarviz import nn

    class Chain(nn.Module):
        def __init__(self) -> None:
            self.w = [sv.Weight(w) for w in weights]

        def forward(self, x: Any) -> Any:
            h = x[0]
            for a, b, c in zip(self.w[0::3], self.w[1::3], self.w[2::3], strict=True):
                inner = (a * h + b * x[0]).tanh()
                h = (inner if scale is None else scale * inner) * (c * x[1]).sin() + h
            return [h]

    return Chain()


def _layers(work: Workload, nn: Any, unflatten: Any) -> list[Any]:
    """Layers by the names that PyTorch and we share."""
    if work.kind == "cnn":
        _, first, second, classes = work.sizes
        return [
            unflatten, nn.Conv2d(work.picture[0], first, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(first, second, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
            nn.Linear(work.weights()[-1][0].shape[1], classes),
        ]  # fmt: skip
    kinds = {"tanh": nn.Tanh, "relu": nn.ReLU, "sigmoid": nn.Sigmoid, "leaky": lambda: nn.LeakyReLU(LEAK)}
    layers = []
    for (matrix, _), activation in zip(work.weights(), work.activations(), strict=True):
        layers.append(nn.Linear(matrix.shape[1], matrix.shape[0]))
        layers += [kinds[activation]()] if activation != "none" else []
    return layers


def steps_of(run: Any) -> Steps:
    """Steps of a `Run`."""

    def some(count: int) -> float:
        run.step(count)
        return float(run.loss)

    return some


# ---- PyTorch


def torch_steps(
    work: Workload, dtype: str = "float32", device: str = "cpu", graph: bool = False, tf32: bool = False
) -> Steps:
    """The usual loop: clear the gradients, forward, loss, backward, update.

    On a GPU, `graph` captures a step once and replays it, and with `tf32` float32 products may be rounded to TF32's ten
    bits; a capture keeps what it was made with.
    """
    import torch

    torch.set_num_threads(1)
    kind = getattr(torch, dtype)
    model = _torch_network(work).to(device=device, dtype=kind)
    x, y = (torch.tensor(a, dtype=kind, device=device) for a in work.data())
    loss_of, options = torch.nn.MSELoss(), {"lr": LR, "fused": True}  # its quickest form, which a user has to ask for
    if work.optimiser == "Adam" and device == "cuda":
        options["capturable"] = True
    optimiser = getattr(torch.optim, work.optimiser)(model.parameters(), **options)

    def forward() -> Any:
        return loss_of(model(x), y)

    def step() -> Any:
        optimiser.zero_grad()
        loss = forward()
        loss.backward()
        optimiser.step()
        return loss

    def allow_tf32() -> None:
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32

    if graph:
        allow_tf32()
        step = _captured(step, forward, model, optimiser)

    def run(count: int) -> float:
        if device == "cuda":
            allow_tf32()
        for _ in range(count):
            loss = step()
        return float(loss.item())

    return run


def _captured(step: Callable[[], Any], forward: Callable[[], Any], model: Any, optimiser: Any) -> Callable[[], Any]:
    """A step as a CUDA graph: warm up beside the main stream, as PyTorch asks for, take that back, capture a step."""
    import torch

    before = [p.detach().clone() for p in model.parameters()]
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    optimiser.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        loss = forward()
        loss.backward()
        optimiser.step()
        optimiser.zero_grad(set_to_none=False)
    with torch.no_grad():
        for parameter, numbers in zip(model.parameters(), before, strict=True):
            parameter.copy_(numbers)
            for state in optimiser.state[parameter].values():
                if isinstance(state, torch.Tensor):
                    state.zero_()

    def replay() -> Any:
        graph.replay()
        return loss

    vars(replay)["kept"] = forward, optimiser  # a graph knows addresses: data and states have to stay where they are
    return replay


def _torch_network(work: Workload) -> Any:
    import torch

    class Chain(torch.nn.Module):
        """The graph of scalars: a tensor a scalar."""

        def __init__(self) -> None:
            super().__init__()
            self.w = torch.nn.ParameterList([torch.nn.Parameter(torch.tensor(w)) for w in work.scalars()])

        def forward(self, x: Any) -> Any:
            first, second = x[:, 0], x[:, 1]
            h = first
            for k in range(CHAIN):
                a, b, c = self.w[3 * k], self.w[3 * k + 1], self.w[3 * k + 2]
                h = torch.tanh(a * h + b * first) * torch.sin(c * second) + h
            return h[:, None]

    if work.kind == "graph":
        return Chain()
    model = torch.nn.Sequential(*_layers(work, torch.nn, torch.nn.Unflatten(1, work.picture)))
    for parameter, array in zip(model.parameters(), work.arrays(), strict=True):
        parameter.data = torch.tensor(array)
    return model


# ---- JAX


def jax_steps(work: Workload, scan: int = 0) -> Steps:
    """One compiled step per call; with `scan` that many in each call (a count is rounded up to a multiple)."""
    import jax
    import jax.numpy as jnp

    kinds: dict[str, Callable[[Any], Any]] = {
        "tanh": jnp.tanh, "relu": jax.nn.relu, "sigmoid": jax.nn.sigmoid, "none": lambda x: x,
        "leaky": lambda x: jax.nn.leaky_relu(x, LEAK),
    }  # fmt: skip

    def forward(theta: Any, x: Any) -> Any:
        if work.kind == "graph":
            h = x[:, 0]
            for k in range(CHAIN):
                h = jnp.tanh(theta[3 * k] * h + theta[3 * k + 1] * x[:, 0]) * jnp.sin(theta[3 * k + 2] * x[:, 1]) + h
            return h[:, None]
        if work.kind == "cnn":
            x = x.reshape(-1, *work.picture)
            for weight, bias in theta[:2]:
                x = jax.lax.conv_general_dilated(x, weight, (1, 1), "SAME") + bias[:, None, None]
                x = jax.lax.reduce_window(jax.nn.relu(x), -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
            weight, bias = theta[2]
            return x.reshape(len(x), -1) @ weight.T + bias
        for (weight, bias), activation in zip(theta, work.activations(), strict=True):
            x = kinds[activation](x @ weight.T + bias)
        return x

    def step(state: Any) -> tuple[Any, Any]:
        theta, m, v, t = state
        loss, grad = jax.value_and_grad(lambda theta: jnp.mean((forward(theta, x) - y) ** 2))(theta)
        if work.optimiser == "SGD":
            return (jax.tree.map(lambda w, g: w - LR * g, theta, grad), m, v, t + 1), loss
        t = t + 1
        m = jax.tree.map(lambda a, g: DECAY1 * a + (1 - DECAY1) * g, m, grad)
        v = jax.tree.map(lambda a, g: DECAY2 * a + (1 - DECAY2) * g * g, v, grad)
        c1, c2 = 1 - DECAY1**t, 1 - DECAY2**t
        theta = jax.tree.map(lambda w, a, b: w - LR * (a / c1) / (jnp.sqrt(b / c2) + EPSILON), theta, m, v)
        return (theta, m, v, t), loss

    x, y = (jnp.asarray(a) for a in work.data())
    if work.kind == "graph":
        theta: Any = [jnp.float32(w) for w in work.scalars().tolist()]
    else:
        theta = [(jnp.asarray(a), jnp.asarray(b)) for a, b in work.weights()]
    zeros = jax.tree.map(jnp.zeros_like, theta)
    call = jax.jit(lambda s: jax.lax.scan(lambda c, _: step(c), s, None, length=scan)) if scan else jax.jit(step)
    state = (theta, zeros, zeros, jnp.float32(0))

    def run(count: int) -> float:
        nonlocal state
        for _ in range(-(-count // scan) if scan else count):
            state, loss = call(state)
        return float(np.asarray(jax.block_until_ready(loss)).ravel()[-1])

    return run
