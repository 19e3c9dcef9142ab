"""`Pace`: when it is time to look. Looking takes time from the loop that is looked at: it gets a share of it."""

from __future__ import annotations

SHARE = 0.02
"""Of the loop's time that looking and painting take, at most."""
RATE = 30.0
"""Looks a second, at most."""
SLOWEST = 5.0
AT_REST = 0.2
"""The share where there is no loop that waits for it."""
EAGER = 1.5
"""Seconds after a hand was in the picture in which it is looked at as often as it can be."""


class Pace:
    """Looks are `rate` a second, or so many fewer that they take no more than a `share` of the time.

    Parameters
    ----------
    rate : float
        Above 0.
    share : float
        Above 0; 1: as often as `rate` says.
    slowest : float
        Seconds between two looks, at most: however long one takes.
    """

    def __init__(self, rate: float = RATE, share: float = SHARE, slowest: float = SLOWEST) -> None:
        self.rate, self.share, self._slowest = rate, share, slowest
        self._began = self._eager = float("-inf")
        self._spent = 0.0

    def due(self, now: float, *, rests: bool = False) -> bool:
        """Whether somebody should look at `now` (seconds of any clock); `rests`: the loop has ended."""
        passed = now - self._began
        if passed < 1 / self.rate:
            return False
        share = max(self.share, AT_REST) if rests else self.share
        return now < self._eager or passed >= min(self._spent / share, self._slowest)

    def took(self, start: float, end: float) -> None:
        """A look began and ended."""
        self._began, self._spent = start, end - start

    def touched(self, now: float) -> None:
        """A hand was in the picture: for a while it is looked at often."""
        self._eager = now + EAGER
