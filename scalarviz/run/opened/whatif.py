"""What if one weight were another number: the loss of the batch against it alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .taken import Taken

Float = NDArray[np.float64]
POINTS = 33
REACH = 4.0
"""The range reaches at least so many times as far as the step goes."""


@dataclass(frozen=True, slots=True, eq=False)
class Along:
    """The loss of one batch along one weight.

    Attributes
    ----------
    index : int
    weights, losses : ndarray of float64, shape (points,)
        Values of the weight, rising, its own in the middle; and the loss of the batch at each, all other weights as
        they are, computed in the run's dtype.
    value, after : float
        The weight before the step, and after it (NaN where that is not known).
    loss, slope : float
        At `value`, in float64; the slope is the gradient.
    """

    index: int
    weights: Float
    losses: Float
    value: float
    after: float
    loss: float
    slope: float

    @property
    def tangent(self) -> Float:
        """What the gradient says of the losses: a straight line through the loss of now."""
        return self.loss + self.slope * (self.weights - self.value)


def places(value: float, after: float, others: Float, points: int) -> Float:
    """Where to look: around `value` as far as its tensor's numbers are large, and well beyond `after`."""
    finite = np.abs(others[np.isfinite(others)])
    largest = float(finite.max(initial=0.0))
    usual = largest * float(np.sqrt(np.mean(np.square(finite / largest)))) if largest > 0 else 0.0
    moved = abs(after - value)
    reach = max(abs(value), usual, REACH * moved if np.isfinite(moved) else 0.0) or 1.0
    with np.errstate(all="ignore"):  # a run that diverged
        found: Float = value + reach * np.linspace(-1.0, 1.0, points)
    return found


def losses_at(taken: Taken, index: int, weights: Float) -> Float:
    """The loss of the batch with the weight at flat `index` at each of `weights`, as the run's dtype computes it."""
    runner, values = taken.network.kernel, taken.values.copy()
    row = np.array([runner.plan.body.loss])
    size, held = len(taken.batch), None
    found = np.zeros(len(weights))
    lanes = max(1, taken.network.lanes)
    with np.errstate(all="ignore"):
        if taken.beside is not None:
            every = np.arange(runner.plan.body.n_rows)
            held = runner.rows(values, taken.beside, every, taken.draws(0))[:, 0]
        for start in range(0, size, lanes):
            data = taken.numbers(slice(start, min(start + lanes, size)))
            for k, weight in enumerate(weights):
                values[index] = weight
                found[k] += runner.rows(values, data, row, taken.draws(start), held)[0].sum(dtype=np.float64)
    return found * taken.scale
