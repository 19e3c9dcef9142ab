"""Numbers from the middle of a call: how an engine whose calls are long is asked for them, and what it gives.

Engines that work in the host's arrays need none of this: their calls are short, and between two of them everything can
be read. One that works in a memory of its own may do thousands of steps between an upload and a download. It looks now
and then whether somebody waits (:attr:`Trainer.asked <scalarviz.engine.problem.Trainer.asked>`), lets the copies run
beside its steps, and hands them over when they are there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Midway:
    """Numbers after one step inside a call. All arrays are copies that nobody writes to any more.

    Attributes
    ----------
    values, gradient, previous : ndarray, shape (P,)
        Weights after the step; the step's gradient; the weights that it was taken at. In the run's dtype.
    losses : ndarray of float64, shape (steps,)
        Of the steps of this call so far, at least one; the last is that of the step.
    """

    values: NDArray[Any]
    gradient: NDArray[Any]
    previous: NDArray[Any]
    losses: NDArray[np.float64]


class Readback(Protocol):
    """Somebody waits for numbers."""

    def give(self, now: Midway) -> None:
        """Hand them over, in the thread that called ``train`` and before that returns.

        Who is not given anything by then gets the numbers after the call, so a readback may also be dropped.
        """
        ...


Asked = Callable[[], Readback | None]
"""Whether somebody waits who was not told of before. Called as often as one likes: it looks at an empty queue."""
