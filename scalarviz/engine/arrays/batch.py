"""Means over the batch on NumPy arrays: all samples are the lanes."""

from __future__ import annotations

import numpy as np

from ..problem import Array
from .step import Step


class BatchMean(Step):
    """The mean of each row over all lanes, on every lane; sums are float64."""

    def forward(self, rows: Array, theta: Array) -> None:
        """The means."""
        rows[self.dst] = rows[self.args[0]].mean(axis=1, dtype=np.float64)[:, None]

    def backward(self, rows: Array, adjoints: Array, theta: Array, grad: Array) -> None:
        """To every lane the mean of the adjoints of all."""
        if self.alive:
            means = adjoints[self.dst].mean(axis=1, dtype=np.float64).astype(self.dtype)
            self._add(adjoints, 0, np.broadcast_to(means[:, None], (len(means), adjoints.shape[1])))
