"""A frame knows whether its loss and gradient belong to the weights and data that it stands for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.run.worker import Worker

ENGINES = ["objects", "numpy", "numba"]


def a_run(engine: str = "numpy") -> sv.Run:
    net = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))
    net.initialize(nn.init.normal(0, 1), seed=1)
    rng = np.random.default_rng(0)
    x = rng.random((8, 2))
    return sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data=(x, x[:, :1]), engine=engine)


def set_weights(run: sv.Run) -> None:
    run.set_weights(1, [0.5])


def set_one(run: sv.Run) -> None:
    run.model[0].weight[0][1].data = 0.25


def set_row(run: sv.Run) -> None:
    run.model[0].weight.data = np.ones((2, 2))


def add_samples(run: sv.Run) -> None:
    run.add_samples([[0.5, 0.5]], [[1.0]])


def set_targets(run: sv.Run) -> None:
    run.set_targets(np.ones((8, 1)))


EDITS = [set_weights, set_one, set_row, add_samples, set_targets]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("edit", EDITS)
def test_a_change_from_outside_counts_until_the_next_step(edit: Callable[[sv.Run], None], engine: str) -> None:
    with a_run(engine) as run:
        assert not run.frame().edited
        run.step(3)
        assert not run.frame().edited
        edit(run)
        assert run.frame().edited
        assert run.frame().edited  # looking changes nothing
        run.step(1)
        assert not run.frame().edited


def test_loading_counts_too(tmp_path: Path) -> None:
    with a_run() as run:
        run.step(2)
        run.save(tmp_path / "w.safetensors")
        assert not run.frame().edited
        run.step(2)
        run.load(tmp_path / "w.safetensors")
        assert run.frame().edited


def test_a_learning_rate_leaves_the_loss_what_it_is_and_is_told() -> None:
    with a_run() as run:
        run.step(2)
        run.lr = 0.4
        frame = run.frame()
        assert not frame.edited
        assert (frame.lr, frame.next_lr) == (0.1, 0.4)
        run.step(1)
        assert run.frame().lr == run.frame().next_lr == 0.4


def test_a_worker_publishes_it() -> None:
    run = a_run()
    run.step(2)
    with Worker(run) as worker:
        run.model[0].weight[1][1].data = 2.0
        assert worker.settle().edited
        worker.train_to(5)
        assert not worker.settle().edited
    run.close()


@pytest.mark.parametrize("engine", ["numpy", "numba"])
def test_the_update_stays_that_of_the_step_whatever_is_set_and_set_back(engine: str) -> None:
    """A large number swallowed it, NaN and infinity never left it, and each move of a slider rounded it once more."""
    run = a_run(engine)
    run.step(3)
    before, values = run.frame(), run.values.copy()
    state = run.state()
    for number in (1e30, np.inf, np.nan, *np.linspace(-2, 2, 100)):
        run.set_weights(0, [number])
    assert run.frame().update.tobytes() == before.update.tobytes()
    edited = run.state()
    run.set_weights(0, values[:1])
    assert run.frame().update.tobytes() == before.update.tobytes()
    run.take(state)
    assert run.frame().update.tobytes() == before.update.tobytes()
    run.step()
    assert run.frame().update.tobytes() == (run.values - values).tobytes()
    run.take(edited)
    assert run.frame().update.tobytes() == before.update.tobytes()
    run.restore({t.name: t.of(values) for t in run.tensors}, {}, 3)
    assert not run.frame().update.any()
