"""`Limits`: what a run adds to the loss, and how large its gradient may become: L1, L2, clipping.

The rule of the optimiser is recorded with them, so that engines need nothing for most of it. What depends on all
weights at once, the value of the penalties and the length of the gradient, is a sum between backward and update.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

TINY = 1e-6
"""What PyTorch adds to the length of a gradient before it divides by it."""
CLIP = 2
"""Its place among the numbers of a step: after the rate and the number of the step."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Penalties and clipping.

    Attributes
    ----------
    l1, l2 : float
        The loss of a step has ``l1 * sum(abs(w)) + l2 * sum(w * w)`` on top, over all weights of the model.
    clip_norm : float or None
        The gradient of the trained weights, penalties included, is scaled down to this length where it is longer.
    clip_value : float or None
        Then each of its numbers is cut to ``-clip_value .. clip_value``.
    """

    l1: float = 0.0
    l2: float = 0.0
    clip_norm: float | None = None
    clip_value: float | None = None

    @property
    def penalised(self) -> bool:
        """Whether the loss has anything on top."""
        return self.l1 != 0 or self.l2 != 0

    @property
    def between(self) -> bool:
        """Whether there is a sum over all weights between backward and update."""
        return self.penalised or self.clip_norm is not None

    def numbers(self, n_weights: int) -> NDArray[np.float64]:
        """What compiled sums are given: the numbers, what is added to the length, the result's place, the weights."""
        length = -1.0 if self.clip_norm is None else self.clip_norm
        return np.array([self.l1, self.l2, length, TINY, CLIP, n_weights])

    def penalty(self, values: NDArray[Any]) -> float:
        """What the loss has on top at these weights, (P,)."""
        if not self.penalised:
            return 0.0
        wide = values.astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            return float(self.l1 * np.abs(wide).sum() + self.l2 * np.square(wide).sum())

    def coefficient(self, values: NDArray[Any], gradient: NDArray[Any], trained: NDArray[np.bool_]) -> float:
        """What the gradient (P,) of the losses, penalties not yet included, is to be multiplied by."""
        if self.clip_norm is None:
            return 1.0
        w, g = values[trained].astype(np.float64), gradient[trained].astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            length = math.sqrt(np.square(g + self.l1 * np.sign(w) + 2 * self.l2 * w).sum())
        return min(1.0, self.clip_norm / (length + TINY)) if length == length else math.nan


NO_LIMITS = Limits()
