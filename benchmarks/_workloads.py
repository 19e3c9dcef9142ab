"""The networks that contestants train, the data that they see, and how fast ours should be."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from math import isqrt

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
SEED = 0


@dataclass(frozen=True)
class Goal:
    """How many times as fast as a peer the numba engine should be: at least, and the aim."""

    least: float
    aim: float


@dataclass(frozen=True)
class Workload:
    """A network and how it is trained, on mean squared error and the whole data set at every step.

    Attributes
    ----------
    name : str
    sizes : tuple of int
        Inputs, hidden layers, outputs. Of a "cnn": numbers of a picture, channels of both convolutions, classes.
    hidden, last : str
        Activations: "tanh", "relu", "leaky", "sigmoid", "none".
    optimiser : {"SGD", "Adam"}
    batch : int
    kind : {"mlp", "cnn", "graph"}
    goal : dict of str to Goal
        Against PyTorch eager and the best of JAX.
    scan : int
        Steps that JAX compiles into one call. Few where XLA's loop is slow, or a call would take seconds.
    """

    name: str
    sizes: tuple[int, ...]
    hidden: str
    last: str
    optimiser: str
    batch: int
    kind: str = "mlp"
    goal: dict[str, Goal] = field(default_factory=dict)
    scan: int = 10

    def data(self) -> tuple[Array, Array]:
        rng = np.random.default_rng(SEED)
        shapes = (self.batch, self.sizes[0]), (self.batch, self.sizes[-1])
        return tuple(rng.random(shape, dtype=np.float32) for shape in shapes)  # type: ignore[return-value]

    def weights(self) -> list[tuple[Array, Array]]:
        """Matrix (or kernels) and bias of each layer."""
        rng = np.random.default_rng(SEED + 1)
        if self.kind == "cnn":
            _, first, second, classes = self.sizes
            channels, side, _ = self.picture
            shapes = [(first, channels, 3, 3), (second, first, 3, 3), (classes, second * (side // 4) ** 2)]
        else:
            shapes = [(m, n) for n, m in pairwise(self.sizes)]  # type: ignore[misc]
        return [
            (rng.normal(0, 0.5 * np.prod(s[1:]) ** -0.5, s).astype(np.float32), np.zeros(s[0], np.float32))
            for s in shapes
        ]

    @property
    def picture(self) -> tuple[int, int, int]:
        """Channels, rows and columns of a "cnn"'s picture; of another network one row of its inputs."""
        if self.kind != "cnn":
            return 1, 1, self.sizes[0]
        channels = 1 if isqrt(self.sizes[0]) ** 2 == self.sizes[0] else 3
        side = isqrt(self.sizes[0] // channels)
        return channels, side, side

    def arrays(self) -> list[Array]:
        """The same, one after the other."""
        return [array for pair in self.weights() for array in pair]

    def scalars(self) -> Array:
        """Weights of the graph."""
        return np.random.default_rng(1).normal(0, 0.5, 3 * CHAIN).astype(np.float32)

    def activations(self) -> list[str]:
        """One for each layer of an MLP."""
        return [self.hidden] * (len(self.sizes) - 2) + [self.last]


LR = 1e-3
LEAK = 0.01
CHAIN = 12
"""Units of the scalar graph, ``h = tanh(a*h + b*x[0]) * sin(c*x[1]) + h``, each with three weights of its own."""

EAGER, JAX = "PyTorch eager", "best JAX"

UV = (12, 64, 64, 64, 64, 3)
CNN = (784, 8, 16, 10)


def _goal(eager: tuple[float, float], jax: tuple[float, float]) -> dict[str, Goal]:
    return {EAGER: Goal(*eager), JAX: Goal(*jax)}


WORKLOADS = (
    Workload("rgb 3-3, 1024", (3, 3), "none", "sigmoid", "SGD", 1024, goal=_goal((30, 45), (6, 10))),
    Workload("3-16-16-3 Adam, 1024", (3, 16, 16, 3), "tanh", "sigmoid", "Adam", 1024, goal=_goal((9, 14), (3, 4.5))),
    Workload("XOR 3-3-1, 4", (3, 3, 1), "tanh", "sigmoid", "SGD", 4, goal=_goal((500, 800), (1.5, 2))),
    Workload("circle 2-8-8-1 Adam, 512", (2, 8, 8, 1), "tanh", "tanh", "Adam", 512, goal=_goal((36, 50), (3, 4))),
    Workload("UiNN 2-8-8-1, 1024", (2, 8, 8, 1), "relu", "none", "SGD", 1024, goal=_goal((30, 40), (3.5, 5))),
    Workload("UV 12-64x4-3 Adam, 1024", UV, "leaky", "sigmoid", "Adam", 1024, goal=_goal((1.8, 2), (1.25, 1.35))),
    Workload("UV 12-64x4-3 Adam, 65536", UV, "leaky", "sigmoid", "Adam", 65536, goal=_goal((1.8, 2), (2, 2.5)), scan=2),
    Workload("CNN 8/16 3x3 28x28, 64", CNN, "relu", "none", "Adam", 64, "cnn", goal=_goal((1.5, 2), (3, 4)), scan=2),
    Workload("CNN 8/16 3x3 28x28, 1", CNN, "relu", "none", "Adam", 1, "cnn", goal=_goal((15, 18), (10, 12))),
    Workload("scalar graph, 1024", (2, 1), "none", "none", "SGD", 1024, "graph", goal=_goal((20, 50), (4, 10))),
)
GPU_NETWORKS = (
    *(work for work in WORKLOADS if work.name.startswith("UV")),
    Workload("16 wide Adam, 1024", (16,) * 4, "leaky", "sigmoid", "Adam", 1024),
    Workload("64 wide Adam, 8192", (64,) * 4, "leaky", "sigmoid", "Adam", 8192),
    *(Workload(f"256 wide Adam, {batch}", (256,) * 4, "leaky", "sigmoid", "Adam", batch) for batch in (1024, 65536)),
    Workload("512 wide Adam, 1024", (512,) * 4, "leaky", "sigmoid", "Adam", 1024),
    *(Workload(f"1024 wide Adam, {batch}", (1024,) * 4, "leaky", "sigmoid", "Adam", batch) for batch in (64, 1024)),
    *(Workload(f"CNN 1-8-16 28x28, {batch}", CNN, "relu", "none", "Adam", batch, "cnn") for batch in (64, 512)),
    Workload("CNN 3-32-64 32x32, 64", (3072, 32, 64, 10), "relu", "none", "Adam", 64, "cnn"),
)
"""Those whose kernels were measured one by one on an H200."""
TEN_MILLION = Workload("ten million weights, 64", (3162, 3162), "none", "none", "Adam", 64)
"""For memory alone."""


def named(text: str) -> Workload:
    """The first workload whose name begins with `text`."""
    return next(work for work in (*WORKLOADS, TEN_MILLION) if work.name.startswith(text))
