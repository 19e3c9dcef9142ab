"""How fast time goes on in a window, of a run and of a recording. No drawing and no clock of its own.

A small net does 100,000 steps a second; without a pace the demo would be over in one frame. As in a film, its duration
is filled with what there is to see, or grows from one step a frame where that is not known (see `pace`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...errors import ScalarvizError
from ...run.core.frame import Past
from ...run.source import Source
from ...run.sources.played import Played, Rehearsal
from ...run.worker import Worker
from .pace import DURATION, pace

RATE = 60
"""Frames a second that the pace counts on."""

SPEEDS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, float("inf"))
NO_LIMIT = 1 << 62
_LONGEST_TICK = 0.25  # a hidden or stalled window does not jump ahead


def speed_text(speed: float) -> str:
    """``4x``, ``1/8x``, ``without limit``."""
    if speed == float("inf"):
        return "without limit"
    return f"{speed:g}x" if speed >= 1 else f"1/{1 / speed:g}x"


class Guide:
    """A source that goes at once, while one waits, asked as a worker is."""

    journey = error = stopped = None
    moving = busy = False
    remark = ""

    def __init__(self, source: Source) -> None:
        self.source = source

    def travel(self, step: int, *, nearest: bool = False) -> None:
        """Go there."""
        first, newest = self.source.span
        self.source.to(min(max(step, first), newest))

    def give_up(self) -> None:
        """It has arrived."""


class Pacing:
    """Whether time goes on, and how fast; `guide` goes to other steps, and is asked.

    A recording plays, and all of it takes `duration` seconds. There is always a limit to its speed: what is left out is
    not seen. What somebody else changes stands still.
    """

    most = len(SPEEDS) - 2
    loop: tuple[int, int] | None = None  # first and last step of what is played round and round

    def __init__(self, guide: Guide | Worker, duration: float = DURATION) -> None:
        source = guide.source if isinstance(guide, Guide) else None
        self.guide, self._duration = guide, duration
        self._played = source if isinstance(source, Played) else None
        self._past: Past | None = None
        self._table: NDArray[np.int64] = np.zeros(2, np.int64)  # the place, or the step, of each frame
        self.running = False
        self._speed = SPEEDS.index(1.0)
        self._time = 0.0

    @property
    def speed(self) -> float:
        """1 is the paced normal, infinity no limit."""
        return SPEEDS[self._speed]

    @property
    def slowest(self) -> bool:
        """Whether the speed is the least there is: steps are opened then."""
        return self._speed == 0

    @property
    def here(self) -> int:
        """The step where it stands."""
        return 0 if self._played is None else int(self._played.steps[self._played.place])

    @property
    def at_end(self) -> bool:
        """Whether it stands at the last step to which it plays."""
        return self._played is None or self._played.place == len(self._played.steps) - 1

    @property
    def aim(self) -> int | None:
        """The step that was asked for by hand and is not reached yet."""
        return None

    def change_speed(self, by: int) -> None:
        """Go `by` places up or down in `SPEEDS`; 0 is back to normal."""
        self._speed = max(0, min(self.most, self._speed + by)) if by else SPEEDS.index(1.0)

    def toggle(self) -> None:
        """Go on if paused, a recording that stands at its last step from the first; pause if running."""
        if self.running:
            self.pause()
            return
        if self._played is not None and self.at_end:
            self._played.stand(0)
        self.play()

    def play(self) -> None:
        """Go on from here."""
        self._follow()
        self.running = not self.at_end
        self.resume_here()

    def pause(self) -> None:
        """Stand still."""
        self.running = False

    def stand(self, step: int) -> None:
        """Stand still; it goes on from `step`."""
        self.pause()

    def again(self) -> None:
        """It begins anew, and pauses where it first did."""

    def reach(self, step: int) -> None:
        """Go on to `step`, or the first recorded one after it, and no further."""
        if self._played is not None:
            self._played.stand(int(np.searchsorted(self._played.steps, step)))

    def resume_here(self) -> None:
        """Set the clock to the first moment at which the frame is shown that is shown now."""
        if self._played is not None:
            self._time = float(np.searchsorted(self._table, self._played.place)) / RATE

    def hold(self) -> None:
        """Wait, without a pause, until :meth:`release`: a hand holds a weight."""

    def release(self) -> None:
        """Go on after :meth:`hold`."""

    def tick(self, seconds: float) -> None:
        """`seconds` have passed on the viewer's clock: the frame that should be shown now is."""
        if not self.running or self._played is None:
            return
        self._follow()
        self._time += min(seconds, _LONGEST_TICK) * self.speed
        self._played.stand(int(np.interp(self._time * RATE, np.arange(len(self._table)), self._table) + 1e-6))
        self.running = not self.at_end

    def text(self) -> str:
        """How fast it goes, for the HUD."""
        at_end = self.at_end and self._played is not None and len(self._played.steps) > 1
        return self._with_speed("plays" if self.running else "at the end" if at_end else "paused")

    def _with_speed(self, words: str) -> str:
        return words if self.speed == 1 else f"{words}, speed {speed_text(self.speed)}"

    def _follow(self) -> None:
        """Spread the frames of another branch, or of one that has grown, anew, from where it is."""
        played = self._played
        if played is None or played.past is self._past:
            return
        self._past = played.past
        try:
            seen = played.seen()
        except ScalarvizError:  # a frame cannot be read: who shows it says so
            seen = None
        self._table = pace(len(played.steps) - 1, self._duration, RATE, seen, rest=0.0)
        self.resume_here()


class Playback(Pacing):
    """Run, pause, single steps and speed of one worker.

    It pauses at `end`, `steps` from now, and goes on without one after that. The paced run takes `duration` seconds,
    spread by what there is to see where a `rehearsal` says that; or it does `steady` steps a frame after the first two
    seconds.
    """

    most = len(SPEEDS) - 1

    def __init__(
        self,
        worker: Worker,
        steps: int,
        duration: float = DURATION,
        rehearsal: Rehearsal | None = None,
        steady: int | None = None,
    ) -> None:
        super().__init__(worker)
        self.worker, self._held, self._steps = worker, False, steps
        self._first = self._target = self.here
        self.end = self._first + steps
        self._table = pace(steps, duration, RATE, rehearsal, rest=0.0, steady=steady)
        self._last_rate = steady or max(1, int(self._table[-1] - self._table[-2]))

    @property
    def here(self) -> int:
        """The step where the run stands."""
        return self.worker.run.steps

    @property
    def at_end(self) -> bool:
        """Whether the run has come to where it pauses."""
        return self.here >= self.end

    def change_speed(self, by: int) -> None:
        """Go `by` places up or down in `SPEEDS`; 0 is back to normal."""
        super().change_speed(by)
        self.resume_here()

    def play(self) -> None:
        """Go on from here; past the end without one."""
        if self.at_end:
            self.end = NO_LIMIT
        self.running = True
        self.worker.resume()
        self.resume_here()

    def pause(self) -> None:
        """Stop at the next boundary of a step."""
        self._stand()
        self.worker.pause()

    @property
    def aim(self) -> int | None:
        """The step that was asked for by hand and is not reached yet."""
        return self._target if not self.running and self.worker.busy else None

    def stand(self, step: int) -> None:
        """Time stands still: it goes on from `step`."""
        self.pause()
        self._target = step

    def again(self) -> None:
        """The run begins anew, and pauses where it first did."""
        self.end = self._first + self._steps

    def reach(self, step: int) -> None:
        """Let the worker do the steps up to `step`, also those after a breakpoint."""
        self.worker.resume()
        self.worker.train_to(step)

    def _stand(self) -> None:
        """Time stands still; the step that it would have come to is nobody's aim any more."""
        self.running = False
        self._target = self.here

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
            self._target = self.here
        self.worker.resume()
        self._target = (self._target if on_the_way else max(self._target, self.here)) + count
        self.worker.train_to(self._target)

    def tick(self, seconds: float) -> None:
        """`seconds` have passed on the viewer's clock: let the worker train to where it should be now."""
        if self.running and (self.worker.error is not None or self.worker.stopped is not None):
            self._stand()
        if not self.running or self._held:
            return
        if self.at_end:
            self.pause()
            return
        if self.speed == float("inf"):
            self._target = self.end
        else:
            self._time += min(seconds, _LONGEST_TICK) * self.speed
            self._target = max(self._target, min(self.end, int(self._paced(self._time) + 1e-6)))
        if self.loop is not None:
            self._target = min(self._target, self.loop[1])
        self.worker.train_to(self._target)

    def text(self) -> str:
        """How fast it goes, for the HUD."""
        if self.worker.error is not None:
            return "stopped"
        if not self.running:
            paused = "paused at the end" if self.at_end else "paused"
            return self._with_speed("paused at a breakpoint" if self.worker.stopped is not None else paused)
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
        done = self.here - self._first
        last = len(self._table) - 1
        if done <= self._table[-1]:
            # the last frame that shows this step, so that no time is waited twice
            self._time = float(np.searchsorted(self._table, done, side="right") - 1) / RATE
        else:
            self._time = (last + (done - int(self._table[-1])) / self._last_rate) / RATE
        self._target = self.here
