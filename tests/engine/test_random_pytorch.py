"""Random networks of all layers, trained by random rules, beside PyTorch: the same weights after some steps."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from scalarviz import Run, nn, optim

ENGINES = ("objects", "numpy", "numba")
SEEDS = [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 50))]
STEPS, CLASSES = 4, 3
SMOOTH = (
    ("GELU", {}), ("GELU", {"approximate": "tanh"}), ("SiLU", {}), ("Tanh", {}), ("Sigmoid", {}), ("LogSigmoid", {}),
    ("ELU", {"alpha": 0.7}), ("Softplus", {"beta": 1.7, "threshold": 3.0}), ("PReLU", {}), ("LeakyReLU", {}),
    ("ReLU", {}), ("ReLU6", {}), ("Identity", {}), ("Dropout", {"p": 0.0}),
)  # fmt: skip


class Parts:
    """A network as names and arguments of layers, the same here and there; `shape` is that of a sample on its way."""

    def __init__(self, seed):
        self.draw = Random(seed)
        self.layers = []
        self.batch = self.draw.choice([5, 8, 37])
        kind = self.draw.choice(["vector", "vector", "signal", "picture", "words"])
        self.alphabet = 0
        getattr(self, kind)()
        while len(self.shape) > 1:
            self.add("Flatten", (int(np.prod(self.shape)),))
        self.rest_of_vector()
        self.add("Linear", (CLASSES,), self.shape[0], CLASSES)

    def add(self, kind, shape=None, *args, **kwargs):
        self.layers.append((kind, args, kwargs))
        self.shape = self.shape if shape is None else shape

    def some(self, *choices):
        return self.draw.choice(choices)

    def activation(self):
        kind, kwargs = self.draw.choice(SMOOTH)
        self.add(kind, None, **kwargs)

    def norm(self, batch_norm):
        channels = self.shape[0]
        kinds = ["GroupNorm", batch_norm] if len(self.shape) > 1 else ["LayerNorm", "RMSNorm", "GroupNorm", batch_norm]
        kind = self.draw.choice(kinds)
        groups = self.draw.choice([g for g in (1, 2, 3) if channels % g == 0 and channels > g] or [1])
        if kind == "GroupNorm":
            self.add(kind, None, groups, channels)
        else:
            self.add(kind, None, channels)

    def vector(self):
        self.input = self.shape = (self.some(3, 5),)

    def rest_of_vector(self):
        for _ in range(self.draw.randint(0, 3)):
            width = self.some(4, 6, 9)
            self.add("Linear", (width,), self.shape[0], width, bias=self.some(True, False))
            if self.some(True, False):
                self.norm("BatchNorm1d")
            self.activation()

    def signal(self):
        self.input = self.shape = (self.some(1, 2), self.some(9, 12))
        for _ in range(self.draw.randint(1, 2)):
            (before, length), channels = self.shape, self.some(2, 4)
            if length < 4:
                break
            size, stride, padding = self.some(2, 3), self.some(1, 2), self.some(0, 1)
            groups = before if channels % before == 0 and self.some(True, False) else 1
            self.add("Conv1d", (channels, (length + 2 * padding - size) // stride + 1), before, channels, size,
                     stride=stride, padding=padding, groups=groups, bias=self.some(True, False))  # fmt: skip
            self.around("BatchNorm1d", "1d")

    def picture(self):
        self.input = self.shape = (self.some(1, 2), 6, self.some(6, 7))
        for _ in range(self.draw.randint(1, 2)):
            (before, *sides), channels = self.shape, self.some(2, 3)
            if min(sides) < 4:
                break
            size, padding = self.some(2, 3), self.some(0, 1)
            sides = [side + 2 * padding - size + 1 for side in sides]
            self.add("Conv2d", (channels, *sides), before, channels, size, padding=padding, bias=self.some(True, False))
            self.around("BatchNorm2d", "2d")

    def around(self, batch_norm, dimensions):
        if self.some(True, False):
            self.norm(batch_norm)
        self.activation()
        pool = self.some("MaxPool", "AvgPool", "AdaptiveAvgPool", None)
        channels, *sides = self.shape
        if pool == "AdaptiveAvgPool":
            self.add(f"{pool}{dimensions}", (channels, *([2] * len(sides))), 2)
        elif pool and min(sides) > 3:
            self.add(f"{pool}{dimensions}", (channels, *(side // 2 for side in sides)), 2)

    def words(self):
        count, width = self.some(2, 4), self.some(2, 3)
        self.input, self.alphabet = (count,), 7
        self.add("Embedding", (count, width), self.alphabet, width)

    def made(self, space):
        """The layers in a namespace of modules, in a row."""
        return space.Sequential(*(getattr(space, kind)(*args, **kwargs) for kind, args, kwargs in self.layers))


def losses(draw, samples, make):
    """Name, arguments and targets."""
    weight = tuple(draw.uniform(0.2, 2.0) for _ in range(CLASSES))
    classes = make.integers(0, CLASSES, samples)
    signs = np.where(make.normal(size=(samples, CLASSES)) > 0, 1.0, -1.0)
    numbers = make.normal(size=(samples, CLASSES))
    reduction = draw.choice(["mean", "mean", "sum"])
    kind, kwargs, targets = draw.choice([
        ("MSELoss", {}, numbers), ("SmoothL1Loss", {"beta": 0.4}, numbers), ("HuberLoss", {"delta": 0.6}, numbers),
        ("L1Loss", {}, numbers), ("HingeEmbeddingLoss", {"margin": 0.3}, signs), ("CrossEntropyLoss", {}, classes),
        ("CrossEntropyLoss", {"weight": weight, "label_smoothing": 0.15}, classes),
        ("CrossEntropyLoss", {"label_smoothing": 0.3}, np.abs(numbers) / np.abs(numbers).sum(1, keepdims=True)),
        ("MultiMarginLoss", {"margin": 0.7, "weight": weight}, classes),
        ("BCEWithLogitsLoss", {"weight": weight, "pos_weight": weight[::-1]}, (signs + 1) / 2),
    ])  # fmt: skip
    return kind, kwargs | {"reduction": reduction}, targets


def rules(draw):
    rate = draw.choice([0.003, 0.02])
    return draw.choice([
        ("SGD", {"lr": rate}), ("SGD", {"lr": rate, "momentum": 0.7, "nesterov": True, "weight_decay": 0.1}),
        ("SGD", {"lr": rate, "momentum": 0.5, "dampening": 0.3}), ("Adam", {"lr": rate, "eps": 1e-3}),
        ("AdamW", {"lr": rate, "eps": 1e-3, "amsgrad": True}), ("Adagrad", {"lr": rate, "eps": 1e-3}),
        ("RMSprop", {"lr": rate, "eps": 1e-3, "momentum": 0.4}),
    ])  # fmt: skip


def tensors(torch, kwargs):
    return {k: torch.tensor(v, dtype=torch.float64) if isinstance(v, tuple) else v for k, v in kwargs.items()}


def trained_alike(seed, engine, dtype="float64"):
    """Train the network of that number here and there; the largest difference of weights and statistics."""
    import torch

    parts = Parts(seed)
    draw, make = parts.draw, np.random.default_rng(seed)
    samples = parts.batch + draw.choice([0, 3, 20])
    x = (
        make.integers(0, 7, (samples, *parts.input)).astype(float)
        if parts.alphabet
        else (make.normal(size=(samples, *parts.input)))
    )
    kind, kwargs, y = losses(draw, samples, make)
    rule, settings = rules(draw)
    torch.manual_seed(seed)
    theirs = parts.made(torch.nn).double()
    model = parts.made(nn)
    model.load_state_dict({k: v.numpy() for k, v in theirs.state_dict().items()})
    loss = getattr(torch.nn, kind)(**tensors(torch, kwargs))
    reference = getattr(torch.optim, rule)(theirs.parameters(), **settings)
    optimizer = getattr(optim, rule)(model.parameters(), **settings)
    given, wanted = torch.tensor(x), torch.tensor(y)
    given = given.long() if parts.alphabet else given
    options = {"batch_size": parts.batch, "seed": seed, "dtype": dtype, "engine": engine}
    with Run(model, getattr(nn, kind)(**kwargs), optimizer, (x, y), **options) as run:
        for step in range(STEPS):
            chosen = run.problem.indices(step)
            reference.zero_grad()
            loss(theirs(given[chosen]), wanted[chosen]).backward()
            reference.step()
        run.step(STEPS)
        found = {k: np.array(v) for k, v in model.state_dict().items()}
        outputs = np.array(run.predict(x[:4]))
    theirs.eval()
    pairs = [(found[k], v.detach().numpy()) for k, v in theirs.state_dict().items()]
    pairs.append((outputs, theirs(given[:4]).detach().numpy()))
    return max(float(np.max(np.abs(a - b) / (1 + np.abs(b)), initial=0.0)) for a, b in pairs)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_network_trains_as_pytorchs(seed, engine):
    pytest.importorskip("torch", reason="no PyTorch (extra oracle)")
    assert trained_alike(seed, engine) < 1e-9
