"""Dropout: nothing happens but in training."""

from __future__ import annotations

import numpy as np

from ...scalar import tracing
from ...scalar.mask import factors
from .alike import Array, both, values
from .table import Call, operator


@operator("Dropout")
def dropout(call: Call) -> list[Array]:
    """In training each number is 0 with the probability `ratio`, else larger, so that the mean is kept.

    A graph that is recorded draws its masks anew at every step, as `nn.Dropout` does; by hand the mask is that of the
    node's seed, as NumPy draws it.
    """
    x = call.input(0)
    ratio = float(call.numbers(1, "the ratio").item()) if call.given(1) else 0.5
    training = bool(call.numbers(2, "whether it is in training").item()) if call.given(2) else False
    if not 0.0 <= ratio < 1.0:
        raise call.wrong(f"the ratio is {ratio:g}; it must be in 0 .. 1, below 1")
    if not training or ratio == 0.0:
        return _with_mask(call, x, np.ones(x.shape, bool))
    if tracing.active() is not None:
        return [both("mul", np.multiply, x, values(factors(x.size, ratio), x.shape))]
    kept = np.random.RandomState(int(call.attribute("seed", 0))).uniform(0.0, 1.0, x.shape) >= ratio
    share = np.asarray(kept / (1.0 - ratio), None if x.dtype == object else x.dtype)
    return _with_mask(call, both("mul", np.multiply, x, share), kept)


def _with_mask(call: Call, x: Array, kept: Array) -> list[Array]:
    return [x, kept][: len(call.node.outputs)]
