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
        Its gradient is zero afterwards; weights and states are what they were.
    """
    return _listed(problem)[0]


def launches_a_step(problem: Problem) -> float:
    """How many launches a step is, in a call of many; of a problem as :func:`launches` takes it."""
    return _listed(problem)[1]


def _listed(problem: Problem) -> tuple[list[Launch], float]:
    device, steps = ListingDevice(), 64
    held = (problem.store.value, problem.previous, *problem.state)
    kept = [array.copy() for array in held]
    try:
        trainer = CudaTrainer(problem, device=device)
        trainer.gradient(0)
        before = device.done
        trainer.train(0, steps, 0.0)
    finally:
        for array, numbers in zip(held, kept, strict=True):
            array[:] = numbers
    return device.launches, (device.done - before) / steps
