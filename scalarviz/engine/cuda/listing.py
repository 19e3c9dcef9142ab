"""`launches`: what training a problem launches, found without a GPU: by a device that computes nothing.

For compiling ahead of time what another machine is to run, and for tests of all that is ever launched.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..problem import Array, Problem
from .device import Buffer, Launch, Now
from .trainer import CudaTrainer


class ListingDevice:
    """See :class:`scalarviz.engine.cuda.device.Device`. Notes what it is asked to do, and has no memory.

    Attributes
    ----------
    launches : list of Launch
        All that was recorded.
    """

    name = "a list"
    remark = "computes nothing"

    def __init__(self) -> None:
        self.launches: list[Launch] = []

    def empty(self, size: int, dtype: Any) -> Buffer:
        """No memory, for so many numbers."""
        return Buffer(None, 0, size, np.dtype(dtype))

    def upload(self, to: Buffer, array: Array) -> None:
        """Nothing is kept."""

    def download(self, source: Buffer, array: Array) -> None:
        """Nothing was computed: zeros."""
        array.fill(0)

    def wait(self) -> None:
        """All is done at once."""

    def copy(self, to: Buffer, source: Buffer) -> None:
        """Nothing is there."""

    def mark(self) -> Now:
        """Now."""
        return Now()

    def read_aside(self, copies: Sequence[tuple[Buffer, Array]]) -> Now:
        """Nothing was computed."""
        return Now()

    def pinned(self, size: int, dtype: Any) -> Array:
        """Zeros."""
        return np.zeros(size, dtype)

    def record(self, launches: Sequence[Launch]) -> _Noted:
        """Note them."""
        self.launches.extend(launches)
        return _Noted()

    def close(self) -> None:
        """Nothing is held."""


class _Noted:
    """See :class:`scalarviz.engine.cuda.device.Recorded`."""

    def run(self, times: int = 1) -> None:
        """Nothing is computed."""


def launches(problem: Problem) -> list[Launch]:
    """What is launched for a gradient, and for a call of some steps.

    Parameters
    ----------
    problem : Problem
        Its gradient and losses are zero afterwards; weights and states are what they were.
    """
    device = ListingDevice()
    kept = [array.copy() for array in (problem.store.value, problem.previous, *problem.state)]
    trainer = CudaTrainer(problem, device=device)
    try:
        trainer.gradient(0)
        trainer.train(0, 2, 0.0)
    finally:
        for array, numbers in zip((problem.store.value, problem.previous, *problem.state), kept, strict=True):
            array[:] = numbers
    return device.launches
