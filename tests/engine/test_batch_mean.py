"""Means over the batch and numbers that follow them, on every engine: against the same steps written with arrays.

Imports internals: the functions that norms are made of, in places where no norm puts them.
"""

import numpy as np
import pytest

import scalarviz as sv
from kit.refusals import refusals
from kit.runs import ENGINES, TOLERANCE
from scalarviz import Run, nn, optim
from scalarviz.engine import problem
from scalarviz.engine.cpu import machine, trainer
from scalarviz.errors import StateError, TypeMismatchError
from scalarviz.scalar.batch import batch_mean, track

N, WIDTH = 12, 3
every = pytest.mark.parametrize("engine", ENGINES)


class Centred(nn.Module):
    """A layer whose outputs lose their mean over the batch; two numbers that nobody trains follow what it does."""

    def __init__(self, rate=0.25):
        self.layer, self.rate = nn.Linear(2, WIDTH, seed=3), rate
        self.seen, self.spread, self.count = (nn.Parameter(part) for part in (np.zeros(WIDTH), np.ones(1), np.zeros(1)))

    def forward(self, x):
        found = []
        track(self.count[0], None)
        for k, v in enumerate(self.layer(x)):
            mean = batch_mean(v)
            found.append((v - mean).tanh())
            track(self.seen[k], mean, self.rate, count=self.count[0])
        track(self.spread[0], batch_mean(found[0] * found[0]), 0.5, positions=2)
        return found


class Mixed(Centred):
    """Numbers that are the same on all lanes: read by such alone, by others alone, by both, by a mean, by the loss."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter([0.5, -1.5, 2.0, 0.3])

    def forward(self, x):
        rows, w = self.layer(x), self.w
        mean, square = batch_mean(rows[0]), batch_mean(rows[1] * rows[1])
        inner = (square + 0.5).sqrt() * w[0] + mean * w[1]
        both = inner.tanh() + w[2]
        alone = sv.dot([w[0], w[3]], [both, square]) * mean
        track(self.seen[0], alone, 0.5)
        return [rows[0] * both + inner, batch_mean(both * rows[2]) * w[3], batch_mean(alone) + w[1]]


def made(engine, net=None, batch=4, dtype="float64", **more):
    draw, net = np.random.default_rng(8), net or Centred()
    x, y = draw.normal(size=(N, 2)), draw.normal(size=(N, WIDTH))
    weights = [*net.layer.parameters(), *([net.w] if isinstance(net, Mixed) else [])]
    rule = optim.SGD(weights, lr=0.1)
    return net, Run(net, nn.MSELoss(), rule, (x, y), batch_size=batch, engine=engine, dtype=dtype, **more), x, y


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("batch", [5, N])
@pytest.mark.parametrize("lanes", [1, 3])
@pytest.mark.parametrize("kind", [Centred, Mixed])
def test_blocks_meet_at_each_mean_and_threads_change_no_bit(kind, lanes, batch, dtype, monkeypatch):
    """The last block is not full, and steps are done in calls of one and of several."""
    monkeypatch.setattr(problem, "default_block", lambda *given: lanes)
    monkeypatch.setattr(trainer, "WORTH", 0)
    monkeypatch.setattr(trainer, "processors", lambda: 2)
    wanted, ends = made("objects", kind(), batch, dtype)[1], set()
    numpys = made("numpy", kind(), batch, dtype)[1]
    wanted.step(6), numpys.step(6)
    near = 1e-13 if dtype == "float64" else 3e-6
    np.testing.assert_allclose(numpys.values, wanted.values, rtol=0, atol=near)
    for threads, calls, narrow in ((1, (6,), 2), (2, (1, 4, 1), 2), (2, (6,), 2), (1, (3, 3), 1000)):
        monkeypatch.setattr(machine, "NARROW_FROM", narrow)
        _, run, _, _ = made("numba", kind(), batch, dtype, threads=threads)
        assert run.engine.threads == threads
        for count in calls:
            run.step(count)
        np.testing.assert_allclose(run.values, wanted.values, rtol=0, atol=near)
        if narrow == 2:
            ends.add((run.values.tobytes(), run.history.loss.tobytes()))
        run.close()
    assert len(ends) == 1


@every
def test_a_frozen_number_follows_nothing(engine):
    net, run, _, _ = made(engine)
    net.seen[1].frozen = True
    run.step(3)
    assert (net.seen[1].data, net.seen[0].data != 0.0, net.count[0].data) == (0.0, True, 3.0)


def test_a_mean_of_inputs_or_of_weights_alone_is_not_computed_ahead():
    net = nn.Linear(2, 1)
    tape = sv.trace(lambda x: [batch_mean(x[0]), batch_mean(net.weight[0][0]), batch_mean(sv.Value(2.0))], 2)
    plan = sv.tape.lower(tape)
    assert (plan.prologue, plan.encode, plan.body.constants.tolist()) == (None, None, [2.0])


@refusals(
    {
        "a mean of a number": (lambda: batch_mean(sv.Value(1.0)), StateError, "recorded graph"),
        "a number that follows nothing": (lambda: track(nn.Parameter([0.0])[0], None), StateError, "recorded graph"),
        "a mean of a float": (lambda: sv.trace(lambda x: batch_mean(1.0), 1), TypeMismatchError, "Value"),
    }
)
def test_there_is_a_batch_in_recorded_graphs_alone(refusal):
    refusal.check()
