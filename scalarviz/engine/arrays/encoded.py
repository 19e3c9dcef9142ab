"""Samples with their features, as engines take them: made piece by piece, so that nothing lies in memory twice."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...tape import Plan
from ..data import Data, empty, laid, pieces
from .plan import PlanRunner


def encoded(
    plan: Plan, dtype: Any, whole: bool, inputs: NDArray[Any], targets: NDArray[Any], ours: bool = False
) -> Data:
    """Inputs (N, n_inputs) and targets (N, n_targets) with the plan's features.

    Parameters
    ----------
    plan : Plan
    dtype : dtype-like
        float32 or float64, of the run.
    whole : bool
        Whether steps take all samples in order; see :meth:`scalarviz.engine.data.Data.lay`.
    inputs, targets : ndarray
        Whole numbers that are smaller than the run's are kept as they are.
    ours : bool
        Nobody writes to these arrays: those of the run's dtype are kept too, and nothing that is kept needs a copy.

    Raises
    ------
    InputError
        A number is too large for the dtype.
    """
    runner, real, count = PlanRunner(plan, dtype), np.dtype(dtype), len(inputs)
    given = [array for array in (inputs, targets) if array.shape[1]]
    features = 0 if plan.encode is None else len(plan.encode.outputs)
    widths = [array.shape[1] for array in given] + [features]
    kept = [is_kept(array.dtype, real) or (ours and array.dtype == real) for array in given] + [False]
    parts: list[NDArray[Any]] = []
    rooms: list[NDArray[Any]] = []  # for each of the given, and the features, where it goes
    for k, stays in enumerate(kept):
        if stays:
            parts.append(laid(given[k].T, whole) if ours else np.array(given[k].T, order="C" if whole else "F"))
            rooms.append(parts[-1])
        elif k and not kept[k - 1]:
            rooms.append(parts[-1])  # of one dtype: side by side
        else:
            following = next((j for j in range(k, len(kept)) if kept[j]), len(kept))
            room = empty(sum(widths[k:following]), count, real, whole)
            if len(room):
                parts.append(room)
            rooms.append(room)
    _fill(runner, given, kept, rooms, widths)
    return Data(real, *parts)


def is_kept(given: np.dtype[Any], real: np.dtype[Any]) -> bool:
    """Whether numbers stay in the dtype in which they came: whole ones that are smaller than the run's."""
    return given.kind in "biu" and given.itemsize < real.itemsize and given.isnative


def _fill(
    runner: PlanRunner, given: list[NDArray[Any]], kept: list[bool], rooms: list[NDArray[Any]], widths: list[int]
) -> None:  # fmt: skip
    """Convert what is not kept, and compute the features."""
    count = len(given[0])
    if all(kept[:-1]) and runner.encoder is None:
        return
    places: list[slice] = []
    used: dict[int, int] = {}
    for room, width in zip(rooms, widths, strict=True):
        first = used.get(id(room), 0)
        places.append(slice(first, first + width))
        used[id(room)] = first + width
    for part in pieces(count, sum(widths)):
        for k, array in enumerate(given):
            if not kept[k]:
                _convert(runner, array[part].T, rooms[k][places[k], part])
        if runner.encoder is not None:
            numbers = np.concatenate([rooms[k][places[k], part] for k in range(len(given))])
            rooms[-1][places[-1], part] = runner.features(runner.converted(numbers))


def _convert(runner: PlanRunner, numbers: NDArray[Any], to: NDArray[Any]) -> None:
    try:
        with np.errstate(over="raise"):
            to[...] = numbers
    except FloatingPointError:
        runner.converted(numbers)  # says which
        raise
