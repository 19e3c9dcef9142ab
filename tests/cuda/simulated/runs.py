"""Runs in numba's simulator, in every form of the engine's work: they train as the objects do, and no cut shows.

The tests of every engine run here too (``every_engine``), in one form. Internals: what the engine is cut by
(``trainer.SHAPE``), its trainer, and the simulator's way to launch.
"""

from __future__ import annotations

import threading
from dataclasses import replace

import in_turn
import numpy as np
import pytest

from kit.edits import EDITS
from kit.runs import make_run
from scalarviz.engine.cuda import jit, simulator, trainer
from scalarviz.engine.cuda.jit import cuda, shared
from scalarviz.engine.cuda.machine import STREAMED
from scalarviz.errors import ScalarvizError
from scalarviz.run import edits as ed


def only(*forms):
    """A test of these forms alone."""
    return pytest.mark.parametrize("form", forms, indirect=True)


def make(network="formula", optimizer="adam", engine="cuda", **options):
    return make_run(network, "mse", optimizer, engine=engine, **{"samples": 11, "batch_size": 4, **options})


def numbers(run):
    """All that a step changes, as copies."""
    frame = run.frame()
    return [frame.values, frame.gradient, frame.update, *run.optimizer_state().values(), run.history.loss.copy()]


def near(run, other, bound=1e-10):
    for found, wanted in zip(numbers(run), numbers(other), strict=True):
        assert np.linalg.norm(found - wanted) <= bound * max(1, np.linalg.norm(wanted))


LIMITS = {"l1": 0.02, "l2": 0.03, "clip_norm": 0.1}


@pytest.mark.parametrize(
    ("network", "rule", "more"),
    [("formula", "groups", {"schedule": "cosine", **LIMITS}), ("mlp", "own", {"l1": 0.1, "clip_value": 0.01}),
     ("tied", "adamw_amsgrad", {}), ("one node twice", "sgd_nesterov", {}), ("residual", "sgd", {})],
)  # fmt: skip
def test_all_that_a_run_keeps_is_that_of_the_objects(network, rule, more):
    run, plain = (make(network, rule, engine, **more) for engine in ("cuda", "objects"))
    for each in (run, plain):
        each.call_seconds = 100.0  # several steps in a call
        each.step(7)  # over two epochs of two batches
    near(run, plain)
    assert (run.frame().step, run.frame().lr) == (7, plain.frame().lr)


def test_two_runs_and_other_cuts_have_the_same_bits(monkeypatch):
    ends, calls = [], []
    for steps, counts in ((2, [9]), (2, [9]), (1, [2, 0, 4, 3]), (100, [1] * 9)):
        monkeypatch.setattr(trainer, "SHAPE", replace(trainer.SHAPE, steps=steps))
        run = make()
        run.call_seconds = 100.0
        train = run._training.trainer.train
        run._training.trainer.train = lambda *args, train=train: calls.append(args[1]) or train(*args)
        for count in counts:
            run.step(count)
        ends.append([array.tobytes() for array in numbers(run)])
    assert all(end == ends[0] for end in ends)
    assert max(calls) > 2  # else nothing here would see a call of several steps


@only("joined")
@pytest.mark.parametrize(("batch", "steps"), [(4, 2), (11, 3), (1, 100)])
def test_data_that_comes_in_call_by_call(batch, steps, monkeypatch):
    """The bits are those of a run that has it all in the device's memory."""
    ends = []
    for resident in (True, False):
        monkeypatch.setattr(trainer, "SHAPE", replace(trainer.SHAPE, steps=100, stream_bytes=batch * 10 * 8 * steps))
        if not resident:
            monkeypatch.setattr(simulator.SimulatedDevice, "memory", lambda device: (99, 99))
        run = make(batch_size=batch)
        run.call_seconds = 100.0
        run.step(7)
        run.do(ed.SetTargets(1 - run.samples()[1]))
        run.step(3)
        assert (run._training.trainer._work.steps.samples.feed.mode == STREAMED) != resident
        ends.append([array.tobytes() for array in numbers(run)])
    assert ends[0] == ends[1]


@only("joined")
@pytest.mark.parametrize("name", [name for name in EDITS if name != "engine"])
def test_an_edit_between_two_calls_is_that_of_another_engine(name):
    ends, said = [make("mlp"), make("mlp", engine="numpy")], []
    for run in ends:
        run.step(3)
        try:
            EDITS[name](run, np.random.default_rng(4))
        except ScalarvizError as error:
            said.append(str(error))
        run.step(4)
    near(*ends)
    assert said[::2] == said[1::2]


@only("joined")
def test_changes_that_nobody_announced_count_too():
    """Every array of the problem is a live view: values, states, flags by the model's own names."""
    ends = [make(), make(engine="numpy")]
    for run in ends:
        run.step(2)
        run.values[1] = 0.5
        run.problem.state[0][:] *= 0.5
        run.model.w[3].frozen = True
        run.step(2)
    near(*ends)


@only("joined")
def test_numbas_own_threads_do_the_same(monkeypatch):
    """Everywhere else threads are taken in turn, which is quicker."""
    run, plain, before = make(), make(), threading.active_count()
    plain.step(2)
    monkeypatch.setattr(jit, "simulated", in_turn.IN_THREADS)
    simulator._callable.cache_clear()
    run.do(ed.SetEngine("cuda", "anew"))
    run.step(2)
    simulator._callable.cache_clear()
    assert [a.tobytes() for a in numbers(run)] == [a.tobytes() for a in numbers(plain)]
    assert threading.active_count() == before


# ---- barriers, and threads that fail

THREADS = 8


def turned(numbers, waits, fails):
    """Each thread hands its number to the one before it."""
    mine = cuda.threadIdx.x
    room = shared(np.float64, 0)
    if mine == fails:
        raise ZeroDivisionError("a thread")
    room[mine] = numbers[mine]
    if waits:
        cuda.syncthreads()
    numbers[mine] = room[(mine + 1) % THREADS]


@only("plain")
def test_a_barrier_holds_and_a_thread_that_fails_ends_all():
    def launched(waits=True, fails=-1):
        found = np.arange(float(THREADS))
        in_turn.simulated(turned)((1, 1), (THREADS, 1), (jit.Pointer(found), waits, fails), 8 * THREADS)
        return found

    np.testing.assert_array_equal(launched(), np.roll(np.arange(THREADS), -1))
    assert np.isnan(launched(waits=False)).any()  # what nobody wrote
    for thread in range(THREADS):
        with pytest.raises(ZeroDivisionError, match="a thread"):
            launched(fails=thread)
