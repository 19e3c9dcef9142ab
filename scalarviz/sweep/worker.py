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
    for name in ("SIGINT", "SIGTERM"):  # of a terminal, which all get: who started this one decides
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN if name == "SIGINT" else signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
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
    """Processes that are started meanwhile hear no Ctrl-C until they have begun; this one hears it afterwards."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
