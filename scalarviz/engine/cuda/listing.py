"""`launches`: what training a problem launches, found without a GPU: by a device that computes nothing.

For compiling ahead of time what another machine is to run, and for tests of all that is ever launched.
"""

from __future__ import annotations

from ..problem import Problem
from .device import Launch
from .listing_device import ListingDevice
from .trainer import CudaTrainer


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
