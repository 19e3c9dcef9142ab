"""What ends a window from outside: the signals that end a process."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType
from typing import Any

from ...run.core.interrupts import ending_signals


class signals:
    """Ctrl-C, SIGTERM and SIGHUP call `stop` while the block runs (only in the main thread, where signals arrive)."""

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self._former: dict[int, Any] = {}

    def __enter__(self) -> None:
        def handle(number: int, frame: FrameType | None) -> None:
            self._stop()

        for number in ending_signals():
            try:
                self._former[number] = signal.signal(number, handle)
            except ValueError:
                return

    def __exit__(self, *_: object) -> None:
        for number, former in self._former.items():
            signal.signal(number, former)
