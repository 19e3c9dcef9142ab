"""Ctrl-C, SIGTERM and SIGHUP end a run after the current step; its files are still written."""

from __future__ import annotations

import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType
from typing import Any, Self

from ..run.core.interrupts import ending_signals

AGAIN = 0.1  # seconds until a signal that arrives before the window listens is sent again


class StopSignals:
    """Catches signals during a run; a context manager.

    The first signal is only noted. The second one interrupts, but neither a step (see :meth:`protect_step`) nor the
    writing of weights (see :meth:`protect_writing`). The third one also interrupts a step; then `cut` says that the
    weights belong to no step. Outside the main thread nothing is caught, because signals do not arrive there.
    """

    def __init__(self) -> None:
        self.number = 0
        self.cut = False
        self._count = 0
        self._patience = 1  # number of signals that are only noted
        self._former: dict[int, Any] = {}
        self._window_opens = False
        self._again: threading.Timer | None = None

    def __bool__(self) -> bool:
        """Whether a signal arrived."""
        return self.number != 0

    @property
    def code(self) -> int:
        """Exit code that a shell expects: 130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP; 0 without a signal."""
        return 128 + self.number if self.number else 0

    @property
    def word(self) -> str:
        """Word for the end of the run in messages."""
        return "interrupted" if self.number == signal.SIGINT else "terminated"

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in ending_signals():
                self._former[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, former in self._former.items():
            signal.signal(number, former)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.number = number
        self._count += 1
        if self._window_opens:  # an exception would get lost in Qt's callbacks
            self._again = threading.Timer(AGAIN, signal.raise_signal, [number])
            self._again.daemon = True
            self._again.start()
        elif self._count > self._patience:
            raise KeyboardInterrupt

    @contextmanager
    def protect_step(self) -> Iterator[None]:
        """Put the second signal off until the end of the block, a training step; the third one cuts it."""
        try:
            with self._patient(2):
                yield
        except KeyboardInterrupt:
            self.cut = True
            raise
        if self._count > self._patience:
            raise KeyboardInterrupt

    def interrupt_at_once(self) -> AbstractContextManager[None]:
        """Let the first signal interrupt the block, which loses nothing by it."""
        return self._patient(0)

    def protect_writing(self) -> AbstractContextManager[None]:
        """Let no signal interrupt the block, which writes the weights."""
        return self._patient(sys.maxsize)

    @contextmanager
    def _patient(self, patience: int) -> Iterator[None]:
        former, self._patience = self._patience, patience
        try:
            yield
        finally:
            self._patience = former

    @contextmanager
    def while_window_open(self) -> Iterator[None]:
        """Note the signal that arrives while a window with its own handlers is open.

        A signal that arrives before the window listens is sent again until it does.
        """
        if not self._former:
            yield
            return
        reader, writer = socket.socketpair()
        reader.setblocking(False)
        writer.setblocking(False)
        before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        self._window_opens = True
        try:
            yield
        finally:
            self._window_opens = False
            if self._again is not None:
                self._again.cancel()
            signal.set_wakeup_fd(before)
            self.number = self.number or next((n for n in _received(reader) if n in self._former), 0)
            reader.close()
            writer.close()


def _received(reader: socket.socket) -> bytes:
    try:
        return reader.recv(4096)
    except BlockingIOError:
        return b""
