"""Programs that couple the samples of a batch: how much memory that takes, and what follows their statistics."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..memory import check_memory
from ..tape import Program, Track


def check_coupled(program: Program, batch: int, lane_bytes: int, training: bool = True) -> None:
    """Whether a batch that goes through a program as a whole can do so.

    Parameters
    ----------
    program : Program
    batch : int
    lane_bytes : int
        What a sample takes, values and adjoints.
    training : bool
        Otherwise a sample may be looked at alone: a channel that has one number becomes 0.

    Raises
    ------
    InputError
        It takes more memory than there is, or a variance would be that of one number.
    """
    if not program.couples:
        return
    if training and batch < program.fewest:
        raise InputError(
            "batch normalisation in training takes the variance of a channel over the batch, and a batch of 1 sample "
            "has one number of it: take a larger batch, or call eval() of the norm"
        )
    what = f"{program.n_rows:,} rows with their adjoints for all {batch:,} samples of a batch that is normalised"
    check_memory(batch * lane_bytes, what, "take a smaller batch")


def factor_of(track: Track, batch: int) -> float:
    """What a statistic is multiplied by: PyTorch's running variance is divided by n - 1."""
    n = batch * track.positions
    return n / (n - 1) if n > 1 else 1.0


def follow(
    tracks: tuple[Track, ...], batch: int, stats: NDArray[Any], values: NDArray[Any], frozen: NDArray[Any]
) -> None:  # fmt: skip
    """Let the tracked numbers follow the statistics of a step, one after the other, in float64.

    Parameters
    ----------
    tracks : tuple of Track
    batch : int
    stats : ndarray, shape (tracks,)
        The number of each track's row; anything where it has none.
    values : ndarray, shape (P,)
        Changed in place.
    frozen : ndarray, shape (P,)
        Not 0: stays as it is.
    """
    with np.errstate(all="ignore"):
        for track, stat in zip(tracks, stats.tolist(), strict=True):
            if frozen[track.index]:
                continue
            old = float(values[track.index])
            if track.row < 0:
                values[track.index] = old + 1.0
                continue
            rate = float(np.divide(1.0, float(values[track.count]))) if math.isnan(track.rate) else track.rate
            values[track.index] = (1.0 - rate) * old + rate * (factor_of(track, batch) * stat)
