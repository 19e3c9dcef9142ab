"""Networks from one weight to a small GPT. `make(space)` builds one out of `scalarviz.nn`, or out of `torch.nn`."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import scalarviz as sv
from scalarviz import nn

WORDS = 5
"""How many words the networks know that read whole numbers."""


@dataclass(frozen=True)
class Network:
    """A row of the registry.

    `shape` is that of one sample, `outputs` what the network makes of it; `reads` says whether samples are numbers or
    words; a network `draws` when two forward passes in training differ, and `remembers` when it has buffers (running
    statistics); it is `written` when PyTorch can build it from the same code.
    """

    make: Callable[[Any], Any]
    shape: tuple[int, ...]
    outputs: tuple[int, ...]
    reads: str = "numbers"
    draws: bool = False
    remembers: bool = False
    written: bool = True

    def ours(self, seed: int = 1) -> Any:
        """The network with weights drawn by `seed`."""
        net = self.make(nn)
        net.initialize(seed=seed)
        return net

    def theirs(self, state: dict[str, Any]) -> Any:
        """PyTorch's network, in float64, with the arrays of our ``state_dict()``."""
        import torch

        net = self.make(torch.nn).double()
        net.load_state_dict({name: torch.tensor(np.asarray(array)) for name, array in state.items()})
        return net

    def samples(self, count: int, seed: int = 0) -> np.ndarray:
        """`count` samples."""
        random = np.random.default_rng(seed)
        if self.reads == "words":
            return random.integers(0, WORDS, (count, *self.shape))
        return random.normal(size=(count, *self.shape))


def row(*layers: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A Sequential of layers, each a function of the namespace that has them."""
    return lambda space: space.Sequential(*(layer(space) for layer in layers))


def mlp(*sizes: int, activation: str = "Tanh", last: str = "Sigmoid", bias: bool = True) -> Callable[[Any], Any]:
    """Linear layers of these sizes with activations between and behind them."""
    layers: list[Callable[[Any], Any]] = []
    for k, (n, m) in enumerate(itertools.pairwise(sizes)):
        layers.append(lambda space, n=n, m=m: space.Linear(n, m, bias=bias))
        layers.append(lambda space, k=k: getattr(space, last if k == len(sizes) - 2 else activation)())
    return row(*layers)


def residual(space: Any) -> Any:
    """Two layers on one input, and the input added again."""

    class Residual(space.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = space.Linear(3, 3), space.Linear(3, 3)

        def forward(self, x: Any) -> Any:
            return self.a(x).tanh() + self.b(x).sigmoid() + x

    return Residual()


def tied(space: Any) -> Any:
    """One layer used twice."""

    class Tied(space.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = space.Linear(3, 3)

        def forward(self, x: Any) -> Any:
            return self.layer(self.layer(x).tanh())

    return Tied()


class Formula(nn.Module):
    """A formula without layers: parameter-only, input-only and mixed nodes, all kinds of weighted sums."""

    def __init__(self) -> None:
        self.w = [sv.Weight(x) for x in (0.3, -0.7, 1.1, 0.2, 0.5)]

    def forward(self, x: Any) -> Any:
        w = self.w
        product = w[0] * w[1]
        encoded = [(3.0 * v).sin() for v in x]
        a = product * x[0] + w[2] * encoded[1] + w[3]
        b = sv.dot([0.5, -1.5, 2.0], [a, x[1], encoded[2]])
        c = sv.dot([a, b], [b.tanh(), x[2]], w[4])
        d = sv.logsumexp([a, b, c]) + sv.max([a, c]) + sv.where(a < c, a * b, w[0] * c + 2.0)
        return [d / (1.0 + c.square()), w[1], x[0], (b * b + 1.0).sqrt().log() ** w[3].exp()]

    def initialize(self, *args: Any, **kwargs: Any) -> None:
        """The five weights keep their numbers: the formula has poles elsewhere."""


class OneNodeTwice(nn.Module):
    """One node as two outputs, an input that is not used, an output that is constant."""

    def __init__(self) -> None:
        self.w = sv.Weight(0.4)

    def forward(self, x: Any) -> Any:
        y = (self.w * x[0]).tanh()
        return [y, y, sv.Value(0.25)]

    def initialize(self, *args: Any, **kwargs: Any) -> None:
        """Its only weight keeps its number."""


def attention(space: Any) -> Any:
    """Words attend to those before them: table of words, positions, two heads, a layer on top."""

    class Reader(space.Module):
        def __init__(self) -> None:
            super().__init__()
            self.word, self.place = space.Embedding(WORDS, 4), space.Embedding(3, 4)
            # the bias of keys has no gradient but rounding, which some rules divide by itself
            self.heads = space.MultiheadAttention(4, 2, bias=False, **({} if space is nn else {"batch_first": True}))
            self.norm, self.head = space.LayerNorm(4), space.Linear(4, WORDS)

        def forward(self, x: Any) -> Any:
            places, before = np.arange(3), ~np.tri(3, dtype=bool)
            if space is not nn:
                import torch

                places, before = torch.tensor(places), torch.tensor(before)
            x = self.word(x) + self.place(places)
            read, _ = self.heads(x, x, x, attn_mask=before)
            return self.head(self.norm(x + read)[..., -1, :])

    return Reader()


NETWORKS: dict[str, Network] = {
    "one weight": Network(row(lambda s: s.Linear(1, 1, bias=False)), (1,), (1,)),
    "rgb": Network(mlp(3, 3), (3,), (3,)),
    "mlp": Network(mlp(3, 4, 3), (3,), (3,)),
    "wide": Network(mlp(3, 16, 16, 3), (3,), (3,)),
    "no bias": Network(mlp(3, 5, 2, bias=False, last="Identity"), (3,), (2,)),
    "relu": Network(mlp(3, 8, 2, activation="ReLU", last="Identity"), (3,), (2,)),
    "many activations": Network(
        row(
            lambda s: s.Linear(3, 4), lambda s: s.LeakyReLU(0.2), lambda s: s.Linear(4, 4), lambda s: s.GELU(),
            lambda s: s.Linear(4, 4), lambda s: s.ELU(), lambda s: s.Linear(4, 4), lambda s: s.SiLU(),
            lambda s: s.Linear(4, 4), lambda s: s.Softplus(), lambda s: s.PReLU(), lambda s: s.LogSigmoid(),
        ),
        (3,), (4,),
    ),
    "classes": Network(mlp(3, 4, 3, last="Identity"), (3,), (3,)),
    "norms": Network(
        row(lambda s: s.Linear(3, 4), lambda s: s.LayerNorm(4), lambda s: s.RMSNorm(4), lambda s: s.Linear(4, 2)),
        (3,), (2,),
    ),
    "batch norm": Network(
        row(
            lambda s: s.Linear(3, 4, bias=False), lambda s: s.BatchNorm1d(4), lambda s: s.Tanh(),
            lambda s: s.Linear(4, 2),
        ),
        (3,), (2,), remembers=True,
    ),
    "dropout": Network(
        row(lambda s: s.Linear(3, 6), lambda s: s.Dropout(0.5), lambda s: s.Linear(6, 2)), (3,), (2,), draws=True
    ),
    "picture": Network(
        row(
            lambda s: s.Conv2d(1, 2, 3, padding=1), lambda s: s.ReLU(), lambda s: s.MaxPool2d(2),
            lambda s: s.Conv2d(2, 3, 2), lambda s: s.Tanh(), lambda s: s.Flatten(), lambda s: s.Linear(12, 3),
        ),
        (1, 6, 6), (3,),
    ),
    "words": Network(
        row(lambda s: s.Embedding(WORDS, 3), lambda s: s.Flatten(), lambda s: s.Linear(9, 3)), (3,), (3,), reads="words"
    ),
    "gpt": Network(attention, (3,), (WORDS,), reads="words"),
    "residual": Network(residual, (3,), (3,)),
    "tied": Network(tied, (3,), (3,)),
    "formula": Network(lambda space: Formula(), (3,), (4,), written=False),
    "one node twice": Network(lambda space: OneNodeTwice(), (3,), (3,), written=False),
}  # fmt: skip
SMALL = ("rgb", "mlp", "residual", "formula")
"""Enough for a law in the first tier that does not look at layers."""
