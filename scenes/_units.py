"""`Units`: what the numbers of a playground's points are called, and in which units they were before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scalarviz.errors import FileFormatError

Array = NDArray[np.float64]
FARTHEST = 1e150
"""Numbers of a table go so far from 0: their squares are numbers as well."""
NEAREST = 1e-12
"""Of that, the least that is a difference and no rounding."""
AIR = 0.08
"""Share of the reach of the points that a map shows beyond them."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of points: its name, the ends of a map of it, and how its numbers were made of those of before.

    Attributes
    ----------
    name : str
    least, most : float
        In the numbers of the points.
    mean, scale : float
        A number of before is ``mean + scale * number``.
    """

    name: str
    least: float
    most: float
    mean: float = 0.0
    scale: float = 1.0

    def before(self, number: float) -> float:
        """A number in the units of before."""
        return self.mean + self.scale * number

    @property
    def shown(self) -> tuple[float, float]:
        """The ends in the units of before."""
        return self.before(self.least), self.before(self.most)


@dataclass(frozen=True, slots=True)
class Units:
    """The columns of points.

    Attributes
    ----------
    inputs : tuple of Column
        One or two; the second number of points with one input is 0.
    target : Column
        What is to be found; of classes only its name says anything.
    """

    inputs: tuple[Column, ...]
    target: Column

    @property
    def names(self) -> tuple[str, str]:
        """Of the two numbers of a point."""
        first, *rest = self.inputs
        return first.name, rest[0].name if rest else ""


def plain(reach: float, span: float = 1.0) -> Units:
    """Points of a plane around 0, called x and y."""
    ends = -reach, reach
    return Units((Column("x", *ends), Column("y", *ends)), Column("label", -span, span))


def standardised(name: str, numbers: Array) -> tuple[Array, Column]:
    """Numbers (N,) with mean 0 and standard deviation 1, and their column; of equal ones 0.

    Raises
    ------
    FileFormatError
        They are beyond :data:`FARTHEST`, or nearer to each other than float64 can tell.
    """
    low, high = float(numbers.min()), float(numbers.max())
    farthest = max(abs(low), abs(high))
    if farthest > FARTHEST:
        raise FileFormatError(
            f"column {name!r} goes to {farthest:.3g}; allowed: {FARTHEST:g} either side of 0; divide the numbers"
        )
    if low == high:
        return np.zeros_like(numbers), Column(name, -1.0, 1.0, low, 1.0)
    mean, scale = float(numbers.mean()), float(numbers.std())
    if scale <= NEAREST * max(farthest, 1e-150):
        raise FileFormatError(
            f"column {name!r}: its numbers, {low:.6g} to {high:.6g}, are too near to each other to be told apart; "
            "subtract what they have in common, or multiply them"
        )
    found: Array = (numbers - mean) / scale
    return found, Column(name, *around(found), mean, scale)


def around(numbers: Sequence[float] | Array) -> tuple[float, float]:
    """The ends of a map of numbers: a little more than they reach."""
    low, high = float(np.min(numbers)), float(np.max(numbers))
    air = AIR * (high - low) or 1.0
    return low - air, high + air
