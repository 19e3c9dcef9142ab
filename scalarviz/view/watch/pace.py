"""Which step a frame of a film shows, and a window at a moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...checks import integer
from ...errors import InputError
from ...scalar.single import as_number

if TYPE_CHECKING:
    from ...run.sources.played import Rehearsal

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
        raise InputError(f"rehearsal: got one of {len(rehearsal.loss)} steps; allowed: one of {total_steps}")
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
    way = np.interp(steps, rehearsal.marks, rehearsal.way)
    for weight, seen in ((LOSS, fallen(rehearsal.loss, mean=not rehearsal.whole)), (WAY, way)):
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
