"""Which step a frame of a film shows, and a window at a moment."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError

SLOW_SECONDS = 2.0
DURATION = 20.0
FPS = 30


def pace(total_steps: int, duration: float = DURATION, fps: int = FPS) -> NDArray[np.int64]:
    """The step that each frame of a film shows.

    One step a frame for the first two seconds, then a rate that grows by the same factor every frame, so that the last
    frame shows the last step. A run with fewer steps than frames shows its steps evenly, each for several frames.

    Parameters
    ----------
    total_steps : int
        Steps of the whole run, at least 0.
    duration : float
        Seconds, above 0.
    fps : int
        Frames a second, at least 1.

    Returns
    -------
    ndarray of int64, shape (frames,)
        Never falling; from 0 to `total_steps`.

    Raises
    ------
    InputError
        For numbers outside those bounds, or a film of more than a million frames.
    """
    _check_pace(total_steps, duration, fps)
    frames = max(2, round(duration * fps))
    if total_steps < frames:
        return np.rint(np.linspace(0, total_steps, frames)).astype(np.int64)
    slow = min(round(SLOW_SECONDS * fps), frames // 2, frames - 2)
    fast = frames - 1 - slow
    ramp = np.cumsum(np.exp(_growth(total_steps - slow, fast) * np.arange(1, fast + 1)))
    ramp *= (total_steps - slow) / ramp[-1]
    return np.concatenate([np.arange(slow + 1), slow + np.rint(ramp).astype(np.int64)])


def _check_pace(total_steps: int, duration: float, fps: int) -> None:
    if total_steps < 0:
        raise InputError(f"total_steps: got {total_steps}; allowed: 0 or more")
    if not (0 < duration < float("inf")):
        raise InputError(f"duration: got {duration}; allowed: seconds above 0; try {DURATION:g}")
    if fps < 1 or duration * fps > 1e6:
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
