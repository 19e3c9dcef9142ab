"""What a run takes of memory, from its numbers: said before the first array is made."""

from __future__ import annotations

import numpy as np

from ..memory import check_memory

RECORDED = 86
"""Bytes a weight while a graph is recorded and gathered: the model's own float64, the run's arrays, and indices."""


def check_run(weights: int, dtype: str, states: int, engine: str) -> None:
    """InputError if a run over so many weights needs more memory than is free; a scene asks before it makes a network.

    Parameters
    ----------
    weights : int
    dtype : {"float32", "float64"}
    states : int
        Arrays that the optimiser keeps (Adam two).
    engine : str
        NumPy's update works on all weights at once, with an array for every intermediate number.
    """
    arrays = 12 + 12 * states if engine in ("numpy", "objects") else 6 + 3 * states
    each = max(RECORDED, 22 + arrays * np.dtype(dtype).itemsize)
    check_memory(weights * each, f"a run of {weights:,} weights", "take smaller layers")
