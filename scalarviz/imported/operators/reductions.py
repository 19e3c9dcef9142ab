"""Sums, means, largest numbers along axes; normalisations: numbers with mean 0 and variance 1."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from math import prod
from typing import Any

import numpy as np

from ...errors import shown
from ...nn._norm import normalised
from ...scalar import Value, dot, functions, tracing
from ...scalar.batch import batch_mean
from .table import (
    Array,
    Call,
    Lane,
    alike,
    axis_of,
    bare,
    both,
    dressed,
    each,
    lanes,
    mean_of,
    operator,
    over_lanes,
    over_last,
    reduced,
    values,
)
from .windows import norm

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


def _add(a: Array, b: Any) -> Array:
    return both("add", np.add, a, b)


def _mul(a: Array, b: Any) -> Array:
    return both("mul", np.multiply, a, b)


def _scaled(x: Array, scale: Array | None, bias: Array | None) -> Array:
    found = x if scale is None else _mul(x, scale)
    return found if bias is None else _add(found, bias)


def _by_channel(x: Array, ndim: int) -> Array:
    """One number a channel, as it is broadcast to N x C x ..."""
    return x.reshape(-1, *[1] * (ndim - 2))


def _normal(rows: Array, eps: float) -> Array:
    """Each row (the last axis) with mean 0 and variance 1."""
    if rows.dtype == object:
        return over_lanes(rows, -1, lambda row: normalised(row, eps))
    wide = rows.astype(np.float64)
    centred = wide - mean_of(wide, -1, True)
    return np.asarray(centred / np.sqrt(mean_of(np.square(centred), -1, True) + eps), rows.dtype)


@operator("BatchNormalization")
def batch_norm(call: Call) -> list[Array]:
    """By running statistics, or in training by those of the batch, which the running ones follow."""
    x = call.input(0)
    scale, bias, mean, var = (_by_channel(call.input(k), x.ndim) for k in range(1, 5))
    eps = float(call.attribute("epsilon", 1e-5))
    training = bool(call.attribute("training_mode", 0)) if call.version >= 14 else len(call.node.outputs) > 1
    if not training:
        return [_by(x, scale, bias, mean, var, eps)]
    if call.version < 14:
        raise call.wrong("it is exported for training with an old opset; take opset 14 or newer, or eval() first")
    momentum = float(call.attribute("momentum", 0.9))
    now_mean, now_var = _statistics(x)
    running = [_add(_mul(old, momentum), _mul(now, 1.0 - momentum)) for old, now in ((mean, now_mean), (var, now_var))]
    found = [_by(x, scale, bias, now_mean, now_var, eps), *(statistic.reshape(-1) for statistic in running)]
    return [part if part.dtype == object else part.astype(x.dtype) for part in found]


def _by(x: Array, scale: Array, bias: Array, mean: Array, var: Array, eps: float) -> Array:
    """With a factor and a summand a channel, which are computed first."""
    root = both("sqrt", np.sqrt, _add(var, eps))
    factor = both("div", np.divide, scale, root)
    shift = both("sub", np.subtract, bias, _mul(mean, factor))
    return _add(_mul(x, factor), shift)


def _statistics(x: Array) -> tuple[Array, Array]:
    """Mean and variance of each channel over all samples; of a recorded sample over the batch that it stands for."""
    rows = np.moveaxis(bare(x), 1, 0).reshape(x.shape[1], -1)
    if x.dtype != object:
        means = mean_of(rows, -1, True)
        return _by_channel(means, x.ndim), _by_channel(mean_of(np.square(rows - means), -1), x.ndim)
    means = over_last(rows, _mean)
    centred = each("sub", values(rows.ravel().tolist(), rows.shape), means.reshape(-1, 1))
    variances = over_last(bare(each("square", centred)), _mean)
    return _by_channel(means, x.ndim), _by_channel(variances, x.ndim)


def _mean(row: list[Value]) -> Value:
    found = functions.mean(row)
    return found if tracing.active() is None else batch_mean(found)


@operator("LayerNormalization")
def layer_norm(call: Call) -> list[Array]:
    """Over the last axes, from `axis` on; then a factor and a summand each. Also mean and 1 by the deviation."""
    x = call.input(0)
    axis = axis_of(call.attribute("axis", -1), x.ndim)
    eps = float(call.attribute("epsilon", 1e-5))
    rows = x.reshape(*x.shape[:axis], prod(x.shape[axis:]))
    normal = _normal(rows, eps).reshape(x.shape)
    found = [_scaled(normal, call.input(1), call.inputs[2] if call.given(2) else None)]
    if len(call.node.outputs) > 1:
        found += [part.reshape(*x.shape[:axis], *[1] * (x.ndim - axis)) for part in _mean_and_factor(rows, eps)]
    return found


def _mean_and_factor(rows: Array, eps: float) -> tuple[Array, Array]:
    if rows.dtype != object:
        wide = rows.astype(np.float64)
        means = mean_of(wide, -1, True)
        factor = 1.0 / np.sqrt(mean_of(np.square(wide - means), -1) + eps)
        return means[..., 0].astype(rows.dtype), factor.astype(rows.dtype)
    means = over_last(rows, functions.mean)
    squares = each("square", each("sub", rows, means.reshape(*means.shape, 1)))
    return means, each("div", 1.0, each("sqrt", each("add", over_last(squares, functions.mean), eps)))


@operator("RMSNormalization")
def rms_norm(call: Call) -> list[Array]:
    """By the root of the mean square over the last axes, without a mean."""
    x = call.input(0)
    axis = axis_of(call.attribute("axis", -1), x.ndim)
    eps = float(call.attribute("epsilon", 1e-5))
    rows = x.reshape(*x.shape[:axis], prod(x.shape[axis:]))
    if x.dtype != object:
        wide = rows.astype(np.float64)
        normal = (wide / np.sqrt(mean_of(np.square(wide), -1, True) + eps)).astype(x.dtype)
    else:
        normal = over_lanes(rows, -1, lambda row: _by_root(row, eps))
    return [_scaled(normal.reshape(x.shape), call.input(1), None)]


def _by_root(row: list[Value], eps: float) -> list[Value]:
    shares = (Value(1.0 / len(row)),) * len(row)
    factor = 1.0 / functions.sqrt(dot(shares, [functions.square(v) for v in row]) + eps)
    return [v * factor for v in row]


@operator("GroupNormalization")
def group_norm(call: Call) -> list[Array]:
    """Over groups of channels; factor and summand of each group (version 18) or of each channel."""
    x, scale, bias = call.input(0), call.input(1), call.input(2)
    groups = int(call.attribute("num_groups", 1))
    if groups < 1 or x.shape[1] % groups:
        raise call.wrong(f"{x.shape[1]} channels do not make {groups} groups")
    normal = _normal(x.reshape(x.shape[0], groups, -1), float(call.attribute("epsilon", 1e-5)))
    if call.version < 21:
        scale, bias = (np.repeat(part, x.shape[1] // groups) for part in (scale, bias))
    return [_scaled(normal.reshape(x.shape), _by_channel(scale, x.ndim), _by_channel(bias, x.ndim))]


@operator("InstanceNormalization")
def instance_norm(call: Call) -> list[Array]:
    """Over each channel of each sample."""
    x = call.input(0)
    normal = _normal(x.reshape(*x.shape[:2], -1), float(call.attribute("epsilon", 1e-5))).reshape(x.shape)
    return [_scaled(normal, *(_by_channel(call.input(k), x.ndim) for k in (1, 2)))]


@operator("LpNormalization")
def unit_length(call: Call) -> list[Array]:
    """Numbers along an axis by their norm; 0 where that is 0."""
    x, p = call.input(0), int(call.attribute("p", 2))
    axis = axis_of(call.attribute("axis", -1), x.ndim)
    if x.dtype == object:
        return [over_lanes(x, axis, lambda row: _unit(row, p))]
    length = (np.abs(x) ** p).sum(axis, keepdims=True) ** (1.0 / p)
    return [np.where(length == 0, 0, x / length).astype(x.dtype)]


def _unit(row: list[Value], p: int) -> list[Value]:
    """A length of 0 is divided by as 1: the numbers are 0 then."""
    length = norm(row, p)
    safe = functions.where(length, length, 1.0)
    return [v / safe for v in row]


@operator("LRN")
def local_response(call: Call) -> list[Array]:
    """Numbers by what neighbouring channels hold at the same place."""
    x, size = call.input(0), int(call.attribute("size", 1))
    alpha, beta = float(call.attribute("alpha", 1e-4)), float(call.attribute("beta", 0.75))
    squares = each("square", x)
    near = []
    for c in range(x.shape[1]):
        span = squares[:, max(0, c - (size - 1) // 2) : c + size // 2 + 1]
        near.append(span.sum(1)[:, None])
    total = np.concatenate(alike(*near), 1)
    root = each("pow", _add(_mul(total, alpha / size), float(call.attribute("bias", 1.0))), beta)
    return [each("div", x, root)]


@operator("MeanVarianceNormalization")
def mean_variance(call: Call) -> list[Array]:
    """Over some axes together: those of samples and places by default."""
    x = call.input(0)
    axes = [axis_of(a, x.ndim) for a in call.listed("axes", [0, 2, 3])]
    others = [k for k in range(x.ndim) if k not in axes]
    order = [*others, *axes]
    turned = x.transpose(order)
    shape = turned.shape
    normal = _normal(turned.reshape(*shape[: len(others)], -1), 0.0).reshape(shape)
    return [normal.transpose([order.index(k) for k in range(x.ndim)])]
