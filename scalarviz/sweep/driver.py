"""`Driver`: gives the jobs of a sweep to an executor, again where a process died, and takes the results down."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable
from concurrent.futures import Executor, Future
from dataclasses import replace
from functools import partial
from queue import SimpleQueue

from ..errors import StateError
from .job import Job, compute, failure, said_of
from .result import Result
from .writing import ResultsFile

TRIES = 3
"""How often a run is begun whose process dies."""


class Driver:
    """One sweep at work.

    Parameters
    ----------
    jobs : iterable of Job
        What is to be computed.
    executor : Executor
    ahead : int
        Jobs that it has at a time.
    file : ResultsFile or None
        Where results go before anybody sees them.

    Attributes
    ----------
    futures : dict of int to Future
        Of each run that is to be computed, by its number. One that has not begun can be cancelled.
    results : SimpleQueue of Result, Exception or None
        As they come; an exception is what ended the sweep. None: all are there, or were cancelled.
    """

    def __init__(self, jobs: Iterable[Job], executor: Executor, ahead: int, file: ResultsFile | None) -> None:
        self._waiting = deque(jobs)
        self.futures: dict[int, Future[Result]] = {job.number: Future() for job in self._waiting}
        self.results: SimpleQueue[Result | Exception | None] = SimpleQueue()
        self._executor, self._ahead, self._file = executor, ahead, file
        self._done: SimpleQueue[tuple[Job, Future[Result]] | None] = SimpleQueue()
        self._out = 0
        self._thread: threading.Thread | None = None
        self._stopped = False

    def start(self) -> None:
        """Work in a thread of its own."""
        self._thread = threading.Thread(target=self._loop, name="scalarviz-sweep", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Give nothing more away; what is being computed is for the executor's owner to end."""
        self._stopped = True
        self._done.put(None)

    def join(self) -> None:
        """Wait until nothing is done any more; whoever waits for a run is told that there will be none."""
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        self._give_up(StateError("the sweep was closed before this run was done"))

    def _give_up(self, error: Exception) -> None:
        for future in list(self.futures.values()):  # who iterates takes some away meanwhile
            if not future.cancel() and not future.done():
                future.set_exception(error)

    def turn(self) -> bool:
        """Give jobs away, and wait for one of them to end; False where none is left."""
        self._give()
        if not self._out:
            return False
        ended = self._done.get()
        if ended is None or self._stopped:
            return False
        self._out -= 1
        self._take(*ended)
        return True

    def _loop(self) -> None:
        try:
            while self.turn():
                pass
        except Exception as error:  # the disk is full, the pool cannot begin: the sweep ends with that
            if not self._stopped:
                self._give_up(error)
                self.results.put(error)
        self.results.put(None)

    def _give(self) -> None:
        while self._waiting and self._out < self._ahead and not self._stopped:
            job = self._waiting.popleft()
            wanted = self.futures[job.number]
            if wanted.running() or wanted.set_running_or_notify_cancel():
                self._out += 1
                given = self._executor.submit(compute, job)
                given.add_done_callback(partial(self._ended, job))

    def _ended(self, job: Job, given: Future[Result]) -> None:
        self._done.put((job, given))

    def _take(self, job: Job, given: Future[Result]) -> None:
        try:
            result = given.result()
        except BaseException as error:  # of whoever computes: compute itself raises nothing but what ends a process
            if isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
                raise  # Ctrl-C while it is computed here
            if job.tries < TRIES:
                self._waiting.appendleft(replace(job, tries=job.tries + 1))
                return
            result = failure(job, f"begun {job.tries} times; {said_of(error)}")
        if self._file is not None:
            self._file.add(result)
        self.futures[job.number].set_result(result)
        self.results.put(result)
