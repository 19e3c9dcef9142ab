"""Sums, means, largest and smallest numbers along axes."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from ...errors import shown
from ...scalar import Value, functions
from .alike import Array, Lane, axis_of, dressed, each, lanes, mean_of, reduced
from .table import Call, operator

OfLane = Callable[[Lane], Value]


def _product(lane: Lane) -> Value:
    return reduce(lambda a, b: a * b, lane, Value(1.0)) if not lane else reduce(lambda a, b: a * b, lane)


def _or(empty: float, function: OfLane) -> OfLane:
    """What is made of no numbers at all."""
    return lambda lane: function(lane) if lane else Value(empty)


def _smallest_of(dtype: np.dtype[Any]) -> Any:
    return -np.inf if dtype.kind == "f" else False if dtype.kind == "b" else np.iinfo(dtype).min


def _largest_of(dtype: np.dtype[Any]) -> Any:
    return np.inf if dtype.kind == "f" else True if dtype.kind == "b" else np.iinfo(dtype).max


def _log_sum_exp(x: Array, **options: Any) -> Any:
    far = x.astype(np.float64)
    top = far.max(axis=options["axis"], keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, 0.0)
    found = np.log(np.exp(far - top).sum(axis=options["axis"], keepdims=True)) + top
    return found if options["keepdims"] else np.squeeze(found, options["axis"])


NUMBERS: dict[str, Callable[..., Any]] = {
    "ReduceL1": lambda x, **options: np.abs(x).sum(**options),
    "ReduceL2": lambda x, **options: np.sqrt(np.square(x).sum(**options)),
    "ReduceLogSum": lambda x, **options: np.log(x.sum(**options)),
    "ReduceLogSumExp": _log_sum_exp,
    "ReduceMax": lambda x, **options: x.max(**options, initial=_smallest_of(x.dtype)),
    "ReduceMean": mean_of,
    "ReduceMin": lambda x, **options: x.min(**options, initial=_largest_of(x.dtype)),
    "ReduceProd": lambda x, **options: x.prod(**options),
    "ReduceSum": lambda x, **options: x.sum(**options),
    "ReduceSumSquare": lambda x, **options: np.square(x).sum(**options),
}
"""Of numbers, with NumPy's `axis` and `keepdims`."""
LANES: dict[str, tuple[str, OfLane, str]] = {
    "ReduceL1": ("abs", functions.sum, ""),
    "ReduceL2": ("square", functions.sum, "sqrt"),
    "ReduceLogSum": ("", functions.sum, "log"),
    "ReduceLogSumExp": ("", _or(-np.inf, functions.logsumexp), ""),
    "ReduceMax": ("", _or(-np.inf, functions.max), ""),
    "ReduceMean": ("", _or(np.nan, functions.mean), ""),
    "ReduceMin": ("", _or(np.inf, functions.min), ""),
    "ReduceProd": ("", _product, ""),
    "ReduceSum": ("", functions.sum, ""),
    "ReduceSumSquare": ("square", functions.sum, ""),
}
"""Of Values: an operation of each before, the reduction, and an operation of each result."""
AXES_AS_INPUT = {"ReduceSum": 13}
"""From which version on the axes are an input; 18 where none stands here."""


@operator(*NUMBERS)
def reduction(call: Call) -> list[Array]:
    """Over the axes that are given, else over all."""
    x, keep = call.input(0), bool(call.attribute("keepdims", 1))
    axes = _axes(call, x.ndim)
    if axes is None:
        return [x]
    if any(not 0 <= a < x.ndim for a in axes):
        raise call.wrong(f"the axes {shown(axes)} are not all among those of the shape {x.shape}")
    if x.dtype != object:
        return [np.asarray(NUMBERS[call.node.operator](x, axis=axes, keepdims=keep)).astype(x.dtype)]
    before, function, behind = LANES[call.node.operator]
    found = reduced(each(before, x) if before else x, axes, keep, function)
    return [each(behind, found) if behind else found]


def _axes(call: Call, ndim: int) -> tuple[int, ...] | None:
    """The axes, sorted; None: nothing is reduced."""
    if call.version < AXES_AS_INPUT.get(call.node.operator, 18):
        given = call.listed("axes", [])
    else:
        given = call.whole(1, "the axes") if call.given(1) else []
    if not given and call.attribute("noop_with_empty_axes", 0):
        return None
    return tuple(sorted({axis_of(a, ndim) for a in given})) if given else tuple(range(ndim))


@operator("ArgMax", "ArgMin")
def place(call: Call) -> list[Array]:
    """Where the largest, or the smallest, stands: the first of several, or the last."""
    x = call.only_numbers()[0]
    axis, keep = axis_of(call.attribute("axis", 0), x.ndim), bool(call.attribute("keepdims", 1))
    find = np.argmax if call.node.operator == "ArgMax" else np.argmin
    if call.attribute("select_last_index", 0):
        found = x.shape[axis] - 1 - find(np.flip(x, axis), axis=axis, keepdims=keep)
    else:
        found = find(x, axis=axis, keepdims=keep)
    return [np.asarray(found, np.int64)]


@operator("CumSum")
def running_sum(call: Call) -> list[Array]:
    """The sums of all before, along an axis."""
    x, axis = call.input(0), axis_of(call.whole(1, "the axis")[0], call.input(0).ndim)
    flip, without = bool(call.attribute("reverse", 0)), bool(call.attribute("exclusive", 0))
    if x.dtype == object:
        return [_running(x, axis, flip, without)]
    turned = np.flip(x, axis) if flip else x
    found = np.cumsum(turned, axis, dtype=x.dtype)
    found = found - turned if without else found
    return [np.flip(found, axis) if flip else found]


def _running(x: Array, axis: int, flip: bool, without: bool) -> Array:
    found = np.empty(np.moveaxis(x, axis, -1).shape, object)
    for index, lane in lanes(x, axis):
        row = lane[::-1] if flip else lane
        sums = [functions.sum(row[: k + (not without)]) for k in range(len(row))]
        found[index] = sums[::-1] if flip else sums
    return dressed(np.moveaxis(found, -1, axis))
