"""`Pool`: processes of this machine that compute jobs, each over a pipe; a process that dies loses one job.

The processes share only pipes, no semaphore. So nothing is lost if Python's resource tracker, a process too, is killed.
"""

from __future__ import annotations

import atexit
import os
import pickle
import signal
import threading
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, InvalidStateError
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from multiprocessing.reduction import ForkingPickler
from queue import SimpleQueue
from typing import Any, NamedTuple

from ..checks import integer
from ..errors import StateError

AHEAD = 3
"""Jobs to give the pool per process: one is computed, one waits in its pipe, and one is next."""
_SENT = 2
"""Jobs that a process has at a time, so that it never waits."""
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
        self._changed = threading.Condition()
        self._waiting: deque[_Task] = deque()
        self._slots: list[_Slot] = []
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
        with self._changed:
            if self._closed:
                raise StateError(self._closed)
            self._waiting.append(_Task(call, future))
            if len(self._slots) < self.workers:
                slot = _Slot(self._work)
                with suppress(RuntimeError):  # the system has no room for another thread
                    slot.thread.start()
                    self._slots.append(slot)
                if not self._slots:
                    raise StateError(_REFUSED.format("the system allows no more threads"))
            self._changed.notify()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = True) -> None:
        """End all processes at once and cancel unfinished calls."""
        self._close("this pool of processes is closed", StateError("the pool was closed before it finished"))
        for slot in self._slots if wait else ():
            slot.thread.join()

    def _close(self, why: str, error: Exception) -> None:
        with self._changed:
            if self._closed:
                return
            self._closed = why
            left = [*self._waiting, *(task for slot in self._slots for task in slot.tasks)]
            self._waiting.clear()
            for slot in self._slots:
                slot.kill()
            self._changed.notify_all()
        for task in left:
            if not task.future.cancel():
                task.answer(None, error)

    # ---- the thread of each slot

    def _work(self, slot: _Slot) -> None:
        while (call := self._next(slot)) is not None:
            try:
                if not slot.pid:
                    slot.start()
                if call:
                    slot.send(call)
                else:
                    self._received(slot, slot.answer())
            except (EOFError, OSError) as error:
                self._died(slot, error)
        slot.end()

    def _next(self, slot: _Slot) -> bytes | None:
        """Return the next call to send, b"" to wait for an answer, or None at the end.

        No process gets a second job while another one has none.
        """
        with self._changed:
            while not self._closed and slot in self._slots:
                room = len(slot.tasks) < _SENT and (not slot.tasks or all(one.tasks for one in self._slots))
                if room and self._waiting:
                    task = self._waiting.popleft()
                    if task.future.running() or task.future.set_running_or_notify_cancel():
                        slot.tasks.append(task)
                        return task.call
                elif slot.tasks:
                    return b""
                else:
                    self._changed.wait()
        return None

    def _received(self, slot: _Slot, answer: bytes) -> None:
        try:
            result, error = pickle.loads(answer)
        except Exception as unread:  # an error of the class of a result
            result, error = None, unread
        with self._changed:
            task = slot.tasks.pop(0)
            slot.sent -= 1
            self._failed_starts = 0
        task.answer(result, error)

    def _died(self, slot: _Slot, error: Exception) -> None:
        """Fail the job that a dead process had begun, and give its other jobs back; also if no process could start."""
        why, begun, sent = "", slot.pid != 0, slot.sent
        slot.end()
        with self._changed:
            left, slot.tasks = slot.tasks, []
            died, left = left[: sent > 0], left[sent > 0 :]
            if not begun and isinstance(error, OSError) and not isinstance(error, ConnectionError):
                self._slots.remove(slot)
                why = "" if self._slots else _REFUSED.format(error)
            elif not begun:
                self._failed_starts += 1
                why = _NO_START if self._failed_starts >= _STARTS * self.workers else ""
            self._waiting.extendleft(reversed(left))
            self._changed.notify(len(left))
        for task in died:
            task.answer(None, WorkerDiedError(_DIED))
        if why:
            self._close(why, StateError(why))


class _Task(NamedTuple):
    """A pickled call, and the future of its result."""

    call: bytes
    future: Future[Any]

    def answer(self, result: Any, error: BaseException | None) -> None:
        """Answer the caller, unless the pool was closed meanwhile."""
        with suppress(InvalidStateError):
            if error is None:
                self.future.set_result(result)
            else:
                self.future.set_exception(error)


class _Slot:
    """A sequence of processes, one at a time: the tasks of the current one, and how many of them were sent."""

    def __init__(self, work: Callable[[_Slot], None]) -> None:
        self.thread = threading.Thread(target=work, args=(self,), daemon=True)
        self.tasks: list[_Task] = []
        self.sent = self.pid = 0
        self._pipes: tuple[Connection, Connection] | None = None
        self._process: SpawnProcess | None = None

    def start(self) -> None:
        """Start a process and wait until it works; EOFError or OSError if it does not."""
        context = get_context("spawn")
        (calls, to), (back, answers) = context.Pipe(duplex=False), context.Pipe(duplex=False)
        self._pipes = to, back
        process = context.Process(target=work, args=(calls, answers))
        with calls, answers, _starting, warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a killed tracker warns that names may leak; there are none
            with shielded():
                if os.name == "posix":
                    resource_tracker.ensure_running()  # its first start unblocks Ctrl-C
            with shielded():
                process.start()
        self._process = process
        self.answer()
        self.pid = process.pid or 0

    def send(self, call: bytes) -> None:
        """Send the process a call; OSError if it has ended."""
        assert self._pipes is not None
        self._pipes[0].send_bytes(call)
        self.sent += 1

    def answer(self) -> bytes:
        """Wait for the next answer of the process; EOFError or OSError if it has ended."""
        assert self._pipes is not None
        return self._pipes[1].recv_bytes()

    def kill(self) -> None:
        """Kill the process; its thread notices."""
        if (process := self._process) is not None:
            process.kill()

    def end(self) -> None:
        """Kill the process, if it still runs, and close its pipes."""
        self.kill()
        if self._process is not None:
            self._process.join()
        for pipe in self._pipes or ():
            pipe.close()
        self._pipes = self._process = None
        self.sent = self.pid = 0


_starting = threading.Lock()
_pools: weakref.WeakSet[Pool] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Close all pools at exit; otherwise multiprocessing would wait for running jobs."""
    for pool in list(_pools):
        pool.shutdown(wait=False)


def work(calls: Connection, answers: Connection) -> None:
    """Main loop of a process: answer calls until their pipe closes or its other end is gone."""
    for number in _of_terminal():
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _of_terminal())
    given: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_listen, args=(calls, given.put), daemon=True).start()
    answer = b"ready"
    while True:
        try:
            answers.send_bytes(answer)
        except OSError:
            os._exit(0)
        answer = _answer(given.get())


def _listen(calls: Connection, heard: Callable[[bytes], None]) -> None:
    try:
        while True:
            heard(calls.recv_bytes())
    except (EOFError, OSError):
        os._exit(0)


def _answer(call: bytes) -> bytes:
    """Return the result of a call, or its error, pickled."""
    try:
        return bytes(ForkingPickler.dumps((pickle.loads(call)(), None)))
    except BaseException as error:
        try:
            return bytes(ForkingPickler.dumps((None, error)))
        except Exception:
            return pickle.dumps((None, StateError(f"{type(error).__name__}: {error}")))


@contextmanager
def shielded() -> Iterator[None]:
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
