"""A worker that begins, ends or is followed by another one: nothing is lost, nothing is done in the wrong thread."""

from __future__ import annotations

import gc
import sys
import threading
import time
import weakref

import numpy as np
import pytest

from scalarviz import Run, nn, optim
from scalarviz.errors import InputError, StateError, TypeMismatchError
from scalarviz.run.edits import Call, SetWeights
from scalarviz.run.worker import Worker

X = np.random.default_rng(0).random((64, 3))


def make():
    net = nn.Sequential(nn.Linear(3, 4, seed=1), nn.Tanh(), nn.Linear(4, 3, seed=2))
    return net, Run(net, nn.MSELoss(), optim.Adam(net.parameters(), lr=0.01), (X, 1 - X), engine="numpy", batch_size=8)


def wait(condition, seconds=10.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.002)


def test_who_asks_a_worker_that_has_ended_is_served_by_the_next_one():
    _, run = make()
    old = Worker(run).start()
    old.close()
    assert old.call(threading.current_thread) is threading.main_thread()
    with Worker(run) as worker:
        assert old.call(threading.current_thread) is worker._thread
        assert run.gate is worker
        old.close()  # twice is no harm
        assert run.gate is worker


def test_what_is_written_to_a_worker_that_has_ended_is_not_lost():
    _, run = make()
    worker = Worker(run).start()
    worker.close()
    worker.write(0, np.array([5.0]))  # who asked for the gate just before
    worker.do(SetWeights(1, np.array([6.0])))
    worker.edit(lambda r: r.set_weights(2, [7.0]), "a function")
    assert run.values[:3].tolist() == [5.0, 6.0, 7.0]


def test_closing_does_what_stands_behind_an_edit_that_fails():
    net, run = make()
    worker = Worker(run).start()
    held = threading.Event()
    worker.edit(lambda r: held.wait(5), "hold the thread")
    worker.edit(lambda r: r.set_weights(999, [1.0]), "no such weight")
    net[0].weight[0][0].data = 3.0
    worker._closing = True  # the thread ends after what it is at
    held.set()
    worker._thread.join()
    worker.edit(lambda r: r.set_weights(999, [1.0]), "no such weight")
    net[0].weight[0][1].data = 4.0
    with pytest.raises(InputError, match="999"):
        worker.close()
    assert run.values[:2].tolist() == [3.0, 4.0]
    assert run.gate is None
    run.step()


def test_a_thread_that_has_ended_is_finished_by_whoever_asks():
    _, run = make()
    worker = Worker(run).start()
    worker._closing = True
    worker.request()
    worker._thread.join()
    run.step(3)
    assert run.steps == 3
    assert run.gate is None


def test_a_worker_that_starts_late_shows_the_numbers_of_now():
    net, run = make()
    worker = Worker(run)
    run.step(5)
    net[0].weight[0][0].data = 3.0
    with worker:
        held = threading.Event()
        worker.edit(lambda r: held.wait(5), "nothing is published")
        assert net[0].weight[0][0].data == 3.0
        assert worker.latest.step == 5
        held.set()


def test_one_worker_trains_a_run_and_starts_once():
    _, run = make()
    with Worker(run) as worker:
        with pytest.raises(StateError, match="another Worker"):
            Worker(run).start()
        with pytest.raises(StateError, match="started once"):
            worker.start()
        assert run.gate is worker
    with pytest.raises(StateError, match="started once"):
        worker.start()
    run.step()


def test_a_worker_is_not_closed_by_what_it_does():
    _, run = make()
    with Worker(run) as worker:
        worker.edit(lambda r: worker.close(), "close")
        wait(lambda: worker.error is not None)
        assert "another thread" in str(worker.error)
        run.step()


def test_workers_that_overlap_leave_the_process_as_it_was():
    before = sys.getswitchinterval()
    first, second = Worker(make()[1]).start(), Worker(make()[1]).start()
    first.close()
    assert sys.getswitchinterval() < before
    second.close()
    assert sys.getswitchinterval() == before


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
def test_a_function_that_would_end_the_thread_is_an_error_of_it(error):
    def leave(run):
        raise error

    _, run = make()
    with Worker(run) as worker:
        worker.edit(leave, "leave")
        wait(lambda: worker.error is not None)
        assert error.__name__ in str(worker.error)
        worker.train_to(5)
        wait(lambda: run.steps == 5)
        with pytest.raises(error):  # it belongs to whoever asks
            run.do(Call(leave))


def test_after_errors_too_a_run_dies_when_nobody_holds_it():
    gc.disable()
    try:
        net, run = make()
        with Worker(run) as worker:
            with pytest.raises(InputError):
                run.lr = -1
            with pytest.raises(ZeroDivisionError):
                run.do(Call(lambda r: 1 / 0))
            worker.edit(lambda r: 1 / 0, "fails")
            while worker.error is None:
                time.sleep(0.002)
        assert "division" in str(worker.error)
        dead = weakref.ref(run), weakref.ref(net), weakref.ref(worker)
        del run, net, worker
        assert [ref() for ref in dead] == [None] * 3
    finally:
        gc.enable()


@pytest.mark.parametrize("wrong", ["a", None, [1], -1, float("nan"), 10**400, 1e300])
def test_a_time_that_nobody_can_wait_is_refused_before_anything_is_stopped(wrong):
    _, run = make()
    with Worker(run) as worker:
        worker.train_to(10**9)
        for ask in (worker.close, worker.settle):
            with pytest.raises((InputError, TypeMismatchError), match=f"{ask.__name__}: timeout"):
                ask(wrong)
        before = run.steps
        wait(lambda: run.steps > before)
        assert worker.error is None


@pytest.mark.parametrize("wrong", ["a", None, [1], -1, 1.5, float("nan"), 1e300, True])
def test_a_step_that_is_none_is_refused_and_the_thread_goes_on(wrong):
    _, run = make()
    with Worker(run) as worker:
        worker.train_to(10**9)
        with pytest.raises(InputError, match="train_to: step"):
            worker.train_to(wrong)
        before = run.steps
        wait(lambda: run.steps > before)
        assert worker.error is None
