"""Which signals ask a training to end: Ctrl-C, SIGTERM, and SIGHUP, the terminal that closes."""

from __future__ import annotations

import signal


def ending_signals() -> tuple[signal.Signals, ...]:
    """Those that a run ends well at; SIGHUP only where there is one and nobody (nohup) has it ignored."""
    found = (signal.SIGINT, signal.SIGTERM)
    hangup: signal.Signals | None = getattr(signal, "SIGHUP", None)  # Windows has none
    if hangup is None or signal.getsignal(hangup) is signal.SIG_IGN:
        return found
    return (*found, hangup)
