"""`Pool`: processes of this machine that compute jobs, each over a pipe; a process that dies loses one job.

The processes share only pipes, no semaphore. So nothing is lost if Python's resource tracker, a process too, is killed.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import pickle
import signal
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, InvalidStateError
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from multiprocessing.reduction import ForkingPickler
from queue import Empty, SimpleQueue
from typing import Any

from ..checks import integer
from ..errors import StateError

AHEAD = 2
"""Jobs to give the pool per process: one is computed, and one waits for the first process that is free."""
_STARTS = 3
"""Failed starts in a row, per process of the pool, before the pool gives up."""
_NO_START = (
    "the processes of the sweep end before they start to work; in a script, call sweep under "
    'if __name__ == "__main__":, or use workers=0 to compute in this process'
)
_REFUSED = "the sweep cannot start a process: {}; in Python, use workers=0 to compute in this process"
_DIED = "its process ended early: it was killed, crashed, or ran out of memory"


class WorkerDiedError(StateError):
    """The process of a job ended before the job was done: it was killed, or crashed."""


class Pool(Executor):
    """An executor that spawns its processes when jobs arrive."""

    def __init__(self, workers: int) -> None:
        self.workers = integer("Pool: workers", workers, 1, 1024)
        self._lock = threading.Lock()
        self._waiting = SimpleQueue[tuple[bytes, Future[Any]] | None]()
        self._slots = list[_Slot]()
        self._failed_starts = 0
        self._closed = ""
        _pools.add(self)

    def submit(self, function: Callable[..., Any], /, *args: Any, **named: Any) -> Future[Any]:
        """Return the future of a call in a process; `WorkerDiedError` if that dies. StateError: the pool is closed."""
        future: Future[Any] = Future()
        try:
            call = bytes(ForkingPickler.dumps(partial(function, *args, **named)))
        except Exception as error:
            future.set_exception(error)
            return future
        with self._lock:
            if self._closed:
                raise StateError(self._closed)
            self._waiting.put((call, future))
            if len(self._slots) < self.workers:
                slot = _Slot(self._work)
                slot.thread.start()
                self._slots.append(slot)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = True) -> None:
        """End all processes at once and cancel unfinished calls."""
        self._close("the pool of processes was closed")
        for slot in self._slots if wait else ():
            slot.thread.join()

    def _close(self, why: str) -> None:
        with self._lock:
            self._closed = self._closed or why
            for slot in self._slots:
                slot.kill()
        with suppress(Empty):
            while True:  # also calls behind the ends of an earlier close
                if (task := self._waiting.get_nowait()) and not task[1].cancel():
                    _answer(task[1], None, StateError(self._closed))
        for _ in self._slots:
            self._waiting.put(None)

    def _work(self, slot: _Slot) -> None:
        """Compute calls in one process after another, in the thread of a slot."""
        while (task := self._waiting.get()) is not None:
            call, future = task
            if not (future.running() or future.set_running_or_notify_cancel()):
                continue
            try:
                self._start(slot)
            except OSError as error:  # the system refuses one more process; another slot computes the call
                self._waiting.put(task)
                with self._lock:
                    self._slots.remove(slot)
                if self._closed or not self._slots:
                    self._close(_REFUSED.format(error))
                return
            if self._closed:  # while the process started
                slot.end()
            result, wrong = slot.computed(call)
            _answer(future, result, StateError(self._closed) if self._closed and wrong else wrong)
        slot.end()

    def _start(self, slot: _Slot) -> None:
        while not self._closed and not slot.works():
            try:
                slot.start()
                self._failed_starts = 0
            except (EOFError, ConnectionError):
                self._failed_starts += 1
                if self._failed_starts >= _STARTS * self.workers:
                    self._close(_NO_START)


def _answer(future: Future[Any], result: Any, error: BaseException | None) -> None:
    """Answer the caller, unless that was done when the pool was closed."""
    with suppress(InvalidStateError):
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)


class _Slot:
    """A sequence of processes, one at a time, and the thread that gives them calls."""

    def __init__(self, work: Callable[[_Slot], None]) -> None:
        self.thread = threading.Thread(target=work, args=(self,), daemon=True)
        self._pipes: tuple[Connection, ...] = ()
        self._process: SpawnProcess | None = None

    def works(self) -> bool:
        return self._process is not None and self._process.is_alive()

    def start(self) -> None:
        """Start a process and wait until it works; EOFError or OSError if it does not."""
        self.end()
        context = multiprocessing.get_context("spawn")
        (calls, to), (back, answers) = context.Pipe(duplex=False), context.Pipe(duplex=False)
        self._pipes = to, back
        process = context.Process(target=work, args=(calls, answers))
        with calls, answers, _starting, warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a killed tracker warns that names may leak; there are none
            with _shielded():
                if os.name == "posix":
                    resource_tracker.ensure_running()  # its first start unblocks Ctrl-C
            with _shielded():
                process.start()
        self._process = process
        back.recv_bytes()

    def computed(self, call: bytes) -> tuple[Any, BaseException | None]:
        """Send the process a call; return its result or error."""
        try:
            to, back = self._pipes
            to.send_bytes(call)
            result, error = pickle.loads(back.recv_bytes())
        except (EOFError, OSError):
            self.end()
            return None, WorkerDiedError(_DIED)
        except Exception as error:  # the class of a result raises it
            return None, error
        return result, error

    def kill(self) -> None:
        """Kill the process; its thread notices."""
        if (process := self._process) is not None:
            process.kill()

    def end(self) -> None:
        """Kill the process, if it still runs, and close its pipes."""
        self.kill()
        if self._process is not None:
            self._process.join()
        for pipe in self._pipes:
            pipe.close()
        self._pipes, self._process = (), None


_starting = threading.Lock()
_pools: weakref.WeakSet[Pool] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Close all pools at exit; otherwise multiprocessing would wait for running jobs."""
    for pool in list(_pools):
        pool.shutdown(wait=False)


def work(calls: Connection, answers: Connection) -> None:
    """Main loop of a process: answer calls until the parent closes the pipes or ends."""
    for number in _of_terminal():
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _of_terminal())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    answer = b"ready"
    with suppress(EOFError, OSError):
        while True:
            answers.send_bytes(answer)
            answer = _computed(calls.recv_bytes())
    os._exit(0)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(0)


def _computed(call: bytes) -> bytes:
    """Return the result of a call, or its error, pickled."""
    try:
        return bytes(ForkingPickler.dumps((pickle.loads(call)(), None)))
    except BaseException as error:
        try:
            return bytes(ForkingPickler.dumps((None, error)))
        except Exception:
            return pickle.dumps((None, StateError(f"{type(error).__name__}: {error}")))


@contextmanager
def _shielded() -> Iterator[None]:
    """Block terminal signals for processes that this thread starts in the block.

    Python's resource tracker then never sees a hang-up, which would make it print errors.
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
    """Return the signals that a terminal sends to all processes: Ctrl-C and hang-up. Only the parent answers them."""
    return {getattr(signal, name) for name in ("SIGINT", "SIGHUP") if hasattr(signal, name)}
