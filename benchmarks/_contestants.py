"""Who trains the networks of `_workloads`: our engines, PyTorch, JAX, NumPy by hand and micrograd.

Each is a function of a workload; it returns a function that does so many training steps and returns the last loss.
Libraries are imported by the functions that need them: each has its own processes in which its start is timed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # in this process: a pinned core has no use for more

import numpy as np
from _workloads import CHAIN, LEAK, LR, Workload

Steps = Callable[[int], float]
DECAY1, DECAY2, EPSILON = 0.9, 0.999, 1e-8


# ---- scalarviz


def build(work: Workload, engine: str, batch: int | None = None, threads: int = 1, dtype: str = "float32") -> Any:
    """A `Run` on one engine, on the first `batch` samples."""
    from scalarviz import Run, nn, optim

    model = _network(work)
    x, y = (a[: batch or work.batch] for a in work.data())
    optimiser = getattr(optim, work.optimiser)(model.w if work.kind == "graph" else model.parameters(), lr=LR)
    options: dict[str, Any] = {"engine": engine, "threads": threads, "dtype": dtype}
    return Run(model, nn.MSELoss(), optimiser, (x, y), batch_size=len(x), **options)


def _network(work: Workload) -> Any:
    import scalarviz as sv
    from scalarviz import nn

    class Chain(nn.Module):
        """The graph of scalars, without layers."""

        def __init__(self) -> None:
            self.w = [sv.Weight(w) for w in work.scalars().tolist()]

        def forward(self, x: Any) -> Any:
            h = x[0]
            for a, b, c in zip(self.w[0::3], self.w[1::3], self.w[2::3], strict=True):
                h = (a * h + b * x[0]).tanh() * (c * x[1]).sin() + h
            return [h]

    if work.kind == "graph":
        return Chain()
    layers = _layers(work, nn, nn.Unflatten((1, 28, 28)))
    model = nn.Sequential(*layers)
    for parameter, array in zip(model.parameters(), work.arrays(), strict=True):
        parameter.data = array
    return model


def _layers(work: Workload, nn: Any, unflatten: Any) -> list[Any]:
    """Layers by the names that PyTorch and we share."""
    if work.kind == "cnn":
        _, first, second, classes = work.sizes
        return [
            unflatten, nn.Conv2d(1, first, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(first, second, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
            nn.Linear(49 * second, classes),
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
    work: Workload, compiled: bool = False, dtype: str = "float32", device: str = "cpu", graph: bool = False,
    tf32: bool = False,
) -> Steps:  # fmt: skip
    """The usual loop: clear the gradients, forward, loss, backward, update.

    Parameters
    ----------
    work : Workload
    compiled : bool
        Model and loss are one compiled function of this shape; so is the update where that pays (Adam: SGD's is a
        single call already). The first step compiles.
    dtype, device : str
    graph : bool
        On a GPU, capture a step once and replay it.
    tf32 : bool
        On a GPU, float32 products may be rounded to TF32's ten bits; a capture keeps what it was made with.
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

    update = optimiser.step
    if compiled:
        _quiet_compiler()
        torch._dynamo.reset()  # else the ninth workload is one recompilation too many, and runs eagerly unseen
        forward = torch.compile(forward, dynamic=False)
        update = torch.compile(update, dynamic=False) if work.optimiser == "Adam" else update

    def step() -> Any:
        optimiser.zero_grad()
        loss = forward()
        loss.backward()
        update()
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
    model = torch.nn.Sequential(*_layers(work, torch.nn, torch.nn.Unflatten(1, (1, 28, 28))))
    for parameter, array in zip(model.parameters(), work.arrays(), strict=True):
        parameter.data = torch.tensor(array)
    return model


def _quiet_compiler() -> None:
    """Send the compiler's files to a temporary folder, and silence its warnings."""
    import atexit
    import logging
    import tempfile

    import torch

    if "TORCHINDUCTOR_CACHE_DIR" not in os.environ:
        folder = tempfile.TemporaryDirectory(prefix="torchinductor-", ignore_cleanup_errors=True)
        atexit.register(folder.cleanup)
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder.name
    torch._logging.set_logs(all=logging.ERROR)


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
            x = x.reshape(-1, 1, 28, 28)
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


# ---- NumPy by hand, float32: backpropagation as one writes it with matrices

VALUE: dict[str, Callable[[Any], Any]] = {
    "tanh": np.tanh, "relu": lambda z: np.maximum(z, 0), "none": lambda z: z,
    "sigmoid": lambda z: 1 / (1 + np.exp(-z)), "leaky": lambda z: np.where(z > 0, z, np.float32(LEAK) * z),
}  # fmt: skip
SLOPE: dict[str, Callable[[Any, Any], Any]] = {  # of the sum z and the result y
    "tanh": lambda z, y: 1 - y * y, "relu": lambda z, y: z > 0, "none": lambda z, y: np.float32(1),
    "sigmoid": lambda z, y: y * (1 - y), "leaky": lambda z, y: np.where(z > 0, np.float32(1), np.float32(LEAK)),
}  # fmt: skip
Arrays = list[Any]


def numpy_steps(work: Workload) -> Steps:
    """Steps of a workload."""
    theta = [work.scalars()] if work.kind == "graph" else [a.copy() for a in work.arrays()]
    gradient = {"mlp": _perceptron, "cnn": _convolutions, "graph": _chain}[work.kind]
    data = work.data()
    m, v = ([np.zeros_like(a) for a in theta] for _ in range(2))
    lr, decay1, decay2, epsilon, done = *map(np.float32, (LR, DECAY1, DECAY2, EPSILON)), 0

    def run(count: int) -> float:
        nonlocal done
        for _ in range(count):
            loss, grads = gradient(theta, *data, work)
            done += 1
            c1, c2 = 1 - decay1**done, 1 - decay2**done
            for w, g, a, b in zip(theta, grads, m, v, strict=True):
                if work.optimiser == "SGD":
                    w[...] -= lr * g
                    continue
                a[...] += (1 - decay1) * (g - a)
                b[...] += (1 - decay2) * (g * g - b)
                w[...] -= lr * (a / c1) / (np.sqrt(b / c2) + epsilon)
        return loss

    return run


def _squared(error: Any) -> tuple[float, Any]:
    """The mean squared error, and its slope."""
    return float(np.mean(error * error)), error * np.float32(2 / error.size)


def _perceptron(theta: Arrays, x: Any, y: Any, work: Workload) -> tuple[float, Arrays]:
    kinds, sums, results = work.activations(), [], [x]
    for k, kind in enumerate(kinds):
        sums.append(results[-1] @ theta[2 * k].T + theta[2 * k + 1])
        results.append(VALUE[kind](sums[-1]))
    loss, upstream = _squared(results[-1] - y)
    grads: Arrays = []
    for k in range(len(kinds) - 1, -1, -1):
        upstream = upstream * SLOPE[kinds[k]](sums[k], results[k + 1])
        grads[:0] = [upstream.T @ results[k], upstream.sum(axis=0)]
        upstream = upstream @ theta[2 * k] if k else upstream
    return loss, grads


def _chain(theta: Arrays, x: Any, y: Any, work: Workload) -> tuple[float, Arrays]:
    """``h = tanh(a*h + b*x[0]) * sin(c*x[1]) + h``, again and again."""
    (x0, x1), (a, b, c) = x.T, theta[0].reshape(-1, 3).T
    h, kept = x0, []
    for k in range(CHAIN):
        t, s = np.tanh(a[k] * h + b[k] * x0), np.sin(c[k] * x1)
        kept.append((h, t, s))
        h = t * s + h
    loss, upstream = _squared(h - y[:, 0])
    grad = np.empty((CHAIN, 3), np.float32)
    for k in range(CHAIN - 1, -1, -1):
        h, t, s = kept[k]
        inner = upstream * s * (1 - t * t)
        grad[k] = inner @ h, inner @ x0, (upstream * t * np.cos(c[k] * x1)) @ x1
        upstream = upstream + inner * a[k]
    return loss, [grad.ravel()]


def _convolutions(theta: Arrays, x: Any, y: Any, work: Workload) -> tuple[float, Arrays]:
    """Twice a convolution of 3 x 3, ReLU and the largest of 2 x 2; then a layer."""
    below, kept = x.reshape(-1, 1, 28, 28), []
    for kernels, bias in (theta[0:2], theta[2:4]):
        windows = _windows(below)
        z = np.tensordot(windows, kernels, ((1, 4, 5), (1, 2, 3))).transpose(0, 3, 1, 2) + bias[:, None, None]
        below, chosen = _largest(np.maximum(z, 0))
        kept.append((windows, z, chosen))
    flat = below.reshape(len(x), -1)
    loss, upstream = _squared(flat @ theta[4].T + theta[5] - y)
    grads = [upstream.T @ flat, upstream.sum(axis=0)]
    wide = (upstream @ theta[4]).reshape(below.shape)
    for k in (1, 0):
        windows, z, chosen = kept[k]
        wide = (wide[:, :, :, None, :, None] * chosen).reshape(z.shape) * (z > 0)
        grads[:0] = [np.tensordot(wide, windows, ((0, 2, 3), (0, 2, 3))), wide.sum(axis=(0, 2, 3))]
        if k:
            turned = theta[2][:, :, ::-1, ::-1]
            wide = np.tensordot(_windows(wide), turned, ((1, 4, 5), (0, 2, 3))).transpose(0, 3, 1, 2)
    return loss, grads


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


# ---- micrograd


def micrograd_samples(work: Workload) -> Callable[[int], None]:
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
