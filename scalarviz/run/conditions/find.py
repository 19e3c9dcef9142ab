"""When a condition last became true: losses are looked up, other numbers are computed again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..history import History
from ..timeline import Timeline
from .condition import Condition
from .numbers import Numbers

Progress = Callable[[float], bool | None]
"""Told how much is done, 0 to 1; False gives it up."""
Here = tuple[Condition | None, Numbers]
TOLD = 100
"""Steps after which that is told."""


def in_losses(condition: Condition, history: History, first: int, end: int) -> tuple[bool, int | None]:
    """The last step after `first` and before `end` at which a condition of losses became true.

    Returns
    -------
    known : bool
        Whether the history has all of these steps: a long one is thinned.
    step : int or None
    """
    span = slice(*np.searchsorted(history.step, [first, end - 1], side="right"))
    steps, losses, rates = history.step[span], history.loss[span], history.lr[span]
    if len(steps) != max(end - 1 - first, 0):
        return False, None
    if not len(steps):
        return True, None
    now = {"loss": losses, "lr": rates, "step": steps.astype(np.float64)}
    start = {"loss": np.nan, "lr": rates[0], "step": float(first)}
    before = {name: np.concatenate([[start[name]], array[:-1]]) for name, array in now.items()}
    rises = np.broadcast_to(condition.rises(now, before), len(steps))
    return True, int(steps[np.flatnonzero(rises)[-1]]) if rises.any() else None


class Search:
    """The search of what a run has recorded: it is done again in pieces that begin at a keyframe, the last one first.

    Parameters
    ----------
    timeline : Timeline
        Of the run, which is moved meanwhile.
    here : callable
        Gives the condition, read for the model that the run has where it stands (None if it is of no sense there), and
        the numbers.
    progress : callable, optional
    """

    def __init__(self, timeline: Timeline, here: Callable[[], Here], progress: Progress | None) -> None:
        self._timeline, self._here, self._progress = timeline, here, progress
        self._given_up = False

    def before(self, end: int) -> int | None:
        """The last step before `end` at which the condition became true; the run stands where it stood afterwards."""
        timeline, (first, _) = self._timeline, self._timeline.span
        here, last, stop = timeline.place().step, end - 1, end - 1
        found = None
        try:
            while stop > first and found is None and not self._given_up:
                start = _start_of(timeline, stop)
                timeline.to(start)
                with timeline.going("through its past"):
                    found = self._piece(start, stop, last - stop, last - first)
                stop = start
        finally:
            timeline.to(here)
        return found

    def _piece(self, start: int, stop: int, done: int, steps: int) -> int | None:
        """The last step after `start`, where the run stands, to `stop`; of all steps, so many are done before."""
        found, (condition, numbers) = None, self._here()
        before = None if condition is None else condition.stands(numbers)
        for step in range(start + 1, stop + 1):
            self._timeline.advance(1)
            former, (condition, numbers) = condition, self._here()
            if condition is None:
                before = None
            elif condition is former and before is not None:  # the model is the same
                risen, before = condition.passes(numbers, before)
                found = step if risen.any() else found
            else:
                before = condition.stands(numbers)
            if self._progress is not None and (step == stop or (step - start) % TOLD == 0):
                self._given_up = self._progress((done + step - start) / steps) is False
                if self._given_up:
                    return None
        return found


def _start_of(timeline: Timeline, step: int) -> int:
    """A step before `step` at which one can stand at once, or after one step more."""
    line, (first, _) = timeline.line, timeline.span
    key = line.nearest(step - 1, line.done(step - 1))
    return first if key is None else key.step if key.whole else key.step + 1
