"""Which mistake in a module gives the outputs that a pupil's gave: a ready-made one is changed and compared."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .guesses import Floats
from .made import Made, outputs_of, size_of


def cause_of(oracle: Made, rows: Floats, numbers: Floats, got: Floats, tolerance: float) -> tuple[str, dict[str, Any]]:
    """Which change of the ready-made one gives the pupil's outputs, with its details."""

    def same(other: Any) -> bool:
        array = np.array(other)
        return array.shape == got.shape and bool(
            np.all(np.abs(array - got) <= tolerance * np.maximum(1.0, np.abs(got)))
        )

    def asked(weights: Floats) -> list[list[float]]:
        oracle.put(weights)
        return [[v.data for v in outputs_of(oracle, row)] for row in rows.tolist()]

    roots = [outputs_of(oracle, row) for row in rows.tolist()]
    wanted = np.array([[v.data for v in found] for found in roots])
    if same(-wanted):
        return "sign", {}
    last = roots[0][0]
    if len(last.parents) == 1 and same([[v.parents[0].data for v in found] for found in roots]):
        return "activation", {"op": last.op}
    biases = np.array(["bias" in name for name in oracle.weight_names()])
    if biases.any() and same(asked(np.where(biases, 0.0, numbers))):
        return "bias", {}
    ratio = got / np.where(wanted == 0, np.nan, wanted)
    if np.allclose(ratio, ratio.flat[0], rtol=1e-5):
        return "factor", {"factor": f"{float(ratio.flat[0]):.4g}"}
    for order in _orders(oracle):
        if same(asked(numbers[order])):
            return "inputs", {}
    for k in range(len(numbers)):
        for cut in (np.arange(len(numbers)) <= k, np.arange(len(numbers)) == k):
            for keep in (cut, ~cut):
                if same(asked(np.where(keep | biases, numbers, 0.0))):
                    return "terms", {}
    return "", {}


def _orders(oracle: Made) -> list[NDArray[Any]]:
    """The weights of each matrix in other orders: backwards, rows and columns exchanged."""
    found, start = [], 0
    for part in oracle.parts:
        size, shape = size_of(part), getattr(part, "shape", ())
        place = np.arange(start, start + size)
        for changed in (place[::-1], place.reshape(shape).T.ravel() if len(shape) == 2 else place):
            order = np.arange(oracle.size)
            order[start : start + size] = changed
            if (order != np.arange(oracle.size)).any():
                found.append(order)
        start += size
    return found
