"""Two threads: the same bits as one, and only where they pay."""

from __future__ import annotations

import itertools
import threading

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.engine.cpu import team
from scalarviz.errors import InputError


def run_of(threads, sizes=(12, 64, 64, 3), batch=1000, samples=1000, dtype="float32"):
    layers = [
        layer
        for k, (n, m) in enumerate(itertools.pairwise(sizes))
        for layer in (nn.Linear(n, m, seed=k), nn.LeakyReLU())
    ]
    net = nn.Sequential(*layers)
    rng = np.random.default_rng(0)
    data = rng.normal(size=(samples, sizes[0])), rng.normal(size=(samples, sizes[-1]))
    return Run(net, nn.MSELoss(), optim.Adam(net.parameters(), lr=1e-3), data, batch_size=batch, engine="numba",
               dtype=dtype, threads=threads)  # fmt: skip


@pytest.fixture
def two_processors(monkeypatch):
    monkeypatch.setattr(team, "processors", lambda: 2)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("batch", "samples"), [(1000, 1000), (700, 1000), (3000, 3000)])
def test_the_same_bits_with_one_thread_and_two(batch, samples, dtype, two_processors):
    found = []
    for threads in (1, 2):
        run = run_of(threads, batch=batch, samples=samples, dtype=dtype)
        for count in (1, 7, 3):
            run.step(count)
        store = run.problem.store
        found.append((store.value.tobytes(), store.grad.tobytes(), run.history.loss.tobytes()))
        assert (run.engine.threads, str(run.engine)) == (threads, f"numba, {threads} thread{'s' * (threads > 1)}")
        run.close()
    assert found[0] == found[1]


@pytest.mark.parametrize("threads", [1, 2])
def test_the_gradient_is_that_of_numpy(threads, two_processors):
    found = []
    for engine in ("numba", "numpy"):
        run = run_of(threads, dtype="float64") if engine == "numba" else run_of(1, dtype="float64")
        if engine == "numpy":
            from scalarviz.engine.arrays.trainer import NumpyTrainer

            NumpyTrainer(run.problem).gradient(0)
        else:
            run._training.trainer.gradient(0)
        found.append(run.problem.store.grad.copy())
        run.close()
    assert np.linalg.norm(found[0] - found[1]) <= 1e-12 * np.linalg.norm(found[1])


@pytest.mark.parametrize(
    ("why", "sizes", "batch"),
    [("one block", (12, 64, 64, 3), 100), ("too little to do", (3, 3), 1200)],
)
def test_one_thread_where_two_do_not_pay(why, sizes, batch, two_processors):
    run = run_of(2, sizes=sizes, batch=batch, samples=batch)
    assert run.engine.threads == 1, why
    run.step(2)
    run.close()


@pytest.mark.parametrize(("batch", "groups"), [(1000, 0), (2000, 2), (2049, 3), (8192, 8), (8193, 8), (100_000, 8)])
def test_a_gradient_buffer_for_each_block_and_at_most_eight(batch, groups):
    """They cost as much memory as the weights each, and blocks of 1,024 lanes are shared among them."""
    run = run_of(1, batch=64, samples=64)
    assert team.groups_of(run.problem.plan.body, batch, 1024) == groups
    run.close()


def test_rows_outside_of_layers_count_as_work(two_processors):
    w = [sv.Weight(0.1 * k) for k in range(1, 4)]

    def model(x):
        y = x[0]
        for _ in range(20):
            y = (w[0] * y * x[1] + w[1]).tanh() * w[2]
        return y

    x = np.random.default_rng(0).random((4096, 2))
    found = []
    for threads in (1, 2):
        run = Run(model, nn.MSELoss(), optim.SGD(w, lr=0.1), (x, x[:, :1]), engine="numba", threads=threads)
        run.step(3)
        found.append((run.engine.threads, run.values.tobytes()))
        run.close()
        for weight, k in zip(w, range(1, 4), strict=True):
            weight.data = 0.1 * k
    assert [threads for threads, _ in found] == [1, 2]
    assert found[0][1] == found[1][1]


def test_none_is_as_many_as_there_are(two_processors, monkeypatch):
    monkeypatch.setattr("scalarviz.run.run.processors", lambda: 2)
    run = run_of(None)
    assert run.engine.threads == 2
    run.close()


def test_turns_go_to_whoever_was_quicker(monkeypatch):
    turns, now = team.Turns(2), [0.0]
    monkeypatch.setattr(team.time, "perf_counter", lambda: now[0])
    turns._tried = 0.0
    assert turns.pieces(100) == [(2, 100)]  # no trial yet: all threads
    now[0] = 1.0
    assert turns.pieces(160) == [(1, 10), (2, 150)]
    assert turns.pieces(160) == [(2, 160)]
    for workers, seconds in ((2, 9.0), (1, 5.0)):  # another program has come
        turns.took(workers, seconds)
    assert turns.pieces(160) == [(1, 160)]
    now[0] = 2.0
    assert turns.pieces(1) == [(2, 1)]  # a trial fits into one step
    for seconds in (3.0, 3.0):  # it has gone
        turns.took(2, seconds)
    assert turns.pieces(8) == [(2, 8)]
    turns.took(2, 50.0)  # one slow call is no reason
    assert turns.pieces(8) == [(2, 8)]
    assert sum(count for _, count in team.Turns(1).pieces(7)) == 7


@pytest.mark.parametrize("always", [1, 2])
def test_taking_turns_shows_in_no_bit(always, two_processors, monkeypatch):
    """Every call is a trial, whatever it finds out."""
    plain, run = run_of(1, batch=700), run_of(2, batch=700)
    monkeypatch.setattr(team, "TRIAL_SECONDS", -1.0)
    monkeypatch.setattr(
        team.Turns, "took", lambda turns, workers, seconds: setattr(turns, "workers", min(always, turns.most))
    )
    used = []
    compiled = run._training.trainer._train
    monkeypatch.setattr(run._training.trainer, "_train", lambda *args: (used.append(args[-2:]), compiled(*args)))
    for count in (1, 33, 20):
        plain.step(count)
        run.step(count)
    assert {(0, 1), (0, 2), (1, 2)} == set(used)
    for name in ("value", "grad"):
        assert getattr(plain.problem.store, name).tobytes() == getattr(run.problem.store, name).tobytes()
    assert plain.problem.previous.tobytes() == run.problem.previous.tobytes()
    assert np.array_equal(plain.history.loss, run.history.loss)


def test_one_processor_has_one_thread(monkeypatch):
    monkeypatch.setattr(team, "processors", lambda: 1)
    run = run_of(2)
    assert run.engine.threads == 1
    run.close()


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, "2"])
def test_a_wrong_number_of_threads_is_refused(threads):
    with pytest.raises(InputError, match="threads must be a whole number >= 1"):
        run_of(threads)


def test_an_interrupt_leaves_no_thread_waiting(two_processors, monkeypatch):
    run = run_of(2)
    trainer = run._training.trainer
    compiled, before = trainer._train, threading.active_count()

    def interrupted(*args):
        if args[-2] == 0:
            raise KeyboardInterrupt
        compiled(*args)

    monkeypatch.setattr(trainer, "_train", interrupted)
    with pytest.raises(KeyboardInterrupt):
        trainer.gradient(0)
    assert threading.active_count() == before
    run.close()
