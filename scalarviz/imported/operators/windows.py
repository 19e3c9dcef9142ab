"""Convolutions, pools, transposed convolutions and resized pictures: sums of neighbouring numbers.

In a transposed convolution every number is added to a window of positions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from ...errors import InputError, listing, shown
from ...nn._conv import WIDEST, Sides
from ...onnx.graph import Node
from ...scalar import Value, dot, functions
from .arrays import Array, axis_of, bare, by_lane, check_size, dressed, objects, padded, reduced, values
from .products import weighted_rows
from .table import OperatorCall, operator


@dataclass(frozen=True, slots=True)
class Windows:
    """The windows of a convolution or a pool: numbers for each of the last axes. `output_sides` counts the windows."""

    size: Sides
    stride: Sides
    dilation: Sides
    before: Sides
    behind: Sides
    output_sides: Sides

    def windows_of(self, x: Array, fill: Any) -> Array:
        """Return the numbers of `x`, with a border of `fill`, in each window: shape (..., *output_sides, *size)."""
        rank = len(self.size)
        field = [(n - 1) * apart + 1 for n, apart in zip(self.size, self.dilation, strict=True)]
        sides = zip(self.output_sides, self.stride, field, strict=True)
        reach = [(count - 1) * step + wide for count, step, wide in sides]
        rest = [max(0, r - b - s) for r, b, s in zip(reach, self.before, x.shape[-rank:], strict=True)]
        widths = [(0, 0)] * (x.ndim - rank) + [(b, r) for b, r in zip(self.before, rest, strict=True)]
        whole = padded(x, widths, constant_values=fill)
        check_size([*x.shape[:-rank], *self.output_sides, *self.size])
        found = np.lib.stride_tricks.sliding_window_view(whole, field, tuple(range(-rank, 0)))
        starts = zip(self.output_sides, self.stride, strict=True)
        index: list[Any] = [slice(0, (count - 1) * step + 1, step) for count, step in starts]
        return np.asarray(found[(..., *index, *[slice(None, None, apart) for apart in self.dilation])])

    def rows(self, x: Array, fill: Any) -> Array:
        """Return the numbers of each window as a row."""
        found = self.windows_of(x, fill)
        return found.reshape(*found.shape[: found.ndim - len(self.size)], -1)

    def counted(self, sides: Sides, border: bool) -> Array:
        """Count the positions of each window that are numbers, or with `border` also border; shape `output_sides`."""
        there = np.ones(sides, np.int8)
        if not border:
            return np.asarray(self.rows(there, 0).sum(-1, dtype=np.int64))
        whole = padded(there, list(zip(self.before, self.behind, strict=True)), constant_values=1)
        none = (0,) * len(sides)
        return np.asarray(replace(self, before=none, behind=none).rows(whole, 0).sum(-1, dtype=np.int64))


def windows(call: OperatorCall, sides: Sides, size: Sides) -> Windows:
    """Return the windows of a node over an array whose last sides are `sides`."""
    rank = len(size)
    stride, dilation = (tuple(call.listed(name, [1] * rank)) for name in ("strides", "dilations"))
    if rank != len(sides) or len(stride) != rank or len(dilation) != rank or min((*stride, *dilation, *size)) < 1:
        raise call.wrong(f"a window {size}, strides {stride} and dilations {dilation} do not fit the sides {sides}")
    reach = tuple((n - 1) * d + 1 for n, d in zip(size, dilation, strict=True))
    before, behind = border(call.node, sides, reach, stride)
    up = bool(call.attribute("ceil_mode", 0))
    made = []
    for side, a, b, wide, step in zip(sides, before, behind, reach, stride, strict=True):
        left = side + a + b - wide
        if left < 0:
            raise call.wrong(f"a window {reach} is larger than the input {sides} with its border {before}, {behind}")
        count = (-(-left // step) if up else left // step) + 1
        made.append(count - (up and (count - 1) * step >= side + a))  # a window must not begin in the border at the end
    check_size([*made, *size])
    return Windows(size, stride, dilation, before, behind, tuple(made))


def border(node: Node, sides: Sides, reach: Sides, stride: Sides) -> tuple[Sides, Sides]:
    """Return the border of windows before and after each side."""
    rank, how = len(sides), node.attribute("auto_pad", "NOTSET")
    if how == "VALID":
        return (0,) * rank, (0,) * rank
    if how in ("SAME_UPPER", "SAME_LOWER"):
        given = zip(sides, reach, stride, strict=True)
        totals = [max(0, (-(-s // step) - 1) * step + wide - s) for s, wide, step in given]
        less, more = tuple(t // 2 for t in totals), tuple(t - t // 2 for t in totals)
        return (less, more) if how == "SAME_UPPER" else (more, less)
    if how != "NOTSET":
        raise InputError(f"unknown auto_pad {how!r}; allowed: NOTSET, VALID, SAME_UPPER, SAME_LOWER")
    pads = node.listed("pads", [0] * (2 * rank))
    if len(pads) != 2 * rank or min(pads) < 0:
        raise InputError(
            f"pads {pads} do not fit the sides {sides}: give one number >= 0 before and one after each side"
        )
    return tuple(pads[:rank]), tuple(pads[rank:])


@operator("Conv")
def convolution(call: OperatorCall) -> list[Array]:
    """Return the same weighted sums at every position; groups of channels may have their own."""
    x, weight, groups = call.input(0), call.input(1), int(call.attribute("group", 1))
    if x.ndim < 3 or weight.ndim != x.ndim or groups < 1 or x.shape[1] != weight.shape[1] * groups:
        raise call.wrong(f"an input of the shape {x.shape} and weights {weight.shape} do not fit with group={groups}")
    if weight.shape[0] % groups:
        raise call.wrong(f"{weight.shape[0]} output channels cannot be divided into {groups} groups")
    return _in_groups(call, windows(call, x.shape[2:], weight.shape[2:]), x, np.split(bare(weight), groups))


def _in_groups(call: OperatorCall, places: Windows, x: Array, kernels: list[Array]) -> list[Array]:
    """Return the sums of groups of channels: each group has its kernels and its part of the bias."""
    groups, bias = len(kernels), call.optional(2)
    starts = [None] * groups if bias is None else np.split(bare(bias), groups)
    function = sums_of_numbers if call.known else sums_of_values
    parts = zip(np.split(bare(x), groups, 1), kernels, starts, strict=True)
    return [dressed(np.concatenate([bare(function(places, *part)) for part in parts], 1))]


def sums_of_numbers(places: Windows, x: Array, weight: Array, bias: Array | None) -> Array:
    """Return a group of a convolution of numbers."""
    rank = len(places.size)
    axes = [1, *range(2 + rank, 2 + 2 * rank)], [1, *range(2, 2 + rank)]
    found = np.moveaxis(np.tensordot(places.windows_of(x, 0), weight, axes), -1, 1)
    return np.asarray(found if bias is None else found + bias.reshape(-1, *[1] * rank), x.dtype)


def sums_of_values(places: Windows, x: Array, weight: Array, bias: Array | None) -> Array:
    """Return a group of a convolution of Values."""
    rank = len(places.size)
    seen = places.windows_of(objects(x), Value(0.0))  # the border is one constant, shared by all windows
    order = [0, *range(2, 2 + rank), 1, *range(2 + rank, 2 + 2 * rank)]
    rows = seen.transpose(order).reshape(-1, prod(weight.shape[1:]))
    sums = weighted_rows(weight.reshape(len(weight), -1), rows, bias)
    return np.moveaxis(bare(sums).reshape(len(x), *places.output_sides, len(weight)), -1, 1)


@operator("AveragePool", "MaxPool")
def pool(call: OperatorCall) -> list[Array]:
    """Return the largest number, or the mean, of each window; an attribute says whether the border counts."""
    x = call.input(0)
    places = windows(call, x.shape[2:], tuple(call.listed("kernel_shape", [])))
    mean = call.node.operator == "AveragePool"
    if any(call.node.outputs[1:]):
        raise call.wrong("its second output (the indices of the maxima) is not supported")
    if x.dtype != object and not mean:
        return [places.rows(x, -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min).max(-1)]
    counts = places.counted(x.shape[2:], bool(call.attribute("count_include_pad", 0)))
    if x.dtype != object:
        return [np.asarray(places.rows(x, 0).sum(-1) / counts, x.dtype)]
    rows, found = places.rows(x, None), []
    for index in np.ndindex(*rows.shape[:-1]):
        row = [v for v in rows[index].tolist() if v is not None]
        share = Value(1.0 / int(counts[index[2:]])) if mean else None
        found.append(functions.max(row) if share is None else dot((share,) * len(row), row))
    return [values(found, rows.shape[:-1])]


@operator("GlobalAveragePool", "GlobalMaxPool")
def over_all(call: OperatorCall) -> list[Array]:
    """Return one number for each channel."""
    x, mean = call.input(0), call.node.operator == "GlobalAveragePool"
    rows = x.reshape(*x.shape[:2], -1)
    if x.dtype == object:
        found = reduced(rows, (2,), False, functions.mean if mean else functions.max)
    else:
        found = np.asarray(rows.sum(-1, dtype=np.float64) / rows.shape[-1] if mean else rows.max(-1), x.dtype)
    return [found.reshape(*x.shape[:2], *(1,) * (x.ndim - 2))]


@operator("ConvTranspose")
def transposed(call: OperatorCall) -> list[Array]:
    """Convolve the numbers, with zeros between them, with the reversed kernel."""
    x, weight, groups = call.input(0), call.input(1), int(call.attribute("group", 1))
    if x.ndim < 3 or weight.ndim != x.ndim or weight.shape[0] != x.shape[1] or groups < 1 or len(weight) % groups:
        raise call.wrong(f"an input of the shape {x.shape} and weights {weight.shape} do not fit with group={groups}")
    size, sides = weight.shape[2:], x.shape[2:]
    stride, dilation = (tuple(call.listed(name, [1] * len(size))) for name in ("strides", "dilations"))
    if len(stride) != len(size) or len(dilation) != len(size) or min((*stride, *dilation, *size)) < 1:
        raise call.wrong(f"strides {stride} and dilations {dilation} do not fit the kernel {size}")
    reach = tuple((n - 1) * d + 1 for n, d in zip(size, dilation, strict=True))
    before, made = _transposed_border(call, sides, reach, stride)
    spread = _spread(x if call.known else objects(x), 0 if call.known else Value(0.0), stride, reach, before, made)
    places = Windows(size, (1,) * len(size), dilation, (0,) * len(size), (0,) * len(size), made)
    turned = bare(weight)[(slice(None), slice(None), *[slice(None, None, -1)] * len(size))]
    return _in_groups(call, places, spread, [part.swapaxes(0, 1) for part in np.split(turned, groups)])


def _transposed_border(call: OperatorCall, sides: Sides, reach: Sides, stride: Sides) -> tuple[Sides, Sides]:
    """Return the widths to cut off at the start, and the sides of the result."""
    rank, how = len(sides), call.attribute("auto_pad", "NOTSET")
    more = call.listed("output_padding", [0] * rank)
    whole = [(s - 1) * step + wide for s, step, wide in zip(sides, stride, reach, strict=True)]
    wanted = call.listed("output_shape")
    if wanted is None and how in ("SAME_UPPER", "SAME_LOWER"):
        wanted = [s * step for s, step in zip(sides, stride, strict=True)]
    if wanted is not None:
        left = [max(0, w + m - n) for w, m, n in zip(whole, more, wanted[-rank:], strict=True)]
        first = [t // 2 if how == "SAME_UPPER" else t - t // 2 for t in left]
        return tuple(first), tuple(wanted[-rank:])
    pads = call.listed("pads", [0] * (2 * rank)) if how == "NOTSET" else [0] * (2 * rank)
    if len(pads) != 2 * rank or len(more) != rank or min((*pads, *more)) < 0:
        raise call.wrong(f"pads {pads} and output_padding {more} do not fit the sides {sides}")
    made = [w + m - a - b for w, m, a, b in zip(whole, more, pads[:rank], pads[rank:], strict=True)]
    if min(made) < 1:
        raise call.wrong(f"pads {pads} cut away all of the sides {whole}")
    return tuple(pads[:rank]), tuple(made)


def _spread(x: Array, zero: Any, stride: Sides, reach: Sides, before: Sides, made: Sides) -> Array:
    """Return the numbers with zeros between and around them, so that a window begins at each position of the result."""
    apart = [(side - 1) * step + 1 for side, step in zip(x.shape[2:], stride, strict=True)]
    check_size([*x.shape[:2], *apart])
    found = np.full((*x.shape[:2], *apart), zero, x.dtype)
    places: list[Any] = [slice(None, None, step) for step in stride]
    found[(..., *places)] = bare(x)
    first = [wide - 1 - cut for wide, cut in zip(reach, before, strict=True)]  # the place of the first number
    sides = zip(first, made, reach, apart, strict=True)
    widths = [(a, count + wide - 1 - a - there) for a, count, wide, there in sides]
    return padded(found, [(0, 0), (0, 0), *widths], constant_values=zero)


NEAREST: dict[str, Callable[[float], float]] = {
    "round_prefer_floor": lambda x: math.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: math.floor(x + 0.5),
    "floor": math.floor,
    "ceil": math.ceil,
}
PLACES: dict[str, Callable[[int, int, int, float], float]] = {
    "half_pixel": lambda k, before, after, scale: (k + 0.5) / scale - 0.5,
    "pytorch_half_pixel": lambda k, before, after, scale: (k + 0.5) / scale - 0.5 if after > 1 else 0.0,
    "half_pixel_symmetric": lambda k, before, after, scale: (
        (k + 0.5) / scale - 0.5 + before / 2 * (1 - after / (scale * before))
    ),
    "asymmetric": lambda k, before, after, scale: k / scale,
    "align_corners": lambda k, before, after, scale: k * (before - 1) / (scale * before - 1) if after > 1 else 0.0,
}
"""The source position of the number `k` of an axis resized from `before` to `after`; `scale` is the given one."""


def _triangle(x: Array) -> Array:
    return np.clip(1.0 - np.abs(x), 0.0, None)


def _cubic(x: Array, a: float) -> Array:
    x = np.abs(x)
    near = ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
    far = ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a
    return np.where(x <= 1.0, near, np.where(x < 2.0, far, 0.0))


@operator("Resize", "Upsample")
def resize(call: OperatorCall) -> list[Array]:
    """Return the nearest number, or a sum of two or four along each axis; with `antialias` of more if it shrinks."""
    x, old = call.input(0), call.node.operator == "Upsample" or call.version < 11
    axes = [axis_of(a, x.ndim) for a in call.listed("axes", range(x.ndim))]
    given = call.optional(1 if old else 2)
    if given is not None and given.size:
        scales = [float(s) for s in call.numbers(1 if old else 2, "the scales").ravel().tolist()]
        sizes = [math.floor(x.shape[k] * s) for k, s in zip(axes, scales, strict=True)]
    else:
        sizes = call.integers(3, "the sizes")
        scales = [n / x.shape[k] for k, n in zip(axes, sizes, strict=True)]
    if call.attribute("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise call.wrong("it keeps the aspect ratio, which is not supported; export with fixed sizes")
    if min(sizes, default=1) < 1 or max(sizes, default=1) > WIDEST or min(scales, default=1.0) <= 0.0:
        raise call.wrong(f"shape {x.shape}: each of the sides {shown(sizes)} must be in 1 .. {WIDEST}")
    wanted = dict(zip(axes, sizes, strict=True))
    check_size([wanted.get(k, side) for k, side in enumerate(x.shape)], not call.known)
    for k, n, scale in zip(axes, sizes, scales, strict=True):
        shares = _shares(call, x.shape[k], n, scale, old)
        if shares.shape[0] != shares.shape[1] or (shares != np.eye(len(shares))).any():
            x = _applied(x, k, shares)
    return [x]


def _shares(call: OperatorCall, before: int, after: int, scale: float, old: bool) -> Array:
    """Return the share of each source number in each number of the result, shape (after, before)."""
    mode = call.attribute("mode", "nearest")
    way = "asymmetric" if old else call.attribute("coordinate_transformation_mode", "half_pixel")
    if way not in PLACES or mode not in ("nearest", "linear", "cubic"):
        raise call.wrong(f"mode {mode!r} with {way!r} is not supported; allowed: nearest, linear, cubic")
    check_size((after, before))
    places, found = [PLACES[way](k, before, after, scale) for k in range(after)], np.zeros((after, before))
    if mode == "nearest":
        how = "floor" if old else call.attribute("nearest_mode", "round_prefer_floor")
        if how not in NEAREST:
            raise call.wrong(f"unknown nearest_mode {shown(how)}; allowed: {listing(NEAREST)}")
        found[np.arange(after), [min(max(int(NEAREST[how](place)), 0), before - 1) for place in places]] = 1.0
        return found
    shrink = min(scale, 1.0) if call.attribute("antialias", 0) else 1.0
    reach, a = (1 if mode == "linear" else 2) / shrink, float(call.attribute("cubic_coeff_a", -0.75))
    for row, place in zip(found, places, strict=True):  # beyond the border the last number is repeated, unless excluded
        near = np.arange(math.floor(place - reach), math.ceil(place + reach) + 1)
        shares = _triangle(shrink * (near - place)) if mode == "linear" else _cubic(shrink * (near - place), a)
        if call.attribute("exclude_outside", 0):
            shares = np.where((near >= 0) & (near < before), shares, 0.0)
        np.add.at(row, np.clip(near, 0, before - 1), shares / shares.sum())
    return found


def _applied(x: Array, k: int, shares: Array) -> Array:
    """Replace an axis of numbers or Values by weighted sums of it."""
    if x.dtype != object:
        return np.asarray(np.moveaxis(np.tensordot(shares, x, (1, k)), 0, k), x.dtype)
    rows = [[(j, float(row[j]), Value(float(row[j]))) for j in np.flatnonzero(row).tolist()] for row in shares]

    def summed(row: list[tuple[int, float, Value]], numbers: list[Any]) -> Value:
        if len(row) == 1 and row[0][1] == 1.0:
            return numbers[row[0][0]]  # type: ignore[no-any-return]
        return dot([share for _, _, share in row], [numbers[j] for j, _, _ in row])

    return by_lane(x, k, lambda numbers: [summed(row, numbers) for row in rows])
