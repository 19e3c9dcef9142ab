"""The loss scale of a run in float16: what keeps small gradients above the smallest number of a float16.

The rule is that of PyTorch's ``GradScaler``. Its three numbers stand in the store behind the weights, as a norm's
running statistics do: so a file holds them, and going back in time brings them back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...checks import integer
from ...engine.arrays.rows import float16
from ...engine.problem import HALF, Problem
from ...errors import InputError, ScalarvizError, shown
from ...nn._buffer import Buffer
from .frame import Frame, Tensor

FIRST = 65536
"""Where a dynamic loss scale begins."""
GOOD_STEPS = 2000
"""After so many steps in a row whose gradient is finite it doubles."""
LARGEST = 2**40
NAME = "loss_scale"
"""What the three numbers are called in frames and files."""

Given = int | Literal["dynamic"] | None


class LossScale:
    """The rule by which the loss scale changes.

    `given`: a whole number stays as it is; None is ``"dynamic"``.

    `buffer`: the loss scale, the good steps since it changed, the skipped steps; shape (3,).
    """

    def __init__(self, given: Given) -> None:
        self.fixed = isinstance(given, int)
        self.buffer = Buffer([given if isinstance(given, int) else FIRST, 0, 0], whole=True)

    def numbers(self, problem: Problem) -> NDArray[Any]:
        """The three numbers of a problem, live."""
        return problem.store.value[self.buffer.start : self.buffer.start + self.buffer.size]

    def skips(self, problem: Problem) -> bool:
        """Whether a step is skipped where its gradient is not finite.

        A loss scale of 1 cannot be halved: then the gradient itself is too large, and the step stands.
        """
        return not self.fixed and bool(self.numbers(problem)[0] > 1)

    def follow(self, problem: Problem) -> bool:
        """Count the step that was done; False where the optimiser must not have seen its gradient."""
        numbers = self.numbers(problem)
        if self.skips(problem) and not np.isfinite(problem.store.grad[problem.trained]).all():
            return False
        numbers[1] += 1
        if not self.fixed and numbers[1] >= GOOD_STEPS:
            numbers[0], numbers[1] = min(2 * numbers[0], LARGEST), 0
        return True

    def skip(self, problem: Problem) -> None:
        """Halve the loss scale after a step that was taken back, which does not count for the optimiser."""
        numbers = self.numbers(problem)
        numbers[:] = max(1, numbers[0] // 2), 0, numbers[2] + 1
        problem.t_start -= 1


def float16_weights(values: NDArray[Any], tensors: Sequence[Tensor]) -> NDArray[Any]:
    """A copy of flat values (P,) as the network computes with them: weights rounded to float16, buffers as they are."""
    found = float16(values)
    for tensor in tensors:
        if tensor.buffer:
            found[tensor.span] = values[tensor.span]
    return found


class Told(NamedTuple):
    """What a frame of a run in float16 says of its loss scale."""

    scale: int
    skipped: int


def told_of(frame: Frame, tensors: Sequence[Tensor] = ()) -> Told | None:
    """Loss scale and skipped steps at a frame, which may know its `tensors` itself; None where there is no scale."""
    for tensor in tensors if frame.forward is None else frame.forward.tensors:
        if tensor.name == NAME and tensor.role == "count":
            scale, _, skipped = frame.values[tensor.span]
            return Told(int(scale), int(skipped))
    return None


def loss_scale_of(given: Given, dtype: str) -> LossScale | None:
    """The loss scale of a run of `dtype`; None where it has none.

    Raises InputError: neither ``"dynamic"`` nor a whole number from 1 to 2**40, or the run is not in float16.
    """
    if dtype != HALF:
        if given is not None:
            raise InputError(f"loss_scale={shown(given)} needs dtype='float16', this run has dtype={shown(dtype)}")
        return None
    if given is None or given == "dynamic":
        return LossScale(given)
    try:
        return LossScale(integer("loss_scale", given, 1, LARGEST))
    except ScalarvizError as error:
        said = f"loss_scale must be 'dynamic' or a whole number from 1 to 2**40, got {shown(given)}"
        raise type(error)(said) from None
