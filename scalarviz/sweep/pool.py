"""`Pool`: processes of this machine that compute jobs, over pipes; one that dies takes one job along, and is replaced.

Every process is a ``ProcessPoolExecutor`` of its own: so it is known which job a death was in, and the others go on.
"""

from __future__ import annotations

import os
import signal
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from ..checks import integer
from ..errors import StateError
from ..process import runs

AHEAD = 2
"""Jobs that a process has at a time: the one that it computes, and the next one, so that it never waits."""
_STARTS = 3
"""So many processes in a row may end before they began to work, for each that there should be."""
_NO_START = (
    "the processes of the sweep end before they begin to work; in a script, call sweep under "
    'if __name__ == "__main__":, or compute in this process, with workers=0'
)


class WorkerDiedError(StateError):
    """The process that computed a job ended before it was done: it was killed, or crashed."""


class Pool(Executor):
    """An executor whose processes are spawned: they share nothing with this one but pipes.

    Parameters
    ----------
    workers : int
        Processes. They are started when the first jobs come.

    Raises
    ------
    InputError
        No whole number of at least 1.
    """

    def __init__(self, workers: int) -> None:
        self.workers = integer("Pool: workers", workers, 1, 1024)
        self._lock = threading.RLock()
        self._waiting: deque[_Task] = deque()
        self._slots = [_Slot(self) for _ in range(self.workers)]
        self._failed_starts = 0
        self._feeding = False
        self._closed = ""
        _pools.add(self)

    def submit(self, function: Callable[..., Any], /, *args: Any, **named: Any) -> Future[Any]:
        """Let a process call a function; its result is the future's.

        The future's exception is `WorkerDiedError` where the process died in it.

        Raises
        ------
        StateError
            The pool is closed, or no process of it could begin to work.
        """
        task = _Task(partial(function, *args, **named))
        with self._lock:
            if self._closed:
                raise StateError(self._closed)
            self._waiting.append(task)
            self._feed()
        return task.future

    @property
    def pids(self) -> list[int]:
        """Ids of the processes that work now."""
        with self._lock:
            return [slot.pid for slot in self._slots if slot.pid]

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = True) -> None:
        """End all processes at once; what is not done is cancelled."""
        self._close("this pool of processes is closed", StateError("the pool was closed before it was done"))
        if wait:
            for slot in self._slots:
                slot.join()

    def _close(self, why: str, error: Exception) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = why
            left = [*self._waiting, *(task for slot in self._slots for task in slot.tasks)]
            self._waiting.clear()
            for slot in self._slots:
                slot.end()
        for task in left:
            if not task.future.cancel():
                with suppress(Exception):  # it was done in this moment
                    task.future.set_exception(error)

    # ---- for the slots; all but the last one hold the lock

    def _feed(self) -> None:
        """Give jobs to whoever has room: first a job each, then a second one.

        One may be done before it was given away here: what comes of it is dealt with meanwhile, in this very call, and
        the room that it left is filled by the loop that goes on.
        """
        if self._closed or self._feeding:
            return
        self._feeding = True
        try:
            for most in range(1, AHEAD + 1):
                for slot in self._slots:
                    while len(slot.tasks) < most and self._waiting:
                        task = self._waiting.popleft()  # before it is given: others may come to the front meanwhile
                        wanted = task.future.running() or task.future.set_running_or_notify_cancel()
                        if wanted and not slot.take(task):
                            self._waiting.appendleft(task)
                            break
        finally:
            self._feeding = False
        refused = next((slot.refused for slot in self._slots if slot.refused is not None), None)
        if refused is not None and self._waiting and not any(slot.tasks for slot in self._slots):
            said = f"no process of the sweep can be started here: {refused}; in Python, workers=0 computes in this one"
            self._close(said, StateError(said))

    def _died(self, slot: _Slot) -> _Task | None:
        """Let a slot begin anew; what it was to compute next goes to another one. Returns what it died in."""
        begun, tasks = slot.pid != 0, slot.tasks
        slot.renew()
        self._failed_starts += not begun
        culprit = tasks.pop(0) if begun else None
        self._waiting.extendleft(reversed(tasks))
        return culprit

    def _gave(self, slot: _Slot, round_: int, task: _Task, done: Future[Any]) -> None:
        """A process is done with a job, or is no more."""
        if done.cancelled():  # the pool was closed
            return
        error, ended = done.exception(), task
        with self._lock:
            if self._closed or slot.round != round_:
                return
            if isinstance(error, BrokenProcessPool):
                culprit = self._died(slot)
                error = WorkerDiedError(
                    "its process ended before it was done: it was killed, crashed, or had no memory"
                )
                if culprit is not None:
                    ended = culprit
            else:
                culprit = task
                slot.tasks.remove(task)
                self._failed_starts = 0
            hopeless = self._failed_starts >= _STARTS * self.workers
            if not hopeless:
                self._feed()
        if hopeless:
            self._close(_NO_START, StateError(_NO_START))
        elif culprit is None:
            return
        elif error is not None:
            ended.future.set_exception(error)
        else:
            ended.future.set_result(done.result())


class _Task:
    """A call, and the future of its result."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.call, self.future = call, Future[Any]()


class _Slot:
    """One process after the other, and what the present one has to do, in order."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self.tasks: list[_Task] = []
        self.round = self.pid = 0
        self.refused: Exception | None = None
        self._executor: ProcessPoolExecutor | None = None
        self._line: Any = None
        self._former: list[ProcessPoolExecutor] = []

    def take(self, task: _Task) -> bool:
        """Let the process do this after all else; False where it is no more, and those before are yet to be told so."""
        if os.name == "posix" and not self.tasks and self.pid and not runs(self.pid):
            self.renew()  # it died idle, and nobody has said so yet: this job was not its fault
        for _ in range(2):
            try:
                if self._executor is None:
                    self._start()
                assert self._executor is not None
                done = self._executor.submit(task.call)
            except (RuntimeError, OSError) as error:  # it has died, Python ends, or the system lets none begin
                if self.tasks:
                    return False
                self.renew()
                self.refused = error
            else:
                self.refused = None
                self.tasks.append(task)
                done.add_done_callback(partial(self._pool._gave, self, self.round, task))
                return True
        return False

    def _start(self) -> None:
        context = get_context("spawn")
        ours, self._line = context.Pipe(duplex=False)
        with shielded():  # Python's tracker begins with the first one, and lets Ctrl-C in again
            self._executor = ProcessPoolExecutor(1, context, begin, (ours,))
        with shielded():
            started = self._executor.submit(ready)
        ours.close()
        started.add_done_callback(partial(self._began, self.round))

    def _began(self, round_: int, started: Future[int]) -> None:
        with self._pool._lock:
            if self.round == round_ and not started.cancelled() and started.exception() is None:
                self.pid = started.result()

    def renew(self) -> None:
        """The process is no more: the next job gets another one."""
        self.round += 1
        self.tasks, self.pid = [], 0
        self.end()

    def end(self) -> None:
        """Cut the line, at whose end the process ends itself, whatever it does."""
        if self._line is not None:
            self._line.close()
            self._line = None
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)
            self._former = [*self._former[-3:], self._executor]
            self._executor = None

    def join(self) -> None:
        """Wait until the processes are gone."""
        for executor in self._former:
            executor.shutdown(wait=True)


_pools: weakref.WeakSet[Pool] = weakref.WeakSet()


def _close_all() -> None:
    """Python ends: it would wait for all that is being computed."""
    for pool in list(_pools):
        pool.shutdown(wait=False)


# before concurrent.futures' own, which waits; those that were registered last are called first
getattr(threading, "_register_atexit", lambda function: None)(_close_all)


def begin(line: Connection) -> None:
    """The first thing that a process does.

    Parameters
    ----------
    line : Connection
        Nothing is ever sent; its other end is closed where the process is to end, and where who has it is no more.
    """
    for number in _of_terminal():
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _of_terminal())
    threading.Thread(target=_wait, args=(line,), daemon=True).start()


def _wait(line: Connection) -> None:
    try:
        line.recv_bytes()
    except (EOFError, OSError):
        os._exit(0)


def ready() -> int:
    """The process id, once the process works."""
    return os.getpid()


@contextmanager
def shielded() -> Iterator[None]:
    """Processes that are started meanwhile hear no terminal until they have begun; this one hears it afterwards.

    Python's own one, which looks after what processes share, never hears its end then: it would print errors.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _of_terminal())
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _of_terminal() -> set[int]:
    """Signals of a terminal, Ctrl-C and its end, which all processes get: who started the others decides."""
    return {getattr(signal, name) for name in ("SIGINT", "SIGHUP") if hasattr(signal, name)}
