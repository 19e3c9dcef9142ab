"""What a process of a pool does beside its jobs: it begins, says so, and ends with the one that started it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection


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
