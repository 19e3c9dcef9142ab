"""`Inner`: an opened step, as far as it has come, for panels that stand beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...run.core.frame import Frame
from ...run.source import Source

Floats = NDArray[np.floating]


@dataclass(frozen=True, slots=True, eq=False)
class Inner:
    """What there is of an opened step.

    Attributes
    ----------
    frame : Frame
        Its numbers so far: gradients that have come are `computed`, weights that have moved are at their new values.
    before : Frame
        Where the run stands.
    phase : int
        Zero, forward, loss, backward, gradients, update: 0 to 5.
    deltas : mapping of str to ndarray
        By stage, the derivative of the loss by each number of its row; NaN where it has not come.
    moved : ndarray of bool, shape (P,)
        Which weights are at their new values.
    source : Source
    data : tuple of ndarray
        Inputs and targets that the step learns from, (N, n_inputs) and (N, n_targets).
    samples : str
        Which they are, in words.
    stage : str
        Of the micro-step; empty where it is about none.
    adding : int
        How many samples the gradient of that stage holds so far; 0: all of them.
    """

    frame: Frame
    before: Frame
    phase: int
    deltas: Mapping[str, Floats]
    moved: NDArray[np.bool_]
    source: Source
    data: tuple[Floats, Floats]
    samples: str
    stage: str = ""
    adding: int = 0

    @property
    def added(self) -> str:
        """How many samples that gradient holds so far, in words; empty where it is all of them."""
        return f"{self.adding:,} of {len(self.data[0]):,} samples so far" if 0 < self.adding < len(self.data[0]) else ""
