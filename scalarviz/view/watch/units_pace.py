"""How often a window finds out which units are dead: always at rest, and else as often as it may cost."""

from __future__ import annotations

import time
from collections.abc import Callable

from ...run.core.frame import Frame
from ...run.core.reading import Units

SHARE = 0.02
"""Of the time, for finding them while steps go on: a thirtieth of a second holds at most 0.7 ms of it on average."""


class UnitsPace:
    """Gives frames the units of an earlier one where finding their own would take too long.

    Parameters
    ----------
    clock : callable
        Seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._last: Units | None = None
        self._network: object = None
        self._next = 0.0

    def shown(self, frame: Frame, *, rests: bool) -> Frame:
        """The frame as it is to be drawn; `rests`: nothing trains, there is time."""
        own, last = frame.units, self._last
        if own is None or own is last:
            return frame
        if not (rests or last is None or frame.forward is not self._network) and self._clock() < self._next:
            return frame.with_units(last)
        own.found()
        first = frame.forward is not self._network  # it was made ready for its first samples: that says nothing
        self._last, self._network = own, frame.forward
        self._next = self._clock() + (0.0 if first else own.seconds / SHARE)
        return frame
