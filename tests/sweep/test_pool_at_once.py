"""A pool whose processes are done before anybody looks, as they are on a busy machine: nothing is lost or doubled."""

from __future__ import annotations

import random
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool

import pytest

from scalarviz.errors import StateError
from scalarviz.sweep import pool as module
from scalarviz.sweep.pool import Pool, WorkerDiedError


class AtOnce:
    """In the place of a process: what it is given is done, or has killed it, when it is given back."""

    choice = random.Random(0)
    deaths = 0.0

    def __init__(self, *_: object) -> None:
        self._pid = self.choice.randrange(1, 10**6)

    def submit(self, call):
        future: Future[object] = Future()
        if call is module.ready:
            future.set_result(self._pid)
        elif self.choice.random() < self.deaths:
            future.set_exception(BrokenProcessPool("it was killed"))
        elif not self.deaths and self.choice.random() < 0.3:  # as long as another one takes
            LATER.append(lambda: future.set_result(call()))
        else:
            future.set_result(call())
        return future

    def shutdown(self, *, wait: bool, cancel_futures: bool = False) -> None:
        pass


LATER: list[object] = []


@pytest.mark.parametrize("deaths", [0.0, 0.2])
@pytest.mark.parametrize("workers", [1, 2, 5])
def test_each_call_is_made_once_and_each_has_its_own_result(workers, deaths, monkeypatch):
    monkeypatch.setattr(module, "ProcessPoolExecutor", AtOnce)
    monkeypatch.setattr(AtOnce, "deaths", deaths)
    monkeypatch.setattr(AtOnce, "choice", random.Random(workers))
    LATER.clear()
    called: list[int] = []
    with Pool(workers) as pool:

        def call(number: int) -> int:
            called.append(number)
            return number * number

        futures = []
        for number in range(200):
            futures.append(pool.submit(call, number))
            if number % 7 == 0:
                futures[-1].add_done_callback(lambda _: futures.append(pool.submit(call, len(called) + 1000)))
            while LATER and (number % 5 == 0 or number == 199):
                LATER.pop(0)()
        while LATER:
            LATER.pop(0)()
        assert all(future.done() for future in futures)
        died = sum(isinstance(future.exception(), WorkerDiedError) for future in futures)
        assert (died > 0) is (deaths > 0)
        done = [future.result() for future in futures if future.exception() is None]
    assert sorted(done) == sorted(number * number for number in called)
    assert len(done) + died == len(futures)


def test_where_no_process_can_be_started_the_sweep_ends_with_that(monkeypatch):
    """Without semaphores, processes or files to be had it waited for ever, or ended with a traceback."""
    for trouble in (OSError(27, "File too large"), RuntimeError("can't start new thread")):

        def none(*_args, trouble=trouble):
            raise trouble

        monkeypatch.setattr("scalarviz.sweep.pool.ProcessPoolExecutor", none)
        with Pool(2) as pool:
            future = pool.submit(divmod, 7, 2)
            says = f"no process of the sweep can be started here: .*{trouble.args[-1]}"
            with pytest.raises(StateError, match=says):
                future.result(60)
            with pytest.raises(StateError, match="can be started here"):
                pool.submit(divmod, 7, 2)


def test_what_a_pool_cancels_as_it_closes_is_no_error(monkeypatch, caplog):
    """Python prints what a callback raises: Ctrl-C ended a sweep with tracebacks."""
    given = []

    class Waits:
        def __init__(self, *_args):
            pass

        def submit(self, _call):
            given.append(Future())
            return given[-1]

        def shutdown(self, **_named):
            for future in given:
                future.cancel()

    monkeypatch.setattr("scalarviz.sweep.pool.ProcessPoolExecutor", Waits)
    with Pool(1) as pool:
        wanted = [pool.submit(divmod, 7, 2) for _ in range(3)]
    assert all(future.cancelled() for future in given)
    assert len(given) == 3
    for future in wanted:
        assert future.cancelled() or isinstance(future.exception(0), StateError)
    assert caplog.records == []
