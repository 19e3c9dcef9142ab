"""What couples the samples of a batch: the mean of a number over all of them, and numbers that follow such means.

Both exist in recorded graphs alone, which are those of one sample: :func:`batch_mean` is a node that an engine computes
over the whole batch, and :func:`track` says which numbers of the store a training step changes beside its weights.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import StateError, TypeMismatchError
from . import ops, tracing
from .kernel import Kernel, pulls_nothing
from .value import Symbol, Value
from .weight import Weight

# The node's operation. Every sample gets the mean over the batch of what comes down to all of them.
BATCH_MEAN = Kernel(ops.Op("batch_mean", ("x",), "x", ("1",), r"\overline{x}"), pull=pulls_nothing)


@dataclass(frozen=True, slots=True, eq=False)
class Tracked:
    """A number of the store that follows what training steps compute. See :func:`track`."""

    buffer: Weight
    stat: Value | None
    rate: float | None
    positions: int
    count: Weight | None


def batch_mean(x: Value) -> Value:
    """The mean of a number over all samples of the batch, as a node of the graph that is being recorded.

    Raises
    ------
    StateError
        Nothing is being recorded: there is no batch.
    TypeMismatchError
        `x` is no Value.
    """
    _recorder("batch_mean")
    if not isinstance(x, Value):
        raise TypeMismatchError(f"batch_mean: x must be a Value, got {type(x).__name__}")
    return Symbol(BATCH_MEAN, (x,))


def several() -> None:
    """The graph that is being recorded has no meaning for a batch of one sample alone; StateError if none is."""
    _recorder("several").fewest = 2


def track(
    buffer: Weight, stat: Value | None, rate: float | None = None, positions: int = 0, count: Weight | None = None
) -> None:  # fmt: skip
    """Let `buffer` follow `stat`: after every training step it becomes ``(1 - rate) * buffer + rate * stat``.

    `stat` is the same number in the graphs of all samples; None: `buffer` counts steps, one more each. The block of
    `buffer` is held by no optimiser; a frozen one stays as it is. Without a rate it is 1 by the number that `count`
    has become, whose own track comes first, so that `buffer` is the mean of all steps. With `positions` `stat` is a
    variance over so many numbers a sample: it is multiplied by n / (n - 1), n = batch * positions.

    Raises
    ------
    StateError
        Nothing is being recorded.
    """
    _recorder("track").tracks.append(Tracked(buffer, stat, rate, positions, count))


def _recorder(what: str) -> tracing.Recorder:
    recorder = tracing.active()
    if recorder is None:
        raise StateError(f"{what}: a batch exists only in a recorded graph; use this in a model that a Run trains")
    return recorder
