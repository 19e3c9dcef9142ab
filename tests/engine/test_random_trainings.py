"""Trainings put together at random: engines, calls, threads and replays do the same."""

from __future__ import annotations

from functools import partial
from random import Random

import numpy as np
import pytest
from test_random_networks import Drawn

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import DivergedError
from scalarviz.optim import lr_scheduler as schedules

SEEDS = [*range(10), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(10, 60))]


class Masked(nn.Module):
    """A random network with dropout before its last layer, and sometimes on its inputs; sometimes batches are
    normalised, before dropout or behind it, by one norm or by two."""

    def __init__(self, draw, shape, norms=0):
        self.inner = Drawn(draw, shape)
        self.inner.last = nn.Linear(self.inner.last.in_features, 7, bias=not norms, seed=1)
        given = [{"momentum": 0.3, "affine": False}, {"momentum": None}]
        one, two = (nn.BatchNorm1d(7, **given[k]) if norms & 1 << k else nn.Identity() for k in range(2))
        self.behind = nn.Sequential(
            one, nn.Tanh(), nn.Dropout(draw.choice([0.0, 0.2, 0.7])), two, nn.Linear(7, draw.randint(2, 4), seed=2)
        )
        self.before = nn.Dropout(draw.choice([0.0, 0.3]))

    def forward(self, x):
        return self.behind(self.inner(self.before(x)))


def optimizers(draw, norms):
    """Adam makes steps of the rounding of gradients that are 0: those of what a norm takes away again."""
    rate = draw.choice([0.003, 0.02])
    descents = [
        partial(optim.SGD, lr=rate), partial(optim.SGD, lr=rate, momentum=0.7, nesterov=True),
        partial(optim.SGD, lr=rate, weight_decay=0.1),
    ]  # fmt: skip
    return draw.choice([*descents, *([] if norms else [partial(optim.Adam, lr=rate), partial(optim.AdamW, lr=rate)])])


def schedule(draw):
    return draw.choice([
        None, None, lambda o: schedules.StepLR(o, 3, 0.5), lambda o: schedules.ExponentialLR(o, 0.9),
        lambda o: schedules.CosineAnnealingLR(o, 8), lambda o: schedules.LinearLR(o, 0.2, 1.0, 5),
        lambda o: schedules.OneCycleLR(o, 0.05, total_steps=40, cycle_momentum=False),
        lambda o: schedules.LambdaLR(o, lambda t: 1 / (1 + t)),
    ])  # fmt: skip


def losses(draw, outputs, batch):
    weight = [draw.uniform(0.2, 2.0) for _ in range(outputs)]
    left_out = 0 if batch >= 8 else -100  # a batch of nothing but left-out samples has no loss: NaN, as in PyTorch
    return draw.choice([
        (nn.MSELoss(), False), (nn.SmoothL1Loss(), False), (nn.MSELoss("sum"), False), (nn.CrossEntropyLoss(), True),
        (nn.CrossEntropyLoss(weight=weight), True),
        (nn.CrossEntropyLoss(label_smoothing=0.2, ignore_index=left_out), True),
    ])  # fmt: skip


def run_of(seed, engine, threads=1, dtype="float64"):
    draw, rng = Random(seed), np.random.default_rng(seed)
    shape = (draw.randint(1, 9),) if seed % 3 else (draw.randint(1, 2), draw.randint(2, 6), draw.randint(2, 6))
    batch = draw.choice([1, 2, 5, 8, 9])
    norms = seed % 4 if batch > 2 else 0
    net = Masked(draw, shape, norms)
    outputs = net.behind[4].out_features
    loss, classes = losses(draw, outputs, batch)
    samples, make, follow = draw.choice([9, 24, 40]), optimizers(draw, norms), schedule(draw)
    sampling = draw.choice(["epochs", "epochs", "replacement"])
    targets = rng.integers(0, outputs, samples) if classes else rng.random((samples, outputs))
    optimizer = make(net.parameters())
    if follow is not None:
        follow(optimizer)
    return sv.Run(
        net, loss, optimizer, (rng.normal(size=(samples, *shape)), targets), batch_size=batch,
        seed=seed, engine=engine, dtype=dtype, threads=threads, sampling=sampling,
    )  # fmt: skip


@pytest.mark.parametrize("seed", SEEDS)
def test_engines_train_alike(seed):
    found = {}
    for engine in ("objects", "numpy", "numba"):
        with run_of(seed, engine) as run:
            run.step(6)
            found[engine] = run.values.copy(), run.history.loss.copy(), run.history.lr.copy()
    values, loss, lr = found.pop("objects")
    assert np.isfinite(values).all()
    for engine, (others, losses, rates) in found.items():
        assert np.linalg.norm(others - values) <= 1e-9 * np.linalg.norm(values), engine
        np.testing.assert_allclose(losses, loss, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(rates, lr)


@pytest.mark.parametrize("seed", SEEDS)
def test_calls_threads_and_replays_change_no_bit(seed):
    ends = []
    for threads, calls in ((1, (20,)), (2, (3, 1, 16))):
        run = run_of(seed, "numba", threads, "float32")
        for count in calls:
            run.step(count)
        ends.append((run.values.tobytes(), run.loss, run.lr))
    run.back(13)
    middle = run.values.tobytes()
    run.step(13)
    ends.append((run.values.tobytes(), run.loss, run.lr))
    assert ends[0] == ends[1] == ends[2]
    run.to(7)
    assert run.values.tobytes() == middle
    again = run_of(seed, "numba", 1, "float32")
    again.step(7)
    assert again.values.tobytes() == middle


@pytest.mark.parametrize("engine", ["objects", "numpy", "numba"])
def test_a_batch_of_left_out_samples_alone_has_no_loss_as_in_pytorch(engine):
    net = nn.Linear(2, 3, seed=0)
    data = np.ones((4, 2)), np.zeros(4, int)
    optimizer = optim.SGD(net.parameters(), lr=0.1)
    run = sv.Run(net, nn.CrossEntropyLoss(ignore_index=0), optimizer, data, batch_size=1, engine=engine)
    with pytest.raises(DivergedError, match="the loss is nan"):
        run.step(3)
