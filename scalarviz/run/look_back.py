"""`looked_back`: something asked of a run at moments of its past, from which it comes back to the bit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from .run import Run

T = TypeVar("T")
SECONDS = 2.0
"""What doing steps again may take where nobody waits; where it would take longer, only keyframes are visited."""


def looked_back(run: Run, look: Callable[[Run], T], count: int, until: int, seconds: float = SECONDS) -> dict[int, T]:
    """What `look(run)` returns at about `count` steps of the run's branch before `until`, more of them early ones.

    The run stands where it stood afterwards. Between two of its steps, in the thread that may change it.
    """
    run.timeline.enter()
    first = run.timeline.span[0]
    wanted = first + (np.linspace(0.0, 1.0, count, endpoint=False) ** 2 * (until - first)).astype(int)
    if again_within(run, seconds):
        return visited(run, sorted(set(wanted.tolist())), look)
    kept = np.array(sorted({step for step in _keyframes(run) if first <= step < until}), int)
    if not len(kept):
        return {}
    near = kept[np.abs(kept[:, None] - wanted).argmin(axis=0)]
    return visited(run, sorted(set(near.tolist())), look, jumps=True)


def again_within(run: Run, seconds: float) -> bool:
    """Whether all that was recorded on the run's branch can be done again in that time."""
    first, newest = run.timeline.span
    measured = run.timeline.keyframes.clock  # seconds of the engine for all branches
    return min(measured, (newest - first) * run._training.seconds_a_step) <= seconds


def visited(run: Run, places: Sequence[int], look: Callable[[Run], T], *, jumps: bool = False) -> dict[int, T]:
    """What `look(run)` returns at each of some rising steps, while the run stands there.

    All steps between them are done again, unless it `jumps`: every place is reached from the nearest keyframe then.
    """
    timeline, here, found = run.timeline, run.steps, dict[int, T]()
    try:
        for step in places:
            if jumps or not found:
                timeline.to(step)
            while run.steps < step:
                timeline.advance(step - run.steps)
            found[step] = look(run)
    finally:
        timeline.to(here)
    return found


def _keyframes(run: Run) -> list[int]:
    """Steps of the keyframes of the way here."""
    return [key.step for line, last, _ in run.timeline.line.path() for key in line.keys if key.step <= last]
