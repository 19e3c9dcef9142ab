"""Signals that end a training (Ctrl-C, SIGTERM, and SIGHUP of a closed terminal), and delays of Ctrl-C."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any, Self

try:  # the C module: the look-up of enumerations in Python's own costs more than a small training step
    import _signal as plain  # type: ignore[import-not-found, unused-ignore]
except ImportError:  # another Python
    plain = signal

_INTERRUPT = int(signal.SIGINT)


def ending_signals() -> tuple[signal.Signals, ...]:
    """Return the signals that end a run cleanly; SIGHUP only if it exists and is not ignored (nohup)."""
    found = (signal.SIGINT, signal.SIGTERM)
    hangup: signal.Signals | None = getattr(signal, "SIGHUP", None)  # Windows has none
    if hangup is None or signal.getsignal(hangup) is signal.SIG_IGN:
        return found
    return (*found, hangup)


class DelayedInterrupt:
    """Delays Ctrl-C until the end of the block, whose changes belong together.

    Outside the main thread it does nothing, because no signal arrives there. In nested blocks the innermost decides
    whether Ctrl-C waits; at its end, the signal also waits for the outer ones.

    `waits`: False to let Ctrl-C through at once.
    """

    __slots__ = ("_former", "_noted", "_outermost", "waits")

    def __init__(self) -> None:
        self.waits = True
        self._former: Any = None
        self._outermost: Any = None  # the handler before all blocks
        self._noted: tuple[int, FrameType | None] | None = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            former = plain.getsignal(_INTERRUPT)
            if callable(former):  # neither ignored nor the system's default
                outer = getattr(former, "__self__", None)
                self._former = former
                self._outermost = outer._outermost if isinstance(outer, DelayedInterrupt) else former
                plain.signal(_INTERRUPT, self._on_interrupt)
        return self

    def __exit__(self, *_: object) -> None:
        if self._former is not None:
            plain.signal(_INTERRUPT, self._former)
        noted, self._noted = self._noted, None  # its frame holds this object
        if noted is not None:
            self._former(*noted)

    def _on_interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.waits:
            self._noted = number, frame
        else:
            self._outermost(number, frame)
