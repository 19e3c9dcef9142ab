"""In which order the weights of a layer get their gradients, and move."""

from __future__ import annotations

import numpy as np

from ..frame import Stage
from .micro import Rows


def arriving(stage: Stage | None, weights: Rows) -> Rows:
    """In the order in which gradients arrive from the outputs: biases first, then column by column, the last first."""
    if stage is None or stage.weight is None:
        return weights
    row, column = np.divmod(weights - stage.weight.start, max(1, stage.weight.shape[1]))
    inside = (row >= 0) & (weights < stage.weight.start + stage.weight.size)
    return weights[np.lexsort((np.where(inside, row, weights), np.where(inside, -column, -len(weights) - 1)))]


def by_rows(stage: Stage | None, weights: Rows) -> Rows:
    """Row by row, each with its bias."""
    if stage is None or stage.weight is None:
        return weights
    columns = stage.weight.shape[1]
    row, column = np.divmod(weights - stage.weight.start, max(1, columns))
    if stage.bias is not None:
        biases = (weights >= stage.bias.start) & (weights < stage.bias.start + stage.bias.size)
        row, column = np.where(biases, weights - stage.bias.start, row), np.where(biases, columns, column)
    return weights[np.lexsort((column, row))]
