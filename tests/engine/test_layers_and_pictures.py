"""Layers, convolutions and pools of all sizes and wirings: one sample, a few, and many, against the objects."""

from itertools import chain

import numpy as np
import pytest

import scalarviz as sv
from kit.runs import TOLERANCE, far, loss_and_gradient
from scalarviz import nn

ci = pytest.mark.ci


def squares(outputs, targets):
    return sv.sum([o.square() for o in outputs])


def weighted(outputs, targets):
    """Every output with a factor of its own."""
    return sv.sum([(0.5 + 0.25 * (k % 7)) * o for k, o in enumerate(outputs)])


def apart(net, inputs, batch, dtype, engine="numba", than="objects", loss=squares, x=None):
    """How far an engine's loss and gradient are from those of another one."""
    x = np.random.default_rng(batch).normal(size=(batch, inputs)) if x is None else x
    found = [loss_and_gradient(net, loss, (x, x[:, :1]), engine=each, dtype=dtype) for each in (than, engine)]
    return far(found[1], found[0])


# ---- layers


PLACES, WIDE = 5, 9


class Text(nn.Module):
    """Layers that each letter of a text goes through; `kind` says what stands between them."""

    def __init__(self, kind):
        self.kind = kind
        self.first, self.second = nn.Linear(WIDE, 12, bias=kind != "bare", seed=1), nn.Linear(12, WIDE, seed=2)
        self.third, self.shift = nn.Linear(WIDE, WIDE, seed=3), nn.Parameter(np.linspace(-1, 1, WIDE).tolist())

    def forward(self, x):
        letters = [x[k : k + WIDE] for k in range(0, PLACES * WIDE, WIDE)]
        own = {"shifted": 0, "partly": 4}.get(self.kind, WIDE)  # the sample itself wants no gradient
        shift = list(self.shift)[own:]
        letters = [[*row[:own], *(v * b + b for v, b in zip(row[own:], shift, strict=True))] for row in letters]
        if self.kind == "apart":
            letters = [letter[::-1] for letter in letters]
        found = []
        for letter in letters:
            inner = self.second([v.tanh() for v in self.first(letter)])
            added = [a + b for a, b in zip(inner, letter, strict=True)]  # who reads the operands of a layer again
            found.append(self.third(added) if self.kind != "once" else added)
        return list(chain(*found))


@pytest.mark.parametrize("kind", ["plain", "bare", "shifted", "partly", "once", "apart"])
def test_layers_at_several_places(kind):
    for batch in (1, 3):
        for dtype in TOLERANCE:
            assert apart(Text(kind), PLACES * WIDE, batch, dtype) <= TOLERANCE[dtype]


# ---- pictures


def conv(options=None, pool=None, side=7, channels=2):
    first = nn.Conv2d(1, channels, 3, seed=1, **(options or {"padding": 1}))
    layers = [first, nn.Tanh(), pool or nn.MaxPool2d(2), nn.Conv2d(channels, 5, 2, seed=2), nn.Flatten()]
    return nn.Sequential(nn.Unflatten((1, side, side)), *layers), side * side


def same(channels=3, outputs=5):
    """Convolutions whose pictures keep their size."""
    return nn.Sequential(
        nn.Unflatten((1, 8, 8)), nn.Conv2d(1, channels, 3, padding=1, seed=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(channels, outputs, 3, padding=1, seed=2), nn.Tanh(),
        nn.Conv2d(outputs, 2, (1, 3), padding=(0, 1), seed=3), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8, 3, seed=4),
    ), 64  # fmt: skip


def stacked(channels, outputs, side, kernel=3):
    return nn.Sequential(
        nn.Unflatten((1, *side)),
        nn.Conv2d(1, channels, kernel, padding=kernel // 2, seed=1),
        nn.Tanh(),
        nn.Conv2d(channels, outputs, kernel, padding=kernel // 2, seed=2),
        nn.Flatten(),
    ), side[0] * side[1]


class Beside(nn.Module):
    """A convolution that reads the picture itself, which wants no gradient, beside what another one made of it."""

    def __init__(self, first):
        self.first, self.conv = first, nn.Conv2d(2, 3, 3, padding=1, seed=2)
        self.picture, self.made = nn.Unflatten((1, 6, 6)), nn.Conv2d(1, 1, 3, padding=1, seed=1)

    def forward(self, x):
        (plane,) = picture = self.picture(x)
        made = [[v.tanh() for v in row] for row in self.made(picture)[0]]
        planes = [plane, made] if self.first else [made, plane]
        return [v for rows in self.conv(planes) for row in rows for v in row]


class Largest(nn.Module):
    """Maxima of three and five rows, some used twice, some that want no gradient."""

    def __init__(self):
        self.layer = nn.Linear(4, 5, seed=1)

    def forward(self, x):
        h = self.layer(x)
        return [sv.max(h), sv.max([h[0], x[0], h[1]]), sv.max([x[1], h[2], h[3], h[4]]), sv.max(h[1:]) * h[4]]


PICTURES = {
    "same": same, "same, wide": lambda: same(9, 17), "padded": conv, "plain": lambda: conv({"padding": 0}),
    "stride": lambda: conv({"stride": 2, "padding": 1}, nn.MaxPool2d(3, stride=1)),
    "no bias": lambda: conv({"bias": False, "padding": (0, 2)}),
    "overlapping pool": lambda: conv(pool=nn.MaxPool2d(2, stride=1)),
    "pool of nine": lambda: conv(pool=nn.MaxPool2d(3, padding=1)), "mean": lambda: conv(pool=nn.AvgPool2d(2)),
    "many channels": lambda: conv(channels=9, side=5), "picture first": lambda: (Beside(True), 36),
    "picture last": lambda: (Beside(False), 36),
    "largest": lambda: (Largest(), 4),
    "three vectors and a rest": lambda: stacked(2, 3, (7, 9)),
    "rows of more than a vector": lambda: stacked(2, 1, (3, 37)),
    "outputs of two tiles": lambda: stacked(3, 13, (4, 5)),
    "columns of several tiles": lambda: stacked(5, 2, (6, 6), 5),
}  # fmt: skip


@pytest.mark.parametrize("batch", [3, *(pytest.param(n, marks=ci) for n in (1, 45))])
@pytest.mark.parametrize("name", PICTURES)
def test_pictures_in_batches_of_any_size(name, batch):
    net, inputs = PICTURES[name]()
    assert batch > 3 or apart(net, inputs, batch, "float64", "numpy") <= TOLERANCE["float64"]
    for dtype in {1: TOLERANCE, 3: ("float64",)}.get(batch, ("float32",)):
        assert apart(net, inputs, batch, dtype, than="objects" if batch < 20 else "numpy") <= TOLERANCE[dtype]


class Scaled(nn.Module):
    """A pool of a picture whose every number is an input times a weight of its own, which so gets its gradient."""

    def __init__(self, shape, pool, twice, bare):
        self.shape, self.pool, self.twice, self.bare = shape, pool, twice, bare
        self.w = [sv.Weight(1.0) for _ in range(int(np.prod(shape)))]

    def forward(self, x):
        rows = [u if k < self.bare else w * u for k, (w, u) in enumerate(zip(self.w, x, strict=True))]
        out = nn.Flatten()(self.pool(nn.Unflatten(self.shape)(rows)))
        return [*out, *[r.square() for r in rows]] if self.twice else out


POOLS = {
    "of four": nn.MaxPool2d(2), "overlapping": nn.MaxPool2d(2, stride=1), "gaps": nn.MaxPool2d(2, stride=3),
    "border": nn.MaxPool2d(2, padding=1), "of nine": nn.MaxPool2d(3), "in a line": nn.MaxPool2d((1, 4)),
    "two by one": nn.MaxPool2d((2, 1)),
}  # fmt: skip


def numbers(shape, kind):
    random = np.random.default_rng(5)
    if kind != "special":
        return random.integers(-1, 2, shape).astype(float) if kind == "ties" else random.normal(size=shape)
    x = random.normal(size=shape)
    x.ravel()[::3] = np.resize([np.nan, np.inf, -np.inf, 0.0, -0.0], len(x.ravel()[::3]))
    return x


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(("name", "shape"), [
    ("of four", (1, 2, 2)), ("of four", (3, 4, 6)), *((name, (2, 6, 8)) for name in POOLS if name != "of four"),
    *(pytest.param("of four", shape, marks=ci) for shape in ((2, 5, 7), (1, 4, 75))),
])  # fmt: skip
def test_pools_choose_the_first_of_equals_and_hand_on_what_is_not_finite(name, shape, dtype):
    """The picture stands in the weights, as data have to be finite; other readers, rows that want no gradient."""
    for kind, twice, bare in (("any", False, 0), ("ties", False, 0), ("special", False, 0), ("any", True, 0),
                              ("ties", False, shape[-1])):  # fmt: skip
        x = numbers(shape, kind).astype(dtype).astype(float).ravel()
        found = []
        for engine in ("objects", "numba", "numpy"):
            net = Scaled(shape, POOLS[name], twice, bare)
            for w, number in zip(net.w, x, strict=True):
                w.data = number
            data = np.where(np.arange(x.size) < bare, np.nan_to_num(x), 1.0)[None]
            given = {"engine": engine, "dtype": dtype}
            found.append(loss_and_gradient(net, weighted, (data, data[:, :1]), **given))
        np.testing.assert_allclose(found[1:], [found[0]] * 2, rtol=1e-5, err_msg=f"{shape} {kind}")


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("name", POOLS)
def test_what_is_not_the_largest_gets_0_whatever_comes_from_above(name, twice):
    """The largest are 0, where the derivative of the root above the pool is infinite."""
    shape = (2, 6, 8)
    x = -np.abs(numbers(shape, "ties")).ravel()

    def root(outputs, targets):
        pooled = len(outputs) - twice * x.size
        return sv.sum([*outputs[:pooled].sqrt(), *outputs[pooled:]])

    found = {}
    for engine, samples in [("objects", 1), ("numpy", 3), ("numba", 1), ("numba", 3), ("numba", 40)]:
        net, data = Scaled(shape, POOLS[name], twice, 0), np.tile(x, (samples, 1))
        found[engine, samples] = loss_and_gradient(net, root, (data, data[:, :1]), engine=engine)[:-1]
    expected = found["objects", 1]
    assert np.isnan(expected).any()
    assert np.isfinite(expected).sum() > expected.size // 3
    for key, gradient in found.items():
        np.testing.assert_allclose(gradient, expected, rtol=1e-5, err_msg=str(key))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_stands_behind_the_border_of_a_picture_touches_nothing(bad):
    """Neighbours in memory: numbers of other rows, of what lies before the first and behind the last; adjoints too."""

    class Framed(nn.Module):
        def __init__(self):
            self.layer, self.w = nn.Conv2d(1, 3, 3, padding=1, seed=1), sv.Weight(0.5)
            self.corners = nn.Parameter([bad, bad])

        def forward(self, x):
            a, b = self.corners
            framed = [a * x[0], *x[1:-1], b * x[-1]]
            rows = nn.Flatten()(self.layer(nn.Unflatten((1, 9, 7))(framed)))
            return [*rows, (self.w * x[0] + self.w * x[1]) * np.inf]

    x = np.random.default_rng(5).normal(size=(1, 63))
    found = [
        loss_and_gradient(Framed(), weighted, (x, x[:, :1]), engine=e, dtype="float64") for e in ("objects", "numba")
    ]
    np.testing.assert_allclose(found[1], found[0], rtol=1e-11)
