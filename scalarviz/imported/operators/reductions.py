"""Sums, means and extremes along axes; normalisations to mean 0 and variance 1."""

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
from .arrays import Array, Lane, axis_of, bare, by_lane, dressed, each, either, mean_of, reduced
from .table import OperatorCall, operator

OfLane = Callable[[Lane], Value]


def _or(empty: float, function: OfLane) -> OfLane:
    """Return `function` with the result `empty` for an empty lane."""
    return lambda lane: function(lane) if lane else Value(empty)


def _end(dtype: np.dtype[Any], sign: int) -> Any:
    """Return the largest number of a type, or with -1 the smallest."""
    if dtype.kind in "fb":
        return sign * np.inf if dtype.kind == "f" else sign > 0
    return np.iinfo(dtype).max if sign > 0 else np.iinfo(dtype).min


def _log_sum_exp(x: Array, axis: Any, keepdims: bool) -> Any:
    far = x.astype(np.float64)
    top = far.max(axis, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, 0.0)
    found = np.log(np.exp(far - top).sum(axis, keepdims=True)) + top
    return found if keepdims else np.squeeze(found, axis)


REDUCED: dict[str, tuple[Callable[..., Any], str, OfLane, str]] = {
    "ReduceL1": (lambda x, **how: np.abs(x).sum(**how), "abs", functions.sum, ""),
    "ReduceL2": (lambda x, **how: np.sqrt(np.square(x).sum(**how)), "square", functions.sum, "sqrt"),
    "ReduceLogSum": (lambda x, **how: np.log(x.sum(**how)), "", functions.sum, "log"),
    "ReduceLogSumExp": (_log_sum_exp, "", _or(-np.inf, functions.logsumexp), ""),
    "ReduceMax": (lambda x, **how: x.max(**how, initial=_end(x.dtype, -1)), "", _or(-np.inf, functions.max), ""),
    "ReduceMean": (mean_of, "", _or(np.nan, functions.mean), ""),
    "ReduceMin": (lambda x, **how: x.min(**how, initial=_end(x.dtype, 1)), "", _or(np.inf, functions.min), ""),
    "ReduceProd": (np.prod, "", _or(1.0, lambda lane: reduce(lambda a, b: a * b, lane)), ""),
    "ReduceSum": (np.sum, "", functions.sum, ""),
    "ReduceSumSquare": (lambda x, **how: np.square(x).sum(**how), "square", functions.sum, ""),
}
"""For numbers NumPy's function with `axis` and `keepdims`; for Values an operation, the reduction, and a last
operation.
"""


@operator(*REDUCED)
def reduction(call: OperatorCall) -> list[Array]:
    """Reduce over the given axes, or over all."""
    x, name = call.input(0), call.node.operator
    as_input = call.version >= (13 if name == "ReduceSum" else 18)
    given = call.row(1, "the axes", []) if as_input else call.listed("axes", [])
    if not given and call.attribute("noop_with_empty_axes", 0):
        return [x]
    axes = tuple(sorted({axis_of(a, x.ndim) for a in given})) if given else tuple(range(x.ndim))
    if any(not 0 <= a < x.ndim for a in axes):
        raise call.wrong(f"the axes {shown(axes)} are not all among those of the shape {x.shape}")
    return [_reduced(name, x, axes, bool(call.attribute("keepdims", 1)))]


def _reduced(name: str, x: Array, axes: tuple[int, ...], keep: bool) -> Array:
    of_numbers, before, of_lane, behind = REDUCED[name]
    if x.dtype != object:
        return np.asarray(of_numbers(x, axis=axes, keepdims=keep)).astype(x.dtype)
    found = reduced(each(before, x) if before else x, axes, keep, of_lane)
    return each(behind, found) if behind else found


@operator("ArgMax", "ArgMin")
def place(call: OperatorCall) -> list[Array]:
    """Return the index of the largest or smallest number: of equal ones the first, or the last."""
    x = call.only_numbers()[0]
    axis, last = axis_of(call.attribute("axis", 0), x.ndim), bool(call.attribute("select_last_index", 0))
    find = np.argmax if call.node.operator == "ArgMax" else np.argmin
    found = find(np.flip(x, axis) if last else x, axis=axis, keepdims=bool(call.attribute("keepdims", 1)))
    return [np.asarray(x.shape[axis] - 1 - found if last else found, np.int64)]


@operator("CumSum")
def running_sum(call: OperatorCall) -> list[Array]:
    """Return the cumulative sums along an axis."""
    x, axis = call.input(0), axis_of(call.integers(1, "the axis")[0], call.input(0).ndim)
    turn, without = -1 if call.attribute("reverse", 0) else 1, bool(call.attribute("exclusive", 0))
    if x.dtype == object:
        return [by_lane(x, axis, lambda lane: _running(lane[::turn], not without)[::turn])]
    turned = np.flip(x, axis) if turn < 0 else x
    found = np.cumsum(turned, axis, dtype=x.dtype)
    found = found - turned if without else found
    return [np.flip(found, axis) if turn < 0 else found]


def _running(lane: Lane, own: int) -> Lane:
    return [functions.sum(lane[: k + own]) for k in range(len(lane))]


# ---- normalisations


def _scaled(x: Array, scale: Any, bias: Array | None) -> Array:
    found = x if scale is None else either("mul", np.multiply, x, scale)
    return found if bias is None else either("add", np.add, found, bias)


def _by_channel(x: Array, ndim: int) -> Array:
    """Reshape one number for each channel so that it broadcasts to N x C x ..."""
    return x.reshape(-1, *[1] * (ndim - 2))


def _normal(rows: Array, eps: float, centred: bool = True) -> Array:
    """Normalise each row (the last axis) to mean 0 and variance 1, or divide it by the root of its mean square."""
    if rows.dtype == object:
        return by_lane(rows, -1, lambda row: normalised(row, eps) if centred else _by_root(row, eps))
    wide = rows.astype(np.float64)
    wide = wide - mean_of(wide, -1, True) if centred else wide
    return np.asarray(wide / np.sqrt(mean_of(np.square(wide), -1, True) + eps), rows.dtype)


def _by_root(row: Lane, eps: float) -> Lane:
    shares = (Value(1.0 / len(row)),) * len(row)
    factor = 1.0 / functions.sqrt(dot(shares, [functions.square(v) for v in row]) + eps)
    return [v * factor for v in row]


def _moments(rows: Array, mean: OfLane = functions.mean) -> tuple[Array, Array]:
    """Return the mean and variance of each row, with an axis of length 1."""
    if rows.dtype != object:
        wide = rows.astype(np.float64)
        means = mean_of(wide, -1, True)
        return means, mean_of(np.square(wide - means), -1, True)
    last = (rows.ndim - 1,)
    means = reduced(rows, last, True, mean)
    return means, reduced(each("square", each("sub", dressed(rows), means)), last, True, mean)


@operator("BatchNormalization")
def batch_norm(call: OperatorCall) -> list[Array]:
    """Normalise a batch by running statistics, or in training by its own, which the running ones follow."""
    x = call.input(0)
    scale, bias, mean, var = (_by_channel(call.input(k), x.ndim) for k in range(1, 5))
    eps = float(call.attribute("epsilon", 1e-5))
    training = bool(call.attribute("training_mode", 0)) if call.version >= 14 else len(call.node.outputs) > 1
    if not training:
        return [_by(x, scale, bias, mean, var, eps)]
    if call.version < 14:
        raise call.wrong(
            "it was exported in training mode with an old opset; use opset 14 or newer, or call eval() first"
        )
    momentum = float(call.attribute("momentum", 0.9))
    moments = _moments(np.moveaxis(bare(x), 1, 0).reshape(x.shape[1], -1), _batch_mean)
    now = [_by_channel(moment, x.ndim) for moment in moments]
    kept = [either("mul", np.multiply, old, momentum) for old in (mean, var)]
    follow = [_scaled(new, 1.0 - momentum, old) for new, old in zip(now, kept, strict=True)]
    found = [_by(x, scale, bias, now[0], now[1], eps), *(statistic.reshape(-1) for statistic in follow)]
    return [part if part.dtype == object else part.astype(x.dtype) for part in found]


def _by(x: Array, scale: Array, bias: Array, mean: Array, var: Array, eps: float) -> Array:
    """Normalise with a factor and a summand for each channel, which are computed first."""
    factor = either("div", np.divide, scale, either("sqrt", np.sqrt, either("add", np.add, var, eps)))
    return _scaled(x, factor, either("sub", np.subtract, bias, either("mul", np.multiply, mean, factor)))


def _batch_mean(row: Lane) -> Value:
    """Return the mean; in a recorded graph over the whole batch."""
    found = functions.mean(row)
    return found if tracing.active() is None else batch_mean(found)


@operator("LayerNormalization", "RMSNormalization")
def layer_norm(call: OperatorCall) -> list[Array]:
    """Normalise over the axes from `axis` on, with factors and summands. Also return the mean and 1 / deviation."""
    x = call.input(0)
    axis, eps = axis_of(call.attribute("axis", -1), x.ndim), float(call.attribute("epsilon", 1e-5))
    rows = x.reshape(*x.shape[:axis], prod(x.shape[axis:]))
    normal = _normal(rows, eps, call.node.operator == "LayerNormalization").reshape(x.shape)
    found = [_scaled(normal, call.input(1), call.optional(2))]
    if len(call.node.outputs) > 1:
        means, variances = _moments(rows)
        parts = means, each("div", 1.0, each("sqrt", each("add", variances, eps)))
        outer = (*x.shape[:axis], *[1] * (x.ndim - axis))
        found += [part.reshape(outer).astype(x.dtype, copy=False) for part in parts]
    return found


@operator("GroupNormalization", "InstanceNormalization")
def group_norm(call: OperatorCall) -> list[Array]:
    """Normalise over groups of channels, or each channel. Version 18 scales groups, others channels."""
    x, scale, bias = call.input(0), call.input(1), call.input(2)
    groups = int(call.attribute("num_groups", x.shape[1]))
    if groups < 1 or x.shape[1] % groups:
        raise call.wrong(f"{x.shape[1]} channels cannot be divided into {groups} groups")
    normal = _normal(x.reshape(x.shape[0], groups, -1), float(call.attribute("epsilon", 1e-5)))
    if call.node.operator == "GroupNormalization" and call.version < 21:
        scale, bias = (dressed(np.repeat(bare(part), x.shape[1] // groups)) for part in (scale, bias))
    return [_scaled(normal.reshape(x.shape), _by_channel(scale, x.ndim), _by_channel(bias, x.ndim))]


@operator("LpNormalization")
def unit_length(call: OperatorCall) -> list[Array]:
    """Divide numbers along an axis by their norm; a norm of 0 counts as 1."""
    x = call.input(0)
    length = _reduced(f"ReduceL{call.attribute('p', 2)}", x, (axis_of(call.attribute("axis", -1), x.ndim),), True)
    return [each("div", x, each("where", length, length, 1.0))]
