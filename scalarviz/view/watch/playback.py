"""The pace of runs and recordings in a window. This module draws nothing and has no clock of its own.

A small network trains 100,000 steps a second; without a pace a demo would end within one frame. `pace` therefore
spreads the visible changes over the duration. If they are unknown, it starts with one step a frame and speeds up.
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
from ...scalar.number import as_number

SLOW_SECONDS = 2.0
DURATION = 20.0
FPS = 30
REST = 0.06
"""Share of a film's frames that show its last step."""
LOSS, WAY = 0.6, 0.2
"""Shares of a film for the fall of the loss and for the path of the weights; the rest is spread by steps."""
_MOST = 10**6  # frames
EVENLY = 30
"""Number of steps below which each step is shown equally long."""


def pace(
    total_steps: int,
    duration: float = DURATION,
    fps: int = FPS,
    rehearsal: Rehearsal | None = None,
    *,
    rest: float = REST,
    steady: int | None = None,
) -> NDArray[np.int64]:
    """Return the step that each frame of a film shows.

    With a rehearsal, every frame shows about the same amount of change: the fall of the loss in decades, and the path
    of the weights. At its end the film rests for a moment. Without a rehearsal, the first two seconds show one step a
    frame; then the rate grows by the same factor every frame. A run with fewer steps than frames shows its steps
    evenly, each for several frames.

    Parameters
    ----------
    total_steps : int
        Steps of the whole run, at least 0.
    duration : float
        Seconds, above 0.
    fps : int
        Frames a second, at least 1.
    rehearsal : Rehearsal, optional
        The losses and weight distances of these steps.
    rest : float
        Share of the frames that rest at the end, with `rehearsal` or `steady`.
    steady : int, optional
        Steps a frame after the first two seconds, which have one step a frame; `duration` is then ignored. The value is
        raised where the film would have more than a million frames.

    Returns
    -------
    ndarray of int64, shape (frames,)
        Non-decreasing, from 0 to `total_steps`.

    Raises
    ------
    InputError
        A number is out of bounds, the film has more than a million frames, or the rehearsal has other steps.
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
    moving = frames - round(rest * frames)
    table = np.interp(np.linspace(0, 1, moving), _shown(rehearsal, stops), np.arange(total_steps + 1))
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
    """Return the steps a frame at each frame, averaged over half a second, as whole steps would jump."""
    last = len(stops) - 1
    if stops[-1] < last and np.array_equal(stops, np.rint(np.linspace(0, stops[-1], last + 1))):
        return np.full(last + 1, stops[-1] / last)
    at, half = np.arange(last + 1), max(1, fps // 4)
    start, end = np.maximum(at - half, 0), np.minimum(at + half, last)
    return np.asarray((stops[end] - stops[start]) / (end - start))


# visible change


def _shown(rehearsal: Rehearsal, stops: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the share of all visible change up to each step, rising from 0 to 1, shape (steps + 1,)."""
    steps = np.arange(len(rehearsal.loss) + 1)
    last = np.flatnonzero(np.diff(stops, prepend=-1))  # the first frame of each step shown
    parts = [(1 - LOSS - WAY, np.interp(steps, stops[last], last / (len(stops) - 1)))]
    way = np.interp(steps, rehearsal.marks, rehearsal.distances)
    for weight, seen in ((LOSS, fallen(rehearsal.loss, mean=not rehearsal.all_samples)), (WAY, way)):
        if np.isfinite(seen).all() and seen[-1] > 0:
            parts.append((weight, seen / seen[-1]))
    total = np.sum([weight * seen for weight, seen in parts], axis=0)
    return np.asarray(total / total[-1])


def fallen(loss: NDArray[np.float64], *, mean: bool = False) -> NDArray[np.float64]:
    """Return how far the loss has fallen after each step, in decades, shape (steps + 1,).

    If a loss is below 0, the fall is in the loss's own unit. A rise counts as 0. With `mean`, neighbouring steps are
    averaged (a twentieth of the steps so far), as a single batch is noisy.
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
"""Fewest batches on each side that are averaged with one batch."""
_LEAST = 1e-12
"""Share of the first loss below which a loss counts as this share."""


def _check_pace(total_steps: int, duration: float, fps: int) -> None:
    if total_steps < 0:
        raise InputError(f"total_steps: got {total_steps}; allowed: 0 or more")
    if not (0 < as_number(duration, "duration") < float("inf")):
        raise InputError(f"duration: got {duration}; allowed: seconds above 0; try {DURATION:g}")
    if fps < 1 or duration * fps > _MOST:
        raise InputError(f"fps: got {fps} for {duration:g} s; allowed: 1 or more, a million frames at most; try {FPS}")


def _growth(steps: int, frames: int) -> float:
    """Return the k with exp(k) + exp(2k) + ... + exp(frames k) = steps, by bisection; at least 0."""
    if steps <= frames:
        return 0.0
    powers = np.arange(1, frames + 1)
    low, high = 0.0, np.log(steps)
    for _ in range(80):
        middle = (low + high) / 2
        with np.errstate(over="ignore"):
            low, high = (middle, high) if np.exp(middle * powers).sum() < steps else (low, middle)
    return float((low + high) / 2)


# ---- Playing.

RATE = 60
"""Frames a second that the pace assumes."""

SPEEDS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, float("inf"))
NO_LIMIT = 1 << 62
LONGEST_TICK = 0.25  # a hidden or stalled window does not jump ahead


def speed_of(rate: float) -> str:
    """Return a rate as a whole number, a slow one with two digits, so that none that is not zero reads 0."""
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"


def speed_text(speed: float) -> str:
    """Return ``4x``, ``1/8x`` or ``without limit``."""
    if speed == float("inf"):
        return "without limit"
    return f"{speed:g}x" if speed >= 1 else f"1/{1 / speed:g}x"


class Guide:
    """A source that moves at once, with the interface of a worker; it never trains."""

    journey_progress = error = stopped = None
    moving = busy = False
    remark = ""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.played = source if isinstance(source, Played) else None

    @property
    def current_step(self) -> int:
        """The recorded step that is shown; 0 if the source is no recording."""
        return 0 if self.played is None else int(self.played.steps[self.played.place])

    def travel(self, step: int, *, nearest: bool = False) -> None:
        """Move to a step within the source's span."""
        first, newest = self.source.span
        self.source.to(min(max(step, first), newest))

    def train_to(self, step: int) -> None:
        """Move to the last recorded step up to this one."""
        if self.played is not None:
            self.played.show_frame(int(np.searchsorted(self.played.steps, step, side="right")) - 1)

    def pause(self) -> None:
        """Do nothing: a source has no thread to pause."""

    cancel = resume = pause


class Playback:
    """Run, pause, single steps and speed of a worker or a recording; other sources stay paused.

    A run pauses `steps` from now, at `end`, and after that runs without an end. These steps, or the whole recording,
    take `duration` seconds. The frames are spread by visible change if a `rehearsal` or the recording tells it; or a
    run trains `steady` steps a frame after the first two seconds.
    """

    loop: tuple[int, int] | None = None  # first and last step of the loop

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
        self._past: Past | None = None  # the recording's past that the pace was computed for
        self.running = self._held = False
        self._speed = SPEEDS.index(1.0)
        self._time = 0.0
        self._first = self._target = self.current_step
        self.end = self._first + steps
        self._table = pace(steps, duration, RATE, rehearsal, rest=0.0, steady=steady)
        self._last_rate = steady or max(1, int(self._table[-1] - self._table[-2]))

    # ---- step and speed

    @property
    def current_step(self) -> int:
        """The step that is shown."""
        return self.worker.current_step if isinstance(self.worker, Guide) else self.worker.run.steps

    @property
    def at_end(self) -> bool:
        """True at the step at which playing pauses."""
        return self.current_step >= (self.end if self._played is None else int(self._played.steps[-1]))

    @property
    def speed(self) -> float:
        """The speed: 1 is normal, infinity has no limit."""
        return SPEEDS[self._speed]

    @property
    def slowest(self) -> bool:
        """True at the lowest speed, at which steps open by themselves."""
        return self._speed == 0

    @property
    def aim(self) -> int | None:
        """The step that the user asked for and that is not reached yet, or None."""
        return self._target if not self.running and self.worker.busy else None

    def change_speed(self, by: int) -> None:
        """Move `by` places in `SPEEDS`; 0 returns to normal.

        Recordings always have a limit, so that no step is skipped unseen.
        """
        most = len(SPEEDS) - (1 if self._played is None else 2)
        self._speed = max(0, min(most, self._speed + by)) if by else SPEEDS.index(1.0)
        self.resume_here()

    # ---- on and off

    def toggle(self) -> None:
        """Pause if running, otherwise play; a recording at its last step plays from the first."""
        if self.running:
            self.pause()
            return
        if self._played is not None and self.at_end:
            self._played.show_frame(0)
        self.play()

    def play(self) -> None:
        """Play from here; a run past its end plays without an end."""
        self._follow()
        if self.at_end and not isinstance(self.worker, Guide):
            self.end = NO_LIMIT
        self.running = not self.at_end
        self.worker.resume()
        self.resume_here()

    def pause(self) -> None:
        """Stop at the next boundary between steps."""
        self._stop_running()
        self.worker.pause()

    def pause_at(self, step: int) -> None:
        """Pause, and continue later from `step`."""
        self.pause()
        self._target = step

    def reset_end(self) -> None:
        """Set the first end again, for a run that restarts."""
        self.end = self._first + self._steps

    def _stop_running(self) -> None:
        """Stop running and drop the target step."""
        self.running = False
        self._target = self.current_step

    def hold(self) -> None:
        """Wait at the next boundary between steps while a weight is held; the state stays "running"."""
        self._held = True
        if self.running:
            self.worker.pause()

    def release(self) -> None:
        """Continue after :meth:`hold`."""
        self._held = False
        if self.running:
            self.resume_here()

    def step(self, count: int, *, on_the_way: bool = False) -> None:
        """Pause, then train `count` steps; while `on_the_way` to another step, count from there."""
        if self.running:
            self.pause()
        if self.worker.stopped is not None:
            self._target = self.current_step
        self.worker.resume()
        self._target = (self._target if on_the_way else max(self._target, self.current_step)) + count
        self.worker.train_to(self._target)

    def tick(self, seconds: float) -> None:
        """Advance by `seconds` of the viewer's clock and train to the step that is due."""
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
        """Return the pace for the HUD."""
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
        start, end = max(0.0, self._time - 0.25), self._time + 0.25  # half a second, as the table holds whole steps
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
        """Compute the pace again for another branch, or for a recording that has grown."""
        played = self._played
        if played is None or played.past is self._past:
            return
        self._past = played.past
        try:
            seen = played.recorded_rehearsal()
        except ScalarvizError:  # a frame cannot be read: the viewer reports it
            seen = None
        self._first, self.end = played.span
        self._table = played.steps[pace(len(played.steps) - 1, self._duration, RATE, seen, rest=0.0)] - self._first
        self.resume_here()

    def _paced(self, seconds: float) -> float:
        """Return the step, with a fraction, at a time of the pace; after its end at the last rate."""
        position = seconds * RATE
        last = len(self._table) - 1
        if position <= last:
            return self._first + float(np.interp(position, np.arange(last + 1), self._table))
        return self._first + float(self._table[-1]) + (position - last) * self._last_rate

    def resume_here(self) -> None:
        """Set the clock to the current step; steps missed so far are not caught up."""
        done = self.current_step - self._first
        last = len(self._table) - 1
        if done <= self._table[-1]:
            # for a run the last frame that shows this step, so that no time is waited twice
            after = np.searchsorted(self._table, done, side="right") - 1
            self._time = float(after if self._played is None else np.searchsorted(self._table, done)) / RATE
        else:
            self._time = (last + (done - int(self._table[-1])) / self._last_rate) / RATE
        self._target = self.current_step
