"""`Ahead`: what a rehearsal says of the steps to come. A curve whose axes hold them needs no other ones later."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...run.core.frame import Frame
from ...run.sources.played import Rehearsal


@dataclass(frozen=True, slots=True, eq=False)
class Ahead:
    """The coming steps of a run, as they will be while nobody changes anything."""

    step: int  # where the run stands
    last: int  # where the steps end
    low: float  # the least and the largest loss on the way
    high: float
    loss: float  # of the first of them: the loss of the numbers as they are before it
    values: NDArray[np.floating]  # those numbers (P,)

    @classmethod
    def of(cls, rehearsal: Rehearsal, frame: Frame) -> Ahead | None:
        """What was rehearsed from a frame; None where a loss is not finite."""
        losses = rehearsal.loss
        if not len(losses) or not np.isfinite(losses).all():
            return None
        last = frame.step + len(losses)
        return cls(frame.step, last, float(losses.min()), float(losses.max()), float(losses[0]), frame.values)

    def coming(self, frame: Frame) -> float | None:
        """The loss of the coming step, at the frame where the steps begin; None at any other, and after a change."""
        here = frame.step == self.step and not frame.edited and np.array_equal(frame.values, self.values)
        return self.loss if here else None


def holding(ahead: Ahead | None, frame: Frame) -> Ahead | None:
    """The same, with room for all that was done: while one goes back and forth nothing rescales."""
    past = frame.past
    if past is None or frame.step >= past.newest:
        return ahead
    losses = past.curve.loss[np.isfinite(past.curve.loss)]
    if not len(losses):
        return ahead
    low, high = float(losses.min()), float(losses.max())
    if ahead is None:
        first = int(past.curve.step[0])
        return Ahead(first, past.newest, low, high, float("nan"), np.zeros(0))
    return replace(ahead, last=max(ahead.last, past.newest), low=min(ahead.low, low), high=max(ahead.high, high))
