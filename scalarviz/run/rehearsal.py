"""`rehearse`: the coming steps of a run done on a copy, to know beforehand where something will happen."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import DeviceError, DivergedError
from .history import LIMIT

if TYPE_CHECKING:
    from .run import Run

SECONDS = 5.0
"""Longest time that a rehearsal takes; a run that needs more is not known beforehand."""
MARKS = 200
"""Places at which the weights are looked at."""
_SURE = 0.1  # of the time, after which the rest of it is known well enough
_TOO_LONG = 1.5  # times the time: it may yet become quicker


@dataclass(frozen=True, slots=True, eq=False)
class Rehearsal:
    """What will happen in some steps.

    Attributes
    ----------
    loss : ndarray, shape (N,)
        Of each step.
    marks : ndarray of int64
        Counts of steps, rising from 0 to N, at which the weights were looked at.
    way : ndarray
        How far the weights have come at each mark, in shares of their own size, back and forth added up.
    whole : bool
        Whether each loss is that of all samples, and no batch's.
    """

    loss: NDArray[np.float64]
    marks: NDArray[np.int64]
    way: NDArray[np.float64]
    whole: bool = True


def rehearse(
    run: Run,
    steps: int,
    seconds: float = SECONDS,
    *,
    speed: float = math.inf,
    stopped: Callable[[], bool] = lambda: False,
) -> Rehearsal | None:
    """Do the next `steps` steps of a run on copies of its numbers; the run itself stays where it is, bit for bit.

    Parameters
    ----------
    run : Run
    steps : int
    seconds : float
        That it may take; as soon as they are seen not to be enough, it is given up.
    speed : float
        Steps a second that the run's engine does not exceed: where they are not enough, no step is done.
    stopped : callable
        Asked now and then whether to give it up.

    Returns
    -------
    Rehearsal or None
        None if it was given up, or diverges, or there are no steps or more than a history keeps; or a GPU has no
        memory for the copies.

    Notes
    -----
    A run on objects is rehearsed by the NumPy engine: it has no other numbers than those of the objects. So is one
    whose kernels are not compiled yet.
    """
    name = run.engine.name
    slow = name == "objects" or not run.ready
    if not 1 <= steps <= LIMIT or (not slow and steps > _TOO_LONG * seconds * speed):
        return None
    try:
        twin = run._training.twin(lambda problem: run._trainer("numpy" if slow else name, problem))
    except DeviceError:  # no memory for a second one; or the run itself will find out, and say so
        return None
    marks = _marks(steps)
    twin.call_seconds = min(twin.call_seconds, seconds / 10)
    values, first, start = twin.problem.store.value, twin.steps, time.perf_counter()
    before, way = values.astype(np.float64), [0.0]
    try:
        for mark in marks[1:]:
            while twin.steps < first + mark:
                twin.advance(int(first + mark) - twin.steps)
                spent = time.perf_counter() - start
                expected = spent / (twin.steps - first) * steps
                if stopped() or spent > seconds or (spent > _SURE * seconds and expected > _TOO_LONG * seconds):
                    return None
            now = values.astype(np.float64)
            size = float(np.linalg.norm(now)) or 1.0
            way.append(way[-1] + float(np.linalg.norm(now - before)) / size)
            before = now
    except (DivergedError, DeviceError):
        return None
    return Rehearsal(np.array(twin.history.loss[-steps:]), marks, np.array(way), run.problem.whole)


def _marks(steps: int) -> NDArray[np.int64]:
    """Evenly, and more of them where a run begins."""
    even, early = np.linspace(0, steps, MARKS // 2), np.geomspace(1, max(steps, 1), MARKS // 2)
    return np.unique(np.rint(np.concatenate([even, early, [steps]])).astype(np.int64))
