"""`Comparison`: which weights moved most between two steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..frame import FloatArray, Tensor
from ..gather import weight_name
from .adding import column

MOST = 10
"""Weights that have a row of their own."""


@dataclass(frozen=True, slots=True)
class Moved:
    """One weight, and where it came from.

    Attributes
    ----------
    index : int
    name : str
    before, after, by : float
    """

    index: int
    name: str
    before: float
    after: float
    by: float


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """The weights at two steps; its text is a table of those that moved most.

    Attributes
    ----------
    first, second : int
        The steps.
    before, after : ndarray, shape (P,)
        The weights at them.
    losses : (float, float)
        Of the two steps, NaN where there was none.
    rows : tuple of Moved
        The weights that differ most.
    changed : int
        How many differ at all.
    """

    first: int
    second: int
    before: FloatArray
    after: FloatArray
    losses: tuple[float, float]
    rows: tuple[Moved, ...]
    changed: int

    @property
    def by(self) -> FloatArray:
        """How far each weight has come (P,)."""
        return self.after - self.before

    def __str__(self) -> str:
        count = len(self.before)
        head = f"Step {self.first:,} to step {self.second:,}: {self.changed:,} of {count:,} weights moved"
        if all(np.isfinite(self.losses)):
            head += f", loss {self.losses[0]:.4g} to {self.losses[1]:.4g}"
        if not self.rows:
            return head
        width = max(len(row.name) for row in self.rows)
        lines = [f"{'':{width}}  {'before':>12}  {'after':>12}  {'moved by':>12}"]
        for row in self.rows:
            sums = column([row.before, row.by], 0.0, row.after, more=False)  # what was, and the move, give what is
            (before, by), after = sums.rows, sums.total
            lines.append(f"{row.name:{width}}  {before:>12}  {after:>12}  {by:>12}")
        if self.changed > len(self.rows):
            lines.append(f"{self.changed - len(self.rows):,} more, each by less")
        return "\n".join([head, "", *lines])

    def __repr__(self) -> str:
        return f"Comparison(steps {self.first:,} and {self.second:,}, {self.changed:,} weights moved)"


def compared(
    steps: tuple[int, int],
    values: tuple[FloatArray, FloatArray],
    losses: tuple[float, float],
    tensors: Sequence[Tensor],
    most: int = MOST,
) -> Comparison:
    """The comparison of flat values (P,) at two steps; a NaN counts as the largest move."""
    before, after = (array.astype(np.float64) for array in values)
    with np.errstate(all="ignore"):
        by = after - before
    same = (before == after) | (np.isnan(before) & np.isnan(after))
    sizes = np.where(same, -1.0, np.where(np.isnan(by), np.inf, np.abs(by)))
    changed = int((~same).sum())
    order = np.argsort(-sizes, kind="stable")[: min(most, changed)]
    rows = tuple(
        Moved(int(i), weight_name(tensors, int(i)), float(before[i]), float(after[i]), float(by[i])) for i in order
    )
    return Comparison(*steps, *values, losses, rows, changed)
