"""How much of a device's memory a problem needs, and what is said where it is not there.

Nothing is estimated: the problem is set up on a device that only counts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from ..problem import Problem
from .block.steps import make_steps
from .device import Device
from .listing_device import ListingDevice
from .machine import Shape
from .state import State

_UNITS = ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"))


class Need(NamedTuple):
    """Bytes: weights with their gradients, the optimiser's state, rows and sums of a chunk, data."""

    weights: int
    state: int
    rows: int
    data: int


def need(problem: Problem, shape: Shape) -> Need:
    """What a problem takes in a device's memory."""
    device = ListingDevice()
    kept = State(problem, device)
    numbers, optimiser = device.nbytes, sum(array.nbytes for array in problem.state)
    steps = make_steps(problem, device, kept, shape)
    rows = device.nbytes - numbers
    steps.samples.load()
    return Need(numbers - optimiser, optimiser, rows, device.nbytes - numbers - rows)


def refusal(problem: Problem, device: Device, shape: Shape, error: str) -> str:
    """What to say where a problem does not fit, however finely it is cut.

    Parameters
    ----------
    problem : Problem
    device : Device
        With what was free before again.
    shape : Shape
        The finest.
    error : str
        What the device said at last.
    """
    free, total = device.memory()
    needed = need(problem, shape)
    sizes = (
        f"weights and gradients {size(needed.weights)}, the optimiser's state {size(needed.state)}, rows of the "
        f"samples that go through together {size(needed.rows)}, data of a call {size(needed.data)}"
    )
    return (
        f"the run does not fit into the GPU's memory: it needs at least {size(sum(needed))} ({sizes}), and "
        f'{size(free)} of {size(total)} are free. {_advice(problem, shape, free)}, or engine="numba" ({error})'
    )


def _advice(problem: Problem, shape: Shape, free: int) -> str:
    batch = problem.batch // 2
    while batch > 0:
        if sum(need(replace(problem, batch=batch), shape)) <= free:
            return f"A smaller batch fits: batch_size={batch}"
        batch //= 2
    layers = [i for i in problem.plan.body.instructions if i.kind in ("layer", "conv")]
    if not layers:
        return "Not even a batch of one sample fits: take a smaller model"
    widest = max(layers, key=lambda i: len(i.weights) * i.args.shape[1])
    return (
        f"Not even a batch of one sample fits: the largest layer has {len(widest.weights):,} x "
        f"{widest.args.shape[1]:,} weights, take smaller ones"
    )


def size(nbytes: int) -> str:
    """A number of bytes as a person reads it: ``"1.2 GB"``."""
    for unit, name in _UNITS:
        if nbytes >= unit:
            return f"{nbytes / unit:.3g} {name}"
    return f"{nbytes} bytes"
