"""Trainings put together at random: engines, calls, threads and replays do the same, and PyTorch does it too."""

from random import Random

import numpy as np
import pytest

import scalarviz as sv
from kit.learning import LOSSES
from kit.runs import ENGINES
from scalarviz import nn, optim

FITTING = [row for row in LOSSES.values() if row.outputs == "numbers"]


# ---- beside PyTorch

CLASSES = 3
SMOOTH = (
    ("GELU", {}), ("GELU", {"approximate": "tanh"}), ("SiLU", {}), ("Tanh", {}), ("Sigmoid", {}), ("LogSigmoid", {}),
    ("ELU", {"alpha": 0.7}), ("Softplus", {"beta": 1.7, "threshold": 3.0}), ("PReLU", {}), ("LeakyReLU", {}),
    ("ReLU", {}), ("ReLU6", {}), ("Identity", {}), ("Dropout", {"p": 0.0}),
)  # fmt: skip
RULES = (
    ("SGD", {}), ("SGD", {"momentum": 0.7, "nesterov": True, "weight_decay": 0.1}), ("RMSprop", {"momentum": 0.4}),
    ("SGD", {"momentum": 0.5, "dampening": 0.3}), ("Adam", {}), ("AdamW", {"amsgrad": True}), ("Adagrad", {}),
    ("RAdam", {"betas": (0.9, 0.8)}), ("Adamax", {}), ("Adadelta", {}),
)  # fmt: skip


class Parts:
    """A network as names and arguments of layers, the same here and there; `shape` is that of a sample on its way."""

    def __init__(self, seed):
        self.draw, self.layers, self.alphabet = Random(seed), [], 0
        self.batch = self.draw.choice([5, 8, 37])
        getattr(self, self.draw.choice(["vector", "vector", "signal", "picture", "words"]))()
        while len(self.shape) > 1:
            self.add("Flatten", (int(np.prod(self.shape)),))
        for _ in range(self.draw.randint(0, 3)):
            width = self.some(4, 6, 9)
            self.add("Linear", (width,), self.shape[0], width, bias=self.some(True, False))
            if self.some(True, False):
                self.norm("BatchNorm1d")
            self.activation()
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
        kind = self.some("GroupNorm", batch_norm, *(["LayerNorm", "RMSNorm"] if len(self.shape) == 1 else []))
        groups = self.draw.choice([g for g in (1, 2, 3) if channels % g == 0 and channels > g] or [1])
        self.add(kind, None, *([groups] if kind == "GroupNorm" else []), channels)

    def vector(self):
        self.input = self.shape = (self.some(3, 5),)

    def words(self):
        count, width = self.some(2, 4), self.some(2, 3)
        self.input, self.alphabet = (count,), 7
        self.add("Embedding", (count, width), self.alphabet, width)

    def signal(self):
        self.convolutions((self.some(1, 2), self.some(9, 12)), "1d")

    def picture(self):
        self.convolutions((self.some(1, 2), 6, self.some(6, 7)), "2d")

    def convolutions(self, shape, dimensions):
        self.input = self.shape = shape
        for _ in range(self.draw.randint(1, 2)):
            (before, *sides), channels = self.shape, self.some(2, 4)
            if min(sides) < 4:
                break
            size, stride, padding = self.some(2, 3), self.some(1, 2), self.some(0, 1)
            groups = before if channels % before == 0 and self.some(True, False) else 1
            sides = [(side + 2 * padding - size) // stride + 1 for side in sides]
            self.add(f"Conv{dimensions}", (channels, *sides), before, channels, size, stride=stride, padding=padding,
                     groups=groups, bias=self.some(True, False))  # fmt: skip
            if self.some(True, False):
                self.norm(f"BatchNorm{dimensions}")
            self.activation()
            pool = self.some("MaxPool", "AvgPool", "AdaptiveAvgPool", None)
            if pool == "AdaptiveAvgPool":
                self.add(f"{pool}{dimensions}", (channels, *([2] * len(sides))), 2)
            elif pool and min(sides) > 3:
                self.add(f"{pool}{dimensions}", (channels, *(side // 2 for side in sides)), 2)

    def made(self, space):
        """The layers in a namespace of modules, in a row."""
        return space.Sequential(*(getattr(space, kind)(*args, **kwargs) for kind, args, kwargs in self.layers))


@pytest.mark.parametrize(
    ("seed", "engine"), [(k, e) for k in range(18) for e in (("numpy", "numba"), ENGINES)[k % 3 == 0]]
)
def test_a_random_network_trains_as_pytorchs(torch, seed, engine):
    """The same weights and statistics after four steps, the same outputs of the trained network."""
    parts = Parts(seed)
    draw, make = parts.draw, np.random.default_rng(seed)
    samples = parts.batch + draw.choice([0, 3, 20])
    size = (samples, *parts.input)
    x = make.integers(0, 7, size).astype(float) if parts.alphabet else make.normal(size=size)
    lossf = draw.choice(FITTING)
    y = lossf.wanted(samples, CLASSES, seed)
    rule, numbers = draw.choice(RULES)
    numbers = numbers | {"lr": draw.choice([0.003, 0.02])} | ({} if rule == "SGD" else {"eps": 1e-3})
    torch.manual_seed(seed)
    theirs, model = parts.made(torch.nn).double(), parts.made(nn)
    model.load_state_dict({k: v.numpy() for k, v in theirs.state_dict().items()})
    loss = lossf.theirs()
    reference = getattr(torch.optim, rule)(theirs.parameters(), **numbers)
    optimizer = getattr(optim, rule)(model.parameters(), **numbers)
    given, wanted = torch.tensor(x), torch.tensor(y)
    given = given.long() if parts.alphabet else given
    options = {"batch_size": parts.batch, "seed": seed, "dtype": "float64", "engine": engine}
    with sv.Run(model, lossf.ours(), optimizer, (x, y), **options) as run:
        for step in range(4):
            chosen = sv.rng.batch_indices(seed, step, samples, parts.batch)
            reference.zero_grad()
            loss(theirs(given[chosen]), wanted[chosen]).backward()
            reference.step()
        run.step(4)
        found = {k: np.array(v) for k, v in model.state_dict().items()}
        outputs = np.array(run.predict(x[:4]))
    theirs.eval()
    pairs = [(found[k], v.detach().numpy()) for k, v in theirs.state_dict().items()]
    pairs.append((outputs, theirs(given[:4]).detach().numpy()))
    assert max(float(np.max(np.abs(a - b) / (1 + np.abs(b)), initial=0.0)) for a, b in pairs) < 1e-9
