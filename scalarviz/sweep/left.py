"""How long a sweep goes on: the same estimate and the same words in the terminal and on the wall."""

from __future__ import annotations


class Left:
    """How many seconds are left, by the runs that were done since somebody began to look.

    Parameters
    ----------
    total, before : int
        Runs that there will be, and those that were done then.
    began : float
        Seconds of a clock, then.
    """

    def __init__(self, total: int, before: int, began: float) -> None:
        self._total, self._before, self._began = total, before, began

    def text(self, done: int, now: float) -> str:
        """``3 min left``, by the same clock; empty as long as nothing can be said."""
        since = done - self._before
        if since <= 0 or done >= self._total:
            return ""
        return f"{_time((now - self._began) / since * (self._total - done))} left"


def _time(seconds: float) -> str:
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"
