"""Links between the samples of a batch: the mean of a number over all samples, and numbers that follow such means.

Both exist only in recorded graphs, which describe one sample. :func:`batch_mean` is a node that an engine computes
over the whole batch; :func:`track` names numbers of the store that a training step changes beside its weights.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import StateError, TypeMismatchError
from . import ops, tracing
from .kernel import Kernel, pulls_nothing
from .value import Symbol, Value
from .weight import Weight

# The operation of the node. Every sample gets the mean over the batch of all upstream gradients.
BATCH_MEAN = Kernel(ops.Op("batch_mean", ("x",), "x", ("1",), r"\overline{x}"), pull=pulls_nothing)


@dataclass(frozen=True, slots=True, eq=False)
class Tracked:
    """A number of the store that follows results of training steps. See :func:`track`."""

    buffer: Weight
    stat: Value | None
    rate: float | None
    positions: int
    count: Weight | None


def batch_mean(x: Value) -> Value:
    """Return the mean of a number over all samples of the batch, as a node of the recorded graph.

    Raises
    ------
    StateError
        No graph is being recorded, so there is no batch.
    TypeMismatchError
        `x` is no Value.
    """
    _recorder("batch_mean")
    if not isinstance(x, Value):
        raise TypeMismatchError(f"batch_mean: x must be a Value, got {type(x).__name__}")
    return Symbol(BATCH_MEAN, (x,))


def several() -> None:
    """Declare that the recorded graph needs at least two samples; StateError if none is recorded."""
    _recorder("several").fewest = 2


def track(
    buffer: Weight, stat: Value | None, rate: float | None = None, positions: int = 0, count: Weight | None = None
) -> None:  # fmt: skip
    """Let `buffer` follow `stat`: after each training step it becomes ``(1 - rate) * buffer + rate * stat``.

    `stat` is the same number in the graphs of all samples; None: `buffer` counts the steps. No optimiser holds the
    block of `buffer`; a frozen one stays as it is. Without `rate` the rate is 1 / `count`, so that `buffer` is the mean
    of all steps; `count` must be tracked before. With `positions`, `stat` is a variance over that many numbers in each
    sample: it is multiplied by n / (n - 1), with n = batch * positions.

    Raises
    ------
    StateError
        No graph is being recorded.
    """
    _recorder("track").tracks.append(Tracked(buffer, stat, rate, positions, count))


def _recorder(what: str) -> tracing.Recorder:
    recorder = tracing.active()
    if recorder is None:
        raise StateError(f"{what}: a batch exists only in a recorded graph; use {what} in a model that a Run trains")
    return recorder
