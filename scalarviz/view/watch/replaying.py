"""`Replaying`: how fast a recording goes by. No drawing and no clock of its own.

As in a film of the run, its frames are spread over the duration by what there is to see in them (see `pace`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...errors import ScalarvizError
from ...run.core.frame import Past
from ...run.sources.played import Played
from .pace import DURATION, pace
from .playback import RATE, SPEEDS, speed_text


class Replaying:
    """Play, pause and speed of one recording.

    Parameters
    ----------
    source : Played
    duration : float
        Seconds that all of it takes.

    Attributes
    ----------
    running : bool
        Whether time goes on; at the last frame it no longer does.
    limit : int or None
        The step at which it waits, where there is one.
    """

    aim = None

    def __init__(self, source: Played, duration: float = DURATION) -> None:
        self._source, self._duration = source, duration
        self.running = False
        self.limit: int | None = None
        self._speed = SPEEDS.index(1.0)
        self._time = 0.0
        self._past: Past | None = None
        self._table: NDArray[np.int64] = np.zeros(2, np.int64)

    @property
    def speed(self) -> float:
        """1 is the paced normal."""
        return SPEEDS[self._speed]

    @property
    def slowest(self) -> bool:
        """Whether the speed is the least there is: recorded micro-steps are walked through then."""
        return self._speed == 0

    def change_speed(self, by: int) -> None:
        """Go `by` places up or down; 0 is back to normal. There is always a limit: what is left out is not seen."""
        most = len(SPEEDS) - 2
        self._speed = max(0, min(most, self._speed + by)) if by else SPEEDS.index(1.0)

    def toggle(self) -> None:
        """Play, from the first step where it stands at the last one, or pause."""
        if self.running:
            self.stand(None)
            return
        if self._source.place == self._last:
            self._source.stand(0)
        self.play()

    def play(self) -> None:
        """Go on from here."""
        self._follow()
        self.running = self._source.place < self._last
        self._time = self._time_of(self._source.place)

    def resume_here(self) -> None:
        """Set the clock to where the recording stands: somebody else has moved it."""
        self._time = self._time_of(self._source.place)

    def stand(self, step: int | None) -> None:
        """Time stands still; who asks goes to `step` himself."""
        self.running = False

    def again(self) -> None:
        """A recording begins nothing anew."""

    def tick(self, seconds: float) -> bool:
        """`seconds` have passed; returns whether another frame is to be shown."""
        if not self.running:
            return False
        self._follow()
        self._time += min(seconds, 0.25) * self.speed  # a hidden or stalled window does not jump ahead
        at = self._time * RATE
        place = int(np.interp(at, np.arange(len(self._table)), self._table) + 1e-6)
        if self.limit is not None:
            place = min(place, int(np.searchsorted(self._source.steps, self.limit)))
        moved = place != self._source.place
        self._source.stand(place)
        if self._source.place >= self._last:
            self.running = False
        return moved

    def text(self) -> str:
        """How fast it goes, for the HUD."""
        if self.running:
            return "plays" if self.speed == 1 else f"plays, speed {speed_text(self.speed)}"
        paused = "at the end" if self._source.place == self._last and self._last else "paused"
        return paused if self.speed == 1 else f"{paused}, speed {speed_text(self.speed)}"

    @property
    def _last(self) -> int:
        return len(self._source.steps) - 1

    def _time_of(self, place: int) -> float:
        """When a frame is shown, in seconds."""
        return float(np.searchsorted(self._table, place)) / RATE

    def _follow(self) -> None:
        """The frames of another branch, or of one that has grown, are spread anew, and it goes on from where it is."""
        past = self._source.past
        if past is not self._past:
            self._past = past
            try:
                seen = self._source.seen()
            except ScalarvizError:  # a frame cannot be read: who shows it says so
                seen = None
            self._table = pace(self._last, self._duration, RATE, seen, rest=0.0)
            self._time = self._time_of(self._source.place)
