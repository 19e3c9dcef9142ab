"""Which signals ask a training to end: Ctrl-C, SIGTERM, and SIGHUP, the terminal that closes; and how Ctrl-C waits."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any, Self

try:  # what Python's own module wraps: its look-up of enumerations costs more than a small training step
    import _signal as plain  # type: ignore[import-not-found, unused-ignore]
except ImportError:  # another Python
    plain = signal

_INTERRUPT = int(signal.SIGINT)


def ending_signals() -> tuple[signal.Signals, ...]:
    """Those that a run ends well at; SIGHUP only where there is one and nobody (nohup) has it ignored."""
    found = (signal.SIGINT, signal.SIGTERM)
    hangup: signal.Signals | None = getattr(signal, "SIGHUP", None)  # Windows has none
    if hangup is None or signal.getsignal(hangup) is signal.SIG_IGN:
        return found
    return (*found, hangup)


class DelayedInterrupt:
    """While the block runs, Ctrl-C waits for its end: what the block changes belongs together.

    Outside of the main thread nothing is done: no signal arrives there. Of blocks in one another the innermost says
    whether Ctrl-C waits; what waited for its end waits for that of the others too.

    `waits`: False while Ctrl-C may come at once all the same.
    """

    __slots__ = ("_former", "_noted", "_outermost", "waits")

    def __init__(self) -> None:
        self.waits = True
        self._former: Any = None
        self._outermost: Any = None  # what there was before all blocks
        self._noted: tuple[int, FrameType | None] | None = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            former = plain.getsignal(_INTERRUPT)
            if callable(former):  # neither ignored nor the system's own
                outer = getattr(former, "__self__", None)
                self._former, self._outermost = (
                    former,
                    outer._outermost if isinstance(outer, DelayedInterrupt) else former,
                )
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
