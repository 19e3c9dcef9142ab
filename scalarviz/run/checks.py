"""Checks of a run's arguments, and what its plans need."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import rng
from ..errors import InputError, shown

LAST_STEP = 2**53
"""A larger step number is not exact as a float, which Adam's bias correction makes of it."""


def integer(name: str, number: Any, least: int) -> int:
    """`number` as an int of at least `least`; InputError otherwise."""
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < least:
        raise InputError(f"{name} must be a whole number, at least {least}; got {shown(number)}")
    return int(number)


def steps_of(steps: Any) -> int:
    """`steps` as a count of training steps; InputError otherwise."""
    number = integer("steps", steps, 0)
    if number > LAST_STEP:
        raise InputError(f"steps must be at most 2**53; got a number of {number.bit_length()} bits")
    return number


def batch_of(batch_size: int | None, samples: int) -> int:
    """Samples a step, all of them for None; InputError if there are not so many."""
    if batch_size is None:
        return samples
    batch = integer("batch_size", batch_size, 1)
    if batch > samples:
        raise InputError(f"batch_size {batch} is larger than the data set of {samples} samples; at most {samples}")
    return batch


def seed_of(seed: int) -> int:
    """`seed` as an int that keys the random numbers; InputError otherwise."""
    number = integer("seed", seed, 0)
    rng.split(number)
    return number


def flat(values: NDArray[Any], n_weights: int) -> NDArray[Any]:
    """`values` if there is one for every weight; InputError otherwise."""
    if np.shape(values) != (n_weights,):
        raise InputError(f"values must have the shape ({n_weights},), got {np.shape(values)}")
    return values


def check_targets(loss: Any, targets: NDArray[Any], n_outputs: int) -> None:
    """Let a loss refuse targets (N, n_targets) that it cannot use: its own ``check_targets``, where it has one."""
    check = getattr(loss, "check_targets", None)
    if callable(check):
        check(targets, n_outputs)
