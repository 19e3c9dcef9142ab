"""Samples that are added between two steps: what is trained afterwards, in every engine, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import InputError
from scalarviz.run.worker import Worker

RNG = np.random.default_rng(5)
X, Y = RNG.random((12, 1, 4, 4)), RNG.integers(0, 3, 12)
MORE_X, MORE_Y = RNG.random((5, 1, 4, 4)), RNG.integers(0, 3, 5)
ENGINES = ["objects", "numpy", "numba"]


def make(x=X, y=Y, *, engine="numpy", **kwargs):
    net = nn.Sequential(nn.Conv2d(1, 2, 3, seed=1), nn.ReLU(), nn.Flatten(), nn.Linear(8, 3, seed=2))
    return sv.Run(
        net,
        nn.CrossEntropyLoss(),
        optim.SGD(net.parameters(), lr=0.1),
        (x, y),
        engine=engine,
        dtype="float64",
        **kwargs,
    )


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("batch", [None, 4])
def test_training_goes_on_as_with_all_samples_from_the_start(engine, batch):
    """SGD has no memory: from the same values, the next step is that of a run made of all the data."""
    run = make(engine=engine, batch_size=batch, seed=3)
    run.step(2)
    run.add_samples(MORE_X, MORE_Y)
    twin = make(np.concatenate([X, MORE_X]), np.concatenate([Y, MORE_Y]), engine=engine, batch_size=batch, seed=3)
    twin.restore(run.state_dict(), {}, run.steps)
    assert run.batch_size == twin.batch_size == (17 if batch is None else 4)
    run.step(6)
    twin.step(6)
    np.testing.assert_array_equal(run.values, twin.values)
    assert run.loss == twin.loss


def test_samples_are_those_given_pictures_as_rows_too():
    run = make()
    run.add_samples(MORE_X.reshape(5, 16), MORE_Y[:, None])
    inputs, targets = run.samples()
    np.testing.assert_array_equal(inputs, np.concatenate([X, MORE_X]).reshape(17, 16))
    np.testing.assert_array_equal(targets.ravel(), np.concatenate([Y, MORE_Y]))


def test_nothing_else_is_touched():
    run = make()
    run.step(3)
    values, history = run.values.copy(), len(run.history)
    run.add_samples(MORE_X, MORE_Y)
    np.testing.assert_array_equal(run.values, values)
    assert (run.steps, len(run.history)) == (3, history)


@pytest.mark.parametrize(
    ("x", "y", "says"),
    [
        (MORE_X[:, :, :3], MORE_Y, r"add_samples: the inputs must have 16 numbers a sample or samples of shape"),
        (MORE_X, MORE_Y[:3], "5 inputs but 3 targets"),
        (np.full((1, 16), np.nan), [0], "not finite"),
        (MORE_X[:1], [3], "the target of sample 0 is 3"),
        (MORE_X[:1], [0.5], "whole number"),
        (MORE_X[:1], [[0, 1]], "targets must have 1 numbers a sample, got 2"),
    ],
)  # fmt: skip
def test_what_cannot_be_learnt_is_refused_and_changes_nothing(x, y, says):
    run = make()
    with pytest.raises(InputError, match=says):
        run.add_samples(x, y)
    assert len(run.samples()[0]) == 12
    run.step()


def test_a_worker_adds_them_between_two_calls():
    run = make(batch_size=3)
    with Worker(run) as worker:
        worker.train_to(10**6)
        worker.edit(lambda r: r.add_samples(MORE_X, MORE_Y), "five more")
        worker.pause()
        worker.settle()
        assert worker.error is None
    assert len(run.samples()[0]) == 17
    assert worker.log[0].what == "five more"
