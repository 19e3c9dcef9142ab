"""Divergence: a loss or weight has become NaN or infinite. Which step it was, what is said of it, and the way back."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...engine.problem import Rates, Trainer
from ...errors import DivergedError
from ...tape.half import TOO_LARGE

if TYPE_CHECKING:
    from .training import Training


def is_finite(trainer: Trainer, losses: NDArray[np.float64]) -> bool:
    """Whether a call left numbers to go on with."""
    good = math.isfinite(losses[0]) if len(losses) == 1 else bool(np.isfinite(losses).all())
    return good and trainer.finite()


def stop_at_divergence(training: Training, kept: bool, losses: NDArray[np.float64], lr: Rates) -> None:
    """Replay a call to its first step with a loss or weight that is not finite (the same bits), then raise.

    `kept`: whether the call can be taken back.
    """
    bad = np.flatnonzero(~np.isfinite(losses))
    last = int(bad[0]) + 1 if len(bad) else len(losses)
    given = training.problem.previous
    trainer = training.trainer
    for count in range(max(1, last - 1), last + 1) if kept else ():
        trainer.rewind()
        given = training.problem.store.value.copy()
        losses = training._train(trainer, count, lr)  # a bad update shows in the next step's loss
        if not is_finite(trainer, losses):
            break
    training._book(losses, lr)
    said = f"training diverged at step {training.steps}: the loss is {losses[-1]:g}{_first(training)}"
    raise diverged(training, said, given, float(training.lr if training.lr is not None else math.nan))


def _first(training: Training) -> str:
    """The first number that is not finite: a weight, or, where all are finite, one that follows the batches."""
    values = training.problem.store.value
    wrong = np.flatnonzero(~np.isfinite(values))
    if not len(wrong):
        return ""
    name = training._name_of(int(wrong[0]))
    if wrong[0] < training.problem.n_weights:
        return f"; the first weight is {name}"
    found = f"{name} has become {values[wrong[0]]:g}"
    return f"; the weights are finite, {found}: what it follows is too large for {values.dtype} (scale the inputs)"


def diverged(training: Training, said: str, given: NDArray[Any], lr: float) -> DivergedError:
    """What happened in a step that was taken at the weights `given`, and the way back from there.

    A gradient that is a NaN makes NaNs of the optimiser's state, which setting a weight to a number does not mend.
    """
    wrong, problem = np.flatnonzero(~np.isfinite(given)), training.problem
    spoilt = np.any([np.isnan(array) for array in problem.state], axis=0) & problem.trained
    if len(wrong):
        said = f"{said}. {training._name_of(int(wrong[0]))} was {given[wrong[0]]:g} before it"
        if spoilt.any():
            return DivergedError(f"{said}; the optimiser's state is spoilt by it", spoilt=True)
        return DivergedError(f"{said}: set it to a number, or load others")
    large = np.flatnonzero(np.abs(given[: problem.n_weights]) >= TOO_LARGE)
    if training._scale is not None and len(large):
        name = training._name_of(int(large[0]))
        return DivergedError(
            f"{said}. {name} was {given[large[0]]:g} before it, and float16 holds numbers up to 65,504: set it to "
            'a smaller one, or take dtype="float32"'
        )
    before = np.flatnonzero(spoilt & np.isfinite(problem.store.grad))
    if len(before):
        name = training._name_of(int(before[0]))
        return DivergedError(f"{said}. The optimiser's state of {name} was nan before it", spoilt=True)
    scale = ""
    if training._scale is not None and training._scale.fixed and not np.isfinite(problem.store.grad).all():
        now = int(training._scale.numbers(problem)[0])
        scale = f", and loss_scale={now:,} is not halved where a gradient overflows (loss_scale='dynamic' is)"
    return DivergedError(f"{said}. lr is {lr:g}{scale}", _last_good(training))


def _last_good(training: Training) -> int:
    """The last step after which the loss was no larger than at first: before the last finite one it may be huge."""
    steps, losses = training.history.step, training.history.loss
    return int(steps[np.flatnonzero(losses <= losses[0])[-1]]) - 1 if losses[0] == losses[0] else training.steps - 1
