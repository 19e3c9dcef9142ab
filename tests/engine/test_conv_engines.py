"""Convolutions and pools: every engine, and the plain kernels, against the objects."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.engine.cpu import trainer
from scalarviz.engine.cpu.encode.pictures import can_be_compact
from scalarviz.engine.cpu.machine import Loaded

TOLERANCE = {"float64": 1e-12, "float32": 1e-5}


def net(conv=None, pool=None, side=7, channels=2, more=()):
    layers = [
        nn.Unflatten((1, side, side)),
        nn.Conv2d(1, channels, 3, seed=1, **(conv or {"padding": 1})),
        nn.Tanh(),
        pool or nn.MaxPool2d(2),
        nn.Conv2d(channels, 5, 2, seed=2),
        *more,
        nn.Flatten(),
    ]
    return nn.Sequential(*layers)


def same(channels=3, outputs=5):
    """Convolutions whose pictures keep their size."""
    return nn.Sequential(
        nn.Unflatten((1, 8, 8)),
        nn.Conv2d(1, channels, 3, padding=1, seed=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(channels, outputs, 3, padding=1, seed=2),
        nn.Tanh(),
        nn.Conv2d(outputs, 2, (1, 3), padding=(0, 1), seed=3),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(8, 3, seed=4),
    )


class Shared(nn.Module):
    """A layer on overlapping windows of a row, whose inputs others read too."""

    def __init__(self):
        self.first, self.layer = nn.Linear(4, 6, seed=1), nn.Linear(3, 2, seed=2)

    def forward(self, x):
        h = [v.tanh() for v in self.first(x)]
        return [v + h[0] for k in range(4) for v in self.layer(h[k : k + 3])]


class Mixed(nn.Module):
    """A layer used on rows of which only some want a gradient."""

    def __init__(self):
        self.first, self.layer = nn.Linear(4, 6, seed=1), nn.Linear(2, 3, seed=2)

    def forward(self, x):
        h = [v.tanh() for v in self.first(x)]
        rows = [*x[:2], *h]
        return [v * v for k in range(6) for v in self.layer([rows[k], rows[k + 2]])]


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


MODELS = {
    "same": (same, 64),
    "same, wide": (lambda: same(9, 17), 64),
    "padded": (net, 49),
    "plain": (lambda: net(conv={}), 49),
    "stride": (lambda: net(conv={"stride": 2, "padding": 1}, pool=nn.MaxPool2d(3, stride=1)), 49),
    "no bias": (lambda: net(conv={"bias": False, "padding": (0, 2)}), 49),
    "overlapping pool": (lambda: net(pool=nn.MaxPool2d(2, stride=1)), 49),
    "pool of nine": (lambda: net(pool=nn.MaxPool2d(3, padding=1)), 49),
    "mean": (lambda: net(pool=nn.AvgPool2d(2)), 49),
    "many channels": (lambda: net(channels=9, side=5), 25),
    "picture first": (lambda: Beside(True), 36),
    "picture last": (lambda: Beside(False), 36),
    "windows of a row": (Shared, 4),
    "mixed": (Mixed, 4),
    "largest": (Largest, 4),
}


def squares(outputs, targets):
    return sv.sum([o.square() for o in outputs])


def gradient(name, engine, dtype, batch, bad=False):
    make, n = MODELS[name]
    model = make()
    x = np.random.default_rng(3).normal(size=(batch, n))
    run = Run(model, squares, optim.SGD(model.parameters(), lr=0.1), (x, x[:, :1]), batch_size=batch, engine=engine,
              dtype=dtype)  # fmt: skip
    if bad:
        run.problem.store.value[1] = np.nan
    run._training.trainer.gradient(0)  # leaves its numbers in the workspace
    loss = run._training.trainer.gradient(1)
    found = np.append(run.problem.store.grad.astype(float), loss)
    run.close()
    return found


@pytest.fixture
def plain(monkeypatch):
    monkeypatch.setattr(trainer, "Loaded", partial(Loaded, plain=True))


def check(name, engine, dtype, batch):
    expected = gradient(name, "objects", dtype, batch)
    found = gradient(name, engine, dtype, batch)
    assert np.linalg.norm(found - expected) <= TOLERANCE[dtype] * np.linalg.norm(expected)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("engine", ["numpy", "numba"])
@pytest.mark.parametrize("name", MODELS)
def test_gradients_are_those_of_the_objects(name, engine, dtype):
    check(name, engine, dtype, batch=5)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", MODELS)
def test_one_sample(name, dtype):
    check(name, "numba", dtype, 1)


@pytest.mark.parametrize("name", ["padded", "stride", "many channels", "largest"])
@pytest.mark.parametrize("batch", [20, 45, 70])
def test_many_samples(name, batch):
    check(name, "numba", "float32", batch)


@pytest.mark.parametrize("name", ["padded", "plain", "stride", "many channels", "windows of a row"])
@pytest.mark.parametrize("batch", [1, 5])
def test_the_plain_kernels(name, batch, plain):
    check(name, "numba", "float64", batch)


@pytest.mark.parametrize("engine", ["numpy", "numba"])
@pytest.mark.parametrize("name", ["padded", "largest"])
def test_a_nan_comes_through(name, engine):
    found = gradient(name, engine, "float64", 5, bad=True)
    expected = gradient(name, "objects", "float64", 5, bad=True)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    assert np.isnan(found[-1])


@pytest.mark.parametrize("engine", ["objects", "numpy", "numba"])
def test_the_first_of_equal_operands_gets_the_gradient(engine):
    class Ties(nn.Module):
        def __init__(self):
            self.w = [sv.Weight(1.0) for _ in range(4)]

        def forward(self, x):
            return sv.max([w * x[0] for w in self.w])

    model = Ties()
    run = Run(model, lambda y, t: y, optim.SGD(model.w, lr=0.0), (np.ones((3, 1)), np.ones((3, 1))), batch_size=3,
              engine=engine, dtype="float64")  # fmt: skip
    run._training.trainer.gradient(0)
    np.testing.assert_allclose(run.problem.store.grad, [1, 0, 0, 0])
    run.close()


@pytest.mark.parametrize("name", ["same", "same, wide", "plain"])
def test_one_picture_has_positions_for_lanes_where_neighbours_read_neighbours(name):
    make, n = MODELS[name]
    model = make()
    x = np.ones((1, n))
    run = Run(model, squares, optim.SGD(model.parameters(), lr=0.1), (x, x[:, :1]), batch_size=1, engine="numba")
    compact = can_be_compact(run.problem.plan.body)
    run.close()
    assert compact == (name != "plain")  # without a border the last position of a line is no neighbour of the next
