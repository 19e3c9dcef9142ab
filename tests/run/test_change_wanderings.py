"""Wanderings as in ``test_timeline``, of runs whose network, loss, optimiser and sampling become others on the way."""

from __future__ import annotations

import pytest
import test_timeline as plain
from test_timeline import bits, fresh_run_on_the_same_way, make, wander

from scalarviz import nn, optim


def all_of(run):
    """The bits of a run, and what it is made of."""
    made = repr(run.model), type(run.loss_function).__name__, type(run.optimizer).__name__, run.sampling
    return bits(run), made, [t.name for t in run.tensors], [(s.name, s.kind) for s in run.stages]


def models(random):
    """Networks of the same width, one of them with a layer more, each with its own weights."""
    first, middle, last = (nn.Linear(*sizes, seed=int(random.integers(99))) for sizes in ((3, 4), (4, 4), (4, 3)))
    return [
        nn.Sequential(first, nn.ReLU(), middle, nn.Tanh(), last, nn.Sigmoid()),
        nn.Sequential(nn.Linear(3, 4, seed=4), nn.Sigmoid(), nn.Linear(4, 3, seed=5), nn.Sigmoid()),
    ]


def changes(random, kinds):
    """Something that a run may go on with."""
    match int(random.integers(0, kinds)):
        case 0:
            return {"activation": str(random.choice(["tanh", "relu", "softplus", "leaky_relu"]))}
        case 1:
            return {"loss": str(random.choice(["MSELoss", "L1Loss", "HuberLoss"]))}
        case 2:
            return {"optimizer": str(random.choice(["SGD", "Adam", "AdamW"])), "lr": float(random.random() / 20)}
        case 3:
            return {
                "sampling": str(random.choice(["epochs", "replacement"])),
                "batch_size": int(random.integers(1, 20)),
            }
        case 4:
            return {"activation": nn.LeakyReLU(float(random.random())), "optimizer": "SGD", "lr": 0.05, "momentum": 0.5}
        case _:
            return {"model": models(random)[int(random.integers(2))]}


def with_changes(monkeypatch, kinds):
    """Every second edit of the wanderings is such a change."""
    edit = plain.random_edit

    def mixed(run, random, engines):
        if random.random() < 0.5:
            run.change(**changes(random, kinds))
        else:
            edit(run, random, engines)

    monkeypatch.setattr(plain, "random_edit", mixed)


@pytest.mark.parametrize(("engine", "dtype"), [("numpy", "float64"), ("numba", "float32"), ("objects", "float32")])
@pytest.mark.parametrize("seed", range(3))
def test_every_place_is_as_it_was_and_as_a_fresh_run_has_it(engine, dtype, seed, monkeypatch):
    with_changes(monkeypatch, 4)
    run = make(engine, "adam", dtype)
    engines = ("numpy", "numba") if engine != "objects" else ("objects",)
    _, revisited = wander(run, seed, 50 if engine == "objects" else 100, engines, all_of)
    assert revisited > 2  # else nothing was compared
    assert all_of(fresh_run_on_the_same_way(run, engine, "adam", dtype)) == all_of(run)


@pytest.mark.parametrize("engine", ["numpy", "numba", "objects"])
@pytest.mark.parametrize("seed", range(3))
def test_with_other_models_too(engine, seed, monkeypatch):
    with_changes(monkeypatch, 7)
    run = make(engine, "adam", "float64")
    engines = ("numpy", "numba") if engine != "objects" else ("objects",)
    _, revisited = wander(run, 50 + seed, 50 if engine == "objects" else 100, engines, all_of)
    assert revisited > 2  # else nothing was compared


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200, 206))
def test_long_wanderings_with_changes(seed, monkeypatch):
    with_changes(monkeypatch, 7 if seed % 2 else 4)
    run = make("numba", "adam", ("float32", "float64")[seed % 2])
    wander(run, seed, 500, check=all_of)
    assert isinstance(run.optimizer, optim.Optimizer)
