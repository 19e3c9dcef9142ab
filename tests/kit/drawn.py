"""Networks and graphs put together at random: layers used twice, side ways, losses by hand, typed sums."""

from random import Random

import numpy as np

import scalarviz as sv
from scalarviz import nn
from scalarviz.scalar import function
from scalarviz.scalar.array import row_of

BATCHES = (1, 2, 3, 5, 8, 9, 16, 17, 33)


class Drawn(nn.Module):
    """Steps that read what earlier ones made, the sample itself included; a linear layer ends it."""

    def __init__(self, draw, shape):
        self.draw, self.moves, self.used = draw, [], []
        made = [row_of(np.zeros(shape))]
        for _ in range(draw.randint(2, 7)):
            self.moves.append(self.move(made))
            made.append(self.moves[-1](made))
        self.last = nn.Linear(made[-1].size, draw.randint(1, 5), seed=draw.randrange(99))

    def forward(self, x):
        made = [x]
        for move in self.moves:
            made.append(move(made))
        return self.last(made[-1].flatten())

    def move(self, made):
        """A step as a function of all that was made before."""
        at = len(made) - 1 if self.draw.random() < 0.8 else self.draw.randrange(len(made))
        shape = made[at].shape
        alike = [k for k, other in enumerate(made) if other.shape == shape and k != at]
        if alike and self.draw.random() < 0.3:
            other, both = self.draw.choice(alike), self.draw.choice([lambda a, b: a + b, lambda a, b: a * b])
            return lambda made: both(made[at], made[other])
        if self.draw.random() < 0.3:
            name = self.draw.choice(["tanh", "sigmoid", "relu", "softplus", "sin", "square"])
            return lambda made: getattr(made[at], name)()
        if len(shape) == 1 and shape[0] > 2 and self.draw.random() < 0.3:
            cut = self.draw.randrange(1, shape[0])
            turned = lambda made: sv.cat([made[at][cut:], made[at][:cut]])  # noqa: E731
            return self.draw.choice([turned, lambda made: made[at][cut:]])
        module = self.module(shape)
        return lambda made: module(made[at])

    def module(self, shape):
        """A layer for an input of that shape, now and then one that was used before."""
        fitting = [module for module, known in self.used if known == shape]
        if fitting and self.draw.random() < 0.3:
            return self.draw.choice(fitting)
        module = (self.layer if len(shape) == 1 else self.layer_of_pictures)(*shape)
        self.used.append((module, shape))
        setattr(self, f"layer{len(self.used)}", module)
        return module

    def layer(self, n):
        seed, kind = self.draw.randrange(99), self.draw.random()
        if n > 2 and kind < 0.25:
            return self.draw.choice([nn.LayerNorm(n), nn.Softmax(), nn.BatchNorm1d(n).eval(), nn.Dropout(0.4)])
        if n % 4 == 0 and n >= 12 and kind < 0.5:
            return nn.Unflatten((2, 2, n // 4))
        return nn.Linear(n, self.draw.choice([1, 2, 3, 5, 8, 16, 17, 24]), bias=kind < 0.9, seed=seed)

    def layer_of_pictures(self, channels, height, width):
        seed, kind = self.draw.randrange(99), self.draw.random()
        window = tuple(self.draw.randint(1, min(3, side)) for side in (height, width))
        stride, half = (self.draw.randint(1, 2), self.draw.randint(1, 3)), tuple(side // 2 for side in window)
        if kind < 0.2 and min(height, width) > 1:
            return nn.MaxPool2d(2)
        if kind < 0.4:
            return self.draw.choice([nn.MaxPool2d, nn.AvgPool2d])(window, stride, half)
        if kind < 0.5:
            return self.draw.choice([nn.Flatten(), nn.BatchNorm2d(channels).eval(), nn.LayerNorm(width)])
        if kind < 0.75:
            return nn.Conv2d(channels, self.draw.choice([1, 3, 8]), 3, padding=1, seed=seed)
        if kind < 0.85:
            groups, wide = self.draw.choice([1, channels]), self.draw.randint(1, 2)
            return nn.Conv2d(channels, 2 * channels, 2, padding=wide, dilation=wide, groups=groups, seed=seed)
        return nn.Conv2d(channels, self.draw.randint(1, 5), window, stride, self.draw.choice([half, 0, 2]), seed=seed)


def squares(o, t):
    return [(a - b) ** 2 for a, b in zip(o, t, strict=True)]


def read_again(o, t):
    """The differences, a square and a sum of squares are read in two places each."""
    differences = [a - b for a, b in zip(o, t, strict=True)]
    parts = [d * d if k % 3 == 2 else d.square() for k, d in enumerate(differences)]
    total = sv.sum(parts)
    return total + 0.1 * total * total + parts[0] * parts[-1] + sv.sum([abs(d) for d in differences])


def drawn_losses(net):
    """By hand most of them: what is a squared error and what is not."""
    bias = net.last.bias
    return [
        nn.MSELoss(),
        nn.MSELoss("sum", factor=0.5),
        nn.L1Loss(),
        nn.CrossEntropyLoss() if net.last.out_features > 1 else nn.MSELoss(factor=0.5),
        read_again,
        lambda o, t: 0.3 * sv.sum(squares(o, t)),
        lambda o, t: sv.sum([(k - 2.5) * part for k, part in enumerate(squares(o, t))]),
        lambda o, t: (sv.sum(squares(o, t)) + 1.0).sqrt() + o[0] * o[-1],
        lambda o, t: nn.MSELoss()(o, t) + 0.01 * sv.sum([(b - 0.1) ** 2 for b in bias]),
        lambda o, t: sv.sum(squares(o, [b * bias[0] for b in t])),
        lambda o, t: sv.sum(squares(o, o[::-1])) + nn.MSELoss()(o, [2.0 * b for b in t]),
    ]


def drawn(seed):
    """A network, a loss and data: all that `seed` says."""
    draw, random = Random(seed), np.random.default_rng(seed)
    shape = (draw.randint(1, 9),) if seed % 3 else (draw.randint(1, 2), draw.randint(2, 6), draw.randint(2, 6))
    net = Drawn(draw, shape)
    loss, samples, outputs = draw.choice(drawn_losses(net)), draw.choice(BATCHES), net.last.out_features
    classes = isinstance(loss, nn.CrossEntropyLoss)
    targets = random.integers(0, outputs, samples) if classes else random.random((samples, outputs))
    return net, loss, (random.normal(size=(samples, *shape)), targets)


UNARY = {
    "neg": lambda a: -a, "half": lambda a: a / 2.0, "scaled": lambda a: -0.75 * a, "plus": lambda a: a + 0.5,
    "minus": lambda a: 1.0 - a, "leaky": lambda a: sv.leaky_relu(a, 0.1), "power": lambda a: a**2,
    **{name: function(name) for name in ("tanh", "sigmoid", "softplus", "sin", "cos", "relu", "abs")},
}  # fmt: skip
PAIRS = {name: function(name) for name in ("add", "sub", "mul", "maximum", "minimum")}
SUMS = ("add", "sub", "sum", "sum", "products", "products", "layer", "layer", "where", "dot", "numbers", "rows")
STEPS = (*UNARY, *PAIRS, *SUMS)


def typed(steps, x, w):
    """The values of an expression of at least 3 inputs and 8 weights; each step reads some of the last ones.

    A step is one of `STEPS` and the seed of what it reads. Three of the results: one that others read, too.
    """
    made = [*x, w[0] * x[0], w[1] * x[1]]
    for what, seed in steps:
        draw = Random(seed)
        recent, few = made[-8:], draw.randrange(len(w) - 3)
        one, other, third, fourth = draw.choices(recent, k=4)
        if what in UNARY:
            found = UNARY[what](one)
        elif what in PAIRS:
            found = PAIRS[what](one, other if draw.random() < 0.7 else w[few])
        elif what == "sum":
            found = sum([one, other, third, fourth])
        elif what == "products":
            found = one * other + third * fourth + one * fourth
        elif what == "layer":
            found = sum(w[few + k] * v for k, v in enumerate([one, other, third])) + fourth
        elif what == "where":
            found = sv.where(one < other, third, fourth)
        elif what == "dot":
            found = sv.dot([w[few], w[few + 2], w[few + 1]], [one, other, one], w[few + 3])
        elif what == "numbers":
            found = sv.dot([0.5, -1.5, 0.25], [one, other, third])
        else:
            found = sv.dot([one, other], [third, fourth], w[few])
        made.append(found.tanh() if what in ("power", "mul", "products", "rows") else found)  # keep numbers small
    return [made[-1], made[len(made) // 2], made[-3]]
