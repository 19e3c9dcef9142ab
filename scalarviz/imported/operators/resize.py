"""Pictures of another size: each axis by itself, every number a weighted sum of its neighbours."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...errors import listing, shown
from ...nn._conv import WIDEST
from ...scalar import Value, dot
from .alike import Array, alike, axis_of, bare, dressed, over_lanes, room
from .table import Call, operator

NEAREST: dict[str, Callable[[float], float]] = {
    "round_prefer_floor": lambda x: math.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: math.floor(x + 0.5),
    "floor": math.floor,
    "ceil": math.ceil,
}
CROP = "tf_crop_and_resize"


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis that changes its length.

    Attributes
    ----------
    before, after : int
        Lengths.
    scale : float
        As it is given; `after` is cut off.
    start, end : float
        What is cut out first, in shares of the axis (``tf_crop_and_resize``).
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
    roi = call.numbers(1, "the cut").ravel().tolist() if call.given(1) and not old else []
    cuts = list(zip(roi[: len(places)], roi[len(places) :], strict=False)) if len(roi) == 2 * len(places) else []
    cuts = cuts if call.attribute("coordinate_transformation_mode") == CROP else [(0.0, 1.0)] * len(places)
    if call.given(at) and call.input(at).size:
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
