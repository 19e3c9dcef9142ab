"""Four samples of two bits each: the table of what a network makes of them, and how many it has right."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import scalarviz as sv
from scalarviz.run import Moment
from scalarviz.run.panels import Table

LARGE = 1e5
"""From here on four decimals would fill a cell with digits that say nothing."""
COUNTS = ("None", "One", "Two", "Three")
Float = NDArray[np.floating]


@dataclass(frozen=True)
class TwoBits:
    """What two bits should become, and what a network has made of them.

    Parameters
    ----------
    bits : ndarray, shape (4, 2)
    wanted : ndarray, shape (4, 1)
    is_right : callable
        Of outputs (4, 1) and `wanted`: which are right, as bools.
    inputs : callable
        The bits as the network takes them.
    """

    bits: Float
    wanted: Float
    is_right: Callable[[Float, Float], NDArray[np.bool_]]
    inputs: Callable[[Float], Float] = lambda bits: bits

    def table(self, title: str, wanted: str, computed: str) -> Table:
        """A panel with a row a sample; the columns of targets and outputs have these names."""
        return Table(title, self.rows, ("x  y", wanted, computed, "error"), lines=len(self.bits))

    def rows(self, moment: Moment) -> list[tuple[str, ...]]:
        """What the table says of a moment."""
        found = self.found(moment)[:, 0].tolist()
        return [
            (f"{x:.0f}  {y:.0f}", f"{wanted:.0f}", _decimals(said), _decimals(said - wanted))
            for (x, y), wanted, said in zip(self.bits, self.wanted[:, 0], found, strict=True)
        ]

    def right(self, source: Moment | sv.Run) -> int:
        """How many outputs are, at a moment or as a run stands."""
        return int(self.is_right(self.found(source), self.wanted).sum())

    def found(self, source: Moment | sv.Run) -> Float:
        """The four outputs (4, 1)."""
        return source.predict(self.inputs(self.bits))

    def claim(self, moment: Moment) -> str:
        """How many of the four are right at a moment."""
        count = self.right(moment)
        if count == len(self.bits):
            return "All four answers are now right."
        return f"{COUNTS[count]} of the four answers {'is' if count == 1 else 'are'} right."

    def solved(self, moment: Moment) -> bool:
        """Whether all four are right: the loss falls by half as well where only some are."""
        return self.right(moment) == len(self.bits)


def _decimals(number: float) -> str:
    """Four of them, with a real minus; of what is large only the power of ten, and ``NaN`` as everywhere on screen."""
    if math.isnan(number):
        return "NaN"
    sign = "\N{MINUS SIGN}" if number < 0 else ""
    size = abs(number)
    if math.isinf(size):
        return f"{sign or '+'}\N{INFINITY}"
    if size < LARGE:
        text = f"{size:.4f}"
        return text if not float(text) else sign + text
    mantissa, power = f"{size:.2e}".split("e")
    return f"{sign}{mantissa}e{int(power)}"
