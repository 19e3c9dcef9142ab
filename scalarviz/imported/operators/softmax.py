"""The softmax family: shares along an axis that add up to 1, their logarithms, and the largest alone."""

from __future__ import annotations

from math import prod

import numpy as np

from ...scalar.softmax import log_softmax
from ...scalar.softmax import softmax as shares
from .alike import Array, axis_of, over_lanes
from .table import Call, operator

FLAT = 13
"""Before this version the axes from `axis` on are one."""


@operator("Softmax", "LogSoftmax", "Hardmax")
def softmax(call: Call) -> list[Array]:
    """Along one axis, or (old versions) along all from one on."""
    x = call.input(0)
    if call.version >= FLAT:
        return [_along(call, x, axis_of(call.attribute("axis", -1), x.ndim))]
    axis = axis_of(call.attribute("axis", 1), x.ndim)
    flat = x.reshape(prod(x.shape[:axis]), prod(x.shape[axis:]))
    return [_along(call, flat, 1).reshape(*x.shape)]


def _along(call: Call, x: Array, axis: int) -> Array:
    if x.size == 0:
        return x
    if call.node.operator == "Hardmax":
        call.only_numbers()
        places = np.expand_dims(np.argmax(x, axis), axis)
        found = np.zeros_like(x)
        np.put_along_axis(found, places, 1, axis)
        return found
    logarithm = call.node.operator == "LogSoftmax"
    if not call.known:
        return over_lanes(x, axis, log_softmax if logarithm else shares)
    shifted = x - x.max(axis, keepdims=True)
    total = np.exp(shifted).sum(axis, keepdims=True)
    return np.asarray(shifted - np.log(total) if logarithm else np.exp(shifted) / total)
