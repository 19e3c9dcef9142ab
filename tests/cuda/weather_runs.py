"""Small runs for the tests of bad weather, and what is looked at in them."""

from __future__ import annotations

import gc
import time

import numpy as np

from scalarviz import Run, nn, optim

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(40, 3)), RNG.random((40, 2))
ASKING = ("cuGetErrorString", "cuCtxPopCurrent")
"""Calls of the driver that touch no context."""


def make(engine="cuda", dtype="float64", data=(X, Y), lr=0.01, kind=optim.Adam, **options):
    """A run whose batches are picked in an order that depends on the step."""
    net = nn.Sequential(nn.Linear(3, 4, seed=1), nn.Tanh(), nn.Linear(4, 2, seed=2))
    chosen = {"batch_size": 16, "seed": 5, **options}
    return Run(net, nn.MSELoss(), kind(net.parameters(), lr=lr), data, engine=engine, dtype=dtype, **chosen)


def numbers(run):
    """All that a step changes, as copies."""
    problem = run.problem
    arrays = (problem.store.value, problem.store.grad, problem.previous, *problem.state, run.history.loss)
    return [np.array(array) for array in arrays]


def same(some, others):
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(some, others, strict=True))


def near(some, others, bound=1e-12):
    return all(np.linalg.norm(a - b) <= bound * max(1.0, np.linalg.norm(b)) for a, b in zip(some, others, strict=True))


def left(fake):
    """What is alive of what runs take; contexts and modules stay as long as the process."""
    gc.collect()
    kinds = ("allocations", "streams", "graphs", "events", "registrations", "links")
    return {kind: fake.live[kind] for kind in kinds if fake.live[kind]}


def touched(fake):
    """How many calls there were that a broken context must not see."""
    return sum(count for name, count in fake.calls.items() if name not in ASKING)


def break_off(fake, name, after=0, error="CUDA_ERROR_ILLEGAL_ADDRESS"):
    """That call fails, and from then on all others do."""
    fake.fail(name, error, after)
    function = getattr(fake, name)

    def broken(*arguments):
        found = function(*arguments)
        if int(found[0]) != 0:
            fake.lose(error)
        return found

    setattr(fake, name, broken)


def wait_for(worker, step):
    worker.train_to(step)
    end = time.monotonic() + 30
    while worker.busy:
        assert time.monotonic() < end, worker.error
        time.sleep(0.01)


def stepped_before_and_after(before, after):
    """What a run has that did so many steps on the GPU, and then some by numba."""
    run = make()
    run.step(before)
    run.adopt_engine("numba")
    run.step(after)
    return run
