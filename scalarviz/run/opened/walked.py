"""`Walked`: what a walk through one training step may ask of it, whether a run does it or a recording has it."""

from __future__ import annotations

from collections.abc import Mapping, Sized
from math import nan
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .micro import MicroStep, PhaseSpan
from .update import Update

Float = NDArray[np.float64]


class Made(NamedTuple):
    """What a gradient is the sum of.

    Attributes
    ----------
    terms : int
        How many ``delta * x`` there are; 0: nobody knows.
    delta, x : float
        Of the only one; NaN of several.
    bias : bool
        Whether that is of a bias, where `x` is 1.
    """

    terms: int
    delta: float = nan
    x: float = nan
    bias: bool = False


class Walked(Protocol):
    """One opened step, as :class:`~scalarviz.run.opened.opened.Opened` and what is read of a recording have it."""

    trial: bool
    step: int
    lr: float
    loss: float
    gradient: Float
    shown: int

    @property
    def batch(self) -> Sized:
        """Its samples."""

    @property
    def divisor(self) -> float:
        """What the sum of their terms is divided by."""

    @property
    def rows(self) -> Mapping[str, Float]:
        """By stage, (outputs, shown); of a recorded step of a batch there are none."""

    @property
    def deltas(self) -> Mapping[str, Float]:
        """Likewise the derivative of the loss by each."""

    @property
    def joined(self) -> Mapping[str, Float]:
        """The deltas added up over the batch, (outputs,)."""

    @property
    def means(self) -> Mapping[str, Float]:
        """By stage, the mean of its numbers over the batch, (outputs,)."""

    @property
    def inputs(self) -> Float:
        """Of the samples shown, (n_inputs, shown)."""

    @property
    def targets(self) -> Float:
        """Likewise, (n_targets, shown)."""

    @property
    def new_values(self) -> Float:
        """The weights after the step (P,)."""

    def micro_steps(self) -> tuple[MicroStep, ...]:
        """The small steps, in order."""

    def phases(self) -> tuple[PhaseSpan, ...]:
        """The six phases that they are in."""

    def made(self, index: int) -> Made:
        """What the gradient of a weight is the sum of."""

    def products(self, index: int) -> Float | None:
        """The terms of a weight's gradient, one a sample of the batch; None where they are not known."""

    def update(self, weight: int) -> Update:
        """What the optimiser makes of a weight."""

    def follows(self, weight: int) -> bool:
        """Whether it is a statistic that follows the step."""
