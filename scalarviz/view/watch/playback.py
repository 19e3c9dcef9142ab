"""How fast time goes on in a window, of a run and of a recording. No drawing and no clock of its own.

A small net does 100,000 steps a second; without a pace the demo would be over in one frame. As in a film, its duration
is filled with what there is to see, or grows from one step a frame where that is not known (see `pace`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...checks import integer
from ...errors import InputError, ScalarvizError
from ...run.core.frame import Past
from ...run.source import Source
from ...run.sources.played import Played, Rehearsal
from ...run.worker import Worker
from ...scalar.single import as_number

SLOW_SECONDS = 2.0
DURATION = 20.0
FPS = 30
REST = 0.06
"""Share of a film that stands at its last step, to be looked at."""
LOSS, WAY = 0.6, 0.2
"""How much of a film is given to the fall of the loss, and to the way of the weights; the rest goes by steps alone."""
_MOST = 10**6  # frames
EVENLY = 30
"""Steps below which each is shown equally long: there is little between them to be spread."""


def pace(
    total_steps: int,
    duration: float = DURATION,
    fps: int = FPS,
    rehearsal: Rehearsal | None = None,
    *,
    rest: float = REST,
    steady: int | None = None,
) -> NDArray[np.int64]:
    """The step that each frame of a film shows.

    Where it is known what will happen, frames are spread so that as much is seen in each: the fall of the loss, in
    decades, and the way of the weights; at its end the film rests for a moment. Else there is one step a frame for the
    first two seconds, then a rate that grows by the same factor every frame. A run with fewer steps than frames shows
    its steps evenly then, each for several frames.

    Parameters
    ----------
    total_steps : int
        Steps of the whole run, at least 0.
    duration : float
        Seconds, above 0.
    fps : int
        Frames a second, at least 1.
    rehearsal : Rehearsal, optional
        What these steps will do.
    rest : float
        Share of the frames that rest at the end, where frames are spread by a rehearsal or go steadily.
    steady : int, optional
        Steps of each frame after the first two seconds, which have one: then the film is as long as that takes. More
        where it would have more than a million frames.

    Returns
    -------
    ndarray of int64, shape (frames,)
        Never falling; from 0 to `total_steps`.

    Raises
    ------
    InputError
        For numbers outside those bounds, a film of more than a million frames, or a rehearsal of other steps.
    """
    _check_pace(total_steps, duration, fps)
    if steady is not None:
        return _steadily(total_steps, fps, integer("steady", steady, 1), rest)
    frames = max(2, round(duration * fps))
    stops = _by_steps(total_steps, frames, fps)
    if rehearsal is None or total_steps < EVENLY or frames < EVENLY:
        return stops
    if len(rehearsal.loss) != total_steps:
        raise InputError(f"rehearsal: got {len(rehearsal.loss)} steps; allowed: {total_steps}, as many as the film has")
    shown = _shown(rehearsal, stops)
    moving = frames - round(rest * frames)
    table = np.interp(np.linspace(0, 1, moving), shown, np.arange(total_steps + 1))
    steps: NDArray[np.int64] = np.rint(np.append(table, np.full(frames - moving, total_steps))).astype(np.int64)
    return steps


def _steadily(total_steps: int, fps: int, steady: int, rest: float) -> NDArray[np.int64]:
    slow = min(round(SLOW_SECONDS * fps), total_steps)
    steady = max(steady, -(-total_steps // (_MOST - slow - 1)))
    moving = np.append(np.arange(slow), np.arange(slow, total_steps + steady, steady))
    moving = np.append(moving, np.zeros(max(0, 2 - len(moving)), int))
    still = round(rest * len(moving))
    steps: NDArray[np.int64] = np.minimum(np.append(moving, np.full(still, total_steps)), total_steps).astype(np.int64)
    return steps


def _by_steps(total_steps: int, frames: int, fps: int) -> NDArray[np.int64]:
    if total_steps < frames:
        return np.rint(np.linspace(0, total_steps, frames)).astype(np.int64)
    slow = min(round(SLOW_SECONDS * fps), frames // 2, frames - 2)
    fast = frames - 1 - slow
    ramp = np.cumsum(np.exp(_growth(total_steps - slow, fast) * np.arange(1, fast + 1)))
    ramp *= (total_steps - slow) / ramp[-1]
    return np.concatenate([np.arange(slow + 1), slow + np.rint(ramp).astype(np.int64)])


def steps_a_frame(stops: NDArray[np.int64], fps: int) -> NDArray[np.float64]:
    """The pace at each frame, a mean over half a second: of whole steps it would be 0 and 1 in turn."""
    last = len(stops) - 1
    if stops[-1] < last and np.array_equal(stops, np.rint(np.linspace(0, stops[-1], last + 1))):
        return np.full(last + 1, stops[-1] / last)
    at, half = np.arange(last + 1), max(1, fps // 4)
    start, end = np.maximum(at - half, 0), np.minimum(at + half, last)
    return np.asarray((stops[end] - stops[start]) / (end - start))


# what there is to see


def _shown(rehearsal: Rehearsal, stops: NDArray[np.int64]) -> NDArray[np.float64]:
    """How much of all that there is to see has been seen after each step, rising from 0 to 1, shape (steps + 1,)."""
    steps = np.arange(len(rehearsal.loss) + 1)
    last = np.flatnonzero(np.diff(stops, prepend=-1))  # the first frame of each step shown
    by_steps = np.interp(steps, stops[last], last / (len(stops) - 1))
    parts = [(1 - LOSS - WAY, by_steps)]
    way = np.interp(steps, rehearsal.marks, rehearsal.distances)
    for weight, seen in ((LOSS, fallen(rehearsal.loss, mean=not rehearsal.all_samples)), (WAY, way)):
        if np.isfinite(seen).all() and seen[-1] > 0:
            parts.append((weight, seen / seen[-1]))
    total = np.sum([weight * seen for weight, seen in parts], axis=0)
    return np.asarray(total / total[-1])


def fallen(loss: NDArray[np.float64], *, mean: bool = False) -> NDArray[np.float64]:
    """How far the loss has fallen after each step, in decades, shape (steps + 1,); a loss below 0 in its own unit.

    A rise takes nothing back. `mean` takes the steps around together, a twentieth of those so far, since a single batch
    says little.
    """
    steps = np.arange(len(loss))
    height = np.log10(np.maximum(loss, loss[0] * _LEAST)) if loss.min() >= 0 and loss[0] > 0 else loss
    if mean:
        total = np.concatenate([[0.0], np.cumsum(height)])
        beside = np.maximum(steps // 40, _BESIDE)
        start, end = np.maximum(steps - beside, 0), np.minimum(len(loss), steps + beside + 1)
        height = (total[end] - total[start]) / (end - start)
    return np.concatenate([[0.0], np.maximum.accumulate(height[0] - height)])


_BESIDE = 4
"""Batches before and after one that are taken with it at least."""
_LEAST = 1e-12
"""Of the first loss: what is below it is 0."""


def _check_pace(total_steps: int, duration: float, fps: int) -> None:
    if total_steps < 0:
        raise InputError(f"total_steps: got {total_steps}; allowed: 0 or more")
    if not (0 < as_number(duration, "duration") < float("inf")):
        raise InputError(f"duration: got {duration}; allowed: seconds above 0; try {DURATION:g}")
    if fps < 1 or duration * fps > _MOST:
        raise InputError(f"fps: got {fps} for {duration:g} s; allowed: 1 or more, a million frames at most; try {FPS}")


def _growth(steps: int, frames: int) -> float:
    """The k for which exp(k) + exp(2k) + ... + exp(frames k) = steps, by bisection; 0 if one step a frame is enough."""
    if steps <= frames:
        return 0.0
    powers = np.arange(1, frames + 1)
    low, high = 0.0, np.log(steps)
    for _ in range(80):
        middle = (low + high) / 2
        with np.errstate(over="ignore"):
            low, high = (middle, high) if np.exp(middle * powers).sum() < steps else (low, middle)
    return float((low + high) / 2)


# ---- What plays.

RATE = 60
"""Frames a second that the pace counts on."""

SPEEDS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, float("inf"))
NO_LIMIT = 1 << 62
LONGEST_TICK = 0.25  # a hidden or stalled window does not jump ahead


def speed_text(speed: float) -> str:
    """``4x``, ``1/8x``, ``without limit``."""
    if speed == float("inf"):
        return "without limit"
    return f"{speed:g}x" if speed >= 1 else f"1/{1 / speed:g}x"


class Guide:
    """A source that goes at once, while one waits, asked as a worker is; nothing trains there."""

    journey_progress = error = stopped = None
    moving = busy = False
    remark = ""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.played = source if isinstance(source, Played) else None

    @property
    def current_step(self) -> int:
        """The step of a record where it stands."""
        return 0 if self.played is None else int(self.played.steps[self.played.place])

    def travel(self, step: int, *, nearest: bool = False) -> None:
        """Go there."""
        first, newest = self.source.span
        self.source.to(min(max(step, first), newest))

    def train_to(self, step: int) -> None:
        """Stand at the last recorded step up to this one."""
        if self.played is not None:
            self.played.show_frame(int(np.searchsorted(self.played.steps, step, side="right")) - 1)

    def pause(self) -> None:
        """It stands."""

    cancel = resume = pause


class Playback:
    """Run, pause, single steps and speed of one worker, or of a recording; what somebody else changes stands still.

    A run pauses at `end`, `steps` from now, and goes on without one after that. These steps, or all of a recording,
    take `duration` seconds, spread by what there is to see where a `rehearsal`, or the recording, says that; or a run
    does `steady` steps a frame after the first two seconds.
    """

    loop: tuple[int, int] | None = None  # first and last step of what is played round and round

    def __init__(
        self,
        worker: Worker | Guide,
        steps: int = 0,
        duration: float = DURATION,
        rehearsal: Rehearsal | None = None,
        steady: int | None = None,
    ) -> None:
        self.worker, self._steps, self._duration = worker, steps, duration
        self._played = worker.played if isinstance(worker, Guide) else None
        self._past: Past | None = None  # of a recording, the one whose steps are spread
        self.running = self._held = False
        self._speed = SPEEDS.index(1.0)
        self._time = 0.0
        self._first = self._target = self.current_step
        self.end = self._first + steps
        self._table = pace(steps, duration, RATE, rehearsal, rest=0.0, steady=steady)
        self._last_rate = steady or max(1, int(self._table[-1] - self._table[-2]))

    # ---- where it is, and how fast

    @property
    def current_step(self) -> int:
        """The step where it stands."""
        return self.worker.current_step if isinstance(self.worker, Guide) else self.worker.run.steps

    @property
    def at_end(self) -> bool:
        """Whether it has come to where it pauses."""
        return self.current_step >= (self.end if self._played is None else int(self._played.steps[-1]))

    @property
    def speed(self) -> float:
        """1 is the paced normal, infinity no limit."""
        return SPEEDS[self._speed]

    @property
    def slowest(self) -> bool:
        """Whether the speed is the least there is: steps are opened then."""
        return self._speed == 0

    @property
    def aim(self) -> int | None:
        """The step that was asked for by hand and is not reached yet."""
        return self._target if not self.running and self.worker.busy else None

    def change_speed(self, by: int) -> None:
        """Go `by` places up or down in `SPEEDS`; 0 is back to normal.

        There is always a limit to the speed of a recording: what is left out is not seen.
        """
        most = len(SPEEDS) - (1 if self._played is None else 2)
        self._speed = max(0, min(most, self._speed + by)) if by else SPEEDS.index(1.0)
        self.resume_here()

    # ---- on and off

    def toggle(self) -> None:
        """Go on if paused, a recording that stands at its last step from the first; pause if running."""
        if self.running:
            self.pause()
            return
        if self._played is not None and self.at_end:
            self._played.show_frame(0)
        self.play()

    def play(self) -> None:
        """Go on from here; a run past its end without one."""
        self._follow()
        if self.at_end and not isinstance(self.worker, Guide):
            self.end = NO_LIMIT
        self.running = not self.at_end
        self.worker.resume()
        self.resume_here()

    def pause(self) -> None:
        """Stop at the next boundary of a step."""
        self._stop_running()
        self.worker.pause()

    def pause_at(self, step: int) -> None:
        """Time stands still: it goes on from `step`."""
        self.pause()
        self._target = step

    def reset_end(self) -> None:
        """The run begins anew, and pauses where it first did."""
        self.end = self._first + self._steps

    def _stop_running(self) -> None:
        """Time stands still; the step that it would have come to is nobody's aim any more."""
        self.running = False
        self._target = self.current_step

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
            self._target = self.current_step
        self.worker.resume()
        self._target = (self._target if on_the_way else max(self._target, self.current_step)) + count
        self.worker.train_to(self._target)

    def tick(self, seconds: float) -> None:
        """`seconds` have passed on the viewer's clock: it goes to where it should be now."""
        if self.running and (self.worker.error is not None or self.worker.stopped is not None):
            self._stop_running()
        if not self.running or self._held:
            return
        self._follow()
        if self.at_end:
            self.pause()
            return
        if self.speed == float("inf"):
            self._target = self.end
        else:
            self._time += min(seconds, LONGEST_TICK) * self.speed
            self._target = max(self._target, min(self.end, int(self._paced(self._time) + 1e-6)))
        if self.loop is not None:
            self._target = min(self._target, self.loop[1])
        self.worker.train_to(self._target)

    def text(self) -> str:
        """How fast it goes, for the HUD."""
        if self._played is not None:
            at_end = self.at_end and len(self._played.steps) > 1
            return self._with_speed("plays" if self.running else "at the end" if at_end else "paused")
        if self.worker.error is not None:
            return "stopped"
        if not self.running:
            paused = "paused at the end" if self.at_end else "paused"
            return self._with_speed("paused at a breakpoint" if self.worker.stopped is not None else paused)
        if self.speed == float("inf"):
            return "pace unlimited"
        start, end = max(0.0, self._time - 0.25), self._time + 0.25  # half a second: the table is of whole steps
        done, one = self._paced(end) - self._paced(start), self.speed / ((end - start) * RATE)
        if done < 0.99:  # not even one step in that time
            return f"pace below {one:.2g} steps a frame"
        rate = done * one
        if rate < 0.95:
            return f"pace {rate:.2g} steps a frame"
        return f"pace {rate:,.0f} step{'s' if round(rate) > 1 else ''} a frame"

    def _with_speed(self, words: str) -> str:
        return words if self.speed == 1 else f"{words}, speed {speed_text(self.speed)}"

    def _follow(self) -> None:
        """Spread the frames of another branch, or of one that has grown, anew, from where it is."""
        played = self._played
        if played is None or played.past is self._past:
            return
        self._past = played.past
        try:
            seen = played.recorded_rehearsal()
        except ScalarvizError:  # a frame cannot be read: who shows it says so
            seen = None
        self._first, self.end = played.span
        self._table = played.steps[pace(len(played.steps) - 1, self._duration, RATE, seen, rest=0.0)] - self._first
        self.resume_here()

    def _paced(self, seconds: float) -> float:
        """Absolute step, with a fraction, at a time of the paced run; after its end at the last rate."""
        position = seconds * RATE
        last = len(self._table) - 1
        if position <= last:
            return self._first + float(np.interp(position, np.arange(last + 1), self._table))
        return self._first + float(self._table[-1]) + (position - last) * self._last_rate

    def resume_here(self) -> None:
        """Set the clock to the step where it stands: what could not be kept up with is not made good."""
        done = self.current_step - self._first
        last = len(self._table) - 1
        if done <= self._table[-1]:
            # of a run the last frame that shows this step, so that no time is waited twice
            after = np.searchsorted(self._table, done, side="right") - 1
            self._time = float(after if self._played is None else np.searchsorted(self._table, done)) / RATE
        else:
            self._time = (last + (done - int(self._table[-1])) / self._last_rate) / RATE
        self._target = self.current_step
