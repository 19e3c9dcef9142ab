"""What a problem launches on a GPU, found without one."""

from __future__ import annotations

from scalarviz.engine.cuda.device import Launch, ListingDevice
from scalarviz.engine.cuda.trainer import CudaTrainer
from scalarviz.engine.problem import Problem


def launches(problem: Problem) -> list[Launch]:
    """What is launched for a gradient, and for a call of some steps; the problem's gradient is zero afterwards."""
    device, steps = ListingDevice(), 64
    held = (problem.store.value, problem.previous, *problem.state)
    kept = [array.copy() for array in held]
    try:
        trainer = CudaTrainer(problem, device=device)
        trainer.gradient(0)
        trainer.train(0, steps, 0.0)
    finally:
        for array, numbers in zip(held, kept, strict=True):
            array[:] = numbers
    return device.launches
