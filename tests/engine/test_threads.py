"""Two threads: the same bits as one, and only where they pay."""

from __future__ import annotations

import itertools
import threading

import numpy as np
import pytest

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
            from scalarviz.engine.numpy import NumpyTrainer

            NumpyTrainer(run.problem).gradient(0)
        else:
            run._training.trainer.gradient(0)
        found.append(run.problem.store.grad.copy())
        run.close()
    assert np.linalg.norm(found[0] - found[1]) <= 1e-12 * np.linalg.norm(found[1])


@pytest.mark.parametrize(
    ("why", "sizes", "batch"),
    [("one block", (12, 64, 64, 3), 100), ("too little to do", (3, 3), 5000)],
)
def test_one_thread_where_two_do_not_pay(why, sizes, batch, two_processors):
    run = run_of(2, sizes=sizes, batch=batch, samples=batch)
    assert run.engine.threads == 1, why
    run.step(2)
    run.close()


def test_one_processor_has_one_thread(monkeypatch):
    monkeypatch.setattr(team, "processors", lambda: 1)
    run = run_of(2)
    assert run.engine.threads == 1
    run.close()


@pytest.mark.parametrize("threads", [0, -1, 1.5])
def test_a_wrong_number_of_threads_is_refused(threads):
    with pytest.raises(InputError, match="threads must be a whole number, at least 1"):
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
