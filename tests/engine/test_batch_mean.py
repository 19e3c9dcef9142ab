"""Means over the batch and numbers that follow them, on every engine: against the same steps written with arrays."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.engine import problem
from scalarviz.engine.cpu import machine, team
from scalarviz.errors import StateError, TypeMismatchError
from scalarviz.scalar.batch import batch_mean, track
from scalarviz.tape import lower, record

ENGINES = ["objects", "numpy", "numba"]
N, WIDTH = 12, 3


class Centred(nn.Module):
    """A layer whose outputs lose their mean over the batch; two numbers that nobody trains follow what it does."""

    def __init__(self, rate=0.25):
        self.layer = nn.Linear(2, WIDTH, seed=3)
        self.seen, self.spread, self.count = (
            nn.Parameter(np.zeros(WIDTH)),
            nn.Parameter(np.ones(1)),
            nn.Parameter([0.0]),
        )
        self.rate = rate

    def forward(self, x):
        found = []
        track(self.count[0], None)
        for k, v in enumerate(self.layer(x)):
            mean = batch_mean(v)
            found.append((v - mean).tanh())
            track(self.seen[k], mean, self.rate, count=self.count[0])
        track(self.spread[0], batch_mean(found[0] * found[0]), 0.5, positions=2)
        return found


def made(engine, dtype="float64", rate=0.25, batch=4, **more):
    draw = np.random.default_rng(8)
    x, y = draw.normal(size=(N, 2)), draw.normal(size=(N, WIDTH))
    net = Centred(rate)
    run = Run(net, nn.MSELoss(), optim.SGD(net.layer.parameters(), lr=0.1), (x, y), batch_size=batch, engine=engine,
              dtype=dtype, **more)  # fmt: skip
    return net, run, x, y


def by_arrays(net, x, y, batches, rate):
    """The same steps with arrays; yields the loss and all numbers after each."""
    w, b = net.layer.weight.data.copy(), net.layer.bias.data.copy()
    seen, spread = np.zeros(WIDTH), 1.0
    for n, ids in enumerate(batches, 1):
        v = x[ids] @ w.T + b
        out = np.tanh(v - v.mean(axis=0))
        up = 2 * (out - y[ids]) / out.size
        down = up * (1 - out**2)
        down = down - down.mean(axis=0)
        share = 1 / n if rate is None else rate
        seen = (1 - share) * seen + share * v.mean(axis=0)
        lanes = 2 * len(ids)
        spread = 0.5 * spread + 0.5 * (out[:, 0] ** 2).mean() * lanes / (lanes - 1)
        w, b = w - 0.1 * down.T @ x[ids], b - 0.1 * down.sum(axis=0)
        yield np.mean((out - y[ids]) ** 2), w, b, seen, spread, n


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("rate", [0.25, None])
@pytest.mark.parametrize("batch", [2, 4, N])
def test_a_step_is_that_of_the_whole_batch(batch, rate, engine):
    net, run, x, y = made(engine, rate=rate, batch=batch)
    batches = [run.problem.indices(k) for k in range(7)]
    for loss, *wanted in by_arrays(net, x, y, batches, rate):
        run.step()
        assert run.loss == pytest.approx(loss, abs=1e-13)
        found = net.layer.weight, net.layer.bias, net.seen, net.spread, net.count
        for ours, theirs in zip(found, wanted, strict=True):
            np.testing.assert_allclose(ours.data, theirs, rtol=0, atol=1e-13)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("batch", [5, N])
@pytest.mark.parametrize("lanes", [1, 3, 4])
def test_blocks_meet_at_each_mean_and_threads_change_no_bit(lanes, batch, dtype, monkeypatch):
    """The last block is not full, and steps are done in calls of one and of several."""
    monkeypatch.setattr(problem, "default_block", lambda *given: lanes)
    monkeypatch.setattr(team, "WORTH", 0)
    monkeypatch.setattr(team, "processors", lambda: 2)
    wanted = made("numpy", dtype, batch=batch)[1]
    wanted.step(6)
    found = set()
    for threads, calls in ((1, (6,)), (2, (1, 4, 1)), (2, (6,)), (1, (3, 3))):
        run = made("numba", dtype, batch=batch, threads=threads)[1]
        assert run.engine.threads == threads
        losses = [loss for count in calls for loss in (run.step(count), *run.history.loss[-count:])[1:]]
        np.testing.assert_allclose(run.values, wanted.values, rtol=0, atol=1e-14 if dtype == "float64" else 1e-6)
        found.add((run.values.tobytes(), np.array(losses).tobytes()))
        run.close()
    assert len(found) == 1


class Mixed(Centred):
    """Numbers that are the same on all lanes: read by such alone, by others alone, by both, by a mean, by the loss."""

    def __init__(self, rate=None):
        super().__init__(rate)
        self.w = nn.Parameter([0.5, -1.5, 2.0, 0.3])

    def forward(self, x):
        rows, w = self.layer(x), self.w
        mean, square = batch_mean(rows[0]), batch_mean(rows[1] * rows[1])
        inner = (square + 0.5).sqrt() * w[0] + mean * w[1]
        both = inner.tanh() + w[2]
        alone = sv.dot([w[0], w[3]], [both, square]) * mean
        track(self.seen[0], alone, 0.5)
        return [rows[0] * both + inner, batch_mean(both * rows[2]) * w[3], batch_mean(alone) + w[1]]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("lanes", [3, N])
def test_what_is_the_same_on_all_lanes_may_be_read_by_anybody(lanes, dtype, monkeypatch):
    monkeypatch.setattr(problem, "default_block", lambda *given: lanes)
    ends = []
    for engine, narrow in (("numpy", 2), ("numba", 2), ("numba", 1000)):
        monkeypatch.setattr(machine, "NARROW_FROM", narrow)
        net = Mixed()
        draw = np.random.default_rng(8)
        data = draw.normal(size=(N, 2)), draw.normal(size=(N, WIDTH))
        weights = [*net.layer.parameters(), net.w]
        run = Run(net, nn.MSELoss(), optim.SGD(weights, lr=0.05), data, engine=engine, dtype=dtype)
        run.step(5)
        ends.append(run.values.copy())
        assert 0.0 < abs(net.seen[0].data) < np.inf
        run.close()
    for end in ends[1:]:
        np.testing.assert_allclose(end, ends[0], rtol=0, atol=1e-13 if dtype == "float64" else 2e-6)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_gradient_alone_changes_no_number(engine):
    _, run, _, _ = made(engine)
    before = run.values.copy()
    run._training.trainer.gradient(0)
    np.testing.assert_array_equal(run.values, before)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_gradient_is_that_of_finite_differences(dtype, engine):
    net, run, _, _ = made(engine, dtype=dtype)
    trainer, store = run._training.trainer, run._store
    trainer.gradient(2)
    found, start = store.grad.copy(), store.value.copy()
    step = 1e-6 if dtype == "float64" else 1e-2
    for k in range(net.layer.weight.size + WIDTH):
        sides = []
        for sign in (1, -1):
            store.value[:] = start
            store.value[k] += sign * step
            sides.append(trainer.gradient(2))
        assert (sides[0] - sides[1]) / (2 * step) == pytest.approx(found[k], abs=1e-8 if dtype == "float64" else 2e-3)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_frozen_number_follows_nothing(engine):
    net, run, _, _ = made(engine)
    net.seen[1].frozen = True
    run.step(3)
    assert net.seen[1].data == 0.0
    assert net.seen[0].data != 0.0
    assert net.count[0].data == 3.0


def test_neighbours_are_one_instruction_and_neither_prologue_nor_feature():
    net = Centred()
    plan = lower(record(net, 2, WIDTH, loss=nn.MSELoss()).only(loss=True))
    assert plan.body.couples
    assert plan.prologue is None
    assert plan.encode is None
    assert [(i.count, i.args.shape) for i in plan.body.instructions if i.kind == "batch_mean"] == [
        (3, (1, 3)),
        (1, (1, 1)),
    ]
    assert [(t.index, t.row < 0, t.count) for t in plan.body.tracks][:2] == [(9, True, -1), (10, False, 9)]


def test_a_mean_of_inputs_or_of_weights_alone_is_not_computed_ahead():
    net = nn.Linear(2, 1)
    tape = record(lambda x: [batch_mean(x[0]), batch_mean(net.weight[0][0]), batch_mean(sv.Value(2.0))], 2)
    plan = lower(tape)
    assert (plan.prologue, plan.encode) == (None, None)
    assert plan.body.constants.tolist() == [2.0]


def test_there_is_a_batch_in_recorded_graphs_alone():
    with pytest.raises(StateError, match="recorded graph"):
        batch_mean(sv.Value(1.0))
    with pytest.raises(StateError, match="recorded graph"):
        track(nn.Parameter([0.0])[0], None)
    with pytest.raises(TypeMismatchError, match="Value"):
        record(lambda x: batch_mean(1.0), 1)
