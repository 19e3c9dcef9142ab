"""Sums over all weights between backward and update: penalties, and the length of the gradient.

See :class:`scalarviz.engine.limits.Limits`. `limits` has its numbers: ``l1, l2, clip_norm`` (below 0 if none), what is
added to the length, where among the numbers of a step what the gradient is multiplied by has its place, and how many of
the values are weights: buffers stand behind them.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
from numba import njit

from .tiles import SUMS, Row


@njit(error_model="numpy", fastmath=SUMS)
def penalty(values: Row, limits: Any) -> float:
    """What the loss has on top."""
    total, square = 0.0, 0.0
    for i in range(int(limits[5])):
        w = np.float64(values[i])
        total += abs(w)
        square += w * w
    return float(limits[0] * total + limits[1] * square)


@njit(error_model="numpy", fastmath=SUMS)
def coefficient(values: Row, grad: Row, n: int, trained: Any, limits: Any) -> float:
    """What the gradient is multiplied by. `trained`: flags, or nothing where all are trained."""
    total, l1, l2 = 0.0, limits[0], 2.0 * limits[1]
    for i in range(n):
        w = np.float64(values[i])
        sign = (1.0 if w > 0.0 else 0.0) - (1.0 if w < 0.0 else 0.0)
        g = np.float64(grad[i]) + l1 * sign + l2 * w
        if len(trained) == 0 or trained[i]:
            total += g * g
    found = limits[2] / (sqrt(total) + limits[3])
    return 1.0 if found > 1.0 else found
