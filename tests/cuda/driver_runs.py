"""Small runs on the fake driver, and what is compared in them; a process of its own imports this too."""

import gc
import threading

import numpy as np

from kit.runs import make_run
from scalarviz.run.state import optimizer_state

KINDS = ("allocations", "streams", "graphs", "events", "registrations", "links")
"""What a run takes of a driver; contexts and modules stay as long as the process."""


def make(engine="cuda", optimizer="adam", lr=None, network="rgb", **options):
    """A run whose batches are picked in an order that depends on the step."""
    run = make_run(
        network, optimizer=optimizer, engine=engine, **{"samples": 12, "batch_size": 5, "seed": 5, **options}
    )
    if lr is not None:
        run.lr = lr
    return run


def numbers(run):
    """All that a step changes, as copies."""
    frame = run.frame()
    arrays = (frame.values, frame.gradient, frame.update, *optimizer_state(run).values(), run.history.loss)
    return [np.array(array) for array in arrays]


def same(some, others):
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(some, others, strict=True))


def near(some, others, bound=1e-12):
    return all(np.linalg.norm(a - b) <= bound * max(1.0, np.linalg.norm(b)) for a, b in zip(some, others, strict=True))


def left(fake):
    """What is alive of what runs take."""
    gc.collect()
    return {kind: fake.live[kind] for kind in KINDS if fake.live[kind]}


def stepped(before, after, engine="numba", **options):
    """The numbers of a run that did so many steps on the GPU, and then some on another engine."""
    with make(**options) as run:
        run.step(before)
        run.change(engine=engine)
        run.step(after)
        return numbers(run)


def in_threads(*functions):
    """Do them at the same time; what one of them raises is raised here."""
    errors = []

    def guarded(function):
        try:
            function()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(function,)) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in errors:
        raise error
