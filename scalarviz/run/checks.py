"""Checks of a run's arguments, and what its plans need."""

from __future__ import annotations

import math
import threading
from typing import Any

from numpy.typing import NDArray

from .. import rng
from ..checks import integer, real_array
from ..errors import InputError, TypeMismatchError, shown
from ..scalar.single import as_number
from ..tape import Tape

LAST_STEP = 2**53
"""A larger step number is not exact as a float, which Adam's bias correction makes of it."""


def steps_of(steps: Any) -> int:
    """`steps` as a count of training steps; InputError otherwise."""
    return integer("steps", steps, 0, LAST_STEP)


def batch_of(batch_size: int | None, samples: int, sampling: str) -> int:
    """Samples a step, as many as there are for None; InputError if there cannot be so many."""
    if batch_size is None:
        return samples
    batch = integer("batch_size", batch_size, 1)
    if batch > samples and sampling == "epochs":
        raise InputError(
            f"batch_size {shown(batch)} is larger than the data set of {samples} samples; at most {samples}, or draw "
            'them with sampling="replacement"'
        )
    if batch > rng.MOST_DRAWN:
        raise InputError(f"batch_size must be at most 2**32, got {shown(batch)}")
    return batch


def seed_of(seed: int) -> int:
    """`seed` as an int that keys the random numbers; InputError otherwise."""
    number = integer("seed", seed, 0)
    rng.split(number)
    return number


def of_values(given: Any, what: str) -> None:
    """Raise TypeMismatchError unless `given` can be called with Values: a class makes objects of them."""
    if isinstance(given, type):
        name = given.__name__[:60]
        raise TypeMismatchError(
            f"{what} must be a module or a function of Values, got the class {name}; give an object of it, {name}()"
        )
    if not callable(given):
        raise TypeMismatchError(f"{what} must be a module or a function of Values, got {type(given).__name__}")


def flat(values: NDArray[Any], n_weights: int) -> NDArray[Any]:
    """`values` if there is one for every weight; an error otherwise."""
    found = real_array(values, "values")
    if found.shape != (n_weights,):
        raise InputError(f"values must have the shape ({n_weights},), got {found.shape}")
    return found


def positive(seconds: float, what: str) -> float:
    """`seconds` as a float; an error if it is no finite number above 0."""
    number = as_number(seconds, what)
    if not (math.isfinite(number) and number > 0):
        raise InputError(f"{what} must be a finite number of seconds > 0, got {shown(seconds)}")
    return number


def not_negative(seconds: float, what: str) -> float:
    """`seconds` as a float; an error if it is no finite number from 0 on."""
    number = as_number(seconds, what)
    if not (math.isfinite(number) and number >= 0):
        raise InputError(f"{what} must be a finite number of seconds >= 0, or None for no limit; got {shown(seconds)}")
    return number


def waiting(seconds: float, what: str) -> float:
    """`seconds` as a float that a thread can wait; an error if it is no number from 0 to `threading.TIMEOUT_MAX`."""
    number = as_number(seconds, what)
    if not 0 <= number <= threading.TIMEOUT_MAX:
        raise InputError(
            f"{what} must be a number of seconds from 0 to {threading.TIMEOUT_MAX:.3g}, got {shown(seconds)}"
        )
    return number


def check_targets(loss: Any, targets: NDArray[Any], tape: Tape) -> None:
    """Let a recorded loss refuse targets (N, n_targets) that it cannot use, by its ``check_targets`` where it has one.

    The losses of classes that it calls are asked, too.
    """
    check = getattr(loss, "check_targets", None)
    if callable(check):
        check(targets, len(tape.outputs))
    for place, part, classes in tape.classes:
        if part is not loss:
            part.check_targets(targets[:, place : place + 1], classes)
