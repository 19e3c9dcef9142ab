"""`Account`: why one weight will move, as plain numbers of one opened step; what the inspector draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

LISTED = 8
"""Terms that stand in a line of their own."""
Float = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """One sample's part of a gradient, before the batch is divided.

    Attributes
    ----------
    sample : int
        Its number in the data; -1: of no sample.
    delta, x : float
        What comes from this sample's loss, and what the weight meets.
    inputs, outputs : ndarray or None
        The sample, and what the network makes of it.
    """

    sample: int
    delta: float
    x: float
    inputs: Float | None = None
    outputs: Float | None = None

    @property
    def product(self) -> float:
        """What it adds to the sum."""
        return self.delta * self.x


@dataclass(frozen=True, slots=True)
class Sign:
    """A piece of a formula: signs alone, or a number with its name."""

    name: str
    value: float | None = None


@dataclass(frozen=True, slots=True)
class RuleLine:
    """One line of the optimiser: ``m' = 0.9 · m + 0.1 · g``, with the numbers of this weight."""

    name: str
    signs: tuple[Sign, ...]
    result: float


@dataclass(frozen=True, slots=True, eq=False)
class Along:
    """The loss of a batch against one weight alone.

    Attributes
    ----------
    values, losses : ndarray, shape (N,)
        Of the weight, in order, and of the batch.
    value, loss, slope : float
        Where the weight stands, the loss there, and what the gradient says of it.
    """

    values: Float
    losses: Float
    value: float
    loss: float
    slope: float


@dataclass(frozen=True, slots=True, eq=False)
class Account:
    """Everything of one weight at one moment.

    Attributes
    ----------
    index : int
        Flat.
    step : int
        Steps done: the account is of the step that comes next.
    edits : int
        Edits that had been done.
    value : float
    frozen : bool
    terms : tuple of Term
        The largest by size, at most `LISTED`.
    count : int
        Terms that there are.
    total : float
        Sum of all of them.
    divisor : float
        What the sum is divided by: the samples of the batch, or the sum of their weights; 1 where nothing is divided.
    gradient : float
        ``total / divisor``.
    state : tuple of (str, float)
        The optimiser's, by name.
    optimizer : str
        Class name.
    lines : tuple of RuleLine
    new : float
        The weight after the step.
    along : Along or None
    follows : bool
        Whether it is no weight, and moves after what the step computes.
    rounded : str
        Of a run in float16: what becomes of the float16 number that the network computes with.
    """

    index: int
    step: int
    edits: int
    value: float
    frozen: bool
    terms: tuple[Term, ...]
    count: int
    total: float
    divisor: float
    gradient: float
    state: tuple[tuple[str, float], ...]
    optimizer: str
    lines: tuple[RuleLine, ...]
    new: float
    along: Along | None = None
    follows: bool = False
    rounded: str = ""

    @property
    def more(self) -> int:
        """Terms that are not listed."""
        return self.count - len(self.terms)

    def rest(self, listed: int) -> float:
        """The sum of all but the first `listed` terms."""
        return self.total - sum(term.product for term in self.terms[:listed])


def largest(products: NDArray[Any], most: int = LISTED) -> NDArray[np.intp]:
    """Places of the `most` largest by size, the largest first; a NaN is larger than any number."""
    sizes = np.where(np.isnan(products), np.inf, np.abs(products))
    return np.argsort(-sizes, kind="stable")[:most]
