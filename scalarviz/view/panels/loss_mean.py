"""What a noisy curve says: the mean of neighbouring steps, and how far the steps' own losses lie from it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]
SHARE = 1 / 50
"""Of the steps that are drawn, so many are averaged on either side."""


class Reduced(NamedTuple):
    """A curve as it is drawn: steps, its line, the least and the largest loss of the steps around each point."""

    steps: Array
    line: Array
    low: Array
    high: Array

    @property
    def spread(self) -> bool:
        """Whether there is something beside the line."""
        return self.low is not self.line


def thin_out(steps: Array, losses: Array, columns: int) -> Reduced:
    """Mean, least and largest loss of at most `columns` groups of neighbouring steps."""
    count = len(steps)
    if count <= columns:
        return Reduced(steps.astype(float), losses, losses, losses)
    begin = np.linspace(0, count, columns + 1).astype(np.intp)[:-1]
    sizes = np.diff(np.append(begin, count))
    mean = np.add.reduceat(losses, begin) / sizes
    middle = np.add.reduceat(steps, begin) / sizes
    # It begins with the first step's own loss. It ends at the last step, but with a mean as everywhere: the loss of one
    # batch would be a cliff at its end.
    mean[0], middle[0], middle[-1] = losses[0], steps[0], steps[-1]
    return Reduced(middle, mean, np.minimum.reduceat(losses, begin), np.maximum.reduceat(losses, begin))


def averaged(curve: Reduced) -> Reduced:
    """The same with a line through the middle of the noise.

    Towards the first step fewer are averaged, to its own loss; at the last one the line ends at the mean of the last.
    """
    half, losses = int(len(curve.line) * SHARE), curve.line
    if not half:
        return curve
    place = np.arange(len(losses))
    left = np.minimum(half, place)
    right = np.minimum(np.minimum(half, place), place[::-1])
    total, count = np.zeros(len(losses)), np.zeros(len(losses))
    for away in range(-half, half + 1):  # no running sum: after a loss of 1e30 it would forget the small ones
        some = (-left <= away) & (away <= right)
        total[some] += losses[place[some] + away]
        count[some] += 1
    return curve._replace(line=total / count)
