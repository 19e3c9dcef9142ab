"""`Playback`: how fast a window lets its run go on. No drawing and no clock of its own.

A small net does 100,000 steps a second; without a pace the demo would be over in one frame. As in a film, the run
fills its duration with what there is to see, or grows from one step a frame where that is not known (see `pace`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol

import numpy as np

from ...run.sources.played import Rehearsal
from ...run.worker import Worker
from .pace import DURATION, pace

RATE = 60
"""Frames a second that the pace counts on."""

SPEEDS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, float("inf"))
NO_LIMIT = 1 << 62


def speed_text(speed: float) -> str:
    """``4x``, ``1/8x``, ``without limit``."""
    if speed == float("inf"):
        return "without limit"
    return f"{speed:g}x" if speed >= 1 else f"1/{1 / speed:g}x"


class Playback:
    """Run, pause, single steps and speed of one worker.

    Parameters
    ----------
    worker : Worker
    steps : int
        Steps from now to the end; the run pauses there, and a second run goes on without an end.
    duration : float
        Seconds that the paced run takes.
    rehearsal : Rehearsal, optional
        What these steps will do: then the pace follows what there is to see.
    steady : int, optional
        Steps of each frame after the first two seconds, instead of a duration.

    Attributes
    ----------
    limit : int or None
        The step at which it waits, where there is one.
    running : bool
        Whether time goes on. A pause at the end, or because of an error, clears it.
    """

    def __init__(
        self,
        worker: Worker,
        steps: int,
        duration: float = DURATION,
        rehearsal: Rehearsal | None = None,
        steady: int | None = None,
    ) -> None:
        self.worker = worker
        self.running = self._held = False
        self.limit: int | None = None
        self._steps = steps
        self.end = worker.run.steps + steps
        self._former: int | None = None
        self._first = worker.run.steps
        self._table = pace(steps, duration, RATE, rehearsal, rest=0.0, steady=steady)
        self._speed = SPEEDS.index(1.0)
        self._time = 0.0
        self._target = self._first
        self._last_rate = steady or max(1, int(self._table[-1] - self._table[-2]))

    @property
    def speed(self) -> float:
        """1 is the paced normal, infinity no limit."""
        return SPEEDS[self._speed]

    @property
    def slowest(self) -> bool:
        """Whether the speed is the least there is: steps are opened then."""
        return self._speed == 0

    def change_speed(self, by: int) -> None:
        """Go `by` places up or down in `SPEEDS`; 0 is back to normal."""
        self._speed = max(0, min(len(SPEEDS) - 1, self._speed + by)) if by else SPEEDS.index(1.0)
        self.resume_here()

    def toggle(self) -> None:
        """Run if paused, pause if running."""
        if self.running:
            self.pause()
        else:
            self.play()

    def play(self) -> None:
        """Go on from here; past the end without one."""
        if self.worker.run.steps >= self.end:
            self.end = NO_LIMIT
        self.running = True
        self.worker.resume()
        self.resume_here()

    def play_to(self, step: int) -> None:
        """Go on from here to `step`, whatever the end is; see :meth:`end_as_before`."""
        if self._former is None:
            self._former = self.end
        self.end = step
        self.play()

    def end_as_before(self) -> None:
        """Stop; the end is again the one from before :meth:`play_to`."""
        self.pause()
        if self._former is not None:
            self.end, self._former = self._former, None

    def pause(self) -> None:
        """Stop at the next boundary of a step."""
        self._stand()
        self.worker.pause()

    @property
    def aim(self) -> int | None:
        """The step that was asked for by hand and is not reached yet."""
        return self._target if not self.running and self.worker.busy else None

    def stand(self, step: int | None) -> None:
        """Time stands still: it goes on from `step` (None: from where the run stands then)."""
        self.pause()
        if step is not None:
            self._target = step

    def again(self) -> None:
        """The run begins anew, and pauses where it first did."""
        self.end, self._former = self._first + self._steps, None

    def _stand(self) -> None:
        """Time stands still; the step that it would have come to is nobody's aim any more."""
        self.running = False
        self._target = self.worker.run.steps

    def hold(self) -> None:
        """Wait at the next boundary of a step, without a pause: a hand holds a weight."""
        self._held = True
        if self.running:
            self.worker.pause()

    def release(self) -> None:
        """Go on after :meth:`hold`."""
        self._held = False
        if self.running:
            self.resume_here()

    def step(self, count: int, *, on_the_way: bool = False) -> None:
        """`count` steps by hand; pauses first. While the run is `on_the_way` to another step they follow that."""
        if self.running:
            self.pause()
        if self.worker.stopped is not None:
            self._target = self.worker.run.steps
        self.worker.resume()
        self._target = (self._target if on_the_way else max(self._target, self.worker.run.steps)) + count
        self.worker.train_to(self._target)

    def tick(self, seconds: float) -> None:
        """`seconds` have passed on the viewer's clock: let the worker train to where it should be now."""
        if self.running and (self.worker.error is not None or self.worker.stopped is not None):
            self._stand()
        if not self.running or self._held:
            return
        if self.worker.run.steps >= self.end:
            self.pause()
            return
        if self.speed == float("inf"):
            self._target = self.end
        else:
            self._time += min(seconds, 0.25) * self.speed  # a hidden or stalled window does not jump ahead
            self._target = max(self._target, min(self.end, int(self._paced(self._time) + 1e-6)))
        if self.limit is not None:
            self._target = min(self._target, self.limit)
        self.worker.train_to(self._target)

    def text(self) -> str:
        """How fast it goes, for the HUD."""
        if self.worker.error is not None:
            return "stopped"
        if not self.running:
            paused = "paused at the end" if self.worker.run.steps >= self.end else "paused"
            paused = "paused at a breakpoint" if self.worker.stopped is not None else paused
            return paused if self.speed == 1 else f"{paused}, speed {speed_text(self.speed)}"
        if self.speed == float("inf"):
            return "pace full"
        start, end = max(0.0, self._time - 0.25), self._time + 0.25  # half a second: the table is of whole steps
        done, one = self._paced(end) - self._paced(start), self.speed / ((end - start) * RATE)
        if done < 0.99:  # not even one step in that time
            return f"pace below {one:.2g} steps a frame"
        rate = done * one
        if rate < 0.95:
            return f"pace {rate:.2g} steps a frame"
        return f"pace {rate:,.0f} step{'s' if round(rate) > 1 else ''} a frame"

    def _paced(self, seconds: float) -> float:
        """Absolute step, with a fraction, at a time of the paced run; after its end at the last rate."""
        position = seconds * RATE
        last = len(self._table) - 1
        if position <= last:
            return self._first + float(np.interp(position, np.arange(last + 1), self._table))
        return self._first + float(self._table[-1]) + (position - last) * self._last_rate

    def resume_here(self) -> None:
        """Set the clock to the step where the run stands: what could not be kept up with is not made good."""
        done = self.worker.run.steps - self._first
        last = len(self._table) - 1
        if done <= self._table[-1]:
            # the last frame that shows this step, so that no time is waited twice
            self._time = float(np.searchsorted(self._table, done, side="right") - 1) / RATE
        else:
            self._time = (last + (done - int(self._table[-1])) / self._last_rate) / RATE
        self._target = self.worker.run.steps


# ---- `SpeedKeys`: slower, faster and back to normal, of whatever plays in a picture.


class HasSpeed(Protocol):
    """What plays."""

    @property
    def speed(self) -> float:
        """1 is the paced normal."""
        ...

    def change_speed(self, by: int) -> None:
        """Go `by` places up or down; 0 is back to normal."""
        ...


class SpeedKeys:
    """The three actions.

    Parameters
    ----------
    playback : HasSpeed
    say : callable
        Shows a line of news: that there is no speed beyond this one.

    Attributes
    ----------
    handlers : dict of str to callable
    """

    def __init__(self, playback: HasSpeed, say: Callable[[str], None]) -> None:
        self._playback, self._say = playback, say
        places = {"slower": -1, "faster": +1, "normal_speed": 0}
        self.handlers: dict[str, Callable[..., None]] = {name: partial(self._go, by) for name, by in places.items()}

    def _go(self, by: int) -> None:
        before = self._playback.speed
        self._playback.change_speed(by)
        if self._playback.speed == before:
            self._say(f"the speed is {speed_text(before)} already")
