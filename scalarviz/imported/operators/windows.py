"""Convolutions, pools, transposed convolutions and pictures of another size: sums of neighbouring numbers.

In a transposed convolution every number is handed to a window of places, where what comes is summed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from ...errors import InputError, listing, shown
from ...nn._conv import WIDEST
from ...onnx.graph import Node
from ...scalar import Value, dot, functions
from .products import weighted_rows
from .table import (
    Array,
    Call,
    alike,
    axis_of,
    bare,
    bordered,
    dressed,
    objects,
    operator,
    over_lanes,
    reduced,
    room,
    values,
)

Sides = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Windows:
    """The windows of a convolution or a pool: numbers for each of the last axes; `made` is how many there are."""

    size: Sides
    stride: Sides
    dilation: Sides
    before: Sides
    behind: Sides
    made: Sides

    def seen(self, x: Array, fill: Any) -> Array:
        """What each window sees of `x` with a border of `fill`, shape (..., *made, *size)."""
        rank = len(self.size)
        field = [(n - 1) * apart + 1 for n, apart in zip(self.size, self.dilation, strict=True)]
        reach = [(count - 1) * step + wide for count, step, wide in zip(self.made, self.stride, field, strict=True)]
        rest = [max(0, r - b - s) for r, b, s in zip(reach, self.before, x.shape[-rank:], strict=True)]
        widths = [(0, 0)] * (x.ndim - rank) + [(b, r) for b, r in zip(self.before, rest, strict=True)]
        whole = bordered(x, widths, constant_values=fill)
        room([*x.shape[:-rank], *self.made, *self.size])
        found = np.lib.stride_tricks.sliding_window_view(whole, field, tuple(range(-rank, 0)))
        starts = zip(self.made, self.stride, strict=True)
        index: list[Any] = [slice(0, (count - 1) * step + 1, step) for count, step in starts]
        return np.asarray(found[(..., *index, *[slice(None, None, apart) for apart in self.dilation])])

    def rows(self, x: Array, fill: Any) -> Array:
        """What each window sees, in a row."""
        found = self.seen(x, fill)
        return found.reshape(*found.shape[: found.ndim - len(self.size)], -1)

    def counted(self, sides: Sides, border: bool) -> Array:
        """How many places of each window are numbers, or (`border`) numbers or border; shape `made`."""
        there = np.ones(sides, np.int8)
        if not border:
            return np.asarray(self.rows(there, 0).sum(-1, dtype=np.int64))
        whole = bordered(there, list(zip(self.before, self.behind, strict=True)), constant_values=1)
        none = (0,) * len(sides)
        return np.asarray(replace(self, before=none, behind=none).rows(whole, 0).sum(-1, dtype=np.int64))


def windows(call: Call, sides: Sides, size: Sides) -> Windows:
    """The windows of a node over an array whose last sides are `sides`."""
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
        made.append(count - (up and (count - 1) * step >= side + a))  # one that begins in the border behind is none
    room([*made, *size])
    return Windows(size, stride, dilation, before, behind, tuple(made))


def border(node: Node, sides: Sides, reach: Sides, stride: Sides) -> tuple[Sides, Sides]:
    """The border of windows before and behind each side."""
    rank, how = len(sides), node.attribute("auto_pad", "NOTSET")
    if how == "VALID":
        return (0,) * rank, (0,) * rank
    if how in ("SAME_UPPER", "SAME_LOWER"):
        totals = [
            max(0, (-(-s // step) - 1) * step + wide - s) for s, wide, step in zip(sides, reach, stride, strict=True)
        ]
        less, more = tuple(t // 2 for t in totals), tuple(t - t // 2 for t in totals)
        return (less, more) if how == "SAME_UPPER" else (more, less)
    if how != "NOTSET":
        raise InputError(f"auto_pad {how!r}; NOTSET, VALID, SAME_UPPER and SAME_LOWER are known")
    pads = node.listed("pads", [0] * (2 * rank))
    if len(pads) != 2 * rank or min(pads) < 0:
        raise InputError(f"pads {pads} do not fit the sides {sides}: one number >= 0 before and one behind each")
    return tuple(pads[:rank]), tuple(pads[rank:])


@operator("Conv")
def convolution(call: Call) -> list[Array]:
    """The same weighted sums at every place; groups of channels may have sums of their own."""
    x, weight = call.input(0), call.input(1)
    bias = call.optional(2)
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
    axes = [1, *range(2 + rank, 2 + 2 * rank)], [1, *range(2, 2 + rank)]
    found = np.moveaxis(np.tensordot(places.seen(x, 0), weight, axes), -1, 1)
    return np.asarray(found if bias is None else found + bias.reshape(-1, *[1] * rank), x.dtype)


def sums_of_values(places: Windows, x: Array, weight: Array, bias: Array | None) -> Array:
    """A group of a convolution of Values."""
    rank = len(places.size)
    seen = places.seen(objects(x), Value(0.0))  # the border is one constant, shared by all windows
    order = [0, *range(2, 2 + rank), 1, *range(2 + rank, 2 + 2 * rank)]
    rows = seen.transpose(order).reshape(-1, prod(weight.shape[1:]))
    sums = weighted_rows(weight.reshape(len(weight), -1), rows, bias)
    made = values([v for row in sums for v in row], (len(x), *places.made, len(weight)))
    return np.moveaxis(bare(made), -1, 1)


@operator("AveragePool", "MaxPool")
def pool(call: Call) -> list[Array]:
    """The largest number, or the mean, of each window; whether zeros of the border count for a mean is said."""
    x = call.input(0)
    places = windows(call, x.shape[2:], tuple(call.listed("kernel_shape", [])))
    mean = call.node.operator == "AveragePool"
    if any(call.node.outputs[1:]):
        raise call.wrong("the places of the largest numbers (its second output) are not computed here")
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
def over_all(call: Call) -> list[Array]:
    """One number for each channel."""
    x, mean = call.input(0), call.node.operator == "GlobalAveragePool"
    rows = x.reshape(*x.shape[:2], -1)
    if x.dtype == object:
        found = reduced(rows, (2,), False, functions.mean if mean else functions.max)
    else:
        found = np.asarray(rows.sum(-1, dtype=np.float64) / rows.shape[-1] if mean else rows.max(-1), x.dtype)
    return [found.reshape(*x.shape[:2], *(1,) * (x.ndim - 2))]


@operator("ConvTranspose")
def transposed(call: Call) -> list[Array]:
    """As a convolution of the numbers with zeros between them, with the kernel turned round."""
    x, weight = call.input(0), call.input(1)
    bias = call.optional(2)
    groups = int(call.attribute("group", 1))
    if x.ndim < 3 or weight.ndim != x.ndim or weight.shape[0] != x.shape[1] or groups < 1 or len(weight) % groups:
        raise call.wrong(f"an input of the shape {x.shape} and weights {weight.shape} do not fit with {groups} groups")
    size, sides = weight.shape[2:], x.shape[2:]
    stride, dilation = (tuple(call.listed(name, [1] * len(size))) for name in ("strides", "dilations"))
    if len(stride) != len(size) or len(dilation) != len(size) or min((*stride, *dilation, *size)) < 1:
        raise call.wrong(f"strides {stride} and dilations {dilation} do not fit the kernel {size}")
    reach = tuple((n - 1) * d + 1 for n, d in zip(size, dilation, strict=True))
    before, made = _transposed_border(call, sides, reach, stride)
    spread = _spread(x if call.known else objects(x), 0 if call.known else Value(0.0), stride, reach, before, made)
    ones = (1,) * len(size)
    places = Windows(size, ones, dilation, (0,) * len(size), (0,) * len(size), made)
    turned = bare(weight)[(slice(None), slice(None), *[slice(None, None, -1)] * len(size))]
    starts = [None] * groups if bias is None else np.split(bare(bias), groups)
    function = sums_of_numbers if call.known else sums_of_values
    parts = zip(np.split(spread, groups, 1), np.split(turned, groups), starts, strict=True)
    found = [function(places, part, kernel.swapaxes(0, 1), start) for part, kernel, start in parts]
    return [dressed(np.concatenate([bare(part) for part in found], 1))]


def _transposed_border(call: Call, sides: Sides, reach: Sides, stride: Sides) -> tuple[Sides, Sides]:
    """What is cut off before, and the sides of the result."""
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
        raise call.wrong(f"pads {pads} leave nothing of the sides {whole}")
    return tuple(pads[:rank]), tuple(made)


def _spread(x: Array, zero: Any, stride: Sides, reach: Sides, before: Sides, made: Sides) -> Array:
    """The numbers with zeros between and around them, so that a window stands at each place of the result."""
    apart = [(side - 1) * step + 1 for side, step in zip(x.shape[2:], stride, strict=True)]
    room([*x.shape[:2], *apart])
    found = np.full((*x.shape[:2], *apart), zero, x.dtype)
    places: list[Any] = [slice(None, None, step) for step in stride]
    found[(..., *places)] = bare(x)
    first = [wide - 1 - cut for wide, cut in zip(reach, before, strict=True)]  # where the first number comes to stand
    sides = zip(first, made, reach, apart, strict=True)
    widths = [(a, count + wide - 1 - a - there) for a, count, wide, there in sides]
    return bordered(found, [(0, 0), (0, 0), *widths], constant_values=zero)


NEAREST: dict[str, Callable[[float], float]] = {
    "round_prefer_floor": lambda x: math.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: math.floor(x + 0.5),
    "floor": math.floor,
    "ceil": math.ceil,
}
CROP = "tf_crop_and_resize"


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis that changes its length from `before` to `after`, which is `scale` times as much and cut off.

    `start`, `end`: what is cut out first, in shares of the axis (``tf_crop_and_resize``).
    """

    before: int
    after: int
    scale: float
    start: float = 0.0
    end: float = 1.0

    def place(self, mode: str, k: int) -> float:
        """Where the number `k` of the result lies among those that are there; NaN: the mode is not known."""
        half = (k + 0.5) / self.scale - 0.5
        if mode == "half_pixel" or (mode == "pytorch_half_pixel" and self.after > 1):
            return half
        if mode == "half_pixel_symmetric":
            return half + self.before / 2 * (1 - self.after / (self.scale * self.before))
        if mode == "asymmetric":
            return k / self.scale
        if mode in ("align_corners", "pytorch_half_pixel"):
            return k * (self.before - 1) / (self.scale * self.before - 1) if self.after > 1 else 0.0
        if mode == CROP:
            share = k / (self.after - 1) if self.after > 1 else 0.5
            return (self.start + share * (self.end - self.start)) * (self.before - 1)
        return math.nan


def _triangle(x: Array) -> Array:
    return np.clip(1.0 - np.abs(x), 0.0, None)


def _cubic(a: float) -> Callable[[Array], Array]:
    def kernel(x: Array) -> Array:
        x = np.abs(x)
        near = ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
        far = ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a
        return np.where(x <= 1.0, near, np.where(x < 2.0, far, 0.0))

    return kernel


@operator("Resize", "Upsample")
def resize(call: Call) -> list[Array]:
    """The nearest number, or a sum of two or four along each axis; `antialias`: of more where the picture shrinks."""
    x = call.input(0)
    axes = _axes(call, x)
    room([axes[k].after if k in axes else side for k, side in enumerate(x.shape)], not call.known)
    for k, axis in axes.items():
        shares = _shares(call, axis)
        if shares.shape[0] == shares.shape[1] and (shares == np.eye(len(shares))).all():
            continue
        x = _applied(x, k, shares)
        x = _beyond(call, x, k, axis)
    return [x]


def _beyond(call: Call, x: Array, k: int, axis: Axis) -> Array:
    """What lies outside of the picture where it is cut out of."""
    if call.attribute("coordinate_transformation_mode") != CROP:
        return x
    places = np.array([axis.place(CROP, j) for j in range(axis.after)])
    outside = ((places < 0) | (places > axis.before - 1)).reshape([-1 if j == k else 1 for j in range(x.ndim)])
    value = np.asarray(call.attribute("extrapolation_value", 0.0), None if x.dtype == object else x.dtype)
    beyond, inside = alike(value, x)
    return dressed(np.where(outside, bare(beyond), bare(inside)))


def _axes(call: Call, x: Array) -> dict[int, Axis]:
    """The axes that are resized."""
    named = call.listed("axes")
    places = list(range(x.ndim)) if named is None else [axis_of(a, x.ndim) for a in named]
    old = call.node.operator == "Upsample" or call.version < 11
    at = 1 if old else 2
    roi = call.numbers(1, "the cut").ravel().tolist() if call.optional(1) is not None and not old else []
    cuts = list(zip(roi[: len(places)], roi[len(places) :], strict=False)) if len(roi) == 2 * len(places) else []
    cuts = cuts if call.attribute("coordinate_transformation_mode") == CROP else [(0.0, 1.0)] * len(places)
    if call.optional(at) is not None and call.input(at).size:
        scales = [float(s) for s in call.numbers(at, "the scales").ravel().tolist()]
        sizes = [math.floor(x.shape[k] * (b - a) * s) for k, s, (a, b) in zip(places, scales, cuts, strict=True)]
    else:
        sizes = call.whole(3, "the sizes")
        scales = [n / x.shape[k] for k, n in zip(places, sizes, strict=True)]
        policy = call.attribute("keep_aspect_ratio_policy", "stretch")
        if policy != "stretch":
            scales = [min(scales) if policy == "not_larger" else max(scales)] * len(scales)
            sizes = [math.floor(x.shape[k] * s + 0.5) for k, s in zip(places, scales, strict=True)]
    if min(sizes, default=1) < 1 or max(sizes, default=1) > WIDEST or min(scales, default=1.0) <= 0.0:
        raise call.wrong(f"the sides {shown(sizes)} of the shape {x.shape}; each must be in 1 .. {WIDEST}")
    return {k: Axis(x.shape[k], n, s, *cut) for k, n, s, cut in zip(places, sizes, scales, cuts, strict=True)}


def _shares(call: Call, axis: Axis) -> Array:
    """What each number of the result takes of each that is there, shape (after, before)."""
    old = call.node.operator == "Upsample" or call.version < 11
    mode = call.attribute("mode", "nearest")
    way = "asymmetric" if old else call.attribute("coordinate_transformation_mode", "half_pixel")
    places = [axis.place(way, k) for k in range(axis.after)]
    if any(math.isnan(place) for place in places) or mode not in ("nearest", "linear", "cubic"):
        raise call.wrong(f"mode {mode!r} with {way!r} is not known here; nearest, linear and cubic are")
    room((axis.after, axis.before))
    found = np.zeros((axis.after, axis.before))
    if mode == "nearest":
        how = "floor" if old else call.attribute("nearest_mode", "round_prefer_floor")
        if how not in NEAREST:
            raise call.wrong(f"the nearest_mode {shown(how)}; {listing(NEAREST)} are known")
        near = NEAREST[how]
        found[np.arange(axis.after), [min(max(int(near(place)), 0), axis.before - 1) for place in places]] = 1.0
        return found
    kernel, wide = (_triangle, 1) if mode == "linear" else (_cubic(float(call.attribute("cubic_coeff_a", -0.75))), 2)
    shrink = min(axis.scale, 1.0) if call.attribute("antialias", 0) else 1.0
    for row, place in zip(found, places, strict=True):
        _fill(row, place, kernel, wide / shrink, shrink, bool(call.attribute("exclude_outside", 0)))
    return found


def _fill(
    row: Array, place: float, kernel: Callable[[Array], Array], reach: float, shrink: float, exclude: bool
) -> None:  # fmt: skip
    """The shares of one number; beyond the border the last one stands, unless these are left out."""
    near = np.arange(math.floor(place - reach), math.ceil(place + reach) + 1)
    shares = kernel(shrink * (near - place))
    if exclude:
        shares = np.where((near >= 0) & (near < len(row)), shares, 0.0)
    np.add.at(row, np.clip(near, 0, len(row) - 1), shares / shares.sum())


def _applied(x: Array, k: int, shares: Array) -> Array:
    """An axis of numbers, or of Values, as other sums of it."""
    if x.dtype != object:
        return np.asarray(np.moveaxis(np.tensordot(shares, x, (1, k)), 0, k), x.dtype)
    rows = [np.flatnonzero(row).tolist() for row in shares]
    constants = [[Value(float(row[j])) for j in places] for row, places in zip(shares, rows, strict=True)]
    only = [len(places) == 1 and row[places[0]] == 1.0 for row, places in zip(shares, rows, strict=True)]

    def lane(numbers: list[Value]) -> list[Value]:
        return [
            numbers[places[0]] if one else dot(weights, [numbers[j] for j in places])
            for one, weights, places in zip(only, constants, rows, strict=True)
        ]

    return over_lanes(x, k, lane, len(shares))
