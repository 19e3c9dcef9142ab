"""Convolutions, and the pools that look at windows."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ...scalar import Value, dot, functions
from .alike import Array, bare, dressed, mean_of, objects, over_last, values
from .sums import weighted_rows
from .table import Call, operator
from .windows import Windows, windows


@operator("Conv")
def convolution(call: Call) -> list[Array]:
    """The same weighted sums at every place; groups of channels may have sums of their own."""
    x, weight = call.input(0), call.input(1)
    bias = call.inputs[2] if call.given(2) else None
    groups = int(call.attribute("group", 1))
    if x.ndim < 3 or weight.ndim != x.ndim or groups < 1 or x.shape[1] != weight.shape[1] * groups:
        raise call.wrong(f"an input of the shape {x.shape} and weights {weight.shape} do not fit with {groups} groups")
    if weight.shape[0] % groups:
        raise call.wrong(f"{weight.shape[0]} sums do not make {groups} groups")
    places = windows(call, x.shape[2:], weight.shape[2:])
    parts = np.split(bare(x), groups, 1), np.split(bare(weight), groups), [None] * groups
    starts = parts[2] if bias is None else np.split(bare(bias), groups)
    function = sums_of_numbers if call.known else sums_of_values
    found = [function(places, *part) for part in zip(*parts[:2], starts, strict=True)]
    return [dressed(np.concatenate([bare(part) for part in found], 1))]


def sums_of_numbers(places: Windows, x: Array, weight: Array, bias: Array | None) -> Array:
    """A group of a convolution of numbers."""
    rank = len(places.size)
    seen = places.seen(places.bordered(x, 0))  # (N, C, *made, *size)
    axes = [1, *range(2 + rank, 2 + 2 * rank)], [1, *range(2, 2 + rank)]
    found = np.moveaxis(np.tensordot(seen, weight, axes), -1, 1)
    shift = 0 if bias is None else bias.reshape(-1, *[1] * rank)
    return np.asarray(found + shift, x.dtype)


def sums_of_values(places: Windows, x: Array, weight: Array, bias: Array | None) -> Array:
    """A group of a convolution of Values."""
    rank = len(places.size)
    # the border is one constant, shared by all windows
    seen = places.seen(places.bordered(bare(objects(x)), Value(0.0)))
    order = [0, *range(2, 2 + rank), 1, *range(2 + rank, 2 + 2 * rank)]
    rows = seen.transpose(order).reshape(-1, prod(weight.shape[1:]))
    sums = weighted_rows(weight.reshape(len(weight), -1), rows, bias)
    made = values([v for row in sums for v in row], (len(x), *places.made, len(weight)))
    return np.moveaxis(bare(made), -1, 1)


@operator("MaxPool")
def largest(call: Call) -> list[Array]:
    """The largest number of each window, and where it stands if that is asked for."""
    x = call.input(0)
    places = windows(call, x.shape[2:], tuple(call.listed("kernel_shape", [])))
    if x.dtype == object:
        if len([name for name in call.node.outputs if name]) > 1:
            raise call.wrong("the places of the largest numbers (its second output) are known of known numbers alone")
        flat = _rows(places, places.bordered(bare(x), None))
        return [over_last(flat, lambda row: functions.max([v for v in row if v is not None]))]
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    flat = _rows(places, places.bordered(x, lowest))
    if not any(call.node.outputs[1:]):
        return [flat.max(-1)]
    where = _rows(places, places.bordered(_numbered(call, x.shape), -1))
    best = flat.argmax(-1)[..., None]
    found = np.take_along_axis(flat, best, -1)[..., 0]
    return [found, np.take_along_axis(where, best, -1)[..., 0]][: len(call.node.outputs)]


def _numbered(call: Call, shape: tuple[int, ...]) -> Array:
    """The number of each place in the whole array; by columns where that is asked for."""
    if not call.attribute("storage_order", 0):
        return np.arange(prod(shape), dtype=np.int64).reshape(shape)
    turned = (*shape[:2], *shape[:1:-1])
    return np.arange(prod(shape), dtype=np.int64).reshape(turned).transpose(0, 1, *range(len(shape) - 1, 1, -1))


@operator("AveragePool")
def average(call: Call) -> list[Array]:
    """The mean of each window; whether zeros of the border count is said."""
    x = call.input(0)
    places = windows(call, x.shape[2:], tuple(call.listed("kernel_shape", [])))
    counts = places.counted(x.shape[2:], bool(call.attribute("count_include_pad", 0)))
    if x.dtype != object:
        total = _rows(places, places.bordered(x, 0)).sum(-1)
        return [np.asarray(total / counts, x.dtype)]
    flat, found = _rows(places, places.bordered(bare(x), None)), []
    for index in np.ndindex(*flat.shape[:-1]):
        row = [v for v in flat[index].tolist() if v is not None]
        found.append(dot((Value(1.0 / int(counts[index[2:]])),) * len(row), row))
    return [values(found, flat.shape[:-1])]


@operator("LpPool")
def power_mean(call: Call) -> list[Array]:
    """The p-th root of the sum of the absolutes to the power of p, of each window."""
    x, p = call.input(0), int(call.attribute("p", 2))
    places = windows(call, x.shape[2:], tuple(call.listed("kernel_shape", [])))
    if x.dtype != object:
        total = (np.abs(_rows(places, places.bordered(x, 0))) ** p).sum(-1)
        return [np.asarray(total ** (1.0 / p), x.dtype)]
    return [over_last(_rows(places, places.bordered(bare(x), None)), lambda row: norm(row, p))]


def norm(row: list[Any], p: int) -> Value:
    """The p-norm of the numbers that are there."""
    there = [v for v in row if v is not None]
    if p == 1:
        return functions.sum([functions.abs(v) for v in there])
    if p == 2:
        return functions.sqrt(functions.sum([functions.square(v) for v in there]))
    powers = functions.sum([functions.pow(functions.abs(v), float(p)) for v in there])
    return functions.pow(powers, 1.0 / p)


def _rows(places: Windows, bordered: Array) -> Array:
    """What each window sees, in a row."""
    seen = places.seen(bordered)
    return seen.reshape(*seen.shape[: seen.ndim - len(places.size)], -1)


@operator("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def over_all(call: Call) -> list[Array]:
    """One number for each channel."""
    x = call.input(0)
    ones = (1,) * (x.ndim - 2)
    rows = bare(x).reshape(*x.shape[:2], -1)
    name, p = call.node.operator, int(call.attribute("p", 2))
    if x.dtype != object:
        of_numbers: dict[str, Callable[[Array], Array]] = {
            "GlobalAveragePool": lambda rows: mean_of(rows, -1),
            "GlobalMaxPool": lambda rows: rows.max(-1),
            "GlobalLpPool": lambda rows: (np.abs(rows) ** p).sum(-1) ** (1.0 / p),
        }
        return [np.asarray(of_numbers[name](rows), x.dtype).reshape(*x.shape[:2], *ones)]
    of_values = {
        "GlobalAveragePool": functions.mean,
        "GlobalMaxPool": functions.max,
        "GlobalLpPool": lambda row: norm(row, p),
    }
    return [over_last(rows, of_values[name]).reshape(*x.shape[:2], *ones)]
